"""The chat completions protocol as plain functions: requests to JSON bodies, JSON bodies to answers, refusals to errors.

Source: the OpenAI API reference (chat completions) and vLLM's server, which speaks the same with `reasoning` beside `content`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from kgaudit.errors import KgauditError, ModelError, ServiceError
from kgaudit.models.chat import ChatRequest, Choice, PromptTooLongError, Token
from kgaudit.retries import retry_after

MOST_LOGPROBS = 20
"""Servers refuse more alternatives."""

OPTIONAL = ("response_format", "logprobs", "n", "seed", "temperature", "max_tokens")
"""What a request can go without, where a server refuses it by name."""

_WORDS = {
    "response_format": r"response_format|json_schema|structured|guided|grammar",
    "logprobs": r"logprobs",
    "n": r"['\"`]n['\"`]|\bn (?:must|should|>)|multiple (?:choices|completions)",
    "seed": r"\bseed\b",
    "temperature": r"\btemperature\b",
    "max_tokens": r"max_completion_tokens",
}
_TOO_LONG = re.compile(
    r"context.length|context_length_exceeded|maximum (?:context|model|input|sequence) length|max_model_len|context (?:window|size)"
    r"|prompt is too long|too many (?:input )?tokens",
    re.IGNORECASE,
)
_THINKING = re.compile(r"\s*(?:<(think|thinking|thought|reasoning)>|\[THINK\])", re.IGNORECASE)
_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]", re.IGNORECASE)
_CUT = {"length", "max_tokens"}
_REFUSED = {"content_filter", "refusal", "safety"}
_BROKEN = {"abort", "aborted", "error", "cancelled"}


def request_body(request: ChatRequest, model: str, without: Collection[str] = ()) -> dict[str, Any]:
    """The JSON body of a request; `without` names what the server was found to refuse (`OPTIONAL`)."""
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    limit = "max_completion_tokens" if "max_tokens" in without else "max_tokens"
    body: dict[str, Any] = {"model": model, "messages": messages, limit: request.max_tokens}
    if "temperature" not in without:
        body["temperature"] = request.temperature
    if request.seed is not None and "seed" not in without:
        body["seed"] = request.seed
    if request.samples > 1 and "n" not in without:
        body["n"] = request.samples
    if request.logprobs and "logprobs" not in without:
        body |= {"logprobs": True, "top_logprobs": min(request.logprobs, MOST_LOGPROBS)}
    if request.schema is not None:
        if "response_format" in without:
            form = json.dumps(request.schema, ensure_ascii=False, separators=(",", ":"))
            messages[-1]["content"] += f"\n\nAnswer with one JSON object of this JSON schema, without any other words.\n{form}"
        else:
            schema = {"name": request.schema_name or "answer", "schema": request.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def refused_option(body: Mapping[str, Any], raw: bytes) -> str | None:
    """Which optional part of a request the server's complaint (status 400 or 422) is about, if it is about one."""
    text = _message(raw)
    if _TOO_LONG.search(text):
        return None
    for option in OPTIONAL:
        if option in body and re.search(_WORDS[option], text, re.IGNORECASE):
            return option
    return None


def read_body(raw: bytes, request: ChatRequest, where: str) -> tuple[tuple[Choice, ...], int, int, str]:
    """Choices, prompt tokens, completion tokens and model of an answer. Raises `ServiceError` where it is no whole answer."""
    try:
        payload = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _broken("is no JSON", where) from error
    if not isinstance(payload, dict):
        raise _broken("is no JSON object", where)
    if "error" in payload and not payload.get("choices"):
        fault = payload["error"]
        code = fault.get("code") if isinstance(fault, dict) else None
        raise fault_of(code if isinstance(code, int) and code >= 400 else 502, raw, {}, where)
    choices = payload.get("choices")
    if not isinstance(choices, list) or not choices:
        raise _broken("holds no choice", where)
    usage = payload.get("usage")
    prompt, completion = (_count(usage, name) for name in ("prompt_tokens", "completion_tokens"))
    model = payload.get("model")
    return tuple(_choice(one, request, where) for one in choices), prompt, completion, model if isinstance(model, str) else ""


def _count(usage: Any, name: str) -> int:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and value > 0 else 0


def _broken(what: str, where: str) -> ServiceError:
    return ServiceError(f"the answer {what}", where=where, todo="If it stays so, look at the server and what stands before it.")


def _choice(raw: Any, request: ChatRequest, where: str) -> Choice:
    message = raw.get("message") if isinstance(raw, dict) else None
    if not isinstance(message, dict):
        raise _broken("holds a choice without a message", where)
    finish = raw.get("finish_reason")
    if finish in _BROKEN:
        raise _broken(f"was given up by the server ({finish})", where)
    tokens = _tokens(raw.get("logprobs"))
    said, refusal = _text(message.get("content")), _text(message.get("refusal"))
    if finish in _REFUSED or (refusal.strip() and not said.strip()):
        return Choice("", "refused", tokens, refusal.strip() or f"finish_reason {finish}")
    thoughts = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    if not said.strip() and request.schema is not None and finish not in _CUT and _is_object(thoughts):
        said, thoughts = thoughts, ""  # an answer that the server's reasoning parser took for thoughts
    text = _without_thoughts(said, request.schema is not None)
    thoughts_only = not text.strip() and bool(said.strip() or thoughts.strip())
    return Choice(text, "length" if finish in _CUT else "stop", tokens, "", thoughts_only)


def _text(value: Any) -> str:
    """Text of a content: a string, null, or a list of typed parts; halves of surrogate pairs are mended or replaced."""
    if isinstance(value, list):
        value = "".join(part["text"] for part in value if isinstance(part, dict) and isinstance(part.get("text"), str))
    if not isinstance(value, str):
        return ""
    if value.isascii():
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _without_thoughts(said: str, typed: bool) -> str:
    """What follows the thinking block; empty where it never ends. Templates may open the block themselves, so that only its end
    is there. A closing tag may also stand in the thoughts or in a quote of the answer: an answer in JSON is the first rest that is
    whole JSON, else what follows the last tag."""
    opening = _THINKING.match(said)
    if not opening and (said.lstrip()[:1] in ("{", "[") or not _THOUGHT.search(said)):
        return said
    rests = [said[closing.end() :] for closing in _THOUGHT.finditer(said, opening.end() if opening else 0)]
    if not rests:
        return ""
    whole = (rest for rest in rests if typed and _is_object(rest))
    return next(whole, rests[-1]).strip()


def _tokens(logprobs: Any) -> tuple[Token, ...] | None:
    """The tokens of an answer; None where the server gave none or gave what cannot be read."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list) or not content:
        return None
    try:
        return tuple(Token(*_token(one), tuple(map(_token, one.get("top_logprobs") or ()))) for one in content)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _token(one: Any) -> tuple[str, float]:
    raw = one.get("bytes")
    text = bytes(raw).decode("utf-8", "surrogateescape") if raw else one["token"]
    logprob = float(one["logprob"])
    if math.isnan(logprob) or not isinstance(text, str):
        raise ValueError("not a token")
    return text, logprob


def fault_of(status: int, raw: bytes, headers: Mapping[str, str], where: str) -> KgauditError:
    """The error behind a status of 300 and more: transient, or permanent with what to do."""
    said = _message(raw)
    happened = f"the endpoint answers {status}" + (f" ({said})" if said else "")
    if status in (408, 409, 425, 429) or (status >= 500 and status not in (501, 505)):
        if status == 429 and "insufficient_quota" in raw.decode("utf-8", "replace"):
            return ModelError(happened, where=where, todo="The account has no budget left: top it up, or use another endpoint.")
        wait = retry_after(headers.get("Retry-After"), headers.get("Date"))
        asked = f" and asks for a pause of {wait:,.0f} s" if wait else ""
        todo = "Run the same command again when the endpoint has room: what is done is kept."
        return ServiceError(happened + asked, where=where, todo=todo, retry_after=wait)
    if status == 413 or (status in (400, 422) and _TOO_LONG.search(said)):
        return PromptTooLongError(f"the request is too long for the model ({said or status})", where=where)
    return ModelError(happened, where=where, todo=_todo(status, headers))


def _todo(status: int, headers: Mapping[str, str]) -> str:
    if status in (401, 403):
        return "Give a key that the endpoint accepts by KGAUDIT_MODEL_KEY."
    if status in (404, 405):
        return "Check address and model name: `kgaudit doctor` lists the models of the endpoint."
    if status < 400:
        return f"Give the address that it points to: {headers.get('Location', 'not said')}"
    return "`kgaudit doctor` says what the endpoint can do."


def _message(raw: bytes) -> str:
    """What the server says, on one line."""
    text = raw.decode("utf-8", "replace")
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        payload = None
    if isinstance(payload, dict):
        fault = payload.get("error", payload)
        found = (fault.get("message") or fault.get("detail")) if isinstance(fault, dict) else fault
        text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    elif "<html" in text[:500].lower():
        text = re.sub(r"<[^>]*>", " ", re.sub(r"(?is)<(head|style|script).*?</\1>", " ", text))
    text = " ".join(text.split())
    return text if len(text) <= 300 else f"{text[:300]}..."
