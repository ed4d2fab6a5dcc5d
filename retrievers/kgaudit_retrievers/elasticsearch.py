"""Documents in Elasticsearch: searches an index that `kgaudit index docs --to https://host:9200/name` made, or somebody else."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from kgaudit.documents import Document, Passage, Query
from kgaudit.errors import SearchIndexError, ServiceError, UsageError
from kgaudit_retrievers.dense import Embedder
from kgaudit_retrievers.es_connect import TIMEOUT, Access, Cluster, error_of_answer, parse_address, reason_of
from kgaudit_retrievers.es_fields import FieldMap
from kgaudit_retrievers.es_gather import Gatherer
from kgaudit_retrievers.es_index import EsIndexReport, index_documents
from kgaudit_retrievers.es_query import MOST, NAMES_ALL, languages_of, lexical, nearest, ordered, passage_fields, searched_as
from kgaudit_retrievers.es_schema import FORMAT, document_key, passage_of
from kgaudit_retrievers.es_snapshot import Changes, changes_since, snapshot_of
from kgaudit_retrievers.fusion import DEPTH, fuse_below

__all__ = ["Access", "Changes", "ElasticsearchRetriever", "EsIndexReport", "FieldMap", "Mode", "index_documents"]

Mode = Literal["bm25", "knn", "hybrid"]


READ = 50
"""Documents in one request: they may be long."""


class ElasticsearchRetriever:
    """Searches an index behind an address. May be used from any number of threads at once; `close` ends what is under way.

    Mode `bm25`: passages that hold a name of every group of `Query.names` come first, then BM25 decides. `knn`: the passages whose
    vectors are nearest to the query's text. `hybrid`: both, fused by rank. `fields` says how an index that is not ours is read.
    At most 10,000 passages a query.

    Raises `UsageError` (address, credentials, certificate, a server that is not Elasticsearch or too old, a mode that the index
    cannot serve), `SearchIndexError` (no such index, or one that cannot serve; after `close`) and `ServiceError` (down, overloaded,
    too slow, a part of the index is missing).
    """

    def __init__(
        self,
        url: str,
        *,
        access: Access | None = None,
        mode: Mode = "bm25",
        embedder: Embedder | None = None,
        fields: FieldMap | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        address = parse_address(url)
        self._where = address.where
        self._mode, self._embedder, self._fields = mode, embedder, fields
        self._cluster = Cluster(address, access, timeout=timeout)
        try:
            self._index, meta = self._cluster.run(self._find(address.index))
            self._languages: tuple[str, ...] = tuple(meta.get("languages", ()))
            if mode != "bm25":
                self._check_vectors(meta)
            searched = searched_as(mode, embedder.name if embedder and mode != "bm25" else "", fields or "")
            self._searches = Gatherer(self._ask)
            self._snapshot = self._cluster.run(snapshot_of(self._cluster, self._index, searched))
        except BaseException:
            self._cluster.close()
            raise

    @property
    def snapshot(self) -> str:
        """Identity of the version of the index that is searched; it was fixed when this was made and stays, even if the alias moves."""
        return self._snapshot

    def search(self, queries: Sequence[Query], k: int) -> list[list[Passage]]:
        """The best `k` passages for each query, best first, ties by document id and place."""
        asked = [self._bodies(query, min(k, MOST)) for query in queries] if k > 0 else [[] for _ in queries]
        if self._mode != "bm25":
            self._add_vectors(queries, asked, min(k, MOST))
        answers = iter(self._cluster.run(self._search([body for bodies in asked for body in bodies])))
        found = [[self._passages(next(answers), query) for _ in bodies] for query, bodies in zip(queries, asked, strict=True)]
        return [self._ranked(rankings, k) for rankings in found]

    def _ranked(self, rankings: Sequence[list[Passage]], k: int) -> list[Passage]:
        if len(rankings) == 2:
            by_words, by_vectors = rankings
            first = [passage for passage in by_words if passage.score >= NAMES_ALL]
            return fuse_below(first, by_words, by_vectors[: max(k, DEPTH)], k)
        return rankings[0][:k] if rankings else []

    def document(self, identity: str) -> Document | None:
        """The document of this id, or None."""
        return self.read_many([identity])[0]

    def read_many(self, identities: Sequence[str]) -> list[Document | None]:
        """The documents of these ids, None for each that there is not; in few requests."""
        if self._fields is not None:
            return [self._foreign_document(self._fields, identity) for identity in identities]
        return [document for part in _parts(identities, READ) for document in self._cluster.run(self._read(part))]

    async def _read(self, identities: Sequence[str]) -> list[Document | None]:
        keys = [document_key(identity) for identity in identities]
        found = await self._cluster.once("mget", index=self._index, ids=keys, realtime=False, preference=self._preference)
        return [self._document(one) for one in found["docs"]]

    def _document(self, found: Mapping[str, Any]) -> Document | None:
        if "error" in found:
            kind = reason_of(found)[0]
            raise error_of_answer(404 if "index_not_found" in kind else 503, found, self._where)
        source = found.get("_source")
        if source is None or source["kind"] != "document":
            return None
        return Document(source["document_id"], source["text"], source["title"], source["language"], source["date"], source["url"])

    def changes_since(self, snapshot: str) -> Changes:
        """Which documents changed between an earlier version of the index and this one; `snapshot` is what a retriever of mode
        `bm25` said then. Raises `SearchIndexError` where that version is not known any more, or the index is not ours."""
        if self._fields is not None:
            raise SearchIndexError("only indexes that `kgaudit index` made know what changed", where=self._where)
        return self._cluster.run(changes_since(self._cluster, self._index, snapshot))

    def close(self) -> None:
        """Lets go of the connections; calls that other threads are in end with an error. Closing twice is allowed."""
        self._cluster.close()

    async def _find(self, name: str) -> tuple[str, Mapping[str, Any]]:
        """The version behind the name, and what it says of itself."""
        found = (await self._cluster.once("indices.get_mapping", index=name)).body
        metas = {index: one["mappings"].get("_meta", {}).get("kgaudit") for index, one in found.items()}
        if self._fields is not None:
            self._fields.check(found, self._where)
            return name, {}
        index, meta = next(iter(metas.items()))
        if len(metas) > 1 or meta is None:
            raise SearchIndexError("this index was not made by `kgaudit index`", where=self._where,
                                   todo="Say by --fields which of its fields hold what, or index the documents.")  # fmt: skip
        if meta["format"] != FORMAT:
            raise SearchIndexError(f"the index is of another format ({meta['format']}; this program reads {FORMAT})", where=self._where,
                                   todo="Run `kgaudit index` again.")  # fmt: skip
        if not meta.get("whole") or meta.get("name") != index:
            raise SearchIndexError("this index is still being made", where=self._where, todo="Wait until `kgaudit index` has ended.")
        return index, meta

    def _check_vectors(self, meta: Mapping[str, Any]) -> None:
        if self._fields is not None:
            raise UsageError(f"mode {self._mode} needs an index that `kgaudit index` made", where=self._where, todo="Use mode bm25.")
        there = meta["embedder"]
        if not there:
            raise UsageError(f"the index holds no vectors, which mode {self._mode} needs", where=self._where,
                             todo="Index again with --embedder, or use mode bm25.")  # fmt: skip
        if self._embedder is None or self._embedder.name != there:
            given = self._embedder.name if self._embedder else "none"
            raise UsageError(f"the vectors of the index are of the model {there}, not {given}", where=self._where,
                             todo="Give that model with --embedder.")  # fmt: skip

    @property
    def _preference(self) -> str:
        return f"kgaudit-{self._index}"  # the same copies of the shards in every run

    def _bodies(self, query: Query, k: int) -> list[dict[str, Any]]:
        """What is asked for a query by BM25."""
        if self._mode == "knn":
            return []
        fields = self._fields.searched if self._fields else passage_fields(languages_of(query, self._languages))
        clause = lexical(query, fields)
        if clause is None:
            return []
        size = max(k, DEPTH) if self._mode == "hybrid" else k
        return [ordered(clause, size, self._fields.source if self._fields else None)]

    def _add_vectors(self, queries: Sequence[Query], asked: Sequence[list[dict[str, Any]]], k: int) -> None:
        """Adds what is asked by vectors."""
        assert self._embedder is not None
        texts = [query.text.encode("utf-8", "replace").decode() for query in queries]
        searchable = [i for i, text in enumerate(texts) if any(map(str.isalnum, text))] if k > 0 else []
        if not searchable:
            return
        vectors = self._embedder.encode([texts[i] for i in searchable])
        for i, vector in zip(searchable, vectors, strict=True):
            asked[i].append(nearest(vector.tolist(), max(k, DEPTH) if self._mode == "hybrid" else k))

    async def _search(self, bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return await asyncio.gather(*map(self._searches.answer, bodies))

    async def _ask(self, bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        header = {
            "index": self._index, "preference": self._preference, "allow_partial_search_results": False,
            "search_type": "dfs_query_then_fetch",
        }  # fmt: skip
        answer = await self._cluster.once("msearch", searches=[line for body in bodies for line in (header, body)])
        found: list[dict[str, Any]] = answer["responses"]
        return found

    def _passages(self, answer: Mapping[str, Any], query: Query) -> list[Passage]:
        if "error" in answer:
            raise error_of_answer(answer["status"], answer, self._where)
        if answer.get("timed_out"):
            raise ServiceError("the search took too long", where=self._where, todo="Look at the load of the cluster and try again.")
        hits = answer["hits"]["hits"]
        if self._fields is not None:
            cut = [self._fields.passage(hit, query, hit["_score"]) for hit in hits]
            return [passage for passage in cut if passage is not None]
        passages = [passage_of(hit["_source"], hit["_score"] if "sort" not in hit else hit["sort"][0]) for hit in hits]
        return sorted(passages, key=lambda passage: (-passage.score, passage.document_id, passage.start))

    def _foreign_document(self, fields: FieldMap, identity: str) -> Document | None:
        query = {"term": {fields.id: identity}} if fields.id else {"ids": {"values": [identity]}}
        found = self._cluster.run(
            self._cluster.once("search", index=self._index, query=query, size=1, source=fields.source, preference=self._preference,
                               allow_partial_search_results=False)
        )  # fmt: skip
        hits = found["hits"]["hits"]
        return fields.document(hits[0]) if hits else None


def _parts(items: Sequence[str], size: int) -> list[Sequence[str]]:
    return [items[begin : begin + size] for begin in range(0, len(items), size)]
