"""Rows and passages on their way into a report, kept on disk: they come in the order of the run and go out in that of the page."""

from __future__ import annotations

import contextlib
import json
import tempfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from kgaudit.documents import Passage
from kgaudit.errors import storage_error
from kgaudit.reports.card import passage_ids
from kgaudit.reports.rows import Ranking
from kgaudit.runs.ledger import passages_from_rows
from kgaudit.runs.reader import RunReader
from kgaudit.verdicts import VERDICT_SCHEMA

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Spill:
    """An unnamed file below `folder`, gone when it is closed. Raises `StorageError` where it cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`
        except OSError as error:
            raise storage_error(error, str(folder)) from error
        self._end = 0
        self._rows = np.empty(0, np.int64)
        self._passages: dict[str, int] = {}

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with contextlib.suppress(OSError):  # closing writes out what a full disk refused, and nobody needs it any more
            self._file.close()

    def fill(self, reader: RunReader, ranking: Ranking) -> None:
        """Takes in the listed rows of the run and the passages that they speak of.

        Raises `StorageError` where the disk is full and `RunError` where the run is damaged.
        """
        try:
            wanted = self._fill_rows(reader, ranking)
            for table in reader.passage_tables():
                for row in table.to_pylist():
                    if row["id"] in wanted:
                        self._passages[row["id"]] = self._write(row)
            self._file.flush()
        except OSError as error:
            raise storage_error(error, str(self._folder)) from error

    def _fill_rows(self, reader: RunReader, ranking: Ranking) -> set[str]:
        self._rows = np.full(ranking.listed, -1, np.int64)
        wanted: set[str] = set()
        position = 0
        for batch in reader.batches([*VERDICT_SCHEMA.names, "trajectory"]):
            ranks = ranking.ranks[position : position + batch.num_rows]
            position += batch.num_rows
            listed = np.flatnonzero(ranks >= 0)
            for rank, row in zip(ranks[listed].tolist(), batch.take(listed).to_pylist(), strict=True):
                row["steps"] = json.loads(row.pop("trajectory"))
                wanted.update(passage_ids(row))
                self._rows[rank] = self._write(row)
        return wanted

    def row(self, rank: int) -> dict[str, Any]:
        """The row at this place of the report: the columns of the verdict table, and `steps`, the trajectory as JSON values."""
        return self._read(int(self._rows[rank]))

    def passages_of(self, rows: list[dict[str, Any]]) -> dict[str, Passage]:
        """The passages that the rows speak of, as far as the run holds them."""
        wanted = dict.fromkeys(key for row in rows for key in passage_ids(row) if key in self._passages)
        stored = [self._read(self._passages[key]) for key in wanted]
        return dict(zip(wanted, passages_from_rows(stored), strict=True))

    def _write(self, value: dict[str, Any]) -> int:
        content = zlib.compress(_encode(value).encode("utf-8"), 1)
        offset = self._end
        self._file.seek(offset)
        self._file.write(len(content).to_bytes(8, "little") + content)
        self._end += 8 + len(content)
        return offset

    def _read(self, offset: int) -> dict[str, Any]:
        self._file.seek(offset)
        size = int.from_bytes(self._file.read(8), "little")
        row: dict[str, Any] = json.loads(zlib.decompress(self._file.read(size)))
        return row
