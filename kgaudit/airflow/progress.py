"""Progress in a task's log, and how far a run has come."""

from __future__ import annotations

import logging
import time
from pathlib import Path

LINE_EVERY = 10.0
"""Seconds between two lines."""


class LoggedProgress:
    """Call it with what is done and, where known, how much there is."""

    def __init__(self, what: str, unit: str, log: logging.Logger) -> None:
        self._what, self._unit, self._log = what, unit, log
        self._begun = self._shown = time.monotonic()

    def __call__(self, done: int, total: int | None = None) -> None:
        now = time.monotonic()
        if now - self._shown < LINE_EVERY:
            return
        self._shown = now
        of = f" of {total:,}" if total else ""
        self._log.info("%s: %s%s %s, %s/s", self._what, f"{done:,}", of, self._unit, f"{done / (now - self._begun):,.0f}")


def shard_counts(run: Path) -> tuple[int, int]:
    """How many shards of a run are complete, and how many there are; (0, 0) before they are selected."""
    from kgaudit.airflow.served import read_object

    shards = read_object(run / "plan.json").get("shards") or []
    done = sum(read_object(run / "shards" / one["name"] / "summary.json").get("status") == "complete" for one in shards)
    return done, len(shards)
