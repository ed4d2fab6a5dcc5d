"""Several rankings into one, by their ranks alone: scores of different kinds cannot be compared.

Source: Cormack, Clarke and Buettcher, Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank Learning Methods, 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256

from kgaudit.documents import Document, Passage, Query, Retriever
from kgaudit.errors import SearchIndexError

RRF_K = 60
DEPTH = 50
"""Passages of each ranking that are fused."""


def fuse(rankings: Sequence[Sequence[Passage]], k: int, weights: Sequence[float] | None = None) -> list[Passage]:
    """The best `k` passages by the weighted sum of 1 / (60 + rank), which becomes their score; ties by document id and place."""
    scores: dict[tuple[str, int, int], float] = {}
    passages: dict[tuple[str, int, int], Passage] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, passage in enumerate(ranking, 1):
            key = (passage.document_id, passage.start, passage.end)
            passages.setdefault(key, passage)
            scores[key] = scores.get(key, 0.0) + weight / (RRF_K + rank)
    best = sorted(scores, key=lambda key: (-scores[key], key))[: max(0, k)]
    return [replace(passages[key], score=scores[key]) for key in best]


class FusedRetriever:
    """Searches with several retrievers over the same documents side by side and fuses what they find."""

    def __init__(self, retrievers: Sequence[Retriever], weights: Sequence[float] | None = None) -> None:
        """`weights`, one a retriever, say how much each counts; default: all the same."""
        self._retrievers = tuple(retrievers)
        self._weights = tuple(weights or [1.0] * len(retrievers))
        self._threads = ThreadPoolExecutor(32, thread_name_prefix="fused")
        self._closed = False

    @property
    def snapshot(self) -> str:
        """Digest of the snapshots of all."""
        known = ([one.snapshot for one in self._retrievers], self._weights)
        return sha256(repr(("fused", RRF_K, DEPTH, known)).encode()).hexdigest()

    def search(self, queries: Sequence[Query], k: int) -> list[list[Passage]]:
        """The best `k` passages for each query by rank; their score is the fused one."""
        depth = max(k, DEPTH) if k > 0 else 0
        if self._closed:
            raise SearchIndexError("the index has been closed", todo="Open it again.")
        asked = [self._threads.submit(one.search, queries, depth) for one in self._retrievers]
        found = [one.result() for one in asked]
        return [fuse(rankings, k, self._weights) for rankings in zip(*found, strict=True)]

    def document(self, identity: str) -> Document | None:
        """The document of this id from the first retriever that has it, or None."""
        for one in self._retrievers:
            document = one.document(identity)
            if document is not None:
                return document
        return None

    def close(self) -> None:
        """Closes all of them."""
        self._closed = True
        for one in self._retrievers:
            one.close()
        self._threads.shutdown(wait=True)
