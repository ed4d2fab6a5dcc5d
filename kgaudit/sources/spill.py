"""Tables that are larger than memory, on disk in parts by a hash: each part fits."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from kgaudit.errors import storage_error

CHUNK_ROWS = 1 << 17
PARTS = 256


class Spill:
    """Takes batches whose rows have part numbers (0 to 255) and gives them back part by part, rows in the order in which they came."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._folder = folder
        self._schema = schema
        self._pending: list[pa.RecordBatch] = []
        self._parts: list[np.ndarray] = []
        self._rows = 0
        self._files: dict[int, tuple[pa.OSFile, pa.RecordBatchStreamWriter]] = {}

    def add(self, batch: pa.RecordBatch, parts: np.ndarray) -> None:
        """Takes a batch; `parts` is uint8, one a row. Raises `StorageError` where it cannot be written."""
        self._pending.append(batch)
        self._parts.append(parts)
        self._rows += batch.num_rows
        if self._rows >= CHUNK_ROWS:
            self._flush()

    def _flush(self) -> None:
        parts = np.concatenate(self._parts)
        order = np.argsort(parts, kind="stable")
        table = pa.Table.from_batches(self._pending, self._schema).take(pa.array(order)).combine_chunks()
        bounds = np.searchsorted(parts[order], np.arange(PARTS + 1))
        self._pending, self._parts, self._rows = [], [], 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for part in np.unique(parts).tolist():
                start, end = int(bounds[part]), int(bounds[part + 1])
                self._writer(part).write_table(table.slice(start, end - start))
        except OSError as error:
            raise storage_error(error, str(self._folder)) from error

    def _writer(self, part: int) -> pa.RecordBatchStreamWriter:
        if part not in self._files:
            file = pa.OSFile(str(self._folder / f"{part:03d}.arrow"), "wb")
            self._files[part] = file, pa.ipc.new_stream(file, self._schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
        return self._files[part][1]

    def tables(self) -> Iterator[pa.Table]:
        """The parts in the order of their numbers, empty ones left out; removes each file once it is read."""
        if not self._files:
            if self._rows:
                parts = np.concatenate(self._parts)
                yield (
                    pa.Table.from_batches(self._pending, self._schema).take(pa.array(np.argsort(parts, kind="stable"))).combine_chunks()
                )
                self._pending, self._parts, self._rows = [], [], 0
            return
        try:
            if self._rows:
                self._flush()
            self._close()
            for part in sorted(self._files):
                path = self._folder / f"{part:03d}.arrow"
                with pa.OSFile(str(path), "rb") as file:
                    table = pa.ipc.open_stream(file).read_all()
                path.unlink()
                yield table.combine_chunks()
        except OSError as error:
            raise storage_error(error, str(self._folder)) from error

    def _close(self) -> None:
        for file, writer in self._files.values():
            writer.close()
            file.close()

    def discard(self) -> None:
        """Closes and removes what is still on disk."""
        for file, _ in self._files.values():
            if not file.closed:
                file.close()
        self._files.clear()
        shutil.rmtree(self._folder, ignore_errors=True)
