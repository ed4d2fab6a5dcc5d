"""From wordings to passages: choices, capitals, names by turns, sentences about other things around, titles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from kgaudit.literals import XSD
from kgaudit.training.phenomena.clauses import Clause
from kgaudit.training.phenomena.made import Made, Stance
from kgaudit.training.phenomena.names import Name, name
from kgaudit.training.phenomena.predicates import Predicate, close, object_kind, predicates

STANCES: dict[str, Stance] = {"s": "supports", "r": "refutes", "n": "neither"}
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_STARTS = re.compile(r"(\A|(?<!\b[A-Z])(?<!Inc)(?<!Ltd)(?<!S\.A)(?:[.?!]|\.”) +|“)([a-zà-ÿ])")


def choose(rng: Random, template: str) -> str:
    """One of the alternatives of each `[x|y]`."""
    return _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), template)


def tidy(text: str) -> str:
    """Capitals at the starts of sentences (names in lower case keep theirs), no doubled blanks or stops."""
    text = re.sub(r"\s+", " ", text).replace(" ,", ",").replace(" .", ".").strip()
    text = re.sub(r"(Inc|Ltd|S\.A|plc)\.\.", r"\1.", text)
    return _STARTS.sub(lambda match: match[1] + match[2].upper(), text)


def pick_wording(rng: Random, templates: Sequence[Any], held_out: bool) -> tuple[int, Any]:
    """(position, wording): every fifth is kept apart for the held-out material."""
    places = [place for place in range(len(templates)) if (place % 5 == 4) == held_out]
    place = places[rng.randrange(len(places))]
    return place, templates[place]


@dataclass
class Scene:
    """What one group of items is made from: a source of chance, the names used so far, the predicates
    that the sentences around have told of the subject."""

    rng: Random
    held_out: bool
    taken: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)

    def name(self, kind: str) -> Name:
        return name(self.rng, kind, self.taken)

    def predicate(self, *needs: str) -> Predicate:
        fitting = [predicate for predicate in predicates(self.held_out) if all(getattr(predicate, need) for need in needs)]
        return fitting[self.rng.randrange(len(fitting))]

    def years(self, count: int) -> list[str]:
        return [str(year) for year in sorted(self.rng.sample(range(1890, 2025), count))]

    def extras(self) -> dict[str, str]:
        """Fields that any wording may use: years, other names."""
        y1, y2, y3 = self.years(3)
        return {
            "ver": str(self.rng.randint(2, 9)),
            "y1": y1,
            "y2": y2,
            "y3": y3,
            "X": self.name("person").text,
            "W": self.name("newspaper").text,
            "T": self.name("town").text,
        }


def voice(scene: Scene, s: Name) -> tuple[str, str]:
    """Who speaks for a subject, and the pronoun for that."""
    if s.type == "PER":
        return s.text, s.pronoun
    if s.type == "ORG":
        return s.text, "it"
    return scene.name("person").text, "the expert"


def filler(scene: Scene, s: Name, objects: Sequence[Name], avoid: Predicate | None) -> str:
    """A sentence about something else: other names, or the subject or an object in another relation."""
    rng = scene.rng
    roll = rng.random()
    if roll < 0.3:
        other = rng.choice(_ABOUT)
        return choose(rng, other).format(
            N=rng.choice([s, *objects]).text, X=scene.name("person").text, T=scene.name("town").text, y=rng.randint(1900, 2024)
        )
    pool = [p for p in predicates(scene.held_out) if avoid is None or not (p.objects == avoid.objects or close(p.label, avoid.label))]
    if roll < 0.6:
        fitting = [p for p in pool if s.kind in p.subjects and p.label not in scene.told]
        if fitting:
            predicate = rng.choice(fitting)
            scene.told.add(predicate.label)
            o = scene.name(object_kind(rng, predicate, s))
            return f"{predicate.say(rng, s.text, o.text).fin}."
    predicate = avoid if avoid is not None and roll > 0.8 else rng.choice(pool)
    other_s = scene.name(rng.choice(predicate.subjects))
    other_o = scene.name(object_kind(rng, predicate, other_s))
    clause = predicate.say(rng, other_s.text, other_o.text)
    return f"{clause.fin if rng.random() < 0.75 else clause.neg}."


_ABOUT = (
    "[More|Something] on {N} [can be found|is said] in an essay by {X}.",
    "A [talk|lecture|podcast] on {N} was given in {T} in {y}.",
    "{X} published a [short|long|critical] study of {N} in {y}.",
    "[Visitors|Readers|Students] in {T} [still ask|asked in {y}] about {N}.",
    "The [spelling|name] of {N} varies in the sources.",
    "{X} never wrote about {N}.",
    "No other source from {y} mentions {N}.",
    "In {y}, an exhibition in {T} was [devoted to|named for] {N}.",
    "{N} is not mentioned in the memoirs of {X}.",
    "The [weather|food|traffic] in {T} was [poor|excellent|no help] that year.",
)


def surround(
    scene: Scene, text: str, s: Name, objects: Sequence[Name], avoid: Predicate | None, before: bool = True
) -> tuple[str, str]:
    """(sentences to go before, after): none to three in all."""
    counts = scene.rng.choice(((0, 0), (0, 0), (1, 0), (0, 1), (0, 1), (1, 1), (2, 1), (1, 2), (0, 2)))
    first = [filler(scene, s, objects, avoid) for _ in range(counts[0] if before else 0)]
    last = [filler(scene, s, objects, avoid) for _ in range(counts[1])]
    return " ".join(first), " ".join(last)


def title(scene: Scene, s: Name, objects: Sequence[Name]) -> str:
    """A title for the document: nothing, the subject, an object, something else."""
    roll = scene.rng.random()
    if roll < 0.3:
        return ""
    if roll < 0.7:
        return s.label
    if roll < 0.85:
        return scene.rng.choice(list(objects)).label
    return scene.name(scene.rng.choice(("town", "person", "company"))).label


def made(
    s: Name, label: str, o: Name, stance: str, phenomenon: str, frame: str, passage: tuple[str, str], pair: str, *, aliases: bool = True
) -> Made:
    """An item from names; `passage` is (title, text)."""
    return Made(
        s.label,
        s.aliases if aliases else (),
        s.type,
        label,
        o.label,
        o.aliases if aliases else (),
        o.type,
        passage[0],
        passage[1],
        STANCES[stance],
        phenomenon,
        pair,
        frame,
        o.value,
        XSD + o.datatype if o.datatype else "",
    )


def claim(rng: Random, predicate: Predicate, s: Name, o: Name, turn: bool) -> tuple[Name, str, Name]:
    """The claim, turned round to the inverse predicate where asked and there is one."""
    return (o, predicate.inverse, s) if turn and predicate.inverse else (s, predicate.label, o)


def fields(
    scene: Scene, predicate: Predicate, s: Name, a: Name, b: Name, seed: int, extras: dict[str, str], subject: str, template: str
) -> dict[str, Any]:
    """What a template may name (see `stated`). The same `seed` gives the same wordings, whatever the names."""
    rng = Random(seed)
    person = s.pronoun in ("he", "she")
    clear = not any(mark in template for mark in ("{X}", "{Voice}")) and not (person and a.type == "PER")
    again = rng.choice((s.pronoun, s.pronoun, s.short or s.definite)) if clear else (s.short or s.definite)
    later = (s.short or s.definite) if rng.random() < 0.5 else subject
    second = "b" if _first(template, "b") > _first(template, "a") else "a"
    clauses: dict[str, Clause] = {}
    for letter, first, text in (("", "", subject), ("s", "s", subject), ("p", "s", again)):
        for which, o in (("a", a), ("b", b)):
            clauses[letter + which] = predicate.say(rng, later if letter + which == second else text, o.text, first)
    role = predicate.role_of(subject) if predicate.role else ""
    nouns = {which: predicate.noun(Random(seed), subject, o.text) for which, o in (("na", a), ("nb", b))}
    return {
        **nouns,
        **clauses,
        **extras,
        "S": subject,
        "A": a.text,
        "B": b.text,
        "D": s.definite if not person else subject,
        "P": again,
        "Pos": s.possessive,
        "Apos": f"{a.possessive}s" if a.possessive == "her" else "his",
        "Bpos": b.possessive,
        "role": role,
        "Role": role,
        "rolen": predicate.role,
    }


def _first(template: str, which: str) -> int:
    """Where the clause with this object first stands."""
    found = re.search(rf"\{{[sp]?{which}\.", template)
    return found.start() if found else len(template)
