"""Triples into words: labels, readable local names, literals formatted for reading, and names that name nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Protocol
from urllib.parse import unquote

from kgaudit.claims import Claim, Entity, PredicateCard
from kgaudit.literals import XSD
from kgaudit.namesakes import Namesakes
from kgaudit.text import fold_name, guess_language
from kgaudit.triples import Candidate, Literal, Triple, iri_of, is_blank, is_iri, is_literal, name_of, parse_literal

_CAMEL = re.compile(r"(?<=[a-zß-öø-ÿ0-9])(?=[A-ZÀ-ÖØ-Þ])|(?<=[A-ZÀ-ÖØ-Þ])(?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])")
_OPAQUE_ID = re.compile(r"[QPLE]\d+\Z|[0-9a-fA-F]{16,}\Z|[0-9a-fA-F-]{36}\Z")  # p53 and p300 are names
_MONTHS = "January February March April May June July August September October November December".split()
_DATE = re.compile(r"(-?\d{4,})-(\d\d)-(\d\d)")


class NameLike(Protocol):
    """A label as the sources give it."""

    @property
    def value(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def kind(self) -> str: ...


class NamesLike(Protocol):
    """What the wording needs to know of a graph (`kgaudit.sources.Names`)."""

    def labels(self, term: str) -> Sequence[NameLike]: ...
    def types(self, term: str) -> Sequence[str]: ...


def local_name(iri: str) -> str:
    """The readable last part of an IRI: `.../valvesInStock` becomes `valves in stock`, `.../Norrby_Pumps` `Norrby Pumps`."""
    tail = re.split(r"[/#]", iri.rstrip("/#"))[-1]
    if ":" in tail and "/" not in iri:
        tail = tail.rsplit(":", 1)[-1]
    text = unquote(tail, errors="replace")
    spaced = re.sub(r"[_+]+|(?<=\w)-(?=\w)", " ", text) if "_" in text or text.islower() else text
    if "_" not in text and not text.isupper() and " " not in text:
        spaced = _CAMEL.sub(" ", spaced)
        if text[:1].islower():
            spaced = " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in spaced.split())
    return " ".join(spaced.split()) or iri


def literal_label(literal: Literal) -> str:
    """A literal formatted for reading: `1990-03-05` as `5 March 1990`, `4523000` as `4,523,000`."""
    kind = literal.datatype.removeprefix(XSD)
    value = literal.value.strip()
    if kind in ("date", "dateTime"):
        match = _DATE.match(value)
        if match and 1 <= int(match[2]) <= 12:
            return f"{int(match[3])} {_MONTHS[int(match[2]) - 1]} {match[1]}"
    if kind == "gYearMonth":
        match = re.match(r"(-?\d{4,})-(\d\d)", value)
        if match and 1 <= int(match[2]) <= 12:
            return f"{_MONTHS[int(match[2]) - 1]} {match[1]}"
    if re.fullmatch(r"[+-]?\d{5,}", value) and (
        kind == "decimal" or "nteger" in kind or kind in ("int", "long", "unsignedInt", "unsignedLong")
    ):
        return f"{int(value):,}" if len(value) < 40 else value
    return literal.value


_PRONOUNS = frozenset(
    "i you he she it we they him her them his hers its their theirs this that these those who whom which what one ones someone "
    "something everyone everything nobody nothing anyone both others another such there here former latter same above below "
    "er sie es wir ihr dies diese dieser dieses jene jener jenes das man jemand etwas beide alle einige andere welche welcher "
    "이 그 저 이것 그것 저것 그녀 그들 이들 우리 당사 동사 自社 それ これ 彼 彼女 它 他 她 他们 本公司".split()
)
_DETERMINERS = frozenset("the a an this that these those our their its his her my your such said some any each every".split())
_GENERIC = frozenset(
    "project company firm group team author authors paper report document agreement contract product system method model study "
    "person man woman city country year date result results approach article section site plant unit board committee customer "
    "supplier client user users party parties program programme process service department office organisation organization "
    "event meeting work works part thing things entity relation text page table figure".split()
)
_GERMAN_GENERIC = frozenset(
    "projekt firma unternehmen gesellschaft konzern bericht vertrag produkt werk kunde lieferant team person stadt land vorstand "
    "abteilung behörde verein gruppe dokument standort anlage".split()
)
_GERMAN_DETERMINERS = frozenset("der die das des dem den ein eine einer eines unser unsere dieser diese dieses".split())


def fragment_reason(label: str) -> str:
    """Why a label names nothing in particular (a pronoun, a piece of a sentence), or ""."""
    folded = fold_name(label)
    words = re.findall(r"\w+", folded)
    if not words:
        return f"“{label}” has no word in it"
    if folded in _PRONOUNS:
        return f"“{label}” is a pronoun: it does not say what is meant"
    first, rest = words[0], words[1:]
    if first in _DETERMINERS and rest:
        written = re.findall(r"\w+", label)[1:]
        if all(word in _GENERIC for word in rest) or (first not in ("the", "a", "an") and all(word.islower() for word in written)):
            return f"“{label}” is a piece of a sentence: it does not say which one is meant"
        if all(word.islower() for word in written) and rest[-1] in _GENERIC:
            return f"“{label}” is a piece of a sentence: it does not say which one is meant"
    if first in _GERMAN_DETERMINERS and rest and all(word in _GERMAN_GENERIC for word in rest):
        return f"“{label}” is a piece of a sentence: it does not say which one is meant"
    if not rest and first in _GENERIC and label.strip().islower():
        return f"“{label}” is a common noun: it does not say which one is meant"
    return ""


_SCALE = re.compile(r"\bin (thousand|million|billion)s?\b")
_POWERS = {"thousand": 3, "million": 6, "billion": 9}


def in_units(entity: Entity, predicate: str) -> Entity:
    """A number whose predicate says that it counts thousands, millions or billions ("revenue in million euros"), as the documents
    would write it: 684.5 becomes 684.5 million."""
    scale = _SCALE.search(predicate)
    if scale is None or entity.value is None or not re.fullmatch(r"[+-]?\d+(?:\.\d+)?", entity.value):
        return entity
    value = format(Decimal(entity.value).scaleb(_POWERS[scale[1]]), "f")
    return replace(entity, label=f"{entity.label} {scale[1]}", aliases=(), value=value)


class ClaimBuilder:
    """Builds claims from candidates. `languages` are preferred for labels, in that order; "" stands for labels without one."""

    def __init__(
        self,
        names: NamesLike,
        cards: Mapping[str, PredicateCard],
        languages: Sequence[str] = ("en", ""),
        namesakes: Namesakes | None = None,
    ) -> None:
        self._namesakes = namesakes
        self._names = names
        self._cards = cards
        self._rank = {language: rank for rank, language in enumerate(languages)}

    def claim(self, candidate: Candidate) -> Claim:
        """The candidate in words. The statement to check is set only where the predicate says nothing."""
        triple = candidate.triple
        subject = self.entity(triple.s)
        card = self._cards.get(triple.p) or PredicateCard(iri=iri_of(triple.p), label=local_name(iri_of(triple.p)))
        obj = in_units(self.entity(triple.o), card.label)
        statements = candidate.statements
        fragment = fragment_reason(subject.label)
        if not fragment and not obj.is_literal:
            fragment = fragment_reason(obj.label)
        checked = statements[0] if statements and (card.vacuous or fragment) else ""
        own, others = self._contexts(triple)
        return Claim(
            key=candidate.key,
            triple=triple,
            subject=subject,
            predicate=card,
            object=obj,
            statement=checked,
            statements=statements,
            fragment=fragment,
            own_context=own,
            namesake_context=others,
        )

    def _contexts(self, triple: Triple) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if self._namesakes is None:
            return (), ()
        own: dict[str, None] = {}
        others: dict[str, None] = {}
        for term, claimed in ((triple.s, triple.o), (triple.o, triple.s)):
            mine, theirs = self._namesakes.contexts(term, claimed)
            own.update((name, None) for one in mine for name in self.entity(one).names)
            others.update((name, None) for one in theirs for name in self.entity(one).names)
        return tuple(own), tuple(name for name in others if name not in own)

    def entity(self, term: str) -> Entity:
        """A subject or object in words."""
        if is_literal(term):
            literal = parse_literal(term)
            label = literal_label(literal)
            aliases = (literal.value,) if literal.value != label else ()
            return Entity(term, label, aliases, (), literal.datatype, literal.value, literal.language or guess_language(literal.value))
        found = sorted(self._names.labels(term), key=self._preference)
        names = tuple(dict.fromkeys(name.value for name in found if name.value.strip()))
        types = tuple(self._class_label(kind) for kind in self._names.types(term))
        if names:
            return Entity(term, names[0], names[1:], types, language=found[0].language)
        return Entity(term, self._fallback_label(term), (), types)

    def _fallback_label(self, term: str) -> str:
        name = name_of(term)
        if name is not None:
            return name
        return local_name(iri_of(term)) if is_iri(term) else term

    def _class_label(self, term: str) -> str:
        found = sorted(self._names.labels(term), key=self._preference)
        return found[0].value if found else self._fallback_label(term)

    def _preference(self, name: NameLike) -> tuple[bool, int, str, str]:
        language = name.language.lower()
        rank = self._rank.get(language, self._rank.get(language.split("-")[0], len(self._rank)))
        return name.kind == "skos:altLabel", rank, language, name.value


def is_unnamed(entity: Entity) -> bool:
    """Whether the entity has no name that a text could hold: a blank node, or an opaque id without a label."""
    if entity.is_literal or entity.aliases:
        return False
    if is_blank(entity.term):
        return entity.label == entity.term
    return bool(_OPAQUE_ID.match(entity.label)) and is_iri(entity.term) and iri_of(entity.term).endswith(entity.label)
