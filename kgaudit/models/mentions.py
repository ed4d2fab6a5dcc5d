"""Where a passage names the subject and the object of a claim, and which of these places belong together.

The title counts as naming what it names. Besides full names there are weaker mentions, used only where the full name stands in
the passage or its title: a surname ("Palm" for Rudolph Palm) and a pronoun that follows the subject of its sentence.
Literal objects are found by value, not by text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kgaudit.claims import Claim, Entity
from kgaudit.models.reading import Reading
from kgaudit.models.values import Agreement, claimed_value, compare
from kgaudit.text import Folded, find_names, fold_name

FULL, PART, PRONOUN, TITLE = 0, 1, 2, 3
_WEAKNESS = (0, 2, 4, 16)
_ANOTHER_SENTENCE = 14


@dataclass(frozen=True, slots=True)
class Place:
    """A mention: the words `first` up to (not including) `last` of the passage; those of a title lie before word 0."""

    first: int
    last: int
    kind: int
    agreement: Agreement = "equal"


@dataclass(frozen=True, slots=True)
class Link:
    """A mention of the subject and one of the object that may belong together; `cost` grows with the way between them."""

    s: Place
    o: Place
    cost: float


@dataclass(frozen=True, slots=True)
class Mentions:
    """All mentions of a pair, and the nearest links, best first. No links: one of the names is not there."""

    s: tuple[Place, ...]
    o: tuple[Place, ...]
    s_in_title: bool
    o_in_title: bool
    links: tuple[Link, ...]


def _initials(words: Sequence[str]) -> str:
    return "".join(word[0] for word in words if word and word not in ("of", "the", "and", "for", "de", "&")).lower()


def _stands_for_another(name: str, start: int, folded: Folded, entity: Entity) -> bool:
    """Whether the acronym at `start` is explained beside it, in brackets, as a body that is none of the entity's names."""
    text = folded.text
    letters = fold_name(name)
    known = [fold_name(other) for other in entity.names if fold_name(other) != letters]
    before = text[:start]
    if before.rstrip().endswith("("):
        words = re.findall(r"[^\W\d_]+", before.rstrip()[:-1])[-(len(letters) + 4) :]
        for count in range(2, len(words) + 1):
            if _initials(words[-count:]) == letters and words[-count][0] == letters[0]:
                full = " ".join(words[-count:])
                return not any(
                    full in other or other in full or (_initials(other.split()) == letters and other.split()[0] == full.split()[0])
                    for other in known
                )
        return False
    after = re.match(r"[\s]*\(([^)]{3,80})\)", text[start + len(letters) :])
    if after:
        words = re.findall(r"[^\W\d_]+", after.group(1))
        if _initials(words) == letters and len(words) > 1:
            full = " ".join(words)
            return not any(full in other or other in full for other in known)
    return False


def _is_acronym(name: str) -> bool:
    return 2 <= len(name) <= 6 and name.isupper() and name.isalpha()


def _full_places(reading: Reading, entity: Entity) -> list[Place]:
    found = find_names(reading.text, reading.folded, entity.names)
    hidden = {
        mention.name
        for mention in found
        if _is_acronym(mention.name) and _stands_for_another(mention.name, mention.start, reading.folded, entity)
    }
    standing = [mention for mention in found if mention.name not in hidden]
    if not standing:  # as in most passages
        return []
    places = [Place(*reading.words_between(mention.start, mention.end), FULL) for mention in standing]
    parts = _parts_of_names(entity)
    if any(fold_name(mention.name) not in parts for mention in standing):
        return places
    return [place for place in places if not _within_another_name(reading, place)]  # "John Godley" is not every John


def _parts_of_names(entity: Entity) -> set[str]:
    """Names of one word that are also a word of a longer name: a first name or a surname that others bear too."""
    names = [fold_name(name) for name in entity.names]
    words = {word for name in names if " " in name for word in name.split()}
    return {name for name in names if name in words}


def _within_another_name(reading: Reading, place: Place) -> bool:
    return any(first <= place.first and place.last <= last and last - first > place.last - place.first for first, last in reading.names)


def _value_places(reading: Reading, entity: Entity) -> list[Place]:
    claimed = claimed_value(entity)
    if claimed is None:
        return []
    places = []
    for first, last, value in reading.values:
        agreement = compare(claimed, value)
        if agreement is not None and agreement != "differs":
            places.append(Place(first, last, FULL, agreement))
    return places


def _surname(entity: Entity) -> str:
    words = entity.label.split()
    if entity.is_literal or not 2 <= len(words) <= 5:
        return ""
    last = words[-1]
    return last if len(last) >= 4 and last[0].isupper() and last.isalpha() and all(w[0].isupper() for w in words if len(w) > 3) else ""


def _part_places(reading: Reading, entity: Entity, full: list[Place], in_title: bool) -> list[Place]:
    surname = _surname(entity)
    if not surname or not (full or in_title):
        return []
    taken = {i for place in full for i in range(place.first, place.last)}
    places = []
    for mention in find_names(reading.text, reading.folded, (surname,)):
        first, last = reading.words_between(mention.start, mention.end)
        place = Place(first, last, PART)
        if first not in taken and not _within_another_name(reading, place):
            places.append(place)
    return places


def _pronoun_places(reading: Reading, places: list[Place], in_title: bool) -> list[Place]:
    """Pronouns that may stand for the entity: the sentence before, or this one before the pronoun, begins with it, or the title is."""
    if not reading.pronouns:
        return []
    lead_of: dict[int, int] = {}
    for first, _ in reading.names:
        lead_of.setdefault(reading.sentence_of[first], first)
    mine = {place.first for place in places}
    found = []
    for i in reading.pronouns:
        sentence = reading.sentence_of[i]
        lead = lead_of.get(sentence)
        if lead is None or lead > i:
            lead = lead_of.get(sentence - 1)
            if lead is None and sentence >= 2:
                lead = lead_of.get(sentence - 2)
        if lead in mine or (in_title and (lead is None or sentence > 0 or lead > i)):
            found.append(Place(i, i + 1, PRONOUN))
    return found


def _places(reading: Reading, title: Reading | None, entity: Entity) -> tuple[list[Place], bool]:
    """Full places in the text (values for literals, else names), and whether the title names the entity."""
    places = _value_places(reading, entity)
    if claimed_value(entity) is None:
        places = _full_places(reading, entity)
    in_title = title is not None and not entity.is_literal and bool(_full_places(title, entity))
    return places, in_title


def _apart(a: Place, b: Place) -> bool:
    return a.last <= b.first or b.last <= a.first


def _without_overlaps(mine: list[Place], others: list[Place]) -> list[Place]:
    """Mentions that do not lie within a longer mention of the other entity."""
    return [a for a in mine if not any(not _apart(a, b) and (b.last - b.first) > (a.last - a.first) for b in others)]


def find_mentions(claim: Claim, reading: Reading, title: Reading | None, most: int = 2) -> Mentions:
    """Mentions of both names and the `most` nearest links."""
    s_full, s_in_title = _places(reading, title, claim.subject)
    o_full, o_in_title = _places(reading, title, claim.object)
    same = {fold_name(name) for name in claim.subject.names} & {fold_name(name) for name in claim.object.names}
    if not same:
        s_full, o_full = _without_overlaps(s_full, o_full), _without_overlaps(o_full, s_full)
    else:
        s_in_title = o_in_title = False
    if not (s_full or s_in_title) or not (o_full or o_in_title) or not (s_full or o_full):
        return Mentions(tuple(s_full), tuple(o_full), s_in_title, o_in_title, ())
    s_all = s_full + _part_places(reading, claim.subject, s_full, s_in_title)
    o_all = o_full + _part_places(reading, claim.object, o_full, o_in_title)
    s_all += _pronoun_places(reading, s_all, s_in_title)
    if not claim.object.is_literal:
        o_all += _pronoun_places(reading, o_all, o_in_title)
    if s_in_title:
        s_all.append(Place(-1, 0, TITLE))
    if o_in_title:
        o_all.append(Place(-1, 0, TITLE))
    return Mentions(tuple(s_full), tuple(o_full), s_in_title, o_in_title, _links(reading, s_all, o_all, most))


def _links(reading: Reading, s_all: list[Place], o_all: list[Place], most: int) -> tuple[Link, ...]:
    links = []
    for s in s_all:
        for o in o_all:
            if (s.kind >= PRONOUN and o.kind >= PRONOUN) or not _apart(s, o):
                continue
            gap = o.first - s.last if s.last <= o.first else s.first - o.last
            cost = float(gap + _WEAKNESS[s.kind] + _WEAKNESS[o.kind])
            if s.kind != TITLE and o.kind != TITLE:
                cost += _ANOTHER_SENTENCE * abs(reading.sentence_of[s.first] - reading.sentence_of[o.first])
            links.append(Link(s, o, cost))
    links.sort(key=lambda link: (link.cost, link.s.first, link.o.first))
    return tuple(links[:most])


def _gap(a: Place, b: Place) -> int:
    return b.first - a.last if a.last <= b.first else a.first - b.last


_BEFORE, _AFTER = 15, 25


def words_of_predicate(reading: Reading, link: Link, label: str) -> float:
    """The share of the predicate's letter pairs that stand around a link (0 to 1): what a language whose words were not learnt still
    tells. In verb-final languages the predicate follows both names, so more is read after them than before."""
    wanted = _letter_pairs(label)
    places = [reading.place(place.first, place.last) for place in (link.s, link.o) if place.kind != TITLE]
    if not wanted or not places:
        return 0.0
    first, last = min(start for start, _ in places), max(end for _, end in places)
    return len(wanted & _letter_pairs(reading.text[max(0, first - _BEFORE) : last + _AFTER])) / len(wanted)


def _letter_pairs(text: str) -> frozenset[str]:
    letters = "".join(char for char in text.casefold() if char.isalnum())
    return frozenset(letters[i : i + 2] for i in range(len(letters) - 1))


def object_rivals(claim: Claim, reading: Reading, mentions: Mentions, most: int) -> tuple[Place, ...]:
    """Places near the best link that could stand in the object's place: values of its kind, or other names; the nearest first."""
    link = mentions.links[0]
    taken = {i for place in (*mentions.s, *mentions.o, link.s, link.o) for i in range(place.first, place.last)}
    claimed = claimed_value(claim.object)
    spans: list[tuple[int, int]]
    if claimed is not None:
        spans = [(first, last) for first, last, value in reading.values if compare(claimed, value) == "differs"]
    else:
        spans = list(reading.names)
    return _nearest(reading, spans, taken, link.s, link.o, most)


def subject_rivals(reading: Reading, mentions: Mentions, most: int) -> tuple[Place, ...]:
    """Other names near the best link that could stand in the subject's place, the nearest to the object first."""
    link = mentions.links[0]
    taken = {i for place in (*mentions.s, *mentions.o, link.s, link.o) for i in range(place.first, place.last)}
    return _nearest(reading, list(reading.names), taken, link.o, link.s, most)


def _nearest(
    reading: Reading, spans: list[tuple[int, int]], taken: set[int], fixed: Place, replaced: Place, most: int
) -> tuple[Place, ...]:
    anchor = fixed if fixed.kind != TITLE else replaced
    wanted = {reading.sentence_of[place.first] for place in (fixed, replaced) if place.kind != TITLE}
    places = [
        Place(first, last, FULL)
        for first, last in spans
        if first not in taken and last - 1 not in taken and reading.sentence_of[first] in wanted
    ]
    places.sort(key=lambda place: (_gap(place, anchor), place.first))
    return tuple(places[:most])
