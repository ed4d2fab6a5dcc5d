"""Single searches into few requests: a search that comes while others are under way goes out together with those that wait with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

MOST_SEARCHES = 16
"""In one request."""

MOST_REQUESTS = 3
"""Under way at once."""

Body = dict[str, Any]
Answer = dict[str, Any]


class Gatherer:
    """Used in the thread of the connections only. A lone search waits for nobody."""

    def __init__(self, send: Callable[[Sequence[Body]], Awaitable[Sequence[Answer]]]) -> None:
        self._send = send
        self._waiting: list[tuple[Body, asyncio.Future[Answer]]] = []
        self._senders: set[asyncio.Task[None]] = set()

    async def answer(self, body: Body) -> Answer:
        """The answer to one search."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((body, future))
        if len(self._senders) < MOST_REQUESTS:
            sender = asyncio.create_task(self._send_waiting())
            self._senders.add(sender)
            sender.add_done_callback(self._senders.discard)
        return await future

    async def _send_waiting(self) -> None:
        await asyncio.sleep(0)  # all that is ready now joins
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST_SEARCHES], self._waiting[MOST_SEARCHES:]
            wanted = [(body, future) for body, future in batch if not future.cancelled()]
            try:
                answers = await self._send([body for body, _ in wanted]) if wanted else []
            except Exception as error:
                for _, future in wanted:
                    if not future.cancelled():
                        future.set_exception(error)
                continue
            for (_, future), answer in zip(wanted, answers, strict=True):
                if not future.cancelled():
                    future.set_result(answer)
