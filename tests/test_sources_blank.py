from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sources_tools import EX, FIELD, loaded

from kgaudit.sources import LoadedGraph, blank, spill
from kgaudit.sources.blank import Statement, name_component

P, Q = f"<{EX}p>", f"<{EX}q>"


def keys(work: Path, *paths: Path) -> list[str]:
    return [candidate.key for candidate in loaded(work, *paths).candidates()]


def named(rows: list[Statement]) -> set[tuple[str, str, str]]:
    """The statements of one component under their lasting names."""
    names, tied = name_component(rows)
    assert not tied
    return {(names.get(s, s), p, names.get(o, o)) for s, p, o in rows}


def shuffled(rows: list[Statement], seed: int) -> list[Statement]:
    """The same statements in another order under other labels."""
    chance = random.Random(seed)
    labels = sorted({term for row in rows for term in row if term.startswith("_:")})
    new = [f"_:x{i}" for i in range(len(labels))]
    chance.shuffle(new)
    names = dict(zip(labels, new, strict=True))
    rows = [(names.get(s, s), p, names.get(o, o)) for s, p, o in rows]
    chance.shuffle(rows)
    return rows


RING = [(f"_:r{i}", P, f"_:r{(i + 1) % 6}") for i in range(6)]
TWO_RINGS_OF_THREE = [(f"_:r{i}", P, f"_:r{i // 3 * 3 + (i + 1) % 3}") for i in range(6)]
CUBE = [(f"_:c{i}", P, f"_:c{i ^ bit}") for i in range(8) for bit in (1, 2, 4)]
HUB = [("_:hub", P, f"_:leaf{i}") for i in range(60)] + [(f"_:leaf{i}", Q, '"leaf"') for i in range(60)]
SHAPES = {
    "one": [("_:a", P, '"x"'), ("_:a", Q, f"<{EX}o>")],
    "loop": [("_:a", P, "_:a")],
    "pair": [("_:a", P, "_:b"), ("_:b", P, "_:a")],
    "ring": RING,
    "two rings joined": [*TWO_RINGS_OF_THREE, *((f"_:r{i}", Q, "_:hub") for i in range(6))],
    "cube": CUBE,
    "hub": HUB,
    "list": [(f"_:l{i}", P, f"_:l{i + 1}") for i in range(40)] + [(f"_:l{i}", Q, '"same"') for i in range(41)],
    "tree": [(f"_:t{(i - 1) // 2}", P, f"_:t{i}") for i in range(1, 31)],
    "triple term": [("_:r", P, f'<<( _:a {P} "_:b" )>>'), ("_:a", Q, '"x"')],
}


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "triple term"])
@pytest.mark.parametrize("seed", range(4))
def test_names_follow_what_is_said_and_not_labels_or_order(shape: str, seed: int) -> None:
    rows = SHAPES[shape]
    assert named(shuffled(rows, seed)) == named(rows)
    assert len(named(rows)) == len(rows)  # no two nodes of a component become one


def test_different_shapes_get_different_names() -> None:
    ring = {s for s, _, _ in named(RING)}
    other = [*TWO_RINGS_OF_THREE[:3], ("_:r0", P, "_:r0")]
    assert ring.isdisjoint({s for s, _, _ in named(other)})
    assert named([("_:a", P, '"1"^^<http://www.w3.org/2001/XMLSchema#integer>')]) != named(
        [("_:a", P, '"2"^^<http://www.w3.org/2001/XMLSchema#integer>')]
    )


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["_:a", "_:b", "_:c", "_:d", f"<{EX}n>"]),
            st.sampled_from([P, Q]),
            st.sampled_from(["_:a", "_:b", "_:c", "_:d", '"x"']),
        ),
        min_size=1,
        max_size=9,
    ),
    st.integers(0, 9),
)
@settings(max_examples=300, deadline=None)
def test_any_small_graph_keeps_its_names(rows: list[Statement], seed: int) -> None:
    rows = [row for row in rows if any(term.startswith("_:") for term in row)] or [("_:a", P, '"x"')]
    assert named(shuffled(rows, seed)) == named(rows)
    assert len(named(rows)) == len(set(rows))


def test_equal_values_written_differently_change_no_name() -> None:
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    one, _ = name_component([("_:a", P, f'"+7"{integer}'), ("_:a", Q, '"x"@EN')])
    other, _ = name_component([("_:z", Q, '"x"@en'), ("_:z", P, f'"7"{integer}')])
    assert one["_:a"] == other["_:z"]


def test_nodes_inside_triple_terms_are_renamed_and_words_are_not(tmp_path: Path) -> None:
    text = f'_:r <{EX}says> <<( _:a {P} "_:a _:r \\" _:a" )>> .\n_:a {Q} "x" .\n'
    (tmp_path / "kg.nt").write_text(text)
    (tmp_path / "other.nt").write_text(
        "\n".join(reversed(text.replace("_:r <", "_:k <").replace("_:a {", "_:b {").splitlines())) + "\n"
    )
    first, second = sorted(loaded(tmp_path / "work", tmp_path / "kg.nt").candidates(), key=lambda candidate: candidate.triple.p)
    name = first.triple.s
    assert name.startswith("_:c")
    assert second.triple.o == f'<<( {name} {P} "_:a _:r \\" _:a" )>>'
    assert sorted(keys(tmp_path / "w1", tmp_path / "kg.nt")) == sorted(keys(tmp_path / "w2", tmp_path / "other.nt"))


def test_field_04_one_label_in_two_files(tmp_path: Path) -> None:
    a, b = (FIELD / "04-blank-nodes-two-files" / name for name in ("a.nt", "b.nt"))
    graph = loaded(tmp_path / "ab", a, b)
    about: dict[str, set[str]] = {}
    for candidate in graph.candidates():
        about.setdefault(candidate.triple.s, set()).add(candidate.triple.o)
    assert sorted(map(sorted, about.values())) == [['"Kestrel pump"', f"<{EX}Norrby>"], ['"Osprey pump"', f"<{EX}Halden>"]]
    assert keys(tmp_path / "ba", b, a) == keys(tmp_path / "again", a, b) == [candidate.key for candidate in graph.candidates()]


def test_field_08_one_label_in_two_graphs_of_one_file(tmp_path: Path) -> None:
    graph = loaded(tmp_path / "work", FIELD / "08-default-and-named-graphs" / "kg.trig")
    assert (graph.counts.statements, graph.counts.claims, graph.counts.duplicates) == (5, 4, 1)
    candidates = {(c.triple.p, c.triple.o): c for c in graph.candidates()}
    signers = [c for (p, _), c in candidates.items() if p == f"<{EX}signedBy>"]
    assert len(signers) == 2
    assert len({c.triple.s for c in signers}) == 1
    owns = candidates[f"<{EX}owns>", f"<{EX}Halden>"]
    assert [place.graph for place in owns.places] == [None, f"<{EX}batch1>"]


def test_nodes_without_a_label_keep_their_keys_from_load_to_load(tmp_path: Path) -> None:
    path = tmp_path / "kg.ttl"
    path.write_text(f'@prefix ex: <{EX}> . ex:a ex:b [ ex:c "d" ; ex:e [ ex:f ex:g ] ], [ ex:c "z" ] .')
    assert keys(tmp_path / "one", path) == keys(tmp_path / "two", path)


def test_equal_nodes_of_two_files_are_one_row_with_two_places(tmp_path: Path) -> None:
    for name, label in (("a.nt", "x"), ("b.nt", "y")):
        (tmp_path / name).write_text(f'_:{label} {P} "Kestrel pump" .\n')
    (candidate,) = loaded(tmp_path / "work", tmp_path / "a.nt", tmp_path / "b.nt").candidates()
    assert [place.file for place in candidate.places] == ["a.nt", "b.nt"]


def many(count: int, seed: int) -> str:
    """Statements about `count` employments, each with two blank nodes, in some order."""
    chance = random.Random(seed)
    lines = []
    for i in range(count):
        e, a = f"_:{chance.getrandbits(60)}", f"_:{chance.getrandbits(60)}"
        lines += [f"<{EX}x{i}> {P} {e} .", f'{e} {Q} "{i}" .', f"{e} {P} {a} .", f'{a} {Q} "{i % 7}" .']
    chance.shuffle(lines)
    return "\n".join(lines) + "\n"


def test_many_nodes_on_disk_are_named_as_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.nt").write_text(many(400, 1))
    (tmp_path / "two.nt").write_text(many(400, 2))
    in_memory = keys(tmp_path / "w1", tmp_path / "one.nt")
    assert len(set(in_memory)) == 1600
    monkeypatch.setattr(spill, "CHUNK_ROWS", 500)
    assert keys(tmp_path / "w2", tmp_path / "two.nt") == in_memory
    assert not (tmp_path / "w2" / "spill").exists()


def noted(graph: LoadedGraph) -> bool:
    return any("groups of blank nodes" in note for note in graph.counts.notes)


def test_what_is_too_much_alike_or_too_large_is_said_and_still_keeps_its_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kg.nt"
    path.write_text("".join(f"{s} {p} {o} .\n" for s, p, o in [*CUBE, ("_:z", P, f"<{EX}o>")]))
    assert not noted(loaded(tmp_path / "whole", path))
    for limit in ("WORK_LIMIT", "COMPONENT_LIMIT"):
        with monkeypatch.context() as patch:
            patch.setattr(blank, limit, 3)
            graph = loaded(tmp_path / limit, path)
            found = [candidate.key for candidate in graph.candidates()]
            assert noted(graph)
            assert len(set(found)) == len(CUBE) + 1
            assert keys(tmp_path / "again", path) == found


def test_a_large_regular_component_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blank, "WORK_LIMIT", 100_000)
    side = 25
    grid = [
        (f"_:g{x}.{y}", P, f"_:g{(x + dx) % side}.{(y + dy) % side}")
        for x in range(side)
        for y in range(side)
        for dx, dy in ((0, 1), (1, 0))
    ]
    names, tied = name_component(grid)
    assert tied
    assert len(set(names.values())) == side * side
