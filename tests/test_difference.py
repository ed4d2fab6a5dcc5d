"""The difference of two snapshots, against a naive one that reads every line, and where it is easy to be wrong."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from field_cli import kgaudit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kgaudit.sources.difference as module
from kgaudit.errors import EmptyInputError, InputError, StorageError, UsageError
from kgaudit.sources.difference import Difference, difference
from kgaudit.sources.ntriples import read_line
from kgaudit.triples import triple_key

EX = "http://example.com/"
XSD = "http://www.w3.org/2001/XMLSchema#"

# Spellings of one object in each row.
OBJECTS = [
    [f"<{EX}o1>", f"<{EX}\\u006F1>"],
    [f"<{EX}o2#frag_:x>"],
    ['"Halden"@en', '"Halden"@EN', '"H\\u0061lden"@en'],
    ['"Halden"', f'"Halden"^^<{XSD}string>', '"Hald\\u0065n"'],
    [f'"1.5"^^<{XSD}decimal>', f'"+1.50"^^<{XSD}decimal>', f'"01.5"^^<{XSD}decimal>'],
    [f'"7"^^<{XSD}integer>', f'"+07"^^<{XSD}integer>'],
    ['"a _:b > <c> \\"d\\" \\\\ e"', '"a _:b > <c> \\u0022d\\" \\\\ e"'],
    ['"two  spaces\\tand .  a  tab"'],
    ['""'],
    ['"é\\u00E9"@de', '"éé"@DE', '"\\u00E9é"@de'],
]
SUBJECTS = [[f"<{EX}s{number}>", f"<{EX}\\u0073{number}>"] for number in range(4)]
PREDICATES = [[f"<{EX}p>", f"<{EX}\\u0070>"], [f"<{EX}a>"]]
GAPS = [" ", " ", " ", "  ", "\t", ""]
GRAPHS = ["", f"<{EX}g1> ", f"<{EX}g2> "]

line_strategy = st.tuples(
    st.sampled_from(SUBJECTS).flatmap(st.sampled_from),
    st.sampled_from(GAPS),
    st.sampled_from(PREDICATES).flatmap(st.sampled_from),
    st.sampled_from(GAPS),
    st.sampled_from(OBJECTS).flatmap(st.sampled_from),
    st.sampled_from([" ", "", "  ", "\t"]),
    st.sampled_from(GRAPHS),
    st.sampled_from([".", ". # said", " ."]),
).map("".join)
snapshot = st.lists(line_strategy, min_size=1, max_size=30)


def keys_of(lines: list[str]) -> set[str]:
    found = set()
    for line in lines:
        row = read_line(line, quads=True)
        assert not isinstance(row, str), (line, row)
        found.add(triple_key(*row[:3]))
    return found


def compared(
    tmp: Path, old: list[str], new: list[str], suffix: str = ".nq", **options: object
) -> tuple[Difference, set[str], set[str]]:
    """What was found, and the keys of the triples that were written."""
    tmp.mkdir(parents=True, exist_ok=True)
    paths = [tmp / f"old{suffix}", tmp / f"new{suffix}", tmp / "added.nq", tmp / "removed.nq"]
    for path, lines in zip(paths, (old, new), strict=False):
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    found = difference([paths[0]], [paths[1]], added=paths[2], removed=paths[3], **options)  # type: ignore[arg-type]
    written = [path.read_text(encoding="utf-8").splitlines() for path in paths[2:]]
    keys = [[triple_key(*row[:3]) for line in lines if not isinstance(row := read_line(line, quads=True), str)] for lines in written]
    assert [len(one) for one in keys] == [found.added, found.removed] == [len(set(one)) for one in keys], "each triple once"
    assert all(one == sorted(one) for one in keys), "in the order of their keys"
    assert not list(tmp.glob(".*")), "nothing is left"
    return found, set(keys[0]), set(keys[1])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(snapshot, snapshot, st.randoms(use_true_random=False))
def test_as_a_naive_comparison_finds_it(tmp_path: Path, old: list[str], new: list[str], chance: random.Random) -> None:
    new = [*new, *chance.choices(old, k=len(old) // 2)]
    chance.shuffle(new)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BUCKETS", 4)
        _, added, removed = compared(tmp_path, old, new)
    assert added == keys_of(new) - keys_of(old)
    assert removed == keys_of(old) - keys_of(new)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(snapshot, snapshot)
def test_buckets_that_do_not_fit_are_cut_up(tmp_path: Path, old: list[str], new: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BUCKETS", 2)
        patch.setattr(module, "LEAST_MEMORY", 1000)
        _, added, removed = compared(tmp_path, old, new, memory=1000)
    assert added == keys_of(new) - keys_of(old)
    assert removed == keys_of(old) - keys_of(new)


def test_the_same_lines_in_another_order_and_repeated_are_no_difference(tmp_path: Path) -> None:
    lines = [f'<{EX}s{i % 50}> <{EX}p{i % 7}> "{i}" .' for i in range(2000)]
    again = [*lines, *lines[:500]]
    random.Random(1).shuffle(again)
    found, _, _ = compared(tmp_path, lines, again, ".nt")
    assert (found.added, found.removed) == (0, 0)


def test_another_spelling_beside_a_line_that_both_hold_is_not_new(tmp_path: Path) -> None:
    """Both hold one spelling; only one of them also holds the other."""
    for first, second in ((OBJECTS[2][0], OBJECTS[2][1]), (OBJECTS[4][1], OBJECTS[4][0]), (OBJECTS[3][1], OBJECTS[3][0])):
        both, other = f"<{EX}s> <{EX}p> {first} .", f"<{EX}s> <{EX}p> {second} ."
        for old, new in (([both], [both, other]), ([both, other], [both])):
            found, _, _ = compared(tmp_path, old, new, ".nt")
            assert (found.added, found.removed) == (0, 0), (old, new)
    graphs = [f"<{EX}s> <{EX}p> <{EX}o> <{EX}g{i}> ." for i in range(2)]
    found, _, _ = compared(tmp_path, graphs[:1], graphs)
    assert (found.added, found.removed) == (0, 0)


def test_what_was_added_and_removed_is_written_with_its_graph_where_the_file_has_one(tmp_path: Path) -> None:
    old = [f"<{EX}a> <{EX}p> <{EX}b> <{EX}g> ."]
    new = [f'<{EX}a> <{EX}p> "x\\ny"@en-GB <{EX}h> .']
    compared(tmp_path, old, new)
    assert (tmp_path / "added.nq").read_text() == f'<{EX}a> <{EX}p> "x\\ny"@en-GB <{EX}h> .\n'
    difference([tmp_path / "old.nq"], [tmp_path / "new.nq"], added=tmp_path / "a.nt.gz", removed=tmp_path / "r.nt.zst")
    assert gzip.decompress((tmp_path / "a.nt.gz").read_bytes()).decode() == f'<{EX}a> <{EX}p> "x\\ny"@en-GB .\n'
    import pyarrow as pa

    with pa.OSFile(str(tmp_path / "r.nt.zst")) as file, pa.CompressedInputStream(file, "zstd") as stream:
        assert stream.read().decode() == f"<{EX}a> <{EX}p> <{EX}b> .\n"


def test_blank_nodes_follow_what_is_said_of_them(tmp_path: Path) -> None:
    old = [f'_:b0 <{EX}name> "Halden" .', f"<{EX}s> <{EX}p> _:b0 .", f'_:b1 <{EX}name> "Orvik" .', f"<{EX}s> <{EX}p> <{EX}o> ."]
    renamed = [line.replace("_:b0", "_:x").replace("_:b1", "_:b0") for line in reversed(old)]
    found, _, _ = compared(tmp_path, old, renamed, ".nt")
    assert (found.added, found.removed) == (0, 0)
    changed = [line.replace("Orvik", "Tarn") for line in renamed]
    found, _, _ = compared(tmp_path, old, changed, ".nt")
    assert (found.added, found.removed) == (1, 1)
    assert '"Tarn"' in (tmp_path / "added.nq").read_text()
    assert '"Orvik"' in (tmp_path / "removed.nq").read_text()


def test_other_formats_and_several_files(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "one.ttl").write_text(f"@prefix : <{EX}> . :a :p :b, :c ; :q 1.50 .\n")
    (tmp_path / "old" / "two.trig").write_text(f"@prefix : <{EX}> . :g {{ :a :p :d }}\n")
    new = tmp_path / "new.nt.gz"
    lines = [f"<{EX}a> <{EX}p> <{EX}{name}> ." for name in "bde"] + [f'<{EX}a> <{EX}q> "1.5"^^<{XSD}decimal> .']
    new.write_bytes(gzip.compress("\n".join(lines).encode()))
    found = difference([tmp_path / "old"], [new], added=tmp_path / "a.nt", removed=tmp_path / "r.nt")
    assert (found.added, found.removed) == (1, 1)
    assert (tmp_path / "a.nt").read_text() == f"<{EX}a> <{EX}p> <{EX}e> .\n"
    assert (tmp_path / "r.nt").read_text() == f"<{EX}a> <{EX}p> <{EX}c> .\n"


def test_bad_lines_count_only_where_they_differ(tmp_path: Path) -> None:
    good, bad, worse = f"<{EX}a> <{EX}p> <{EX}b> .", f"<{EX}a> <{EX}p> <b c> .", "no triple"
    found, _, _ = compared(tmp_path, [good, bad], [bad, good], ".nt")
    assert (found.added, found.removed, found.quarantined) == (0, 0, 0)
    found, _, _ = compared(
        tmp_path, [good, f'<{EX}a> <{EX}p> "unclosed .'], [f'<{EX}a> <{EX}p> "unclosed .', f"<{EX}a> <{EX}p> 5 .", good]
    )
    assert (found.added, found.removed, found.quarantined) == (0, 0, 1), "what both hold is not read, even where its neighbour differs"
    found, _, _ = compared(tmp_path, [good, bad], [good, worse, "# a remark", ""], ".nt")
    assert (found.added, found.removed, found.quarantined) == (0, 0, 2)
    assert found.quarantine is not None
    assert "space" in found.quarantine.read_text()
    from kgaudit.sources import SourceOptions

    with pytest.raises(InputError, match="space"):
        compared(tmp_path, [good, bad], [good], ".nt", options=SourceOptions(strict=True))


def test_files_that_are_not_whole_or_not_there_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    whole = tmp_path / "whole.nt"
    whole.write_text(f"<{EX}a> <{EX}p> <{EX}b> .\n" * 2000)
    cut = tmp_path / "cut.nt.gz"
    cut.write_bytes(gzip.compress(random.Random(0).randbytes(1) + whole.read_bytes())[:-20])
    empty = tmp_path / "empty.nt"
    empty.write_text("")
    table = tmp_path / "table.csv"
    table.write_text("s,p,o\na,b,c\n")
    for other, kind in ((cut, InputError), (empty, EmptyInputError), (table, UsageError), (tmp_path / "gone.nt", StorageError)):
        with pytest.raises(kind, match=other.name):
            difference([whole], [other], added=tmp_path / "a.nt", removed=tmp_path / "r.nt")
    with pytest.raises(UsageError, match=r"a\.ttl"):
        difference([whole], [whole], added=tmp_path / "a.ttl")
    assert {path.name for path in tmp_path.iterdir()} == {"whole.nt", "cut.nt.gz", "empty.nt", "table.csv"}


def test_command(tmp_path: Path) -> None:
    for name, numbers in (("old", "123"), ("new", "234")):
        (tmp_path / f"{name}.nt").write_text("".join(f'<{EX}a> <{EX}p> "{number}" .\n' for number in numbers))
    result = kgaudit("difference", tmp_path / "old.nt", tmp_path / "new.nt", "--added", tmp_path / "added.nt")
    assert "1 triples added, 1 removed" in result.out
    assert (tmp_path / "added.nt").read_text() == f'<{EX}a> <{EX}p> "4" .\n'
    assert "gone.nt" in kgaudit("difference", tmp_path / "old.nt", tmp_path / "gone.nt", status=2).err
    assert "no-such-folder" in kgaudit(
        "difference", tmp_path / "old.nt", tmp_path / "new.nt", "--added", tmp_path / "no-such-folder" / "a.nt", status=2
    ).err  # fmt: skip
