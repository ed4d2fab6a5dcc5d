from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sources_tools import FIELD, loaded, read, read_text

from kgaudit.errors import EmptyInputError, InputError
from kgaudit.sources import ColumnMapping, rows
from kgaudit.triples import iri_term, literal_term, name_of, name_term, parse_literal

SPO = ColumnMapping(subject="subject", predicate="predicate", object="object")
HEADER = "subject,predicate,object\n"


def plain(found: list[dict[str, Any]]) -> list[tuple[str | None, str | None, str]]:
    """Subject, predicate and object as they were written."""
    return [(name_of(row["s"]), name_of(row["p"]), parse_literal(row["o"]).value) for row in found]


ODD = [
    "NA",
    "N/A",
    "null",
    "None",
    "nan",
    "-inf",
    "1E5",
    "00714",
    "1.50",
    "True",
    "2026-01-05",
    "#N/A",
    "-",
    "0",
    "1,5",
    "１２",
    'a "b" c',
    "x;y|z",
    "ü\u2028z",
]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.zst"])
def test_values_stay_what_they_are(tmp_path: Path, suffix: str) -> None:
    records = [{"subject": f"NaN {i}", "predicate": "None", "object": value} for i, value in enumerate(ODD)]
    path = tmp_path / f"rows.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    else:
        text = "".join(json.dumps(record) + "\n" for record in records)
        if "sv" in suffix:
            mark = "," if "csv" in suffix else "\t"
            cells = [mark.join('"' + value.replace('"', '""') + '"' for value in record.values()) for record in records]
            text = "\n".join([mark.join(records[0]), *cells]) + "\n"
        data = text.encode()
        path.write_bytes(
            gzip.compress(data) if suffix.endswith("gz") else pa.compress(data, "zstd", asbytes=True) if "zst" in suffix else data
        )
    found, bad = read(path, mapping=SPO)
    assert bad == []
    assert plain(found) == [(f"NaN {i}", "None", value) for i, value in enumerate(ODD)]
    assert [row["line"] for row in found] == [i + (2 if "sv" in suffix else 1) for i in range(len(ODD))]


@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8), min_size=3, max_size=3), max_size=6
    ),
    st.sampled_from(",;\t|"),
)
@settings(max_examples=200, deadline=None)
def test_csv_rows_are_what_a_csv_writer_wrote(tmp_path_factory: pytest.TempPathFactory, records: list[list[str]], mark: str) -> None:
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, delimiter=mark).writerows([["subject", "predicate", "object"], *records])
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.getvalue().encode())
    whole = [tuple(cell.strip() for cell in record) for record in records]
    kept = [record for record in whole if all(record)]
    try:
        found, bad = read(path, mapping=SPO)
    except InputError:
        assert not kept
        return
    named = [(name_of(row["s"]), name_of(row["p"]), row["o"]) for row in found]
    assert named == [(s, p, literal_term(o)) for s, p, o in kept]
    assert len(found) + len(bad) == len(records)


def test_field_09_na_is_a_value(tmp_path: Path) -> None:
    found, (bad,) = read(FIELD / "09-na-is-a-value" / "rows.csv", work=tmp_path, mapping=SPO)
    assert [parse_literal(row["o"]).value for row in found] == ["NA", "Null", "None", "1E5", "00714", "nan"]
    assert {"NaN Bakery", "True"} <= {name_of(row["s"]) for row in found}
    assert (bad["line"], bad["reason"]) == (8, "the object is empty")


def test_field_10_quotes_and_line_breaks(tmp_path: Path) -> None:
    case = FIELD / "10-csv-quotes-and-line-breaks"
    found, bad = read(case / "rows.csv", tmp_path)
    assert bad == []
    assert plain(found) == [("Norrby", "owns", "Halden"), ("Norrby", "reported", "loss"), ("Valve 7", "pressure", "1,5 bar")]
    assert found[1]["statement"].splitlines() == ["Norrby reported a loss", 'in the "first quarter".']
    assert [row["line"] for row in found] == [2, 3, 5]
    found, (one,) = read(case / "unquoted.csv", tmp_path)
    assert [row[0] for row in plain(found)] == ["Tarn", "Dunmere"]
    assert (one["line"], one["last_line"]) == (3, 4)
    assert one["text"] == "Norrby,owns,Halden,Norrby owns\nHalden since May."


@pytest.mark.parametrize(
    ("text", "kept", "told"),
    [
        (HEADER + "a,b,c\nd,e\nf,g,h\n", ["f"], [(2, 3)]),  # a row of its own, or the end of c with a comma: nobody knows
        (HEADER + "a,b,c\nd,\ne,f\nf,g,h\n", ["f"], None),
        (HEADER + "a,b,c,d\nf,g,h\n", ["f"], [(2, 2)]),
        (HEADER + "a,b,c\nrest of c\nf,g,h\n", ["f"], [(2, 3)]),
        (HEADER + "a,b,c\nrest\nof c\nf,g,h\n", ["f"], [(2, 4)]),
        (HEADER + "rest\nf,g,h\n", ["f"], [(2, 2)]),
        (HEADER + 'a,b,"c\nd,e,f\ng,h,i\n', ["d", "g"], [(2, 2)]),
        (HEADER + 'a,b,"c" d\ne,f,g\n', ["e"], [(2, 2)]),
        (HEADER + 'a,b,5" tube\ne,f,g\n', ["a", "e"], []),
        (HEADER + "a,b,c\n\n\ne,f,g\n", ["a", "e"], []),
        ("subject,predicate,object,statement\na,b,c\ne,f,g,h\n", ["e"], [(2, 2)]),
    ],
    ids=["short", "cut-in-the-middle", "long", "cut-in-the-last", "cut-twice", "cut-first", "open-quote", "behind-quote", "inch",
         "blank", "no-optional"],
)  # fmt: skip
def test_broken_rows_cost_themselves_and_shift_nothing(
    tmp_path: Path, text: str, kept: list[str], told: list[tuple[int, int]] | None
) -> None:
    found, bad = read_text(tmp_path, text, "rows.csv")
    assert [name_of(row["s"]) for row in found] == kept
    if told is not None:
        assert [(row["line"], row["last_line"]) for row in bad] == told


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffsubject|predicate|object\r\nNorrby|owns|Halden, Works\r\n",
        '"subject","predicate","object"\rNorrby,owns,"Halden, Works"\r',
        'sep=;\nsubject;predicate;object\nNorrby;owns;"Halden, Works"\n',
        'Subject ;PREDICATE; Object\nNorrby;owns;"Halden, Works"\n',
        "\n\nhead\trelation\ttail\nNorrby\towns\tHalden, Works",
    ],
)
def test_delimiters_and_headers_are_found(tmp_path: Path, text: str) -> None:
    found, bad = read_text(tmp_path, text, "rows.csv")
    assert bad == []
    assert plain(found) == [("Norrby", "owns", "Halden, Works")]


def test_tabs_are_often_written_without_quoting(tmp_path: Path) -> None:
    found, bad = read_text(tmp_path, 's\tp\to\n"Big" Norrby\tsays\t"yes" and "no"\n"q"\tp\t"a\tb"\n', "rows.tsv")
    assert bad == []
    assert plain(found) == [('"Big" Norrby', "says", '"yes" and "no"'), ("q", "p", "a\tb")]


def test_no_row_swallows_the_rest_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "QUOTED_LINES", 20)
    text = HEADER + 'a,b,"c\n' + "".join(f"s{i},p,o\n" for i in range(100)) + 'x,y,"z"\n'
    found, (bad,) = read_text(tmp_path, text, "rows.csv")
    assert len(found) == 101
    assert (bad["line"], bad["reason"]) == (2, "a quotation mark opens a cell and none closes it")


def test_long_cells_pass_and_endless_ones_are_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, bad = read_text(tmp_path, HEADER + "a,b," + "x" * 300_000 + '\nc,d,"' + "y" * 300_000 + '"\n', "rows.csv")
    assert ([len(row["o"]) for row in found], bad) == ([300_002, 300_002], [])
    monkeypatch.setattr(rows, "RECORD_LIMIT", 5000)
    found, (bad,) = read_text(tmp_path, HEADER + "a,b," + "x" * 9000 + "\nc,d,e\n", "rows.csv")
    assert ([name_of(row["s"]) for row in found], bad["line"]) == (["c"], 2)
    found, (bad,) = read_text(
        tmp_path, '{"s": "a", "p": "b", "o": "' + "x" * 9000 + '"}\n{"s": "c", "p": "b", "o": "d"}\n', "rows.jsonl"
    )
    assert ([name_of(row["s"]) for row in found], bad["line"]) == (["c"], 1)


def test_rows_that_are_no_utf8(tmp_path: Path) -> None:
    found, (bad,) = read_text(tmp_path, HEADER.encode() + "Mühle,owns,x\nTarn,owns,y\n".encode("latin-1"), "rows.csv")
    assert [name_of(row["s"]) for row in found] == ["Tarn"]
    assert "UTF-8: byte 0xFC" in bad["reason"]


def test_json_rows_that_are_none(tmp_path: Path) -> None:
    records = [
        '{"s": "a", "p": "b", "o": 4523000}', '{"s": "a", "p": "b", "o": 1.50}', '{"s": "a", "p": "b", "o": true}',
        '{"s": "a", "p": "b", "o": null}', '{"s": "a", "p": "b", "o": " "}', '{"s": "a", "p": "b"}', '{"s": ["a"], "p": "b", "o": "c"}',
        '{"s": "a", "p": "b", "o": {"x": 1}}', '{"s": "a", "p": "b", "o": "\\ud83d"}', '{"s": "a"', "[1]", "[" * 5000,
        '{"s": "a", "p": "b", "o": "\\ud83d\\udea2"}',
    ]  # fmt: skip
    found, bad = read_text(tmp_path, "\n".join(records), "rows.jsonl")
    assert [(row["line"], parse_literal(row["o"]).value) for row in found] == [(1, "4523000"), (2, "1.50"), (3, "true"), (13, "🚢")]
    assert [row["line"] for row in bad] == list(range(4, 13))


def test_cells_that_hold_iris_become_iris_and_things_are_told_from_values(tmp_path: Path) -> None:
    text = HEADER + "https://graph.example/a,<urn:x:p>,http://graph.example/ü\nNorrby,owns,https://graph.example/a b\n"
    text += "https://graph.example/a b,p,o\n"
    found, (bad,) = read_text(tmp_path, text, "rows.csv")
    assert [(row["s"], row["p"], row["o"]) for row in found] == [
        (iri_term("https://graph.example/a"), "<urn:x:p>", iri_term("http://graph.example/ü")),
        (name_term("Norrby"), name_term("owns"), '"https://graph.example/a b"'),
    ]
    assert (bad["line"], "space" in bad["reason"]) == (4, True)
    found, _ = read_text(tmp_path, HEADER + "Norrby,owns,Halden\n", "rows.csv", mapping=ColumnMapping(object_is_entity=True))
    assert found[0]["o"] == name_term("Halden")
    text = "subject,predicate,object,thing\nNorrby,owns,Halden,yes\nNorrby,size,7,no\n"
    found, _ = read_text(tmp_path, text, "rows.csv", mapping=ColumnMapping(object_is_entity="thing"))
    assert [row["o"] for row in found] == [name_term("Halden"), '"7"']


def test_what_rows_say_beside_the_triple(tmp_path: Path) -> None:
    record = {
        "subject": "Q1", "predicate": "P2", "object": "Q3", "statement": "Norrby owns Halden.", "doc_id": "d1", "extractor": "llm",
        "extracted_at": "2026-01-05", "valid_from": "2020", "valid_to": "2021", "subject_label": "Norrby", "predicate_label": "owns",
        "object_label": "Halden", "graph": "batch 1",
    }  # fmt: skip
    text = json.dumps(record) + "\n" + json.dumps({**record, "valid_from": None, "valid_to": "", "doc_id": ["d1", "d2"]}) + "\n"
    (tmp_path / "rows.jsonl").write_text(text)
    graph = loaded(tmp_path / "work", tmp_path / "rows.jsonl", mapping=ColumnMapping(object_is_entity=True))
    assert (graph.counts.statements, graph.counts.claims, graph.counts.left_out) == (2, 2, {})
    timed, timeless = sorted(graph.candidates(), key=lambda candidate: candidate.triple.valid_from is None)
    assert (timed.triple.valid_from, timed.triple.valid_until, timeless.triple.valid_from, timeless.triple.valid_until) == (
        "2020",
        "2021",
        None,
        None,
    )
    assert timed.key == timed.triple.key
    assert timeless.key == timeless.triple.key
    (place,) = timed.places
    assert (place.file, place.line, place.graph, place.statement) == ("rows.jsonl", 1, name_term("batch 1"), "Norrby owns Halden.")
    assert (place.documents, place.extractor, place.extracted_at) == (("d1",), "llm", "2026-01-05")
    assert timeless.places[0].documents == ("d1", "d2")
    assert [[label.value for label in graph.names.labels(name_term(name))] for name in ("Q1", "P2", "Q3")] == [
        ["Norrby"],
        ["owns"],
        ["Halden"],
    ]


def test_a_span_of_words_is_a_statement_and_one_of_numbers_is_none(tmp_path: Path) -> None:
    found, _ = read_text(tmp_path, "subject,predicate,object,span\na,b,c,Norrby owns Halden.\na,b,d,12-40\n", "rows.csv")
    assert [row["statement"] for row in found] == ["Norrby owns Halden.", None]


def test_columns_that_are_not_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(InputError, match=r"rows\.csv: no column is known to hold the subject; the columns are a, b, c.*--map"):
        read(tmp_path / "rows.csv")
    with pytest.raises(InputError, match="no column 'nope', which is to hold the statement"):
        read(tmp_path / "rows.csv", mapping=ColumnMapping("a", "b", "c", statement="nope"))
    assert plain(read(tmp_path / "rows.csv", mapping=ColumnMapping("a", "b", "c"))[0]) == [("1", "2", "3")]
    (tmp_path / "rows.csv").write_text("subject,predicate,object,object\n1,2,3,4\n")
    with pytest.raises(InputError, match="two columns are called 'object'"):
        read(tmp_path / "rows.csv")


@pytest.mark.parametrize(("name", "text"), [("rows.csv", HEADER), ("rows.csv", ""), ("rows.jsonl", "\n\n"), ("rows.tsv", "\ufeff")])
def test_tables_without_a_row(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(EmptyInputError):
        read_text(tmp_path, text, name)


@pytest.mark.parametrize(
    ("name", "data"),
    [("rows.parquet", b"PAR1 nonsense"), ("rows.parquet", b"s,p,o\n"), ("rows.csv", b"<html>"), ("rows.jsonl", b"s,p,o\n"),
     ("rows.csv", b"PK\x03\x04x"), ("rows.jsonl", b"[\n{}]")],
)  # fmt: skip
def test_other_formats_are_named(tmp_path: Path, name: str, data: bytes) -> None:
    with pytest.raises(InputError):
        read_text(tmp_path, data, name)


def test_parquet_of_every_kind(tmp_path: Path) -> None:
    import datetime

    table = pa.table(
        {
            "subject": pa.array(["a", "b", None, "c"]).dictionary_encode(),
            "predicate": pa.array(["p"] * 4, pa.large_string()),
            "object": pa.array([714, None, 3, 4], pa.int64()),
            "documents": [["d1", "d2"], None, [], ["d3"]],
            "document": [["d1", "d2"], None, [], ["d3"]],
            "extracted_at": [datetime.date(2026, 1, 5)] * 4,
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    found, bad = read(tmp_path / "rows.parquet")
    assert plain(found) == [("a", "p", "714"), ("c", "p", "4")]
    assert [row["documents"] for row in found] == [["d1", "d2"], ["d3"]]
    assert found[0]["extracted_at"] == "2026-01-05"
    assert [row["line"] for row in bad] == [2, 3]
    (tmp_path / "rows.parquet").write_bytes((tmp_path / "rows.parquet").read_bytes()[:-20])
    with pytest.raises(InputError, match="Parquet"):
        read(tmp_path / "rows.parquet")


GRAPHRAG = FIELD / "11-graphrag-two-versions"


def test_field_11_graphrag_of_two_versions(tmp_path: Path) -> None:
    graphs = {version: loaded(tmp_path / version, GRAPHRAG / version) for version in ("old", "new")}
    keys = {version: [candidate.key for candidate in graph.candidates()] for version, graph in graphs.items()}
    assert len(set(keys["old"])) == 3
    assert keys["old"] == keys["new"]
    for graph in graphs.values():
        by_statement = {candidate.statements[0]: candidate for candidate in graph.candidates()}
        bought = by_statement["Norrby Pumps bought the Halden Foundry"]
        assert bought.triple.s == name_term("NORRBY PUMPS")
        assert bought.triple.p == name_term("related to")
        assert bought.triple.o == name_term("HALDEN FOUNDRY")
        assert bought.places[0].documents == ("doc-1",)
        assert by_statement["Norrby Pumps is a customer of Orvik Shipping"].places[0].documents == ()
        (note,) = graph.counts.notes
        assert "tu-9" in note
        assert "tu-1" not in note


@pytest.mark.parametrize("column", ["source", "target", "description"])
@pytest.mark.parametrize("version", ["old", "new"])
def test_graphrag_without_a_column_is_refused(tmp_path: Path, column: str, version: str) -> None:
    shutil.copytree(GRAPHRAG / version, tmp_path / "graph")
    (path,) = (tmp_path / "graph").glob("*relationships.parquet")
    table = pq.read_table(path).drop_columns([column])
    path.chmod(0o644)
    pq.write_table(table, path)
    with pytest.raises(InputError, match=rf"{path.name}: the column '{column}' is missing"):
        loaded(tmp_path / "work", tmp_path / "graph")


@pytest.mark.parametrize("inside", ["output", "output/20260105-101010/artifacts"])
def test_graphrag_project_with_entities_and_without_text_units(tmp_path: Path, inside: str) -> None:
    folder = tmp_path / "project" / inside
    folder.mkdir(parents=True)
    shutil.copy(GRAPHRAG / "new" / "relationships.parquet", folder)
    pq.write_table(pa.table({"title": ["NORRBY PUMPS"], "type": ["ORGANIZATION"]}), folder / "entities.parquet")
    graph = loaded(tmp_path / "work", tmp_path / "project")
    assert graph.counts.claims == 3
    assert graph.counts.left_out == {}
    assert graph.names.types(name_term("NORRBY PUMPS")) == [name_term("ORGANIZATION")]
    assert "no text_units.parquet" in graph.counts.notes[0]


def test_graphrag_folder_without_its_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no relationships\.parquet"):
        loaded(tmp_path / "work", tmp_path, format="graphrag")
