"""Trying again: which errors are worth it is decided by their class alone (`kgaudit.errors`)."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import TypeVar

from kgaudit.errors import TransientError

Out = TypeVar("Out")

RETRY_DEADLINE = 60.0
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 8.0


async def with_retries(
    call: Callable[[], Awaitable[Out]], deadline: float = RETRY_DEADLINE, on_retry: Callable[[TransientError], None] | None = None
) -> Out:
    """Tries again after transient errors, with jittered back-off, until `deadline` seconds have passed; then raises the last one.

    A server that asks for a longer wait than is left is not waited for. `on_retry` is told of each error that is tried again.
    """
    begun, pause = time.monotonic(), FIRST_PAUSE
    while True:
        try:
            return await call()
        except TransientError as error:
            wait = (error.retry_after or 0.0) + pause * (0.5 + random.random())
            if time.monotonic() - begun + wait > deadline:
                raise
            if on_retry:
                on_retry(error)
            await asyncio.sleep(wait)
            pause = min(pause * 2, LONGEST_PAUSE)


def retry_after(header: str | None, date: str | None = None, now: float | None = None) -> float | None:
    """Seconds that a `Retry-After` header asks for: a number, or the time until an HTTP date (RFC 9110, 10.2.3).

    `date` is the same answer's `Date` header: where it is there the server's clock counts, not ours. A moment that is past, a negative
    number and what is neither number nor date give None: the ordinary back-off decides.
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        asked = _timestamp(header)
        if asked is None:
            return None
        begun = _timestamp(date) if date else None
        seconds = asked - (begun if begun is not None else time.time() if now is None else now)
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _timestamp(http_date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(http_date)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
