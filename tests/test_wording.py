from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from kgaudit.claims import Entity, PredicateCard
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


def test_namesakes_are_told_apart_by_what_the_graph_connects_them_with() -> None:
    from kgaudit.agent.attribution import attributed
    from kgaudit.documents import Passage
    from kgaudit.namesakes import find_namesakes
    from kgaudit.verdicts import Stance

    def candidate(s: str, p: str, o: str) -> Candidate:
        triple = Triple(f"<x:{s}>", f"<x:{p}>", o if o.startswith('"') else f"<x:{o}>")
        return Candidate(triple.key, triple, (Place("kg.nt"),))

    wrong, right = candidate("one", "founded", '"1911"'), candidate("other", "founded", '"1911"')
    graph = [candidate("one", "seat", "orvik"), candidate("other", "seat", "dunmere"), wrong, right]
    bank = [Name("First Harbour Bank")]
    names = Names({"<x:one>": bank, "<x:other>": bank, "<x:orvik>": [Name("Orvik")], "<x:dunmere>": [Name("Dunmere")]})
    namesakes = find_namesakes([("first harbour bank", "<x:one>"), ("first harbour bank", "<x:other>")], graph)
    builder = ClaimBuilder(names, {}, namesakes=namesakes)
    text = "The First Harbour Bank in Dunmere was founded in 1911."
    passage, stance = Passage("d", 0, len(text), text), Stance(0.9, 0.0, 0.1, 0, len(text))
    borrowed = attributed(builder.claim(wrong), passage, stance)
    assert borrowed.neither == 1.0
    assert "Dunmere" in borrowed.note
    assert attributed(builder.claim(right), passage, stance) == stance
    own = attributed(builder.claim(graph[1]), passage, stance)
    assert own == stance  # Dunmere is the claim's own object
    false_seat = builder.claim(candidate("one", "seat", "dunmere"))
    assert attributed(false_seat, passage, stance).neither == 1.0


def test_names_that_look_like_ids_in_small_letters_are_names() -> None:
    gene = Entity("<https://example.org/gene/p300>", "p300")
    assert not is_unnamed(gene)
    assert is_unnamed(Entity("<http://www.wikidata.org/entity/Q42>", "Q42"))
