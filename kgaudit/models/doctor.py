"""Looks over the endpoints of a chat model: whether they can serve an audit, what they lack, what follows and how to mend it."""

from __future__ import annotations

import asyncio
import json
import secrets
import statistics
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from kgaudit.errors import KgauditError
from kgaudit.models.address import ModelAddress
from kgaudit.models.chat import ChatRequest, Choice, Message
from kgaudit.models.confidence import ALTERNATIVES, SAMPLES
from kgaudit.models.openai_client import OpenAIChat

Level = Literal["ok", "note", "fault"]

LEAST_CONTEXT = 4096
"""Tokens. Five passages with the prompt around them need about as many."""

TRY_SECONDS = 60.0
PATIENCE = 20.0
"""Seconds that transient faults are tried again: a doctor says what is now."""

ALONE, TOGETHER = 5, 24
"""Requests for the latency, one after the other and eight at a time."""

_COLOURS = ("red", "green", "blue")
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": list(_COLOURS)}},
    "required": ["colour"],
    "additionalProperties": False,
}
_STEERED = ChatRequest((Message("user", "Write a short poem about the sea."),), _SCHEMA, "colour", max_tokens=48, logprobs=ALTERNATIVES)
_SHORT = ChatRequest((Message("user", "Say yes."),), max_tokens=8)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `fault`: an audit cannot run; `note`: it can, with what `said` names; `todo` mends it."""

    what: str
    level: Level
    said: str
    todo: str = ""


async def examine(address: ModelAddress, client: Callable[[ModelAddress], OpenAIChat] = OpenAIChat) -> AsyncIterator[Finding]:
    """The findings of all endpoints, each as soon as it is known. An endpoint with a fault is not asked further."""
    for url in address.urls:
        one = replace(
            address, urls=(url,), name=address.name or "-", in_flight=8, timeout=min(address.timeout, TRY_SECONDS), deadline=PATIENCE
        )
        model = client(one)
        try:
            name = address.name
            if len(address.urls) > 1:
                yield Finding("endpoint", "ok", url)
            async for finding, found in _reach(model, url, name):
                name = found or name
                yield finding
                if finding.level == "fault":
                    break
            else:
                if name != one.name:
                    await model.aclose()
                    model = client(replace(one, name=name))
                async for finding in _try_out(model):
                    yield finding
        finally:
            await model.aclose()


async def _reach(model: OpenAIChat, url: str, name: str) -> AsyncIterator[tuple[Finding, str]]:
    """Whether the endpoint answers, takes the key and serves the model; with the name of its only model where none was given."""
    begun = time.monotonic()
    try:
        status, raw = await model.get(url, "/models")
    except KgauditError as error:
        yield Finding("reachable", "fault", error.happened, error.todo or ""), ""
        return
    yield Finding("reachable", "ok", f"{url} answers in {1000 * (time.monotonic() - begun):,.0f} ms"), ""
    if status in (401, 403):
        todo = "Give a key that it accepts by KGAUDIT_MODEL_KEY (an OPENAI_API_KEY goes to https and to this machine only)."
        yield Finding("key", "fault", f"the endpoint answers {status}: the key is missing or not accepted", todo), ""
        return
    models = _models(raw) if status == 200 else None
    if models is None:
        yield Finding("models", "note", f"the endpoint lists no models (status {status} at {url}/models)",
                      "If the rest fails, look at the address: it usually ends in /v1."), ""  # fmt: skip
        return
    listed = ", ".join(models) or "none"
    if not name and len(models) == 1:
        name = next(iter(models))
        yield Finding("models", "ok", f"{name} is the only one: name it, openai:{url}#{name}"), name
    elif name not in models:
        said = f"{name} is not among those that are served: {listed}" if name else f"none is named; served are: {listed}"
        yield Finding("models", "fault", said, f"Write openai:{url}#NAME with one of these names."), ""
        return
    else:
        yield Finding("models", "ok", f"{name} is served"), ""
    yield _context(models[name]), ""


def _models(raw: bytes) -> dict[str, Any] | None:
    """The models listed, each with its context length where that is said."""
    try:
        rows = json.loads(raw)["data"]
        known = {row["id"]: row.get("max_model_len") for row in rows}
        # An adapter is as long as the model that it stands on.
        return {row["id"]: known[row["id"]] or known.get(row.get("parent")) for row in rows}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _context(length: Any) -> Finding:
    if not isinstance(length, int):
        return Finding("context", "note", "the endpoint does not say how long a request may be",
                       "Where requests turn out too long, claims are not judged, with that reason.")  # fmt: skip
    if length < LEAST_CONTEXT:
        todo = f"Serve it with --max-model-len {LEAST_CONTEXT} or more; claims that do not fit are not judged, with that reason."
        return Finding("context", "note", f"{length:,} tokens, which long passages may exceed", todo)
    return Finding("context", "ok", f"{length:,} tokens")


async def _try_out(model: OpenAIChat) -> AsyncIterator[Finding]:
    """Asks, and looks at what comes back."""
    try:
        begun = time.monotonic()
        answer = await model.complete(_SHORT)
        yield Finding("answers", "ok", f"in {time.monotonic() - begun:,.2f} s, {answer.prompt_tokens:,} tokens read")
        if answer.choices[0].thoughts_only:
            todo = (
                "Switch thinking off in the chat template, or serve it with a --reasoning-parser; answers get little room for thoughts."
            )
            yield Finding("thinking", "note", "the model thinks aloud before it answers", todo)
        for finding in await _typed(model):
            yield finding
        yield await _samples(model)
        yield await _repeatable(model)
        yield await _prefixes(model)
        yield await _latency(model, ALONE, 1)
        yield await _latency(model, TOGETHER, 8)
    except KgauditError as error:
        yield Finding("answers", "fault", error.happened, error.todo or "")
        return
    if model.usage.retries:
        todo = "Lower in_flight in the address (?in_flight=8) if this stays so."
        yield Finding("faults", "note", f"{model.usage.retries} requests were tried again (overload, resets or time-outs)", todo)


async def _typed(model: OpenAIChat) -> list[Finding]:
    """Asks for a poem, held to a schema: only a server that enforces it answers with a colour."""
    choice = (await model.complete(_STEERED)).choices[0]
    try:
        held = json.loads(choice.text)["colour"] in _COLOURS and choice.finish == "stop"
    except (ValueError, KeyError, TypeError):
        held = False
    if held and "response_format" not in model.refused:
        structure = Finding("structured output", "ok", "answers are held to a JSON schema")
    else:
        how = "refused" if "response_format" in model.refused else "not honoured"
        todo = "Answers are read as they come, with one repair each: more calls, more claims not judged. vLLM holds them to a schema."
        structure = Finding("structured output", "note", f"a JSON schema is {how}", todo)
    return [structure, _log_probabilities(choice, model)]


def _log_probabilities(choice: Choice, model: OpenAIChat) -> Finding:
    most = max((len(token.alternatives) for token in choice.tokens or ()), default=0)
    if most > 1:
        return Finding("log-probabilities", "ok", f"given, with {most} alternatives a token")
    how = "refused" if "logprobs" in model.refused else "not given" if not choice.tokens else "given without alternatives"
    todo = (
        f"Confidence comes from {SAMPLES} more samples a judgement instead: coarser, and several times the tokens."
        if not choice.tokens
        else "Confidence is coarser than it could be."
    )
    return Finding("log-probabilities", "note", f"log-probabilities are {how}", f"{todo} vLLM gives them (--max-logprobs 20).")


async def _samples(model: OpenAIChat) -> Finding:
    await model.complete(replace(_SHORT, samples=3, temperature=1.0))
    if "n" in model.refused:
        return Finding("samples", "note", "one answer a request: n is not honoured", "Samples are drawn one by one, each paid in full.")
    return Finding("samples", "ok", "several answers a request")


async def _repeatable(model: OpenAIChat) -> Finding:
    request = replace(_STEERED, schema=None, logprobs=0)
    texts = {answer.choices[0].text for answer in await asyncio.gather(*(model.complete(request) for _ in range(4)))}
    if len(texts) == 1:
        return Finding("repeatable", "ok", "four equal requests at once got one answer")
    todo = (
        "Verdicts near the threshold may differ between runs; on an NVIDIA GPU vLLM's batch-invariant mode ends that (serve-command)."
    )
    return Finding("repeatable", "note", f"four equal requests at once got {len(texts)} different answers", todo)


async def _prefixes(model: OpenAIChat) -> Finding:
    """Long requests that nobody sent before, then the same beginnings with other ends."""

    async def seconds(beginning: str, end: str) -> float:
        text = f"{beginning} {end}"
        return (await model.complete(ChatRequest((Message("user", text),), max_tokens=1))).seconds

    beginnings = [" ".join(secrets.token_hex(3) for _ in range(100)) for _ in range(3)]
    first = statistics.median([await seconds(one, "First.") for one in beginnings])
    again = statistics.median([await seconds(one, "Again.") for one in beginnings])
    said = f"a long request takes {1000 * first:,.0f} ms, another with the same beginning {1000 * again:,.0f} ms"
    if again < 0.8 * first:
        return Finding("prefix caching", "ok", said)
    todo = "If requests are slow, look whether the server keeps shared prefixes (vLLM: --enable-prefix-caching)."
    return Finding("prefix caching", "note", f"{said}: none to be seen", todo)


async def _latency(model: OpenAIChat, requests: int, together: int) -> Finding:
    places = asyncio.Semaphore(together)

    async def seconds(number: int) -> float:
        async with places:
            request = replace(_SHORT, messages=(Message("user", f"Say yes, number {number}."),))
            return (await model.complete(request)).seconds

    begun = time.monotonic()
    times = sorted(await asyncio.gather(*map(seconds, range(requests))))
    rate = requests / (time.monotonic() - begun)
    high = times[min(len(times) - 1, int(0.95 * len(times)))]
    said = f"p50 {1000 * statistics.median(times):,.0f} ms, p95 {1000 * high:,.0f} ms, {rate:,.1f} requests/s"
    return Finding(f"latency, {together} in flight", "ok", said)
