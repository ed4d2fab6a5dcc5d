from __future__ import annotations

from hashlib import sha256

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgaudit.literals import XSD
from kgaudit.triples import (
    Candidate,
    Literal,
    Place,
    Triple,
    canonical_term,
    escape,
    literal_term,
    name_of,
    name_term,
    parse_literal,
    place_from_dict,
    place_to_dict,
    triple_key,
    unescape,
)

S, P = "<https://graph.example/Norrby>", "<https://graph.example/size>"


def test_the_key_is_the_hash_of_the_canonical_line() -> None:
    line = f'{S} {P} "1.5"^^<{XSD}decimal> .\n'
    assert triple_key(S, P, f'"+1.50"^^<{XSD}decimal>') == sha256(line.encode()).hexdigest()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f'"+1.50"^^<{XSD}decimal>', f'"1.5"^^<{XSD}decimal>'),
        (f'"x"^^<{XSD}string>', '"x"'),
        ('"Werk"@DE-at', '"Werk"@de-AT'),
        ('"\\u00E9"', '"é"'),
        ('"\\U0001F6A2"', '"🚢"'),
        ('"it\\\'s"', '"it\'s"'),
        ('"a\tb"', '"a\\tb"'),
        ('"\\u0001"', '"\x01"'),
    ],
)
def test_equal_triples_have_equal_keys(one: str, other: str) -> None:
    assert triple_key(S, P, one) == triple_key(S, P, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f'"1.5"^^<{XSD}decimal>', f'"1.5"^^<{XSD}double>'),
        ('"x"', '"x"@en'),
        ('"x"', "<x>"),
        ('"a\\\\nb"', '"a\\nb"'),
        ('"X"', '"x"'),
        ('"00714"', '"714"'),
    ],
)
def test_different_triples_have_different_keys(one: str, other: str) -> None:
    assert triple_key(S, P, one) != triple_key(S, P, other)


def test_the_validity_interval_belongs_to_the_key() -> None:
    keys = {
        triple_key(S, P, '"x"', *interval)
        for interval in ((None, None), ("2020", None), (None, "2020"), ("2020", "2021"))
    }  # fmt: skip
    assert len(keys) == 4
    assert triple_key(S, P, '"x"', "", "") == triple_key(S, P, '"x"')
    assert Triple(S, P, '"x"', "2020").key == triple_key(S, P, '"x"', "2020")


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_escapes_come_back_and_other_tools_read_them(text: str) -> None:
    assert unescape(escape(text)) == text
    assert parse_literal(literal_term(text)) == Literal(text)
    (quad,) = pyoxigraph.parse(f"{S} {P} {literal_term(text)} .\n", format=pyoxigraph.RdfFormat.N_TRIPLES)
    assert quad.object.value == text


@pytest.mark.parametrize("text", ["\\uD83D", "\\uD83D\\uDEA2", "\\x", "\\UFFFFFFFF", "\\U0000D800"])
def test_half_characters_and_unknown_escapes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"escape|character"):
        unescape(text)


@pytest.mark.parametrize(
    ("term", "parts"),
    [
        ('"a \\"b\\""@en', Literal('a "b"', "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "en")),
        (f'"5"^^<{XSD}integer>', Literal("5", XSD + "integer")),
        ('""', Literal("")),
    ],
)
def test_literals_have_parts(term: str, parts: Literal) -> None:
    assert parse_literal(term) == parts


@pytest.mark.parametrize("term", ["<https://graph.example/x>", "_:b", '"', ""])
def test_what_is_no_literal_has_none(term: str) -> None:
    with pytest.raises(ValueError, match="literal"):
        parse_literal(term)


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1))
def test_names_become_iris_and_come_back(name: str) -> None:
    term = name_term(name)
    assert name_of(term) == name
    (quad,) = pyoxigraph.parse(f"{term} {P} {S} .\n", format=pyoxigraph.RdfFormat.N_TRIPLES)
    assert str(quad.subject) == term


def test_other_terms_are_no_names() -> None:
    assert name_of(S) is None
    assert name_of('"Norrby"') is None


def test_triple_terms_have_canonical_literals_too() -> None:
    assert canonical_term(f'<<( {S} {P} "+1.50"^^<{XSD}decimal> )>>') == f'<<( {S} {P} "1.5"^^<{XSD}decimal> )>>'


def test_places_survive_the_table_and_statements_come_once() -> None:
    place = Place("kg.nt", 3, "<https://graph.example/g>", "Norrby is large.", ("d1", "d2"), "ex", "2026-01-05")
    assert place_from_dict(place_to_dict(place)) == place
    other = Place("kg.nt", 4, statement="Norrby is big.")
    assert Candidate("k", Triple(S, P, '"x"'), (place, other, place, Place("x"))).statements == ("Norrby is large.", "Norrby is big.")
