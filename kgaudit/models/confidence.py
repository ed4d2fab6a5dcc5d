"""How sure a chat model is of one field of its answer: from the log-probabilities of the tokens where the field's value begins, or,
where a server gives none, from the shares of several samples. A number that the model writes is never used.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal

from kgaudit.models.chat import ChatModel, ChatRequest, Choice, PromptTooLongError, request_digest
from kgaudit.models.typed import T, Typed, ask, read_typed, typed_request

ALTERNATIVES = 20
"""Alternatives asked for at each token."""

SAMPLES = 5
SAMPLE_TEMPERATURE = 0.7

Source = Literal["logprobs", "samples", "none"]


@dataclass(frozen=True, slots=True)
class Sure(Generic[T]):
    """An answer, the probability of each value that its field may take (sums to 1), and where the probabilities come from.

    `probabilities` is None, and `source` `none`, where they are not known. `calls`, tokens and `digests` count the samples too.
    """

    typed: Typed[T]
    probabilities: dict[str, float] | None
    source: Source
    calls: int
    prompt_tokens: int
    completion_tokens: int
    digests: tuple[str, ...]


async def ask_sure(
    model: ChatModel,
    request: ChatRequest,
    schema: type[T],
    field: str,
    values: Sequence[str],
    *,
    check: Callable[[T], str | None] | None = None,
    samples: int = SAMPLES,
) -> Sure[T]:
    """`ask`, with the probabilities of `values`, which are those that `field` (a string at the top of the answer) may take.

    Where the server gives no log-probabilities, `samples` further answers are drawn at a temperature of 0.7; 0: none. Raises what
    `ask` raises.
    """
    typed = await ask(model, replace(request, logprobs=ALTERNATIVES), schema, check=check)
    found = probabilities(typed.choice, field, values)
    if found is not None or not samples:
        source: Source = "none" if found is None else "logprobs"
        return Sure(typed, found, source, typed.calls, typed.prompt_tokens, typed.completion_tokens, typed.digests)
    model.usage.note("no log-probabilities came: confidence comes from several samples")
    drawn = typed_request(replace(request, samples=samples, temperature=SAMPLE_TEMPERATURE, logprobs=0), schema)
    digest = request_digest(model.digest, drawn)
    try:
        answer = await model.complete(drawn)
    except PromptTooLongError:  # the answer above has room, so this cannot be but for a server that counts otherwise
        return Sure(typed, None, "none", typed.calls, typed.prompt_tokens, typed.completion_tokens, typed.digests)
    read = [read_typed(choice, schema, check) for choice in answer.choices]
    said = [str(getattr(value, field)) for value in (typed.value, *read) if not isinstance(value, str)]
    shares = smoothed_shares(said, values) if len(said) > 1 else None
    return Sure(
        typed,
        shares,
        "samples" if shares else "none",
        typed.calls + 1,
        typed.prompt_tokens + answer.prompt_tokens,
        typed.completion_tokens + answer.completion_tokens,
        (*typed.digests, digest),
    )


def smoothed_shares(said: Sequence[str], values: Sequence[str]) -> dict[str, float]:
    """Shares of what was said, with half a count more for each value (Jeffreys): a few samples never make a certainty."""
    counts = Counter(value for value in said if value in values)
    total = counts.total() + 0.5 * len(values)
    return {value: (counts[value] + 0.5) / total for value in values}


def probabilities(choice: Choice, field: str, values: Sequence[str]) -> dict[str, float] | None:
    """The probability of each value of a field, from the tokens of the answer, normalised over `values`.

    Walks the tokens of the value that was said for as long as they fit several values. An alternative that fits one value counts for
    it, one that fits several is shared among them, one that fits none (the model would rather have said something else) is left out.
    A value that no listed alternative fits counts as much as the least likely listed one at most, and no more than what is not
    listed. None where the server gave no tokens, or where they do not spell the answer.
    """
    place = _value_place(choice, field)
    if place is None or choice.tokens is None:
        return None
    index, lead = place  # the token in which the value begins, and what stands before it in that token
    tokens, said = choice.tokens, ""
    masses, reached = dict.fromkeys(values, 0.0), 1.0
    unlisted = dict.fromkeys(values, 0.0)
    while index < len(tokens):
        token = tokens[index]
        fitting_now = _fitting(said, values)
        listed = {text: math.exp(min(0.0, logprob)) for text, logprob in (*token.alternatives, (token.text, token.logprob))}
        if any(not 0.0 <= share <= 1.0 for share in listed.values()):
            return None
        least = min(*listed.values(), max(0.0, 1.0 - sum(listed.values())))
        following: list[str] = []
        seen: set[str] = set()
        for text, share in listed.items():
            if not text.startswith(lead) or text == lead:
                continue
            fits = _fitting(said + text[len(lead) :], fitting_now)
            seen.update(fits)
            if text == token.text:
                following = fits
                if len(fits) > 1:
                    continue
            for value in fits:
                masses[value] += reached * share / len(fits)
        for value in fitting_now:
            if value not in seen:
                unlisted[value] += reached * least
        if len(following) <= 1:
            break
        said += token.text[len(lead) :]
        reached *= listed[token.text]
        lead, index = "", index + 1
    totals = {value: masses[value] + unlisted[value] for value in values}
    whole = sum(totals.values())
    return {value: total / whole for value, total in totals.items()} if whole > 0 else None


def _fitting(said: str, values: Sequence[str]) -> list[str]:
    """The values that begin with what was said, or that it spells in full, with the closing quote."""
    return [value for value in values if value.startswith(said) or said.startswith(f'{value}"')]


def _value_place(choice: Choice, field: str) -> tuple[int, str] | None:
    """The token in which the value of a field begins, and the text of that token before it."""
    at = _value_start(choice.text, field)
    if at is None or not choice.tokens:
        return None
    spelled = "".join(token.text for token in choice.tokens)
    begin = spelled.rfind(choice.text.strip())
    if begin < 0:
        return None
    target = begin + at - (len(choice.text) - len(choice.text.lstrip()))
    offset = 0
    for index, token in enumerate(choice.tokens):
        if target < offset + len(token.text):
            return index, token.text[: target - offset]
        offset += len(token.text)
    return None


def _value_start(text: str, field: str) -> int | None:
    """Where the string value of a field at the top of a JSON object begins, behind its opening quote."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    if at < 0:
        return None
    at += 1
    try:
        while True:
            at = _skip(text, at, " \t\r\n,")
            name, at = decoder.raw_decode(text, at)
            at = _skip(text, at, " \t\r\n:")
            if name == field:
                return at + 1 if text[at] == '"' else None
            _, at = decoder.raw_decode(text, at)
    except (ValueError, IndexError):
        return None


def _skip(text: str, at: int, characters: str) -> int:
    while text[at] in characters:
        at += 1
    return at
