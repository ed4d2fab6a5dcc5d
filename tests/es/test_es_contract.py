"""The contract of `contract.py` on a real Elasticsearch: by words, by vectors, and both fused."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from contract import *  # noqa: F403
from contract import Make
from embedders import WordEmbedder

from kgaudit.documents import Document, Retriever
from kgaudit_retrievers.elasticsearch import ElasticsearchRetriever, index_documents


@pytest.fixture(scope="module", params=["bm25", "knn", "hybrid"])
def mode(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def kind(mode: str) -> str:
    return {"bm25": "lexical", "knn": "dense", "hybrid": "fused"}[mode]


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    """What is behind each address, so that tests on the same documents share an index."""
    return {}


@pytest.fixture
def make(mode: str, url: str, made: dict[str, bytes], tmp_path: Path, module_aliases: list[str], write: object) -> Iterator[Make]:
    opened: list[Retriever] = []

    def index(documents: Sequence[Document], name: str = "") -> Retriever:
        content = hashlib.sha256(repr(documents).encode()).digest()
        alias = f"{module_aliases[0]}-{name or content.hex()[:12]}"
        address = f"{url}/{alias}"
        if made.get(alias) != content:
            index_documents([write(documents)], address, embedder=WordEmbedder())  # type: ignore[operator]
            made[alias] = content
        if name in ("moving", "closing"):  # the next mode begins anew
            made.pop(alias)
        opened.append(ElasticsearchRetriever(address, mode=mode, embedder=WordEmbedder()))  # type: ignore[arg-type]
        return opened[-1]

    yield index
    for retriever in opened:
        retriever.close()


@pytest.fixture(scope="module")
def module_aliases(url: str) -> Iterator[list[str]]:
    import secrets

    from kgaudit_retrievers.es_connect import Cluster, parse_address

    prefix = f"kgaudit-test-{secrets.token_hex(4)}"
    yield [prefix]
    cluster = Cluster(parse_address(f"{url}/{prefix}"))
    for index in cluster.run(cluster.ask("indices.get", index=f"{prefix}*")).body:
        cluster.run(cluster.ask("indices.delete", index=index))
    cluster.close()
