"""Indexing into a real Elasticsearch: only what changed is written, what is gone is removed, nothing is lost or comes twice."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract import TOWNS, ask, docs, ids
from embedders import WordEmbedder
from numpy.typing import NDArray

from kgaudit.documents import Document, Passage
from kgaudit.errors import EmptyInputError, InputError, Interrupted, SearchIndexError, UsageError
from kgaudit_retrievers import es_index, es_versions
from kgaudit_retrievers.elasticsearch import ElasticsearchRetriever, EsIndexReport, index_documents
from kgaudit_retrievers.es_connect import Cluster, parse_address


def counts(report: EsIndexReport) -> tuple[int, ...]:
    return (report.read, report.added, report.changed, report.unchanged, report.removed, report.quarantined)


@pytest.fixture
def cluster(url: str) -> Iterator[Cluster]:
    one = Cluster(parse_address(f"{url}/any"))
    yield one
    one.close()


def indices(cluster: Cluster, alias: str) -> list[str]:
    return sorted(cluster.run(cluster.ask("indices.get", index=f"{alias}-*")).body)


def everything(cluster: Cluster, alias: str) -> list[tuple[str, int, int]]:
    found = cluster.run(cluster.ask("search", index=alias, query={"term": {"kind": "passage"}}, size=10_000))
    return sorted((hit["_source"]["document_id"], hit["_source"]["start"], hit["_source"]["end"]) for hit in found["hits"]["hits"])


def test_only_what_changed_is_written(alias: str, url: str, write: Any, cluster: Cluster) -> None:
    address = f"{url}/{alias}"
    first = index_documents([write(TOWNS)], address)
    assert counts(first) == (8, 8, 0, 0, 0, 0)
    assert (first.documents, first.passages, first.index) == (8, 8, f"{alias}-000001")
    again = index_documents([write(list(reversed(TOWNS)))], address)
    assert counts(again) == (8, 0, 0, 8, 0, 0)
    assert (again.index, again.snapshot) == (first.index, first.snapshot)

    other = Document("d2", TOWNS[1].text, title="Halden Valves")
    second = index_documents([write([TOWNS[0], other, *TOWNS[3:], Document("new", "A new one. " * 9)])], address)
    assert counts(second) == (8, 1, 1, 6, 1, 0)
    assert (second.documents, second.index) == (8, f"{alias}-000002")
    retriever = ElasticsearchRetriever(address)
    changes = retriever.changes_since(first.snapshot)
    assert (changes.changed, changes.removed) == (("d2", "new"), ("d3",))
    assert retriever.changes_since(second.snapshot).changed == ()
    with pytest.raises(SearchIndexError, match="does not know that state"):
        retriever.changes_since("of another index")
    found = ask(retriever, "Halden Valves was founded by Mara Kestrel in 1974.", 50)
    assert [passage.title for passage in found if passage.document_id == "d2"] == ["Halden Valves"]
    retriever.close()

    third = index_documents([write(TOWNS)], address)  # what was gone comes back
    assert counts(third) == (8, 1, 1, 6, 1, 0)
    assert indices(cluster, alias) == [f"{alias}-000002", f"{alias}-000003"]
    assert everything(cluster, alias) == [(document.id, 0, len(document.text)) for document in TOWNS]


def test_what_cannot_be_indexed_is_set_aside_and_harms_nothing_else(alias: str, url: str, tmp_path: Path, cluster: Cluster) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "text": "Norrby Pumps has its seat in Orvik."}, {"id": "a", "text": "Norrby Pumps has its seat in Orvik."},
        {"id": "a", "text": "Something else."}, {"id": "none", "text": None}, {"id": "blank", "text": " \n"},
        {"id": "x" * 40_000, "text": "The server takes no id of 40,000 letters."}, {"id": "b", "text": "Halden lies on the Morrow."},
        {"id": "word", "text": "Ab3" * 13_334 + " The Halden works belong to Norrby Pumps."},
    ]  # fmt: skip
    path, aside = tmp_path / "docs.jsonl", tmp_path / "aside.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = index_documents([path], f"{url}/{alias}", quarantine=aside)
    assert counts(report) == (8, 3, 0, 0, 0, 3)
    assert (report.repeats, report.empty, report.long_words) == (("a",), ("blank",), 1)
    entries = [json.loads(line) for line in aside.read_text().splitlines()]
    assert sorted(entry["line"] for entry in entries) == [3, 4, 6]
    reasons = {entry["line"]: entry["reason"] for entry in entries}
    assert "of another document" in reasons[3]
    assert reasons[4] == "text is null (document none)"
    assert "the server refuses it" in reasons[6]
    assert "32766" in reasons[6]
    assert {one[0] for one in everything(cluster, alias)} == {"a", "b", "word"}
    again = index_documents([path], f"{url}/{alias}", quarantine=aside)
    assert (again.index, again.snapshot) == (report.index, report.snapshot)  # what is refused makes no new version
    with pytest.raises(InputError, match="line 3"):
        index_documents([path], f"{url}/{alias}", strict=True)
    empty = tmp_path / "empty.jsonl"
    empty.write_text(json.dumps(rows[4]) + "\n" + json.dumps(rows[5]) + "\n")
    with pytest.raises(EmptyInputError, match="nothing to index"):
        index_documents([empty], f"{url}/{alias}")
    assert index_documents([path], f"{url}/{alias}").snapshot == report.snapshot


class Stopping(WordEmbedder):
    """Ends the process (as Ctrl-C does) when it has embedded so many batches."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return super().encode(texts)


def test_an_interrupted_run_goes_on(alias: str, url: str, write: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(es_index, "EMBED_BATCH", 20)
    monkeypatch.setattr("kgaudit_retrievers.es_bulk.MAX_LINES", 10)
    many = docs(*(f"Number {i} belongs to town {i % 7}. " * 6 for i in range(200)))
    address = f"{url}/{alias}"
    with pytest.raises(Interrupted, match="goes on where"):
        index_documents([write(many)], address, embedder=Stopping(12))
    with pytest.raises(SearchIndexError, match="no such index"):
        ElasticsearchRetriever(address)
    report = index_documents([write(many)], address, embedder=WordEmbedder())
    assert report.index == f"{alias}-000001"
    assert report.unchanged > 50
    assert report.added + report.unchanged == report.documents == 200
    assert everything(cluster, alias) == sorted((one.id, span[0], span[1]) for one in many for span in spans(one))

    # Again, with a live version below, and documents that change while it lies there unfinished.
    half = [Document(one.id, one.text.replace("town", "city")) for one in many]
    with pytest.raises(Interrupted):
        index_documents([write(half)], address, embedder=Stopping(9))
    changed = [Document(one.id, one.text.replace("city", "place")) for one in half[:150]]
    report = index_documents([write(changed)], address, embedder=WordEmbedder())
    assert (report.documents, report.removed, report.index) == (150, 50, f"{alias}-000002")
    assert everything(cluster, alias) == sorted((one.id, span[0], span[1]) for one in changed for span in spans(one))


def spans(document: Document) -> list[tuple[int, int]]:
    from kgaudit_retrievers.corpus import Found
    from kgaudit_retrievers.es_schema import cut

    return list(cut(Found(document, "", 0)).spans)


def test_two_processes_do_not_make_the_same_version(alias: str, url: str, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(es_versions, "BEAT_SECONDS", 0.3)
    monkeypatch.setattr(es_versions, "STALE_SECONDS", 4.0)
    address = f"{url}/{alias}"
    index_documents([write(TOWNS)], address, embedder=WordEmbedder())

    def leave_behind() -> None:
        """A version in the making whose process died: its lock does not beat."""
        one = Cluster(parse_address(address))
        meta = es_versions.begin_meta(f"{alias}-000002", 2, "words", 256, None)
        one.run(es_versions.create(one, f"{alias}-000002", meta, 256, 1, 0))
        one.run(es_versions.Lock(one, f"{alias}-000002").take())
        one.close()

    leave_behind()
    owner = Cluster(parse_address(address))
    begun = time.monotonic()
    report = index_documents([write(TOWNS[:3])], address, embedder=WordEmbedder())  # waits until the lock is stale
    assert time.monotonic() - begun >= 4
    assert report.documents == 3

    alive = es_versions.version_name(alias, 9)
    meta = es_versions.begin_meta(alive, 9, "other", 256, None)
    owner.run(es_versions.create(owner, alive, meta, 256, 1, 0))
    lock = es_versions.Lock(owner, alive)
    owner.run(lock.take())
    keeping = owner.start(lock.keep())
    with pytest.raises(UsageError, match="another process is indexing"):
        index_documents([write(TOWNS)], address, embedder=WordEmbedder())
    keeping.cancel()
    owner.close()


def test_a_foreign_index_is_left_alone(alias: str, url: str, write: Any, cluster: Cluster) -> None:
    cluster.run(cluster.ask("index", index=alias, id="1", document={"body": "Orvik"}, refresh=True))
    with pytest.raises(UsageError, match="did not make"):
        index_documents([write(TOWNS)], f"{url}/{alias}")
    with pytest.raises(SearchIndexError, match="not made by"):
        ElasticsearchRetriever(f"{url}/{alias}")


def test_languages_and_what_the_server_lacks(alias: str, url: str, write: Any) -> None:
    japanese = [Document(f"j{i}", f"東京の会社は{1990 + i}年に設立された。", language="ja") for i in range(3)]
    chinese = Document("z", "北京是中国的首都。", language="zh-CN")
    report = index_documents([write([*TOWNS, *japanese, chinese])], f"{url}/{alias}")
    lacking = [note for note in report.notes if note.startswith(("ja", "zh"))]
    for note in lacking:
        assert "is not installed on the server, cjk takes its place" in note
    retriever = ElasticsearchRetriever(f"{url}/{alias}")
    assert ids(ask(retriever, "東京の会社", language="ja"))[0] in ("d7", "j0", "j1", "j2")
    assert ids(ask(retriever, "首都", language="zh")) == ["z"]
    retriever.close()


def test_vectors_and_their_model(alias: str, url: str, write: Any) -> None:
    address = f"{url}/{alias}"
    index_documents([write(TOWNS)], address)
    with pytest.raises(UsageError, match="holds no vectors"):
        ElasticsearchRetriever(address, mode="knn", embedder=WordEmbedder())
    report = index_documents([write(TOWNS)], address, embedder=WordEmbedder())
    assert counts(report) == (8, 8, 0, 0, 0, 0)  # an index with vectors is another index
    other = WordEmbedder()
    other.name = "another"
    with pytest.raises(UsageError, match="of the model words, not another"):
        ElasticsearchRetriever(address, mode="hybrid", embedder=other)
    snapshots = set()
    for mode in ("bm25", "knn", "hybrid"):
        retriever = ElasticsearchRetriever(address, mode=mode, embedder=WordEmbedder())  # type: ignore[arg-type]
        snapshots.add(retriever.snapshot)
        assert isinstance(ask(retriever, "Orvik")[0], Passage)
        retriever.close()
    assert len(snapshots) == 3
