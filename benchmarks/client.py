"""Measures the client of model endpoints beside the bare openai client and bare httpx, against a stub server in a process of its own.

    python benchmarks/client.py --json client.json

- `ideal_ratio`: the stub answers after 200 ms, 64 requests are in flight; ideal is as many rounds of 200 ms as the calls need.
- `calls_per_second`: the stub answers at once, 64 in flight, each answer read into a pydantic model (`ask`); this process keeps to one
  core. `openai_calls_per_second` and `httpx_calls_per_second`: the same requests, answers read into the same model, by the bare
  libraries; all three in turn, three times, the best time of each. `logprobs_calls_per_second`: ours, with 20 alternatives a token.
  `..._per_cpu_second` is the same by the CPU time of this process, which what else runs on the machine hardly changes.

Needs `pip install aiohttp openai httpx`. Nothing else should run on the machine meanwhile: `load_average` tells whether something did.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from common import fail, progress, write_json
from pydantic import BaseModel

from kgaudit.models.address import parse_model
from kgaudit.models.chat import ChatRequest, Message
from kgaudit.models.confidence import ask_sure
from kgaudit.models.openai_client import OpenAIChat
from kgaudit.models.typed import ask, json_schema

IN_FLIGHT = 64
LATENCY = 0.2
ROUNDS = 50
QUOTE = "In 2018 Norrby Pumps acquired Halden Works for 4 million euros."
PASSAGES = f"Norrby Pumps has its seat in Orvik. {QUOTE} The works make valves. " * 30


class Judgement(BaseModel):
    verdict: Literal["supported", "refuted", "not_enough"]
    quote: str


def request(number: int) -> ChatRequest:
    text = f"Claim {number}: Norrby Pumps acquired Halden Works.\n\n{PASSAGES}"
    return ChatRequest((Message("system", "You check claims against passages. " * 20), Message("user", text)))


class StubProtocol(asyncio.Protocol):
    """HTTP as plain as it goes: whatever is posted gets one answer, with log-probabilities where asked for. `delay` in seconds."""

    delay = 0.0
    answers: tuple[bytes, bytes] = (b"", b"")

    def connection_made(self, transport: Any) -> None:
        self._transport, self._buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
            if len(self._buffer) < end + 4 + length:
                return
            body = self._buffer[end + 4 : end + 4 + length]
            self._buffer = self._buffer[end + 4 + length :]
            answer = self.answers[b'"top_logprobs"' in body]
            if self.delay:
                asyncio.get_running_loop().call_later(self.delay, self._transport.write, answer)
            else:
                self._transport.write(answer)


def answer_bytes(logprobs: bool) -> bytes:
    text = json.dumps({"verdict": "supported", "quote": QUOTE})
    pieces = [text[:13], text[13:22], *(text[i : i + 3] for i in range(22, len(text), 3))]
    listed = [{"token": one, "logprob": -0.1 if one == "supported" else -4.0, "bytes": list(one.encode())} for one in
              ["supported", "refuted", "not", *(f"t{i}" for i in range(17))]]  # fmt: skip
    content = [{"token": one, "logprob": -0.1, "bytes": list(one.encode()), "top_logprobs": listed} for one in pieces]
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    choice["logprobs"] = {"content": content} if logprobs else None
    usage = {"prompt_tokens": 700, "completion_tokens": 30, "total_tokens": 730}
    body = json.dumps(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "stub", "choices": [choice], "usage": usage}
    ).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


async def serve(delay: float) -> None:
    StubProtocol.delay = delay
    StubProtocol.answers = (answer_bytes(False), answer_bytes(True))
    server = await asyncio.get_running_loop().create_server(StubProtocol, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Stub:
    """The stub in a process of its own, on another core than this one where there is one."""

    def __init__(self, delay: float) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", str(delay)], stdout=subprocess.PIPE, preexec_fn=lambda: keep_to_core(1)
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/v1"

    def __enter__(self) -> Stub:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def keep_to_core(number: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})


Call = Callable[[int], Awaitable[object]]


@dataclass(frozen=True)
class Times:
    """Seconds by the clock and of this process's CPU."""

    wall: float
    cpu: float


async def times_for(call: Call, calls: int) -> Times:
    """What so many calls take, `IN_FLIGHT` at a time, after one round that opens the connections."""

    async def work(numbers: Any) -> None:
        for number in numbers:
            await call(number)

    async def all_of(count: int) -> None:
        numbers = iter(range(count))
        await asyncio.gather(*(work(numbers) for _ in range(IN_FLIGHT)))

    await all_of(IN_FLIGHT)
    wall, cpu = time.perf_counter(), time.process_time()
    await all_of(calls)
    return Times(time.perf_counter() - wall, time.process_time() - cpu)


async def ours(url: str, calls: int, logprobs: bool = False) -> Times:
    model = OpenAIChat(parse_model(f"openai:{url}?in_flight={IN_FLIGHT}#stub"), {})

    async def call(number: int) -> None:
        if logprobs:
            sure = await ask_sure(model, request(number), Judgement, "verdict", ("supported", "refuted", "not_enough"))
            assert sure.source == "logprobs"
        else:
            assert (await ask(model, request(number), Judgement)).value.verdict == "supported"

    try:
        return await times_for(call, calls)
    finally:
        await model.aclose()


def bare_body(number: int) -> dict[str, Any]:
    schema = {"name": "Judgement", "schema": json_schema(Judgement), "strict": True}
    messages = [{"role": message.role, "content": message.content} for message in request(number).messages]
    form = {"type": "json_schema", "json_schema": schema}
    return {"model": "stub", "messages": messages, "max_tokens": 256, "temperature": 0.0, "seed": 0, "response_format": form}


async def bare_openai(url: str, calls: int) -> Times:
    import openai

    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def call(number: int) -> None:
            answer = await client.chat.completions.create(**bare_body(number))
            assert Judgement.model_validate_json(answer.choices[0].message.content or "").verdict == "supported"

        return await times_for(call, calls)


async def bare_httpx(url: str, calls: int) -> Times:
    import httpx

    limits = httpx.Limits(max_connections=IN_FLIGHT, max_keepalive_connections=IN_FLIGHT)
    async with httpx.AsyncClient(limits=limits) as client:

        async def call(number: int) -> None:
            answer = (await client.post(f"{url}/chat/completions", json=bare_body(number))).json()
            assert Judgement.model_validate_json(answer["choices"][0]["message"]["content"]).verdict == "supported"

        return await times_for(call, calls)


def measure(calls: int, repeats: int) -> dict[str, float]:
    keep_to_core(0)
    sides: dict[str, tuple[Callable[[str, int], Coroutine[Any, Any, Times]], int]] = {
        "calls_per": (ours, calls),
        "openai_calls_per": (bare_openai, calls // 4),
        "httpx_calls_per": (bare_httpx, calls // 4),
        "logprobs_calls_per": (lambda url, count: ours(url, count, logprobs=True), calls // 4),
    }
    best: dict[str, float] = {}
    with Stub(0.0) as stub:
        for turn in range(repeats):
            for name, (side, count) in sides.items():
                taken = asyncio.run(side(stub.url, count))
                for kind, seconds in (("second", taken.wall), ("cpu_second", taken.cpu)):
                    best[f"{name}_{kind}"] = max(best.get(f"{name}_{kind}", 0.0), round(count / seconds, 1))
                progress(f"round {turn + 1}, {name}_second: {count / taken.wall:,.0f}, {name}_cpu_second: {count / taken.cpu:,.0f}")
    ratios = []
    with Stub(LATENCY) as stub:
        for turn in range(repeats):
            ratio = ROUNDS * LATENCY / asyncio.run(ours(stub.url, ROUNDS * IN_FLIGHT)).wall
            ratios.append(ratio)
            progress(f"round {turn + 1}, ideal_ratio: {ratio:.3f}")
    return {"ideal_ratio": round(max(ratios), 4), **best}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--calls", type=int, default=4000, help="calls a round (a quarter of them for the slower sides)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--serve", type=float, metavar="DELAY", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve is not None:
        asyncio.run(serve(arguments.serve))
        return
    for module in ("openai", "httpx"):
        try:
            __import__(module)
        except ImportError:
            fail(f"{module} is not installed: pip install openai httpx")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    figures = {**measure(arguments.calls, arguments.repeats), "load_average": round(load, 2)}
    if arguments.json:
        write_json(arguments.json, figures)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
