"""A cluster of three nodes: one is killed during indexing and during an audit, a shard is missing, copies of a shard differ."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from contract import TOWNS, ask, docs, ids

from kgaudit.documents import Query
from kgaudit.errors import ServiceError
from kgaudit.retries import with_retries
from kgaudit_retrievers.elasticsearch import ElasticsearchRetriever, index_documents

MANY = docs(*(f"Number {i} belongs to Norrby Pumps in town {i % 7}. " * 4 for i in range(400)))


@pytest.fixture(scope="module")
def cluster(servers: Any) -> Iterator[Any]:
    server = servers.start(nodes=3, heap="400m")
    yield server
    server.stop()


def test_a_cluster_that_loses_nodes(cluster: Any, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgaudit_retrievers.es_bulk.MAX_LINES", 20)
    address = f"{cluster.url}/kb"
    first = index_documents([write(TOWNS)], address, shards=2, replicas=2)
    cluster.wait(status="green")
    retriever = ElasticsearchRetriever(address)

    # Copies of the shards differ in what was deleted and when they merged; a rerun sees the same, whichever node answers.
    queries = [Query(one.text) for one in TOWNS]
    expected = retriever.search(queries, 5)
    for node in cluster.nodes:
        other = ElasticsearchRetriever(f"http://127.0.0.1:{node.port}/kb")
        assert other.search(queries, 5) == expected
        assert other.snapshot == first.snapshot
        other.close()

    # A node dies while documents are indexed and searches run.
    reports: list[Any] = []
    path = write(MANY)
    indexing = threading.Thread(target=lambda: reports.append(index_documents([path], f"{cluster.url}/other", shards=2, replicas=1)))
    stop = threading.Event()
    wrong: list[object] = []

    def search() -> None:
        import asyncio

        async def once() -> Any:
            return retriever.search(queries, 5)

        while not stop.is_set():
            found = asyncio.run(with_retries(once, 120))
            if found != expected:
                wrong.append(found)

    searching = threading.Thread(target=search)
    indexing.start()
    searching.start()
    time.sleep(1.0)
    cluster.nodes[2].kill()
    indexing.join(240)
    stop.set()
    searching.join(60)
    assert [(report.documents, report.passages) for report in reports] == [(400, 800)]
    assert wrong == []
    found = cluster.request("GET", "/other/_count?q=kind:passage")
    assert found["count"] == 800

    # A shard without a copy is on a node that dies: no answer is better than a part of one.
    report = index_documents([write(TOWNS)], f"{cluster.url}/single", shards=2, replicas=0)
    single = ElasticsearchRetriever(f"{cluster.url}/single")
    place = cluster.request("GET", f"/_cluster/state/routing_table/{report.index}?filter_path=**.node&format=json")
    names = cluster.request("GET", "/_nodes?filter_path=nodes.*.name")["nodes"]
    shards = place["routing_table"]["indices"][report.index]["shards"]
    name = names[shards["0"][0]["node"]]["name"]
    victim = cluster.nodes[int(name.removeprefix("node-"))]
    cluster.nodes[2].spawn()
    cluster.wait(nodes=3)
    victim.kill()
    with pytest.raises(ServiceError):
        single.search(queries, 5)
    victim.spawn()
    cluster.wait(node=2, nodes=3)
    deadline = time.monotonic() + 120
    while True:
        try:
            assert ids(ask(single, "Orvik"))[0] in ("d1", "d3")
            break
        except ServiceError:
            assert time.monotonic() < deadline
            time.sleep(1)
    single.close()
    retriever.close()
