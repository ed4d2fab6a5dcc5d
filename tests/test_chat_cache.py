"""Model calls that are kept: nothing is paid twice, damage counts as absence, a replay needs no model."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from chat_stub import say, stub

from kgaudit.errors import ModelError, ServiceError, StorageError, UsageError
from kgaudit.models.chat import ChatAnswer, ChatRequest, Choice, Message, ScriptedChat, Token, request_digest
from kgaudit.models.opening import open_model
from kgaudit.models.replay_chat import CachedChat, CallStore, ReplayChat

REQUEST = ChatRequest((Message("user", "Is it so? 그렇습니까?"),), {"type": "object"}, "it")
ANSWER = ChatAnswer(
    (
        Choice("yes", tokens=(Token("\udcf0\udc9f", -0.5, (("a", -1.5), ("b", float("-inf")))), Token("x", 0.0, ()))),
        Choice("", "refused", refusal="no"),
        Choice("", thoughts_only=True),
    ),
    100,
    20,
    1.5,
    "m",
)


def test_a_call_is_paid_once(tmp_path: Path) -> None:
    async def run(model: CachedChat, *requests: ChatRequest) -> list[ChatAnswer]:
        try:
            return [await model.complete(request) for request in requests]
        finally:
            await model.aclose()

    first = ScriptedChat([ANSWER])
    assert asyncio.run(run(CachedChat(first, tmp_path / "calls"), REQUEST, REQUEST)) == [ANSWER, ANSWER]
    resumed = ScriptedChat([])
    again = CachedChat(resumed, tmp_path / "calls")
    assert asyncio.run(run(again, REQUEST)) == [ANSWER]
    assert (again.usage.calls, again.usage.cached) == (0, 1)


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, messages=(Message("user", "Is it not?"),)),
        replace(REQUEST, messages=(Message("system", REQUEST.messages[0].content),)),
        replace(REQUEST, schema=None),
        replace(REQUEST, max_tokens=9),
        replace(REQUEST, temperature=0.1),
        replace(REQUEST, seed=1),
        replace(REQUEST, samples=2),
        replace(REQUEST, logprobs=1),
    ],
)
def test_another_question_is_another_call(other: ChatRequest) -> None:
    assert request_digest("m", REQUEST) != request_digest("m", other)
    assert request_digest("m", REQUEST) != request_digest("n", REQUEST)


def test_the_same_question_at_once_is_asked_once(tmp_path: Path) -> None:
    async def slow(request: ChatRequest) -> ChatAnswer:
        await asyncio.sleep(0.02)
        return ANSWER

    inner = ScriptedChat(slow)
    model = CachedChat(inner, tmp_path)

    async def run() -> None:
        tasks = [asyncio.create_task(model.complete(REQUEST)) for _ in range(5)]
        await asyncio.sleep(0.005)
        tasks[0].cancel()  # who asked first may go away
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert results[1:] == [ANSWER] * 4
        await model.aclose()

    asyncio.run(run())
    assert len(inner.requests) == 1


def test_faults_are_not_kept(tmp_path: Path) -> None:
    model = CachedChat(ScriptedChat([ServiceError("down"), ANSWER]), tmp_path)

    async def run() -> ChatAnswer:
        with pytest.raises(ServiceError):
            await model.complete(REQUEST)
        return await model.complete(REQUEST)

    assert asyncio.run(run()) == ANSWER


def test_what_a_crash_damaged_counts_as_absent(tmp_path: Path) -> None:
    store = CallStore(tmp_path)
    digest = request_digest("m", REQUEST)
    assert store.get(digest) is None
    store.put(digest, ANSWER)
    assert store.get(digest) == ANSWER
    (path,) = (one for one in tmp_path.rglob("*") if one.is_file())
    whole = path.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"junk", whole[:-1]):
        path.write_bytes(damaged)
        assert store.get(digest) is None
    store.put(digest, ANSWER)
    assert store.get(digest) == ANSWER


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError):
        CallStore(tmp_path / "file").put(request_digest("m", REQUEST), ANSWER)


def test_a_replay_is_opened_by_its_folder_and_name(tmp_path: Path) -> None:
    with stub(lambda body, number: say("yes")) as server:
        model = open_model(f"openai:{server.url}#stub", tmp_path)

        async def run() -> ChatAnswer:
            try:
                return await model.complete(REQUEST)
            finally:
                await model.aclose()

        answer = asyncio.run(run())
    assert asyncio.run(open_model(f"replay:{tmp_path}#stub").complete(REQUEST)) == answer
    with pytest.raises(ModelError):
        asyncio.run(open_model(f"replay:{tmp_path}#another").complete(REQUEST))
    for bad in (f"replay:{tmp_path}", f"replay:{tmp_path}/nothing#stub", f"replay:{tmp_path}#"):
        with pytest.raises(UsageError):
            open_model(bad)


def test_a_replay_knows_only_what_was_kept(tmp_path: Path) -> None:
    model = ScriptedChat([ANSWER])
    asyncio.run(CachedChat(model, tmp_path).complete(REQUEST))
    replayed = ReplayChat(tmp_path, model.name, model.digest)
    assert asyncio.run(replayed.complete(REQUEST)) == ANSWER
    with pytest.raises(ModelError, match="no answer to this request is kept"):
        asyncio.run(replayed.complete(replace(REQUEST, seed=5)))
