"""Many judged passages to one weighing: independent witnesses add up, a minority never decides against them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgaudit.documents import Passage
from kgaudit.models.judge import Weighing
from kgaudit.text import fold_text
from kgaudit.verdicts import Stance

MAX_ODDS = 19.0
"""What one witness counts at most: 0.95. No single document, however loud, outweighs several."""


def weigh(passages: Sequence[Passage], stances: Sequence[Stance]) -> Weighing:
    """Adds the odds of support and of contradiction over witnesses. Passages of one document are one witness, and so are documents
    whose deciding words are the same. Where witnesses contradict one another, the smaller side counts at most as much as each of the
    larger side's witnesses does on average for each of its own; two sides of equal number leave it open."""
    witnesses = _witnesses(passages, stances)
    supporting = _odds(witnesses, stances, lambda stance: stance.supports)
    refuting = _odds(witnesses, stances, lambda stance: stance.refutes)
    for_it = sum(any(_says(stances[i]) == "supports" for i in group) for group in witnesses)
    against = sum(any(_says(stances[i]) == "refutes" for i in group) for group in witnesses)
    if for_it and against:
        if for_it >= against:
            refuting = min(refuting, supporting * against / for_it)
        if against >= for_it:
            supporting = min(supporting, refuting * for_it / against)
    total = 1.0 + supporting + refuting
    p_supported, p_refuted = supporting / total, refuting / total
    wanted = "supports" if p_supported >= p_refuted else "refutes"
    strength = (lambda i: -stances[i].supports) if wanted == "supports" else (lambda i: -stances[i].refutes)
    deciding = sorted((i for i, stance in enumerate(stances) if _says(stance) == wanted), key=strength)
    return Weighing(p_supported, p_refuted, tuple(deciding))


def contradicts_itself(passages: Sequence[Passage], stances: Sequence[Stance]) -> bool:
    """Whether witnesses stand on both sides."""
    said = {_says(stance) for stance in stances}
    return {"supports", "refutes"} <= said


def _says(stance: Stance) -> str:
    """The side that a passage takes: only a quote takes one."""
    if stance.end <= stance.start:
        return "neither"
    if stance.supports >= max(stance.refutes, stance.neither):
        return "supports"
    return "refutes" if stance.refutes >= stance.neither else "neither"


def _odds(witnesses: Sequence[Sequence[int]], stances: Sequence[Stance], share: Callable[[Stance], float]) -> float:
    return sum(max(min(share(stances[i]) / max(1.0 - share(stances[i]), 1e-9), MAX_ODDS) for i in group) for group in witnesses)


def _witnesses(passages: Sequence[Passage], stances: Sequence[Stance]) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    words: dict[str, str] = {}
    for index, (passage, stance) in enumerate(zip(passages, stances, strict=True)):
        quote = " ".join(fold_text(passage.text[stance.start : stance.end]).split())
        witness = words.setdefault(quote, passage.document_id) if quote else passage.document_id
        groups.setdefault(witness, []).append(index)
    return list(groups.values())
