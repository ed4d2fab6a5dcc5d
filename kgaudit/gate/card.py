"""The verifier card: how far a verifier's verdicts can be trusted, measured on triples that people labelled.

- sensitivity: of the true triples that were judged, the share found supported;
- specificity: of the false triples that were judged, the share found refuted;
- Youden's J: sensitivity + specificity - 1; 0 is a coin, 1 is perfect (W. J. Youden 1950, Cancer 3);
- abstention: the share with not enough evidence; not judged: errors;
- calibration: what share is true of the triples that are given some probability.

Shares have 95 % Wilson intervals that respect the sample's weights and clusters; that of J comes from those of its two parts (MOVER:
Zou and Donner 2008, Statistics in Medicine 27). A card belongs to one judge and one policy with its settings; what documents were
searched does not matter to it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgaudit.errors import EmptyInputError, InputError
from kgaudit.gate.designs import Answered
from kgaudit.gate.estimators import Floats, Sample, labels_mean, wilson
from kgaudit.gate.labels import Labels, read_labels
from kgaudit.gate.rows import Rows, read_rows
from kgaudit.gate.samples import as_chosen, match
from kgaudit.runs.files import read_json
from kgaudit.runs.state import open_reader
from kgaudit.verdicts import VERDICTS

FORMAT = 1
CONFIDENCE = 0.95
BINS, BIN_LABELS = 10, 10
"""Calibration bins hold equally many labels, at least `BIN_LABELS`; there are at most `BINS`."""

GROUP_LABELS, GROUP_EACH = 30, 5
"""A predicate has its own figures from this many judged labels on, of which this many are true and this many false."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its 95 % interval and the labels behind it."""

    value: float
    low: float
    high: float
    labels: int


@dataclass(frozen=True, slots=True)
class Bin:
    """Triples that were given similar probabilities: their mean probability, and the share that is true."""

    probability: float
    true: Share


@dataclass(frozen=True, slots=True)
class Skill:
    """How well truth is told from falsehood; a part is None where no label of its kind was judged."""

    sensitivity: Share | None
    specificity: Share | None
    youden: Share | None


@dataclass(frozen=True, slots=True)
class PredicateSkill:
    """The skill on one predicate; `predicate` is its term."""

    predicate: str
    label: str
    skill: Skill


@dataclass(frozen=True, slots=True)
class Card:
    """A verifier's measured quality. `measured` is the time of the newest label (of the card where labels have none), ISO 8601.

    `model` is the language model of the run, None where it had none.
    """

    judge: dict[str, Any]
    policy: dict[str, Any]
    measured: str
    created: str
    design: str
    labels: int
    true: int
    unsure: int
    skill: Skill
    abstention: Share
    not_judged: Share
    calibration: tuple[Bin, ...]
    calibration_error: float | None
    predicates: tuple[PredicateSkill, ...]
    model: dict[str, Any] | None = None

    @property
    def verifier(self) -> str:
        """The digest that ties the card to its verifier."""
        return verifier_digest({"judge": self.judge, "policy": self.policy, "model": self.model})

    def to_json(self) -> dict[str, Any]:
        """The card as JSON values."""
        return {"format": FORMAT, "verifier": self.verifier, "confidence": CONFIDENCE, **asdict(self)}


def verifier_digest(spec: Mapping[str, Any]) -> str:
    """sha256 of what decides a verdict besides the documents: the judge's digest, the policy and its settings (the digests of its
    prompts among them), and the language model where there is one."""
    policy, model = spec.get("policy") or {}, spec.get("model")
    identity = {
        "judge": {name: value for name, value in (spec.get("judge") or {}).items() if name != "name"},
        "policy": {"name": policy.get("name"), "settings": policy.get("settings")},
        **({"model": model.get("digest")} if model else {}),
    }
    return sha256(json.dumps(identity, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def make_card(run: Path, labels: Path | Sequence[Path], *, now: datetime | None = None) -> Card:
    """Measures the verifier of a run against people's labels.

    A random sample among the labels counts by its weights; without one, all labels count alike, as a gold set that was put together by
    hand. Raises `RunError`, what `read_labels` raises, and `EmptyInputError` where no label is of a triple of the run.
    """
    reader = open_reader(run)
    files = (labels,) if isinstance(labels, Path) else tuple(labels)
    rows, found = read_rows(reader), read_labels(*files)
    sample = match(rows, found).answered or as_chosen(rows, found)
    if not sample.decided:
        raise EmptyInputError(
            f"no label of {', '.join(map(str, files))} decides on a triple of this run",
            where=str(run),
            todo="Draw triples to label with `kgaudit sample`, and fill in true or false.",
        )
    return _measure(reader.spec, rows, found, sample, now or datetime.now(timezone.utc))


def _measure(spec: Mapping[str, Any], rows: Rows, labels: Labels, sample: Answered, now: datetime) -> Card:
    data = _Measured(rows, sample)
    created = now.isoformat(timespec="seconds")
    bins = data.bins()
    total = sum(one.true.labels for one in bins)
    skills = [
        PredicateSkill(rows.predicates[code], rows.predicate_labels[code], data.skill(inside))
        for code, inside in data.groups()
        if data.is_enough(inside)
    ]
    return Card(
        judge=dict(spec.get("judge") or {}),
        policy=dict(spec.get("policy") or {}),
        model=spec.get("model"),
        measured=labels.newest.isoformat(timespec="seconds") if labels.newest else created,
        created=created,
        design=sample.text,
        labels=sample.decided,
        true=int(np.nansum(sample.truth)),
        unsure=sample.unsure,
        skill=data.skill(data.everything),
        abstention=data.share_of(data.verdict == VERDICTS.index("not_enough_evidence"), data.everything),
        not_judged=data.share_of(data.verdict == VERDICTS.index("not_judged"), data.everything),
        calibration=bins,
        calibration_error=sum(one.true.labels * abs(one.probability - one.true.value) for one in bins) / total if total else None,
        predicates=tuple(sorted(skills, key=lambda one: (one.label, one.predicate))),
    )


class _Measured:
    """The labels that decide, beside the verdicts on their triples."""

    def __init__(self, rows: Rows, sample: Answered) -> None:
        use = ~np.isnan(sample.truth)
        self._sample = sample.sample(rows, math.inf)
        row = sample.row[use]
        self.true: Mask = self._sample.truth > 0
        self.verdict = rows.verdict[row]
        self.predicate = rows.predicate[row]
        self.probability = rows.probability[row]
        self.judged: Mask = self.verdict <= VERDICTS.index("refuted")
        self.everything = np.ones(len(row), np.bool_)

    def share_of(self, hit: Mask, inside: Mask) -> Share:
        """The share of `hit` among those `inside` (at least one)."""
        whole, count = self._sample, int(inside.sum())
        # Sizes are unknown inside what labels and verdicts pick out: weights stand in, and their inequality costs labels.
        part = replace(
            whole,
            design="cluster"
            if len(set(whole.cluster[inside].tolist())) < count or np.ptp(whole.weight[inside]) > 0
            else "simple_random",
            truth=hit[inside].astype(np.float64),
            weight=whole.weight[inside],
            cluster=whole.cluster[inside],
            stratum=np.zeros(count, np.int64),
            sizes=np.array([math.inf]),
            universe=math.inf,
            score=None,
            score_mean=None,
        )
        return _share(part)

    def skill(self, inside: Mask) -> Skill:
        """Sensitivity, specificity and J of those `inside`."""
        supported, refuted = self.verdict == VERDICTS.index("supported"), self.verdict == VERDICTS.index("refuted")
        true, false = inside & self.judged & self.true, inside & self.judged & ~self.true
        sensitivity = self.share_of(supported, true) if true.any() else None
        specificity = self.share_of(refuted, false) if false.any() else None
        return Skill(sensitivity, specificity, _youden(sensitivity, specificity))

    def groups(self) -> list[tuple[int, Mask]]:
        """The predicates and which labels are theirs."""
        return [(int(code), self.predicate == code) for code in np.unique(self.predicate)]

    def is_enough(self, inside: Mask) -> bool:
        """Whether there are enough labels for figures of their own."""
        judged = inside & self.judged
        true = int((judged & self.true).sum())
        return int(judged.sum()) >= GROUP_LABELS and min(true, int(judged.sum()) - true) >= GROUP_EACH

    def bins(self) -> tuple[Bin, ...]:
        """The calibration of P(true)."""
        given = np.flatnonzero(~np.isnan(self.probability))
        ranked = given[np.argsort(self.probability[given], kind="stable")]
        parts = np.array_split(ranked, min(BINS, max(1, len(ranked) // BIN_LABELS)))
        return tuple(self._bin(part) for part in parts if len(part))

    def _bin(self, part: npt.NDArray[np.intp]) -> Bin:
        inside = np.zeros(len(self.true), np.bool_)
        inside[part] = True
        probability: Floats = self.probability[part]
        return Bin(float(np.average(probability, weights=self._sample.weight[part])), self.share_of(self.true, inside))


def _share(sample: Sample) -> Share:
    mean = labels_mean(sample)
    low, high = wilson(mean, CONFIDENCE)
    return Share(mean.value, low, high, mean.labels)


def _youden(sensitivity: Share | None, specificity: Share | None) -> Share | None:
    if sensitivity is None or specificity is None:
        return None
    value = sensitivity.value + specificity.value - 1
    below = math.hypot(sensitivity.value - sensitivity.low, specificity.value - specificity.low)
    above = math.hypot(sensitivity.high - sensitivity.value, specificity.high - specificity.value)
    return Share(value, max(-1.0, value - below), min(1.0, value + above), sensitivity.labels + specificity.labels)


def read_card(path: Path) -> Card:
    """A card that `kgaudit card` wrote. Raises `InputError` where it is none, or was changed, and `StorageError`."""
    values = read_json(path)
    todo = "Make it again with `kgaudit card`."
    if not isinstance(values, dict) or values.get("format") != FORMAT or "skill" not in values:
        raise InputError("this is no verifier card of this version", where=str(path), todo=todo)
    try:
        card = _card_of(values)
        datetime.fromisoformat(card.measured)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"this verifier card is damaged ({error!r})", where=str(path), todo=todo) from error
    if values.get("verifier") != card.verifier:
        raise InputError("the verifier that this card names is not the one that it was made for", where=str(path), todo=todo)
    return card


def _card_of(values: Mapping[str, Any]) -> Card:
    return Card(
        judge=values["judge"],
        policy=values["policy"],
        model=values.get("model"),
        measured=values["measured"],
        created=values["created"],
        design=values["design"],
        labels=values["labels"],
        true=values["true"],
        unsure=values["unsure"],
        skill=_skill_of(values["skill"]),
        abstention=Share(**values["abstention"]),
        not_judged=Share(**values["not_judged"]),
        calibration=tuple(Bin(one["probability"], Share(**one["true"])) for one in values["calibration"]),
        calibration_error=values["calibration_error"],
        predicates=tuple(PredicateSkill(one["predicate"], one["label"], _skill_of(one["skill"])) for one in values["predicates"]),
    )


def _skill_of(values: Mapping[str, Any]) -> Skill:
    return Skill(*(Share(**values[name]) if values[name] else None for name in ("sensitivity", "specificity", "youden")))
