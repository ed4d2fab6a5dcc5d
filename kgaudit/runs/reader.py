"""Reads a run folder: for reports, exports, replay and the gate. Never writes, never locks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgaudit.documents import Passage
from kgaudit.errors import RunError
from kgaudit.runs.files import read_json
from kgaudit.runs.ledger import PARTS, open_parts, passages_from_rows, read_part
from kgaudit.verdicts import VERDICT_SCHEMA, Step, steps_from_json


class RunReader:
    """A run folder, opened for reading. Raises `RunError` where the folder is no run."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        if (self.path / "plan.json").is_file() and not (self.path / "ledger" / PARTS).is_file():
            raise RunError(
                "the shards of this run are not joined yet",
                where=str(self.path),
                todo="The command that began it goes on where it ended.",
            )
        if not (self.path / "spec.json").is_file():
            raise RunError(
                "this is not a run folder: it holds no spec.json",
                where=str(self.path),
                todo="Give the folder that was given to `kgaudit audit --run`.",
            )
        self.spec: dict[str, Any] = read_json(self.path / "spec.json")
        self.summary: dict[str, Any] = read_json(self.path / "summary.json")

    @property
    def graph(self) -> Path:
        """Where the loaded graph lies (`kgaudit.sources.LoadedGraph.open`)."""
        return self.path / "graph"

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of the verdict table, part by part; `columns` may also name `trajectory`."""
        names = list(columns) if columns is not None else VERDICT_SCHEMA.names
        for part in self._ledger_parts:
            yield from read_part(part, names).select(names).to_batches()

    @cached_property
    def _ledger_parts(self) -> list[Path]:
        # Listed once: a reader sees the same rows in the same order however often it is read, also while the run goes on.
        return open_parts(self.path / "ledger")

    @cached_property
    def _passage_parts(self) -> dict[str, Path]:
        return {key: part for part in open_parts(self.path / "passages") for key in read_part(part, ["id"])["id"].to_pylist()}

    def passages(self, ids: Iterable[str]) -> dict[str, Passage]:
        """The passages of these ids; an id that the run does not hold is left out."""
        import pyarrow.compute as pc

        wanted: dict[Path, list[str]] = {}
        for key in dict.fromkeys(ids):
            part = self._passage_parts.get(key)
            if part is not None:
                wanted.setdefault(part, []).append(key)
        found: dict[str, Passage] = {}
        for part, keys in wanted.items():
            table = read_part(part)
            rows = table.filter(pc.is_in(table["id"], pa.array(keys))).to_pylist()
            found.update(zip((row["id"] for row in rows), passages_from_rows(rows), strict=True))
        return found

    def passage_tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The passages that the run saw, part by part."""
        for part in open_parts(self.path / "passages"):
            yield read_part(part, columns)

    def find(self, text: str) -> list[dict[str, Any]]:
        """The rows (with `trajectory`) whose key begins with `text`, or whose subject, predicate, object labels it names."""
        wanted = " ".join(text.split()).casefold()
        found = []
        for batch in self.batches([*VERDICT_SCHEMA.names, "trajectory"]):
            for row in batch.to_pylist():
                line = " ".join(f"{row['s_label']} {row['p_label']} {row['o_label']}".split()).casefold()
                if (len(wanted) >= 6 and row["key"].startswith(wanted)) or wanted == line:
                    found.append(row)
        return found


def steps_of(row: dict[str, Any]) -> tuple[Step, ...]:
    """The trajectory of a row that was read with `trajectory`."""
    return steps_from_json(json.loads(row["trajectory"]))
