"""Several rankings into one, by their ranks alone: scores of different kinds cannot be compared.

A claim is about two named things, and words find names better than vectors do. So what words found and what names both stays first,
and vectors only help to order the rest: on wiki-triples plain fusion of equals loses 6 in 100 of the documents that words find.

Source: Cormack, Clarke and Buettcher, Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank Learning Methods, 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256

from kgaudit.documents import Document, Passage, Query, Retriever
from kgaudit.errors import SearchIndexError
from kgaudit.text import find_name, fold
from kgaudit_retrievers.dense import passage_text

RRF_K = 60
DEPTH = 50
"""Passages of each ranking that are fused."""

WEIGHTS = (1.0, 0.1)
"""Of words and of vectors; chosen on the dev split of wiki-triples."""


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


def fuse_below(first: Sequence[Passage], by_words: Sequence[Passage], by_vectors: Sequence[Passage], k: int) -> list[Passage]:
    """The passages of `first`, in that order; then the rest of both rankings, fused."""
    taken = {(passage.document_id, passage.start) for passage in first}
    rankings = [[passage for passage in one if (passage.document_id, passage.start) not in taken] for one in (by_words, by_vectors)]
    rest = fuse(rankings, k - len(first), WEIGHTS)
    # Above the highest fused score, so that scores go down.
    return [*(replace(passage, score=1.0 + 1.0 / rank) for rank, passage in enumerate(first[: max(0, k)], 1)), *rest]


def _names_all(passage: Passage, query: Query) -> bool:
    text = passage_text(passage)
    folded = fold(text)
    return all(any(True for name in group for _ in find_name(text, folded, name)) for group in query.names)


class FusedRetriever:
    """Searches by words and by vectors over the same documents side by side and fuses what they find."""

    def __init__(self, words: Retriever, vectors: Retriever) -> None:
        self._retrievers = (words, vectors)
        self._threads = ThreadPoolExecutor(32, thread_name_prefix="fused")

    @property
    def snapshot(self) -> str:
        """Digest of the snapshots of all."""
        known = [one.snapshot for one in self._retrievers]
        return sha256(repr(("fused", RRF_K, DEPTH, WEIGHTS, known)).encode()).hexdigest()

    def search(self, queries: Sequence[Query], k: int) -> list[list[Passage]]:
        """The best `k` passages for each query by rank; their score is the fused one."""
        depth = max(k, DEPTH) if k > 0 else 0
        try:
            asked = [self._threads.submit(one.search, queries, depth) for one in self._retrievers]
        except RuntimeError as error:  # the threads have been let go of
            raise SearchIndexError("the index has been closed", todo="Open it again.") from error
        found = [one.result() for one in asked]
        return [self._fused(query, words, vectors, k) for query, words, vectors in zip(queries, *found, strict=True)]

    def _fused(self, query: Query, by_words: Sequence[Passage], by_vectors: Sequence[Passage], k: int) -> list[Passage]:
        first = [passage for passage in by_words if _names_all(passage, query)] if query.names else []
        return fuse_below(first, by_words, by_vectors, k)

    def document(self, identity: str) -> Document | None:
        """The document of this id from the first retriever that has it, or None."""
        for one in self._retrievers:
            document = one.document(identity)
            if document is not None:
                return document
        return None

    def close(self) -> None:
        """Closes all of them."""
        for one in self._retrievers:
            one.close()
        self._threads.shutdown(wait=True)
