"""The contract of `contract.py` for the retrievers that need no server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
from contract import *  # noqa: F403
from contract import Make
from embedders import WordEmbedder

from kgaudit.documents import Document, Retriever
from kgaudit_retrievers.dense import DenseRetriever, build_vectors
from kgaudit_retrievers.embedded import EmbeddedRetriever, build_index
from kgaudit_retrievers.fusion import FusedRetriever
from kgaudit_retrievers.rerank import RerankedRetriever


class WordReranker:
    """Counts the words of the query that the text holds."""

    name = "words"

    def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        return [float(a @ b) for a, b in ((WordEmbedder().encode(pair)) for pair in pairs)]


@pytest.fixture(params=["embedded", "dense", "fused", "reranked"])
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def kind(engine: str) -> str:
    return "lexical" if engine == "embedded" else engine


@pytest.fixture
def make(engine: str, tmp_path: Path) -> Iterator[Make]:
    opened: list[Retriever] = []

    def index(documents: Sequence[Document], name: str = "index") -> Retriever:
        rows = "".join(json.dumps(asdict(document), ensure_ascii=False) + "\n" for document in documents)
        (tmp_path / "docs.jsonl").write_text(rows, encoding="utf-8")
        folder = tmp_path / name
        build_index([tmp_path / "docs.jsonl"], folder)
        if engine != "embedded":
            build_vectors(folder, WordEmbedder())
        embedded = EmbeddedRetriever(folder)
        retriever: Retriever = embedded
        if engine == "dense":
            retriever = DenseRetriever(folder, WordEmbedder())
        elif engine == "fused":
            retriever = FusedRetriever(embedded, DenseRetriever(folder, WordEmbedder()))
        elif engine == "reranked":
            retriever = RerankedRetriever(embedded, WordReranker())
        opened.append(retriever)
        return retriever

    yield index
    for retriever in opened:
        retriever.close()
