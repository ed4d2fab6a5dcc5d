"""What the graph's own schema says of predicates and classes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from kgaudit.triples import is_iri

RDF_TERM = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "<http://www.w3.org/2000/01/rdf-schema#"
_OWL = "<http://www.w3.org/2002/07/owl#"


@dataclass(frozen=True, slots=True)
class PredicateFacts:
    """What the schema says of a predicate; classes and predicates as terms. `range` may hold datatypes."""

    domain: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    functional: bool = False
    inverse_functional: bool = False
    symmetric: bool = False
    asymmetric: bool = False
    irreflexive: bool = False
    inverse_of: tuple[str, ...] = ()
    sub_property_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema: facts by predicate term, classes right above by class term, and pairs of classes that share no thing."""

    predicates: dict[str, PredicateFacts] = field(default_factory=dict)
    subclass_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    disjoint: frozenset[tuple[str, str]] = frozenset()

    def superclasses(self, term: str) -> set[str]:
        """The class and all classes above it."""
        found = {term}
        todo = [term]
        while todo:
            for above in self.subclass_of.get(todo.pop(), ()):
                if above not in found:
                    found.add(above)
                    todo.append(above)
        return found

    def are_disjoint(self, one: str, other: str) -> bool:
        """Whether the schema says that nothing is of both classes."""
        if not self.disjoint:
            return False
        above = self.superclasses(other)
        return any((a, b) in self.disjoint for a in self.superclasses(one) for b in above)

    def to_json(self) -> dict[str, Any]:
        """The schema as JSON values."""
        return {
            "predicates": {term: asdict(facts) for term, facts in self.predicates.items()},
            "subclass_of": self.subclass_of,
            "disjoint": sorted(self.disjoint),
        }

    @staticmethod
    def from_json(values: dict[str, Any]) -> Schema:
        """The schema behind `to_json`."""
        return Schema(
            {term: _facts(said) for term, said in values["predicates"].items()},
            {term: tuple(above) for term, above in values["subclass_of"].items()},
            frozenset((one, other) for one, other in values["disjoint"]),
        )


_SETS = {f"{_RDFS}domain>": "domain", f"{_RDFS}range>": "range", f"{_RDFS}subPropertyOf>": "sub_property_of"}
_FLAGS = {
    f"{_OWL}FunctionalProperty>": "functional",
    f"{_OWL}InverseFunctionalProperty>": "inverse_functional",
    f"{_OWL}SymmetricProperty>": "symmetric",
    f"{_OWL}AsymmetricProperty>": "asymmetric",
    f"{_OWL}IrreflexiveProperty>": "irreflexive",
}


class SchemaWriter:
    """Collects schema statements. Kept in memory: schemas are small beside the graphs that they describe."""

    def __init__(self) -> None:
        self._facts: dict[str, dict[str, Any]] = {}
        self._above: dict[str, dict[str, None]] = {}
        self._disjoint: set[tuple[str, str]] = set()

    def add(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Takes statements whose role is `schema`. A list must come in the same call as the statement that points to it."""
        members: list[str] = []
        first: dict[str, str] = {}
        rest: dict[str, str] = {}
        for s, p, o in rows:
            if p in _SETS:
                if is_iri(o):
                    self._facts.setdefault(s, {}).setdefault(_SETS[p], {})[o] = None
            elif p == f"{_OWL}inverseOf>":
                for one, other in ((s, o), (o, s)):
                    if is_iri(one) and is_iri(other):
                        self._facts.setdefault(one, {}).setdefault("inverse_of", {})[other] = None
            elif p == f"{RDF_TERM}type>" and o in _FLAGS:
                self._facts.setdefault(s, {})[_FLAGS[o]] = True
            elif p in (f"{_RDFS}subClassOf>", f"{_OWL}equivalentClass>"):
                self._above.setdefault(s, {})[o] = None
                if p == f"{_OWL}equivalentClass>":
                    self._above.setdefault(o, {})[s] = None
            elif p == f"{_OWL}disjointWith>":
                self._disjoint |= {(s, o), (o, s)}
            elif p == f"{_OWL}members>":
                members.append(o)
            elif p == f"{RDF_TERM}first>":
                first[s] = o
            elif p == f"{RDF_TERM}rest>":
                rest[s] = o
        for head in members:
            classes = _list(head, first, rest)
            self._disjoint |= {(a, b) for a in classes for b in classes if a != b}

    def schema(self) -> Schema:
        """What was collected."""
        facts = {term: _facts(said) for term, said in sorted(self._facts.items())}
        return Schema(facts, {term: tuple(above) for term, above in sorted(self._above.items())}, frozenset(self._disjoint))


def _facts(said: dict[str, Any]) -> PredicateFacts:
    values: dict[str, Any] = {name: value if isinstance(value, bool) else tuple(value) for name, value in said.items()}
    return PredicateFacts(**values)


def _list(head: str, first: dict[str, str], rest: dict[str, str]) -> list[str]:
    items: dict[str, str] = {}
    while head in first and head not in items:
        items[head] = first[head]
        head = rest.get(head, "")
    return list(items.values())
