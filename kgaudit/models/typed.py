"""Typed answers: a chat model is asked for a pydantic model, and a whole answer that misses it gets one repair.

What is a fault of the transport (a broken body, a full server) is retried below this, in the client; here only whole answers count.
No part of an answer that was cut off or that stands inside other words is ever taken for the answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kgaudit.models.chat import ChatAnswer, ChatModel, ChatRequest, Choice, Message, PromptTooLongError, request_digest

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T", bound="BaseModel")

MORE_ROOM = 2
"""After an answer that was cut off, the limit is so many times as high."""

LONGEST_REASON = 200

SHOWN_BACK = 2000
"""Characters of a bad answer that the model is shown again."""

_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Typed(Generic[T]):
    """A valid answer. `choice` is the one it was read from; `digests` are those of the requests that were made (`request_digest`)."""

    value: T
    choice: Choice
    calls: int
    prompt_tokens: int
    completion_tokens: int
    repaired: bool
    digests: tuple[str, ...]


class NoAnswerError(Exception):
    """The model gave no valid answer, and a repair did not help: the claim is not judged, for `reason`. No error of the user."""

    def __init__(self, reason: str, calls: int, prompt_tokens: int, completion_tokens: int, digests: tuple[str, ...]) -> None:
        super().__init__(reason)
        self.reason = reason
        self.calls = calls
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.digests = digests


@cache
def json_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a pydantic model as servers want it: closed, every field required. Do not change what is returned."""
    made = schema.model_json_schema()
    for part in (made, *made.get("$defs", {}).values()):
        if part.get("type") == "object":
            part["additionalProperties"] = False
            part["required"] = list(part.get("properties", {}))
    return made


def typed_request(request: ChatRequest, schema: type[BaseModel]) -> ChatRequest:
    """The request with the schema of the answer."""
    return replace(request, schema=json_schema(schema), schema_name=schema.__name__)


def read_typed(choice: Choice, schema: type[T], check: Callable[[T], str | None] | None = None) -> T | str:
    """The value of an answer, or in words why it is none: `cut off ...`, `empty`, not of the schema, or what `check` says."""
    from pydantic import ValidationError

    if choice.finish == "refused":
        return f"the model refused to answer: {_short(choice.refusal) or 'no reason given'}"
    if choice.finish == "length":
        return "the answer was cut off at the token limit"
    if choice.thoughts_only:
        return "no valid answer: the model thought aloud and never answered"
    if not choice.text.strip():
        return "no valid answer: it was empty"
    fenced = _FENCED.fullmatch(choice.text)
    try:
        value = schema.model_validate_json(fenced[1] if fenced else choice.text)
    except ValidationError as error:
        return f"no valid answer: {_first_fault(error)}"
    complaint = check(value) if check else None
    return f"no valid answer: {complaint}" if complaint else value


def _first_fault(error: Any) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if fault["type"] == "json_invalid":
        return "it was not JSON"
    where = _short(".".join(str(part) for part in fault["loc"]))
    return f"{where}: {fault['msg']}" if where else str(fault["msg"])


def _short(text: str) -> str:
    """What a model wrote, for a reason on one line."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}..."


async def ask(model: ChatModel, request: ChatRequest, schema: type[T], *, check: Callable[[T], str | None] | None = None) -> Typed[T]:
    """Asks for an answer of the form `schema`; `check` may find fault with its content (None: none).

    One repair at most: a whole answer that misses the schema is shown back with what is wrong, one that was cut off gets more room.
    A refusal is not asked again. Raises `NoAnswerError` with the reason, and what the model raises where the endpoint fails.
    """
    counted = _Count(model.digest)
    following = typed_request(request, schema)
    first = await counted.complete(model, following)
    value = read_typed(first, schema, check)
    if not isinstance(value, str):
        return counted.typed(value, first, repaired=False)
    if first.finish == "refused":
        raise counted.failed(value)
    second = await counted.complete(model, _repair(following, first, value), value if first.finish == "length" else "")
    again = read_typed(second, schema, check)
    if not isinstance(again, str):
        return counted.typed(again, second, repaired=True)
    raise counted.failed(f"{again} (of {following.max_tokens * MORE_ROOM})" if second.finish == "length" else again)


def _repair(request: ChatRequest, bad: Choice, fault: str) -> ChatRequest:
    if bad.finish == "length":
        return replace(request, max_tokens=request.max_tokens * MORE_ROOM)
    form = json.dumps(request.schema, ensure_ascii=False, separators=(",", ":"))
    plea = f"{fault[0].upper()}{fault[1:]}. Answer again: one JSON object of this JSON schema, without any other words.\n{form}"
    shown = (Message("assistant", bad.text[:SHOWN_BACK]),) if bad.text.strip() else ()
    if not shown:  # two turns of one speaker in a row are refused by some chat templates
        *before, last = request.messages
        return replace(request, messages=(*before, replace(last, content=f"{last.content}\n\n{plea}")))
    return replace(request, messages=(*request.messages, *shown, Message("user", plea)))


class _Count:
    """Counts what the calls for one answer cost."""

    def __init__(self, model_digest: str) -> None:
        self._model_digest = model_digest
        self._answers: list[ChatAnswer] = []
        self._digests: list[str] = []

    async def complete(self, model: ChatModel, request: ChatRequest, fault: str = "") -> Choice:
        """The first choice; where the request is too long for the model, `fault` is why there is no answer, if given."""
        self._digests.append(request_digest(self._model_digest, request))
        try:
            answer = await model.complete(request)
        except PromptTooLongError as error:
            raise self.failed(fault or f"no valid answer: {error.happened}") from error
        self._answers.append(answer)
        return answer.choices[0]

    def typed(self, value: T, choice: Choice, repaired: bool) -> Typed[T]:
        return Typed(value, choice, *self._spent(), repaired, tuple(self._digests))

    def failed(self, reason: str) -> NoAnswerError:
        return NoAnswerError(reason, *self._spent(), tuple(self._digests))

    def _spent(self) -> tuple[int, int, int]:
        prompt = sum(answer.prompt_tokens for answer in self._answers)
        return len(self._answers), prompt, sum(answer.completion_tokens for answer in self._answers)
