"""Claims whose predicate says nothing are checked by their statement: the words between the names become the predicate."""

from __future__ import annotations

import re
from dataclasses import replace

from kgaudit.claims import Claim, PredicateCard
from kgaudit.documents import Passage
from kgaudit.text import find_names, fold
from kgaudit.verdicts import Stance

MIN_COVERAGE = 0.6
"""This share of a statement's content words must stand in the passage that is to support it, beside the names."""

_FUNCTION_WORDS = frozenset(
    "a an the of in on at by for from to with and or as is are was were be been has have had its his her their it he she they that "
    "this which who also into than then der die das des dem den ein eine einer und oder von vom zu zur zum mit im am bei für ist war "
    "wurde hat hatte sich als auch 은 는 이 가 을 를 의 에 에서 와 과 도 로 으로".split()
)
_NEGATIONS = frozenset("not never no nor neither without nicht kein keine nie niemals 않 아니 없".split())
_WORD = re.compile(r"\w+")


def statement_claim(claim: Claim, statement: str) -> Claim | None:
    """The claim with the statement's own words as predicate, or None where the statement does not name both."""
    folded = fold(statement)
    subjects = find_names(statement, folded, claim.subject.names)
    objects = find_names(statement, folded, claim.object.names)
    if not subjects or not objects or claim.subject.term == claim.object.term:
        return None
    first, last = subjects[0], objects[0]
    inverse = last.start < first.start
    left, right = (last, first) if inverse else (first, last)
    start, end = folded.original(left.start, left.end)[1], folded.original(right.start, right.end)[0]
    words = statement[start:end].strip(" ,;:.-–") or statement[folded.original(right.start, right.end)[1] :].strip(" ,;:.-–")
    if not words:
        return None
    card = PredicateCard(iri=claim.predicate.iri, label=words, inverse=words if inverse else "")
    if inverse:
        return replace(claim, predicate=card, subject=claim.object, object=claim.subject)
    return replace(claim, predicate=card)


def _content(text: str) -> set[str]:
    return {word for word in _WORD.findall(fold(text).text) if word not in _FUNCTION_WORDS}


def _same_word(one: str, other: str) -> bool:
    """Whether two words are forms of one: equal, or alike in all but a short ending."""
    if one == other:
        return True
    if one.isdigit() or other.isdigit() or min(len(one), len(other)) < 4:
        return False
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= 4 and max(len(one), len(other)) - shared <= 3


def coverage(claim: Claim, statement: str, passage: Passage) -> float:
    """The share of the statement's content words, names aside, that the passage holds; 0 where only one of the two negates."""
    names = set().union(*(_content(name) for name in (*claim.subject.names, *claim.object.names)))
    wanted = _content(statement) - names
    found = _content(f"{passage.title} {passage.text}")
    if not wanted:
        return 0.0
    if bool(wanted & _NEGATIONS) != bool(found & _NEGATIONS):
        return 0.0
    return sum(any(_same_word(word, other) for other in found) for word in wanted) / len(wanted)


def tempered(claim: Claim, statement: str, passage: Passage, stance: Stance) -> Stance:
    """The judge's stance on a statement's claim, taken back where the passage does not hold the statement's words.

    A statement's predicate is one that no judge was trained on: nearness of the names alone must not carry it.
    """
    share = coverage(claim, statement, passage)
    if share >= MIN_COVERAGE:
        return stance
    return replace(stance, supports=min(stance.supports, 0.2), neither=1.0 - min(stance.supports, 0.2) - stance.refutes,
                   note="the statement's words are not there")  # fmt: skip
