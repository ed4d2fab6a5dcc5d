"""An index that somebody else made, with field names of its own: read-only, by a file that says which field holds what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from contract import ask, ids

from kgaudit.documents import Query
from kgaudit.errors import SearchIndexError, UsageError
from kgaudit_retrievers.elasticsearch import ElasticsearchRetriever, FieldMap
from kgaudit_retrievers.es_connect import Cluster, parse_address

LONG = "Much is said here. And more. And on. " * 30 + "Norrby Pumps has its seat in Orvik. " + "Then again this. And that. " * 30


@pytest.fixture
def articles(url: str, alias: str) -> str:
    cluster = Cluster(parse_address(f"{url}/{alias}"))
    text = {"type": "text", "analyzer": "english"}
    properties = {"key": {"type": "keyword"}, "head": text, "body": text, "meta": {"properties": {"lang": {"type": "keyword"}}},
                  "when": {"type": "date"}, "size": {"type": "integer"}}  # fmt: skip
    cluster.run(cluster.ask("indices.create", index=alias, mappings={"properties": properties}))
    rows: list[dict[str, Any]] = [
        {"key": "a/1", "head": "Norrby Pumps", "body": LONG, "meta": {"lang": "en"}, "when": "2024-05-01"},
        {"key": "a/2", "head": "Halden", "body": ["Halden Valves was founded by Mara Kestrel.", "It has a seat."]},
        {"key": "a/3", "head": "Empty", "body": ""},
        {"key": "a/4", "head": "Kestrel", "when": None},
    ]
    for row in rows:
        cluster.run(cluster.ask("index", index=alias, document=row, refresh=True))
    cluster.close()
    return f"{url}/{alias}"


def test_fields_of_other_names(articles: str, tmp_path: Path) -> None:
    path = tmp_path / "fields.yaml"
    path.write_text("text: body\nid: key\ntitle: head\nlanguage: meta.lang\ndate: when\nalso: [head^2]\n")
    fields = FieldMap.from_yaml(path)
    retriever = ElasticsearchRetriever(articles, fields=fields)
    found = ask(retriever, "Norrby Pumps Orvik", names=(("Norrby Pumps",), ("Orvik",)))
    assert ids(found)[0] == "a/1"
    assert "Norrby Pumps has its seat in Orvik." in found[0].text
    document = retriever.document("a/1")
    assert document is not None
    assert (document.title, document.language, document.date, document.text) == ("Norrby Pumps", "en", "2024-05-01", LONG)
    assert found[0].text == LONG[found[0].start : found[0].end]
    assert found[0].document_digest == document.digest
    assert [one.text for one in ask(retriever, "Kestrel")] == ["Halden Valves was founded by Mara Kestrel.\n\nIt has a seat."]
    assert retriever.document("nowhere") is None
    assert retriever.search([Query("")], 5) == [[]]
    same = ElasticsearchRetriever(articles, fields=fields)
    assert same.snapshot == retriever.snapshot
    cluster = Cluster(parse_address(articles))
    cluster.run(cluster.ask("index", index=articles.rsplit("/", 1)[1], document={"key": "a/5", "body": "Orvik."}, refresh=True))
    cluster.close()
    later = ElasticsearchRetriever(articles, fields=fields)
    assert later.snapshot != retriever.snapshot
    for one in (retriever, same, later):
        one.close()


def test_fields_that_cannot_serve(articles: str, tmp_path: Path) -> None:
    for fields, message in (
        (FieldMap("content"), r"has no field content\. Its fields are body, head, key"),
        (FieldMap("size"), "of type integer, which words cannot be looked for in"),
        (FieldMap("body", id="head"), "of type text"),
        (FieldMap("body", also=("gone^2",)), "has no field gone"),
    ):
        with pytest.raises(SearchIndexError, match=message):
            ElasticsearchRetriever(articles, fields=fields)
    with pytest.raises(UsageError, match="needs an index that"):
        ElasticsearchRetriever(articles, fields=FieldMap("body"), mode="knn")
    for text, message in (
        ("title: head\n", "does not say which field holds the text"),
        ("text: body\nheadline: x\n", "no such field: headline"),
    ):
        (tmp_path / "fields.yaml").write_text(text)
        with pytest.raises(UsageError, match=message):
            FieldMap.from_yaml(tmp_path / "fields.yaml")
