"""One passage, one judgement: summarised where it is long, judged by itself, its quote found in the document or not counted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgaudit.agent.attribution import attributed, said_of_itself
from kgaudit.agent.loop import Environment
from kgaudit.agent.mentions import names_entity
from kgaudit.agent.policies.llm.answers import STANCES, Judgement, Summary
from kgaudit.agent.policies.llm.showing import Shown, claim_block, document_block, holds_value, naming, plain, sentences_of, show
from kgaudit.agent.policies.llm.use import Questions, questions
from kgaudit.claims import Claim
from kgaudit.documents import Passage
from kgaudit.errors import KgauditError
from kgaudit.models.confidence import Sure
from kgaudit.models.typed import NoAnswerError
from kgaudit.text import find_names, fold, fold_name, sentences
from kgaudit.verdicts import ModelCall, Stance

SUMMARISE_FROM = 700
"""Passages shown with more characters than this are summarised before they are judged."""

SUMMARY_TOKENS = 320
JUDGE_TOKENS = 256
UNKNOWN = 0.75
"""What a stance counts whose probability the server gives no way to know; the verdict's confidence is then left empty."""

UNKNOWN_NOTE = "no probability known"


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of one passage. `kept` are the words in it that bear on the claim, `instead` what it names in the object's place;
    `failure` says why the model gave no answer, where it gave none."""

    stance: Stance
    kept: tuple[str, ...] = ()
    instead: str = ""
    failure: str = ""


NOTHING = Judged(Stance(0.0, 0.0, 1.0))


async def judge_many(
    claim: Claim, statement: str, passages: Sequence[Passage], environment: Environment, fence: str
) -> tuple[list[Judged], list[ModelCall]]:
    """Each passage by itself, all at once: none can speak for or against another. The calls come in the order of the passages."""
    asked = [questions(environment, fence) for _ in passages]
    results = await asyncio.gather(
        *(_judge(claim, statement, passage, one) for passage, one in zip(passages, asked, strict=True)), return_exceptions=True
    )
    for result in sorted(results, key=lambda one: not isinstance(one, KgauditError)):
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if isinstance(result, Judged)], [call for one in asked for call in one.calls]


async def _judge(claim: Claim, statement: str, passage: Passage, asked: Questions) -> Judged:
    shown = show(passage, claim, asked.fence)
    subject = claim_block(claim, asked.fence, statement)
    kept: tuple[str, ...] = ()
    if len(shown.text) > SUMMARISE_FROM:
        shown, kept = await _summarise(claim, subject, shown, asked)
        if not shown.text:
            return replace(NOTHING, stance=Stance(0.0, 0.0, 1.0, note="nothing in it bears on the claim"))
    blocks = [subject, document_block(shown, asked.fence)]
    try:
        judgement, sure = await asked.ask_sure("judge", blocks, Judgement, STANCES, JUDGE_TOKENS)
    except NoAnswerError as error:
        return replace(NOTHING, failure=error.reason)
    stance = stance_of(judgement.verdict, judgement.quote, sure, shown)
    if stance.refutes > 0.5 and _names_object(judgement.instead, claim):
        stance = Stance(stance.supports, 0.0, 1.0 - stance.supports, note="the model refutes the claim by its own object")
    if stance.end:
        stance = attributed(claim, passage, said_of_itself(claim, passage, _about(claim, passage, stance)))
    instead = judgement.instead if stance.refutes > 0.5 and _is_there(judgement.instead, passage, claim) else ""
    decisive = (passage.text[stance.start : stance.end],) if stance.end else ()
    return Judged(stance, decisive or kept, plain(instead, 160, asked.fence))


async def _summarise(claim: Claim, subject: str, shown: Shown, asked: Questions) -> tuple[Shown, tuple[str, ...]]:
    """The sentences that the model picks, as they stand in the document, with those that name both or at least the object, which no
    summary may lose. And what it quoted.

    Where the model gives no answer, all that was shown stays.
    """
    try:
        summary = await asked.ask("summarise", [subject, document_block(shown, asked.fence)], Summary, SUMMARY_TOKENS)
    except NoAnswerError:
        return shown, ()
    found = [span for span in map(shown.find, summary.quotes) if span is not None]
    passage = shown.passage
    kept = shown.only(sentences_of(passage, [*found, *naming(passage, claim)]))
    return kept, tuple(passage.text[start:end] for start, end in found)


def stance_of(verdict: str, quote: int | str, sure: Sure[Judgement], shown: Shown) -> Stance:
    """The stance of an answer. One whose quote does not stand in what was shown does not count."""
    if verdict == "neither":
        shares = sure.probabilities or {"supports": 0.0, "refutes": 0.0, "neither": 1.0}
        return Stance(shares["supports"], shares["refutes"], shares["neither"])
    span = shown.find(quote)
    if span is None:
        return Stance(0.0, 0.0, 1.0, note="the model's quote is not in it" if quote else "the model quoted nothing")
    if sure.probabilities is None:
        supports = UNKNOWN if verdict == "supports" else 0.0
        refutes = UNKNOWN if verdict == "refutes" else 0.0
        return Stance(supports, refutes, 1.0 - UNKNOWN, *span, UNKNOWN_NOTE)
    shares = sure.probabilities
    note = "sureness from samples" if sure.source == "samples" else ""
    return Stance(shares["supports"], shares["refutes"], shares["neither"], *span, note)


def _about(claim: Claim, passage: Passage, stance: Stance) -> Stance:
    """The stance, taken back where its quote, with the sentence before it and the title, cannot carry it: it names neither subject nor
    object; it speaks of the object alone, and is held against the subject; it is held to state a date or number that the passage does
    not hold. Small models do all three."""
    before = [start for start, end in sentences(passage.text) if start <= stance.start][-2:]
    said = passage.text[min(before, default=0) : stance.end]
    near = replace(passage, text=said)
    of_subject = names_entity(near, claim.subject)
    why = ""
    if not of_subject and not names_entity(near, claim.object):
        why = "the model quotes what is about something else"
    elif stance.refutes > 0.5 and not of_subject and not claim.predicate.inverse_functional:
        why = "what it says of others does not contradict the claim"
    elif stance.supports > 0.5 and not holds_value(passage, claim):
        why = "the model quotes another value"
    return Stance(0.0, 0.0, 1.0, note=why) if why else stance


def _is_there(instead: str, passage: Passage, claim: Claim) -> bool:
    """Whether the passage names this, and it is none of the claim's own names."""
    if _names_object(instead, claim) or fold_name(instead) in map(fold_name, claim.subject.names):
        return False
    return bool(find_names(passage.text, fold(passage.text), [instead]))


def _names_object(instead: str, claim: Claim) -> bool:
    name = fold_name(instead.partition(" (also:")[0])  # as a claim's names are shown
    return bool(name) and name in map(fold_name, claim.object.names)
