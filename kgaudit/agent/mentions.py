"""Which passages name a claim's subject and object: what a policy goes by when it rewrites."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from kgaudit.claims import Claim, Entity
from kgaudit.documents import Document, Passage
from kgaudit.models.values import claimed_value, compare, find_values
from kgaudit.text import Folded, find_name, find_names, fold, sentences


@lru_cache(maxsize=4096)
def _folded(text: str) -> Folded:
    return fold(text)


@lru_cache(maxsize=2048)  # a policy asks the same of the same passages at each of its steps
def names_entity(passage: Passage, entity: Entity) -> bool:
    """Whether title or text hold a name of the entity; a date or number counts however it is written, and only by its value."""
    value = claimed_value(entity) if entity.is_literal else None
    if value is not None:
        found = (compare(value, one) for one in find_values(passage.text, passage.language))
        return any(agreement in ("equal", "finer") for agreement in found)
    return any(
        next(find_name(text, _folded(text), name), None) is not None
        for text in (passage.text, passage.title)
        if text
        for name in entity.names
    )


def names_both(passage: Passage, claim: Claim) -> bool:
    """Whether the passage names subject and object."""
    return names_entity(passage, claim.subject) and names_entity(passage, claim.object)


def any_names(passages: Iterable[Passage], entity: Entity) -> bool:
    """Whether any of the passages names the entity."""
    return any(names_entity(passage, entity) for passage in passages)


MAX_STRETCH = 6000
"""The longest stretch of a document, in characters, that is read for two names that stand apart."""


def stretch_naming_both(document: Document, claim: Claim) -> Passage | None:
    """The shortest run of whole sentences that names subject and object, or None where there is none of `MAX_STRETCH`."""
    subjects, objects = _spans(document, claim.subject), _spans(document, claim.object)
    pairs = (
        (min(s_start, o_start), max(s_end, o_end)) for s_start, s_end in subjects for o_start, o_end in objects if s_start != o_start
    )
    closest = min(pairs, key=lambda pair: (pair[1] - pair[0], pair), default=None)
    if closest is None:
        return None
    inside = [(start, end) for start, end in sentences(document.text) if end > closest[0] and start < closest[1]]
    start, end = (inside[0][0], inside[-1][1]) if inside else closest
    if end - start > MAX_STRETCH:
        return None
    return Passage(
        document.id,
        start,
        end,
        document.text[start:end],
        document.title,
        document.language,
        document.date,
        document.url,
        document.digest,
    )


def _spans(document: Document, entity: Entity) -> list[tuple[int, int]]:
    value = claimed_value(entity) if entity.is_literal else None
    if value is not None:
        values = find_values(document.text, document.language)
        return [(one.start, one.end) for one in values if compare(value, one) in ("equal", "finer")]
    folded = _folded(document.text)
    return [folded.original(mention.start, mention.end) for mention in find_names(document.text, folded, entity.names)]
