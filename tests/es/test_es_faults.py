"""Faults while indexing and while searching: nothing is lost, nothing comes twice, and the message says what happened."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from contract import TOWNS, ask, docs, ids
from proxy import ELASTIC, Answer, Proxy

from kgaudit.documents import Document, Query
from kgaudit.errors import SearchIndexError, ServiceError
from kgaudit.runs.audit import AuditOptions, audit
from kgaudit_retrievers.elasticsearch import ElasticsearchRetriever, index_documents
from kgaudit_retrievers.es_connect import Cluster, parse_address

MANY = docs(*(f"Number {i} belongs to Norrby Pumps in town {i % 7}. " * 4 for i in range(300)))


@pytest.fixture
def small_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgaudit_retrievers.es_bulk.MAX_LINES", 20)


def port_of(url: str) -> int:
    return int(url.rsplit(":", 1)[1])


def is_whole(url: str, alias: str) -> bool:
    """Every document and every passage of MANY is there once."""
    cluster = Cluster(parse_address(f"{url}/{alias}"))
    found = cluster.run(cluster.ask("search", index=alias, size=10_000, query={"match_all": {}}))
    cluster.close()
    sources = [hit["_source"] for hit in found["hits"]["hits"]]
    counts = Counter((one["kind"], one["document_id"], one.get("start")) for one in sources)
    documents = {one for kind, one, _ in counts if kind == "document"}
    passages = {(one, start) for kind, one, start in counts if kind == "passage"}
    return documents == {one.id for one in MANY} and set(counts.values()) == {1} and len(passages) == 2 * len(MANY)


def test_overload_and_partial_failures_of_bulk_requests(own_server: Any, alias: str, write: Any, small_requests: None) -> None:
    state = {"bulk": 0}
    rejected = {"type": "es_rejected_execution_exception", "reason": "queue full"}

    def some_fail(content: bytes) -> bytes:
        """Every fifth entry was refused for want of room, though the server took it: it must be sent again, and come once."""
        found = json.loads(content)
        items = found.get("items") or [{"index": {"status": 201}} for _ in range(20)]
        for item in items[::5]:
            item["index"] = {"status": 429, "error": rejected}
        return json.dumps({"errors": True, "items": items}).encode()

    def rule(method: str, path: str, body: bytes) -> Answer | None:
        if "_bulk" not in path:
            return None
        state["bulk"] += 1
        lines = sum(line.startswith((b'{"index"', b'{"delete"')) for line in body.splitlines())
        match state["bulk"] % 6:
            case 1:
                return Answer(429, json.dumps({"error": rejected, "status": 429}).encode(), ELASTIC)
            case 2 if lines == 20:
                return Answer(change=some_fail)
            case 3:
                return Answer(drop=True)
            case 4:
                return Answer(503, b'{"error": {"type": "unavailable", "reason": "no master"}, "status": 503}', ELASTIC)
        return None

    with Proxy(port_of(own_server.url), rule) as proxy:
        report = index_documents([write(MANY)], f"{proxy.url}/{alias}")
    assert (report.added, report.documents, report.passages, report.quarantined) == (300, 300, 600, 0)
    assert is_whole(own_server.url, alias)
    assert state["bulk"] > 40


def test_requests_that_are_too_large_are_cut(own_server: Any, alias: str, write: Any) -> None:
    def rule(method: str, path: str, body: bytes) -> Answer | None:
        if "_bulk" in path and len(body) > 20_000:
            return Answer(413, b"", ELASTIC)
        return None

    huge = Document("huge", "Orvik lies far away. " * 3000)
    with Proxy(port_of(own_server.url), rule) as proxy:
        report = index_documents([write([*MANY, huge])], f"{proxy.url}/{alias}")
    assert (report.documents, report.quarantined) == (300, 1)
    assert is_whole(own_server.url, alias)


def test_slow_overloaded_and_broken_answers_to_searches(own_server: Any, alias: str, write: Any) -> None:
    index_documents([write(TOWNS)], f"{own_server.url}/{alias}")
    answers: dict[str, Answer | None] = {"now": None}
    with Proxy(port_of(own_server.url), lambda method, path, body: answers["now"] if "_msearch" in path else None) as proxy:
        retriever = ElasticsearchRetriever(f"{proxy.url}/{alias}", timeout=1.0)
        expected = ids(ask(retriever, "Orvik"))
        for answer, message in (
            (Answer(delay=2.5), "did not answer within 1 s"),
            (Answer(429, b"{}", {**ELASTIC, "Retry-After": "7"}), "overloaded"),
            (Answer(503, b"<html>busy</html>", {"Content-Type": "text/html"}), "503"),
            (Answer(200, b"<html>Log in</html>", {"Content-Type": "text/html", "X-Elastic-Product": "Elasticsearch"}), "not what"),
            (Answer(drop=True), "cannot connect"),
        ):
            answers["now"] = answer
            with pytest.raises(ServiceError, match=message):
                ask(retriever, "Orvik")
        answers["now"] = Answer(delay=0.5)
        assert ids(ask(retriever, "Orvik")) == expected
        answers["now"] = None
        assert ids(ask(retriever, "Orvik")) == expected
        retriever.close()


def test_an_index_that_is_deleted_under_a_search(own_server: Any, alias: str, write: Any) -> None:
    report = index_documents([write(TOWNS)], f"{own_server.url}/{alias}")
    retriever = ElasticsearchRetriever(f"{own_server.url}/{alias}")
    own_server.request("DELETE", f"/{report.index}")
    with pytest.raises(SearchIndexError, match="no such index"):
        ask(retriever, "Orvik")
    with pytest.raises(SearchIndexError, match="no such index"):
        retriever.document("d1")
    retriever.close()


def test_cancelling_ends_a_slow_search(own_server: Any, alias: str, write: Any) -> None:
    index_documents([write(TOWNS)], f"{own_server.url}/{alias}")
    with Proxy(port_of(own_server.url), lambda method, path, body: Answer(delay=5) if "_msearch" in path else None) as proxy:
        retriever = ElasticsearchRetriever(f"{proxy.url}/{alias}")
        failed: list[BaseException] = []

        def search() -> None:
            try:
                retriever.search([Query("Orvik")] * 40, 5)
            except SearchIndexError as error:
                failed.append(error)

        thread = threading.Thread(target=search)
        thread.start()
        time.sleep(0.3)
        begun = time.monotonic()
        retriever.close()
        thread.join(10)
        assert time.monotonic() - begun < 4
        assert "closed" in str(failed[0])


def test_the_server_is_stopped_and_started_during_indexing_and_during_an_audit(
    servers: Any, tmp_path: Path, write: Any, judge: Any, small_requests: None
) -> None:
    server = servers.start(heap="512m")
    try:
        facts = [(f"Number {i}", "belongs to", f"Town {i % 7}") for i in range(300)]
        graph = tmp_path / "kg.csv"
        graph.write_text("subject,predicate,object\n" + "".join(f"{','.join(fact)}\n" for fact in facts))
        address = f"{server.url}/kb"
        index_documents([write(docs(*(f"{' '.join(fact)}." for fact in facts)))], address)
        path = write(MANY)
        done: dict[str, Any] = {}
        slowly = threading.Event()
        words = judge

        class Slow:
            """Takes its time, so that the server goes away in the middle."""

            name = "slow"
            digest = "1" * 64
            weigh = words.weigh

            def judge(self, pairs: Any) -> Any:
                time.sleep(0.01 * len(pairs))
                slowly.set()
                return words.judge(pairs)

        def index() -> None:
            with Proxy(server.nodes[0].port, lambda method, path, body: Answer(delay=0.2) if "_bulk" in path else None) as proxy:
                done["report"] = index_documents([path], f"{proxy.url}/other")

        def verify() -> None:
            while "summary" not in done:  # an audit gives up after a minute, and goes on when it is called again
                try:
                    retriever = ElasticsearchRetriever(address)
                except ServiceError:
                    time.sleep(1)
                    continue
                try:
                    options = AuditOptions((graph,), tmp_path / "run", policy="single_turn")
                    done["summary"] = audit(options, retriever, Slow(), index=address)
                except ServiceError as error:
                    done["error"] = error
                finally:
                    retriever.close()

        threads = [threading.Thread(target=index), threading.Thread(target=verify)]
        for thread in threads:
            thread.start()
        slowly.wait(30)
        server.nodes[0].kill(signal.SIGKILL)
        time.sleep(1)
        server.nodes[0].spawn()
        server.wait()
        for thread in threads:
            thread.join(200)
        assert (done["report"].documents, done["report"].passages) == (300, 600)
        assert is_whole(server.url, "other")
        summary = done["summary"]
        assert summary["status"] == "complete"
        assert sum(summary["verdicts"].values()) == summary["verified_now"] + summary["verified_before"] == 300
        assert summary["verdicts"]["supported"] == 300
    finally:
        server.stop()
