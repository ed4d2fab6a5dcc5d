"""Material for learning to read: passages with invented names in which one thing is stated and another, with both names there, is
not.

`generate(seed, n)` gives pairs of (claim, passage) for some thirty phenomena: negation, ended roles, direction, plans, rumours,
numbers, namesakes, pronouns and so on. Items come in groups (`Made.pair`) that share their text or differ by the deciding words, and
in each phenomenon a word says next to nothing about the answer. `held_out=True` draws from wordings and predicates that are never
used otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from kgaudit.training.phenomena.biomed import BUILDERS as _BIOMED
from kgaudit.training.phenomena.bodies import BUILDERS as _BODIES
from kgaudit.training.phenomena.made import Made, Stance
from kgaudit.training.phenomena.modality import BUILDERS as _MODALITY
from kgaudit.training.phenomena.predicates import OTHER_LABELS
from kgaudit.training.phenomena.profiles import BUILDERS as _PROFILES
from kgaudit.training.phenomena.roles import BUILDERS as _ROLES
from kgaudit.training.phenomena.scene import Scene
from kgaudit.training.phenomena.values import BUILDERS as _VALUES

__all__ = ["PHENOMENA", "WEIGHTS", "Made", "Stance", "generate"]

OTHER_LABEL_SHARE = 0.35
WEIGHTS = {"profile": 4.0}
"""How much a phenomenon counts, where that is not 1: portraits hold several of the others, in the prose that texts are made of."""
Builder = Callable[[Scene, str], list[Made]]
_BUILDERS: dict[str, Builder] = {**_MODALITY, **_ROLES, **_VALUES, **_BODIES, **_BIOMED, **_PROFILES}
PHENOMENA = tuple(_BUILDERS)


def _renamed(rng: Random, items: list[Made]) -> list[Made]:
    """Now and then, predicates by other labels: graphs do not agree on them."""
    new = {label: rng.choice(OTHER_LABELS[label]) for label in dict.fromkeys(item.p_label for item in items) if label in OTHER_LABELS}
    if rng.random() > OTHER_LABEL_SHARE or len(set(new.values())) < len(new):
        return items
    return [replace(item, p_label=new.get(item.p_label, item.p_label)) for item in items]


def generate(seed: int, n: int, *, held_out: bool = False) -> list[Made]:
    """`n` made items, the phenomena in shares by `WEIGHTS`, in groups that stand together (the last may be cut). The same for a seed.

    Raises ValueError where `n` is negative."""
    if n < 0:
        raise ValueError(f"n must not be negative, is {n}")
    rng = Random(f"{seed}/{held_out}")
    items: list[Made] = []
    counts = dict.fromkeys(_BUILDERS, 0)
    group = 0
    while len(items) < n:
        phenomenon = min(counts, key=lambda key: (counts[key] / WEIGHTS.get(key, 1.0), key))
        scene = Scene(Random(rng.getrandbits(64)), held_out)
        new = _renamed(scene.rng, _BUILDERS[phenomenon](scene, f"{'h' if held_out else 't'}{seed}-{group}"))
        counts[phenomenon] += len(new)
        items += new
        group += 1
    return items[:n]
