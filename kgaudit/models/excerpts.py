"""What the encoder reads of a document for a claim: the claim's words, and the stretch around both names with the names marked.

The subject stands between `@`, the object between `#`, wherever they are named (Zhou and Chen, "An Improved Baseline for
Sentence-level Relation Extraction", 2022: marks around the names, which stay as they are). Both names are always in an excerpt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgaudit.claims import Claim
from kgaudit.models.mentions import PRONOUN, TITLE, Link, Mentions, Place
from kgaudit.models.reading import Reading

BUDGET = 340
"""Characters of text around the names, about 80 word pieces."""
_MARGIN = 120
_TITLE = 80
_NAME = 100
_WORD = 40


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One input: `claim` and `text` are what the encoder reads, `start` and `end` the place in the passage (0, 0: none)."""

    claim: str
    text: str
    start: int
    end: int


def claim_words(claim: Claim) -> str:
    """The claim as the encoder reads it: the triple with its names marked. A statement that is checked gives the predicate."""
    return f"@ {_plain(claim.subject.label)[:_NAME]} @ {_plain(claim.predicate.label)} # {_plain(claim.object.label)[:_NAME]} #"


def excerpts(claim: Claim, reading: Reading, mentions: Mentions, title: str, most: int) -> list[Excerpt]:
    """The stretches around the best links, at most `most`, none of which holds another's names; the best first."""
    words, taken, found = claim_words(claim), list[tuple[int, int]](), list[Excerpt]()
    for link in mentions.links:
        spans = _spans(reading, link)
        whole = (spans[0][0], spans[-1][1])
        if any(start <= whole[0] and whole[1] <= end for start, end in taken):
            continue
        taken.append(whole)
        text = " … ".join(_marked(reading, mentions, start, end) for start, end in spans)
        found.append(Excerpt(words, _titled(title, mentions, text), *whole))
        if len(found) == most:
            break
    return found


def plain_excerpt(claim: str, text: str, title: str = "") -> Excerpt:
    """The input for a claim in one sentence, whose names are not marked."""
    return Excerpt(_plain(claim), f"{_plain(title)[:_TITLE]}: {_plain(text)}" if title else _plain(text), 0, len(text))


def _titled(title: str, mentions: Mentions, text: str) -> str:
    if not title:
        return text
    short = _plain(title)[:_TITLE]
    mark = "@" if mentions.s_in_title else "#" if mentions.o_in_title else ""
    return f"{mark} {short} {mark}: {text}" if mark else f"{short}: {text}"


def _spans(reading: Reading, link: Link) -> list[tuple[int, int]]:
    """One stretch that holds both places, or two where they stand too far apart; offsets into the text."""
    inside = [reading.place(place.first, place.last) for place in (link.s, link.o) if place.kind != TITLE]
    first, last = min(start for start, _ in inside), max(end for _, end in inside)
    if last - first > BUDGET:
        return [_cut(reading, start, end, BUDGET // 2) for start, end in sorted(inside)]
    return [_cut(reading, first, last, BUDGET)]


def _cut(reading: Reading, first: int, last: int, budget: int) -> tuple[int, int]:
    """From `first` to `last` with as many whole sentences around as the budget takes; of a long sentence what is near."""
    spans = reading.sentence_spans
    low = next((i for i, (_, end) in enumerate(spans) if first < end), len(spans) - 1)
    high = next((i for i in range(low, len(spans)) if last <= spans[i][1]), len(spans) - 1)
    start, end = min(spans[low][0], first), max(spans[high][1], last)
    if end - start > budget:
        room = max(_MARGIN, (budget - (last - first)) // 2)
        return max(start, _word_start(reading.text, first - room)), min(end, _word_end(reading.text, last + room))
    while True:
        before = low > 0 and end - spans[low - 1][0] <= budget
        after = high + 1 < len(spans) and spans[high + 1][1] - start <= budget
        if before:  # what a pronoun stands for was said before
            low -= 1
            start = spans[low][0]
        elif after:
            high += 1
            end = spans[high][1]
        else:
            return start, end


def _word_start(text: str, place: int) -> int:
    """The beginning of the word at a place; of an immense one, a place inside."""
    place = max(0, place)
    return next((at for at in range(place, max(0, place - _WORD), -1) if text[at - 1].isspace()), 0 if place <= _WORD else place)


def _word_end(text: str, place: int) -> int:
    """The end of the word at a place; of an immense one, a place inside."""
    place = min(place, len(text))
    return next((at for at in range(place, min(len(text), place + _WORD)) if text[at].isspace()), min(len(text), place))


def _places(reading: Reading, mentions: Mentions) -> Iterator[tuple[int, int, str]]:
    linked = {(link.s, "@") for link in mentions.links} | {(link.o, "#") for link in mentions.links}
    everywhere: set[tuple[Place, str]] = {(place, "@") for place in mentions.s} | {(place, "#") for place in mentions.o} | linked
    for place, mark in everywhere:
        if place.kind not in (TITLE, PRONOUN):
            yield (*reading.place(place.first, place.last), mark)


def _marked(reading: Reading, mentions: Mentions, start: int, end: int) -> str:
    pieces, at = list[str](), start
    for first, last, mark in sorted(_places(reading, mentions), key=lambda one: (one[0], -one[1], one[2])):
        if first < at or last > end:
            continue
        pieces += [_plain(reading.text[at:first]), mark, _plain(reading.text[first:last]), mark]
        at = last
    pieces.append(_plain(reading.text[at:end]))
    return " ".join(piece for piece in pieces if piece)


def _plain(text: str) -> str:
    """Without the marks, and with single spaces."""
    return " ".join(text.replace("@", " ").replace("#", " ").split())
