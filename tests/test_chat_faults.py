"""A run against an endpoint with faults gives the verdicts of one without; one that goes down stops the run, which goes on later."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_stub import Reply, completion, stub

from kgaudit import retries
from kgaudit.errors import Interrupted, ServiceError, SpecMismatchError
from kgaudit.models.embedded import load_default
from kgaudit.models.opening import open_model
from kgaudit.runs.audit import AuditOptions, Budget, audit
from kgaudit.runs.engine import Stop
from kgaudit.runs.reader import RunReader
from kgaudit_retrievers.embedded import EmbeddedRetriever, build_index

COMPANIES = [f"{first} {second}" for first in ("Alder", "Birk", "Cedar", "Drosk") for second in ("Pumps", "Mills", "Yards", "Works")]
FACTS = list(zip(COMPANIES, [*COMPANIES[5:], *COMPANIES[:5]], strict=True))
CLAIMS = FACTS + list(zip(COMPANIES, [*COMPANIES[9:], *COMPANIES[:9]], strict=True))


def sentence(subject: str, obj: str) -> str:
    return f"In 2019 {subject} acquired {obj} after long talks."


def answer(body: dict[str, Any], number: int) -> Reply:
    """A model that reads: what a fact states is supported, where the claim names both."""
    text = body["messages"][-1]["content"]
    properties = body["response_format"]["json_schema"]["schema"]["properties"]
    stated = [sentence(*fact) for fact in FACTS if sentence(*fact) in text and all(text.count(name) > 1 for name in fact)]
    values = {
        "verdict": "supports" if stated else "neither",
        "quote": stated[0] if stated else "",
        "quotes": stated,
        "query": "acquired",
    }
    chosen = {name: values.get(name, schema.get("enum", [""])[0]) for name, schema in properties.items()}
    reply = completion(json.dumps(chosen))
    if body.get("logprobs"):
        pieces = json.dumps(chosen).replace('"supports"', '"\0supports\0"').replace('"neither"', '"\0neither\0"').split("\0")
        listed = [{"token": one, "logprob": shared} for one, shared in (("supports", -0.2), ("neither", -1.8))]
        tokens = [{"token": one, "logprob": -0.2, "top_logprobs": listed if one in ("supports", "neither") else []} for one in pieces]
        reply["choices"][0]["logprobs"] = {"content": tokens}
    return Reply(body=reply)


def faulty(share: float) -> Callable[[dict[str, Any], int], Reply]:
    chance = random.Random(7)
    kinds = [
        lambda good: Reply(429, b"", {"Retry-After": "0.01"}),
        lambda good: Reply(500, b"oops"),
        lambda good: Reply(reset=True),
        lambda good: Reply(body=good.body, delay=30.0),
        lambda good: Reply(body=good.body, cut=True),
        lambda good: Reply(body=b'{"choices": [{"message": {"content": "'),
        lambda good: Reply(body={"choices": None}),
    ]

    def script(body: dict[str, Any], number: int) -> Reply:
        good = answer(body, number)
        return chance.choice(kinds)(good) if chance.random() < share else good

    return script


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    iri = "<https://graph.example/{}>".format
    lines = [f"{iri(s.replace(' ', '_'))} {iri('acquired')} {iri(o.replace(' ', '_'))} ." for s, o in CLAIMS]
    (folder / "kg.nt").write_text("\n".join(lines), encoding="utf-8")
    documents = [json.dumps({"id": f"d{i}", "text": sentence(*fact)}) for i, fact in enumerate(FACTS)]
    (folder / "docs.jsonl").write_text("\n".join(documents), encoding="utf-8")
    build_index([folder / "docs.jsonl"], folder / "index")
    return folder


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(retries, "LONGEST_PAUSE", 0.1)


def run(inputs: Path, folder: Path, url: str, query: str, stop: Stop | None = None) -> dict[str, Any]:
    retriever = EmbeddedRetriever(inputs / "index")
    chat = open_model(f"openai:{url}?{query}#stub", folder / "calls")
    try:
        return audit(AuditOptions(kg=(inputs / "kg.nt",), run=folder), retriever, load_default(), index="index", chat=chat, stop=stop)
    finally:
        retriever.close()


def verdicts(folder: Path) -> dict[str, tuple[Any, ...]]:
    rows = [row for batch in RunReader(folder).batches() for row in batch.to_pylist()]
    assert len({row["key"] for row in rows}) == len(rows) == len(CLAIMS)
    return {row["key"]: tuple(row[name] for name in ("verdict", "reason", "p_supported", "confidence", "evidence")) for row in rows}


def test_faults_change_no_verdict(inputs: Path, tmp_path: Path) -> None:
    with stub(answer) as server:
        calm = run(inputs, tmp_path / "calm", server.url, "deadline=60")
    with stub(faulty(0.3)) as server:
        stormy = run(inputs, tmp_path / "stormy", server.url, "timeout=0.7&deadline=60")
    assert stormy["model"]["retries"] > 10
    assert calm["model"]["retries"] == 0
    assert calm["verdicts"]["supported"] == len(FACTS)
    assert calm["verdicts"]["not_judged"] == 0
    assert verdicts(tmp_path / "calm") == verdicts(tmp_path / "stormy")
    assert calm["model"]["calls"] == stormy["model"]["calls"], "what was answered well is not asked again"


def test_an_endpoint_that_goes_down_stops_the_run_and_nothing_is_paid_twice(inputs: Path, tmp_path: Path) -> None:
    with stub(answer) as server:
        whole = run(inputs, tmp_path / "whole", server.url, "in_flight=4")["model"]["calls"]
    asked = 0

    def dying(body: dict[str, Any], number: int) -> Reply:
        nonlocal asked
        if number >= whole // 2:
            return Reply(reset=True)
        asked += 1
        return answer(body, number)

    with stub(dying) as server, pytest.raises(ServiceError, match="closed the connection") as caught:
        run(inputs, tmp_path / "run", server.url, "in_flight=4&deadline=0.5")
    assert server.url in str(caught.value)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert summary["status"] == "interrupted"
    spec = json.loads((tmp_path / "run" / "spec.json").read_text(encoding="utf-8"))
    assert spec["model"]["name"] == "stub"
    assert spec["model_settings"]["endpoints"] == [server.url]
    with stub(answer) as server:
        summary = run(inputs, tmp_path / "run", server.url, "in_flight=4")
        assert len(server.seen) == whole - asked, "the other half only"
    assert summary["status"] == "complete"
    assert {key: row[:3] for key, row in verdicts(tmp_path / "run").items()} == {
        key: row[:3] for key, row in verdicts(tmp_path / "whole").items()
    }


def test_a_model_of_another_name_is_another_run(inputs: Path, tmp_path: Path) -> None:
    with stub(answer) as server:
        run(inputs, tmp_path / "run", server.url, "")
        chat = open_model(f"openai:{server.url}#other", tmp_path / "run" / "calls")
        retriever = EmbeddedRetriever(inputs / "index")
        options = AuditOptions(kg=(inputs / "kg.nt",), run=tmp_path / "run")
        with pytest.raises(SpecMismatchError, match="chat model"):
            audit(options, retriever, load_default(), index="index", chat=chat)
        with pytest.raises(SpecMismatchError):
            audit(options, retriever, load_default(), index="index")
        retriever.close()


@pytest.mark.parametrize(
    ("budget", "counted", "most"), [(Budget(model_calls=3), "model_calls", 30), (Budget(tokens=300), "tokens", 3000)]
)
def test_budgets_of_calls_and_tokens(
    budget: Budget, counted: str, most: int, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgaudit.runs.engine.IN_FLIGHT_WITH_MODEL", 2)
    retriever = EmbeddedRetriever(inputs / "index")
    with stub(answer) as server:
        chat = open_model(f"openai:{server.url}#stub")
        options = AuditOptions(kg=(inputs / "kg.nt",), run=tmp_path / "run", budget=budget)
        summary = audit(options, retriever, load_default(), index="index", chat=chat)
    retriever.close()
    assert summary["status"] == "budget"
    assert (budget.model_calls or budget.tokens or 0) <= summary[counted] < most
    assert 0 < summary["verified_now"] < len(CLAIMS)


def test_asked_to_stop_it_does_not_wait_for_slow_answers(inputs: Path, tmp_path: Path) -> None:
    stop = Stop()

    def slow(body: dict[str, Any], number: int) -> Reply:
        if number == 20:
            stop.ask(2)
        good = answer(body, number)
        return Reply(body=good.body, delay=30.0 if number >= 20 else 0.0)

    begun = time.monotonic()
    with stub(slow) as server, pytest.raises(Interrupted):
        run(inputs, tmp_path / "run", server.url, "", stop)
    assert time.monotonic() - begun < 10
