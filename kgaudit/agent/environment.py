"""Carries out searches and judgements for many claims at once: requests that arrive together go out as one batch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from kgaudit.claims import Claim
from kgaudit.documents import Document, Passage, Query, ReadsMany, Retriever, reading_of
from kgaudit.errors import KgauditError
from kgaudit.models.chat import ChatModel
from kgaudit.models.judge import Glances, Judge, Weighing
from kgaudit.retries import with_retries
from kgaudit.verdicts import Stance

In = TypeVar("In")
Out = TypeVar("Out")


_WIDER = (40, 320, 2560, 10_000)
"""Passages asked for, step by step, where all the best ones are of one document; search servers give no more than the last at once."""


class Batcher(Generic[In, Out]):
    """Gathers single requests into batches for a blocking function that runs in a thread of its own.

    While as many batches as the function takes at once (`parallel`) are under way, the next one gathers: under load batches grow by
    themselves, and a lone request waits for nobody.
    """

    def __init__(self, run: Callable[[list[In]], list[Out]], limit: int, name: str, parallel: int = 1) -> None:
        self._run = run
        self._limit = limit
        self._parallel = parallel
        self._waiting: list[tuple[In, asyncio.Future[Out]]] = []
        self._pool = ThreadPoolExecutor(parallel, thread_name_prefix=name)
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, request: In) -> Out:
        future: asyncio.Future[Out] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain())
        return await future

    async def _drain(self) -> None:
        await asyncio.sleep(0)  # everything that is ready now joins the first batch
        serving = set[asyncio.Task[None]]()
        while self._waiting or serving:
            while self._waiting and len(serving) < self._parallel:
                batch, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
                serving.add(asyncio.create_task(self._serve(batch)))
            _, serving = await asyncio.wait(serving, return_when=asyncio.FIRST_COMPLETED)

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
    """A retriever and a judge behind batchers, and a language model where there is one (the caller closes it). Close it when done."""

    def __init__(
        self,
        retriever: Retriever,
        judge: Judge,
        chat: ChatModel | None = None,
        *,
        search_batch: int = 64,
        judge_batch: int = 128,
        judges: int = 1,
    ) -> None:
        self.chat = chat
        self._judge = judge
        self._retriever = retriever
        self._searches: Batcher[tuple[Query, int], list[Passage]] = Batcher(self._search_many, search_batch, "search")
        self._documents: Batcher[str, Document | None] = Batcher(self._read_many, search_batch, "read")
        self._judgements: Batcher[Sequence[tuple[Claim, Passage]], list[Stance]] = Batcher(
            self._judge_many, judge_batch // judges, "judge", judges
        )
        self._glances: Batcher[Sequence[tuple[Claim, Passage]], list[Stance]] = Batcher(
            self._glance_many, judge_batch // judges, "glance", judges
        )

    async def search(self, query: Query, k: int) -> list[Passage]:
        """What is read of the documents of the best `k` passages (`reading_of`), each once; transient errors are retried."""
        return await with_retries(lambda: self._searches((query, k)))

    async def read(self, document_id: str) -> Document | None:
        """The whole document; transient errors are retried."""
        return await with_retries(lambda: self._documents(document_id))

    async def judge(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        """The stances of passages on claims."""
        return await with_retries(lambda: self._judgements(pairs)) if pairs else []

    async def glance(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        """Quicker and less sure stances, where the judge has them."""
        return await with_retries(lambda: self._glances(pairs)) if pairs else []

    def weigh(self, claim: Claim, passages: Sequence[Passage], stances: Sequence[Stance]) -> Weighing:
        """Many stances to one weighing."""
        return self._judge.weigh(claim, passages, stances)

    def _search_many(self, requests: list[tuple[Query, int]]) -> list[list[Passage]]:
        k = max(k for _, k in requests)
        found = self._retriever.search([query for query, _ in requests], k)
        best = [passages[:wanted] for passages, (_, wanted) in zip(found, requests, strict=True)]
        for index, (query, wanted) in enumerate(requests):
            if len(best[index]) == wanted > 1 and len({passage.document_id for passage in best[index]}) == 1:
                best[index] = self._others_too(query, wanted, best[index])
        ids = list(dict.fromkeys(passage.document_id for passages in best for passage in passages))
        documents = dict(zip(ids, self._read_many(ids), strict=True))
        return [self._readings(passages, documents) for passages in best]

    def _others_too(self, query: Query, wanted: int, crowd: list[Passage]) -> list[Passage]:
        """The best passage of a document that took every place, with the best ones of others: however often a document repeats itself,
        it must not be the only one that is heard."""
        for k in _WIDER:
            found = self._retriever.search([query], k)[0]
            others = [passage for passage in found if passage.document_id != crowd[0].document_id]
            if others or len(found) < k:
                return [*crowd[: max(1, wanted - len(others))], *others[: wanted - 1]]
        return crowd

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
        return _split(self._judge.judge([pair for pairs in requests for pair in pairs]), requests)

    def _glance_many(self, requests: list[Sequence[tuple[Claim, Passage]]]) -> list[list[Stance]]:
        look = self._judge.glance if isinstance(self._judge, Glances) else self._judge.judge
        return _split(look([pair for pairs in requests for pair in pairs]), requests)

    def close(self) -> None:
        """Ends the threads."""
        self._searches.close()
        self._documents.close()
        self._judgements.close()
        self._glances.close()


def _split(stances: Sequence[Stance], requests: Sequence[Sequence[tuple[Claim, Passage]]]) -> list[list[Stance]]:
    rest = iter(stances)
    return [[next(rest) for _ in pairs] for pairs in requests]
