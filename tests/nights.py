"""Graphs, documents and nightly runs for tests of states and shards."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest import mock

from conftest import WordJudge, WordRetriever, make_passage

from kgaudit.documents import Passage
from kgaudit.runs import audit
from kgaudit.runs.audit import AuditOptions, Budget
from kgaudit.runs.nightly import Plan, Selection, commit, merge, select, verify_shard
from kgaudit.runs.reader import RunReader
from kgaudit.runs.state import MANIFEST, State, open_reader

EX = "http://example.com/"
PASSAGES = [make_passage(f"d{number}", f"Thing{number} owns Part{number}.") for number in range(40)]


def line(number: int, obj: int | None = None, graph: str = "") -> str:
    where = f" <{EX}{graph}>" if graph else ""
    return f"<{EX}Thing{number}> <{EX}owns> <{EX}Part{number if obj is None else obj}>{where} ."


def write_graph(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(one + "\n" for one in lines), encoding="utf-8")
    return path


class Counting(WordRetriever):
    """Counts what is searched for."""

    def __init__(self, passages: list[Passage] | None = None, snapshot: str = "words") -> None:
        super().__init__(PASSAGES if passages is None else passages)
        self.snapshot = snapshot  # type: ignore[misc]


def options(run: Path, *kg: Path, triples: int | None = None, **changes: Any) -> AuditOptions:
    return AuditOptions(kg=kg, run=run, budget=Budget(triples=triples), **changes)


def night(
    asked: AuditOptions,
    state: Path,
    *,
    retriever: WordRetriever | None = None,
    judge: WordJudge | None = None,
    size: int = 3,
    **how: Any,
) -> tuple[Plan, dict[str, Any]]:
    """All steps of one night, in shards of `size`; gives the plan and the entry of the state."""
    finder, reader = retriever or Counting(), judge or WordJudge()
    known = {"retriever": finder, "judge": reader} if how.get("again") else {}
    plan = select(asked, state, selection=Selection(**how), shard_triples=size, **known)
    for shard in plan.shards:
        verify_shard(asked.run, shard, finder, reader, index="documents")
    merge(asked.run)
    return plan, commit(asked.run, state)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """All rows of a run or state."""
    return [row for batch in open_reader(path).batches() for row in batch.to_pylist()]


def objects_of(path: Path) -> list[str]:
    """What the triples of a run or state are about, sorted; one that stands twice comes twice."""
    return sorted(f"{row['s'].rpartition('/')[2][:-1]} {row['o'].rpartition('/')[2][:-1]}" for row in rows_of(path))


def pairs(*numbers: int) -> list[str]:
    """What `objects_of` gives for these lines."""
    return sorted(f"Thing{number} Part{number}" for number in numbers)


def keys_in(run: Path) -> list[str]:
    """The keys of a run, each as often as it stands there."""
    return [key for batch in RunReader(run).batches(["key"]) for key in batch["key"].to_pylist()]


def killed_night(step: str, countdown: int, run: Path, kg: Path, state: Path) -> None:
    """A night whose process is killed when the `countdown`-th file with `step` in its path would take its place."""
    replace, append = os.replace, State._append

    def killing(source: Any, target: Any) -> None:
        nonlocal countdown
        countdown -= step in str(target)
        if countdown == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)

    def torn(self: State, line: str) -> None:
        if step == MANIFEST:
            with open(self.path / MANIFEST, "ab") as file:
                file.write(line[: len(line) // 2].encode())
            os.kill(os.getpid(), signal.SIGKILL)
        append(self, line)

    with mock.patch.object(os, "replace", killing), mock.patch.object(State, "_append", torn), mock.patch.object(audit, "PART_ROWS", 2):
        night(options(run, kg), state)
