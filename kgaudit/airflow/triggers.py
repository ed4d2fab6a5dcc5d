"""Waits for a shard without a worker's slot.

A shard with a remote model takes minutes in which this side mostly waits. The trigger lets a process beside the triggerer do it
(`kgaudit.airflow.shard_process`). Not the triggerer's own event loop: searching, judging and writing the ledger would hold up all
other triggers. Not a process that a worker leaves behind: on Kubernetes it dies with the worker's pod, elsewhere nobody ends it. This
one ends with its trigger, whether that is cancelled, moves to another triggerer or is killed; the next goes on from the ledger.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any
from weakref import WeakKeyDictionary

from airflow.sdk import BaseHook
from airflow.triggers.base import BaseTrigger, TriggerEvent

from kgaudit.airflow import settings
from kgaudit.airflow.connections import ModelConnection
from kgaudit.airflow.shards import ShardJob
from kgaudit.errors import KgauditError
from kgaudit_retrievers.es_connect import Access

END_SECONDS = 30.0
"""How long a process that was asked to end may take: what is in flight is finished and written."""

LOCKED_SECONDS = 60.0
"""How long a shard may still be held by the process of the trigger before this one."""

_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def _slot() -> asyncio.Semaphore:
    """Each process takes memory for the index and the judge: some at a time, the others wait their turn in the triggerer."""
    return _slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(settings.triggerer_shards()))


class ShardTrigger(BaseTrigger):
    """Verifies a shard. Its event is `{"summary"}`, or `{"error", "passing"}` with what happened and whether a later try may succeed.

    `index` is a folder or an address, `judge` a folder or ""; connections are named by their ids and read where the trigger runs, so
    that no secret is stored with it.
    """

    def __init__(self, run: str, shard: str, index: str, judge: str, elasticsearch_conn_id: str, model_conn_id: str) -> None:
        super().__init__()
        self.run_path = run
        self.shard = shard
        self.index = index
        self.judge = judge
        self.elasticsearch_conn_id = elasticsearch_conn_id
        self.model_conn_id = model_conn_id

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments."""
        arguments = {
            "run": self.run_path,
            "shard": self.shard,
            "index": self.index,
            "judge": self.judge,
            "elasticsearch_conn_id": self.elasticsearch_conn_id,
            "model_conn_id": self.model_conn_id,
        }
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Waits for its turn, lets the process work, and says what came of it."""
        async with _slot():
            try:
                ended = await self._verify(await self._job())
            except KgauditError as error:
                ended = {"error": str(error), "passing": False}
        yield TriggerEvent(ended)

    async def _job(self) -> ShardJob:
        access = None
        if self.elasticsearch_conn_id:
            access = Access.from_airflow(await BaseHook.aget_connection(self.elasticsearch_conn_id))
        model = ModelConnection.read(await BaseHook.aget_connection(self.model_conn_id)) if self.model_conn_id else None
        address, key = (model.spec, model.key) if model else ("", "")
        return ShardJob(self.run_path, self.shard, self.index, access, self.judge, address, key)

    async def _verify(self, job: ShardJob) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        until = loop.time() + LOCKED_SECONDS
        while True:
            ended = await self._attempt(job)
            if not ended.pop("locked", False):
                return ended
            if loop.time() > until:
                return {**ended, "passing": True}
            await asyncio.sleep(2.0)

    async def _attempt(self, job: ShardJob) -> dict[str, Any]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "kgaudit.airflow.shard_process", stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 20
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        said = asyncio.create_task(process.stderr.read())
        ended: dict[str, Any] = {}
        try:
            process.stdin.write(json.dumps(job.to_json()).encode() + b"\n")
            async for line in process.stdout:
                message = json.loads(line)
                if "done" in message:
                    of = f" of {message['total']:,}" if message["total"] else ""
                    self.log.info("shard %s: %s%s triples", self.shard, f"{message['done']:,}", of)
                else:
                    ended = message
            await process.wait()
        finally:
            await _end(process)
        if ended:
            said.cancel()
            return ended
        words = (await said).decode("utf-8", "replace").strip()[-2000:]
        return {"error": f"the process of shard {self.shard} ended with status {process.returncode}: {words}", "passing": True}


async def _end(process: asyncio.subprocess.Process) -> None:
    """Lets the process end by itself, then not."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), END_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
