"""What is read out of the answers of endpoints: thoughts, refusals, cut-off answers, log-probabilities; addresses of models."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgaudit.errors import KgauditError, UsageError
from kgaudit.models.address import ModelAddress, key_for, parse_model
from kgaudit.models.chat import ChatRequest, Choice, Message, Token
from kgaudit.models.wire import read_body

TYPED = ChatRequest((Message("user", "?"),), schema={"type": "object"})
FREE = ChatRequest((Message("user", "?"),))
GOOD = '{"verdict": "supported", "quote": "it is"}'
DRAFT = '{"verdict": "refuted", "quote": ""}'


def read(message: dict[str, Any], request: ChatRequest = TYPED, finish: str | None = "stop", **choice: Any) -> Choice:
    raw = json.dumps({"choices": [{"message": message, "finish_reason": finish, **choice}]}).encode()
    return read_body(raw, request, "there")[0][0]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (GOOD, GOOD),
        (f"<think>\nDraft: {DRAFT}\nNo.\n</think>\n\n{GOOD}", GOOD),
        (f"<think></think>{GOOD}", GOOD),
        (f"hm, {DRAFT}? no\n</think>\n{GOOD}", GOOD),
        (f"[THINK]{DRAFT}[/THINK]{GOOD}", GOOD),
        (f"<think>it quotes </think>{DRAFT} as text</think>{GOOD}", GOOD),
        ('<think>x</think>{"verdict": "supported", "quote": "a </think> b"}', '{"verdict": "supported", "quote": "a </think> b"}'),
        ('{"quote": "a </think> b"}', '{"quote": "a </think> b"}'),
        (f"<think>\nDraft: {DRAFT} but then", ""),
        (f"<THINKING>{DRAFT}", ""),
    ],
)
def test_thoughts_are_no_answers(said: str, text: str) -> None:
    choice = read({"content": said})
    assert choice.text == text
    assert choice.thoughts_only == (text == "")


def test_free_text_may_speak_of_tags_only_behind_its_thoughts() -> None:
    assert read({"content": "<think>a</think> b </think> c"}, FREE).text == "c"
    assert read({"content": "plain words"}, FREE).text == "plain words"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_an_answer_among_the_thoughts_counts_where_there_is_nothing_else(field: str) -> None:
    assert read({"content": None, field: GOOD}).text == GOOD
    assert read({"content": "", field: f"Draft: {DRAFT}"}).text == ""
    assert read({"content": "", field: f"Draft: {DRAFT}"}).thoughts_only
    assert read({"content": None, field: DRAFT}, finish="length").text == "", "cut off while it thought"
    assert read({"content": GOOD, field: DRAFT}).text == GOOD
    assert read({"content": None, field: GOOD}, FREE).text == "", "free text is never taken out of thoughts"


@pytest.mark.parametrize(
    ("message", "finish", "outcome", "refusal"),
    [
        ({"content": None, "refusal": "I cannot help."}, "stop", "refused", "I cannot help."),
        ({"content": ""}, "content_filter", "refused", "finish_reason content_filter"),
        ({"content": GOOD, "refusal": None}, "stop", "stop", ""),
        ({"content": GOOD, "refusal": ""}, None, "stop", ""),
        ({"content": GOOD}, "length", "length", ""),
        ({"content": None}, "stop", "stop", ""),
        ({}, "stop", "stop", ""),
    ],
)
def test_how_an_answer_ended(message: dict[str, Any], finish: str | None, outcome: str, refusal: str) -> None:
    choice = read(message, finish=finish)
    assert (choice.finish, choice.refusal) == (outcome, refusal)


def test_content_in_parts_and_halves_of_characters() -> None:
    assert read({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}, FREE).text == "ab"
    assert read({"content": "\ud83d\ude00 \ud83d!"}, FREE).text == "😀 �!"


@pytest.mark.parametrize(
    "logprobs",
    [None, {}, {"content": None}, {"content": []}, {"content": [{"token": "a"}]},
     {"content": [{"token": "a", "logprob": float("nan")}]},
     {"content": ["a"]}, {"content": [{"token": None, "logprob": -1}]}, "yes"],
)  # fmt: skip
def test_log_probabilities_that_are_none(logprobs: Any) -> None:
    assert read({"content": "a"}, FREE, logprobs=logprobs).tokens is None


def test_log_probabilities_with_bytes_and_alternatives() -> None:
    content = [
        {"token": "�", "bytes": [240, 159], "logprob": -0.5, "top_logprobs": [{"token": "a", "bytes": None, "logprob": -1.5}]},
        {"token": "b", "logprob": -9999.0, "top_logprobs": None},
    ]
    tokens = read({"content": "x"}, FREE, logprobs={"content": content}).tokens
    assert tokens == (Token("\udcf0\udc9f", -0.5, (("a", -1.5),)), Token("b", -9999.0, ()))


def test_counts_that_are_no_counts() -> None:
    for usage in (None, [], {"prompt_tokens": "9", "completion_tokens": -1}, {"prompt_tokens": None}):
        raw = json.dumps({"choices": [{"message": {"content": "a"}}], "usage": usage, "model": 5}).encode()
        assert read_body(raw, FREE, "there")[1:] == (0, 0, "")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(
    st.sampled_from(["choices", "message", "content", "finish_reason", "logprobs", "usage", "error", "refusal", "reasoning", "token",
                     "top_logprobs", "bytes", "code"]), inner)))  # fmt: skip
def test_no_envelope_breaks_the_reader(payload: Any) -> None:
    with contextlib.suppress(KgauditError):
        read_body(json.dumps(payload).encode(), TYPED, "there")


def test_addresses() -> None:
    assert parse_model("openai:http://gpu:8000/v1#kgaudit-7b") == ModelAddress(("http://gpu:8000/v1",), "kgaudit-7b")
    assert parse_model("openai:https://a/v1/,http://b:1/v1/chat/completions#org/name").urls == ("https://a/v1", "http://b:1/v1")
    after = parse_model("openai:http://a/v1?in_flight=8&timeout=2.5#a,b,http://b/v1,https://c/v1")
    assert after == ModelAddress(("http://a/v1", "http://b/v1", "https://c/v1"), "a,b", in_flight=8, timeout=2.5)
    assert parse_model("openai:http://a/v1").name == ""
    assert parse_model("openai:http://[::1]:8000/v1#m").urls == ("http://[::1]:8000/v1",)


@pytest.mark.parametrize(
    "text",
    ["gpt-5", "openai:gpt-5", "http://a/v1#m", "openai:ftp://a/v1#m", "openai:http:///v1#m", "openai:http://a:x/v1#m",
     "openai:http://a/v1?in_flight=0#m", "openai:http://a/v1?in_flight=1.5#m", "openai:http://a/v1?timeout=nan#m",
     "openai:http://a/v1?deadline=soon#m", "openai:http://a/v1?input_price=-1#m", "openai:#m", "openai:http://a/v1,gpu2#m"],
)  # fmt: skip
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_model(text)
    assert caught.value.todo


@pytest.mark.parametrize(
    "text",
    [
        "openai:http://me:hush@a/v1#m",
        "http://me:hush@a/v1",
        "openai:http://a/v1?api_key=hush#m",
        "openai:http://a/v1,http://x:hush@b#m",
    ],
)
def test_no_message_repeats_a_secret(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_model(text)
    assert "hush" not in str(caught.value)
    assert "hush" not in repr(caught.value.args)


def test_which_key_goes_where() -> None:
    both = {"KGAUDIT_MODEL_KEY": "ours", "OPENAI_API_KEY": "theirs"}
    assert key_for("http://gpu:8000/v1", both) == "ours"
    theirs = {"OPENAI_API_KEY": " theirs\n"}
    assert key_for("https://api.example/v1", theirs) == "theirs"
    assert key_for("http://127.0.0.1:8000/v1", theirs) == "theirs"
    assert key_for("http://localhost/v1", theirs) == "theirs"
    assert key_for("http://gpu:8000/v1", theirs) is None, "it would travel unencrypted to another machine"
    assert key_for("https://a/v1", {"KGAUDIT_MODEL_KEY": "  "}) is None
