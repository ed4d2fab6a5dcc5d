"""Claims: triples in words, as queries, judges and people read them."""

from __future__ import annotations

from dataclasses import dataclass

from kgaudit.triples import Triple


@dataclass(frozen=True, slots=True)
class Entity:
    """A subject or object in words. `label` comes first in what is shown; `aliases` are other names, without the label.

    For a literal, `datatype` is its IRI, `value` its lexical form, and `label` the same value formatted for reading.
    """

    term: str
    label: str
    aliases: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    datatype: str | None = None
    value: str | None = None
    language: str = ""

    @property
    def is_literal(self) -> bool:
        """Whether this is a literal value and not a thing."""
        return self.datatype is not None

    @property
    def names(self) -> tuple[str, ...]:
        """Label and aliases."""
        return (self.label, *self.aliases)


@dataclass(frozen=True, slots=True)
class PredicateCard:
    """What is known of a predicate.

    `paraphrases` and `inverse` are phrases that stand between subject and object ("has its seat in") or between object and subject
    ("is the seat of"). `vacuous`: it says nothing ("related to"), so that only a statement can be checked. `functional`: a subject
    has one object; `inverse_functional`: an object has one subject. `irreflexive` and `asymmetric` are what the schema says.
    `value_type` is the datatype IRI of its literals, if it has them; `domain` and `range` are class terms.
    """

    iri: str
    label: str
    paraphrases: tuple[str, ...] = ()
    inverse: str = ""
    inverse_of: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    functional: bool = False
    inverse_functional: bool = False
    temporal: bool = False
    symmetric: bool = False
    asymmetric: bool = False
    irreflexive: bool = False
    vacuous: bool = False
    value_type: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """The triple in words.

    `statement` is the sentence that is checked in the triple's place where the predicate says nothing; it is never evidence.
    `own_context` and `namesake_context` are set where another thing of the graph bears the subject's or object's name: names that
    the graph connects with this one, and names that it connects with the others.
    `fragment`: the subject or object is a pronoun or a piece of a sentence that names nothing ("This", "the project").
    """

    key: str
    triple: Triple
    subject: Entity
    predicate: PredicateCard
    object: Entity
    statement: str = ""
    statements: tuple[str, ...] = ()
    fragment: str = ""
    own_context: tuple[str, ...] = ()
    namesake_context: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One line: subject, predicate, object."""
        return f"{self.subject.label} {self.predicate.label} {self.object.label}"
