from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from sources_tools import EX, loaded, read, read_text, short

from kgaudit.errors import EmptyInputError, InputError, StorageError, UsageError
from kgaudit.sources import SourceOptions, load, rdf
from kgaudit.sources import rdfxml as rdfxml_module

PREFIX = f"@prefix ex: <{EX}> .\n"
HEAD = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="https://graph.example/">'

ONE = {
    "kg.ttl": PREFIX + "ex:a ex:b ex:c .",
    "kg.trig": PREFIX + "ex:a ex:b ex:c .",
    "kg.rdf": f'{HEAD}<rdf:Description rdf:about="{EX}a"><ex:b rdf:resource="{EX}c"/></rdf:Description></rdf:RDF>',
    "kg.jsonld": json.dumps({"@id": f"{EX}a", f"{EX}b": {"@id": f"{EX}c"}}),
    "kg.nt": f"<{EX}a> <{EX}b> <{EX}c> .\n",
}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress, lambda data: b"\xef\xbb\xbf" + data], ids=["plain", "gzip", "mark"])
def test_one_triple_in_every_format(tmp_path: Path, name: str, pack: object) -> None:
    data = pack(ONE[name].encode())  # type: ignore[operator]
    rows, bad = read_text(tmp_path, data, name + (".gz" if data.startswith(b"\x1f\x8b") else ""))
    assert bad == []
    assert [(short(row["s"]), short(row["p"]), short(row["o"])) for row in rows] == [("a", "b", "c")]


def test_graphs_of_trig_and_jsonld(tmp_path: Path) -> None:
    rows, _ = read_text(
        tmp_path, PREFIX + "ex:a ex:b ex:c . { ex:a ex:b ex:d } ex:g { ex:a ex:b ex:e } [] { ex:a ex:b ex:f }", "kg.trig"
    )
    assert [(short(row["o"]), row["graph"]) for row in rows] == [
        ("c", None),
        ("d", None),
        ("e", f"<{EX}g>"),
        ("f", "_:graph2"),
    ]
    rows, _ = read_text(tmp_path, json.dumps({"@id": f"{EX}g", "@graph": [{"@id": f"{EX}a", f"{EX}b": 1}]}), "kg.jsonld")
    assert [row["graph"] for row in rows] == [f"<{EX}g>"]


def test_triple_terms_and_annotations_of_rdf_12(tmp_path: Path) -> None:
    rows, bad = read_text(
        tmp_path, PREFIX + 'ex:a ex:b "c d"@en--ltr {| ex:sure 1.0 |} . ex:x ex:y <<( ex:a ex:b <<( ex:a ex:b "q" )>> )>> .', "kg.ttl"
    )
    assert bad == []
    assert len(rows) == 4
    assert rows[0]["o"] == '"c d"@en--ltr'
    assert rows[1]["o"] == f'<<( <{EX}a> <{EX}b> "c d"@en--ltr )>>'
    assert rows[3]["o"] == f'<<( <{EX}a> <{EX}b> <<( <{EX}a> <{EX}b> "q" )>> )>>'


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("ex:x ex:b <https://graph.example/a b> .", r"space \(U\+0020\)"),
        ('ex:x ex:b "\\uD83D\\uDEA2" .', "surrogate"),
        ('ex:x ex:b "x"@toolonglanguage .', "language tag"),
        ("no:x ex:b ex:c .", "prefix"),
    ],
)
@pytest.mark.parametrize("name", ["kg.ttl", "kg.trig"])
def test_a_faulty_word_costs_its_statement_only(tmp_path: Path, name: str, statement: str, reason: str) -> None:
    rows, (bad,) = read_text(tmp_path, f"{PREFIX}ex:a ex:b ex:c .\n{statement}\nex:d ex:b ex:e .\n", name)
    assert [short(row["s"]) for row in rows] == ["a", "d"]
    assert (bad["line"], bad["text"]) == (3, statement)
    assert reason.replace("\\", "") in bad["reason"]


def test_what_stands_behind_a_fault_in_a_graph_block_is_never_taken_for_the_default_graph(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 2: space .*graph block"):
        read_text(tmp_path, PREFIX + "ex:g { ex:a ex:b <https://graph.example/a b> . ex:c ex:d ex:e . }", "kg.trig")


@pytest.mark.parametrize("text", ["ex:a ex:b ex:c ex:d ex:e .", 'ex:a ex:b "open .\nex:c ex:d ex:e .', "ex:a ex:b [ ex:c ex:d ."])
def test_broken_grammar_stops_and_says_where_and_how_much_was_read(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"kg\.ttl: line \d: .*\(\d statements were read before\)"):
        read_text(tmp_path, f"{PREFIX}ex:a ex:b ex:z .\n{text}", "kg.ttl")


RELATIVE = {
    "kg.ttl": PREFIX + "ex:v7 ex:madeBy ex:N .\nex:v8 ex:madeBy <to-be-named> ; ex:size 3 .\n<v9> ex:madeBy ex:N .\n",
    "kg.trig": PREFIX + "ex:v7 ex:madeBy ex:N .\nex:g { ex:v8 ex:madeBy <to-be-named> ; ex:size 3 .\n<v9> ex:madeBy ex:N . }\n",
    "kg.jsonld": json.dumps(
        [
            {"@id": f"{EX}v7", f"{EX}madeBy": {"@id": f"{EX}N"}},
            {"@id": f"{EX}v8", f"{EX}madeBy": {"@id": "to-be-named"}, f"{EX}size": 3},
            {"@id": "v9", f"{EX}madeBy": {"@id": f"{EX}N"}},
        ]
    ),
    "kg.rdf": f'{HEAD}<rdf:Description rdf:about="{EX}v7"><ex:madeBy rdf:resource="{EX}N"/></rdf:Description>'
    f'<rdf:Description rdf:about="{EX}v8"><ex:madeBy rdf:resource="to-be-named"/><ex:size>3</ex:size></rdf:Description>'
    f'<rdf:Description rdf:about="v9"><ex:madeBy rdf:resource="{EX}N"/></rdf:Description></rdf:RDF>',
}


@pytest.mark.parametrize("name", RELATIVE)
def test_relative_iris_are_kept_apart_or_resolved_against_the_base_and_never_against_a_folder(tmp_path: Path, name: str) -> None:
    rows, bad = read_text(tmp_path, RELATIVE[name], name)
    assert [(short(row["s"]), short(row["p"])) for row in rows] == [("v7", "madeBy"), ("v8", "size")]
    assert len(bad) == 2
    assert all("relative IRI" in one["reason"] and "--base" in one["reason"] for one in bad)
    assert not any("invalid" in one["text"] or "file:" in one["text"] for one in bad)
    if name in ("kg.ttl", "kg.trig"):
        assert [one["line"] for one in bad] == [3, 4]
    rows, bad = read(tmp_path / name, base=EX)
    assert bad == []
    assert {short(row["s"]) for row in rows} == {"v7", "v8", "v9"}


def test_a_base_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kg.ttl").write_text(RELATIVE["kg.ttl"])
    for base in ("not an IRI", "relative"):
        with pytest.raises(UsageError, match="--base"):
            load([tmp_path / "kg.ttl"], tmp_path / "work", SourceOptions(base=base))


def test_jsonld_says_what_other_readers_drop_in_silence(tmp_path: Path) -> None:
    text = json.dumps({"@id": f"{EX}a", f"{EX}b": {"@id": f"{EX}c d"}, "unmapped": "x", f"{EX}ok": "y"})
    rows, bad = read_text(tmp_path, text, "kg.jsonld")
    assert [short(row["p"]) for row in rows] == ["ok"]
    assert sorted(one["reason"].split(" in ")[0] for one in bad) == [
        "space (U+0020)",
        "the key 'unmapped' is mapped to no IRI by the context",
    ]


def test_a_remote_context_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="context on another computer"):
        read_text(tmp_path, '{"@context": "https://schema.org/", "name": "x"}', "kg.jsonld")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("kg.ttl", "<!doctype html><p>404", "HTML"),
        ("kg.ttl", '{"@id": "e:x"}', "JSON"),
        ("kg.ttl", '<?xml version="1.0"?><rdf:RDF/>', "XML"),
        ("kg.rdf", "<e:s> <e:p> <e:o> .", "."),
        ("kg.rdf", "@prefix e: <e:> .", "no XML"),
        ("kg.jsonld", "@prefix e: <e:> .", "no JSON"),
    ],
)
def test_other_formats_are_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_text(tmp_path, text, name)


@pytest.mark.parametrize(
    ("name", "text"), [("kg.ttl", PREFIX), ("kg.rdf", f"{HEAD}</rdf:RDF>"), ("kg.jsonld", "{}"), ("kg.json", '[{"a": 1}]')]
)
def test_files_without_a_statement(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(InputError if name == "kg.json" else EmptyInputError):
        read_text(tmp_path, text, name)


@pytest.mark.parametrize("name", ["kg.ttl", "kg.rdf", "kg.jsonld"])
def test_cut_files_are_never_taken_for_whole(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"early|read"):
        read_text(tmp_path, ONE[name][:-3], name)
    packed = gzip.compress(ONE[name].encode())
    with pytest.raises(InputError, match="ends early"):
        read_text(tmp_path, packed[:-6], name + ".gz")


BOMB = '<!ENTITY a0 "kilnkiln">' + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 9))
USE = f'{HEAD}<rdf:Description rdf:about="{EX}N"><ex:note>&a8;</ex:note></rdf:Description></rdf:RDF>'


@pytest.mark.parametrize(
    "doctype",
    [
        f"<!DOCTYPE rdf:RDF [{BOMB}]>",
        "<!DOCTYPE rdf:RDF [" + BOMB.replace('"', "'") + "]>",
        f"<!-- {'padding ' * 150_000}-->\n<!DOCTYPE rdf:RDF [{BOMB}]>",
        '<!DOCTYPE rdf:RDF [<!ENTITY a8 "&a7;"><!ENTITY a7 "&a8;">]>',
        '<!DOCTYPE rdf:RDF [<!ENTITY a8 SYSTEM "secret.txt">]>',
        "<!DOCTYPE rdf:RDF [<!ENTITY a8 PUBLIC 'x' 'secret.txt'>]>",
        '<!DOCTYPE rdf:RDF [<!ENTITY % p SYSTEM "secret.txt"> %p; ]>',
        '<!DOCTYPE rdf:RDF [<!ENTITY % p "x"> ]>',
    ],
    ids=["bomb", "apostrophes", "behind-a-comment", "holds-itself", "file", "public", "parameter-file", "parameter"],
)
def test_entities_that_grow_or_reach_outside_are_refused(tmp_path: Path, doctype: str) -> None:
    (tmp_path / "secret.txt").write_text("teal-kiln")
    with pytest.raises(InputError, match="entity") as caught:
        read_text(tmp_path, f'<?xml version="1.0"?>\n{doctype}\n{USE}', "kg.rdf")
    assert "teal" not in str(caught.value)


def test_many_uses_of_one_entity_are_refused_and_small_ones_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdfxml_module, "GROWTH_FREE", 10_000)
    doctype = (
        '<!DOCTYPE rdf:RDF [ <!-- <!ENTITY a8 SYSTEM "x"> --> <!ENTITY ex "https://graph.example/"> <!ENTITY long "'
        + "kiln" * 100
        + '"> ]>'
    )
    body = '<rdf:Description rdf:about="&ex;N"><ex:owns rdf:resource="&ex;H"/></rdf:Description>' * 500
    rows, bad = read_text(tmp_path, f"{doctype}{HEAD}{body}</rdf:RDF><!-- end -->\n", "kg.rdf")
    assert (len(rows), bad) == (500, [])
    assert rows[0]["o"] == f"<{EX}H>"
    with pytest.raises(InputError, match="entities grow"):
        read_text(
            tmp_path,
            f'{doctype}{HEAD}<rdf:Description rdf:about="{EX}N"><ex:n>{"&long;" * 500}</ex:n></rdf:Description></rdf:RDF>',
            "kg.rdf",
        )


def test_faults_far_into_a_file_have_their_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdf, "WINDOW", 20_000)
    lines = [f"ex:s{i} ex:p ex:o{i} ." for i in range(20_000)]
    lines[15_000] = "ex:s ex:p <a b> ."
    rows, (bad,) = read_text(tmp_path, PREFIX + "\n".join(lines), "kg.ttl")
    assert len(rows) == 19_999
    assert (bad["line"], bad["text"]) == (15_002, "ex:s ex:p <a b> .")


def test_a_folder_is_read_in_order_with_names_relative_to_it(tmp_path: Path) -> None:
    home = tmp_path / "graphs"
    (home / "deep").mkdir(parents=True)
    (home / "b.nt").write_text(ONE["kg.nt"])
    (home / "deep" / "a.ttl").write_text(ONE["kg.ttl"])
    (home / "empty.nt").write_text("")
    (home / "notes.docx").write_text("x")
    (home / ".hidden.nt").write_text("nonsense")
    graph = loaded(tmp_path / "work", home)
    (candidate,) = graph.candidates()
    assert [place.file for place in candidate.places] == ["b.nt", "deep/a.ttl"]
    assert [file.name for file in graph.counts.files] == ["b.nt", "deep/a.ttl", "empty.nt"]


def test_equal_names_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kg.nt").write_text(ONE["kg.nt"])
    (candidate,) = loaded(tmp_path / "work", tmp_path / "one" / "kg.nt", tmp_path / "two" / "kg.nt").candidates()
    assert [place.file for place in candidate.places] == ["one/kg.nt", "two/kg.nt"]


def test_folders_with_nothing_in_them_and_paths_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(EmptyInputError, match="no graph or table"):
        loaded(tmp_path / "work", tmp_path / "none")
    (tmp_path / "none" / "kg.nt").write_text("")
    with pytest.raises(EmptyInputError, match="empty"):
        loaded(tmp_path / "work", tmp_path / "none")
    with pytest.raises(StorageError, match="no such file"):
        loaded(tmp_path / "work", tmp_path / "nothing")
