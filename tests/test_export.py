"""The exported verdict table: safe in a spreadsheet, letter for letter elsewhere, whole or not there."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fake_run import entry, make_run, passage, span

from kgaudit.errors import RunError, StorageError, UsageError
from kgaudit.reports.export import EXPORT_FORMATS, ExportFormat, export_verdicts, text_cell
from kgaudit.verdicts import VERDICT_SCHEMA

LABELS = [
    '=HYPERLINK("http://127.0.0.1:9/","open")',
    "+41 555 0199",
    "-2+3",
    "@SUM(A1:A9)",
    "\t=1+1",
    "\r=1+1",
    'ok;=1+1,"x"',
    " =1",
    "＝1",
]
NUMBERS = ("confidence", "p_supported", "searches", "judged_pairs", "model_calls", "tokens", "seconds")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    said = passage("Nothing is said;\r\n=1+1 of it.", document="=d1")
    entries = [
        entry(label, "-is", f"@{label}", reason=f"={i}", passages=(said,), evidence=(span(said, "=1+1 of it."),), better=label)
        for i, label in enumerate(LABELS)
    ]
    unknown = entry("Norrby", "owns", "Halden", "not_judged", confidence=None)
    return make_run(tmp_path / "run", [*entries, unknown], part=4)


def cells(path: Path, separator: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8"), newline=""), delimiter=separator))


@pytest.mark.parametrize(("format", "separator"), [("csv", ","), ("tsv", "\t")])
def test_a_spreadsheet_runs_nothing(run: Path, tmp_path: Path, format: ExportFormat, separator: str) -> None:
    assert export_verdicts(run, tmp_path / "out", format) == len(LABELS) + 1
    rows = cells(tmp_path / "out", separator)
    assert list(rows[0]) == VERDICT_SCHEMA.names
    for row in rows:
        for name, value in row.items():
            if name in NUMBERS:
                assert value == "" or float(value) >= 0
            else:
                assert not value.lstrip(" \ufeff").startswith(("=", "+", "-", "@", "＝", "\t", "\r", "\n")), (name, value)
    assert {row["s_label"] for row in rows} == {text_cell(label) for label in LABELS} | {"Norrby"}
    quoted = next(row for row in rows if row["s_label"] == 'ok;=1+1,"x"')
    (found,) = json.loads(quoted["evidence"])
    assert found["quote"] == "=1+1 of it."
    assert json.loads(quoted["places"])[0]["file"] == "kg.nt"


def test_cells_that_another_locale_would_cut_are_quoted(run: Path, tmp_path: Path) -> None:
    export_verdicts(run, tmp_path / "out.csv", "csv")
    assert '"ok;=1+1,""x"""' in (tmp_path / "out.csv").read_text("utf-8")


def test_numbers_stay_numbers_and_texts_that_are_harmless_stay_as_they_are() -> None:
    assert [text_cell(text) for text in ("", "a-b", "5", "'=1", "é", "1=1")] == ["", "a-b", "5", "'=1", "é", "1=1"]


def test_jsonl_and_parquet_are_unchanged(run: Path, tmp_path: Path) -> None:
    assert export_verdicts(run, tmp_path / "out.jsonl", "jsonl") == len(LABELS) + 1
    assert export_verdicts(run, tmp_path / "out.parquet", "parquet") == len(LABELS) + 1
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().decode("utf-8").split("\n") if line]
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.schema == VERDICT_SCHEMA
    assert lines == table.to_pylist()
    assert {row["s_label"] for row in lines} == {*LABELS, "Norrby"}


@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_a_run_without_rows_gives_an_empty_table(tmp_path: Path, format: ExportFormat) -> None:
    run = make_run(tmp_path / "run", [])
    assert export_verdicts(run, tmp_path / "new" / "out", format) == 0
    assert (tmp_path / "new" / "out").exists()


def test_what_cannot_be_exported_is_said_and_nothing_is_left(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="xlsx"):
        export_verdicts(run, tmp_path / "out.xlsx", "xlsx")  # type: ignore[arg-type]
    with pytest.raises(RunError, match="not a run folder"):
        export_verdicts(tmp_path / "none", tmp_path / "out.csv", "csv")
    (tmp_path / "taken").mkdir()
    with pytest.raises(StorageError, match="taken"):
        export_verdicts(run, tmp_path / "taken", "csv")
    next((run / "ledger").glob("part-*")).write_bytes(b"damaged")
    (tmp_path / "old.csv").write_text("kept")
    with pytest.raises(RunError):
        export_verdicts(run, tmp_path / "old.csv", "csv")
    assert (tmp_path / "old.csv").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.csv", "run", "taken"]
