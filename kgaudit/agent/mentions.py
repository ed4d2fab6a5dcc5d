"""Which passages name a claim's subject and object: what a policy goes by when it rewrites."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from kgaudit.claims import Claim, Entity
from kgaudit.documents import Passage
from kgaudit.models.values import claimed_value, compare, find_values
from kgaudit.text import Folded, find_name, fold


@lru_cache(maxsize=4096)
def _folded(text: str) -> Folded:
    return fold(text)


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
