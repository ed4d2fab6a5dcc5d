"""Positive reasons to refute: a denial attached to the pair, and what must hold before a claim of a thing about itself counts.

The third reason, that the text states the other direction, needs the model's scores and stands in `cue.py`.
"""

from __future__ import annotations

import re

from kgaudit.claims import Claim
from kgaudit.models.features import predicate_words
from kgaudit.models.mentions import TITLE, Mentions
from kgaudit.models.reading import Reading
from kgaudit.text import fold_name

_DENIALS = re.compile(
    r"\b(?:never|no longer|neither|denied|denies|deny|has not|have not|had not|was not|were not|is not|are not|did not|does not|do not|"
    r"will not|wasn't|isn't|weren't|aren't|didn't|doesn't|hasn't|hadn't|turned out to be false|withdrawn|falsely|wrongly|incorrectly)\b"
    r"(?! only| just| until)"
)
_ENDED = re.compile(
    r"\b(?:former|formerly|until (?:[a-z]+ )?\d{4}|stepped down|resigned|ceased|used to be|had (?:been|belonged)|previously)\b"
)
_CLAUSE_ENDS = frozenset((";", ":", "but", "although", "though", "whereas", "while", "however"))
_LEADS_TO_OBJECT = frozenset("of for in as by to with at on from over into own its and his her their".split())
_ARTICLES = frozenset(("the", "a", "an"))


def _between(reading: Reading, mentions: Mentions) -> str:
    """The folded text between the names of one sentence, from the last clause on; "" where they stand in different ones."""
    first, second = sorted((mentions.links[0].s, mentions.links[0].o), key=lambda place: place.first)
    if first.kind == TITLE or reading.sentence_of[first.first] != reading.sentence_of[second.first]:
        return ""
    start = second.first
    while start > first.last and reading.words[start - 1] not in _CLAUSE_ENDS:
        start -= 1
    return reading.folded.text[reading.starts[start] : reading.starts[second.first]]


def _sentence(reading: Reading, mentions: Mentions) -> str:
    """The folded text of the sentence of the object (of the subject where the title names the object)."""
    link = mentions.links[0]
    sentence = reading.sentence_of[(link.o if link.o.kind != TITLE else link.s).first]
    inside = [i for i, number in enumerate(reading.sentence_of) if number == sentence]
    return reading.folded.text[reading.starts[inside[0]] : reading.ends[inside[-1]]]


def denial(claim: Claim, reading: Reading, mentions: Mentions) -> str:
    """The words between the names that deny the claim, or "". That something has ended denies only a claim about the present."""
    found = _DENIALS.search(_between(reading, mentions))
    if found is None and "current" in fold_name(claim.predicate.label).split():
        found = _ENDED.search(_sentence(reading, mentions))
    return found.group() if found else ""


def about_itself(claim: Claim) -> bool:
    """Whether subject and object are the same thing or share a name."""
    names = {fold_name(name) for name in claim.subject.names}
    return not claim.object.is_literal and any(fold_name(name) in names for name in claim.object.names)


def states_itself(claim: Claim, reading: Reading, mentions: Mentions) -> bool:
    """Whether the text really relates the thing to itself: a word of the predicate stands between two mentions in one sentence, and the
    second is led up to ("trustee of the Alder Trust") and does not begin a statement of its own."""
    link = mentions.links[0]
    first, second = sorted((link.s, link.o), key=lambda place: place.first)
    if reading.sentence_of[first.first] != reading.sentence_of[second.first]:
        return False
    between = list(reading.words[first.last : second.first])
    while between and between[-1] in _ARTICLES:
        between.pop()
    words = predicate_words(claim.predicate.label, claim.predicate.paraphrases)
    asked = words.stems | words.related
    return (
        bool(between)
        and ";" not in between
        and between[-1] in _LEADS_TO_OBJECT
        and any(code in asked for code in reading.codes[first.last : second.first])
    )
