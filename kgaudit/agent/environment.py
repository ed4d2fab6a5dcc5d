"""Carries out searches and judgements for many claims at once: requests that arrive together go out as one batch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from kgaudit.claims import Claim
from kgaudit.documents import Document, Passage, Query, ReadsMany, Retriever, reading_of
from kgaudit.errors import KgauditError
from kgaudit.models.judge import Judge, Weighing
from kgaudit.retries import with_retries
from kgaudit.verdicts import Stance

In = TypeVar("In")
Out = TypeVar("Out")


class Batcher(Generic[In, Out]):
    """Gathers single requests into batches for a blocking function that runs in a thread of its own.

    While a batch is under way, the next one gathers: under load batches grow by themselves, and a lone request waits for nobody.
    """

    def __init__(self, run: Callable[[list[In]], list[Out]], limit: int, name: str) -> None:
        self._run = run
        self._limit = limit
        self._waiting: list[tuple[In, asyncio.Future[Out]]] = []
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, request: In) -> Out:
        future: asyncio.Future[Out] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain())
        return await future

    async def _drain(self) -> None:
        await asyncio.sleep(0)  # everything that is ready now joins the first batch
        while self._waiting:
            batch, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
            await self._serve(batch)

    async def _serve(self, batch: list[tuple[In, asyncio.Future[Out]]]) -> None:
        try:
            results = await asyncio.get_running_loop().run_in_executor(self._pool, self._run, [request for request, _ in batch])
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, KgauditError):
                for single in batch:  # one bad request must not fail its neighbours
                    await self._serve([single])
                return
            for _, future in batch:
                if not future.cancelled():
                    future.set_exception(error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.cancelled():
                future.set_result(result)

    def close(self) -> None:
        """Ends the thread once what is under way is done."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class BatchingEnvironment:
    """A retriever and a judge behind batchers. Close it when done."""

    def __init__(self, retriever: Retriever, judge: Judge, *, search_batch: int = 64, judge_batch: int = 128) -> None:
        self._judge = judge
        self._retriever = retriever
        self._searches: Batcher[tuple[Query, int], list[Passage]] = Batcher(self._search_many, search_batch, "search")
        self._documents: Batcher[str, Document | None] = Batcher(self._read_many, search_batch, "read")
        self._judgements: Batcher[Sequence[tuple[Claim, Passage]], list[Stance]] = Batcher(self._judge_many, judge_batch, "judge")

    async def search(self, query: Query, k: int) -> list[Passage]:
        """What is read of the documents of the best `k` passages (`reading_of`), each once; transient errors are retried."""
        return await with_retries(lambda: self._searches((query, k)))

    async def read(self, document_id: str) -> Document | None:
        """The whole document; transient errors are retried."""
        return await with_retries(lambda: self._documents(document_id))

    async def judge(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        """The stances of passages on claims."""
        return await with_retries(lambda: self._judgements(pairs)) if pairs else []

    def weigh(self, claim: Claim, passages: Sequence[Passage], stances: Sequence[Stance]) -> Weighing:
        """Many stances to one weighing."""
        return self._judge.weigh(claim, passages, stances)

    def _search_many(self, requests: list[tuple[Query, int]]) -> list[list[Passage]]:
        k = max(k for _, k in requests)
        found = self._retriever.search([query for query, _ in requests], k)
        best = [passages[:wanted] for passages, (_, wanted) in zip(found, requests, strict=True)]
        ids = list(dict.fromkeys(passage.document_id for passages in best for passage in passages))
        documents = dict(zip(ids, self._read_many(ids), strict=True))
        return [self._readings(passages, documents) for passages in best]

    def _readings(self, passages: list[Passage], documents: Mapping[str, Document | None]) -> list[Passage]:
        readings: dict[str, Passage] = {}
        for passage in passages:
            reading = readings.get(passage.document_id)
            if reading is not None and reading.start <= passage.start and passage.end <= reading.end:
                continue
            document = documents[passage.document_id]
            reading = reading_of(document, passage) if document else passage
            readings[f"{passage.document_id} {passage.start}" if passage.document_id in readings else passage.document_id] = reading
        return list(readings.values())

    def _read_many(self, ids: list[str]) -> list[Document | None]:
        if isinstance(self._retriever, ReadsMany):
            return self._retriever.read_many(ids)
        return [self._retriever.document(identity) for identity in ids]

    def _judge_many(self, requests: list[Sequence[tuple[Claim, Passage]]]) -> list[list[Stance]]:
        stances = iter(self._judge.judge([pair for pairs in requests for pair in pairs]))
        return [[next(stances) for _ in pairs] for pairs in requests]

    def close(self) -> None:
        """Ends the threads."""
        self._searches.close()
        self._documents.close()
        self._judgements.close()
