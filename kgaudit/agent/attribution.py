"""Whose sentence is it? A passage that names the claim's namesake by what only the namesake is connected with is not evidence."""

from __future__ import annotations

import re
from dataclasses import replace

from kgaudit.claims import Claim
from kgaudit.documents import Passage
from kgaudit.text import find_names, fold
from kgaudit.verdicts import Stance

_REFLEXIVE = re.compile(
    r"\b(?:itself|himself|herself|oneself|themselves|(?:its|his|her|their) own|self|selbst|sich|(?:sein|ihr)e?[nrms]? eigene[nrms]?|"
    r"lui-même|elle-même|eux-mêmes|sí mism[oa]|se stess[oa]|zichzelf|sig själv)\b|自身|自己|自分|자신|자기|스스로",
    re.IGNORECASE,
)


def said_of_itself(claim: Claim, passage: Passage, stance: Stance) -> Stance:
    """The stance on a triple whose subject is its object, taken back where the sentence does not say it of the thing itself.

    That a sentence names the thing, even twice, says nothing of it and itself.
    """
    if claim.triple.s != claim.triple.o or _REFLEXIVE.search(passage.text[stance.start : stance.end]):
        return stance
    return replace(stance, supports=0.0, neither=1.0 - stance.refutes, note="does not say it of itself")


def attributed(claim: Claim, passage: Passage, stance: Stance) -> Stance:
    """The stance, taken back where its sentences speak of another thing of that name and not of this one."""
    if not claim.namesake_context or stance.neither > 0.9:
        return stance
    said = f"{passage.title}\n{passage.text[stance.start : stance.end] or passage.text}"
    folded = fold(said)
    foreign = find_names(said, folded, claim.namesake_context)
    if not foreign or find_names(said, folded, claim.own_context):
        return stance
    note = f"speaks of another of that name ({foreign[0].name})"
    return replace(stance, supports=0.0, refutes=0.0, neither=1.0, note=note)
