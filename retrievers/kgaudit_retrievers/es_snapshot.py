"""Which state of an index is searched, and which documents changed since another one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from kgaudit.errors import SearchIndexError
from kgaudit_retrievers.es_connect import Cluster

PAGE = 5000


async def snapshot_of(cluster: Cluster, index: str, searched: str) -> str:
    """Digest of the identity of an index (or of all behind an alias), of what its sequence numbers say, and of how it is `searched`.

    Writing an entry gives it a number above all others, and deleting one leaves one less: so count, highest and sum are the same only
    where the entries are. Needs no right but to read.
    """
    settings = await cluster.ask("indices.get_settings", index=index, name="index.uuid")
    uuids = sorted(one["settings"]["index"]["uuid"] for one in settings.body.values())
    found = await cluster.ask(
        "search",
        index=index,
        size=0,
        track_total_hits=True,
        aggs={"highest": {"max": {"field": "_seq_no"}}, "sum": {"sum": {"field": "_seq_no"}}},
        allow_partial_search_results=False,
    )
    numbers = [found["hits"]["total"]["value"], found["aggregations"]["highest"]["value"], found["aggregations"]["sum"]["value"]]
    return sha256(repr((uuids, numbers, searched)).encode()).hexdigest()


async def scan(cluster: Cluster, index: str, query: Mapping[str, Any], fields: list[str]) -> AsyncIterator[dict[str, Any]]:
    """All entries that the query finds, each once and as of now, with these fields (of keywords and numbers)."""
    opened = await cluster.ask("open_point_in_time", index=index, keep_alive="5m")
    pit, after = opened["id"], None
    try:
        while True:
            body: dict[str, Any] = {"size": PAGE, "query": query, "_source": False, "docvalue_fields": fields, "sort": ["_shard_doc"],
                                    "pit": {"id": pit, "keep_alive": "5m"}, "track_total_hits": False}  # fmt: skip
            if after is not None:
                body["search_after"] = after
            page = await cluster.ask("search", **body)
            hits = page["hits"]["hits"]
            for hit in hits:
                yield {"_id": hit["_id"], **{name: values[0] for name, values in hit.get("fields", {}).items()}}
            if len(hits) < PAGE:
                return
            pit, after = page["pit_id"], hits[-1]["sort"]
    finally:
        await cluster.once("close_point_in_time", id=pit, ignore=404)


@dataclass(frozen=True, slots=True)
class Changes:
    """Ids of documents between two versions: those that are new or differ, and those that are gone."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]


async def changes_since(cluster: Cluster, index: str, snapshot: str) -> Changes:
    """What changed since the version of ours that had this snapshot; raises `SearchIndexError` where it is not known any more."""
    meta = (await cluster.ask("indices.get_mapping", index=index))[index]["mappings"]["_meta"]["kgaudit"]
    known = {name: number for number, name in (*meta["history"], (meta["generation"], meta["snapshot"]))}
    if snapshot not in known:
        raise SearchIndexError("this index does not know that state: it is too old, or of another index", where=cluster.where,
                               todo="Count every document as changed.")  # fmt: skip
    query = {"range": {"generation": {"gt": known[snapshot]}}}
    found: dict[str, list[str]] = {"document": [], "gone": []}
    async for hit in scan(cluster, index, query, ["document_id", "kind"]):
        found[hit["kind"]].append(hit["document_id"])
    return Changes(tuple(sorted(found["document"])), tuple(sorted(found["gone"])))
