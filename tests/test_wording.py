from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from kgaudit.claims import PredicateCard
from kgaudit.literals import XSD
from kgaudit.triples import Candidate, Literal, Place, Triple, literal_term, name_term
from kgaudit.wording import ClaimBuilder, fragment_reason, is_unnamed, literal_label, local_name


@dataclass(frozen=True)
class Name:
    value: str
    language: str = ""
    kind: str = "rdfs:label"


class Names:
    def __init__(self, labels: dict[str, list[Name]], types: dict[str, list[str]] | None = None) -> None:
        self._labels, self._types = labels, types or {}

    def labels(self, term: str) -> Sequence[Name]:
        return self._labels.get(term, [])

    def types(self, term: str) -> Sequence[str]:
        return self._types.get(term, [])


@pytest.mark.parametrize(
    ("iri", "expected"),
    [
        ("https://graph.example/Norrby_Pumps", "Norrby Pumps"),
        ("https://graph.example/acquiredBy", "acquired by"),
        ("https://graph.example/x#valvesInStock", "valves in stock"),
        ("https://graph.example/Halden%20works", "Halden works"),
        ("https://graph.example/%EC%9C%A4%EC%84%9D%ED%99%94", "윤석화"),
        ("https://graph.example/칼_폰_린네", "칼 폰 린네"),
        ("https://graph.example/folder/", "folder"),
        ("urn:isbn:12345", "12345"),
        ("https://graph.example/PRODUCT-OF", "PRODUCT-OF"),
    ],
)
def test_local_name_is_readable(iri: str, expected: str) -> None:
    assert local_name(iri) == expected


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("1990-03-05", "date", "5 March 1990"),
        ("1990-03-05T10:00:00Z", "dateTime", "5 March 1990"),
        ("1990-03", "gYearMonth", "March 1990"),
        ("1990", "gYear", "1990"),
        ("4523000", "integer", "4,523,000"),
        ("-45230", "int", "-45,230"),
        ("1990-99-05", "date", "1990-99-05"),
        ("00714", "string", "00714"),
        ("1.5", "decimal", "1.5"),
    ],
)
def test_literals_are_formatted_for_reading(value: str, kind: str, expected: str) -> None:
    assert literal_label(Literal(value, XSD + kind)) == expected


@pytest.mark.parametrize(
    "label", ["This", "it", "the project", "The company", "our supplier", "these results", "project", "...", "그것", "Das Unternehmen"]
)
def test_what_names_nothing_is_found(label: str) -> None:
    assert label in fragment_reason(label)


@pytest.mark.parametrize(
    "label",
    [
        "The Salt Ledger",
        "The Who",
        "Project Saltmarsh",
        "the Netherlands",
        "Norrby",
        "It Works GmbH",
        "24",
        "윤석화",
        "The Company of Wolves",
    ],
)
def test_names_are_left_alone(label: str) -> None:
    assert fragment_reason(label) == ""


def test_label_language_is_preferred_and_the_others_become_aliases() -> None:
    term = "<https://graph.example/n>"
    names = Names({term: [Name("Werk Nord", "de"), Name("North Works", "en-GB"), Name("NW", "en", "skos:altLabel")]})
    entity = ClaimBuilder(names, {}).entity(term)
    assert (entity.label, entity.aliases, entity.language) == ("North Works", ("Werk Nord", "NW"), "en-GB")
    assert ClaimBuilder(names, {}, ("de", "")).entity(term).label == "Werk Nord"


def test_claim_checks_its_statement_only_where_the_predicate_says_nothing() -> None:
    triple = Triple(name_term("Norrby"), name_term("related_to"), literal_term("Halden"))
    candidate = Candidate(triple.key, triple, (Place("a.csv", 2, statement="Norrby owns Halden."), Place("a.csv", 3)))
    vacuous = {triple.p: PredicateCard("x", "related to", vacuous=True)}
    assert ClaimBuilder(Names({}), vacuous).claim(candidate).statement == "Norrby owns Halden."
    telling = {triple.p: PredicateCard("x", "owns")}
    claim = ClaimBuilder(Names({}), telling).claim(candidate)
    assert (claim.statement, claim.statements) == ("", ("Norrby owns Halden.",))
    assert claim.text == "Norrby owns Halden"


def test_opaque_ids_and_blank_nodes_have_no_name() -> None:
    builder = ClaimBuilder(Names({"<http://w/Q2>": [Name("Orvik")]}), {})
    assert is_unnamed(builder.entity("<http://w/Q1>"))
    assert is_unnamed(builder.entity("_:b0"))
    assert not is_unnamed(builder.entity("<http://w/Q2>"))
    assert not is_unnamed(builder.entity('"Q1"'))
    assert not is_unnamed(builder.entity("<http://w/Orvik>"))
