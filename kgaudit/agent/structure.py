"""Facts that the graph's own schema decides, without a document: the first turn of the routing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from kgaudit.claims import Claim
from kgaudit.literals import is_valid_lexical
from kgaudit.triples import is_literal
from kgaudit.verdicts import Verdict
from kgaudit.wording import local_name


class SchemaLike(Protocol):
    """What the routing needs of a schema (`kgaudit.sources.Schema`): class terms, their superclasses, disjoint pairs."""

    @property
    def subclass_of(self) -> Mapping[str, Sequence[str]]: ...
    def are_disjoint(self, one: str, other: str) -> bool: ...


class TypesLike(Protocol):
    """The declared types of a term."""

    def types(self, term: str) -> Sequence[str]: ...


class StructuralRoute:
    """Refutes what the schema rules out. Never supports: that a triple fits the schema does not make it true."""

    def __init__(self, schema: SchemaLike, names: TypesLike) -> None:
        self._schema = schema
        self._names = names

    def __call__(self, claim: Claim) -> Verdict | None:
        """A refuting verdict with its reason, or None where the schema leaves it open."""
        reason = self._self_loop(claim) or self._datatype(claim) or self._classes(claim)
        return Verdict("refuted", reason, "schema", p_supported=0.0, confidence=1.0) if reason else None

    def _self_loop(self, claim: Claim) -> str:
        if claim.triple.s == claim.triple.o and (claim.predicate.irreflexive or claim.predicate.asymmetric):
            return f"subject and object are the same, and the schema says that nothing can be “{claim.predicate.label}” itself"
        return ""

    def _datatype(self, claim: Claim) -> str:
        value, datatype = claim.object.value, claim.object.datatype
        if value is not None and datatype is not None and not is_valid_lexical(value, datatype):
            return f"“{value[:80]}” is not a value of the datatype {local_name(datatype)}"
        return ""

    def _classes(self, claim: Claim) -> str:
        for entity, expected, role in (
            (claim.subject, claim.predicate.domain, "domain"),
            (claim.object, claim.predicate.range, "range"),
        ):
            if is_literal(entity.term):
                continue
            for kind in self._names.types(entity.term):
                clash = next((one for one in expected if self._schema.are_disjoint(kind, one)), None)
                if clash:
                    return (
                        f"the {role} of “{claim.predicate.label}” is {local_name(clash[1:-1])}, which the schema keeps apart from "
                        f"{local_name(kind[1:-1])}, the type of {entity.label}"
                    )
        return ""
