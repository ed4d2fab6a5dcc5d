"""Field cases 01 to 08: graphs as files that real users met."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from field_cli import EX, any_index, audit, copy_case, files_of, index_of, kgaudit, measured, read_jsonl, refused, report_text, short

from kgaudit.runs.reader import RunReader
from kgaudit.triples import Triple, canonical_term, literal_term

BOM = "\ufeff"
NT_LINE = f"<{EX}Norrby_Pumps> <{EX}owns> <{EX}Halden_Works> .\n"
NORRBY_OWNS = Triple(f"<{EX}Norrby_Pumps>", f"<{EX}owns>", f"<{EX}Halden_Works>").key
RDF_HEAD = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="https://graph.example/">'


def xml(*triples: tuple[str, str, str]) -> str:
    """Triples as RDF/XML."""
    return (
        RDF_HEAD
        + "".join(f'<rdf:Description rdf:about="{EX}{s}"><ex:{p} rdf:resource="{EX}{o}"/></rdf:Description>' for s, p, o in triples)
        + "</rdf:RDF>"
    )


# 01: a byte-order mark


def test_01_mark_at_the_start(tmp_path: Path) -> None:
    case = copy_case("01-bom-first-line", tmp_path)
    lines = audit(case / "kg.nt", run=tmp_path / "nt")
    turtle = audit(case / "kg.ttl", run=tmp_path / "ttl")
    assert (len(lines.rows), lines.quarantine) == (3, [])
    assert (len(turtle.rows), turtle.quarantine) == (2, [])
    (case / "plain.nt").write_text((case / "kg.nt").read_text("utf-8-sig"), "utf-8")
    assert audit(case / "plain.nt", run=tmp_path / "plain").keys == lines.keys
    assert NORRBY_OWNS in lines.keys
    for run in (lines, turtle):
        assert BOM not in json.dumps(run.rows, ensure_ascii=False)
        assert BOM not in run.result.text
        assert BOM not in report_text(run.path)
        assert not any(BOM.encode() in content for path, content in files_of(run.path) if path.suffix in (".json", ".jsonl", ".html"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kg.nq", NT_LINE),
        ("kg.trig", f"@prefix ex: <{EX}> .\nex:Norrby_Pumps ex:owns ex:Halden_Works ."),
        ("kg.rdf", xml(("Norrby_Pumps", "owns", "Halden_Works"))),
        ("kg.jsonld", json.dumps({"@id": f"{EX}Norrby_Pumps", f"{EX}owns": {"@id": f"{EX}Halden_Works"}})),
        ("middle.nt", f"{NT_LINE}{BOM}{NT_LINE}"),  # two marked files joined by cat
        ("kg.nt.gz", NT_LINE),
    ],
)  # fmt: skip
def test_01_mark_in_every_format(tmp_path: Path, name: str, text: str) -> None:
    data = (BOM + text).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    run = audit(tmp_path / name, run=tmp_path / "run")
    assert run.keys == [NORRBY_OWNS]
    assert run.quarantine == []


def test_01_mark_of_utf16_is_named(tmp_path: Path) -> None:
    (tmp_path / "kg.nt").write_bytes(NT_LINE.encode("utf-16"))
    assert "UTF-16" in refused(tmp_path / "kg.nt", run=tmp_path / "run")


# 02: characters that may not stand in an IRI


def test_02_space_in_an_iri(tmp_path: Path) -> None:
    case = copy_case("02-iri-with-space", tmp_path)
    run = audit(case / "kg.nt", run=tmp_path / "run")
    assert {place["line"] for row in run.rows for place in row["places"]} == {1, 3, 6}
    assert "Ort/Mühlbrück" in run.subjects
    lines = (case / "kg.nt").read_text("utf-8").splitlines()
    reasons = {row["line"]: row["reason"] for row in run.quarantine}
    assert sorted(reasons) == [2, 4, 5]
    assert all(row["text"] == lines[row["line"] - 1] for row in run.quarantine)
    assert all(row["file"] == "kg.nt" for row in run.quarantine)
    assert "space" in reasons[2]
    assert "escaped" not in reasons[2]
    assert "escaped space" in reasons[4]
    assert "brace" in reasons[5]
    assert "%20" not in json.dumps(run.rows)
    assert "line 2" in refused(case / "kg.nt", run=tmp_path / "strict", options=("--strict",))


@pytest.mark.parametrize(
    ("iri", "named"),
    [
        ("valve|7", "vertical bar"),
        ("valve^7", "circumflex"),
        ("valve`7", "backtick"),
        ('valve"7', "quotation mark"),
        ("valve\\7", "\\"),
        ("valve\\u00097", "tab"),
        ("valve\\u003E7", "escaped greater-than"),
        ("valve\x017", "U+0001"),
        ("valve%7", "%"),
    ],
)
@pytest.mark.parametrize("suffix", ["nt", "nq", "ttl", "trig"])
def test_02_other_characters_in_line_formats(tmp_path: Path, iri: str, named: str, suffix: str) -> None:
    kg = tmp_path / f"kg.{suffix}"
    kg.write_text(f"{NT_LINE}<{EX}{iri}> <{EX}madeBy> <{EX}Norrby> .\n<{EX}Tarn> <{EX}owns> <{EX}Kestrel> .\n", "utf-8")
    run = audit(kg, run=tmp_path / "run")
    assert run.subjects == {"Norrby_Pumps", "Tarn"}
    (row,) = run.quarantine
    assert row["line"] == 2
    assert named.lower() in row["reason"].lower()


def test_02_space_in_a_graph_name_and_in_a_datatype(tmp_path: Path) -> None:
    lines = (
        f"<{EX}a> <{EX}owns> <{EX}b> <{EX}batch 1> .",
        f'<{EX}a> <{EX}size> "1"^^<{EX}my type> .',
        f"<{EX}a> <{EX}owns> <{EX}c> <{EX}batch_1> .",
    )
    (tmp_path / "kg.nq").write_text("\n".join(lines) + "\n", "utf-8")
    run = audit(tmp_path / "kg.nq", run=tmp_path / "run")
    assert run.objects == {"c"}
    assert [row["line"] for row in run.quarantine] == [1, 2]


def test_02_space_in_xml_and_json(tmp_path: Path) -> None:
    """Where the parser cannot go on, the whole file is refused; where it can, that statement alone is set aside."""
    (tmp_path / "kg.rdf").write_text(xml(("valve 7", "madeBy", "Norrby"), ("valve_8", "madeBy", "Norrby")), "utf-8")
    assert "space" in refused(tmp_path / "kg.rdf", run=tmp_path / "rdf")
    things = [{"@id": EX + name, f"{EX}madeBy": {"@id": f"{EX}Norrby"}} for name in ("valve 7", "valve_8")]
    (tmp_path / "kg.jsonld").write_text(json.dumps(things), "utf-8")
    run = audit(tmp_path / "kg.jsonld", run=tmp_path / "jsonld")
    assert run.subjects == {"valve_8"}
    (row,) = run.quarantine
    assert "space" in row["reason"]


# 03: relative IRIs


def test_03_relative_iris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = []
    for home in (tmp_path / "folder-one", tmp_path / "folder-two"):
        case = copy_case("03-relative-iri", home)
        monkeypatch.chdir(case)
        run = audit(Path("kg.ttl"), run=Path("run"))
        assert run.subjects == {"valve-7"}
        assert [row["line"] for row in run.quarantine] == [3, 4]
        assert all("relative IRI" in row["reason"] for row in run.quarantine)
        kept = json.dumps(run.rows) + report_text(Path("run")) + json.dumps(run.quarantine)
        assert "file:" not in kept
        assert "folder-one" not in kept
        assert "folder-two" not in kept
        keys.append(run.keys)
    assert keys[0] == keys[1]
    based = audit(Path("kg.ttl"), run=Path("based"), options=("--base", EX))
    assert based.quarantine == []
    assert based.triples == {
        ("valve-7", "madeBy", "Norrby_Pumps"),
        ("valve-8", "madeBy", "to-be-named"),
        ("valve-9", "madeBy", "Norrby_Pumps"),
    }
    assert f"<{EX}valve-9>" in {row["s"] for row in based.rows}


RELATIVE = {
    "kg.trig": f"@prefix ex: <{EX}> .\nex:valve-7 ex:madeBy ex:Norrby .\nex:batch {{ <valve-9> ex:madeBy ex:Norrby . }}\n",
    "kg.rdf": f'{RDF_HEAD}<rdf:Description rdf:about="{EX}valve-7"><ex:madeBy rdf:resource="{EX}Norrby"/></rdf:Description>'
    f'<rdf:Description rdf:about="valve-9"><ex:madeBy rdf:resource="{EX}Norrby"/></rdf:Description></rdf:RDF>',
    "kg.jsonld": json.dumps(
        [
            {"@id": f"{EX}valve-7", f"{EX}madeBy": {"@id": f"{EX}Norrby"}},
            {"@id": "valve-9", f"{EX}madeBy": {"@id": f"{EX}Norrby"}},
        ]
    ),
}


@pytest.mark.parametrize("name", RELATIVE)
def test_03_relative_iris_in_other_formats(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(RELATIVE[name], "utf-8")
    run = audit(tmp_path / name, run=tmp_path / "run")
    assert run.subjects == {"valve-7"}
    (row,) = run.quarantine
    assert "relative IRI" in row["reason"]
    assert "--base" in row["reason"] or "base" in row["reason"]
    based = audit(tmp_path / name, run=tmp_path / "based", options=("--base", EX))
    assert based.subjects == {"valve-7", "valve-9"}
    assert based.quarantine == []


def test_03_relative_iris_in_lines_have_no_base(tmp_path: Path) -> None:
    (tmp_path / "kg.nt").write_text(f"{NT_LINE}<valve-9> <{EX}madeBy> <{EX}Norrby> .\n", "utf-8")
    run = audit(tmp_path / "kg.nt", run=tmp_path / "run", options=("--base", EX))
    assert run.keys == [NORRBY_OWNS]
    assert "relative IRI" in run.quarantine[0]["reason"]


def test_03_base_of_the_file_and_bad_base(tmp_path: Path) -> None:
    (tmp_path / "kg.ttl").write_text(f"@base <{EX}> .\n<valve-9> <madeBy> <Norrby> .\n", "utf-8")
    assert audit(tmp_path / "kg.ttl", run=tmp_path / "run").subjects == {"valve-9"}
    assert "--base" in refused(tmp_path / "kg.ttl", run=tmp_path / "bad", options=("--base", "not an IRI"))


# 04: blank nodes


def test_04_blank_nodes_of_two_files(tmp_path: Path) -> None:
    case = copy_case("04-blank-nodes-two-files", tmp_path)
    index = index_of(case / "docs.jsonl")
    a, b = case / "a.nt", case / "b.nt"
    run = audit(a, b, index=index, run=tmp_path / "ab")
    assert len(run.rows) == 4
    about: dict[str, set[str]] = {}
    for row in run.rows:
        about.setdefault(row["s"], set()).add(short(row["o"]))
    assert sorted(about.values(), key=sorted) == [{"Halden", "Osprey pump"}, {"Kestrel pump", "Norrby"}]
    other = audit(b, a, index=index, run=tmp_path / "ba")
    assert other.keys == run.keys
    again = audit(a, b, index=index, run=tmp_path / "ab")
    assert again.reader.summary["verified_now"] == 0
    assert again.reader.summary["verified_before"] == 4
    assert again.keys == run.keys


@pytest.mark.parametrize("suffix", ["nt", "nq", "ttl", "trig", "nt.gz"])
def test_04_one_after_the_other_and_as_a_folder(tmp_path: Path, suffix: str) -> None:
    case = copy_case("04-blank-nodes-two-files", tmp_path)
    wanted = audit(case / "a.nt", case / "b.nt", run=tmp_path / "lines").keys
    folder = tmp_path / "graphs"
    folder.mkdir()
    for name in ("a", "b"):
        data = (case / f"{name}.nt").read_bytes()
        (folder / f"{name}.{suffix}").write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    assert audit(folder, run=tmp_path / "folder").keys == wanted
    run = tmp_path / "steps"
    audit_part = audit(folder / f"a.{suffix}", run=run)
    assert len(audit_part.rows) == 2

    kgaudit("audit", folder / f"b.{suffix}", "--index", any_index(), "--run", run)
    assert sorted(key for batch in RunReader(run).batches(["key"]) for key in batch["key"].to_pylist()) == wanted


def test_04_labels_do_not_decide_keys(tmp_path: Path) -> None:
    lines = [
        f'_:x <{EX}productName> "Kestrel pump" .',
        f"_:x <{EX}madeBy> <{EX}Norrby> .",
        f"_:x <{EX}part> _:y .",
        f'_:y <{EX}size> "7" .',
    ]
    (tmp_path / "one.nt").write_text("\n".join(lines) + "\n")
    (tmp_path / "two.nt").write_text(
        "\n".join(line.replace("_:x", "_:genid9").replace("_:y", "_:a") for line in reversed(lines)) + "\n"
    )
    assert audit(tmp_path / "one.nt", run=tmp_path / "r1").keys == audit(tmp_path / "two.nt", run=tmp_path / "r2").keys


# 05: half characters


def test_05_surrogate_escapes(tmp_path: Path) -> None:
    case = copy_case("05-surrogate-escapes", tmp_path)
    run = audit(case / "kg.nt", run=tmp_path / "run")
    assert {row["s"].rsplit("_", 1)[1][:-1]: short(row["o"]) for row in run.rows} == {"1": "🚢", "4": "🚢", "5": "none"}
    assert canonical_term(run.one("ferry_1", "signal", "🚢")["o"]) == canonical_term(run.one("ferry_4", "signal", "🚢")["o"])
    assert [row["line"] for row in run.quarantine] == [2, 3]
    assert all("surrogate" in row["reason"] for row in run.quarantine)
    assert "🚢" in report_text(run.path)


@pytest.mark.parametrize("suffix", ["nq", "ttl", "trig"])
def test_05_surrogate_escapes_in_other_formats(tmp_path: Path, suffix: str) -> None:
    case = copy_case("05-surrogate-escapes", tmp_path)
    shutil.copy(case / "kg.nt", tmp_path / f"kg.{suffix}")
    run = audit(tmp_path / f"kg.{suffix}", run=tmp_path / "run")
    assert len(run.rows) == 3
    assert [row["line"] for row in run.quarantine] == [2, 3]


def test_05_surrogates_in_json(tmp_path: Path) -> None:
    """In JSON a pair of escapes is one character; half of one is none."""
    (tmp_path / "rows.jsonl").write_text(
        '{"subject": "ferry 1", "predicate": "signal", "object": "\\ud83d\\udea2"}\n'
        '{"subject": "ferry 2", "predicate": "signal", "object": "ship \\ud83d gone"}\n'
        '{"subject": "ferry \\udea2", "predicate": "signal", "object": "x", "statement": "y"}\n'
        '{"subject": "ferry 4", "predicate": "signal", "object": "x", "statement": "half \\ud83d of it"}\n'
    )
    run = audit(tmp_path / "rows.jsonl", run=tmp_path / "run")
    assert run.triples == {("ferry 1", "signal", "🚢")}
    assert [row["line"] for row in run.quarantine] == [2, 3, 4]
    report_text(run.path)


def test_05_surrogates_in_documents(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text(
        '{"id": "d1", "text": "Norrby Pumps owns Halden Works \\ud83d\\udea2."}\n{"id": "d2", "text": "half \\ud83d of it"}\n'
    )
    (tmp_path / "kg.nt").write_text(NT_LINE)

    result = kgaudit("index", tmp_path / "docs.jsonl", "--to", tmp_path / "index")
    assert "1 set aside" in result.out
    assert "half a character" in read_jsonl(tmp_path / "index" / "quarantine.jsonl")[0]["reason"]
    audit(tmp_path / "kg.nt", index=tmp_path / "index", run=tmp_path / "run")


# 06: compressed files


def test_06_truncated_and_in_members_and_empty(tmp_path: Path) -> None:
    case = copy_case("06-truncated-gzip", tmp_path)
    message = refused(case / "cut.nt.gz", run=tmp_path / "cut")
    assert "cut.nt.gz" in message
    assert "ends early" in message
    read = re.search(r"(\d+) statements were read", message)
    assert read is not None
    assert 200 < int(read[1]) < 400
    assert len(audit(case / "members.nt.gz", run=tmp_path / "members").rows) == 20
    message = refused(case / "empty.nt.gz", run=tmp_path / "empty")
    assert "empty.nt.gz" in message
    assert "empty" in message.replace("empty.nt.gz", "")


LINES = "".join(f"<{EX}p{i}> <{EX}madeBy> <{EX}m{i % 7}> .\n" for i in range(2000)).encode()
CSV_LINES = b"subject,predicate,object\n" + b"".join(b"p%d,madeBy,m%d\n" % (i, i % 7) for i in range(2000))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("kg.nt.gz", LINES),
        ("kg.ttl.gz", LINES),
        ("kg.trig.gz", LINES),
        ("kg.nq.zst", LINES),
        ("rows.csv.gz", CSV_LINES),
        ("rows.csv.zst", CSV_LINES),
    ],
)
def test_06_cut_in_other_formats(tmp_path: Path, name: str, data: bytes) -> None:
    packed = gzip.compress(data) if name.endswith(".gz") else pa.compress(data, "zstd", asbytes=True)
    (tmp_path / name).write_bytes(packed)
    assert len(audit(tmp_path / name, run=tmp_path / "whole").rows) == 2000
    for cut in (len(packed) // 2, len(packed) - 3):
        (tmp_path / name).write_bytes(packed[:cut])
        message = refused(tmp_path / name, run=tmp_path / f"cut-{cut}")
        assert name in message
        assert "ends early" in message or "damaged" in message


def test_06_damaged_in_the_middle_and_not_compressed_at_all(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(LINES))
    packed[len(packed) // 2] ^= 0xFF
    (tmp_path / "kg.nt.gz").write_bytes(packed)
    assert "damaged" in refused(tmp_path / "kg.nt.gz", run=tmp_path / "damaged")
    (tmp_path / "plain.nt.gz").write_bytes(LINES)
    assert "plain.nt.gz" in refused(tmp_path / "plain.nt.gz", run=tmp_path / "plain")


def test_06_cut_documents(tmp_path: Path) -> None:

    rows = "".join(json.dumps({"id": f"d{i}", "text": f"Maker {i} makes pump {i * 7919}."}) + "\n" for i in range(500)).encode()
    for name, packed in (("docs.jsonl.gz", gzip.compress(rows)), ("docs.jsonl.zst", pa.compress(rows, "zstd", asbytes=True))):
        (tmp_path / name).write_bytes(packed[: len(packed) // 2])
        result = kgaudit("index", tmp_path / name, "--to", tmp_path / "index", status=2)
        assert name in result.err
        assert "cut off" in result.err
        assert not (tmp_path / "index").exists()


# 07: entities


def test_07_entity_bomb_and_outside_entity(tmp_path: Path) -> None:
    case = copy_case("07-entity-bomb", tmp_path)
    ordinary = tmp_path / "ordinary.rdf"
    ordinary.write_text(
        f'<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [ <!ENTITY ex "{EX}"> ]>\n{RDF_HEAD}'
        '<rdf:Description rdf:about="&ex;Norrby"><ex:owns rdf:resource="&ex;Halden"/></rdf:Description></rdf:RDF>'
    )
    index = any_index()
    plain = measured("audit", ordinary, "--index", index, "--run", tmp_path / "plain")
    for name in ("bomb.rdf", "outside.rdf"):
        result = measured("audit", case / name, "--index", index, "--run", tmp_path / name, status=2, address_space=6 << 30)
        assert name in result.err
        assert "entity" in result.err
        assert result.seconds < 5
        assert result.peak_mb < plain.peak_mb + 300
        assert "teal-kiln" not in result.text
        assert not any(b"teal-kiln" in content for _, content in files_of(tmp_path / name))
    (row,) = [row for batch in RunReader(tmp_path / "plain").batches() for row in batch.to_pylist()]
    assert row["s"] == f"<{EX}Norrby>"


BOMB = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 9))


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE rdf:RDF [ <!ENTITY a0 'kilnkiln'>" + BOMB.replace('"', "'") + " ]>",
        "<!-- " + "padding " * 150_000 + "-->\n<!DOCTYPE rdf:RDF [ <!ENTITY a0 'kilnkiln'>" + BOMB + " ]>",
        '<!DOCTYPE rdf:RDF [ <!ENTITY a8 "&a7;"><!ENTITY a7 "&a8;"> ]>',
        '<!DOCTYPE rdf:RDF [ <!ENTITY % p SYSTEM "secret.txt"> %p; ]>',
        '<!DOCTYPE rdf:RDF [ <!ENTITY a8 PUBLIC "x" "secret.txt"> ]>',
    ],
    ids=["apostrophes", "behind-a-long-comment", "holds-itself", "parameter", "public"],
)
def test_07_other_bombs(tmp_path: Path, doctype: str) -> None:
    (tmp_path / "secret.txt").write_text("teal-kiln")
    body = f'{RDF_HEAD}<rdf:Description rdf:about="{EX}Norrby"><ex:note>&a8;</ex:note></rdf:Description></rdf:RDF>'
    (tmp_path / "kg.rdf").write_text(f'<?xml version="1.0"?>\n{doctype}\n{body}')
    message = measured("audit", tmp_path / "kg.rdf", "--index", any_index(), "--run", tmp_path / "run", status=2, address_space=6 << 30)
    assert "kg.rdf" in message.err
    assert "entity" in message.err
    assert message.seconds < 5
    assert message.peak_mb < 600
    assert "teal-kiln" not in message.text


def test_07_many_uses_of_one_entity(tmp_path: Path) -> None:
    """No entity is large, yet what the file grows to is: 60,000 times 9,000 letters."""
    body = f'<rdf:Description rdf:about="{EX}Norrby"><ex:note>' + "&k;" * 60_000 + "</ex:note></rdf:Description></rdf:RDF>"
    (tmp_path / "kg.rdf").write_text(f'<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [ <!ENTITY k "{"kiln" * 2250}"> ]>\n{RDF_HEAD}{body}')
    result = measured("audit", tmp_path / "kg.rdf", "--index", any_index(), "--run", tmp_path / "run", status=2, address_space=6 << 30)
    assert "entity" in result.err or "entities" in result.err
    assert result.seconds < 5
    assert result.peak_mb < 600


# 08: default and named graphs


def test_08_default_and_named_graphs(tmp_path: Path) -> None:
    case = copy_case("08-default-and-named-graphs", tmp_path)
    run = audit(case / "kg.trig", index=index_of(case / "docs.jsonl"), run=tmp_path / "run")
    assert run.load["statements"] == 5
    assert len(run.rows) == 4
    owns = run.one("Norrby", "owns", "Halden")
    assert {place["graph"] for place in owns["places"]} == {None, f"<{EX}batch1>"}
    assert [place["graph"] for place in run.one("Norrby", "seat", "Orvik")["places"]] == [None]
    signed = [row for row in run.rows if short(row["p"]) == "signedBy"]
    assert {short(row["o"]) for row in signed} == {"Norrby", "Tarn"}
    assert len({row["s"] for row in signed}) == 1


def test_08_quads_and_json_keep_their_graphs(tmp_path: Path) -> None:
    (tmp_path / "kg.nq").write_text(
        f"<{EX}a> <{EX}owns> <{EX}b> .\n<{EX}a> <{EX}owns> <{EX}b> <{EX}g1> .\n<{EX}a> <{EX}owns> <{EX}b> _:g .\n"
    )
    (tmp_path / "kg.jsonld").write_text(
        json.dumps(
            [
                {"@id": f"{EX}a", f"{EX}owns": {"@id": f"{EX}b"}},
                {"@id": f"{EX}g1", "@graph": [{"@id": f"{EX}a", f"{EX}owns": {"@id": f"{EX}b"}}]},
            ]
        )
    )
    for name, graphs in (("kg.nq", 3), ("kg.jsonld", 2)):
        run = audit(tmp_path / name, run=tmp_path / f"run-{name}")
        (row,) = run.rows
        found = {place["graph"] for place in row["places"]}
        assert len(found) == graphs
        assert None in found
        assert f"<{EX}g1>" in found


def test_08_literals_written_in_many_ways_are_one(tmp_path: Path) -> None:
    xsd = "http://www.w3.org/2001/XMLSchema#"
    forms = ['"1.50"^^<%sdecimal>', '"+1.5"^^<%sdecimal>', '"01.500"^^<%sdecimal>']
    lines = [f"<{EX}a> <{EX}size> {form % xsd} ." for form in forms]
    lines += [f"<{EX}a> <{EX}name> {literal_term('Werk', language=tag)} ." for tag in ("de-AT", "de-at", "DE-AT")]
    (tmp_path / "kg.nt").write_text("\n".join(lines) + "\n")
    run = audit(tmp_path / "kg.nt", run=tmp_path / "run")
    assert len(run.rows) == 2
    assert run.load["duplicates"] == 4
    assert all(len(row["places"]) == 3 for row in run.rows)
