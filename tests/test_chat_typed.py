"""Typed answers: one repair for a whole answer that misses the schema, and the confidence in one of its fields."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from kgaudit.errors import ServiceError
from kgaudit.models.chat import ChatAnswer, ChatRequest, Choice, Message, PromptTooLongError, ScriptedChat, Token, request_digest
from kgaudit.models.confidence import Sure, ask_sure, probabilities, smoothed_shares
from kgaudit.models.typed import NoAnswerError, Typed, ask, json_schema

VALUES = ("supported", "refuted", "not_enough")
REQUEST = ChatRequest((Message("system", "Judge."), Message("user", "Is it so?")), max_tokens=50)


class Judgement(BaseModel):
    verdict: Literal["supported", "refuted", "not_enough"]
    quote: str = Field(default="", max_length=40)


GOOD = Judgement(verdict="supported", quote="it is")
TEXT = GOOD.model_dump_json()


def asked(model: ScriptedChat, check: Callable[[Judgement], str | None] | None = None) -> Typed[Judgement]:
    return asyncio.run(ask(model, REQUEST, Judgement, check=check))


def refused(model: ScriptedChat, check: Callable[[Judgement], str | None] | None = None) -> NoAnswerError:
    with pytest.raises(NoAnswerError) as caught:
        asked(model, check)
    return caught.value


@pytest.mark.parametrize("text", [TEXT, f"\n {TEXT} \n", f"```json\n{TEXT}\n```", f"```\n{TEXT}\n```\n"])
def test_a_valid_answer(text: str) -> None:
    model = ScriptedChat([text])
    found = asked(model)
    assert (found.value, found.calls, found.repaired) == (GOOD, 1, False)
    assert found.choice.text == text
    (request,) = model.requests
    assert request.schema == json_schema(Judgement)
    assert request.schema_name == "Judgement"
    assert found.digests == (request_digest(model.digest, request),)
    assert found.completion_tokens > 0


def test_schemas_are_closed_and_every_field_is_asked_for() -> None:
    class Inner(BaseModel):
        a: int = 1

    class Outer(BaseModel):
        one: Inner
        many: list[Inner] = []

    schema = json_schema(Outer)
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["one", "many"]
    assert schema["$defs"]["Inner"]["required"] == ["a"]
    assert schema["$defs"]["Inner"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("bad", "shown"),
    [
        (f"Sure! {TEXT}", "It was not JSON"),
        (TEXT[:20], "It was not JSON"),
        ('{"verdict": "maybe", "quote": ""}', "verdict:"),
        ('{"quote": ""}', "verdict: Field required"),
        (f"[{TEXT}]", "Input should be an object"),
        ("죄송합니다", "It was not JSON"),
    ],
)
def test_one_repair_for_what_misses_the_schema(bad: str, shown: str) -> None:
    model = ScriptedChat([bad, TEXT])
    found = asked(model)
    assert (found.value, found.calls, found.repaired) == (GOOD, 2, True)
    again = model.requests[1].messages
    assert again[:2] == REQUEST.messages, "the shared beginning stays"
    assert (again[2].role, again[2].content) == ("assistant", bad)
    assert again[3].role == "user"
    assert shown.lower() in again[3].content.lower()
    assert '"verdict"' in again[3].content, "the form is shown"
    assert len(found.digests) == 2
    error = refused(ScriptedChat([bad, bad]))
    assert error.reason.startswith("no valid answer: ")
    assert error.calls == 2


@pytest.mark.parametrize(
    ("bad", "reason"), [(Choice(""), "empty"), (Choice(" \n"), "empty"), (Choice("", thoughts_only=True), "thought aloud")]
)
def test_an_answer_that_says_nothing(bad: Choice, reason: str) -> None:
    model = ScriptedChat([bad, bad])
    assert reason in refused(model).reason
    first, second = model.requests
    assert [message.role for message in second.messages] == ["system", "user"], "no empty turn, no two turns of one speaker"
    assert second != first


def test_what_was_cut_off_gets_more_room_and_is_never_taken() -> None:
    for text in (TEXT, TEXT[:25]):
        model = ScriptedChat([Choice(text, "length"), Choice(text, "length")])
        error = refused(model)
        assert "cut off at the token limit" in error.reason
        assert [request.max_tokens for request in model.requests] == [50, 100]
        assert model.requests[0].messages == model.requests[1].messages
    assert asked(ScriptedChat([Choice(TEXT[:9], "length"), TEXT])).repaired


def test_a_refusal_is_not_asked_again() -> None:
    model = ScriptedChat([Choice("", "refused", refusal="I cannot help.")])
    error = refused(model)
    assert error.reason == "the model refused to answer: I cannot help."
    assert (error.calls, len(model.requests)) == (1, 1)


def test_what_a_model_writes_stays_short_in_a_reason() -> None:
    long = Choice("", "refused", refusal="I\ncannot " * 100)
    assert len(refused(ScriptedChat([long])).reason) < 260
    assert "\n" not in refused(ScriptedChat([long])).reason


def test_a_check_finds_fault_with_the_content() -> None:
    def check(value: Judgement) -> str | None:
        return None if value.quote else "the quote is missing"

    bare = Judgement(verdict="refuted").model_dump_json()
    model = ScriptedChat([bare, TEXT])
    assert asked(model, check).repaired
    assert "the quote is missing" in model.requests[1].messages[-1].content
    assert refused(ScriptedChat([bare, bare]), check).reason == "no valid answer: the quote is missing"


def test_what_does_not_fit_the_context_is_not_judged() -> None:
    assert "too long" in refused(ScriptedChat([PromptTooLongError("the request is too long", where="x")])).reason
    cut_then_full = ScriptedChat([Choice(TEXT, "length"), PromptTooLongError("the request is too long", where="x")])
    assert "cut off" in refused(cut_then_full).reason


def test_an_endpoint_that_is_down_stops_the_run() -> None:
    with pytest.raises(ServiceError):
        asked(ScriptedChat([ServiceError("down")]))


def tokens_of(*pieces: str, alternatives: dict[int, dict[str, float]] | None = None) -> tuple[Token, ...]:
    """Tokens with the probabilities given for some; others are certain."""
    made = []
    for index, piece in enumerate(pieces):
        shares = (alternatives or {}).get(index, {piece: 1.0})
        made.append(Token(piece, math.log(shares[piece]), tuple((text, math.log(share)) for text, share in shares.items())))
    return tuple(made)


def answer_in(*pieces: str, alternatives: dict[int, dict[str, float]] | None = None, tail: str = "") -> Choice:
    tokens = tokens_of(*pieces, *([tail] if tail else []), alternatives=alternatives)
    return Choice("".join(pieces), tokens=tokens)


@pytest.mark.parametrize(
    ("pieces", "at", "alternatives"),
    [
        (('{"', "verdict", '":', ' "', "supported", '"', "}"), 4, {"supported": 0.6, "ref": 0.3, "not": 0.06, "maybe": 0.04}),
        (('{"verdict', '":"', "supp", "orted", '"}'), 2, {"supp": 0.6, "refuted": 0.3, "n": 0.06, " x": 0.04}),
        (('{"verdict', '": "s', "upported", '"}'), 1, {'": "s': 0.6, '": "re': 0.3, '": "not_enough': 0.06, '":\n': 0.04}),
        (('{"verdict":', '"supported","', 'quote":""}'), 1, {'"supported","': 0.6, '"refuted"': 0.3, '"not': 0.06, "null": 0.04}),
    ],
)
def test_confidence_from_the_token_where_the_value_begins(pieces: tuple[str, ...], at: int, alternatives: dict[str, float]) -> None:
    found = probabilities(answer_in(*pieces, alternatives={at: alternatives}, tail="<|end|>"), "verdict", VALUES)
    assert found is not None
    assert found == pytest.approx({"supported": 0.6 / 0.96, "refuted": 0.3 / 0.96, "not_enough": 0.06 / 0.96})


def test_values_with_a_common_beginning_are_told_apart_further_on() -> None:
    values = ("not_supported", "not_known", "supported")
    choice = answer_in(
        '{"verdict":"',
        "not",
        "_",
        "known",
        '"}',
        alternatives={1: {"not": 0.8, "supported": 0.2}, 3: {"known": 0.75, "supported": 0.25}},
    )
    assert probabilities(choice, "verdict", values) == pytest.approx({"not_supported": 0.2, "not_known": 0.6, "supported": 0.2})


def test_a_value_that_is_a_beginning_of_another() -> None:
    choice = answer_in('{"v":"', "support", '"}', alternatives={2: {'"}': 0.9, "ed": 0.1}})
    assert probabilities(choice, "v", ("support", "supported")) == pytest.approx({"support": 0.9, "supported": 0.1})


def test_what_is_not_listed_counts_as_little_as_it_may() -> None:
    one_sided = answer_in('{"verdict":"', "supported", '"}', alternatives={1: {"supported": 0.95}})
    found = probabilities(one_sided, "verdict", VALUES)
    assert found is not None
    assert 0.9 <= found["supported"] < 1.0
    assert found["refuted"] == found["not_enough"] > 0


def test_the_field_is_found_where_it_stands() -> None:
    nested = '{"why": "a \\"verdict\\": \\"refuted\\"", "more": {"verdict": "refuted"}, "verdict": "supported"}'
    pieces = (nested[: nested.rindex('"supported') + 1], "supported", '"}')
    found = probabilities(answer_in(*pieces, alternatives={1: {"supported": 0.7, "refuted": 0.3}}), "verdict", VALUES)
    assert found is not None
    assert found["supported"] > 0.69


def test_thoughts_before_the_answer_do_not_count() -> None:
    thoughts = tokens_of('<think>{"verdict":"', "refuted", '"}</think>', alternatives={1: {"refuted": 0.99, "supported": 0.01}})
    answer = tokens_of('{"verdict":"', "supported", '"}', alternatives={1: {"supported": 0.6, "refuted": 0.4}})
    choice = Choice('{"verdict":"supported"}', tokens=thoughts + answer)
    found = probabilities(choice, "verdict", VALUES)
    assert found is not None
    assert found["supported"] == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize(
    "choice",
    [
        Choice(TEXT),
        Choice(TEXT, tokens=()),
        Choice(TEXT, tokens=tokens_of("something", "else")),
        Choice("no JSON", tokens=tokens_of("no JSON")),
        Choice('{"quote": ""}', tokens=tokens_of('{"quote": ""}')),
        Choice('{"verdict": 3}', tokens=tokens_of('{"verdict": 3}')),
        Choice('{"verdict": "else"}', tokens=tokens_of('{"verdict": "', "else", '"}')),
    ],
)
def test_no_confidence_is_made_up(choice: Choice) -> None:
    assert probabilities(choice, "verdict", VALUES) is None


@given(st.data())
def test_probabilities_add_up_whatever_the_cuts(data: st.DataObject) -> None:
    value = data.draw(st.sampled_from(VALUES))
    text = json.dumps({"quote": data.draw(st.text(max_size=8)), "verdict": value})
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=12)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    tokens = []
    for piece in pieces:
        others = data.draw(st.lists(st.tuples(st.text(max_size=3), st.floats(-20, -0.1)), max_size=3))
        tokens.append(Token(piece, data.draw(st.floats(-5, 0)), tuple(others)))
    found = probabilities(Choice(text, tokens=tuple(tokens)), "verdict", VALUES)
    assert found is not None
    assert set(found) == set(VALUES)
    assert math.isclose(sum(found.values()), 1.0)
    assert all(0.0 <= share <= 1.0 for share in found.values())


def sure(model: ScriptedChat, samples: int = 4) -> Sure[Judgement]:
    return asyncio.run(ask_sure(model, REQUEST, Judgement, "verdict", VALUES, samples=samples))


def test_log_probabilities_come_first() -> None:
    model = ScriptedChat(
        [answer_in('{"verdict":"', "supported", '"}', alternatives={1: {"supported": 0.8, "refuted": 0.15, "not": 0.05}})]
    )
    found = sure(model)
    assert found.source == "logprobs"
    assert found.probabilities == pytest.approx({"supported": 0.8, "refuted": 0.15, "not_enough": 0.05})
    assert found.calls == 1
    assert model.requests[0].logprobs > 1


def test_samples_where_there_are_no_log_probabilities() -> None:
    def script(request: ChatRequest) -> Any:
        if request.samples == 1:
            return TEXT
        said = ("supported", "refuted", "supported")
        valid = tuple(Choice(Judgement(verdict=one).model_dump_json()) for one in said)  # type: ignore[arg-type]
        return ChatAnswer((*valid, Choice("what?")), 10, 20)

    model = ScriptedChat(script)
    found = sure(model)
    assert found.source == "samples"
    assert found.probabilities == pytest.approx({"supported": 3.5 / 5.5, "refuted": 1.5 / 5.5, "not_enough": 0.5 / 5.5})
    assert (found.calls, len(found.digests)) == (2, 2)
    assert model.requests[1].temperature > 0
    assert model.requests[1].schema == json_schema(Judgement)


def test_no_samples_and_bad_samples_leave_it_unknown() -> None:
    found = sure(ScriptedChat([TEXT]), samples=0)
    assert (found.probabilities, found.source, found.calls) == (None, "none", 1)
    found = sure(ScriptedChat([TEXT, "what?"]))
    assert (found.probabilities, found.source) == (None, "none")
    found = sure(ScriptedChat([TEXT, PromptTooLongError("no room")]))
    assert (found.probabilities, found.source) == (None, "none")


def test_a_few_samples_are_no_certainty() -> None:
    shares = smoothed_shares(["supported"] * 6, VALUES)
    assert 0.8 < shares["supported"] < 1.0
    assert sum(shares.values()) == pytest.approx(1.0)
