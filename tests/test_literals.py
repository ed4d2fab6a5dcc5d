from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgaudit.literals import XSD, canonical_lexical, is_valid_lexical


@pytest.mark.parametrize(
    ("datatype", "written", "canonical"),
    [
        ("integer", "+007", "7"),
        ("integer", "-0", "0"),
        ("integer", " 12\n", "12"),
        ("decimal", "+1.50", "1.5"),
        ("decimal", "1.", "1"),
        ("decimal", "-.50", "-0.5"),
        ("decimal", "-0.0", "0"),
        ("double", "1e5", "1.0E5"),
        ("double", "100000", "1.0E5"),
        ("double", "-0", "-0.0E0"),
        ("double", "1.5E-3", "1.5E-3"),
        ("double", "+INF", "INF"),
        ("double", "NaN", "NaN"),
        ("double", "123.456", "1.23456E2"),
        ("boolean", "1", "true"),
        ("dateTime", "2026-01-01T24:00:00", "2026-01-02T00:00:00"),
        ("dateTime", "2026-01-01T01:30:00.500+02:00", "2025-12-31T23:30:00.5Z"),
        ("dateTime", "0099-01-01T00:00:00Z", "0099-01-01T00:00:00Z"),
        ("date", "2026-01-05+00:00", "2026-01-05Z"),
        ("gYear", "1990-00:00", "1990Z"),
        ("hexBinary", "0a", "0A"),
        ("base64Binary", "aGk =", "aGk="),
    ],
)
def test_canonical_forms(datatype: str, written: str, canonical: str) -> None:
    assert canonical_lexical(written, XSD + datatype) == canonical
    assert is_valid_lexical(written, XSD + datatype)


@pytest.mark.parametrize(
    ("datatype", "written"),
    [
        ("integer", "1.0"), ("integer", "１２"), ("integer", ""), ("byte", "128"), ("unsignedInt", "-1"), ("positiveInteger", "0"),
        ("decimal", "1e5"), ("decimal", "."), ("double", "inf"), ("double", "1,5"), ("boolean", "TRUE"),
        ("dateTime", "2026-02-30T00:00:00"), ("dateTime", "2026-01-01"), ("dateTime", "2026-01-01T24:00:01"),
        ("dateTime", "2026-01-01T00:00:00+15:00"), ("date", "2026-13-01"), ("gYear", "90"), ("gYear", "02026"), ("hexBinary", "abc"),
        ("base64Binary", "a!"),
    ],
)  # fmt: skip
def test_what_is_no_value_stays_as_written(datatype: str, written: str) -> None:
    assert not is_valid_lexical(written, XSD + datatype)
    assert canonical_lexical(written, XSD + datatype) == written


def test_unknown_datatypes_stay_as_written() -> None:
    assert canonical_lexical(" +1.50 ", "https://graph.example/money") == " +1.50 "
    assert is_valid_lexical("anything", "https://graph.example/money")


@pytest.mark.parametrize(
    ("datatype", "huge"), [("integer", "0" * 100_000 + "7"), ("decimal", "0." + "0" * 100_000), ("int", "9" * 100_000)]
)
def test_huge_numbers_take_no_time(datatype: str, huge: str) -> None:
    assert canonical_lexical(huge, XSD + datatype) in ("7", "0", huge)


@given(
    st.sampled_from(["integer", "decimal", "double", "boolean", "dateTime", "date", "hexBinary", "base64Binary"]), st.text(max_size=12)
)
def test_a_canonical_form_is_its_own_canonical_form(datatype: str, text: str) -> None:
    form = canonical_lexical(text, XSD + datatype)
    assert canonical_lexical(form, XSD + datatype) == form


@given(st.floats(allow_nan=False))
def test_doubles_of_one_value_have_one_form(value: float) -> None:
    forms = {
        canonical_lexical(text, XSD + "double") for text in (repr(value).replace("inf", "INF"), f"{value:.17e}".replace("inf", "INF"))
    }
    assert len(forms) == 1
    assert float(forms.pop().replace("INF", "inf")) == value
