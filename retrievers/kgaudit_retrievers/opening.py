"""From what a user names to a retriever: a folder is an embedded index, an address an index on a server."""

from __future__ import annotations

from pathlib import Path

from kgaudit.documents import Retriever
from kgaudit.errors import UsageError
from kgaudit_retrievers.es_connect import Access, is_address

MODES = ("bm25", "knn", "hybrid")


def open_retriever(
    index: str,
    *,
    mode: str = "bm25",
    embedder: str | None = None,
    fields: Path | None = None,
    rerank: str | None = None,
    access: Access | None = None,
) -> Retriever:
    """Opens an index by its folder or its address. `embedder` and `rerank` are models of sentence-transformers; `access` is the way
    into a cluster, by default that of the environment.

    Raises `UsageError`, `SearchIndexError`, `ServiceError` and `ModelError`.
    """
    if mode not in MODES:
        raise UsageError(f"there is no search mode {mode}", todo=f"Modes: {', '.join(MODES)}.")
    if mode != "bm25" and embedder is None:
        raise UsageError(f"search mode {mode} needs the model of the vectors", where=index, todo="Give it with --embedder.")
    retriever = _on_server(index, mode, embedder, fields, access) if is_address(index) else _in_folder(index, mode, embedder, fields)
    if rerank is None:
        return retriever
    from kgaudit_retrievers.rerank import CrossEncoderReranker, RerankedRetriever

    return RerankedRetriever(retriever, CrossEncoderReranker(rerank))


def _on_server(index: str, mode: str, embedder: str | None, fields: Path | None, access: Access | None) -> Retriever:
    from kgaudit_retrievers.elasticsearch import ElasticsearchRetriever, FieldMap

    model = None
    if embedder is not None:
        from kgaudit_retrievers.dense import SentenceEmbedder

        model = SentenceEmbedder(embedder)
    mapped = FieldMap.from_yaml(fields) if fields else None
    return ElasticsearchRetriever(index, access=access, mode=mode, embedder=model, fields=mapped)  # type: ignore[arg-type]


def _in_folder(index: str, mode: str, embedder: str | None, fields: Path | None) -> Retriever:
    from kgaudit_retrievers.embedded import EmbeddedRetriever

    if fields:
        raise UsageError("field names are for indexes on a server", where=index, todo="Leave --fields out.")
    if mode == "bm25" or embedder is None:
        return EmbeddedRetriever(index)
    from kgaudit_retrievers.dense import DenseRetriever, SentenceEmbedder
    from kgaudit_retrievers.fusion import FusedRetriever

    dense = DenseRetriever(index, SentenceEmbedder(embedder))
    return dense if mode == "knn" else FusedRetriever(EmbeddedRetriever(index), dense)
