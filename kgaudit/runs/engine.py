"""Verifies many claims at once: bounded in flight, in order of arrival, one bad claim never harms another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator

from kgaudit.agent.environment import BatchingEnvironment
from kgaudit.agent.loop import Environment, Policy, not_judged, verify
from kgaudit.claims import Claim
from kgaudit.documents import Passage, Retriever
from kgaudit.errors import KgauditError
from kgaudit.models.chat import ChatModel
from kgaudit.models.judge import Judge
from kgaudit.models.pool import JudgePool, pooled
from kgaudit.verdicts import Trajectory

IN_FLIGHT = 192
IN_FLIGHT_WITH_MODEL = 64
"""Fewer where a language model is asked: each claim has several calls under way, and what is in flight goes beyond a budget."""

LOOK_SECONDS = 0.5
"""How often it is looked at whether the run is to stop, where answers are slow in coming."""

OnResult = Callable[[Claim, Trajectory, tuple[Passage, ...]], None]


class Stop:
    """Asks a run to end early: nothing new is begun, what is in flight is finished. `running`: claims are being verified."""

    def __init__(self) -> None:
        self.asked = False
        self.running = False
        self.signal: int | None = None

    def ask(self, signal: int | None = None) -> None:
        """End as soon as what is in flight is done; `signal` is what asked first."""
        self.signal = self.signal if self.asked else signal
        self.asked = True


async def _verify_one(claim: Claim, policy: Policy, environment: Environment) -> tuple[Trajectory, tuple[Passage, ...]]:
    begun = time.monotonic()
    try:
        return await verify(claim, policy, environment)
    except KgauditError:
        raise  # an index or model that is down stops the run: it must not fill the table with not_judged
    except Exception as error:
        return not_judged(claim, policy.name, f"{type(error).__name__}: {error}", time.monotonic() - begun), ()


async def verify_stream(
    claims: Iterator[Claim], policy: Policy, environment: Environment, on_result: OnResult, stop: Stop, in_flight: int = IN_FLIGHT
) -> None:
    """Verifies claims as they come from the iterator, at most `in_flight` at a time.

    Raises the first `KgauditError` of a search or judgement after letting go of what is in flight. When asked to stop, what is in
    flight is finished, but where a language model is asked: that may take minutes, and the answers it gave are kept with the run.
    """
    running: dict[asyncio.Task[tuple[Trajectory, tuple[Passage, ...]]], Claim] = {}
    exhausted = False
    try:
        while True:
            while not exhausted and not stop.asked and len(running) < in_flight:
                claim = next(claims, None)
                if claim is None:
                    exhausted = True
                else:
                    running[asyncio.create_task(_verify_one(claim, policy, environment))] = claim
            if not running or (stop.asked and environment.chat is not None):
                return
            done, _ = await asyncio.wait(running, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                claim = running.pop(task)
                trajectory, passages = task.result()
                on_result(claim, trajectory, passages)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def verify_all(
    claims: Iterable[Claim],
    *,
    policy: Policy,
    retriever: Retriever,
    judge: Judge,
    on_result: OnResult,
    stop: Stop | None = None,
    chat: ChatModel | None = None,
    expected: int = 0,
) -> None:
    """`verify_stream` for callers that are not asynchronous. Raises `KgauditError` where the index, the judge or the model fails.

    `expected`: how many claims will come, where that is known; many are judged in several processes.

    The connections of `chat` are closed at the end; it may be used again.
    """
    judges = pooled(judge, expected)
    used = judges or judge
    # Two requests a process: while one is judged, the next already waits there.
    at_once = 2 * used.workers if isinstance(used, JudgePool) else 1
    environment = BatchingEnvironment(retriever, used, chat, judges=at_once)
    stop = stop or Stop()

    async def verified() -> None:
        try:
            in_flight = IN_FLIGHT if chat is None else IN_FLIGHT_WITH_MODEL
            await verify_stream(iter(claims), policy, environment, on_result, stop, in_flight)
        finally:
            if chat is not None:
                await chat.aclose()

    try:
        stop.running = True
        asyncio.run(verified())
    finally:
        environment.close()
        if judges:
            judges.close()
