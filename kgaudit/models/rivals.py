"""What else a passage could state in the object's place, and which of it the passages state best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgaudit.claims import Claim, Entity
from kgaudit.documents import Passage
from kgaudit.literals import STRING
from kgaudit.models.judge import Judge
from kgaudit.models.reading import PRONOUNS, language_of, read
from kgaudit.models.values import claimed_value, compare
from kgaudit.text import fold_name
from kgaudit.triples import literal_term, name_term
from kgaudit.verdicts import Stance

RIVAL_FROM = 0.9
"""A rival must be at least so well supported, and the claim itself less than `CLAIM_BELOW`."""
CLAIM_BELOW = 0.3
_MOST_RIVALS = 12
_ENGLISH_NAMES = frozenset(("en", ""))


def with_object(claim: Claim, label: str) -> Claim:
    """The claim with another object. Where the claim's object is a literal, `label` is a value in words ("12 March 1987")."""
    if claim.object.is_literal:
        return replace(claim, object=Entity(literal_term(label), label, datatype=STRING, value=label))
    return replace(claim, object=Entity(name_term(label), label, types=claim.object.types, language=claim.object.language))


def rivals(claim: Claim, passage: Passage, most: int = _MOST_RIVALS) -> tuple[str, ...]:
    """What the passage holds of the object's kind beside it, verbatim, in order of place.

    Other values where the object is one, else other capitalised names (only in languages that write names, and names alone, so).
    """
    reading = read(passage.text, language_of(passage))
    claimed = claimed_value(claim.object)
    found: list[str] = []
    if claimed is not None:
        spans = [(value.start, value.end) for _, _, value in reading.values if compare(claimed, value) == "differs"]
        found = [passage.text[start:end] for start, end in spans]
    elif not claim.object.is_literal and reading.language in _ENGLISH_NAMES:
        for first, last in reading.names:
            name = passage.text[slice(*reading.place(first, last))]
            parts = name.split(" for ")  # "left Pecs for Trieste" is two names, "Institute for Tides" one
            found += [name] if len(parts) == 1 else [name, *parts]
    taken = {fold_name(name) for name in (*claim.subject.names, *claim.object.names)}
    kept: dict[str, str] = {}
    for label in found:
        key = fold_name(label)
        part_of_taken = any(key in name.split() or name in key for name in taken)
        if len(key) > 1 and key not in PRONOUNS and not part_of_taken:
            kept.setdefault(key, label)
    return tuple(kept.values())[:most]


def find_better_object(judge: Judge, claim: Claim, passages: Sequence[Passage]) -> tuple[str, int, Stance] | None:
    """The rival that the passages state in the object's place.

    Returns its words, the index of the passage and its stance on the claim with that object.
    None where no rival reaches `RIVAL_FROM`, or the claim itself reaches `CLAIM_BELOW`.
    """
    own = judge.judge([(claim, passage) for passage in passages])
    if any(stance.supports >= CLAIM_BELOW for stance in own):
        return None
    asked = [(label, number) for number, passage in enumerate(passages) for label in rivals(claim, passage)]
    stances = judge.judge([(with_object(claim, label), passages[number]) for label, number in asked])
    best: tuple[str, int, Stance] | None = None
    for (label, number), stance in zip(asked, stances, strict=True):
        if stance.supports >= RIVAL_FROM and (best is None or stance.supports > best[2].supports):
            best = label, number, stance
    return best
