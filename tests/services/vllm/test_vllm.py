"""The client and whole audits against a real vLLM server. What the small model says is never asserted, only that it is well formed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from es.proxy import Answer, Proxy
from pydantic import BaseModel, Field

from kgaudit.models.address import parse_model
from kgaudit.models.chat import ChatAnswer, ChatRequest, Message, PromptTooLongError
from kgaudit.models.confidence import Sure, ask_sure
from kgaudit.models.openai_client import OpenAIChat
from kgaudit.models.serve import ServeOptions, arguments, variables
from kgaudit.models.typed import NoAnswerError, ask
from kgaudit.runs.reader import RunReader
from vllm.conftest import CLAIMS
from vllm.server import ADAPTER, CONTEXT, NAME, Server, python

VALUES = ("supported", "refuted", "not_enough")
REQUEST = ChatRequest(
    (
        Message("system", "You check claims against passages."),
        Message("user", "Claim: Alder owns Birk. Passage: In 2019 Alder acquired Birk. Give your verdict and a quote."),
    ),
    max_tokens=96,
)


class Judgement(BaseModel):
    verdict: Literal["supported", "refuted", "not_enough"]
    quote: str = Field(max_length=40)


def complete(url: str, *requests: ChatRequest, name: str = NAME, query: str = "") -> tuple[list[ChatAnswer], OpenAIChat]:
    model = OpenAIChat(parse_model(f"openai:{url}?{query}#{name}"), {})

    async def run() -> list[ChatAnswer]:
        try:
            return await asyncio.gather(*map(model.complete, requests))
        finally:
            await model.aclose()

    return asyncio.run(run()), model


Judged = dict[str, tuple[Sure[Judgement], OpenAIChat]]


@pytest.fixture(scope="session")
def judged(server: Server) -> Judged:
    """One judgement of the model and one of its adapter, with the clients that asked."""

    async def run(model: OpenAIChat) -> Sure[Judgement]:
        try:
            return await ask_sure(model, REQUEST, Judgement, "verdict", VALUES)
        finally:
            await model.aclose()

    models = {name: OpenAIChat(parse_model(f"openai:{server.url}?timeout=300#{name}"), {}) for name in (NAME, ADAPTER)}
    return {name: (asyncio.run(run(model)), model) for name, model in models.items()}


@pytest.mark.parametrize("name", [NAME, ADAPTER])
def test_typed_answers_with_confidence(judged: Judged, name: str) -> None:
    found, model = judged[name]
    assert found.typed.value.verdict in VALUES
    assert found.source == "logprobs"
    assert found.probabilities is not None
    assert sum(found.probabilities.values()) == pytest.approx(1.0)
    assert max(found.probabilities, key=lambda value: found.probabilities[value]) == found.typed.value.verdict, (
        "greedy takes the likeliest"
    )
    assert found.prompt_tokens > 20
    assert found.completion_tokens > 5
    assert not model.refused
    assert not model.usage.notes


def test_the_adapter_changes_what_the_model_thinks(judged: Judged) -> None:
    plain, adapted = (judged[name][0].probabilities for name in (NAME, ADAPTER))
    assert plain != pytest.approx(adapted, abs=1e-3)


def test_several_samples(server: Server) -> None:
    request = ChatRequest(REQUEST.messages, max_tokens=24, temperature=1.0, samples=4)
    (answer,), model = complete(server.url, request)
    assert len(answer.choices) == 4
    assert len({choice.text for choice in answer.choices}) > 1
    assert model.usage.calls == 1, "in one request"


def test_what_ends_early_is_said(server: Server) -> None:
    (answer,), _ = complete(server.url, ChatRequest(REQUEST.messages, max_tokens=2))
    assert answer.choices[0].finish == "length"
    model = OpenAIChat(parse_model(f"openai:{server.url}#{NAME}"), {})

    async def run() -> None:
        try:
            with pytest.raises(NoAnswerError, match="cut off at the token limit"):
                await ask(model, ChatRequest(REQUEST.messages, max_tokens=2), Judgement)
        finally:
            await model.aclose()

    asyncio.run(run())


def test_what_is_too_long_is_said(server: Server) -> None:
    with pytest.raises(PromptTooLongError):
        complete(server.url, ChatRequest((Message("user", "so on and " * CONTEXT),)))


def test_an_overloaded_server_gets_all_its_answers_out(server: Server) -> None:
    """No more than two at a time pass; the others hear 429 or 503 in turn."""
    lock, busy, refusals = threading.Lock(), 0, 0

    def leave(body: bytes) -> bytes:
        nonlocal busy
        with lock:
            busy -= 1
        return body

    def rule(method: str, path: str, body: bytes) -> Answer:
        nonlocal busy, refusals
        with lock:
            if busy >= 2:
                refusals += 1
                return Answer(429 if refusals % 2 else 503, b"", {"Retry-After": "0.2"} if refusals % 3 else {})
            busy += 1
        return Answer(change=leave)

    with Proxy(server.port, rule) as proxy:
        requests = [ChatRequest((Message("user", f"Say yes to number {i}."),), max_tokens=4) for i in range(24)]
        answers, model = complete(f"{proxy.url}/v1", *requests, query="in_flight=16&deadline=120")
    assert len(answers) == 24
    assert refusals > 0
    assert model.usage.retries == refusals


def kgaudit(*words: object) -> subprocess.Popen[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "kgaudit", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def finished(process: subprocess.Popen[str], status: int) -> str:
    out, err = process.communicate(timeout=900)
    assert process.returncode == status, f"{out}\n{err}"
    assert "Traceback" not in err
    return out + err


def test_the_doctor_finds_it_well(server: Server) -> None:
    said = finished(kgaudit("doctor", f"openai:{server.url}#{NAME}"), 0)
    for what in ("reachable", "models", "answers", "structured output", "log-probabilities", "samples"):
        assert f"ok    {what}" in said, said
    assert f"{CONTEXT:,} tokens" in said
    assert "p95" in said
    assert f"{NAME}, {ADAPTER}" in finished(kgaudit("doctor", f"openai:{server.url}"), 2)


READ_WORDS = """
import json, sys
from vllm import envs
from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
from vllm.utils.argparse_utils import FlexibleArgumentParser
words, names = json.loads(sys.argv[1])
found = make_arg_parser(FlexibleArgumentParser()).parse_args(words)
validate_parsed_serve_args(found)
adapters = [one.name for one in found.lora_modules]
read = [found.model_tag, found.max_model_len, found.tensor_parallel_size, adapters, found.max_lora_rank, found.reasoning_parser]
print(json.dumps(read))
assert all(name in envs.environment_variables for name in names), names
"""


def test_vllm_understands_the_command_for_gpus(server: Server, tmp_path: Path) -> None:
    """Its own parser reads what is printed: there is no GPU here to start it on."""
    options = ServeOptions("org/base", adapters=(("tuned", "org/tuned"),), gpus=2, context=4096, reasoning_parser="qwen3")
    start, *words = (word for word in arguments(options) if word != "serve")
    assert start == "vllm"
    given = json.dumps([words, [*variables(options), "VLLM_API_KEY"]])
    done = subprocess.run([str(python()), "-c", READ_WORDS, given], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == ["org/base", 4096, 2, ["tuned"], 16, "qwen3"]


def audit_words(inputs: Path, run: Path, url: str, deadline: int = 5) -> Sequence[object]:
    address = f"openai:{url}?in_flight=6&timeout=300&deadline={deadline}#{NAME}"
    return ("audit", inputs / "kg.nt", "--index", inputs / "index", "--run", run, "--model", address)


def test_a_server_that_dies_stops_the_run_which_goes_on_when_it_is_back(server: Server, inputs: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = kgaudit(*audit_words(inputs, run, server.url))
    deadline = time.monotonic() + 120
    while len(kept_calls(run)) < 6 and time.monotonic() < deadline:
        time.sleep(0.05)
    server.kill()
    said = finished(process, 2)
    assert server.url in said
    assert "same command again" in said
    kept = len(kept_calls(run))
    assert kept >= 6
    done = rows_of(run)
    assert len(done) < len(CLAIMS)
    server.start()
    said = finished(kgaudit(*audit_words(inputs, run, server.url, deadline=600)), 0)
    rows = rows_of(run)
    assert len({row["key"] for row in rows}) == len(rows) == len(CLAIMS)
    assert {row["key"]: row["verdict"] for row in done}.items() <= {row["key"]: row["verdict"] for row in rows}.items()
    assert "answered from what this run kept" in said or len(done) * 2 >= kept, "what was paid is not paid again"
    assert json.loads((run / "summary.json").read_text(encoding="utf-8"))["status"] == "complete"


def test_ctrl_c_does_not_wait_for_a_slow_server(server: Server, inputs: Path, tmp_path: Path) -> None:
    process = kgaudit(*audit_words(inputs, tmp_path / "run", server.url))
    deadline = time.monotonic() + 120
    while len(kept_calls(tmp_path / "run")) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert "goes on where this one ended" in finished(process, 130)
    assert time.monotonic() - begun < 20


def kept_calls(run: Path) -> list[Path]:
    return [path for path in (run / "calls").rglob("*") if path.is_file() and not path.name.startswith(".")]


def rows_of(run: Path) -> list[dict[str, Any]]:
    return [row for batch in RunReader(run).batches() for row in batch.to_pylist()]
