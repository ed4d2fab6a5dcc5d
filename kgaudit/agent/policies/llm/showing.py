"""What a model is shown of a claim and of a passage, and the way back from its quotes to the document.

Documents and labels are hostile. What is shown is cut to size, rid of what no reader sees, and stands in a block whose closing line
it cannot write; sentences that speak to a machine instead of about the world are held back. Sentences are numbered: a model quotes by
number, which costs few tokens and cannot be miscopied, or in words, which count only where they stand in what was shown. Either way a
quote leads to its place in the document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count as count_from
from itertools import groupby

from kgaudit.agent.steering import steers
from kgaudit.claims import Claim, Entity
from kgaudit.documents import Passage
from kgaudit.models.values import claimed_value, compare, find_values
from kgaudit.text import find_names, fold, fold_text, sentences

MAX_SHOWN = 1600
"""Characters of a passage that a model is shown."""

MAX_NAME = 160
MAX_NAMES = 4
MAX_STATEMENT = 600

HELD_BACK = "[a sentence that is no statement about the world was left out]"
GAP = "[…]"

_UNSEEN = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_QUOTE_MARKS = "\"'“”„‟«»‹›‘’`「」『』 \t\n"
_NUMBER = re.compile(r"\s*\[?(\d{1,4})\]?(?:\s+|$)")
_ELLIPSIS = re.compile(r"^(?:…|\.\.\.|\[…\])\s*|\s*(?:…|\.\.\.|\[…\])$")

MIN_QUOTE = 8
MIN_QUOTE_IDEOGRAPHS = 4
"""A quote shorter than this many letters and digits proves nothing."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage as a model sees it. `places[i]` is where `text[i]` stands in the passage's text; -1 for what we wrote ourselves.

    Its sentences are numbered from `first` on.
    """

    passage: Passage
    text: str
    places: tuple[int, ...]
    first: int = 1

    @property
    def last(self) -> int:
        """The number of the last sentence."""
        return self.first + len(self._numbered()) - 1

    def find(self, quote: int | str) -> tuple[int, int] | None:
        """Where in the passage's text a quote stands: a sentence by its number, or words, whatever their case, spacing and typography;
        None: nowhere."""
        named = _NUMBER.match(str(quote))
        words = str(quote)[named.end() :] if named else str(quote)
        if named is None or any(map(str.isalnum, words)):
            return self._find_words(words)
        place = int(named[1]) - self.first
        numbered = self._numbered()
        if not 0 <= place < len(numbered):
            return None
        start, end = numbered[place]
        return (self.places[start], self.places[end - 1] + 1) if _proves(self.text[start:end]) else None

    def _numbered(self) -> list[tuple[int, int]]:
        return [(start, end) for start, end in self.parts() if self.places[start] >= 0]

    def parts(self) -> list[tuple[int, int]]:
        """The sentences in `text`, and between them what we wrote ourselves."""
        found = list[tuple[int, int]]()
        for ours, run in groupby(range(len(self.text)), key=lambda i: self.places[i] < 0):
            places = list(run)
            first, last = places[0], places[-1] + 1
            inside = [] if ours else [(first + start, first + end) for start, end in sentences(self.text[first:last])]
            found += inside or [(first, last)]
        return [(start, end) for start, end in found if self.text[start:end].strip()]

    def _find_words(self, quote: str) -> tuple[int, int] | None:
        wanted = " ".join(fold_text(_ELLIPSIS.sub("", quote.strip(_QUOTE_MARKS)).strip(_QUOTE_MARKS)).split())
        if not _proves(wanted):
            return None
        folded = fold(self.text)
        at = folded.text.find(wanted)
        while at >= 0:
            start, end = folded.original(at, at + len(wanted))
            places = self.places[start:end]
            if min(places) >= 0 and not _cuts_word(folded.text, at, at + len(wanted)):
                return places[0], places[-1] + 1
            at = folded.text.find(wanted, at + 1)
        return None

    def only(self, spans: Sequence[tuple[int, int]]) -> Shown:
        """The part that stands within these spans of the passage's text, a gap where something between them is left out."""
        return _join(self.passage, [[i for i, place in enumerate(self.places) if start <= place < end] for start, end in spans], self)


def _proves(words: str) -> bool:
    return sum(map(str.isalnum, words)) >= (MIN_QUOTE_IDEOGRAPHS if words and not words.isascii() else MIN_QUOTE)


def _cuts_word(text: str, start: int, end: int) -> bool:
    """Whether a span begins or ends inside a word of a script that sets words apart."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return (before.isascii() and before.isalnum() and text[start].isalnum()) or (
        after.isascii() and after.isalnum() and text[end - 1].isalnum()
    )


def _join(passage: Passage, parts: Sequence[Sequence[int]], source: Shown) -> Shown:
    text: list[str] = []
    places: list[int] = []
    for number, part in enumerate(part for part in parts if part):
        if number:
            gap = f" {GAP} "
            text.append(gap)
            places += [-1] * len(gap)
        text += [source.text[i] for i in part]
        places += [source.places[i] for i in part]
    return Shown(passage, "".join(text), tuple(places), source.first)


def show(passage: Passage, claim: Claim, fence: str, first: int = 1) -> Shown:
    """At most `MAX_SHOWN` characters of the passage: the sentences that name subject or object with those beside them, the others as
    far as there is room; what steers is left out."""
    spans = sentences(passage.text) or [(0, len(passage.text))]
    subjects, objects = _mentions(passage, claim.subject), _mentions(passage, claim.object)
    keep = _within(spans, _wanted(_holding(spans, subjects), _holding(spans, objects), len(spans)))
    places_named = [*objects, *subjects]
    text: list[str] = []
    places: list[int] = []
    last = -1
    for index in keep:
        start, end = spans[index]
        if index == last + 1:
            _append_clean(text, places, passage.text, spans[last][1] if last >= 0 else start, start, fence)
        elif text:
            _append_own(text, places, f" {GAP} ")
        last = index
        if steers(passage.text[start:end]):
            _append_own(text, places, HELD_BACK)
        else:
            begin = _beginning(start, end, places_named)
            _append_clean(text, places, passage.text, begin, min(end, begin + MAX_SHOWN), fence)
    del text[MAX_SHOWN * 2 :], places[MAX_SHOWN * 2 :]
    return Shown(passage, "".join(text), tuple(places), first)


def _append_own(text: list[str], places: list[int], own: str) -> None:
    text += own
    places += [-1] * len(own)


def _append_clean(text: list[str], places: list[int], source: str, start: int, end: int, fence: str) -> None:
    """What a reader sees of a stretch, runs of white space as one space, without the fence."""
    begun = len(text)
    for i in range(start, end):
        char = source[i]
        if _UNSEEN.match(char):
            continue
        if char.isspace():
            if len(text) > begun and text[-1] == " ":
                continue
            char = " "
        text.append(char)
        places.append(i)
    while found := _fence_in("".join(text[begun:]), fence):
        first, last = begun + found.start(), begun + found.end()
        del text[first:last], places[first:last]


def _fence_in(text: str, fence: str) -> re.Match[str] | None:
    return re.search(re.escape(fence), text, re.IGNORECASE)  # not by `casefold`, which moves the places of what it makes longer


def _beginning(start: int, end: int, named: Sequence[int]) -> int:
    """Where to begin to show a sentence: where it is too long to be shown, half of what is shown lies before a name in it."""
    if end - start <= MAX_SHOWN:
        return start
    place = next((place for place in named if start <= place < end), start)
    return max(start, min(place - MAX_SHOWN // 2, end - MAX_SHOWN))


def _wanted(subjects: set[int], objects: set[int], count: int) -> list[int]:
    """The sentences, those that name most of subject and object first, then their neighbours, then the rest in order."""
    naming = sorted(subjects & objects) + sorted(subjects ^ objects)
    beside = [index + step for index in naming for step in (-1, 1) if 0 <= index + step < count]
    return list(dict.fromkeys([*naming, *beside, *range(count)]))


def _within(spans: Sequence[tuple[int, int]], wanted: Sequence[int]) -> list[int]:
    room, kept = MAX_SHOWN, list[int]()
    for index in wanted:
        size = min(MAX_SHOWN, spans[index][1] - spans[index][0])
        if size <= room:
            kept.append(index)
            room -= size
    return sorted(kept)


def _mentions(passage: Passage, entity: Entity) -> list[int]:
    """Where a passage's text names an entity; a date or number counts however it is written."""
    value = claimed_value(entity) if entity.is_literal else None
    if value is not None:
        return [one.start for one in find_values(passage.text, passage.language) if compare(value, one) in ("equal", "finer")]
    folded = fold(passage.text)
    return [folded.original(mention.start, mention.end)[0] for mention in find_names(passage.text, folded, entity.names)]


def _holding(spans: Sequence[tuple[int, int]], places: Sequence[int]) -> set[int]:
    return {index for index, (start, end) in enumerate(spans) if any(start <= place < end for place in places)}


def sentences_of(passage: Passage, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The whole sentences in which spans of the passage's text stand, those that follow one another as one."""
    found: list[tuple[int, int]] = []
    for start, end in sentences(passage.text):
        if not any(start < right and left < end for left, right in spans):
            continue
        if found and not passage.text[found[-1][1] : start].strip():
            start = found.pop()[0]
        found.append((start, end))
    return found


def naming(passage: Passage, claim: Claim) -> list[tuple[int, int]]:
    """The sentences of a passage that name subject and object themselves; where none does, those that name the object."""
    spans = sentences(passage.text)
    objects = _holding(spans, _mentions(passage, claim.object))
    both = _holding(spans, _mentions(passage, claim.subject)) & objects
    return [spans[index] for index in sorted(both or objects)]


def holds_value(passage: Passage, claim: Claim) -> bool:
    """Whether the passage holds the claimed date, number or quantity; True where the claim's object is none."""
    return not claim.object.is_literal or claimed_value(claim.object) is None or bool(_mentions(passage, claim.object))


def plain(text: str, width: int, fence: str) -> str:
    """A label on one line, cut to `width`, without what no reader sees and without the fence."""
    line = " ".join(_UNSEEN.sub("", text).split())
    while found := _fence_in(line, fence):
        line = line[: found.start()] + line[found.end() :]
    return line if len(line) <= width else f"{line[: width - 1]}…"


def block(name: str, fence: str, body: str) -> str:
    """A fenced block of data."""
    return f"<<{name} {fence}\n{body}\n{fence}>>"


def claim_block(claim: Claim, fence: str, statement: str = "") -> str:
    """The claim in words; where a statement is checked, the sentence in its place."""
    if statement:
        return block("CLAIM", fence, f"sentence: {plain(statement, MAX_STATEMENT, fence)}")
    lines = [
        _entity_line("subject", claim.subject, fence),
        f"predicate: {plain(claim.predicate.label, MAX_NAME, fence)}",
        _entity_line("object", claim.object, fence),
    ]
    if claim.predicate.functional:
        lines.append("one subject has one object of this predicate")
    if claim.predicate.inverse_functional:
        lines.append("one object has one subject of this predicate")
    return block("CLAIM", fence, "\n".join(lines))


def _entity_line(role: str, entity: Entity, fence: str) -> str:
    others = [plain(name, MAX_NAME, fence) for name in entity.aliases[: MAX_NAMES - 1]]
    return f"{role}: {plain(entity.label, MAX_NAME, fence)}" + (f" (also: {'; '.join(others)})" if others else "")


def document_block(shown: Shown, fence: str, number: int | None = None) -> str:
    """A passage as data, under its title and date, each sentence on a line with its number."""
    head = [f"title: {plain(shown.passage.title, MAX_NAME, fence)}"] if shown.passage.title and not steers(shown.passage.title) else []
    head += [f"date: {plain(shown.passage.date, 40, fence)}"] if shown.passage.date else []
    lines, count = list[str](), count_from(shown.first)
    for start, end in shown.parts():
        text = shown.text[start:end].strip()
        lines.append(f"[{next(count)}] {text}" if shown.places[start] >= 0 else text)
    return block("DOCUMENT" if number is None else f"DOCUMENT {number}", fence, "\n".join([*head, *lines]))
