"""Canonical lexical forms of XSD literals: `+1.50` and `1.5` are one value and must have one key.

Source: W3C XML Schema Definition Language 1.1 Part 2, https://www.w3.org/TR/xmlschema11-2/ (canonical mappings).
A lexical form that is not valid for its datatype is left as it is: it names no value, so there is nothing to make canonical.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal

XSD = "http://www.w3.org/2001/XMLSchema#"
STRING = XSD + "string"

_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\Z")
_DOUBLE = re.compile(r"(?:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN)\Z")
_DATETIME = re.compile(
    r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?\Z"
)
_DATE = re.compile(r"-?(?:[1-9][0-9]{3,}|0[0-9]{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])(Z|[+-][0-9]{2}:[0-9]{2})?\Z")
_YEAR = re.compile(r"-?(?:[1-9][0-9]{3,}|0[0-9]{3})(Z|[+-][0-9]{2}:[0-9]{2})?\Z")
_YEAR_MONTH = re.compile(r"-?(?:[1-9][0-9]{3,}|0[0-9]{3})-(?:0[1-9]|1[0-2])(Z|[+-][0-9]{2}:[0-9]{2})?\Z")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*\Z")

_INTEGER_RANGES: dict[str, tuple[int | None, int | None]] = {
    "integer": (None, None),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-128, 127),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 255),
}


def _collapse(text: str) -> str:
    return text.strip(" \t\r\n")


def _integer(text: str) -> str | None:
    if not _INTEGER.match(text):
        return None
    sign = "-" if text[0] == "-" else ""
    digits = text.lstrip("+-").lstrip("0") or "0"
    return digits if digits == "0" else sign + digits


def _bounded(low: int | None, high: int | None) -> Callable[[str], str | None]:
    def canonical(text: str) -> str | None:
        form = _integer(text)
        if form is None or (low is None and high is None):
            return form
        if len(form) > 40:  # beyond every bounded type; int() of a huge text is slow
            return None
        value = int(form)
        return form if (low is None or value >= low) and (high is None or value <= high) else None

    return canonical


def _decimal(text: str) -> str | None:
    if not _DECIMAL.match(text):
        return None
    sign = "-" if text[0] == "-" else ""
    whole, _, fraction = text.lstrip("+-").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    if whole == "0" and not fraction:
        return "0"
    return sign + whole + ("." + fraction if fraction else "")


def _floating(text: str) -> str | None:
    if not _DOUBLE.match(text):
        return None
    if text.lstrip("+-") in ("INF", "NaN"):
        return text.lstrip("+")
    value = float(text)
    if math.isinf(value):
        return "-INF" if value < 0 else "INF"
    if value == 0:
        return "-0.0E0" if math.copysign(1, value) < 0 else "0.0E0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text_digits = "".join(map(str, digits)).rstrip("0")
    power = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{text_digits[0]}.{text_digits[1:] or '0'}E{power}"


def _boolean(text: str) -> str | None:
    return {"true": "true", "1": "true", "false": "false", "0": "false"}.get(text)


def _datetime(text: str) -> str | None:
    match = _DATETIME.match(text)
    if not match:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    rest = (fraction or "").rstrip("0").rstrip(".")
    if not 1 <= int(year) <= 9998:  # outside datetime's range: valid, but left as written
        return text
    try:
        moment = datetime(int(year), int(month), int(day), 0 if hour == "24" else int(hour), int(minute), int(second))
    except ValueError:
        return None
    if hour == "24":
        if int(minute) or int(second) or rest:
            return None
        moment += timedelta(days=1)
    if zone and zone != "Z":
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        if hours > 14 or minutes > 59:
            return None
        offset = timedelta(hours=hours, minutes=minutes)
        moment = moment.replace(tzinfo=timezone(offset if zone[0] == "+" else -offset)).astimezone(timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + rest + ("Z" if zone else "")


def _zoned(pattern: re.Pattern[str]) -> Callable[[str], str | None]:
    def canonical(text: str) -> str | None:
        match = pattern.match(text)
        if not match:
            return None
        zone = match.group(1)
        return text[: -len(zone)] + "Z" if zone in ("+00:00", "-00:00") else text

    return canonical


def _hex(text: str) -> str | None:
    return text.upper() if _HEX.match(text) else None


def _base64(text: str) -> str | None:
    try:
        return base64.b64encode(base64.b64decode(re.sub(r"\s", "", text), validate=True)).decode("ascii")
    except (binascii.Error, ValueError):
        return None


_CANONICAL: dict[str, Callable[[str], str | None]] = {
    **{XSD + name: _bounded(*bounds) for name, bounds in _INTEGER_RANGES.items()},
    XSD + "decimal": _decimal,
    XSD + "double": _floating,
    XSD + "float": _floating,
    XSD + "boolean": _boolean,
    XSD + "dateTime": _datetime,
    XSD + "date": _zoned(_DATE),
    XSD + "gYear": _zoned(_YEAR),
    XSD + "gYearMonth": _zoned(_YEAR_MONTH),
    XSD + "hexBinary": _hex,
    XSD + "base64Binary": _base64,
}


def canonical_lexical(value: str, datatype: str) -> str:
    """The canonical lexical form of `value` for `datatype`, or `value` itself where it is not valid or not known."""
    convert = _CANONICAL.get(datatype)
    if convert is None:
        return value
    form = convert(_collapse(value))
    return value if form is None else form


def is_valid_lexical(value: str, datatype: str) -> bool:
    """Whether `value` is a lexical form of `datatype`; datatypes that are not known count as valid."""
    convert = _CANONICAL.get(datatype)
    return convert is None or convert(_collapse(value)) is not None
