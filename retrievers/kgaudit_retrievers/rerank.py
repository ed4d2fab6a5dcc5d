"""A second look: what a retriever found, put in order by a model that reads query and passage together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Protocol

from kgaudit.documents import Document, Passage, Query, Retriever
from kgaudit_retrievers.dense import _load, _model_name, passage_text

DEPTH = 50
"""Passages that are looked at again."""


class Reranker(Protocol):
    """Scores texts against a query."""

    @property
    def name(self) -> str:
        """Names the model for good."""
        ...

    def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """How well each text fits its query, in any scale; pairs are (query, text)."""
        ...


class CrossEncoderReranker:
    """A cross-encoder of sentence-transformers. Raises `ModelError` where the library or the model is missing."""

    def __init__(self, model: str, *, batch: int = 32) -> None:
        self._model = _load(model, "CrossEncoder")
        self._batch = batch
        self.name = _model_name(model)

    def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """One number a pair."""
        found: Sequence[float] = self._model.predict(list(pairs), batch_size=self._batch, show_progress_bar=False).tolist()
        return found


class RerankedRetriever:
    """The best of what another retriever finds, by a reranker."""

    def __init__(self, retriever: Retriever, reranker: Reranker, *, depth: int = DEPTH) -> None:
        self._retriever, self._reranker, self._depth = retriever, reranker, depth

    @property
    def snapshot(self) -> str:
        """Digest of the retriever's snapshot and of the reranker."""
        return sha256(f"reranked\x00{self._retriever.snapshot}\x00{self._reranker.name}\x00{self._depth}".encode()).hexdigest()

    def search(self, queries: Sequence[Query], k: int) -> list[list[Passage]]:
        """The best `k` of at least `depth` passages for each query; ties as the retriever has them."""
        found = self._retriever.search(queries, max(k, self._depth) if k > 0 else 0)
        pairs = [(query.text, passage_text(passage)) for query, passages in zip(queries, found, strict=True) for passage in passages]
        scores = iter(self._reranker.score(pairs) if pairs else ())
        ranked = []
        for passages in found:
            scored = [replace(passage, score=float(next(scores))) for passage in passages]
            ranked.append(sorted(scored, key=lambda passage: -passage.score)[: max(0, k)])
        return ranked

    def document(self, identity: str) -> Document | None:
        """As the retriever has it."""
        return self._retriever.document(identity)

    def close(self) -> None:
        """Closes the retriever."""
        self._retriever.close()
