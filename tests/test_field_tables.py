"""Field cases 09 to 11: rows of tables as claims."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from field_cli import audit, copy_case, index_of, refused, report_text

SPO = ("--map", "subject=subject,predicate=predicate,object=object")
STATED = ("--map", "subject=subject,predicate=predicate,object=object,statement=statement")


# 09: values that look like missing ones or like numbers


def test_09_na_is_a_value(tmp_path: Path) -> None:
    case = copy_case("09-na-is-a-value", tmp_path)
    run = audit(case / "rows.csv", run=tmp_path / "run", options=SPO)
    assert run.triples == {
        ("Orvik Depot", "country code", "NA"),
        ("NaN Bakery", "street", "Null"),
        ("North Quay Ltd", "listed as", "None"),
        ("True", "room", "1E5"),
        ("Halden Works", "postcode", "00714"),
        ("Tarn Lake", "nickname", "nan"),
    }
    (row,) = run.quarantine
    assert (row["file"], row["line"]) == ("rows.csv", 8)
    assert "object" in row["reason"]
    assert "empty" in row["reason"]
    assert {place["line"] for row in run.rows for place in row["places"]} == {2, 3, 4, 5, 6, 7}


ODD = [
    "NA",
    "N/A",
    "null",
    "NULL",
    "None",
    "nan",
    "-inf",
    "1e5",
    "007",
    "1.50",
    "True",
    "FALSE",
    "2026-01-05",
    "#N/A",
    "-",
    "0",
    "1,5",
    "１２",
]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_09_values_stay_as_they_are_in_every_format(tmp_path: Path, suffix: str) -> None:
    rows = [{"subject": f"thing {i}", "predicate": "code", "object": value} for i, value in enumerate(ODD)]
    path = tmp_path / f"rows.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    else:
        separator = "," if suffix == "csv" else "\t"
        lines = [separator.join(f'"{value}"' for value in row.values()) for row in rows]
        path.write_text("\n".join([separator.join(rows[0]), *lines]) + "\n", "utf-8")
    run = audit(path, run=tmp_path / "run", options=SPO)
    assert run.triples == {(f"thing {i}", "code", value) for i, value in enumerate(ODD)}
    assert run.quarantine == []


def test_09_typed_columns_and_json_values(tmp_path: Path) -> None:
    """Numbers of a typed column keep their digits; null and empty are missing; true is a value."""
    rows: list[dict[str, Any]] = [
        {"subject": "a", "predicate": "size", "object": 4523000},
        {"subject": "b", "predicate": "size", "object": 1.5},
        {"subject": "c", "predicate": "open", "object": True},
        {"subject": "d", "predicate": "size", "object": None},
        {"subject": "e", "predicate": "size", "object": ""},
        {"subject": "", "predicate": "size", "object": "x"},
        {"subject": "g", "predicate": None, "object": "x"},
        {"subject": "h", "predicate": "size", "object": ["x", "y"]},
        {"subject": "i", "predicate": {"x": 1}, "object": ""},
        {"predicate": "size", "object": "x"},
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run = audit(tmp_path / "rows.jsonl", run=tmp_path / "run", options=SPO)
    assert run.triples == {("a", "size", "4523000"), ("b", "size", "1.5"), ("c", "open", "true")}
    assert [row["line"] for row in run.quarantine] == [4, 5, 6, 7, 8, 9, 10]
    pq.write_table(
        pa.table({"subject": ["a", "b"], "predicate": ["size", "size"], "object": pa.array([714, None], pa.int64())}),
        tmp_path / "rows.parquet",
    )
    run = audit(tmp_path / "rows.parquet", run=tmp_path / "run2", options=SPO)
    assert run.triples == {("a", "size", "714")}
    assert [row["line"] for row in run.quarantine] == [2]


# 10: CSV as spreadsheets and careless exports write it


def test_10_quotes_and_line_breaks(tmp_path: Path) -> None:
    case = copy_case("10-csv-quotes-and-line-breaks", tmp_path)
    run = audit(case / "rows.csv", run=tmp_path / "run", options=STATED)
    assert run.triples == {("Norrby", "owns", "Halden"), ("Norrby", "reported", "loss"), ("Valve 7", "pressure", "1,5 bar")}
    assert run.quarantine == []
    (place,) = run.one("Norrby", "reported", "loss")["places"]
    assert place["statement"] == 'Norrby reported a loss\r\nin the "first quarter".'
    assert place["line"] == 3
    assert run.one("Valve 7", "pressure", "1,5 bar")["places"][0]["line"] == 5
    assert "\ufeff" not in json.dumps(run.rows, ensure_ascii=False) + report_text(run.path)
    unquoted = audit(case / "unquoted.csv", run=tmp_path / "unquoted", options=STATED)
    assert unquoted.triples == {("Tarn", "owns", "Kestrel"), ("Dunmere", "partOf", "Orvik")}
    assert unquoted.one("Dunmere", "partOf", "Orvik")["places"][0]["statement"] == "Dunmere is part of Orvik."
    lines = {line for row in unquoted.quarantine for line in range(row["line"], row["last_line"] + 1)}
    assert lines == {3, 4}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.tsv", "subject\tpredicate\tobject\nNorrby\towns\tHalden, Works\n"),
        ("rows.csv", "\ufeffsubject|predicate|object\r\nNorrby|owns|Halden, Works\r\n"),
        ("rows.csv", '"subject","predicate","object"\rNorrby,owns,"Halden, Works"\r'),
        ("rows.csv", 'subject\tpredicate\tobject\nNorrby\towns\t"Halden, Works"\n'),
        ("rows.csv", 'sep=;\nsubject;predicate;object\nNorrby;owns;"Halden, Works"\n'),
        ("rows.csv", 'Subject ;PREDICATE; Object\nNorrby;owns;"Halden, Works"\n'),
    ],
    ids=["tabs", "bars", "cr", "tabs-in-csv", "sep-line", "spaced-header"],
)  # fmt: skip
def test_10_other_separators_and_line_ends(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, "utf-8", newline="")
    run = audit(tmp_path / name, run=tmp_path / "run")
    assert run.triples == {("Norrby", "owns", "Halden, Works")}
    assert run.quarantine == []


def test_10_quote_that_is_never_closed(tmp_path: Path) -> None:
    """One forgotten quotation mark must not swallow the rest of the table without a word."""
    lines = ["subject,predicate,object", "a,owns,b", 'c,owns,"d', *(f"e{i},owns,f{i}" for i in range(50))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", "utf-8")
    run = audit(tmp_path / "rows.csv", run=tmp_path / "run", options=SPO)
    assert ("a", "owns", "b") in run.triples
    assert not any("\n" in obj for obj in run.objects)
    told = {line for row in run.quarantine for line in range(row["line"], row["last_line"] + 1)}
    kept = {place["line"] for row in run.rows for place in row["places"]}
    assert told | kept == set(range(2, 54))


def test_10_latin_1_and_nul(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes("subject,predicate,object\nMühlbrück,owns,x\nTarn,owns,Kestrel\n".encode("latin-1"))
    run = audit(tmp_path / "rows.csv", run=tmp_path / "run", options=SPO)
    assert run.triples == {("Tarn", "owns", "Kestrel")}
    assert "UTF-8" in run.quarantine[0]["reason"]
    assert run.quarantine[0]["line"] == 2


def test_10_columns_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,c\n1,2,3\n")
    message = refused(tmp_path / "rows.csv", run=tmp_path / "run")
    assert "rows.csv" in message
    assert "--map" in message
    message = refused(tmp_path / "rows.csv", run=tmp_path / "run", options=("--map", "subject=a,predicate=b,object=nope"))
    assert "nope" in message
    assert "no such field" in refused(tmp_path / "rows.csv", run=tmp_path / "run", options=("--map", "colour=a"))
    assert audit(tmp_path / "rows.csv", run=tmp_path / "run", options=("--map", "subject=a,predicate=b,object=c")).triples == {
        ("1", "2", "3")
    }


# 11: GraphRAG's tables


def test_11_graphrag_of_two_versions(tmp_path: Path) -> None:
    case = copy_case("11-graphrag-two-versions", tmp_path)
    index = index_of(case / "docs.jsonl")
    old = audit(case / "old", index=index, run=tmp_path / "old")
    new = audit(case / "new", index=index, run=tmp_path / "new", options=("--format", "graphrag"))
    assert len(old.rows) == 3
    assert old.keys == new.keys
    for run in (old, new):
        by_pair = {(row["s_label"].title(), row["o_label"].title()): row for row in run.rows}
        bought = by_pair["Norrby Pumps", "Halden Foundry"]
        closed = by_pair["Orvik Shipping", "Halden Foundry"]
        customer = by_pair["Norrby Pumps", "Orvik Shipping"]
        assert (bought["verdict"], bought["route"]) == ("supported", "statement")
        assert bought["statement"] == "Norrby Pumps bought the Halden Foundry"
        assert closed["verdict"] in ("refuted", "not_enough_evidence")
        assert customer["verdict"] in ("refuted", "not_enough_evidence")
        assert "tu-9" in run.result.text + json.dumps(run.load)
        assert "tu-1" not in run.result.text + json.dumps(run.load)


@pytest.mark.parametrize("column", ["source", "target", "description"])
@pytest.mark.parametrize("version", ["old", "new"])
def test_11_graphrag_without_a_column(tmp_path: Path, column: str, version: str) -> None:
    case = copy_case("11-graphrag-two-versions", tmp_path)
    (path,) = (case / version).glob("*relationships.parquet")
    pq.write_table(pq.read_table(path).drop_columns([column]), path)
    message = refused(case / version, run=tmp_path / "run")
    assert column in message
    assert path.name in message


def test_11_graphrag_folder_in_its_project(tmp_path: Path) -> None:
    """The tables lie in output/ (newer) or output/<time>/artifacts (older) of a GraphRAG project; units may be missing as a whole."""
    case = copy_case("11-graphrag-two-versions", tmp_path)
    wanted = audit(case / "new", run=tmp_path / "plain").keys
    (tmp_path / "project").mkdir()
    shutil.copytree(case / "new", tmp_path / "project" / "output")
    assert audit(tmp_path / "project", run=tmp_path / "project-run").keys == wanted
    (tmp_path / "project" / "output" / "text_units.parquet").unlink()
    run = audit(tmp_path / "project", run=tmp_path / "no-units")
    assert run.keys == wanted
    assert "tu-1" in run.result.text


def test_11_folder_without_the_tables(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    message = refused(tmp_path / "empty", run=tmp_path / "run", options=("--format", "graphrag"))
    assert "relationships" in message
