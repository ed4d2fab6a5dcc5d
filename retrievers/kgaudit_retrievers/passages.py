"""Cutting documents into passages: windows of three sentences that overlap by one, each a verbatim slice of the text."""

from __future__ import annotations

from collections.abc import Collection

from kgaudit.text import sentences

WINDOW = 3
"""Sentences in a passage."""

MAX_CHARACTERS = 1200
"""No passage is longer; a longer sentence is cut at white space, a longer word hard."""


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
    """The end of the last whole word up to `limit`, or `limit` where one word fills everything."""
    whole = text[start : limit + 1].rsplit(None, 1)
    if text[limit].isspace():
        return start + len(text[start:limit].rstrip())
    return start + len(whole[0]) if len(whole) == 2 else limit


def windows(spans: list[tuple[int, int]], headings: Collection[int] = ()) -> list[tuple[int, int]]:
    """The passages as runs of pieces, first and last (without): `WINDOW` where they fit; the last of one begins the next.

    `headings` are the offsets at which headings begin: none stands at the end of a passage of the section before.
    """
    is_heading = [start in headings for start, _ in spans]
    found: list[tuple[int, int]] = []
    first, count = 0, len(spans)
    while first < count:
        last = first + 1
        while (
            last < count
            and last - first < WINDOW
            and spans[last][1] - spans[first][0] <= MAX_CHARACTERS
            and (is_heading[last - 1] or not is_heading[last])
        ):
            last += 1
        found.append((first, last))
        ended = last == count or (is_heading[last] and not is_heading[last - 1])
        first = last if ended else max(first + 1, last - 1)
    return found
