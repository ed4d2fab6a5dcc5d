"""Queries as Elasticsearch bodies. No character of a query has a meaning of its own: only `match` and its kin are used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kgaudit.documents import Query
from kgaudit.text import fold_text
from kgaudit_retrievers.es_fields import split_boost
from kgaudit_retrievers.es_schema import analysed_language
from kgaudit_retrievers.terms import ungrouped

QUERY_FORM = "query-1"
"""Changes whenever the body of any query changes: it is a part of the identity of what is searched."""

MANY_WORDS = 400
"""Distinct words from which on the server picks those that say most; it takes a thousand and some clauses at the least."""

MOST = 10_000
"""Passages that a query can bring at most (`index.max_result_window`)."""

NAMES_ALL = 1000.0
"""Added to the score of passages that hold a name of every group, so that they come first: far above any score of BM25."""

_PICKED = 300
_PIECE = 1000
_SPARE = 50  # equal scores are put in order here, so the last places must not be cut by the server
_CANDIDATES = 200  # looked at on each shard for a kNN search, or four times as many as are asked for
_NAMES = 16  # alternative names of a group that are looked for
_NAME_WORDS = 24

_SURROGATE = re.compile("[\ud800-\udfff]")


def searched_as(mode: str, embedder: str = "", fields: object = "") -> str:
    """How an index is searched, as a part of the identity of what is searched."""
    return f"{QUERY_FORM} {mode} {embedder} {fields}"


def plain(text: str) -> str:
    """A text as it is searched: folded, without what JSON cannot carry, grouped numbers also without their groups."""
    folded = fold_text(_SURROGATE.sub(" ", text)).replace("\x00", " ")
    return " ".join([folded, *ungrouped(folded)])


def languages_of(query: Query, common: Sequence[str]) -> Sequence[str]:
    """The languages whose fields are searched beside the one for all: the query's own, or those of the corpus."""
    own = analysed_language(query.language)
    return [own] if own else common


def text_clause(text: str, fields: Sequence[str]) -> dict[str, Any]:
    """Finds passages with any word of the text, by the field that fits best."""
    words = list(dict.fromkeys(text.split()))
    if len(words) > MANY_WORDS:
        # Of each piece the server reads 5,000 words.
        pieces = [" ".join(words[begin : begin + _PIECE]) for begin in range(0, len(words), _PIECE)]
        return {
            "more_like_this": {
                "fields": [split_boost(field)[0] for field in fields], "like": pieces, "min_term_freq": 1, "min_doc_freq": 1,
                "max_query_terms": _PICKED, "minimum_should_match": "1",
            }
        }  # fmt: skip
    text = " ".join(words)
    clauses = [{"match": {name: {"query": text, "boost": boost}}} for name, boost in map(split_boost, fields)]
    return clauses[0] if len(clauses) == 1 else {"dis_max": {"queries": clauses, "tie_breaker": 0.3}}


def name_clause(names: Sequence[str], fields: Sequence[str]) -> dict[str, Any] | None:
    """Finds passages that hold one of the alternative names of a thing: as a phrase, or all its words close to one another."""
    clauses: list[dict[str, Any]] = []
    for name in list(dict.fromkeys(" ".join(plain(name).split()[:_NAME_WORDS]) for name in names))[:_NAMES]:
        if not any(map(str.isalnum, name)):
            continue
        clauses += [{"match_phrase": {field: {"query": name, "slop": 3}}} for field, _ in map(split_boost, fields)]
    if not clauses:
        return None
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def lexical(query: Query, fields: Sequence[str]) -> dict[str, Any] | None:
    """The query for BM25, or None where there is nothing to look for."""
    text = plain(query.text)
    if not any(map(str.isalnum, text)):
        return None
    should = [text_clause(text, fields)]
    groups = [name_clause(names, fields) for names in query.names]
    whole = [group for group in groups if group is not None]
    if whole and len(whole) == len(groups):
        should.append({"constant_score": {"filter": {"bool": {"filter": whole}}, "boost": NAMES_ALL}})
    return {"bool": {"should": should, "minimum_should_match": 1}}


def passage_fields(languages: Sequence[str]) -> list[str]:
    """The fields that are searched: the one for all languages, and those of these."""
    return ["content", *(f"lang_{code}" for code in languages)]


def ordered(clause: dict[str, Any], k: int, foreign: list[str] | None = None) -> dict[str, Any]:
    """The body of a search by words: best first, ties by document and place, the same on every copy of a shard.

    `foreign` are the fields to read from an index that is not ours; there ties are as the server has them.
    """
    body = {"query": clause, "size": k, "track_total_hits": False}
    if foreign is not None:
        return body | {"_source": foreign}
    return body | {"sort": [{"_score": "desc"}, {"document_id": "asc"}, {"start": "asc"}]}


def nearest(vector: list[float], k: int) -> dict[str, Any]:
    """The body of a search by vector; it brings some more than `k`."""
    size = min(MOST, k + _SPARE)
    candidates = min(MOST, max(_CANDIDATES, 4 * k))
    return {"knn": {"field": "vector", "query_vector": vector, "k": size, "num_candidates": max(size, candidates)}, "size": size}
