"""Chat models: what is asked, what comes back, and the seam behind which an endpoint, a replay and a script stand alike.

A request is plain data, so that its answer can be kept under the digest of what decides it (`kgaudit.models.replay_chat`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any, Literal, Protocol

from kgaudit.errors import ModelError


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call.

    `schema` is a JSON schema that the answer must have (the server holds the model to it where it can), `schema_name` its name.
    `samples` answers are drawn; `logprobs` is how many alternatives of each token come with their log-probability (0: none).
    """

    messages: tuple[Message, ...]
    schema: dict[str, Any] | None = None
    schema_name: str = ""
    max_tokens: int = 256
    temperature: float = 0.0
    seed: int | None = 0
    samples: int = 1
    logprobs: int = 0


@dataclass(frozen=True, slots=True)
class Token:
    """A token of an answer. `logprob` is natural; `alternatives` are (text, logprob) of the likeliest tokens at its place, itself
    among them. Bytes that are no text by themselves stand as surrogates (`surrogateescape`)."""

    text: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer. `text` is what the model says, without its thoughts; `length` means that the token limit cut it off.

    `tokens` are those of the whole answer, thoughts included; None where the server gave none. `refusal` says why it is `refused`.
    `thoughts_only`: the model never got past thinking, so that `text` is empty.
    """

    text: str
    finish: Literal["stop", "length", "refused"] = "stop"
    tokens: tuple[Token, ...] | None = None
    refusal: str = ""
    thoughts_only: bool = False


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What came back: as many `choices` as samples were asked for. `seconds` is wall time, retries included."""

    choices: tuple[Choice, ...]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    model: str = ""


@dataclass(slots=True)
class Usage:
    """What a model was asked for so far. `cached` calls were answered from what an earlier run kept, and cost nothing.

    `cost` is in the currency of the prices, None where none were given. `notes` say what the server could not do.
    """

    calls: int = 0
    cached: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Keeps a note, once."""
        if text not in self.notes:
            self.notes.append(text)


class PromptTooLongError(ModelError):
    """The request does not fit the model's context: a fault of this request, not of the endpoint."""


class ChatModel(Protocol):
    """Answers chat requests, many at once. Raises `ServiceError` where the endpoint is down, `ModelError` where it cannot serve,
    `PromptTooLongError` where the request is too long."""

    @property
    def name(self) -> str:
        """The model's name for people, e.g. `kgaudit-7b`."""
        ...

    @property
    def digest(self) -> str:
        """sha256 of what tells this model from others."""
        ...

    @property
    def settings(self) -> dict[str, object]:
        """Where and how it is asked, for the run's spec; never a secret."""
        ...

    @property
    def usage(self) -> Usage:
        """Counts of this model's calls."""
        ...

    async def complete(self, request: ChatRequest) -> ChatAnswer:
        """The answer to one request."""
        ...

    async def aclose(self) -> None:
        """Lets connections go. The next call opens them anew."""
        ...


_DECISIVE = tuple(one.name for one in fields(ChatRequest) if one.name != "messages")


def request_digest(model_digest: str, request: ChatRequest) -> str:
    """sha256 of all that decides the answer: the model, the messages, the schema and how it is decoded."""
    messages = [(message.role, message.content) for message in request.messages]
    decisive = [getattr(request, name) for name in _DECISIVE]  # `asdict` would copy the schema, at the cost of a whole call
    text = json.dumps([model_digest, messages, *decisive], ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode("ascii")).hexdigest()


Reply = ChatAnswer | Choice | str | Mapping[str, Any]
"""What a script may answer: a whole answer, a choice, a text, or a JSON object."""

Script = Callable[[ChatRequest], Reply | Awaitable[Reply]]


class ScriptedChat:
    """Answers by a function, or from a list, one reply a call; a reply that is an exception is raised. For tests.

    Keeps every request in `requests`. Raises `ModelError` when the list is used up.
    """

    def __init__(self, script: Script | Sequence[Reply | Exception], name: str = "scripted") -> None:
        self._script = script if callable(script) else None
        self._replies = [] if callable(script) else list(script)
        self.name = name
        self.digest = sha256(name.encode()).hexdigest()
        self.settings: dict[str, object] = {"model": name}
        self.usage = Usage()
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatAnswer:
        """The next reply of the script."""
        await asyncio.sleep(0)
        self.requests.append(request)
        reply = await self._reply(request)
        if isinstance(reply, ChatAnswer):
            answer = reply
        else:
            choice = reply if isinstance(reply, Choice) else Choice(reply if isinstance(reply, str) else json.dumps(reply))
            words = sum(len(message.content.split()) for message in request.messages)
            spoken = len(choice.text.split()) * request.samples
            answer = ChatAnswer((choice,) * request.samples, words, spoken, 0.0, self.name)
        self.usage.calls += 1
        self.usage.prompt_tokens += answer.prompt_tokens
        self.usage.completion_tokens += answer.completion_tokens
        return answer

    async def _reply(self, request: ChatRequest) -> Reply:
        if self._script is not None:
            reply = self._script(request)
            return await reply if isinstance(reply, Awaitable) else reply
        if not self._replies:
            raise ModelError(f"the script holds no answer to call {len(self.requests)}", where=self.name)
        following = self._replies.pop(0)
        if isinstance(following, Exception):
            raise following
        return following

    async def aclose(self) -> None:
        """Nothing to let go."""
