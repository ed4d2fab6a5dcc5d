"""The client of model endpoints against a stub server on loopback: faults, overload, several endpoints, keys."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate
from typing import Any

import pytest
from chat_stub import Reply, completion, say, stub

from kgaudit import retries
from kgaudit.errors import ModelError, ServiceError, UsageError
from kgaudit.models.address import parse_model
from kgaudit.models.chat import ChatAnswer, ChatRequest, Message, PromptTooLongError
from kgaudit.models.openai_client import OpenAIChat
from kgaudit.models.pressure import LONGEST_REST, AdaptiveLimit, Endpoint, Endpoints

REQUEST = ChatRequest((Message("user", "Is it so?"),))
SECRET = "sk-very-secret-1"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(retries, "LONGEST_PAUSE", 0.05)


def chat(*urls: str, query: str = "timeout=5&deadline=5", **environment: str) -> OpenAIChat:
    return OpenAIChat(parse_model(f"openai:{','.join(urls)}?{query}#stub"), environment)


def complete(model: OpenAIChat, *requests: ChatRequest) -> list[ChatAnswer]:
    async def run() -> list[ChatAnswer]:
        try:
            return await asyncio.gather(*map(model.complete, requests or (REQUEST,)))
        finally:
            await model.aclose()

    return asyncio.run(run())


def error_body(message: str, code: str = "x") -> dict[str, Any]:
    return {"error": {"message": message, "type": code, "code": code}}


def test_a_request_and_its_answer() -> None:
    request = ChatRequest(
        (Message("system", "Be short."), Message("user", "é?")), {"type": "object"}, "it", 99, 0.5, seed=7, samples=2, logprobs=40
    )
    with stub(lambda body, number: say("yes", n=2)) as server:
        model = OpenAIChat(parse_model(f"openai:{server.url}?input_price=2&output_price=8#stub"), {})
        (answer,) = complete(model, request)
    assert server.seen[0].path == "/v1/chat/completions"
    assert server.seen[0].body == {
        "model": "stub",
        "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "é?"}],
        "max_tokens": 99,
        "temperature": 0.5,
        "seed": 7,
        "n": 2,
        "logprobs": True,
        "top_logprobs": 20,
        "response_format": {"type": "json_schema", "json_schema": {"name": "it", "schema": {"type": "object"}, "strict": True}},
    }
    assert [choice.text for choice in answer.choices] == ["yes", "yes"]
    assert (answer.prompt_tokens, answer.completion_tokens, answer.model) == (100, 20, "stub")
    assert (model.usage.calls, model.usage.prompt_tokens, model.usage.completion_tokens) == (1, 100, 20)
    assert model.usage.cost == pytest.approx((100 * 2 + 20 * 8) / 1e6)


@pytest.mark.parametrize(
    "bad",
    [
        Reply(429, error_body("slow down")),
        Reply(500, error_body("oops")),
        Reply(503, b"<html><head><style>x</style></head><body>busy</body></html>"),
        Reply(529, b""),
        Reply(408, b""),
        Reply(reset=True),
        Reply(body=completion("yes"), cut=True),
        Reply(body=b'{"choices": ['),
        Reply(body=b"null"),
        Reply(body={"object": "chat.completion"}),
        Reply(body={"choices": []}),
        Reply(body={"choices": [{"index": 0}]}),
        Reply(body=completion(None, finish="abort")),
        Reply(body={"error": {"message": "upstream", "code": 502}}),
        Reply(body=b"[" * 100_000),
    ],
    ids=lambda reply: f"{reply.status}-{str(reply.body)[:18]}{'-reset' if reply.reset else ''}{'-cut' if reply.cut else ''}",
)
def test_transient_faults_are_tried_again(bad: Reply) -> None:
    with stub(lambda body, number: bad if number < 2 else say("yes")) as server:
        model = chat(server.url)
        (answer,) = complete(model)
    assert answer.choices[0].text == "yes"
    assert len(server.seen) == 3
    assert model.usage.retries == 2
    assert model.usage.calls == 1


@pytest.mark.parametrize(
    ("reply", "kind", "said", "todo"),
    [
        (Reply(401, error_body("bad key")), ModelError, "401 (bad key)", "KGAUDIT_MODEL_KEY"),
        (Reply(404, {"detail": "Not Found"}), ModelError, "404 (Not Found)", "kgaudit doctor"),
        (Reply(308, b"", {"Location": "https://there/v1"}), ModelError, "308", "https://there/v1"),
        (Reply(429, error_body("quota", "insufficient_quota")), ModelError, "quota", "budget"),
        (Reply(400, error_body("This model's maximum context length is 4096 tokens")), PromptTooLongError, "too long", ""),
        (Reply(413, b""), PromptTooLongError, "too long", ""),
        (Reply(418, b"teapot"), ModelError, "418 (teapot)", ""),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Reply) else "",
)
def test_permanent_faults_are_not(reply: Reply, kind: type[Exception], said: str, todo: str) -> None:
    with stub(lambda body, number: reply) as server, pytest.raises(kind) as caught:
        complete(chat(server.url))
    assert len(server.seen) == 1
    assert said in str(caught.value)
    assert todo in str(caught.value)
    assert f"127.0.0.1:{server.port}" in str(caught.value)


def test_a_stalled_request_is_given_up_and_tried_again() -> None:
    with stub(lambda body, number: Reply(body=completion("late"), delay=9.0 if number == 0 else 0.0)) as server:
        (answer,) = complete(chat(server.url, query="timeout=0.2&deadline=5"))
    assert answer.choices[0].text == "late"
    assert len(server.seen) == 2


def test_an_endpoint_that_stays_down_ends_in_time_with_its_name() -> None:
    with stub(lambda body, number: say("")) as server:
        url = server.url
    begun = time.monotonic()
    with pytest.raises(ServiceError, match="cannot be reached") as caught:
        complete(chat(url, query="timeout=1&deadline=0.3"))
    assert time.monotonic() - begun < 3
    assert url in str(caught.value)


def test_an_address_where_nobody_ever_was_is_given_up_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgaudit.models.openai_client.NEVER_THERE_SECONDS", 0.2)
    with stub(lambda body, number: say("")) as server:
        url = server.url
    begun = time.monotonic()
    with pytest.raises(ModelError, match="cannot be reached"):
        complete(chat(url, query="timeout=1&deadline=60"))
    assert time.monotonic() - begun < 5
    with pytest.raises(ModelError, match="host of the endpoint is not known"):
        complete(chat("http://nowhere.invalid:1/v1", query="timeout=1&deadline=60"))


def test_a_server_of_another_protocol_is_given_up_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgaudit.models.openai_client.NEVER_THERE_SECONDS", 0.2)
    begun = time.monotonic()
    with stub(lambda body, number: Reply(reset=True)) as server, pytest.raises(ModelError, match="closed the connection"):
        complete(chat(server.url, query="timeout=5&deadline=60"))
    assert time.monotonic() - begun < 5


def test_an_endpoint_that_was_there_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgaudit.models.openai_client.NEVER_THERE_SECONDS", 0.0)

    async def run() -> None:
        with stub(lambda body, number: say("a")) as server:
            model = chat(server.url, query="timeout=1&deadline=60")
            await model.complete(REQUEST)
        later = asyncio.create_task(model.complete(REQUEST))
        await asyncio.sleep(0.3)
        with stub(lambda body, number: say("b"), port=server.port):
            assert (await later).choices[0].text == "b"
        await model.aclose()

    asyncio.run(run())


def test_trouble_is_said_while_it_lasts(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("kgaudit.models.openai_client.SAY_EVERY", 0.0)
    with stub(lambda body, number: Reply(503, b"busy[31m") if number < 2 else say("yes")) as server:
        complete(chat(server.url))
    assert len(caplog.messages) == 2
    assert "503" in caplog.messages[0]
    assert server.url in caplog.messages[0]
    assert "\x1b" not in caplog.messages[0].encode().decode("unicode_escape") or "\x1b" in caplog.messages[0]
    assert "" not in caplog.messages[0]


def test_a_server_that_echoes_a_document_refuses_nothing() -> None:
    """A complaint that is not about an option, however many options the text it repeats speaks of."""
    body = {"error": {"message": "bad role", "input": "response_format seed logprobs temperature"}}
    with stub(lambda request, number: Reply(400, body)) as server, pytest.raises(ModelError, match="bad role"):
        complete(chat(server.url))
    assert len(server.seen) == 1


@pytest.mark.parametrize(("ahead", "least"), [("1", 1.0), ("date", 1.0)])
def test_a_server_that_names_a_pause_gets_it(ahead: str, least: float) -> None:
    """A whole second passes for a date two ahead, as dates have no fractions."""

    def script(body: dict[str, Any], number: int) -> Reply:
        after = formatdate(time.time() + 2, usegmt=True) if ahead == "date" else ahead
        return Reply(429, b"", {"Retry-After": after}) if number == 0 else say("yes")

    with stub(script) as server:
        complete(chat(server.url))
    assert server.seen[1].time - server.seen[0].time >= least


def test_others_wait_for_the_same_pause() -> None:
    """What is begun while the server has asked for a pause is not sent before it is over."""

    async def run(model: OpenAIChat) -> None:
        first = asyncio.create_task(model.complete(REQUEST))
        await asyncio.sleep(0.3)
        await model.complete(REQUEST)
        await first
        await model.aclose()

    with stub(lambda body, number: Reply(503, b"", {"Retry-After": "1"}) if number == 0 else say("yes")) as server:
        asyncio.run(run(chat(server.url)))
    times = [one.time for one in server.seen]
    assert len(times) == 3
    assert min(times[1:]) - times[0] >= 1.0


@pytest.mark.parametrize("header", ["Fri, 06 Nov 2020 07:00:00 GMT", "soon", "-3", "nan", "1e400", ""])
def test_a_pause_that_means_nothing_is_an_ordinary_one(header: str) -> None:
    with stub(lambda body, number: Reply(503, b"", {"Retry-After": header}) if number < 2 else say("yes")) as server:
        begun = time.monotonic()
        complete(chat(server.url))
    assert time.monotonic() - begun < 2


def test_a_pause_beyond_the_deadline_is_not_slept_through() -> None:
    far = {"Retry-After": "Tue, 01 Dec 2099 00:00:00 GMT"}
    begun = time.monotonic()
    with stub(lambda body, number: Reply(429, error_body("slow down"), far)) as server, pytest.raises(ServiceError) as caught:
        complete(chat(server.url, query="timeout=1&deadline=30"))
    assert time.monotonic() - begun < 5
    assert "429" in str(caught.value)
    assert server.url in str(caught.value)
    assert "done is kept" in str(caught.value)


def test_retry_after_counts_by_the_servers_clock() -> None:
    assert retries.retry_after("120") == 120.0
    assert retries.retry_after(None) is None
    slow_clock = "Mon, 01 Jan 2024 10:00:00 GMT"
    assert retries.retry_after("Mon, 01 Jan 2024 10:00:30 GMT", slow_clock) == 30.0
    assert retries.retry_after("Mon, 01 Jan 2024 10:00:30 GMT", None, now=1704103200.0) == 30.0
    assert retries.retry_after("Mon, 01 Jan 2024 10:00:30 -0000", "no date", now=1704103200.0) == 30.0


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("response_format", "Unknown parameter: 'response_format'"),
        ("logprobs", "logprobs is not supported by this model"),
        ("n", "Only one completion: 'n' must be 1"),
        ("seed", "seed: Extra inputs are not permitted"),
        ("temperature", "Unsupported value: 'temperature' does not support 0"),
        ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
    ],
)
def test_what_a_server_refuses_by_name_is_left_out(option: str, complaint: str) -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        return Reply(400, error_body(complaint)) if option in body else say("{}")

    request = ChatRequest((Message("user", "?"),), {"type": "object"}, samples=2, logprobs=5, seed=1)
    with stub(script) as server:
        model = chat(server.url)
        complete(model, request)
        complete(model, request)
    assert option in model.refused
    assert sum(option in one.body for one in server.seen) == 1, "it is found out once"
    assert any(option in note for note in model.usage.notes)
    last = server.seen[-1].body
    if option == "response_format":
        assert '{"type":"object"}' in last["messages"][-1]["content"], "then the prompt says the form"
    if option == "max_tokens":
        assert last["max_completion_tokens"] == 256


def test_samples_are_drawn_one_by_one_where_n_is_not_honoured() -> None:
    with stub(lambda body, number: say(f"answer {number}")) as server:
        model = chat(server.url)
        (answer,) = complete(model, ChatRequest((Message("user", "?"),), samples=3, seed=5))
    assert [choice.text for choice in answer.choices] == ["answer 0", "answer 1", "answer 2"]
    assert len({one.body["seed"] for one in server.seen}) == 3, "equal seeds would draw the same answer again"
    assert answer.completion_tokens == 30
    assert "n" in model.refused


def test_keys_travel_in_the_header_and_nowhere_else() -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        return Reply(401, error_body(f"Incorrect API key provided: {SECRET}"))

    with stub(script) as server, pytest.raises(ModelError) as caught:
        complete(chat(server.url, KGAUDIT_MODEL_KEY=f" {SECRET}\n", OPENAI_API_KEY="sk-other"))
    assert server.seen[0].headers["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(chat(server.url, KGAUDIT_MODEL_KEY=SECRET).settings)


def test_redirects_are_not_followed_with_the_key() -> None:
    with stub(lambda body, number: say("yes")) as other, stub(lambda b, n: Reply(307, b"", {"Location": f"{other.url}/x"})) as server:
        with pytest.raises(ModelError, match="307"):
            complete(chat(server.url, KGAUDIT_MODEL_KEY=SECRET))
        assert not other.seen


def test_no_more_in_flight_than_allowed_and_no_fewer() -> None:
    with stub(lambda body, number: Reply(body=completion("yes"), delay=0.05)) as server:
        begun = time.monotonic()
        complete(chat(server.url, query="in_flight=8"), *[REQUEST] * 40)
    assert server.most_at_once == 8
    assert time.monotonic() - begun < 40 * 0.05, "they went side by side"


def test_overload_means_fewer_at_once() -> None:
    """A server that serves four at once and refuses the rest gets all its answers out of a hundred requests."""

    def script(body: dict[str, Any], number: int) -> Reply:
        return Reply(429, b"") if server.now > 4 else Reply(body=completion("yes"), delay=0.01)

    with stub(script) as server:
        model = chat(server.url, query="in_flight=64&deadline=20")
        answers = complete(model, *[REQUEST] * 100)
    assert len(answers) == 100
    assert model._limit.allowed < 64


def test_endpoints_take_turns_and_a_dead_one_is_passed_over() -> None:
    with stub(lambda body, number: say("a")) as one, stub(lambda body, number: say("b")) as two:
        complete(chat(one.url, two.url), *[REQUEST] * 20)
        assert (len(one.seen), len(two.seen)) == (10, 10)
        dead = "http://127.0.0.1:9/v1"
        model = chat(one.url, dead, two.url)
        answers = complete(model, *[REQUEST] * 30)
    assert len(answers) == 30
    assert len(one.seen) + len(two.seen) == 50


def test_a_pause_of_one_endpoint_sends_the_rest_to_the_other() -> None:
    begun = time.monotonic()
    with stub(lambda b, n: Reply(429, b"", {"Retry-After": "60"})) as full, stub(lambda body, number: say("yes")) as free:
        complete(chat(full.url, free.url), *[REQUEST] * 10)
        assert len(full.seen) <= 5
        assert len(free.seen) == 10
    assert time.monotonic() - begun < 5


def test_the_endpoint_that_failed_comes_back_when_it_has_rested() -> None:
    endpoints = [Endpoint("a"), Endpoint("b")]
    turns = Endpoints(endpoints)
    endpoints[0].failed(None)
    assert {turns.next().url for _ in range(4)} == {"b"}
    endpoints[1].failed(5.0)
    assert turns.next().url == "a", "one that rests is better than one that asked for a pause"
    assert turns.pause() == 0
    endpoints[0].failed(3.0)
    assert 2 < turns.pause() <= 3
    assert turns.next().url == "a"
    for endpoint in endpoints:
        endpoint.served()
        endpoint.paused_until = 0
    assert {turns.next().url for _ in range(2)} == {"a", "b"}


def test_the_limit_halves_grows_back_and_keeps_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgaudit.models.pressure.CUT_SECONDS", 0.0)
    limit = AdaptiveLimit(8)
    limit.overloaded()
    limit.overloaded()
    assert limit.allowed == 2
    for _ in range(100):
        limit.served()
    assert limit.allowed == 8
    for _ in range(10):
        limit.overloaded()
    assert limit.allowed == 1
    order: list[int] = []

    async def one(number: int) -> None:
        async with limit:
            order.append(number)
            await asyncio.sleep(0)

    async def run() -> None:
        tasks = [asyncio.create_task(one(number)) for number in range(6)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with limit:  # the place of the cancelled one was not lost
            order.append(99)

    asyncio.run(asyncio.wait_for(run(), 5))
    assert order == [0, 1, 3, 4, 5, 99]


def test_what_begins_together_is_set_apart_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgaudit.models.pressure.APART_SECONDS", 0.02)
    limit = AdaptiveLimit(8)
    entered: list[float] = []

    async def worker() -> None:
        for _ in range(2):
            async with limit:
                entered.append(time.monotonic())
                await asyncio.sleep(0.2)

    async def run() -> None:
        tasks = [asyncio.create_task(worker()) for _ in range(6)]
        await asyncio.sleep(0.05)
        tasks[5].cancel()  # while it waits for its turn
        await asyncio.gather(*tasks, return_exceptions=True)
        begun = time.monotonic()
        async with limit:
            assert time.monotonic() - begun < 0.01, "one alone does not wait"

    asyncio.run(asyncio.wait_for(run(), 5))
    assert len(entered) == 10
    first, again = entered[:5], entered[5:]
    assert first[-1] - first[0] >= 4 * 0.02 * 0.9
    assert again[-1] - again[0] < 0.2, "they stay apart by themselves"


def test_an_answer_without_end_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgaudit.models.openai_client.LARGEST_ANSWER", 1000)
    with stub(lambda body, number: say("x" * 5000)) as server, pytest.raises(ServiceError, match="longer than"):
        complete(chat(server.url, query="timeout=1&deadline=0.2"))


def test_a_model_needs_a_name_and_a_certificate_file_must_be_one() -> None:
    with pytest.raises(UsageError, match="names no model"):
        OpenAIChat(parse_model("openai:http://127.0.0.1:1/v1"), {})
    with pytest.raises(UsageError, match="KGAUDIT_MODEL_CA"):
        complete(chat("https://127.0.0.1:9/v1", KGAUDIT_MODEL_CA="/nowhere.pem"))


def test_a_server_may_be_down_for_thousands_of_tries() -> None:
    endpoint = Endpoint("http://a")
    for _ in range(3000):
        endpoint.failed(None)
    assert 0 < endpoint.rests_until - time.monotonic() <= LONGEST_REST
