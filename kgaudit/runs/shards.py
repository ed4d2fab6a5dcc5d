"""A run in shards: what was selected for it, cut into pieces that are verified by themselves, and joined by a manifest.

    run/
      plan.json               what was selected, and the shards; written last, so that it is there only when the rest is
      new.arrow               the new triples, shard by shard, then those that a budget leaves out
      removed.parquet         keys that the state holds and the graph no longer does
      graphs.parquet          named graphs that were not seen before
      graph/, trusted/        the graph as it was loaded, once for all shards
      shards/0000/            lock, ledger, passages and summary of a shard
      ledger/parts.json       after the joining: the parts of all shards, which stay where they are
      passages/parts.json

Everything is written under a temporary name, synced and renamed, so that workers on other machines see it whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgaudit.errors import RunError, UsageError
from kgaudit.runs.files import make_folder, read_json, remove_leftovers, whole_file, write_json
from kgaudit.runs.keys import first_of_each, stacked, words_of
from kgaudit.runs.ledger import PARTS, open_parts, read_part
from kgaudit.sources import LoadedGraph
from kgaudit.sources.candidates import READ_ROWS, read_candidates
from kgaudit.triples import CANDIDATE_SCHEMA, Candidate

PLAN = "plan.json"
PLAN_FORMAT = 1
FILES = (PLAN, "spec.json", "summary.json", "new.arrow", "removed.parquet", "graphs.parquet", "cards.yaml", "calibration.json")
"""What a run with shards writes into its own folder, where others may write reports meanwhile."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to do: `new` of `total` triples are new to the state (`again` of them only verified again), `removed` are gone.

    `selected` of the new ones are in the shards: all but what a budget leaves out. `unselected` are unknown to the state, but not new
    by the way that was chosen. `rests_on` is the earlier run that last gave triples of the graph a verdict. `notes` are for people.
    """

    run: Path
    total: int
    new: int
    removed: int
    shards: tuple[str, ...]
    rests_on: str | None
    again: int = 0
    selected: int = 0
    unselected: int = 0
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One line for logs and summaries."""
        parts = [f"{self.new:,} of {self.total:,} triples are new"]
        parts += [f"{self.again:,} of them verified again"] if self.again else []
        parts += [f"{self.selected:,} of them taken up by the budget"] if self.selected < self.new else []
        parts += [f"{self.removed:,} are gone"] if self.removed else []
        parts += [f"{self.unselected:,} that have no verdict were not chosen"] if self.unselected else []
        parts += [f"the state rests on run {self.rests_on}"] if self.rests_on and not self.new else []
        return "; ".join(parts)


def run_folder(runs: Path, run_id: str) -> Path:
    """The folder of a run below `runs`, named by its id as it is: nothing in it is replaced, so that no two runs share a folder.

    Raises `UsageError` where an id cannot name a folder: empty, `.`, `..`, with a slash or a null character.
    """
    if run_id in ("", ".", "..") or "/" in run_id or "\0" in run_id:
        raise UsageError(f"the run id {run_id!r} cannot name a folder", where=str(runs), todo="Give the run another id.")
    return Path(runs) / run_id


def read_plan_file(run: Path) -> dict[str, Any]:
    """`plan.json`. Raises `RunError` where the run has none."""
    path = run / PLAN
    if not path.is_file():
        raise RunError("nothing was selected for this run yet", where=str(run), todo="Begin with the selection of what is new.")
    values: dict[str, Any] = read_json(path)
    if values.get("format") != PLAN_FORMAT:
        raise RunError("the plan of this run was written by another version of kgaudit", where=str(run), todo="Begin a new run.")
    return values


def plan_of(run: Path, values: dict[str, Any]) -> Plan:
    """The plan behind `plan.json`."""
    return Plan(
        run=run,
        total=values["total"],
        new=values["new"],
        removed=values["removed"],
        shards=tuple(shard["name"] for shard in values["shards"]),
        rests_on=values["rests_on"],
        again=values["again"],
        selected=values["selected"],
        unselected=values["unselected"],
        notes=tuple(values["notes"]),
    )


class ShardWriter:
    """Writes the new candidates into one file in which each shard has a stretch of batches of its own.

    Shards of `size` triples cover the first `limit`; those behind are kept for who asks what a budget left out.
    """

    def __init__(self, run: Path, size: int, limit: int) -> None:
        self._path = run / "new.arrow"
        self._size = size
        self._left = limit
        self._pending: list[pa.RecordBatch] = []
        self._rows = 0
        self._batches = 0
        self.shards: list[dict[str, Any]] = []

    def write(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Takes all new candidates, in the order of the run. Raises `StorageError`."""
        with (
            whole_file(self._path) as stream,
            pa.ipc.new_file(stream, CANDIDATE_SCHEMA, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer,
        ):
            for batch in batches:
                self._add(batch.slice(0, self._left), writer)
                beyond = batch.slice(self._left)
                self._left = max(0, self._left - batch.num_rows)
                if not self._left:
                    self._flush(writer)
                if beyond.num_rows:
                    writer.write_batch(beyond)
            self._flush(writer)

    def _add(self, batch: pa.RecordBatch, writer: pa.ipc.RecordBatchFileWriter) -> None:
        while batch.num_rows:
            room = min(READ_ROWS - self._rows, self._size - self._in_shard() - self._rows)
            piece, batch = batch.slice(0, room), batch.slice(room)
            self._pending.append(piece)
            self._rows += piece.num_rows
            if self._rows == READ_ROWS or self._in_shard() + self._rows == self._size:
                self._flush(writer)

    def _in_shard(self) -> int:
        """Rows that are written of the shard that is not full yet."""
        rows = self.shards[-1]["rows"] if self.shards else 0
        return 0 if rows == self._size else int(rows)

    def _flush(self, writer: pa.ipc.RecordBatchFileWriter) -> None:
        if not self._rows:
            return
        if not self._in_shard():
            self.shards.append({"name": f"{len(self.shards):04d}", "first": self._batches, "batches": 0, "rows": 0})
        (whole,) = pa.Table.from_batches(self._pending, CANDIDATE_SCHEMA).combine_chunks().to_batches()
        writer.write_batch(whole)
        self._batches += 1
        self.shards[-1]["batches"] += 1
        self.shards[-1]["rows"] += self._rows
        self._pending, self._rows = [], 0


def shard_folder(run: Path, name: str) -> Path:
    """Where a shard keeps what comes of it."""
    return run / "shards" / name


def shard_candidates(run: Path, shard: dict[str, Any]) -> Iterator[Candidate]:
    """The triples of a shard."""
    return read_candidates(run / "new.arrow", shard["first"], shard["batches"])


def run_candidates(run: Path) -> Iterator[Candidate]:
    """The triples that a run could verify: those that were new, or all of its graph."""
    if (run / PLAN).is_file():
        yield from read_candidates(run / "new.arrow")
        return
    with closing(LoadedGraph.open(run / "graph")) as graph:
        yield from graph.candidates()


def write_keys(path: Path, values: Sequence[str]) -> None:
    """Keys or names as a Parquet file of one column."""
    import pyarrow.parquet as pq

    with whole_file(path) as stream:
        pq.write_table(pa.table({"value": pa.array(values, pa.string())}), stream, compression="zstd")


def read_keys(path: Path) -> list[str]:
    """What `write_keys` wrote."""
    values: list[str] = read_part(path, ["value"])["value"].to_pylist()
    return values


def join_parts(run: Path, shards: Sequence[dict[str, Any]], *, whole: bool) -> None:
    """Names the parts of all shards in the run's own ledger and passages.

    Raises `RunError` where a key stands in two places, or (with `whole`) where fewer triples have a verdict than were selected.
    """
    folders = [shard_folder(run, shard["name"]) for shard in shards]
    parts = {name: [part for folder in folders for part in open_parts(folder / name)] for name in ("ledger", "passages")}
    words = stacked(words_of(read_part(part, ["key"])["key"].to_pylist()) for part in parts["ledger"])
    if len(first_of_each(words)) != len(words):
        raise RunError("a triple has more than one verdict in the shards", where=str(run), todo="Begin a new run.")
    planned = sum(shard["rows"] for shard in shards)
    if whole and len(words) != planned:
        raise RunError(
            f"the shards hold {len(words):,} verdicts of {planned:,}", where=str(run), todo="Verify the shards again: they go on."
        )
    for name in ("passages", "ledger"):  # as in a ledger: passages first, so that no verdict is without its evidence
        folder = run / name
        make_folder(folder)
        remove_leftovers(folder)
        write_json(folder / PARTS, {"format": 1, "parts": [os.path.relpath(part, folder) for part in parts[name]]})
