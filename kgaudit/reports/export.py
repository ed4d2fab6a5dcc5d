"""The verdict table as a file for other programs: CSV and TSV for spreadsheets, JSONL and Parquet letter for letter."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Literal, get_args

import pyarrow as pa

from kgaudit.errors import UsageError
from kgaudit.runs.files import make_folder, whole_file
from kgaudit.runs.state import open_reader
from kgaudit.verdicts import VERDICT_SCHEMA

ExportFormat = Literal["csv", "tsv", "jsonl", "parquet"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)

# What a spreadsheet takes for the beginning of a formula, also behind spaces that it drops, and full-width as some read it.
# Source: OWASP, CSV Injection, https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = re.compile(r"[\s\ufeff]*[=+\-@＝＋－＠]|[\t\r\n]")


def export_verdicts(run: Path, to: Path, format: ExportFormat) -> int:
    """Writes the verdict table (`VERDICT_SCHEMA`, one row a triple) of a run or state to the file `to`; returns the number of rows.

    The file is whole or not there. In CSV and TSV (UTF-8, every text cell quoted) the columns `evidence` and `places` are JSON, an
    empty cell is a value that is missing, and a text that a spreadsheet would run begins with an apostrophe; JSONL and Parquet
    are unchanged.

    Raises `UsageError` where the format is none of ours, `RunError` where `run` is neither, `StorageError` where `to` cannot
    be written.
    """
    writers: dict[str, Callable[[Iterator[pa.RecordBatch], IO[bytes]], int]] = {
        "csv": lambda batches, stream: _write_separated(batches, stream, ","),
        "tsv": lambda batches, stream: _write_separated(batches, stream, "\t"),
        "jsonl": _write_jsonl,
        "parquet": _write_parquet,
    }
    if format not in writers:
        raise UsageError(f"{format!r} is no export format", todo=f"Use one of: {', '.join(EXPORT_FORMATS)}.")
    reader = open_reader(run)
    make_folder(to.parent)
    with whole_file(to) as stream:
        return writers[format](reader.batches(), stream)


def text_cell(value: str) -> str:
    """The text with a leading apostrophe where a spreadsheet would take it for a formula."""
    return "'" + value if _FORMULA.match(value) else value


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return text_cell(value)
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value


def _write_separated(batches: Iterator[pa.RecordBatch], stream: IO[bytes], separator: str) -> int:
    # Quoting every text also keeps apart what a spreadsheet of another locale would cut at semicolons.
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerow(VERDICT_SCHEMA.names)
    rows = 0
    for batch in batches:
        columns = [[_cell(value) for value in batch[name].to_pylist()] for name in VERDICT_SCHEMA.names]
        writer.writerows(zip(*columns, strict=True))
        rows += batch.num_rows
    text.detach()
    return rows


def _write_jsonl(batches: Iterator[pa.RecordBatch], stream: IO[bytes]) -> int:
    rows = 0
    for batch in batches:
        for row in batch.to_pylist():
            stream.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n")
        rows += batch.num_rows
    return rows


def _write_parquet(batches: Iterator[pa.RecordBatch], stream: IO[bytes]) -> int:
    import pyarrow.parquet as pq

    rows = 0
    with pq.ParquetWriter(stream, VERDICT_SCHEMA, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows
