"""Who stands to whom: direction, two relations of one subject, two subjects with an object each, chains, parts, namesakes, pronouns.

Each wording names clauses by what they join: see the builders. Fields beyond those of `stated` are explained there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

from kgaudit.training.phenomena.clauses import Clause
from kgaudit.training.phenomena.made import Made
from kgaudit.training.phenomena.names import Name, surname
from kgaudit.training.phenomena.predicates import Predicate, close, object_kind, predicates
from kgaudit.training.phenomena.scene import Scene, choose, made, pick_wording, surround, tidy, title

Claimed = tuple[Name, str, Name, str]
"""A claim and its stance: subject, predicate, object, letter."""

DIRECTION = (
    "{a.fin}.",
    "[According to {W}|As {W} reported], {a.fin}.",
    "It is [well documented|beyond doubt|on record] that {a.fin}.",
    "{X} [recalls|writes|notes] that {a.fin}.",
    "[What few people know|What the file shows]: {a.fin}.",
    "Because {a.fin}, {X} wrote about {S} and {O} in one chapter.",
    "When {X} [looked into the matter|asked], it was found that {a.fin}.",
    "{O} and {S} are often mixed up; {a.fin}, not the other way round.",
    "{S} and {O} are often mixed up; {a.fin}, not the other way round.",
    "It is not {O} that is meant here when it is said that {a.fin}, but the whole story of {O} and {S}.",
    "Nobody now doubts that {a.fin}, [whatever was said in {y1}|least of all {X}].",
    "[Looking back in {y2}|In an interview], {X} said: “{a.fin}.”",
    "Two names belong together, {S} and {O}: {a.fin}.",
    "Two names belong together, {O} and {S}: {a.fin}.",
    "That {a.fin} [explains much|surprised {X}|was news to {X}].",
    "{W} [is certain of this much|sums it up]: {a.fin}.",
    "The link between {S} and {O} is simple. {a.fin}.",
    "The link between {O} and {S} is simple. {a.fin}.",
    "One thing sets {O} apart from {X}: {a.fin}.",
    "One thing sets {S} apart from {X}: {a.fin}.",
)


def direction(scene: Scene, pair: str) -> list[Made]:
    """S and O of a predicate that tells them apart, and the same text with the names exchanged."""
    rng = scene.rng
    pool = [p for p in predicates(scene.held_out) if p.label not in _SYMMETRIC and (_same_kind(p) or p.inverse)]
    alike = [p for p in pool if _same_kind(p)]
    predicate = rng.choice(alike if alike and rng.random() < 0.75 else pool)
    kind = rng.choice([kind for kind in predicate.subjects if not _same_kind(predicate) or predicate.takes(kind)])
    s = scene.name(kind)
    o = scene.name(kind if _same_kind(predicate) else object_kind(rng, predicate, s))
    place, template = pick_wording(rng, DIRECTION, scene.held_out)
    template, seed = choose(rng, template), rng.getrandbits(32)
    extras, heading = scene.extras(), title(scene, s, (o,))
    before, after = surround(scene, "", s, (o,), predicate)
    items = []
    for first, second in ((s, o), (o, s)) if _same_kind(predicate) else ((s, o),):
        clause = predicate.say(Random(seed), first.text, second.text)
        text = tidy(f"{before} {template.format(a=clause, S=s.text, O=o.text, **extras)} {after}")
        claims = [(first, predicate.label, second, "s"), (second, predicate.label, first, "r")]
        if predicate.inverse:
            claims += [(second, predicate.inverse, first, "s"), (first, predicate.inverse, second, "r")]
        items += _items(claims, "direction", place, (heading, text), pair)
    return items


_SYMMETRIC = {"significant drug interaction"}


def _same_kind(predicate: Predicate) -> bool:
    return any(predicate.takes(kind) for kind in predicate.subjects)


def _each_with_its_own(label: str, subjects: tuple[Name, Name], objects: tuple[Name, Name], wrong: str) -> list[Claimed]:
    """What is said of two subjects with an object each, and what is not: the objects exchanged."""
    (s, u), (own, other) = subjects, objects
    return [(s, label, own, "s"), (u, label, other, "s"), (s, label, other, wrong), (u, label, own, wrong)]


def _items(claims: list[Claimed], phenomenon: str, place: int, passage: tuple[str, str], pair: str) -> list[Made]:
    return [made(s, label, o, stance, phenomenon, f"{phenomenon}/{place}", passage, pair) for s, label, o, stance in claims]


TWO_RELATIONS = (
    "{p.fin}, [while|whereas] {q.fin}.",
    "{q.fin}, [while|whereas] {p.fin}.",
    "{p.fin}. {q.fin}.",
    "{q.fin}. {p.fin}.",
    "{ps.fin} and {qs.v_fin}.",
    "{qs.fin} and {ps.v_fin}.",
    "{W} notes that {p.fin} and that {q.fin}.",
    "{W} notes that {q.fin} and that {p.fin}.",
    "[In {y1}|For the record], {p.fin}; [a year later|as to the rest], {q.fin}.",
    "[In {y1}|For the record], {q.fin}; [a year later|as to the rest], {p.fin}.",
    "It is {A} that one has to thank or blame for the fact that {p.fin}; {B} comes in because {q.fin}.",
    "{B} comes in because {q.fin}; it is {A} that one has to thank or blame for the fact that {p.fin}.",
    "Two names stand in the entry on {S}. {A}: {p.fin}. {B}: {q.fin}.",
    "Two names stand in the entry on {S}. {B}: {q.fin}. {A}: {p.fin}.",
    "Not only is it true that {p.fin}: {q.fin} as well.",
    "{X} [thanked|praised|criticised] {A}, since {p.fin}, and {B}, since {q.fin}.",
    "{X} [thanked|praised|criticised] {B}, since {q.fin}, and {A}, since {p.fin}.",
    "[Notes|Facts|In brief]: {q.fin} ({B}); {p.fin} ({A}).",
    "[Notes|Facts|In brief]: {p.fin} ({A}); {q.fin} ({B}).",
    "Although {q.fin}, it would be wrong to forget that {p.fin}.",
    "Although {p.fin}, it would be wrong to forget that {q.fin}.",
    "{ps.fin}. Later on, something else happened to the reputation of {S}: it became known that {q.fin}.",
    "{A} and {B} have little in common except {S}: {p.fin}, and {q.fin}.",
    "{B} and {A} have little in common except {S}: {p.fin}, and {q.fin}.",
    "While {q.fin}, {p.fin}.",
    "{S}, {who} {qs.v_fin}, {ps.v_fin}.",
    "{S}, {who} {ps.v_fin}, {qs.v_fin}.",
    "{po.subject}, {whoA} {po.v_fin}, [had quarrelled with|once lent money to|is older than] {qo.subject}, {whoA} {qo.v_fin}.",
    "{qo.subject}, {whoA} {qo.v_fin}, [had quarrelled with|once lent money to|is older than] {po.subject}, {whoA} {po.v_fin}.",
    "{ps.fin}, [not|and not] {B}, although {q.fin}.",
    "The roles were clear: {qo.subject} {qo.v_fin}, {po.subject} {po.v_fin}.",
    "The roles were clear: {po.subject} {po.v_fin}, {qo.subject} {qo.v_fin}.",
    "Without {B}, {S} would be another story, for {q.fin}; but {A} stood in the first line, for {p.fin}.",
    "{B} ({q.fin}) left before {A} ({p.fin}) was ever heard of.",
    "{A} ({p.fin}) was unknown when {B} ({q.fin}) was heard of for the first time.",
)


@cache
def _pairs(held_out: bool, people: bool) -> tuple[tuple[Predicate, Predicate, str, str], ...]:
    """Two predicates with a kind of subject and a kind of object that suit both: persons and companies, or all else."""
    pool = predicates(held_out)
    return tuple(
        (p, q, kind, sort)
        for p in pool
        for q in pool
        if p.label != q.label and not close(p.label, q.label)
        for kind in p.subjects
        if kind in q.subjects
        for sort in p.objects
        if sort in q.objects and (sort in ("person", "company", "woman")) == people
    )


def two_relations(scene: Scene, pair: str, people: bool) -> list[Made]:
    """One subject, two relations with an object each: neither object takes the part of the other."""
    rng = scene.rng
    p, q, kind, sort = rng.choice(_pairs(scene.held_out, people))
    s = scene.name(kind)
    a, b = scene.name(sort), scene.name(sort)
    place, template = pick_wording(rng, TWO_RELATIONS, scene.held_out)
    while "{po." in template and not (p.starts("o") and q.starts("o")):
        place, template = pick_wording(rng, TWO_RELATIONS, scene.held_out)
    template, seed = choose(rng, template), rng.getrandbits(32)
    extras, heading = scene.extras(), title(scene, s, (a, b))
    before, after = surround(scene, "", s, (a, b), p)
    phenomenon = "who did what" if people else "sibling predicate"
    items = []
    for first, second in ((a, b), (b, a)):
        fresh = Random(seed)
        clauses = {
            "p": p.say(fresh, s.text, first.text),
            "q": q.say(fresh, s.text, second.text),
            "ps": p.say(fresh, s.text, first.text, "s" if p.starts("s") else ""),
            "qs": q.say(fresh, s.text, second.text, "s" if q.starts("s") else ""),
            "po": p.say(fresh, s.text, first.text, "o" if p.starts("o") else ""),
            "qo": q.say(fresh, s.text, second.text, "o" if q.starts("o") else ""),
        }
        given = {"who": _who(s), "whoA": _who(first), "S": s.text, "A": first.text, "B": second.text}
        text = tidy(f"{before} {template.format(**clauses, **extras, **given)} {after}")
        wrong_p, wrong_q = ("r" if p.functional else "n"), ("r" if q.functional else "n")
        claims = [(s, p.label, first, "s"), (s, q.label, second, "s"), (s, p.label, second, wrong_p), (s, q.label, first, wrong_q)]
        items += _items(claims, phenomenon, place, (heading, text), pair)
    return items


TWO_SUBJECTS = {
    "respectively": (
        "{S} and {U} {both.v_pl}, respectively.",
        "Respectively, {S} and {U} {both.v_pl}.",
        "{X} found out that {S} and {U} {both.v_pl}, in this order.",
        "{S} and {U} {both.v_pl}, the former having to do with {A} and the latter with {B}.",
        "In the order given, {S} and {U} {both.v_pl}.",
        "As for {S} and {U}, they {both.v_pl}, respectively.",
        "According to {W}, {S} and {U} {both.v_pl}, respectively.",
        "{W} is brief: {S} and {U} respectively {both.v_pl}.",
        "{S} and {U} (in that order) {both.v_pl}, a fact that {X} [noted|overlooked].",
        "{X} mentions {S} and {U}, {who} {both.v_pl}, each in turn.",
        "{U} and {S}, named in the wrong order in {W}, {turned.v_pl}, respectively.",
        "Respectively: {U} and {S} {turned.v_pl}.",
        "{U} and {S} {turned.v_pl}, respectively.",
        "In the order given, {U} and {S} {turned.v_pl}.",
        "What {U} and {S} have in common: they {turned.v_pl}, respectively.",
        "{X} was right to say that {U} and {S} {turned.v_pl}, in that order.",
    ),
    "attribution": (
        "{m.fin}, {n.fin}.",
        "{n.fin}, [while|whereas] {m.fin}.",
        "{m.fin}, [while|whereas] {n.fin}.",
        "{m.fin}; the same goes for {U} and {B}.",
        "{U} and {B} belong together as do {S} and {A}: {m.fin}.",
        "The list reads: {S}, {A}; {U}, {B}. The heading explains what it is about, as in “{m.fin}”.",
        "The list reads: {U}, {B}; {S}, {A}. The heading explains what it is about, as in “{m.fin}”.",
        "{X} compared the two. {m.fin}. {n.fin}.",
        "{X} compared the two. {n.fin}. {m.fin}.",
        "In one case {m.fin}, in the other {n.fin}.",
        "In one case {n.fin}, in the other {m.fin}.",
        "{W} tells two stories: how it came about that {m.fin}, and how it came about that {n.fin}.",
        "{W} tells two stories: how it came about that {n.fin}, and how it came about that {m.fin}.",
        "{m.fin}. With {U} it is {B}: {n.fin}.",
        "With {U} it is {B}: {n.fin}. {m.fin}.",
        "{m.fin}, just as {n.fin}.",
        "Just as {n.fin}, {m.fin}.",
        "{m.fin}, not {U}; {n.fin}, not {S}.",
        "{n.fin}, not {S}; {m.fin}, not {U}.",
        "If {m.fin}, it does not follow that {S} has anything to do with {B}: as regards {U}, {n.fin}.",
    ),
    "comparison of two": (
        "{S}, {who} {ms.v_fin}, is [older|better known|harder to find] than {U}, {who} {us.v_fin}.",
        "{U}, {who} {us.v_fin}, is [older|better known|harder to find] than {S}, {who} {ms.v_fin}.",
        "Like {U}, {who} {us.v_fin}, {S} has had a share of praise: {ms.fin}.",
        "{S} has had a share of praise, like {U}, {who} {us.v_fin}: {ms.fin}.",
        "Next to {U} ({us.fin}), {S} ({ms.fin}) looks [pale|modest|almost young].",
        "{S} ({ms.fin}) looks [pale|modest|almost young] next to {U} ({us.fin}).",
        "{X} likes {S}, {who} {ms.v_fin}, better than {U}, {who} {us.v_fin}.",
        "{X} likes {U}, {who} {us.v_fin}, less than {S}, {who} {ms.v_fin}.",
        "More has been written about {U}, {who} {us.v_fin}, than about {S}, {who} {ms.v_fin}.",
        "Less has been written about {S}, {who} {ms.v_fin}, than about {U}, {who} {us.v_fin}.",
        "As against {U}, {who} {us.v_fin}, {S} {ms.v_fin}.",
        "{S} {ms.v_fin}, as against {U}, {who} {us.v_fin}.",
        "There is no comparing {S}, {who} {ms.v_fin}, with {U}, {who} {us.v_fin}.",
        "There is no comparing {U}, {who} {us.v_fin}, with {S}, {who} {ms.v_fin}.",
        "The cost of a book about {S}, {who} {ms.v_fin}, is twice that of one about {U}, {who} {us.v_fin}.",
        "{U}, {who} {us.v_fin}, fills a thinner file than {S}, {who} {ms.v_fin}.",
    ),
    "scope": (
        "Of {S}, {U} and {V}, only {S} {ms.v_fin}; the other two {ns.v_pl}.",
        "Of {V}, {U} and {S}, all {ns.v_pl} but {S}: {ms.fin}.",
        "All of them, {U} and {V} among others, {ns.v_pl}, with the sole exception of {S}, since {ms.fin}.",
        "{S} alone {ms.v_fin}. {U} and {V} {ns.v_pl}.",
        "{U} and {V} {ns.v_pl}. {S} alone {ms.v_fin}.",
        "{U} and {V} both {ns.v_pl}, [unlike|in contrast to] {S}, {who} {ms.v_fin}.",
        "Only one of the three, {S}, {ms.v_fin}; {V} and {U} {ns.v_pl}.",
        "Two of the three, {V} and {U}, {ns.v_pl}; the third, {S}, {ms.v_fin}.",
        "Not all of them {ns.v_pl}: {U} and {V} do or did, but {ms.fin}.",
        "Except for {S}, {who} {ms.v_fin}, they all {ns.v_pl}, that is, {U} and {V}.",
        "Everyone and everything on the list, {U} as well as {V}, {ns.v_pl}, save {S}: {ms.fin}.",
        "Most, among them {V} and {U}, {ns.v_pl}; {S}, however, {ms.v_fin}.",
        "{S}, however, {ms.v_fin}; most, among them {V} and {U}, {ns.v_pl}.",
        "Where {U} and {V} are concerned, they {ns.v_pl}; where {S} is concerned, {ms.fin}.",
        "Where {S} is concerned, {ms.fin}; where {U} and {V} are concerned, they {ns.v_pl}.",
    ),
}


TWO_SUBJECTS["partial names"] = TWO_SUBJECTS["attribution"][:16] + TWO_SUBJECTS["comparison of two"][:12]


def lookalike(scene: Scene, name: Name) -> Name | None:
    """Something else of the same kind with half of the same name: Korva Foods beside Korva Steel."""
    other = scene.name(name.kind)
    mine, theirs = name.label.split(), other.label.split()
    if name.kind in _FAMILY and len(mine) > 1 and len(theirs) > 1 and not {mine[0], theirs[0]} & {"FC", "Dynamo"}:
        if name.kind == "person":
            label = f"{theirs[0]} {mine[-1]}"
        elif name.kind in ("law", "book", "film"):
            label = " ".join([*mine[:-1], theirs[-1]])
        else:
            label = " ".join([mine[0], *theirs[1:]])
    elif name.kind in ("town", "product", "software"):
        label = f"New {name.label}" if name.kind == "town" else f"{name.label} {scene.rng.choice(('Lite', 'Plus', 'II', 'Next'))}"
    else:
        return None
    short = other.short if name.kind != "person" else mine[-1]
    return None if label == name.label else replace(other, label=label, short=short, aliases=())


_FAMILY = {"person", "company", "institution", "building", "bridge", "award", "newspaper", "law", "team", "book", "film", "agency"}


def two_subjects(scene: Scene, pair: str, phenomenon: str) -> list[Made]:
    """Two subjects with an object each, by one predicate: neither has that of the other."""
    rng = scene.rng
    place, template = pick_wording(rng, TWO_SUBJECTS[phenomenon], scene.held_out)
    pool = [p for p in predicates(scene.held_out) if any(_plain(p, clause) for clause in p.clauses)]
    predicate = rng.choice(pool)
    s = scene.name(rng.choice(predicate.subjects))
    kind = object_kind(rng, predicate, s)
    u, v = scene.name(s.kind), scene.name(s.kind)
    a, b = scene.name(kind), scene.name(kind)
    if phenomenon == "partial names":
        u, b = lookalike(scene, s) or u, lookalike(scene, a) or b
    template, seed = choose(rng, template), rng.getrandbits(32)
    extras, heading = scene.extras(), title(scene, s, (u, a, b))
    before, after = surround(scene, "", s, (u,), predicate)
    items = []
    for first, second in ((a, b), (b, a)):
        fresh = Random(seed)
        wording = fresh.choice([clause for clause in predicate.clauses if _plain(predicate, clause)])
        given: dict[str, Any] = {
            "m": predicate.say(Random(seed), s.text, first.text),
            "n": predicate.say(Random(seed), u.text, second.text),
            "ms": Clause(s.text, wording[1], wording[2].format(s=s.text, o=first.text), predicate.event),
            "us": Clause(u.text, wording[1], wording[2].format(s=u.text, o=second.text), predicate.event),
            "ns": Clause("they", wording[1], wording[2].format(s="them", o=second.text), predicate.event),
            "both": Clause("", wording[1], wording[2].format(s="", o=f"{first.text} and {second.text}"), predicate.event),
            "turned": Clause("", wording[1], wording[2].format(s="", o=f"{second.text} and {first.text}"), predicate.event),
        }
        body = template.format(**given, **extras, who=_who(s), S=s.text, U=u.text, V=v.text, A=first.text, B=second.text)
        text = tidy(f"{before} {body} {after}")
        wrong = "r" if predicate.functional or phenomenon == "scope" else "n"
        claims = _each_with_its_own(predicate.label, (s, u), (first, second), wrong)
        items += _items(claims, phenomenon, place, (heading, text), pair)
    return items


def _who(name: Name) -> str:
    return "who" if name.type == "PER" else "which"


def _plain(predicate: Predicate, clause: tuple[str, str, str]) -> bool:
    """Whether a wording with the subject in front can go into the plural as it stands."""
    place, _, rest = clause
    return place == "s" and not re.match(r"(a|an|the|its|under contract)\b", rest) and " its " not in f" {rest} "


COORDINATION = (
    "{l.fin}. {B} is [not among them|missing from that list].",
    "{B} is missing here: {l.fin}.",
    "{l.fin}, but not {B}.",
    "Not {B}, but three others: {l.fin}.",
    "[As the annual report says|According to {W}], {l.fin}. {B} appears only on the cover.",
    "{B} appears on the cover. Inside, one reads that {l.fin}.",
    "Three names are given. {l.fin}. A fourth, {B}, was crossed out.",
    "A fourth name, {B}, was crossed out. Three are given: {l.fin}.",
    "{l.fin}, to the regret of {X}, who would have liked to read {B} there.",
    "To the regret of {X}, who would have liked to read {B} there, {l.fin}.",
    "Together with nobody else, {B} least of all, {l.fin}.",
    "It adds up to three, and {B} is none of the three: {l.fin}.",
    "{l.fin}. {X} had bet on {B} as a fourth.",
    "{X} had bet on {B} as a fourth, but {l.fin}, and that is that.",
    "{l.fin}; the rest, such as {B}, came away empty-handed.",
    "The rest, such as {B}, came away empty-handed, while {l.fin}.",
)


def coordination(scene: Scene, pair: str) -> list[Made]:
    """Three objects in one list, each of them stated; another name outside it."""
    rng = scene.rng
    predicate = rng.choice([p for p in predicates(scene.held_out) if not p.functional and p.starts("s") and "same" not in p.objects])
    s = scene.name(rng.choice(predicate.subjects))
    kind = object_kind(rng, predicate, s)
    a, b, c, d = (scene.name(kind) for _ in range(4))
    place, template = pick_wording(rng, COORDINATION, scene.held_out)
    template, seed, at = choose(rng, template), rng.getrandbits(32), rng.randrange(3)
    extras, heading = scene.extras(), title(scene, s, (a, b))
    before, after = surround(scene, "", s, (a, b), predicate)
    items = []
    for first, second in ((a, b), (b, a)):
        names = [c.text, d.text]
        names.insert(at, first.text)
        clause = predicate.say(Random(seed), s.text, f"{names[0]}, {names[1]} and {names[2]}", "s")
        text = tidy(f"{before} {template.format(l=clause, **extras, B=second.text)} {after}")
        items += _items(
            [(s, predicate.label, first, "s"), (s, predicate.label, second, "r")], "coordination", place, (heading, text), pair
        )
    return items


CHAIN = (
    "{m.fin}, and {n.fin}.",
    "{n.fin}, and {m.fin}.",
    "{m.fin}. In turn, {n.fin}.",
    "[Earlier|To begin with], {n.fin}; [later|apart from that], {m.fin}.",
    "{m.fin}, and one should add that {n.fin}.",
    "A line leads from {S} by way of {A} to {B}: {m.fin}, and {n.fin}.",
    "A line leads from {B} by way of {A} to {S}: {n.fin}, and {m.fin}.",
    "{X} drew the chain on the board: {m.fin}; {n.fin}.",
    "{X} drew the chain on the board: {n.fin}; {m.fin}.",
    "Since {n.fin}, and since {m.fin}, {X} treats {A} as the link.",
    "Without {A} the story has a gap. {m.fin}. {n.fin}.",
    "Without {A} the story has a gap. {n.fin}. {m.fin}.",
    "{B} and {S} are two steps apart: {m.fin}, but {n.fin}.",
    "{S} and {B} are two steps apart: {n.fin}, but {m.fin}.",
    "{W} [reported|wrote] that {m.fin} and, in another issue, that {n.fin}.",
    "{W} [reported|wrote] that {n.fin} and, in another issue, that {m.fin}.",
)
_CHAINS = {
    "supplier",
    "student of",
    "influenced by",
    "defeated by",
    "followed by",
    "investor",
    "doctoral advisor",
    "replaced by",
    "activates",
}


def chain(scene: Scene, pair: str) -> list[Made]:
    """S to A and A to B do not make S to B."""
    rng = scene.rng
    pool = [p for p in predicates(scene.held_out) if p.label in _CHAINS]
    predicate = rng.choice(pool)
    kind = rng.choice([kind for kind in predicate.subjects if predicate.takes(kind)])
    s, a, b = scene.name(kind), scene.name(kind), scene.name(kind)
    place, template = pick_wording(rng, CHAIN, scene.held_out)
    template, seed = choose(rng, template), rng.getrandbits(32)
    extras, heading = scene.extras(), title(scene, s, (a, b))
    before, after = surround(scene, "", s, (a, b), predicate)
    items = []
    succession = predicate.label in ("followed by", "replaced by")
    for middle, end in ((a, b), (b, a)):
        fresh = Random(seed)
        clauses = {"m": predicate.say(fresh, s.text, middle.text), "n": predicate.say(fresh, middle.text, end.text)}
        text = tidy(f"{before} {template.format(**clauses, **extras, S=s.text, A=middle.text, B=end.text)} {after}")
        wrong = "r" if predicate.functional else "n"
        claims = [(s, predicate.label, middle, "s"), (s, predicate.label, end, wrong)]
        if succession:
            claims += [(middle, predicate.inverse, s, "s"), (end, predicate.inverse, s, wrong)]
            claims += [(middle, predicate.label, end, "s"), (middle, predicate.label, s, "r")]
        items += _items(claims, "chain", place, (heading, text), pair)
    return items


PARTS: dict[str, tuple[str, ...]] = {
    "person": (
        "the brother of",
        "an assistant of",
        "the former landlord of",
        "the son-in-law of",
        "a colleague of",
        "the dentist of",
        "the cousin of",
    ),
    "company": (
        "the catering branch of",
        "the pension fund of",
        "a former customer of",
        "the canteen of",
        "the main rival of",
        "the auditor of",
    ),
    "institution": ("the choir of", "the student union of", "the library of", "the rowing club of"),
    "newspaper": ("the sports supplement of", "the crossword of", "the printing house of"),
    "agency": ("the regional branch of", "the press office of", "the staff council of"),
    "building": ("the east wing of", "the car park of", "the restaurant in", "the old gate of"),
    "bridge": ("the toll house at", "the western ramp of", "the predecessor of"),
    "book": ("the preface of", "the second edition of", "the audio version of", "a parody of"),
    "film": ("the trailer of", "the remake of", "the poster of", "a documentary on"),
    "song": ("the video of", "the German version of", "a remix of"),
    "album": ("the cover of", "the bonus disc of", "the tour for"),
    "show": ("the pilot of", "a spin-off of", "the last season of"),
    "painting": ("the frame of", "a copy of", "the sketch for"),
    "product": ("the battery of", "the charger of", "a cheap copy of", "the display of"),
    "software": ("the installer of", "a plug-in for", "the logo of", "the manual of"),
    "team": ("the youth side of", "the stadium of", "the women's side of", "the fan club of"),
    "town": ("the twin town of", "the harbour of", "a suburb of", "the main square of"),
    "country": ("a neighbour of", "the smallest island of", "a former colony of"),
    "region": ("a neighbour of", "the eastern half of"),
    "drug": ("a metabolite of", "a generic version of", "the coating of", "a derivative of"),
    "gene": ("a fragment of", "a mutant of", "a relative of"),
    "disease": ("a mild form of", "a complication of"),
    "ship": ("the sister ship of", "the lifeboat of", "the anchor of"),
    "competition": ("the youth section of", "the qualifying round of"),
    "law": ("an annex to", "the draft of", "a predecessor of"),
    "treaty": ("the first draft of", "an annex to"),
    "river": ("a tributary of", "the old arm of"),
    "species": ("a parasite of", "a close relative of"),
}
PART = (
    "{m.fin}. [However|By contrast], {n.fin}.",
    "{n.fin}. [However|By contrast], {m.fin}.",
    "{n.fin}, but {m.fin}.",
    "{m.fin}, but {n.fin}.",
    "While {n.fin}, {m.fin}.",
    "While {m.fin}, {n.fin}.",
    "{X} points out that {m.fin} and that {n.fin}.",
    "{X} points out that {n.fin} and that {m.fin}.",
    "One must keep the two apart: {n.fin}, and {m.fin}.",
    "One must keep the two apart: {m.fin}, and {n.fin}.",
    "[In the caption|On the plaque] it says: {m.fin}; {n.fin}.",
    "[In the caption|On the plaque] it says: {n.fin}; {m.fin}.",
    "That {n.fin} has led some to overlook that {m.fin}.",
    "That {m.fin} has led some to overlook that {n.fin}.",
    "For {part}, it is {B} ({n.fin}); for {S}, it is {A} ({m.fin}).",
    "For {S}, it is {A} ({m.fin}); for {part}, it is {B} ({n.fin}).",
)


def part(scene: Scene, pair: str) -> list[Made]:
    """What is said of a part, a copy or a relative of the subject is not said of the subject."""
    rng = scene.rng
    predicate = rng.choice([p for p in predicates(scene.held_out) if any(kind in PARTS for kind in p.subjects)])
    s = scene.name(rng.choice([kind for kind in predicate.subjects if kind in PARTS]))
    kind = object_kind(rng, predicate, s)
    a, b = scene.name(kind), scene.name(kind)
    place, template = pick_wording(rng, PART, scene.held_out)
    template, seed = choose(rng, template), rng.getrandbits(32)
    other = f"{rng.choice(PARTS[s.kind])} {s.text}"
    extras, heading = scene.extras(), title(scene, s, (a, b))
    before, after = surround(scene, "", s, (a, b), predicate)
    items = []
    for first, second in ((a, b), (b, a)):
        fresh = Random(seed)
        clauses = {"m": predicate.say(fresh, s.text, first.text), "n": predicate.say(fresh, other, second.text)}
        text = tidy(f"{before} {template.format(**clauses, **extras, S=s.text, part=other, A=first.text, B=second.text)} {after}")
        wrong = "r" if predicate.functional else "n"
        items += _items([(s, predicate.label, first, "s"), (s, predicate.label, second, wrong)], "part", place, (heading, text), pair)
    return items


PRONOUNS = (
    "{S} met {U} in {T}. {m.fin}; {n.fin}.",
    "{U} met {S} in {T}. {n.fin}; {m.fin}.",
    "{S} [married|sued|interviewed] {U} in {y1}. {n.fin}, {m.fin}.",
    "{U} [married|sued|interviewed] {S} in {y1}. {m.fin}, {n.fin}.",
    "{S} and {U} [shared an office|rowed together|lived next door] for years. {n.fin}. {m.fin}.",
    "{U} and {S} [shared an office|rowed together|lived next door] for years. {m.fin}. {n.fin}.",
    "The letters of {S} to {U} have been kept. In them one reads that {m.fin} and {n.fin}.",
    "The letters of {U} to {S} have been kept. In them one reads that {n.fin} and {m.fin}.",
    "{S} is younger than {U}. While {n.fin}, {m.fin}.",
    "{U} is younger than {S}. While {m.fin}, {n.fin}.",
    "[Like|Unlike] {U}, {S} never learnt to drive. {m.fin}, and {n.fin}.",
    "[Like|Unlike] {S}, {U} never learnt to drive. {n.fin}, and {m.fin}.",
    "A book about {S} and {U} came out in {y2}. It tells how {n.fin} and how {m.fin}.",
    "A book about {U} and {S} came out in {y2}. It tells how {m.fin} and how {n.fin}.",
    "{W} portrayed {S}, together with {U}. Readers learnt that {m.fin}, but {n.fin}.",
    "{W} portrayed {U}, together with {S}. Readers learnt that {n.fin}, but {m.fin}.",
)


def pronouns(scene: Scene, pair: str) -> list[Made]:
    """A woman and a man, named once; the rest is she and he."""
    rng = scene.rng
    pool = [p for p in predicates(scene.held_out) if "person" in p.subjects and p.starts("s")]
    predicate = rng.choice(pool)
    kinds = ["woman", "man"]
    rng.shuffle(kinds)
    s, u = (replace(scene.name(kind), kind="person") for kind in kinds)
    kind = rng.choice(predicate.objects)
    a, b = scene.name(kind), scene.name(kind)
    place, template = pick_wording(rng, PRONOUNS, scene.held_out)
    template, seed = choose(rng, template), rng.getrandbits(32)
    extras, heading = scene.extras(), title(scene, s, (u, a, b))
    before, after = surround(scene, "", s, (u, a), predicate)
    items = []
    for first, second in ((a, b), (b, a)):
        fresh = Random(seed)
        clauses = {"m": predicate.say(fresh, s.pronoun, first.text, "s"), "n": predicate.say(fresh, u.pronoun, second.text, "s")}
        text = tidy(f"{before} {template.format(**clauses, **extras, S=s.text, U=u.text)} {after}")
        wrong = "r" if predicate.functional else "n"
        claims = _each_with_its_own(predicate.label, (s, u), (first, second), wrong)
        items += _items(claims, "pronouns", place, (heading, text), pair)
    return items


DESCRIPTIONS = (
    "{S} and {U} were both in the news in {y1}. {m.fin}; {n.fin}.",
    "{S} and {U} were both in the news in {y1}. {n.fin}; {m.fin}.",
    "[An essay|A long article|A podcast] by {X} deals with {U} and {S}. It says that {n.fin} and that {m.fin}.",
    "[An essay|A long article|A podcast] by {X} deals with {U} and {S}. It says that {m.fin} and that {n.fin}.",
    "{W} wrote about {S} in its first part and about {U} in its second. {m.fin}, while {n.fin}.",
    "{W} wrote about {S} in its first part and about {U} in its second. {n.fin}, while {m.fin}.",
    "A court in {T} had to decide between {U} and {S}. {n.fin}. {m.fin}.",
    "A court in {T} had to decide between {U} and {S}. {m.fin}. {n.fin}.",
    "{S} is not far from the hearts of those who love {U}. {m.fin}, {n.fin}.",
    "{S} is not far from the hearts of those who love {U}. {n.fin}, {m.fin}.",
    "{X} left all {X} had to {U} and to {S}. As it happens, {m.fin}; as for the rest, {n.fin}.",
    "{X} left all {X} had to {U} and to {S}. As it happens, {n.fin}; as for the rest, {m.fin}.",
    "In {y2}, both {U} and {S} stood on the list of things to be sold. {n.fin}; {m.fin}.",
    "In {y2}, both {U} and {S} stood on the list of things to be sold. {m.fin}; {n.fin}.",
    "Much is known about {S}, less about {U}. {m.fin}. {n.fin}.",
    "Much is known about {S}, less about {U}. {n.fin}. {m.fin}.",
)


def descriptions(scene: Scene, pair: str) -> list[Made]:
    """Two things of different kinds, named once; the rest is "the company" and "the ship"."""
    rng = scene.rng
    predicate = rng.choice([p for p in predicates(scene.held_out) if len(p.subjects) > 1 and "same" not in p.objects])
    first_kind, second_kind = rng.sample(predicate.subjects, 2)
    s, u = scene.name(first_kind), scene.name(second_kind)
    kind = object_kind(rng, predicate, s)
    a, b = scene.name(kind), scene.name(kind)
    if len({s.noun, u.noun, a.noun}) < 3 or "PER" in (s.type, u.type):
        return descriptions(Scene(rng, scene.held_out), pair)
    place, template = pick_wording(rng, DESCRIPTIONS, scene.held_out)
    template, seed = choose(rng, template), rng.getrandbits(32)
    extras, heading = scene.extras(), title(scene, s, (u, a, b))
    _, after = surround(scene, "", s, (u, a), predicate)
    items = []
    for first, second in ((a, b), (b, a)):
        fresh = Random(seed)
        clauses = {"m": predicate.say(fresh, s.definite, first.text), "n": predicate.say(fresh, u.definite, second.text)}
        text = tidy(f"{template.format(**clauses, **extras, S=s.text, U=u.text)} {after}")
        wrong = "r" if predicate.functional else "n"
        claims = _each_with_its_own(predicate.label, (s, u), (first, second), wrong)
        items += _items(claims, "descriptions", place, (heading, text), pair)
    return items


NAMESAKES = (
    "There are two people called {L}: {S}, of whom it is known that {m.fin}, and {U}, of whom it is known that {n.fin}.",
    "There are two people called {L}: {U}, of whom it is known that {n.fin}, and {S}, of whom it is known that {m.fin}.",
    "{S} and {U} share a surname and nothing else. {m.fin}, {n.fin}.",
    "{U} and {S} share a surname and nothing else. {n.fin}, {m.fin}.",
    "The {L} who matters here is {S}: {m.fin}. The other one, {U}, is a different case: {n.fin}.",
    "The {L} who is often meant is {U}: {n.fin}. The other one, {S}, is a different case: {m.fin}.",
    "Not every {L} is the same. {n.fin}, but {m.fin}.",
    "Not every {L} is the same. {m.fin}, but {n.fin}.",
    "{X} mistook {S} for {U}. {n.fin}; {m.fin}.",
    "{X} mistook {U} for {S}. {m.fin}; {n.fin}.",
    "The name {L} occurs twice in the index: once for {S} ({m.fin}), once for {U} ({n.fin}).",
    "The name {L} occurs twice in the index: once for {U} ({n.fin}), once for {S} ({m.fin}).",
    "{S} (not related to {U}) is the one meant in the sentence “{m.fin}”. {n.fin}.",
    "{U} (not related to {S}) is the one meant in the sentence “{n.fin}”. {m.fin}.",
    "Letters to {L} often went to the wrong house, {U} being one and {S} the other. {m.fin}, and {n.fin}.",
    "Letters to {L} often went to the wrong house, {S} being one and {U} the other. {n.fin}, and {m.fin}.",
)


def namesakes(scene: Scene, pair: str) -> list[Made]:
    """Two people with one surname, told apart by the given name; the surname is an alias of both."""
    rng = scene.rng
    predicate = rng.choice([p for p in predicates(scene.held_out) if "person" in p.subjects])
    family = surname(rng)
    s, u = (scene.name("person") for _ in range(2))
    s, u = (replace(person, label=f"{person.label.split()[0]} {family}", short=family, aliases=(family,)) for person in (s, u))
    if s.label == u.label:
        return namesakes(Scene(rng, scene.held_out), pair)
    kind = rng.choice(predicate.objects)
    a, b = scene.name(kind), scene.name(kind)
    place, template = pick_wording(rng, NAMESAKES, scene.held_out)
    template, seed = choose(rng, template), rng.getrandbits(32)
    extras, heading = scene.extras(), title(scene, s, (u, a, b))
    before, after = surround(scene, "", s, (u, a), predicate)
    items = []
    for first, second in ((a, b), (b, a)):
        fresh = Random(seed)
        clauses = {"m": predicate.say(fresh, s.text, first.text), "n": predicate.say(fresh, u.text, second.text)}
        text = tidy(f"{before} {template.format(**clauses, **extras, S=s.text, U=u.text, L=family)} {after}")
        wrong = "r" if predicate.functional else "n"
        claims = _each_with_its_own(predicate.label, (s, u), (first, second), wrong)
        items += _items(claims, "namesakes", place, (heading, text), pair)
    return items


BUILDERS: dict[str, Callable[[Scene, str], list[Made]]] = {
    "direction": direction,
    "who did what": lambda scene, pair: two_relations(scene, pair, people=True),
    "sibling predicate": lambda scene, pair: two_relations(scene, pair, people=False),
    "respectively": lambda scene, pair: two_subjects(scene, pair, "respectively"),
    "attribution": lambda scene, pair: two_subjects(scene, pair, "attribution"),
    "comparison of two": lambda scene, pair: two_subjects(scene, pair, "comparison of two"),
    "partial names": lambda scene, pair: two_subjects(scene, pair, "partial names"),
    "scope": lambda scene, pair: two_subjects(scene, pair, "scope"),
    "coordination": coordination,
    "chain": chain,
    "part": part,
    "pronouns": pronouns,
    "descriptions": descriptions,
    "namesakes": namesakes,
}
