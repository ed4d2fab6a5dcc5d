"""Model calls kept on disk by what decides their answers, so that a resumed run pays nothing twice and a replay needs no model.

One file a call, named by the digest of model and request (`request_digest`): it appears whole or not at all, several processes may
share the folder, and a file that a crash left damaged counts as absent.
"""

from __future__ import annotations

import asyncio
import json
import os
import zlib
from dataclasses import asdict
from pathlib import Path

from kgaudit.errors import ModelError, storage_error
from kgaudit.models.chat import ChatAnswer, ChatModel, ChatRequest, Choice, Token, Usage, request_digest


class CallStore:
    """Answers by request digest in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, digest: str) -> ChatAnswer | None:
        """The answer that is kept, or None. Raises `StorageError`."""
        path = self._path(digest)
        try:
            return _answer_from(json.loads(zlib.decompress(path.read_bytes())))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_error(error, str(path)) from error
        except (zlib.error, ValueError, KeyError, TypeError):
            return None

    def put(self, digest: str, answer: ChatAnswer) -> None:
        """Keeps an answer. Raises `StorageError`."""
        path = self._path(digest)
        raw = zlib.compress(json.dumps(asdict(answer), ensure_ascii=True, separators=(",", ":")).encode("ascii"), 1)
        temporary = path.with_name(f".writing-{os.getpid()}-{path.name}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(raw)
            os.replace(temporary, path)
        except OSError as error:
            raise storage_error(error, str(path)) from error

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest[2:]


def _answer_from(raw: dict[str, object]) -> ChatAnswer:
    choices = raw.pop("choices")
    return ChatAnswer(tuple(map(_choice_from, choices)), **raw)  # type: ignore[call-overload, arg-type]


def _choice_from(raw: dict[str, object]) -> Choice:
    tokens = raw.pop("tokens")
    made = None if tokens is None else tuple(_token_from(one) for one in tokens)  # type: ignore[attr-defined]
    return Choice(tokens=made, **raw)  # type: ignore[arg-type]


def _token_from(raw: dict[str, object]) -> Token:
    alternatives = tuple((text, logprob) for text, logprob in raw.pop("alternatives"))  # type: ignore[attr-defined]
    return Token(alternatives=alternatives, **raw)  # type: ignore[arg-type]


class CachedChat:
    """A model whose answers are kept: what was asked before is answered from the store, what is under way is asked once."""

    def __init__(self, model: ChatModel, folder: Path) -> None:
        self._model = model
        self._store = CallStore(folder)
        self._under_way: dict[str, asyncio.Task[ChatAnswer]] = {}
        self.name, self.digest, self.settings, self.usage = model.name, model.digest, model.settings, model.usage

    async def complete(self, request: ChatRequest) -> ChatAnswer:
        """The answer that is kept, else the model's."""
        digest = request_digest(self.digest, request)
        task = self._under_way.get(digest)
        if task is None:
            kept = self._store.get(digest)
            if kept is not None:
                self.usage.cached += 1
                return kept
            task = self._under_way[digest] = asyncio.create_task(self._ask(digest, request))
            task.add_done_callback(lambda done: self._let_go(digest, done))
        else:
            self.usage.cached += 1
        return await asyncio.shield(task)

    async def _ask(self, digest: str, request: ChatRequest) -> ChatAnswer:
        answer = await self._model.complete(request)
        self._store.put(digest, answer)
        return answer

    def _let_go(self, digest: str, done: asyncio.Task[ChatAnswer]) -> None:
        self._under_way.pop(digest, None)
        if not done.cancelled():
            done.exception()  # whoever still waits gets it; where nobody does, nobody needs to hear of it

    async def aclose(self) -> None:
        """Lets go of what is under way, and of the model's connections."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._model.aclose()


class ReplayChat:
    """A model that only knows what was kept. Raises `ModelError` for a call that was never made."""

    def __init__(self, folder: Path, name: str, digest: str) -> None:
        self._store = CallStore(folder)
        self._folder = folder
        self.name, self.digest = name, digest
        self.settings: dict[str, object] = {"replay": str(folder)}
        self.usage = Usage()

    async def complete(self, request: ChatRequest) -> ChatAnswer:
        """The answer that is kept."""
        kept = self._store.get(request_digest(self.digest, request))
        if kept is None:
            todo = "Replay the run with the prompts and settings it was made with."
            raise ModelError("no answer to this request is kept", where=str(self._folder), todo=todo)
        self.usage.cached += 1
        return kept

    async def aclose(self) -> None:
        """Nothing to let go."""
