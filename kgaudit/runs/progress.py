"""Progress on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import rich.progress

LINE_EVERY = 5.0
"""Seconds between two lines where standard error is no terminal."""


class Progress:
    """A named piece of work. Call it with what is done and, where known, how much there is."""

    def __init__(self, what: str, unit: str) -> None:
        self._what, self._unit = what, unit
        self._begun = self._shown = time.monotonic()
        self._done = 0
        self._bar: rich.progress.Progress | None = None
        self._task: rich.progress.TaskID | None = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            import rich.console
            import rich.progress as bars

            self._bar = bars.Progress(
                bars.TextColumn("{task.description}"),
                bars.BarColumn(),
                bars.TextColumn("{task.completed:,.0f}{task.fields[of]} " + self._unit),
                bars.TimeElapsedColumn(),
                bars.TimeRemainingColumn(),
                console=rich.console.Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=None, of="")
        return self

    def __call__(self, done: int, total: int | None = None) -> None:
        self._done = done
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, of=f" of {total:,}" if total else "")
        elif time.monotonic() - self._shown >= LINE_EVERY:
            self._shown = time.monotonic()
            rate = done / max(self._shown - self._begun, 1e-9)
            of = f" of {total:,}" if total else ""
            print(f"{self._what}: {done:,}{of} {self._unit}, {rate:,.0f}/s", file=sys.stderr, flush=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
