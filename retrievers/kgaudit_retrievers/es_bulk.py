"""Writing to Elasticsearch in bulk: as fast as the server takes it, nothing lost, nothing twice, one bad document never harms another.

Every entry has a key made of its content, so a request whose fate is unknown (a timeout, a server that went away) is sent again as it
was. A document goes out in two steps: its passages first, and only when the server has them all the entry of the document itself,
which says that it is complete.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from kgaudit.errors import TransientError
from kgaudit.retries import FIRST_PAUSE, LONGEST_PAUSE
from kgaudit_retrievers.es_connect import Cluster, RefusedError, error_of_answer, reason_of
from kgaudit_retrievers.es_schema import delete_line

MAX_BYTES = 4 << 20
MAX_LINES = 1000
MAX_REQUESTS = 4
"""Under way at once; halved whenever the server says that it is too much, raised again by one with each request it takes."""

PATIENCE = 300.0
"""Seconds in which no request succeeded and one or more failed, after which the server counts as down."""

_TOO_MANY = 429
_CONTENT = (400, 413)  # what a request holds is at fault, not the server or our rights


@dataclass(slots=True)
class Unit:
    """A document on its way: the lines to write first, and the one to write when they are all there.

    `undo` are the keys that must be gone again where the server refuses a part of it. The rest is the writer's own.
    """

    name: Any
    first: list[bytes]
    then: bytes
    undo: Sequence[str] = ()
    left: int = 0
    marked: bool = False
    reason: str = ""


@dataclass(slots=True)
class _Chunk:
    lines: list[bytes] = field(default_factory=list)
    units: list[Unit | None] = field(default_factory=list)  # of each line, whose it is
    size: int = 0


class BulkWriter:
    """Takes documents from one thread and writes them. `refused` hears of each that the server does not take, with the reason.

    `put` blocks while as much is under way as the server can take: that is the back-pressure. Raises what the server's answers mean
    once trying again does not help.
    """

    def __init__(self, cluster: Cluster, index: str, refused: Callable[[Unit], None], *, patience: float = PATIENCE) -> None:
        self._cluster, self._index, self._refused = cluster, index, refused
        self._patience = patience
        self._filling = _Chunk()
        self._complete: deque[Unit] = deque()  # appended in the thread of the connections
        self._running: set[Future[None]] = set()
        self._gate = _Gate(MAX_REQUESTS)
        self._failing_since: float | None = None

    def put(self, unit: Unit) -> None:
        """Takes a document."""
        unit.left = len(unit.first)
        for line in unit.first:
            self._add(line, unit)
        if not unit.first:
            self._complete.append(unit)
        self._send_markers()

    def drain(self) -> None:
        """Waits until all is written, the entries of the documents too."""
        while True:
            self._send_markers()
            self._flush()
            if not self._running:
                if not self._complete:
                    return
                continue
            self._settle(self._running.pop())

    def cancel(self) -> None:
        """Lets go of what is under way."""
        for future in self._running:
            future.cancel()
        self._running.clear()

    def _add(self, line: bytes, unit: Unit | None) -> None:
        chunk = self._filling
        if chunk.lines and (len(chunk.lines) >= MAX_LINES or chunk.size + len(line) > MAX_BYTES):
            self._flush()
            chunk = self._filling
        chunk.lines.append(line)
        chunk.units.append(unit)
        chunk.size += len(line)

    def _send_markers(self) -> None:
        while self._complete:
            unit = self._complete.popleft()
            if unit.reason:
                self._refused(unit)
                for key in unit.undo:
                    self._add(delete_line(key), None)
            elif not unit.marked:
                unit.marked, unit.left = True, 1
                self._add(unit.then, unit)

    def _flush(self) -> None:
        if not self._filling.lines:
            return
        chunk, self._filling = self._filling, _Chunk()
        while len(self._running) >= MAX_REQUESTS:
            done = next((future for future in self._running if future.done()), None) or next(iter(self._running))
            self._running.discard(done)
            self._settle(done)
        self._running.add(self._cluster.start(self._write(chunk)))

    def _settle(self, future: Future[None]) -> None:
        self._cluster.wait(future)

    async def _write(self, chunk: _Chunk) -> None:
        """Writes a chunk, trying again whatever may be taken later. Runs in the thread of the connections."""
        pause = FIRST_PAUSE
        while chunk.lines:
            async with self._gate:
                again, wait = await self._try(chunk)
            if not again.lines:
                return
            if len(again.lines) < len(chunk.lines):
                pause = FIRST_PAUSE
            chunk = again
            await asyncio.sleep(max(wait, pause * (0.5 + random.random())))
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _try(self, chunk: _Chunk) -> tuple[_Chunk, float]:
        """Sends it once: gives what is to be sent again, and how long to wait at least."""
        try:
            answer = await self._cluster.once(
                "bulk", operations=chunk.lines, index=self._index, filter_path="errors,items.*.status,items.*.error"
            )
        except TransientError as error:
            self._gate.narrow()
            now = time.monotonic()
            self._failing_since = self._failing_since or now
            if now - self._failing_since > self._patience:
                raise
            return chunk, error.retry_after or 0.0
        except RefusedError as error:
            if error.status not in _CONTENT:
                raise
            if len(chunk.lines) > 1:  # too large, or one line that spoils the request
                await self._halve(chunk)
            else:
                self._take(chunk.units[0], error.happened)
            return _Chunk(), 0.0
        self._failing_since = None
        if not answer["errors"]:
            self._gate.widen()
            for unit in chunk.units:
                self._take(unit)
            return _Chunk(), 0.0
        return self._sort_out(chunk, answer["items"]), 0.0

    def _sort_out(self, chunk: _Chunk, items: Sequence[dict[str, Any]]) -> _Chunk:
        again = _Chunk()
        crowded = False
        for line, unit, item in zip(chunk.lines, chunk.units, items, strict=True):
            (result,) = item.values()
            error = result.get("error")
            if error is None:
                self._take(unit)
                continue
            meant = error_of_answer(result["status"], {"error": error}, self._index)
            if isinstance(meant, TransientError):
                crowded = crowded or result["status"] == _TOO_MANY
                again.lines.append(line)
                again.units.append(unit)
            elif result["status"] in _CONTENT and unit is not None:
                self._take(unit, reason_of({"error": error})[1])
            else:  # missing rights, an index that is gone: no matter which document
                raise meant
        if crowded:
            self._gate.narrow()
        return again

    async def _halve(self, chunk: _Chunk) -> None:
        middle = len(chunk.lines) // 2
        for part in (slice(None, middle), slice(middle, None)):
            # Within the same pass of the gate: another one would wait for ours.
            half = _Chunk(chunk.lines[part], chunk.units[part])
            while half.lines:
                half, wait = await self._try(half)
                if half.lines:
                    await asyncio.sleep(max(wait, FIRST_PAUSE))

    def _take(self, unit: Unit | None, reason: str = "") -> None:
        if unit is None:
            return
        unit.reason = unit.reason or reason
        unit.left -= 1
        if unit.left == 0:
            self._complete.append(unit)


class _Gate:
    """How many requests may be under way; used in one thread."""

    def __init__(self, most: int) -> None:
        self._most = self._allowed = most
        self._inside = 0
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._inside < self._allowed)
            self._inside += 1

    async def __aexit__(self, *_: object) -> None:
        async with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def narrow(self) -> None:
        self._allowed = max(1, self._allowed // 2)

    def widen(self) -> None:
        self._allowed = min(self._most, self._allowed + 1)
