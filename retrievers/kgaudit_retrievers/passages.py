"""Cutting documents into passages: windows of three sentences that overlap by one, each a verbatim slice of the text."""

from __future__ import annotations

from dataclasses import dataclass

from kgaudit.text import sentences

WINDOW = 3
"""Sentences in a passage."""

MAX_CHARACTERS = 1200
"""No passage is longer; a longer sentence is cut at white space, a longer word hard."""


@dataclass(frozen=True, slots=True)
class Window:
    """A passage as the run `first` to `last` (without) of the pieces of its document."""

    first: int
    last: int


def pieces(text: str) -> list[tuple[int, int]]:
    """The spans of the sentences, those that are too long cut into parts of at most `MAX_CHARACTERS`."""
    spans: list[tuple[int, int]] = []
    for start, end in sentences(text):
        while end - start > MAX_CHARACTERS:
            cut = _cut(text, start, start + MAX_CHARACTERS)
            spans.append((start, cut))
            start = cut
            while start < end and text[start].isspace():
                start += 1
        if start < end:
            spans.append((start, end))
    return spans


def _cut(text: str, start: int, limit: int) -> int:
    """The end of the last whole word before `limit`, or `limit` where one word fills everything."""
    for place in range(limit, start, -1):
        if text[place].isspace():
            while place > start and text[place - 1].isspace():
                place -= 1
            return place if place > start else limit
    return limit


def windows(spans: list[tuple[int, int]]) -> list[Window]:
    """The windows over the pieces: `WINDOW` sentences where they fit, the last one of a window begins the next."""
    found: list[Window] = []
    first, count = 0, len(spans)
    while first < count:
        last = first + 1
        while last < count and last - first < WINDOW and spans[last][1] - spans[first][0] <= MAX_CHARACTERS:
            last += 1
        found.append(Window(first, last))
        if last == count:
            break
        first = max(first + 1, last - 1)
    return found
