"""Back-pressure: how many requests are under way at once, and which endpoint takes the next one."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from types import TracebackType

LONGEST_REST = 15.0

APART_SECONDS = 0.002
"""Between the first requests of many that begin together. Sent in one moment they would come back in one moment, again and again, and
this process and the server would wait for each other in turns."""

CUT_SECONDS = 1.0
"""The limit is cut once in so many seconds at most: one full server answers many requests with the same refusal."""


class AdaptiveLimit:
    """A semaphore, first come first served, whose limit halves when the server is overloaded and grows back by one a round of answers.
    What begins together is set a little apart.

    `async with limit:` holds one place. The limit stays between 1 and `most`.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._allowed = float(most)
        self._busy = 0
        self._most_busy = 0
        self._next_opening = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._last_cut = float("-inf")

    @property
    def allowed(self) -> int:
        """How many may be under way now."""
        return int(self._allowed)

    async def __aenter__(self) -> None:
        if self._busy < self.allowed and not self._waiting:
            self._busy += 1
            if self._busy > self._most_busy:
                await self._opening()
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # the place was given in the same moment
                self._leave()
            raise

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._leave()

    async def _opening(self) -> None:
        """Waits until it is this place's turn to be used for the first time since nothing was under way."""
        self._most_busy = self._busy
        now = time.monotonic()
        turn = max(now, self._next_opening)
        self._next_opening = turn + APART_SECONDS
        if turn > now:
            try:
                await asyncio.sleep(turn - now)
            except asyncio.CancelledError:
                self._leave()
                raise

    def _leave(self) -> None:
        self._busy -= 1
        if not self._busy:
            self._most_busy = 0
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._busy < self.allowed:
            place = self._waiting.popleft()
            if not place.done():
                self._busy += 1
                place.set_result(None)

    def overloaded(self) -> None:
        """The server had no room: half as many from now on."""
        now = time.monotonic()
        if now - self._last_cut >= CUT_SECONDS:
            self._last_cut = now
            self._allowed = max(1.0, self._allowed / 2)

    def served(self) -> None:
        """The server answered: a little more."""
        if self._allowed < self._most:
            self._allowed = min(float(self._most), self._allowed + 1 / self._allowed)
            self._admit()


@dataclass(slots=True)
class Endpoint:
    """One server. After a fault it rests, longer with each in a row: others are preferred meanwhile. While it asked for a pause
    (`Retry-After`) it is not asked at all."""

    url: str
    faults: int = 0
    rests_until: float = float("-inf")
    paused_until: float = float("-inf")

    def failed(self, retry_after: float | None) -> None:
        """A transient fault; `retry_after` is what the server asked for, in seconds."""
        now = time.monotonic()
        self.faults += 1
        self.rests_until = now + min(0.5 * 2.0 ** min(self.faults, 20), LONGEST_REST)  # a server may be down for thousands of tries
        if retry_after is not None:
            self.paused_until = max(self.paused_until, now + retry_after)

    def served(self) -> None:
        """An answer."""
        self.faults = 0
        self.rests_until = float("-inf")


class Endpoints:
    """Round robin over those that neither rest nor pause; where there is none, the one whose time comes first."""

    def __init__(self, endpoints: list[Endpoint]) -> None:
        self._endpoints = endpoints
        self._turn = 0

    def next(self) -> Endpoint:
        """The endpoint for the next request."""
        now, count = time.monotonic(), len(self._endpoints)
        for step in range(count):
            endpoint = self._endpoints[(self._turn + step) % count]
            if max(endpoint.rests_until, endpoint.paused_until) <= now:
                self._turn = (self._turn + step + 1) % count
                return endpoint
        return min(self._endpoints, key=lambda one: (one.paused_until > now, max(one.rests_until, one.paused_until)))

    def pause(self) -> float:
        """Seconds until the first of them may be asked; 0 where one may be asked now."""
        return max(0.0, min(one.paused_until for one in self._endpoints) - time.monotonic())
