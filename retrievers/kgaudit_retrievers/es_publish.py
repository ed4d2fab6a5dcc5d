"""The end of making a version: it is verified, closed for writing, and takes the place of the one before it in one step."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from kgaudit.documents import Query
from kgaudit.errors import SearchIndexError
from kgaudit_retrievers.es_connect import Cluster
from kgaudit_retrievers.es_query import lexical, passage_fields, searched_as
from kgaudit_retrievers.es_schema import LANGUAGES, delete_line, document_key
from kgaudit_retrievers.es_snapshot import scan, snapshot_of
from kgaudit_retrievers.es_versions import Version, set_meta

_COMMON = 20  # a language counts as one of the corpus where one passage in so many is in it
_SAMPLES = 5
_MERGE_SECONDS = 3600.0


async def publish(cluster: Cluster, alias: str, name: str, states: Mapping[str, str], versions: Sequence[Version]) -> dict[str, Any]:
    """Lets searches see the version `name`; gives what its mapping then says of it. `states` are the documents that it must hold.

    Raises `SearchIndexError` where it does not stand the test: searches then still see the version before it.
    """
    meta = await _read_meta(cluster, name)
    await _settle(cluster, name)
    documents, passages = await _counted(cluster, name)
    expected = await _promised(cluster, name)
    if passages != expected:
        await _sweep(cluster, name, states)
        documents, passages = await _counted(cluster, name)
    if documents != len(states) or passages != expected:
        raise SearchIndexError(
            f"the new version {name} is not whole: it holds {documents:,} documents and {passages:,} passages "
            f"instead of {len(states):,} and {expected:,}; searches still see the version before it",
            where=cluster.where,
            todo="Run the same command again.",
        )
    await _check_sample(cluster, name, states)
    await cluster.ask("indices.put_settings", index=name, settings={"index.refresh_interval": None})
    await cluster.ask("indices.add_block", index=name, block="write")
    meta |= {
        "whole": True,
        "documents": documents,
        "passages": passages,
        "languages": await _languages(cluster, name, passages),
        "snapshot": await snapshot_of(cluster, name, searched_as("bm25")),
    }
    await set_meta(cluster, name, meta)
    actions: list[dict[str, Any]] = [{"remove": {"index": version.name, "alias": alias}} for version in versions if version.is_live]
    actions.append({"add": {"index": name, "alias": alias}})
    await cluster.ask("indices.update_aliases", actions=actions)
    return meta


async def clear_out(cluster: Cluster, name: str, versions: Sequence[Version], kept: int) -> None:
    """Deletes all but the newest `kept` whole versions; `name` is the newest."""
    others = [version.name for version in versions if version.name != name and (version.is_whole or version.is_live)]
    for other in others[: max(0, len(others) - (kept - 1))]:
        await cluster.ask("indices.delete", index=other, ignore_unavailable=True)


async def _read_meta(cluster: Cluster, name: str) -> dict[str, Any]:
    mapping = (await cluster.ask("indices.get_mapping", index=name))[name]["mappings"]
    meta: dict[str, Any] | None = mapping.get("_meta", {}).get("kgaudit")
    if meta is None:  # a bulk request makes an index of any name that is not there
        raise SearchIndexError(f"the new version {name} was deleted while it was written", where=cluster.where,
                               todo=f"Delete {name}, and run the same command again.")  # fmt: skip
    return meta


async def _settle(cluster: Cluster, name: str) -> None:
    """All can be searched, and no deleted entry is left that would count in the weights of words."""
    await cluster.ask("indices.refresh", index=name)
    await cluster.ask("indices.forcemerge", index=name, only_expunge_deletes=True, seconds=_MERGE_SECONDS)
    await cluster.ask("indices.refresh", index=name)


async def _counted(cluster: Cluster, name: str) -> tuple[int, int]:
    counts = [(await cluster.ask("count", index=name, query={"term": {"kind": kind}}))["count"] for kind in ("document", "passage")]
    return counts[0], counts[1]


async def _promised(cluster: Cluster, name: str) -> int:
    """How many passages the entries of the documents speak of."""
    found = await cluster.ask(
        "search",
        index=name,
        size=0,
        query={"term": {"kind": "document"}},
        aggs={"all": {"sum": {"field": "passages"}}},
        allow_partial_search_results=False,
    )
    return int(found["aggregations"]["all"]["value"])


async def _sweep(cluster: Cluster, name: str, states: Mapping[str, str]) -> None:
    """Deletes passages of no document: what a call that was killed left of a document that has changed since."""
    query = {"term": {"kind": "passage"}}
    hits = scan(cluster, name, query, ["document_id", "state"])
    lines = [delete_line(hit["_id"]) async for hit in hits if states.get(hit["document_id"]) != hit["state"]]
    for begin in range(0, len(lines), 1000):
        await cluster.ask("bulk", index=name, operations=lines[begin : begin + 1000])
    await _settle(cluster, name)


async def _check_sample(cluster: Cluster, name: str, states: Mapping[str, str]) -> None:
    """A few documents must be there as they came, and be found by the words of their first passage."""
    for identity in random.Random(len(states)).sample(sorted(states), min(_SAMPLES, len(states))):
        source = (await cluster.ask("get", index=name, id=document_key(identity)))["_source"]
        start, end = source["spans"][0]
        words = " ".join(source["text"][start:end].split()[:30])
        clause = lexical(Query(words), passage_fields(LANGUAGES))
        query = {"bool": {"filter": {"term": {"document_id": identity}}, **({"must": clause} if clause else {})}}
        found = await cluster.ask("search", index=name, size=1, query=query)
        if source["state"] != states[identity] or not found["hits"]["hits"]:
            raise SearchIndexError(
                f"the new version {name} did not stand the test: document {identity!r} is not found by its own words; "
                "searches still see the version before it",
                where=cluster.where,
                todo="Run the same command again; if that does not help, delete that version.",
            )


async def _languages(cluster: Cluster, name: str, passages: int) -> list[str]:
    """The languages beside English in which there is a good part of the passages."""
    aggs = {code: {"filter": {"exists": {"field": f"lang_{code}"}}} for code in LANGUAGES}
    found = await cluster.ask("search", index=name, size=0, aggs=aggs, track_total_hits=False)
    counts = {code: one["doc_count"] for code, one in found["aggregations"].items()}
    return sorted(code for code, count in counts.items() if count and count * _COMMON >= passages)
