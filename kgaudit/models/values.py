"""Dates and numbers in text, compared by value: `4523000` is `4,523,000` and `4.523 million`, `1990-03-05` is `5. März 1990`.

`find_values` reads a text in its language (12.500 is twelve thousand five hundred in German and twelve and a half in English);
`claimed_value` reads a literal of the graph; `compare` says how a value of the text stands to a claimed one. A text that is less
exact than the claim and agrees as far as it goes is `coarser`, one that is more exact is `finer`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal

from kgaudit.claims import Entity
from kgaudit.literals import STRING, XSD

Agreement = Literal["equal", "finer", "coarser", "differs"]

_NUMBER_TYPES = frozenset(
    XSD + name
    for name in (
        "integer decimal double float int long short byte nonNegativeInteger positiveInteger negativeInteger nonPositiveInteger "
        "unsignedInt unsignedLong unsignedShort unsignedByte"
    ).split()
)
_DATE_TYPES = frozenset(XSD + name for name in ("date", "dateTime", "dateTimeStamp", "gYear", "gYearMonth"))
_STRING_TYPES = frozenset((STRING, "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"))


@dataclass(frozen=True, slots=True)
class Day:
    """A date as exact as it was given: month and day are 0 where they were not."""

    year: int
    month: int = 0
    day: int = 0


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and the step to which it was given: 1.2 million has the step 100,000; 4,523 has 1."""

    number: Decimal
    step: Decimal = Decimal(1)


Value = Day | Quantity


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value in a text: offsets in code points, and every reading that the writing allows (3/5/1990 has two)."""

    start: int
    end: int
    readings: tuple[Value, ...]

    @property
    def is_date(self) -> bool:
        """Whether it can be read as a date."""
        return isinstance(self.readings[0], Day)


_MONTH_NAMES = {
    1: "january jan januar jänner jän janvier enero gennaio janeiro januari",
    2: "february feb februar feber février febrero febbraio fevereiro februari",
    3: "march mar märz mär mars marzo março maart",
    4: "april apr avril abril aprile",
    5: "may mai mayo maggio maio mei maj",
    6: "june jun juni juin junio giugno junho",
    7: "july jul juli juillet julio luglio julho",
    8: "august aug août agosto augustus augusti",
    9: "september sep sept septembre septiembre settembre setembro",
    10: "october oct oktober okt octobre octubre ottobre outubro",
    11: "november nov novembre noviembre novembro",
    12: "december dec dezember dez décembre diciembre dicembre dezembro",
}
_MONTHS = {name: month for month, names in _MONTH_NAMES.items() for name in names.split()}
_MONTH = "(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_YEAR = r"(\d{4}|\d{3}(?=\s*(?:AD|BC|CE|BCE|n\. ?Chr|v\. ?Chr)))"

_DATE_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), order)
    for pattern, order in (
        (r"(?<![\d-])(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d|[-/]\d)", "ymd"),
        (r"(\d{4})\s*[년年]\s*(\d{1,2})\s*[월月]\s*(\d{1,2})\s*[일日]", "ymd"),
        (r"(\d{4})\s*[년年]\s*(\d{1,2})\s*[월月]", "ym"),
        (r"(\d{3,4})\s*[년年](?!\s*(?:간|동안|대))", "y"),
        (
            r"(?<![\d.,])(\d{1,2})(?:st|nd|rd|th|er|º)?\.?\s+(?:of\s+|de\s+)?"
            + _MONTH
            + r",?\s+(?:de\s+|of\s+)?"
            + _YEAR
            + r"(?![\d,]\d)",
            "dMy",
        ),
        (r"\b" + _MONTH + r"\s+(\d{1,2})(?:st|nd|rd|th)?\s*,?\s+" + _YEAR + r"(?!\d)", "Mdy"),
        (r"\b" + _MONTH + r",?\s+(?:of\s+|de\s+)?" + _YEAR + r"(?!\d)", "My"),
        (r"(?<![\d./-])(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)", "dmy"),
        (r"(?<![\d./-])(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)", "?"),
        (r"(?<![\w.,/-])(\d{4})-(0[1-9]|1[0-2])(?![\d-])", "ym"),
    )
)
_DATE_HINT = re.compile(r"\d{4}|\d{3}\s*(?:[년年]|AD|BC|CE)")
# A year that stands alone; "1990s" is a decade, "4523 people" is sorted out by what follows.
_BARE_YEAR = re.compile(r"(?<![\w.,/$€£¥-])(1\d{3}|20\d{2})(?![\d%]|[.,:]\d|s\b|°)")
_SHORT_RANGE = re.compile(r"(?<![\w.,/$€£¥-])((?:1\d|20)\d{2})\s?[-–/]\s?(\d{1,4})(?!\d|[-/.]\d)")

_GROUPED_COMMA = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?\Z")
_GROUPED_DOT = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?\Z")
_GROUPED_SPACE = re.compile(r"\d{1,3}(?:[ \u00a0\u2009\u202f']\d{3})+(?:[.,]\d+)?\Z")
_NUMBER = re.compile(
    r"(?<![\w.,])(?:[-−](?=\d)(?<!\w[-−]))?\d{1,3}(?:[ \u00a0\u2009\u202f']\d{3})+(?:[.,]\d+)?(?![\w]|[.,]\d)|"
    r"(?<![^\W\d])(?<!\d)(?<!\d[.,])[-−]?\d+(?:[.,]\d+)*"
)
_COMMA_DECIMAL = frozenset("de fr es it pt nl sv pl ru da nb no fi cs sk hu tr el uk".split())
_MAGNITUDES = {
    3: "thousand k tsd tausend mille mil mila duizend tusen",
    6: "million millions mn mln mio million millionen millones milioni milhões miljoen miljoner",
    9: "billion billions bn bln mrd milliarde milliarden milliard milliards miliardi miljard",
    12: "trillion trillions trn billionen",
}
_MAGNITUDE = {name: power for power, names in _MAGNITUDES.items() for name in names.split()}
_MAGNITUDE_AFTER = re.compile(r"[ \u00a0-]?(" + "|".join(sorted(_MAGNITUDE, key=len, reverse=True)) + r")\b\.?", re.IGNORECASE)
_ASIAN = re.compile(r"((?:\d[\d,]*(?:\.\d+)?\s*[십백천만억조十百千万萬億兆亿]+\s*)+)(\d[\d,]*(?=[^\d.,]|\Z))?")
_ASIAN_PART = re.compile(r"(\d[\d,]*(?:\.\d+)?)\s*([십백천만억조十百千万萬億兆亿]+)")
_ASIAN_POWER = {
    "십": 1,
    "十": 1,
    "백": 2,
    "百": 2,
    "천": 3,
    "千": 3,
    "만": 4,
    "万": 4,
    "萬": 4,
    "억": 8,
    "億": 8,
    "亿": 8,
    "조": 12,
    "兆": 12,
}
_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "dozen": 12,
    "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12,
}  # fmt: skip
_WORD_NUMBER = re.compile(
    r"\b(" + "|".join(sorted(_WORDS, key=len, reverse=True)) + r")(?:-(one|two|three|four|five|six|seven|eight|nine))?\b", re.IGNORECASE
)
_ORDINAL_OR_PART = re.compile(r"(?:st|nd|rd|th)\b|[A-Za-z](?<![km])", re.IGNORECASE)


def _valid_day(year: int, month: int, day: int) -> Day | None:
    return Day(year, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


def _before_christ(text: str, end: int) -> bool:
    return re.match(r"\s*(?:BCE?\b|B\.C\.|v\. ?Chr)", text[end : end + 8]) is not None


def _date_readings(match: re.Match[str], order: str, language: str) -> list[Value]:
    parts = match.groups()
    days: list[Day | None] = []
    if order == "ymd":
        days = [_valid_day(int(parts[0]), int(parts[1]), int(parts[2]))]
    elif order == "ym":
        days = [Day(int(parts[0]), int(parts[1]))] if 1 <= int(parts[1]) <= 12 else []
    elif order == "y":
        days = [Day(int(parts[0]))]
    elif order == "dMy":
        days = [_valid_day(int(parts[2]), _MONTHS[parts[1].lower()], int(parts[0]))]
    elif order == "Mdy":
        days = [_valid_day(int(parts[2]), _MONTHS[parts[0].lower()], int(parts[1]))]
    elif order == "My":
        days = [Day(int(parts[1]), _MONTHS[parts[0].lower()])]
    else:
        first, second, year = int(parts[0]), int(parts[1]), int(parts[2])
        days = [_valid_day(year, second, first)]
        if order == "?" and language in ("", "en"):  # written either way round in English
            days.append(_valid_day(year, first, second))
    return [day for day in dict.fromkeys(days) if day is not None]


def _dates(text: str, language: str) -> Iterator[FoundValue]:
    if not _DATE_HINT.search(text):
        return
    taken: list[tuple[int, int]] = []
    for pattern, order in _DATE_PATTERNS:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            readings = _date_readings(match, order, language)
            if readings:
                taken.append(match.span())
                yield FoundValue(match.start(), match.end(), tuple(readings))
    for match in _SHORT_RANGE.finditer(text):
        if any(match.start() < end and start < match.end() for start, end in taken):
            continue
        first, tail = match.group(1), match.group(2)
        last = first[: 4 - len(tail)] + tail
        if int(last) >= int(first):
            taken.append(match.span())
            yield FoundValue(match.start(1), match.end(1), (Day(int(first)),))
            yield FoundValue(match.start(2), match.end(2), (Day(int(last)),))
    for match in _BARE_YEAR.finditer(text):
        if not any(match.start() < end and start < match.end() for start, end in taken):
            year = int(match.group(1))
            day = Day(-year) if _before_christ(text, match.end()) else Day(year)
            yield FoundValue(match.start(), match.end(), (day, Quantity(Decimal(year))))


def _plain(digits: str) -> Quantity | None:
    """Digits with at most one point, as written."""
    try:
        number = Decimal(digits)
    except InvalidOperation:
        return None
    exponent = number.as_tuple().exponent
    return Quantity(number, Decimal(1).scaleb(exponent) if isinstance(exponent, int) and exponent < 0 else Decimal(1))


def _quantity_readings(digits: str, language: str) -> list[Quantity]:
    """Every number that these digits, points and commas may mean in the language."""
    sign = "-" if digits[0] in "-−" else ""
    digits = digits.lstrip("-−")
    forms: list[str] = []
    comma_decimal = language in _COMMA_DECIMAL
    if _GROUPED_SPACE.match(digits):
        forms = [re.sub(r"[ \u00a0\u2009\u202f']", "", digits).replace(",", ".")]
    elif "," not in digits and "." not in digits:
        forms = [digits]
    else:
        grouped_comma = digits.replace(",", "") if _GROUPED_COMMA.match(digits) else ""
        grouped_dot = digits.replace(".", "").replace(",", ".") if _GROUPED_DOT.match(digits) else ""
        decimal = digits.replace(",", ".") if digits.count(".") + digits.count(",") == 1 else ""
        if digits.count(",") + digits.count(".") > 1 or not decimal:
            forms = [grouped_comma, grouped_dot]
        elif "," in digits:
            forms = [decimal] if comma_decimal else [grouped_comma or decimal]
        else:
            forms = [grouped_dot or decimal] if comma_decimal else [decimal]
            if not language and grouped_dot:
                forms.append(grouped_dot)
    return [quantity for form in forms if form and (quantity := _plain(sign + form)) is not None]


def _scaled(quantity: Quantity, power: int) -> Quantity:
    return Quantity(quantity.number.scaleb(power), quantity.step.scaleb(power))


def _asian_number(text: str, tail: str | None) -> Quantity:
    """452만 3천: parts of ten thousand, hundred million and so on, added up."""
    total, step = Decimal(0), Decimal(1)
    for digits, unit in _ASIAN_PART.findall(text):
        power = sum(_ASIAN_POWER[char] for char in unit)
        part = _scaled(_plain(digits.replace(",", "")) or Quantity(Decimal(0)), power)
        total, step = total + part.number, part.step
    if tail:
        total, step = total + Decimal(tail.replace(",", "")), Decimal(1)
    return Quantity(total, step)


def _numbers(text: str, language: str) -> Iterator[FoundValue]:
    taken: list[tuple[int, int]] = []
    if not text.isascii():
        for match in _ASIAN.finditer(text):
            taken.append(match.span())
            yield FoundValue(match.start(), match.end(), (_asian_number(match.group(1), match.group(2)),))
    for match in _NUMBER.finditer(text):
        if any(match.start() < end and start < match.end() for start, end in taken):
            continue
        readings = _quantity_readings(match.group(), language)
        end = match.end()
        magnitude = _MAGNITUDE_AFTER.match(text, end)
        if magnitude:
            power = _MAGNITUDE[magnitude.group(1).lower()]
            if magnitude.group(1).lower() == "billion" and language == "de":
                power = 12
            readings = [_scaled(quantity, power) for quantity in readings]
            end = magnitude.end()
        elif _ORDINAL_OR_PART.match(text, end):  # 3rd, 5th, 40x: no quantity
            continue
        if readings:
            yield FoundValue(match.start(), end, tuple(readings))
    for match in _WORD_NUMBER.finditer(text):
        number = Decimal(_WORDS[match.group(1).lower()] + (_WORDS[match.group(2).lower()] if match.group(2) else 0))
        quantity, end = Quantity(number), match.end()
        magnitude = _MAGNITUDE_AFTER.match(text, end)
        if magnitude:
            quantity, end = _scaled(quantity, _MAGNITUDE[magnitude.group(1).lower()]), magnitude.end()
        yield FoundValue(match.start(), end, (quantity,))


def find_values(text: str, language: str = "") -> list[FoundValue]:
    """Dates and numbers of a text in order of place, longest first where they overlap; a date's own digits are no numbers.

    `language` is a two-letter code; "" leaves open what 12.500 means.
    """
    language = language[:2].lower()
    dates = list(_dates(text, language))
    found = dates + [
        number for number in _numbers(text, language) if not any(number.start < d.end and d.start < number.end for d in dates)
    ]
    return sorted(found, key=lambda value: (value.start, -value.end))


@lru_cache(maxsize=16384)
def read_value(text: str, datatype: str = STRING) -> Value | None:
    """The value of a literal's lexical form, or None where it is not a date or number (or only contains one)."""
    text = text.strip()
    if datatype in _DATE_TYPES:
        match = re.match(r"(-?\d{4,})(?:-(\d\d))?(?:-(\d\d))?(?=T|Z|[+-]\d\d:|\Z)", text)
        return Day(int(match[1]), int(match[2] or 0), int(match[3] or 0)) if match else None
    if datatype in _NUMBER_TYPES:
        try:
            number = Decimal(text)
        except InvalidOperation:
            return None
        if not number.is_finite():
            return None
        exponent = number.as_tuple().exponent
        return Quantity(number, Decimal(1).scaleb(exponent) if isinstance(exponent, int) and exponent < 0 else Decimal(1))
    if datatype not in _STRING_TYPES or not any(char.isdigit() for char in text):
        return None
    for found in find_values(text):
        if found.start == 0 and found.end == len(text):
            return found.readings[0]
    return None


def claimed_value(entity: Entity) -> Value | None:
    """The value of a literal object, or None where it is a thing, a text or a boolean."""
    if entity.datatype is None:
        return None
    return read_value(entity.value if entity.value is not None else entity.label, entity.datatype)


def _compare_days(claimed: Day, found: Day) -> Agreement:
    if claimed.year != found.year:
        return "differs"
    for mine, theirs in ((claimed.month, found.month), (claimed.day, found.day)):
        if not mine:
            return "finer" if theirs else "equal"
        if not theirs:
            return "coarser"
        if mine != theirs:
            return "differs"
    return "equal"


def _compare_quantities(claimed: Quantity, found: Quantity) -> Agreement:
    if claimed.number == found.number:
        return "equal"
    difference = abs(claimed.number - found.number)
    if found.step > claimed.step and difference * 2 <= found.step:
        return "coarser"
    if found.step < claimed.step and claimed.step < 1 and difference * 2 <= claimed.step:
        return "finer"
    return "differs"


def compare(claimed: Value, found: FoundValue) -> Agreement | None:
    """How the text's value stands to the claimed one; None where they are of different kinds. The kindest reading counts."""
    ranks: tuple[Agreement, ...] = ("equal", "finer", "coarser", "differs")
    seen: list[Agreement] = []
    for reading in found.readings:
        if isinstance(claimed, Day):
            if isinstance(reading, Day):
                seen.append(_compare_days(claimed, reading))
        elif isinstance(reading, Quantity):
            seen.append(_compare_quantities(claimed, reading))
        elif reading.month == 0 and claimed.number == reading.year:
            seen.append("equal")
    return min(seen, key=ranks.index) if seen else None
