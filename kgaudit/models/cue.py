"""The cue judge: reads the words around and between the two names, where they stand, and what else could stand there. numpy only.

A hashed linear model scores the n-grams of the claim's best link and of its rivals (other names in the object's or subject's place,
the names swapped); boosted trees join these scores with positions; the mean of several such fits is calibrated to a probability.
In languages that the words were not learnt in, only order and nearness of the names count. Weights: `kgaudit/models/data` with
MODEL_CARD.md, made by `kgaudit.training.cue`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from kgaudit.errors import ModelError
from kgaudit.models.features import HASH_BITS, Seen, dot, tree_features
from kgaudit.models.trees import Trees

FORMAT = 3
_TREE_PARTS = ("feature", "threshold", "left", "right", "value")


@dataclass(frozen=True, slots=True)
class Member:
    """One fit: linear models, trees over them, and how many training rows each predicate had, by label code.

    `linear` holds dense weights of length 2**HASH_BITS: `crossed` and `uncrossed` of the full score, `general` of that which knows no
    predicate.
    """

    linear: dict[str, NDArray[np.float32]]
    trees: Trees
    known: dict[int, int]
    intercept: float
    general_intercept: float

    def raw(self, seen: Seen, codes: Sequence[int], *, as_unknown: bool = False) -> NDArray[np.float64]:
        """Log-odds of pairs, not calibrated; `as_unknown`: as if their predicates had not been trained on."""
        general = dot(seen.uncrossed, self.linear["general"]) + self.general_intercept
        full = dot(seen.uncrossed, self.linear["uncrossed"]) + self.intercept
        if not as_unknown:
            full = full + dot(seen.crossed, self.linear["crossed"])
        counts = [0 if as_unknown else self.known.get(code, 0) for code in codes]
        return self.trees.score(tree_features(seen, full, general, np.log1p(np.array(counts, dtype=np.float64))))


@dataclass(frozen=True, slots=True)
class Model:
    """Everything that decides a stance: members whose log-odds are averaged, and the calibration of their mean.

    `groups` says which calibration line holds for a predicate, by label code; those of predicates that no member was trained on
    have a line of their own.
    """

    members: tuple[Member, ...]
    groups: dict[int, int]
    settings: dict[str, Any]
    digest: str

    @property
    def unknown_line(self) -> int:
        """The number of the calibration line of predicates that were not trained on: the last."""
        return len(self.settings["calibration"]) - 1

    def line_of(self, code: int) -> int:
        """The number of the calibration line of a predicate."""
        if not any(code in member.known for member in self.members):
            return self.unknown_line
        return self.groups.get(code, 0)


def mean_raw(members: Sequence[Member], seen: Seen, codes: Sequence[int], *, as_unknown: bool = False) -> NDArray[np.float64]:
    """The mean of the members' log-odds."""
    mean: NDArray[np.float64] = np.mean([member.raw(seen, codes, as_unknown=as_unknown) for member in members], axis=0)
    return mean


def read_model(folder: Path | Any) -> Model:
    """The model in `folder` (`cue.npz`, `cue.json`). Raises `ModelError` where it is missing, damaged or of another format."""
    weights, meta = folder / "cue.npz", folder / "cue.json"
    try:
        raw = weights.read_bytes()
        text = meta.read_bytes()
        settings = json.loads(text)
        if settings["format"] != FORMAT or settings["hash_bits"] != HASH_BITS:
            raise ModelError(
                "the judge's weights are of another version", where=str(folder), todo="Install kgaudit again or train the judge again."
            )
        with weights.open("rb") as file, np.load(file, allow_pickle=False) as parts:
            arrays = {name: parts[name] for name in parts.files}
        return Model(
            members=tuple(_member(arrays, f"{number}_", numbers) for number, numbers in enumerate(settings["members"])),
            groups=dict(zip(arrays["group_codes"].tolist(), arrays["groups"].tolist(), strict=True)),
            settings=settings,
            digest=sha256(raw + text).hexdigest(),
        )
    except (OSError, LookupError, ValueError, TypeError, BadZipFile) as error:
        raise ModelError(
            f"the judge's weights cannot be read ({error})", where=str(folder), todo="Install kgaudit again or train the judge again."
        ) from error


def _trees(parts: dict[str, NDArray[Any]], numbers: dict[str, Any]) -> Trees:
    return Trees(base=numbers["base"], depth=numbers["depth"], **parts)


def _member(arrays: dict[str, NDArray[Any]], prefix: str, numbers: dict[str, Any]) -> Member:
    linear = {}
    for name in ("crossed", "uncrossed", "general"):
        dense = np.zeros(1 << HASH_BITS, dtype=np.float32)
        places = np.cumsum(arrays[f"{prefix}{name}_steps"].astype(np.int64))
        dense[places] = arrays[f"{prefix}{name}_weights"].astype(np.float32) * numbers["scales"][name]
        linear[name] = dense
    return Member(
        linear=linear,
        trees=_trees({part: arrays[f"{prefix}trees_{part}"] for part in _TREE_PARTS}, numbers["trees"]),
        known=dict(zip(arrays[f"{prefix}known_codes"].tolist(), arrays[f"{prefix}known_counts"].tolist(), strict=True)),
        intercept=numbers["intercept"],
        general_intercept=numbers["general_intercept"],
    )
