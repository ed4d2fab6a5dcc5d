"""Input that is not what it should be: every command says what happened, to which input and what to do, and ends with status 2."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import zlib
from pathlib import Path

import pytest
from field_cli import EX, FIELD, ONE_THREAD, any_index, audit, command, index_of, kgaudit, measured, read_jsonl, refused

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
LINE = f"<{EX}Norrby_Pumps> <{EX}seat> <{EX}Orvik> .\n"
PREFIXES = f"@prefix ex: <{EX}> . @prefix rdfs: <{RDFS}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"  # noqa: E501
A_GIGABYTE = 1 << 30
MEMORY = 5 << 30


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    path = tmp_path / "good.nt"
    path.write_text(LINE)
    return path


# Files that are not what their name says

PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"
HTML = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><a href='x'>Sign in</a></body></html>\n"
JSON = b'{"error": "not found", "status": 404}\n'
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00"
ZIP = b"PK\x03\x04\x14\x00\x00\x00\x08\x00"


@pytest.mark.parametrize("suffix", ["nt", "nq", "ttl", "trig", "rdf", "jsonld", "csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("data", [b"", HTML, PDF, JSON, PNG, ZIP], ids=["empty", "html", "pdf", "json", "png", "zip"])
def test_wrong_format(tmp_path: Path, suffix: str, data: bytes) -> None:
    path = tmp_path / f"kg.{suffix}"
    path.write_bytes(data)
    if data == JSON and suffix == "jsonld":  # JSON-LD by its looks, yet without one statement
        assert "kg.jsonld" in refused(path, run=tmp_path / "run")
        return
    message = refused(path, run=tmp_path / "run")
    assert f"kg.{suffix}" in message
    assert message.startswith("kgaudit: ")
    assert message.count("\n") == 1
    if not data:
        assert "empty" in message
    elif data is HTML:
        assert "HTML" in message


@pytest.mark.parametrize("data", [HTML, PDF, PNG, ZIP, b"{'single': 'quotes'}\n", b"[1, 2]\n", b"\xff\xfe\x00"])
def test_documents_of_a_wrong_format(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "docs.jsonl").write_bytes(data)
    message = kgaudit("index", tmp_path / "docs.jsonl", "--to", tmp_path / "index", status=2).err
    assert "docs.jsonl" in message
    (tmp_path / "docs.parquet").write_bytes(data)
    assert "docs.parquet" in kgaudit("index", tmp_path / "docs.parquet", "--to", tmp_path / "index", status=2).err
    (tmp_path / "scan.pdf").write_bytes(data)
    assert "scan.pdf" in kgaudit("index", tmp_path / "scan.pdf", "--to", tmp_path / "index", status=2).err
    assert not (tmp_path / "index").exists()


def test_graph_where_documents_are_wanted_and_the_other_way_round(tmp_path: Path, kg: Path) -> None:
    assert "good.nt" in kgaudit("index", kg, "--to", tmp_path / "index", status=2).err
    assert "any.jsonl" in refused(FIELD / "any.jsonl", run=tmp_path / "run")


@pytest.mark.parametrize("name", ["kg.unknown", "kg", "kg.xlsx", "kg.nt.bz2"])
def test_unknown_suffix(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LINE)
    message = refused(tmp_path / name, run=tmp_path / "run")
    assert name in message
    assert "--format" in message
    if name == "kg":
        assert len(audit(tmp_path / name, run=tmp_path / "run", options=("--format", "ntriples")).rows) == 1


def test_formats_by_their_short_names(tmp_path: Path) -> None:
    """The names that the help of `--format` gives."""
    (tmp_path / "kg").write_text(LINE)
    for name in ("nt", "nq", "ttl", "trig"):
        assert len(audit(tmp_path / "kg", run=tmp_path / name, options=("--format", name)).rows) == 1
    assert "rdfxmll" in refused(tmp_path / "kg", run=tmp_path / "run", options=("--format", "rdfxmll"))


def test_things_that_are_missing_or_of_another_kind(tmp_path: Path, kg: Path) -> None:
    assert "no such file" in refused(tmp_path / "none.nt", run=tmp_path / "run")
    (tmp_path / "folder.nt").mkdir()
    assert "folder.nt" in refused(tmp_path / "folder.nt", run=tmp_path / "run")
    assert "none.jsonl" in kgaudit("index", tmp_path / "none.jsonl", "--to", tmp_path / "index", status=2).err
    for command_ in (
        ("report", tmp_path / "none"),
        ("export", tmp_path / "none", "--to", tmp_path / "x.csv"),
        ("replay", tmp_path / "none", "abcdef"),
    ):
        message = kgaudit(*command_, status=2).err
        assert "none" in message
        assert "--run" in message
    run = audit(kg, run=tmp_path / "run").path
    assert "holds no triple" in kgaudit("replay", run, "no such triple", status=2).err
    assert "--format" in kgaudit("export", run, "--to", tmp_path / "table.xyz", status=2).err
    for option in ("--rules", "--labels", "--cards", "--trusted"):
        assert "none.yaml" in refused(kg, run=tmp_path / f"run{option}", options=(option, tmp_path / "none.yaml"))


@pytest.mark.parametrize("option", ["--rules", "--cards", "--labels", "--trusted"])
@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe\xff", b"{[", b"- 1\n- 2\n", b"\x00\x01", HTML], ids=["empty", "no-utf8", "no-yaml", "list", "nul", "html"]
)
def test_side_files_of_a_wrong_format(tmp_path: Path, kg: Path, option: str, data: bytes) -> None:
    name = {"--labels": "side.tsv", "--trusted": "side.nt"}.get(option, "side.yaml")
    (tmp_path / name).write_bytes(data)
    arguments = ("audit", kg, "--index", any_index(), "--run", tmp_path / "run", option, tmp_path / name)
    if option == "--labels" and not data:
        kgaudit(*arguments)  # a file of labels may hold none
        return
    assert name in kgaudit(*arguments, status=2).err


# Broken UTF-8


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\xbd", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"M\xfchle"])
@pytest.mark.parametrize("suffix", ["nt", "nq", "jsonl", "csv"])
def test_broken_utf8_costs_its_line_only(tmp_path: Path, suffix: str, bad: bytes) -> None:
    path = tmp_path / f"kg.{suffix}"
    if suffix == "jsonl":
        rows = [b'{"subject": "a", "predicate": "owns", "object": "b%s"}' % one for one in (b"", bad, b"c")]
    elif suffix == "csv":
        rows = [b"subject,predicate,object", b"a,owns,b", b"a,owns,b" + bad, b"a,owns,bc"]
    else:
        rows = [f'<{EX}a> <{EX}owns> "b'.encode() + one + b'" .' for one in (b"", bad, b"c")]
    path.write_bytes(b"\n".join(rows) + b"\n")
    run = audit(path, run=tmp_path / "run")
    assert run.objects == {"b", "bc"}
    (row,) = run.quarantine
    assert row["line"] == (3 if suffix == "csv" else 2)
    assert "UTF-8" in row["reason"]
    message = refused(path, run=tmp_path / "strict", options=("--strict",))
    assert f"line {row['line']}" in message


@pytest.mark.parametrize("suffix", ["ttl", "trig", "rdf", "jsonld"])
def test_broken_utf8_in_whole_documents(tmp_path: Path, suffix: str) -> None:
    texts = {
        "ttl": PREFIXES + 'ex:a ex:owns "b?" .',
        "trig": PREFIXES + 'ex:g { ex:a ex:owns "b?" . }',
        "rdf": f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="{EX}"><rdf:Description rdf:about="{EX}a">'
        "<ex:owns>b?</ex:owns></rdf:Description></rdf:RDF>",
        "jsonld": json.dumps({"@id": f"{EX}a", f"{EX}owns": "b?"}),
    }
    path = tmp_path / f"kg.{suffix}"
    path.write_bytes(texts[suffix].encode().replace(b"?", b"\xff"))
    message = refused(path, run=tmp_path / "run")
    assert path.name in message
    assert "utf-8" in message.lower() or "character" in message.lower()


def test_broken_utf8_in_documents(tmp_path: Path, kg: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"first\nM\xfchlbr\xfcck\n")
    (folder / "b.txt").write_text("Norrby Pumps has its seat in Orvik.")
    result = kgaudit("index", folder, "--to", tmp_path / "index")
    assert "1 set aside" in result.out
    (row,) = read_jsonl(tmp_path / "index" / "quarantine.jsonl")
    assert row["line"] == 2
    assert "UTF-8" in row["reason"]
    audit(kg, index=tmp_path / "index", run=tmp_path / "run")


# Cut off


@pytest.mark.parametrize("suffix", ["ttl", "trig", "rdf", "jsonld"])
def test_cut_in_the_middle_of_a_statement(tmp_path: Path, suffix: str) -> None:
    whole = {
        "ttl": PREFIXES + "ex:a ex:owns ex:b .\nex:c ex:owns ex:",
        "trig": PREFIXES + "ex:g { ex:a ex:owns ex:b .\nex:c ex:owns ex:d .",
        "rdf": f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="{EX}"><rdf:Description rdf:about="{EX}a">'
        f'<ex:owns rdf:resource="{EX}b"/></rdf:Description>',
        "jsonld": '[{"@id": "https://graph.example/a", "https://graph.example/owns": "b"}, {"@id"',
    }
    (tmp_path / f"kg.{suffix}").write_text(whole[suffix])
    assert f"kg.{suffix}" in refused(tmp_path / f"kg.{suffix}", run=tmp_path / "run")


@pytest.mark.parametrize("suffix", ["nt", "nq"])
def test_last_line_without_an_end(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"kg.{suffix}").write_text(LINE + f"<{EX}a> <{EX}owns> <{EX}b> .")
    assert len(audit(tmp_path / f"kg.{suffix}", run=tmp_path / "whole").rows) == 2
    (tmp_path / f"kg.{suffix}").write_text(LINE + f"<{EX}a> <{EX}owns> <{EX}")
    run = audit(tmp_path / f"kg.{suffix}", run=tmp_path / "cut")
    assert len(run.rows) == 1
    assert [row["line"] for row in run.quarantine] == [2]


# Immense


def gzip_of(head: bytes, letter: bytes, count: int, tail: bytes) -> bytes:
    """A gzip file of `head`, `count` times `letter`, `tail`: one member is packed once and repeated, so that it takes no time."""
    size = 1 << 24
    pack = zlib.compressobj(1, wbits=31)
    block = pack.compress(letter * size) + pack.flush()
    return gzip.compress(head) + block * (count // size) + gzip.compress(tail)


@pytest.mark.parametrize("name", ["kg.nt.gz", "kg.nq.gz", "kg.ttl.gz", "rows.jsonl.gz", "rows.csv.gz"])
def test_literal_of_a_gigabyte(tmp_path: Path, name: str) -> None:
    """One line or row of 1 GB: set aside or refused within bounded memory, the lines beside it kept where they can be."""
    if name.startswith("rows.jsonl"):
        row = '{"subject": "a", "predicate": "note", "object": "%s'
        head, tail = row % 'b"}\n' + row % "", '"}\n' + row % 'c"}\n'
    elif name.startswith("rows.csv"):
        head, tail = 'subject,predicate,object\na,note,b\na,note,"', '"\na,note,c\n'
    else:
        head, tail = f'<{EX}a> <{EX}note> "b" .\n<{EX}a> <{EX}note> "', f'" .\n<{EX}a> <{EX}note> "c" .\n'
    size = A_GIGABYTE if name in ("kg.nt.gz", "kg.ttl.gz") else A_GIGABYTE // 4  # the same path through the reader, in less time
    (tmp_path / name).write_bytes(gzip_of(head.encode(), b"x", size, tail.encode()))
    arguments = ("audit", tmp_path / name, "--index", any_index(), "--run", tmp_path / "run")
    if name == "kg.ttl.gz":
        result = measured(*arguments, status=2, address_space=MEMORY)
        assert name in result.err
        assert "16" in result.err
    else:
        result = measured(*arguments, address_space=MEMORY)
        (row_,) = read_jsonl(tmp_path / "run" / "graph" / "quarantine.jsonl")
        assert row_["line"] == (3 if "csv" in name else 2)
        assert "bytes" in row_["reason"]
        assert len(row_["text"]) <= 2000
        assert "2 triples to verify" in result.out
    assert result.peak_mb < 1000


def test_hole_of_zero_bytes(tmp_path: Path) -> None:
    """A file with a hole, as a crash leaves it: at the beginning it is binary data, later on a line that is set aside."""
    path = tmp_path / "kg.nt"
    for name, lines in (("early", 1), ("late", 120_000)):
        with open(path, "wb") as stream:
            stream.write(LINE.encode() * lines)
            stream.seek(stream.tell() + (1 << 28))
            stream.write(f"\n<{EX}a> <{EX}owns> <{EX}b> .\n".encode())
        arguments = ("audit", path, "--index", any_index(), "--run", tmp_path / name)
        if name == "early":
            result = measured(*arguments, status=2, address_space=MEMORY)
            assert "binary data" in result.err
        else:
            result = measured(*arguments, address_space=MEMORY)
            assert "2 triples to verify" in result.out
            assert "1 set aside" in result.out
        assert result.peak_mb < 1000


def test_document_of_a_gigabyte(tmp_path: Path) -> None:
    head, tail = b'{"id": "a", "text": "Norrby."}\n{"id": "b", "text": "', b'"}\n{"id": "c", "text": "Halden."}\n'
    (tmp_path / "docs.jsonl.gz").write_bytes(gzip_of(head, b"x", A_GIGABYTE, tail))
    result = measured("index", tmp_path / "docs.jsonl.gz", "--to", tmp_path / "index", address_space=MEMORY)
    assert "2 of 3 documents indexed" in result.out
    (row,) = read_jsonl(tmp_path / "index" / "quarantine.jsonl")
    assert row["line"] == 2
    assert result.peak_mb < 1000


def test_many_nested_brackets(tmp_path: Path) -> None:
    deep = 200_000
    (tmp_path / "kg.ttl").write_text(PREFIXES + "ex:a ex:p " + "[ ex:p " * 5000 + "ex:b" + " ]" * 5000 + " .")
    (tmp_path / "kg.jsonld").write_text(
        '{"@id": "https://graph.example/a", "https://graph.example/p": ' + "[" * deep + "]" * deep + "}"
    )
    (tmp_path / "rows.jsonl").write_text('{"subject": "a", "predicate": "b", "object": ' + "[" * deep + "]" * deep + "}\n")
    for name in ("kg.ttl", "kg.jsonld", "rows.jsonl"):
        process = subprocess.run(
            command("audit", tmp_path / name, "--index", any_index(), "--run", tmp_path / f"run-{name}"),
            env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=False, timeout=30,
        )  # fmt: skip
        assert process.returncode in (0, 2), (name, process.returncode, process.stderr[-500:])
        assert "Traceback" not in process.stderr


# Labels


@pytest.mark.parametrize(
    "labels",
    [
        "ex:a rdfs:label ex:b . ex:b rdfs:label ex:a .",
        "ex:a rdfs:label ex:a .",
        "rdfs:label rdfs:label rdfs:label .",
        'rdfs:label rdfs:label "label" . ex:seat rdfs:subPropertyOf rdfs:label . rdfs:label rdfs:subPropertyOf ex:seat .',
        "ex:A rdfs:subClassOf ex:B . ex:B rdfs:subClassOf ex:A . ex:a a ex:A . ex:seat rdfs:domain ex:B .",
        "ex:a owl:sameAs ex:b . ex:b owl:sameAs ex:a . ex:a owl:sameAs ex:a .",
        "ex:seat owl:inverseOf ex:seat . ex:seat rdfs:subPropertyOf ex:seat .",
        'ex:a rdfs:label "" . ex:b rdfs:label "   " .',
        "ex:a rdfs:label [ rdfs:label [] ] . ex:a skos:prefLabel 7 , true .",
        "",
    ],
)
def test_labels_that_are_cyclic_missing_or_no_text(tmp_path: Path, labels: str) -> None:
    (tmp_path / "kg.ttl").write_text(f"{PREFIXES}{labels}\nex:a ex:seat ex:b . ex:Norrby_Pumps ex:seat ex:Orvik .\n")
    run = audit(tmp_path / "kg.ttl", run=tmp_path / "run")
    assert run.verdict("Norrby_Pumps", "seat", "Orvik") == "supported"
    assert all(row["s_label"].strip() and row["o_label"].strip() and row["p_label"].strip() for row in run.rows)


def test_labels_of_many_kinds(tmp_path: Path) -> None:
    """The language asked for first, then one without a language; a label beats an alias; a thing may have 10,000 names."""
    names = " , ".join(f'"Name {i}"' for i in range(10_000))
    (tmp_path / "kg.ttl").write_text(
        f'{PREFIXES}ex:x skos:altLabel {names} ; rdfs:label "Norrby Pumpen"@de , "Norrby Pumps"@en ; ex:seat ex:o .\n'
        'ex:o skos:altLabel "Elsewhere" ; skos:prefLabel "Orvik" .\n'
    )
    run = audit(tmp_path / "kg.ttl", run=tmp_path / "run")
    (row,) = run.rows
    assert (row["s_label"], row["o_label"]) == ("Norrby Pumps", "Orvik")
    german = audit(tmp_path / "kg.ttl", run=tmp_path / "german", options=("--language", "de"))
    assert german.rows[0]["s_label"] == "Norrby Pumpen"


# Line ends, and graphs without a claim


@pytest.mark.parametrize("suffix", ["nt", "nq", "ttl", "jsonl", "csv"])
def test_mixed_line_ends(tmp_path: Path, suffix: str) -> None:
    if suffix == "jsonl":
        lines = [json.dumps({"subject": "a", "predicate": "owns", "object": one}) for one in "bcde"]
    elif suffix == "csv":
        lines = ["subject,predicate,object", *(f"a,owns,{one}" for one in "bcde")]
    else:
        lines = [f"<{EX}a> <{EX}owns> <{EX}{one}> ." for one in "bcde"]
    ends = ["\r\n", "\n", "\r", "\r\n", "\n"]
    path = tmp_path / f"kg.{suffix}"
    path.write_bytes("".join(line + end for line, end in zip(lines, ends, strict=False)).encode())
    run = audit(path, run=tmp_path / "run")
    assert run.objects == {"b", "c", "d", "e"}
    assert run.quarantine == []
    if suffix != "ttl":
        assert sorted(place["line"] for row in run.rows for place in row["places"]) == (
            [2, 3, 4, 5] if suffix == "csv" else [1, 2, 3, 4]
        )


@pytest.mark.parametrize(
    "text",
    [
        "ex:a a ex:Pump .",
        'ex:a rdfs:label "Norrby" .',
        "ex:a owl:sameAs ex:b .",
        "ex:Pump rdfs:subClassOf ex:Thing . ex:made rdfs:range ex:Pump .",
        "@prefix prov: <http://www.w3.org/ns/prov#> . ex:a prov:wasDerivedFrom ex:b .",
    ],
)
def test_graph_without_a_claim(tmp_path: Path, text: str) -> None:
    (tmp_path / "kg.ttl").write_text(PREFIXES + text)
    run = audit(tmp_path / "kg.ttl", run=tmp_path / "run")
    assert run.rows == []
    assert "0 triples to verify" in run.result.out
    assert "left out" in run.result.out
    assert "pass rate – of 0 judged" in run.result.out
    kgaudit("report", tmp_path / "run")
    assert "0 rows" in kgaudit("export", tmp_path / "run", "--to", tmp_path / "table.csv").out
    kgaudit("export", tmp_path / "run", "--to", tmp_path / "table.parquet")


# Indexes


def test_index_that_is_missing_or_none(tmp_path: Path, kg: Path) -> None:
    message = refused(kg, index=tmp_path / "none", run=tmp_path / "run")
    assert str(tmp_path / "none") in message
    assert "kgaudit index" in message
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "holiday.txt").write_text("mine")
    assert str(tmp_path / "folder") in refused(kg, index=tmp_path / "folder", run=tmp_path / "run")
    assert "good.nt" in refused(kg, index=kg, run=tmp_path / "run")
    message = kgaudit("index", FIELD / "any.jsonl", "--to", tmp_path / "folder", status=2).err
    assert str(tmp_path / "folder") in message
    assert (tmp_path / "folder" / "holiday.txt").read_text() == "mine"
    assert not (tmp_path / "run" / "ledger").exists(), "a run that cannot begin leaves no ledger"


@pytest.mark.parametrize("version", [0, 99, None])
def test_index_of_another_version(tmp_path: Path, kg: Path, version: object) -> None:
    index = index_of(FIELD / "any.jsonl", tmp_path / "index")
    meta = json.loads((index / "meta.json").read_text())
    (index / "meta.json").write_text(json.dumps({**meta, "version": version}))
    message = refused(kg, index=index, run=tmp_path / "run")
    assert "version" in message
    assert str(index) in message
    assert "kgaudit index" in message
    index_of(FIELD / "any.jsonl", index)
    audit(kg, index=index, run=tmp_path / "run")


def test_index_that_is_damaged(tmp_path: Path, kg: Path) -> None:
    for name in sorted(path.name for path in index_of(FIELD / "any.jsonl", tmp_path / "whole").iterdir()):
        for damage in ("missing", "empty", "cut"):
            index = index_of(FIELD / "any.jsonl", tmp_path / f"{name}-{damage}")
            if name == "quarantine.jsonl":
                continue
            data = (index / name).read_bytes()
            if damage == "missing":
                (index / name).unlink()
            else:
                (index / name).write_bytes(b"" if damage == "empty" else data[: len(data) // 2])
            message = refused(kg, index=index, run=tmp_path / "run")
            assert str(index) in message, (name, damage)
            assert "kgaudit index" in message, (name, damage)


def test_index_that_is_rebuilt_under_a_run(tmp_path: Path, kg: Path) -> None:
    index = index_of(FIELD / "any.jsonl", tmp_path / "index")
    audit(kg, index=index, run=tmp_path / "run")
    (tmp_path / "docs.jsonl").write_text(json.dumps({"id": "d1", "text": "Norrby Pumps has moved to Dunmere."}) + "\n")
    index_of(tmp_path / "docs.jsonl", index)
    message = refused(kg, index=index, run=tmp_path / "run")
    assert "index" in message
    assert "--run" in message


# Runs


def test_run_that_is_damaged(tmp_path: Path, kg: Path) -> None:
    run = audit(kg, run=tmp_path / "run").path
    (part,) = (run / "ledger").glob("part-*")
    whole = part.read_bytes()
    part.write_bytes(whole[:40])
    for arguments in (("report", run), ("export", run, "--to", tmp_path / "x.csv"), ("replay", run, "abcdef")):
        assert part.name in kgaudit(*arguments, status=2).err
    assert part.name in refused(kg, run=run)
    part.write_bytes(whole)
    (run / "spec.json").write_text("{half")
    assert "spec.json" in refused(kg, run=run)
    assert "spec.json" in kgaudit("report", run, status=2).err


def test_usage(tmp_path: Path, kg: Path) -> None:
    for arguments in (
        (),
        ("audit",),
        ("audit", kg),
        ("audit", kg, "--index", any_index(), "--run", tmp_path / "run", "--policy", "nope"),
        ("audit", kg, "--index", any_index(), "--run", tmp_path / "run", "--max-triples", "0"),
        ("audit", kg, "--index", any_index(), "--run", tmp_path / "run", "--max-seconds", "-1"),
        ("audit", kg, "--index", any_index(), "--run", tmp_path / "run", "--fail-on", "x"),
        ("nope",),
        ("index", tmp_path),
    ):
        result = kgaudit(*arguments, status=2)
        assert result.err.strip()
    assert not (tmp_path / "run" / "ledger").exists()
