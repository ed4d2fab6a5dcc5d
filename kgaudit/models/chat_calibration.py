"""Calibration of a language model's confidence: Platt scaling fitted on a dev split, kept as a small JSON file.

The file names the model and the prompts it was measured with; it is refused for any other, since a calibration says nothing of them.
Source of the scaling and of its smoothed targets: Platt, Probabilistic outputs for support vector machines (1999), section 2.2.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgaudit.errors import InputError, UsageError, storage_error
from kgaudit.models.chat import ChatModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = 1
EDGE = 1e-4
"""Probabilities are kept so far from 0 and 1."""

MIN_ITEMS = 20
MIN_SURE = 10
"""At least so many dev items must lie above a routing threshold for it to be believed."""

KNOWN_ACCURACY = 0.95
"""Answers without retrieval must be right this often on dev."""


def logit(p: float) -> float:
    """Log-odds, with `p` kept `EDGE` away from 0 and 1."""
    p = min(max(p, EDGE), 1.0 - EDGE)
    return math.log(p / (1.0 - p))


@dataclass(frozen=True, slots=True)
class Platt:
    """`1 / (1 + exp(-(slope * logit(p) + shift)))`, fitted on `n` items."""

    slope: float
    shift: float
    n: int

    def __call__(self, p: float) -> float:
        """The calibrated probability."""
        return 0.5 * (1.0 + math.tanh((self.slope * logit(p) + self.shift) / 2.0))  # the logistic function, without an overflow


def fit_platt(raw: Sequence[float], gold: Sequence[bool]) -> Platt:
    """The scaling of least log loss. The targets are smoothed, so that few items do not make certainties; the slope is never negative,
    so that the order of the raw probabilities stays. Raises `UsageError` below `MIN_ITEMS` or where one class is missing."""
    positives = sum(gold)
    negatives = len(gold) - positives
    if len(gold) < MIN_ITEMS or not positives or not negatives:
        raise UsageError(
            f"{len(gold)} judged items, {positives} of them true, are too few to calibrate on",
            todo=f"Measure at least {MIN_ITEMS} items of both kinds: raise --sample, or choose a larger split.",
        )
    high, low = (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0)
    import numpy as np
    from scipy.optimize import minimize

    x = np.array([logit(p) for p in raw])
    target = np.where(gold, high, low)

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        z = values[0] * x + values[1]
        p = 1.0 / (1.0 + np.exp(-np.clip(z, -40.0, 40.0)))
        # The last term: where every item has one probability, there is no slope to find.
        value = float(np.sum(np.logaddexp(0.0, z) - target * z)) + 1e-3 * values[0] ** 2
        return value, np.array([np.sum((p - target) * x) + 2e-3 * values[0], np.sum(p - target)])

    found = minimize(
        loss, np.array([0.0, logit(positives / len(gold))]), jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)]
    )
    slope, shift = map(float, found.x)
    return Platt(slope, shift, len(gold))


def known_threshold(calibrated: Sequence[float], gold: Sequence[bool]) -> float | None:
    """The least confidence from which on answers without retrieval were right in `KNOWN_ACCURACY` of at least `MIN_SURE` dev items, for
    every threshold above it too; None where there is no such confidence, so that nothing is answered without retrieval."""
    ranked = sorted(((max(p, 1.0 - p), (p >= 0.5) == true) for p, true in zip(calibrated, gold, strict=True)), reverse=True)
    right, found = 0, None
    for count, (confidence, is_right) in enumerate(ranked, 1):
        right += is_right
        tied = count < len(ranked) and ranked[count][0] == confidence
        if tied or count < MIN_SURE:
            continue
        if right / count < KNOWN_ACCURACY:
            break
        found = confidence
    return found


@dataclass(frozen=True, slots=True)
class ChatCalibration:
    """What was learnt on dev of a model under these prompts. `policies` maps a policy's name to its scaling; `known_from` is the
    confidence from which on the agent answers without retrieval (None: never)."""

    model: str
    model_digest: str
    prompts: Mapping[str, str]
    dataset: str
    split: str
    items: int
    policies: Mapping[str, Platt]
    known_from: float | None
    made: str

    @property
    def digest(self) -> str:
        """sha256 of everything in it that decides a probability."""
        decisive = {key: value for key, value in asdict(self).items() if key != "made"}
        return sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

    @property
    def words(self) -> str:
        """Where it comes from, for people."""
        return f"calibrated on {self.items} items of {self.dataset} {self.split}"

    def check(self, model: ChatModel, prompts: Mapping[str, str], where: str) -> None:
        """Raises `UsageError` where it was made with another model or with other prompts."""
        todo = "Make a new one: kgaudit bench DATASET --data DIR --split dev --model ... --calibrate FILE."
        if model.digest != self.model_digest:
            raise UsageError(f"this calibration is of the model {self.model}, not of {model.name}", where=where, todo=todo)
        changed = sorted(name for name, digest in prompts.items() if self.prompts.get(name) != digest)
        if changed:
            raise UsageError(f"this calibration was made with another prompt ({', '.join(changed)})", where=where, todo=todo)

    def to_json(self) -> dict[str, Any]:
        """The content of the file."""
        return {"format": FORMAT, **asdict(self)}


def make_calibration(
    model: ChatModel, prompts: Mapping[str, str], dataset: str, split: str, measured: Mapping[str, Sequence[tuple[float, bool]]]
) -> ChatCalibration:
    """Fits one scaling for each policy from its (raw probability, gold) pairs; `direct` also gives the routing threshold.

    A policy with too few items (a cascade asks its model about a part of them) is left out, and stays uncalibrated. Raises what
    `fit_platt` raises where none has enough.
    """
    policies, fault = dict[str, Platt](), None
    for name, pairs in measured.items():
        try:
            policies[name] = fit_platt([p for p, _ in pairs], [gold for _, gold in pairs])
        except UsageError as error:
            fault = error
    if fault and not policies:
        raise fault
    known_from = None
    if "direct" in policies:
        scaled = [policies["direct"](p) for p, _ in measured["direct"]]
        known_from = known_threshold(scaled, [gold for _, gold in measured["direct"]])
    items = max(len(pairs) for pairs in measured.values())
    made = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return ChatCalibration(model.name, model.digest, dict(prompts), dataset, split, items, policies, known_from, made)


def read_calibration(path: Path) -> ChatCalibration:
    """Reads a file that `kgaudit bench --calibrate` wrote. Raises `InputError` where it is none, `StorageError` where it cannot be
    read."""
    todo = "Give a file that `kgaudit bench ... --calibrate FILE` wrote."
    try:
        raw = json.loads(path.read_bytes())
        if raw.pop("format") != FORMAT:
            raise InputError("this calibration is of another version", where=str(path), todo=todo)
        raw["policies"] = {name: Platt(**values) for name, values in raw["policies"].items()}
        numbers = [number for scaling in raw["policies"].values() for number in (scaling.slope, scaling.shift)]
        if not all(isinstance(number, int | float) and math.isfinite(number) for number in numbers):
            raise InputError("this calibration holds a number that is none", where=str(path), todo=todo)
        return ChatCalibration(**raw)
    except OSError as error:
        raise storage_error(error, str(path)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"this is no calibration ({error})", where=str(path), todo=todo) from None
