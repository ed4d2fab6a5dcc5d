"""What the documents state in the claim's place: where a subject has one object of a predicate, another object refutes.

Candidates are the dates, numbers or names of a passage that could stand where the claimed object would; the judge is asked about each
as if it were claimed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kgaudit.agent.attribution import attributed
from kgaudit.agent.loop import Environment
from kgaudit.agent.mentions import names_entity
from kgaudit.claims import Claim, Entity
from kgaudit.documents import Passage
from kgaudit.literals import XSD
from kgaudit.models.values import Day, Quantity, claimed_value, compare, find_values
from kgaudit.text import find_names, fold
from kgaudit.triples import literal_term, name_term
from kgaudit.verdicts import Stance

MAX_PASSAGES = 3
MAX_RIVALS = 8
LIKELY = 0.5
"""Of all that could stand there, the one that at a glance is likeliest is judged, where it is as likely as this: what is less likely
can change no verdict."""

_NAME = re.compile(
    r"[A-ZÀ-ÖØ-Þ][\w&'’.-]*(?:\s+(?:(?:of|the|de|la|van|von|der|den|du|del|di|da|and|&|für|und)\s+)*[A-ZÀ-ÖØ-Þ0-9][\w&'’-]*)*"
)
_NO_NAMES = frozenset(
    "The A An In On At By For From To With And Or But As It He She They We You I This That These Those His Her Its Their Our There "
    "Here After Before Since When While Where Who What Which If Then Also However Although Because During Until Not No Yes Dear "
    "Der Die Das Den Dem Ein Eine Im Am Bei Mit Von Und Oder Aber Es Er Sie Wir Ich Nach Vor Seit Als Wenn Nur Auch "
    "January February March April May June July August September October November December Monday Tuesday Wednesday Thursday Friday "
    "Saturday Sunday Januar Februar März Mai Juni Juli Oktober Dezember Montag Dienstag Mittwoch Donnerstag Freitag".split()
)


@dataclass(frozen=True, slots=True)
class Rival:
    """Another object (or subject: `role`) that a passage states in the claim's place."""

    label: str
    role: Literal["object", "subject"]
    passage: Passage
    stance: Stance


async def strongest_rival(claim: Claim, passages: Sequence[Passage], environment: Environment, *, closely: bool) -> Rival | None:
    """What the passages state most surely in the place of the claim's object, where the predicate is functional, or of its subject,
    where it is inverse functional; None where nothing could stand there. `closely`: judged, instead of glanced at."""
    asked: list[tuple[Claim, Passage, Literal["object", "subject"]]] = []
    if claim.predicate.functional:
        for passage in [one for one in passages if names_entity(one, claim.subject)][:MAX_PASSAGES]:
            asked += [(replace(claim, object=rival), passage, "object") for rival in rival_objects(claim, passage)]
    if claim.predicate.inverse_functional and not claim.object.is_literal:
        for passage in [one for one in passages if names_entity(one, claim.object)][:MAX_PASSAGES]:
            asked += [(replace(claim, subject=rival), passage, "subject") for rival in rival_subjects(claim, passage)]
    glances = await environment.glance([(rival, passage) for rival, passage, _ in asked])
    likeliest = max(range(len(asked)), key=lambda i: glances[i].supports, default=-1)  # the first of equals
    if likeliest < 0 or glances[likeliest].supports < LIKELY:
        return None
    rival, passage, role = asked[likeliest]
    stance = (await environment.judge([(rival, passage)]))[0] if closely else glances[likeliest]
    return Rival(getattr(rival, role).label, role, passage, attributed(claim, passage, stance))


def rival_objects(claim: Claim, passage: Passage) -> list[Entity]:
    """What could stand in the object's place in a passage, the nearest to a mention of the subject first; at most `MAX_RIVALS`."""
    found = _values(claim, passage) if claimed_value(claim.object) is not None else _names(claim, passage)
    return _nearest(found, passage, claim.subject)


def rival_subjects(claim: Claim, passage: Passage) -> list[Entity]:
    """What could stand in the subject's place in a passage, the nearest to a mention of the object first; at most `MAX_RIVALS`."""
    return _nearest(_names(claim, passage), passage, claim.object)


def _nearest(found: list[tuple[int, Entity]], passage: Passage, to: Entity) -> list[Entity]:
    folded = fold(passage.text)
    places = [folded.original(mention.start, mention.end)[0] for mention in find_names(passage.text, folded, to.names)] or [0]
    ordered = sorted(found, key=lambda one: (min(abs(one[0] - place) for place in places), one[0]))
    return list({entity.label: entity for _, entity in ordered}.values())[:MAX_RIVALS]


def _values(claim: Claim, passage: Passage) -> list[tuple[int, Entity]]:
    claimed = claimed_value(claim.object)
    assert claimed is not None
    found = []
    for value in find_values(passage.text, passage.language):
        if value.is_date != isinstance(claimed, Day) or compare(claimed, value) != "differs":
            continue
        reading = value.readings[0]
        lexical, datatype = _lexical(reading)
        written = passage.text[value.start : value.end]
        found.append((value.start, Entity(literal_term(lexical, datatype), written, (), (), datatype, lexical)))
    return found


def _lexical(value: Day | Quantity) -> tuple[str, str]:
    if isinstance(value, Quantity):
        return format(value.number, "f"), XSD + "decimal"
    if value.day:
        return f"{value.year:04d}-{value.month:02d}-{value.day:02d}", XSD + "date"
    return (f"{value.year:04d}-{value.month:02d}", XSD + "gYearMonth") if value.month else (f"{value.year:04d}", XSD + "gYear")


def _names(claim: Claim, passage: Passage) -> list[tuple[int, Entity]]:
    folded = fold(passage.text)
    known = [
        folded.original(mention.start, mention.end)
        for mention in find_names(passage.text, folded, (*claim.subject.names, *claim.object.names))
    ]
    found = []
    for match in _NAME.finditer(passage.text):
        start, end = match.span()
        label = match.group().rstrip(".'’-")
        first, _, rest = label.partition(" ")
        if first in _NO_NAMES:
            if not rest or not rest[0].isupper():
                continue
            start, label = start + len(first) + 1, rest
        if label in _NO_NAMES or len(label) < 2 or any(start < k_end and k_start < end for k_start, k_end in known):
            continue
        found.append((start, Entity(name_term(label), label)))
    return found
