"""Trying again: which errors are worth it is decided by their class alone (`kgaudit.errors`)."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from kgaudit.errors import TransientError

Out = TypeVar("Out")

RETRY_DEADLINE = 60.0
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 8.0


async def with_retries(call: Callable[[], Awaitable[Out]], deadline: float = RETRY_DEADLINE) -> Out:
    """Tries again after transient errors, with jittered back-off, until `deadline` seconds have passed; then raises the last one."""
    begun, pause = time.monotonic(), FIRST_PAUSE
    while True:
        try:
            return await call()
        except TransientError as error:
            wait = max(error.retry_after or 0.0, pause * (0.5 + random.random()))
            if time.monotonic() - begun + wait > deadline:
                raise
            await asyncio.sleep(wait)
            pause = min(pause * 2, LONGEST_PAUSE)
