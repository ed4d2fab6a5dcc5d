"""Dates and numbers are compared by value, however they are written."""

from __future__ import annotations

import pytest

from kgaudit.claims import Entity
from kgaudit.models.values import XSD, Agreement, claimed_value, compare, find_values


def _literal(value: str, kind: str) -> Entity:
    return Entity("", value, datatype=XSD + kind, value=value)


def _agreements(value: str, kind: str, text: str, language: str) -> list[Agreement | None]:
    claimed = claimed_value(_literal(value, kind))
    assert claimed is not None
    return [compare(claimed, found) for found in find_values(text, language)]


@pytest.mark.parametrize(
    ("value", "text", "language"),
    [
        ("4523000", "revenue of 4,523,000 euros", "en"),
        ("4523000", "revenue of 4.523 million euros", "en"),
        ("1250000", "holds 1.25 million valves", "en"),
        ("12500", "Orvik hat 12.500 Einwohner.", "de"),
        ("3500000", "3,5 Mio. Euro", "de"),
        ("4523000", "인구는 452만 3천 명이다", "ko"),
        ("125000", "12만 5000명", "ko"),
        ("1234567", "1 234 567 habitants", "fr"),
        ("21", "twenty-one people", "en"),
        ("1962", "born 1962", "en"),
    ],
)
def test_a_number_is_found_however_it_is_written(value: str, text: str, language: str) -> None:
    assert _agreements(value, "integer", text, language) == ["equal"]


@pytest.mark.parametrize(
    ("value", "text", "language"),
    [
        ("4532", "employs 4,523 people", "en"),
        ("12", "Orvik hat 12.500 Einwohner.", "de"),
        ("12500", "a mean of 12.500 points", "en"),
        ("3", "came in 13 times", "en"),
        ("214", "214.5 square kilometres", "en"),
    ],
)
def test_another_number_differs(value: str, text: str, language: str) -> None:
    assert _agreements(value, "integer", text, language) == ["differs"]


def test_ordinals_are_no_quantities() -> None:
    assert find_values("the 3rd place", "en") == []


@pytest.mark.parametrize(
    "text",
    [
        "on 5 March 1990",
        "on March 5, 1990",
        "on 1990-03-05",
        "am 5. März 1990",
        "1990년 3월 5일",
        "le 5 mars 1990",
        "el 5 de marzo de 1990",
    ],
)
def test_a_date_is_found_however_it_is_written(text: str) -> None:
    assert _agreements("1990-03-05", "date", text, "") == ["equal"]


def test_a_day_in_points_is_day_first_and_slashes_are_open_in_english() -> None:
    assert _agreements("1990-03-05", "date", "05.03.1990", "de") == ["equal"]
    assert _agreements("1990-03-05", "date", "3/5/1990", "en") == ["equal"]
    assert _agreements("1990-03-05", "date", "3/5/1990", "fr") == ["differs"]


@pytest.mark.parametrize(
    ("value", "kind", "text", "agreement"),
    [
        ("1990", "gYear", "on 5 March 1990", "finer"),
        ("1990-03", "gYearMonth", "in March 1990", "equal"),
        ("1990-03-05", "date", "in March 1990", "coarser"),
        ("1990-03-05", "date", "in 1990", "coarser"),
        ("1990-03-05", "date", "on 6 March 1990", "differs"),
        ("1991", "gYear", "on 5 March 1990", "differs"),
    ],
)
def test_exactness_matters(value: str, kind: str, text: str, agreement: Agreement) -> None:
    assert _agreements(value, kind, text, "en") == [agreement]


def test_a_rounded_number_is_coarser() -> None:
    assert _agreements("4523000", "integer", "4.5 million", "en") == ["coarser"]
    assert _agreements("4423000", "integer", "4.5 million", "en") == ["differs"]


def test_ranges_hold_both_years_and_decades_none() -> None:
    assert [found.readings[0] for found in find_values("1995-97", "en")] == [
        claimed_value(_literal("1995", "gYear")), claimed_value(_literal("1997", "gYear"))
    ]  # fmt: skip
    assert find_values("in the 1990s", "en") == []


def test_offsets_are_those_of_the_text() -> None:
    text = "Velmora has 1.2 million inhabitants since 5 March 1990."
    assert [text[found.start : found.end] for found in find_values(text, "en")] == ["1.2 million", "5 March 1990"]


def test_a_text_literal_is_a_value_only_where_it_is_nothing_else() -> None:
    assert claimed_value(_literal("4523000", "string")) is not None
    assert claimed_value(_literal("Boeing 747", "string")) is None
    assert claimed_value(Entity("<x>", "1998")) is None
    assert claimed_value(_literal("NaN", "double")) is None
