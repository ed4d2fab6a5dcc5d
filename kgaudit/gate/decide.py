"""The gate: does the accuracy of a knowledge graph (KG), measured by labels of a random sample, hold what the policy asks for?

The lower end of the two-sided interval decides: where the accuracy is not above the threshold, a version passes in at most half of
what the confidence leaves (1 in 40 at 95 %). Every group with a threshold of its own has to pass as well, so that more groups never
make a wrong pass likelier and need no correction (R. L. Berger 1982, Technometrics 24(4)). The verifier's pass rate decides nothing.

    status 0  passed     everything that the policy asks for holds
    status 1  stopped    it was evaluated, and something does not hold
    status 2  no basis   it could not be evaluated: labels or the verifier card are missing or do not fit, the run was interrupted,
                         or nothing was judged. Where something is missing this wins over `stopped`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from kgaudit.gate.card import Card, read_card, verifier_digest
from kgaudit.gate.designs import Answered
from kgaudit.gate.estimators import ESTIMATORS, Estimate, Sample, choose, estimate
from kgaudit.gate.labels import Labels, read_labels
from kgaudit.gate.policy import Override, Policy, read_policy
from kgaudit.gate.rows import Rows, read_rows
from kgaudit.gate.samples import Matched, match
from kgaudit.runs.counts import Counts
from kgaudit.runs.reader import RunReader
from kgaudit.runs.state import open_reader
from kgaudit.verdicts import VERDICTS, VerdictName

FORMAT = 1
Status = Literal["passed", "stopped", "no_basis"]
STATUSES: tuple[Status, ...] = get_args(Status)
"""In the order of the exit statuses."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that keeps a version from passing: it was stopped, or there is no basis to decide."""

    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """A predicate or source with a threshold of its own; `estimate` is None where it has no label."""

    kind: Literal["predicate", "source"]
    name: str
    threshold: float
    triples: int
    estimate: Estimate | None
    status: Status


@dataclass(frozen=True, slots=True)
class LabelUse:
    """What became of the labels. `used` decide (true or false); `missing` triples of the sample have none; `left` lie behind what was
    answered; `absent` are of triples that the run does not hold, `chosen` were not drawn at random, `other` are of another sample."""

    path: str
    sample: str
    used: int
    true: int
    unsure: int
    missing: int
    left: int
    absent: int
    chosen: int
    other: int
    blank: int
    shared: int
    split: int


@dataclass(frozen=True, slots=True)
class CardUse:
    """The verifier card as the gate saw it."""

    path: str
    verifier: str
    measured: str
    age_days: int
    labels: int
    youden_j: float | None
    youden_low: float | None
    youden_high: float | None


@dataclass(frozen=True, slots=True)
class OverrideUse:
    """An override and whether it counts: it is in force, and the run refuted the triple."""

    key: str
    author: str
    reason: str
    expires: str
    counts: bool
    note: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What the gate decided, and the numbers behind it."""

    status: Status
    reasons: tuple[Reason, ...]
    run: str
    run_status: str
    policy: str
    policy_digest: str
    decided: str
    threshold: float
    accuracy: Estimate | None
    beside: tuple[Estimate, ...]
    groups: tuple[Group, ...]
    triples: int
    universe: int
    verdicts: dict[str, int]
    pass_rate: float | None
    not_enough_evidence: float | None
    not_judged: float | None
    refuted_without_overridden: float | None
    labels: LabelUse | None
    card: CardUse | None
    overrides: tuple[OverrideUse, ...]

    @property
    def exit_status(self) -> int:
        """0 passed, 1 stopped, 2 no basis."""
        return STATUSES.index(self.status)

    def to_json(self) -> dict[str, Any]:
        """The decision as JSON values; infinite numbers (all triples were labelled) are null."""
        values: dict[str, Any] = _finite({"format": FORMAT, "exit_status": self.exit_status, **asdict(self)})
        return values


def gate(
    run: Path, policy: Path, labels: Path | Sequence[Path] | None = None, card: Path | None = None, *, now: dt.datetime | None = None
) -> Decision:
    """Decides on a run or state by a policy file, label files and a verifier card; `now` is when ages and expiries are taken at.

    Raises `RunError` where `run` is no run folder, `UsageError` on a policy with mistakes, `InputError` on labels or a card that cannot
    be read as such, `StorageError`: none of these is a decision, and all end with status 2.
    """
    rules = read_policy(policy)
    reader = open_reader(run)
    files = (labels,) if isinstance(labels, Path) else tuple(labels or ())
    return _Gate(
        rules,
        reader,
        read_rows(reader),
        read_labels(*files) if files else None,
        (read_card(card), card) if card else None,
        now or dt.datetime.now(dt.timezone.utc),
    ).decision()


class _Gate:
    def __init__(
        self, policy: Policy, reader: RunReader, rows: Rows, labels: Labels | None, card: tuple[Card, Path] | None, now: dt.datetime
    ) -> None:
        self._policy, self._reader, self._rows, self._labels, self._card, self._now = policy, reader, rows, labels, card, now
        numbers = np.bincount(rows.verdict, minlength=len(VERDICTS)).tolist()
        self._counts = Counts(dict(zip(VERDICTS, numbers, strict=True)))
        claims = (reader.summary.get("load") or {}).get("claims")
        self._universe = max(len(rows), claims if isinstance(claims, int) else 0)
        self._matched = match(rows, labels) if labels and len(rows) else Matched(None, len(labels.labels) if labels else 0)
        self._overrides = tuple(self._override_uses())

    def decision(self) -> Decision:
        policy, counts, answered = self._policy, self._counts, self._matched.answered
        sample = answered.sample(self._rows, self._universe) if answered and answered.decided else None
        accuracy = self._estimate(sample) if sample else None
        groups = tuple(self._groups(answered))
        refuted = self._refuted_without_overridden()
        reasons = (
            *self._about_run(),
            *self._about_labels(),
            *self._about_card(),
            *self._about_limits(refuted),
            *self._about_accuracy(accuracy),
            *self._about_groups(groups),
        )
        missing = any(reason.status == "no_basis" for reason in reasons)
        return Decision(
            status="no_basis" if missing else "stopped" if reasons else "passed",
            reasons=reasons,
            run=str(self._reader.path),
            run_status=str(self._reader.summary.get("status")),
            policy=policy.path,
            policy_digest=policy.digest,
            decided=self._now.isoformat(timespec="seconds"),
            threshold=policy.threshold,
            accuracy=accuracy,
            beside=tuple(_others(sample, accuracy)) if sample and accuracy else (),
            groups=groups,
            triples=counts.total,
            universe=self._universe,
            verdicts=counts.verdicts,
            pass_rate=counts.pass_rate,
            not_enough_evidence=counts.share("not_enough_evidence"),
            not_judged=counts.share("not_judged"),
            refuted_without_overridden=refuted,
            labels=self._label_use(),
            card=self._card_use(),
            overrides=self._overrides,
        )

    def _estimate(self, sample: Sample) -> Estimate:
        chosen = self._policy.estimator
        return estimate(sample, choose(sample) if chosen == "auto" else chosen, self._policy.confidence)

    def _groups(self, answered: Answered | None) -> Iterator[Group]:
        for name, threshold in self._policy.predicates:
            yield self._group("predicate", name, threshold, self._rows.in_predicate(name), answered)
        for name, threshold in self._policy.sources:
            yield self._group("source", name, threshold, self._rows.in_source(name), answered)

    def _group(
        self,
        kind: Literal["predicate", "source"],
        name: str,
        threshold: float,
        inside: npt.NDArray[np.bool_],
        answered: Answered | None,
    ) -> Group:
        triples = int(inside.sum())
        sample = answered.sample(self._rows, self._universe, inside) if answered and triples else None
        found = self._estimate(sample) if sample and len(sample.truth) else None
        if found is None or found.labels < self._policy.minimum_labels_by_group:
            return Group(kind, name, threshold, triples, found, "no_basis")
        return Group(kind, name, threshold, triples, found, "passed" if found.low >= threshold else "stopped")

    def _about_run(self) -> Iterator[Reason]:
        status = self._reader.summary.get("status")
        if status == "unverified":
            missing = self._universe - len(self._rows)
            yield Reason("no_basis", f"{missing:,} triples of the graph have no verdict yet: audit them first")
        elif status not in ("complete", "budget"):
            yield Reason("no_basis", f"the run is {status or 'without a status'}: finish it with the command that began it")
        if not self._counts.total:
            load = self._reader.summary.get("load") or {}
            left_out = sum(number for number in (load.get("left_out") or {}).values() if isinstance(number, int))
            hint = f" ({left_out:,} were left out as schema, labels and the like)" if left_out else ""
            selected = self._reader.summary.get("selected")
            if selected and selected["total"]:
                hint = f": {selected['new']:,} of {selected['total']:,} triples were new. Decide on the state instead"
            yield Reason("no_basis", f"the run holds no triple to judge{hint}")
        elif not self._counts.judged:
            yield Reason("no_basis", f"none of the {self._counts.total:,} triples was judged supported or refuted")

    def _about_labels(self) -> Iterator[Reason]:
        policy, use = self._policy, self._label_use()
        if use is None:
            yield Reason(
                "no_basis", "no labels were given: draw triples to label with `kgaudit sample`, then name the file with --labels"
            )
            return
        if use.used < policy.minimum_labels:
            why = [
                f"{number:,} {what}"
                for number, what in (
                    (use.blank, "not filled in"),
                    (use.unsure, "unsure"),
                    (use.absent, "of triples that this run does not hold"),
                    (use.chosen, "not drawn at random"),
                    (use.other, "of another sample"),
                    (use.left, "after the first triples of the sample without a label"),
                )
                if number
            ]
            beyond = f" (beside them {', '.join(why)})" if why else ""
            yield Reason(
                "no_basis", f"{use.used:,} labels of a random sample can be used{beyond}; the policy asks for {policy.minimum_labels:,}"
            )
        unsure = use.unsure / max(use.used + use.unsure, 1)
        if unsure > policy.maximum_unsure:
            allowed = _percent(policy.maximum_unsure)
            yield Reason("no_basis", f"people are unsure of {_percent(unsure)} of the sample; the policy allows {allowed}")

    def _about_card(self) -> Iterator[Reason]:
        policy = self._policy
        if not policy.card_required:
            return
        use = self._card_use()
        if use is None or self._card is None:
            yield Reason("no_basis", "no verifier card was given: make one with `kgaudit card`, then name it with --card")
            return
        card, _ = self._card
        if card.verifier != verifier_digest(self._reader.spec):
            yield Reason("no_basis", f"the verifier card is of another verifier: {_difference(card, self._reader.spec)}")
        limit = policy.card_maximum_age_days
        if limit is not None and use.age_days > limit:
            yield Reason(
                "no_basis", f"the verifier card is stale: its newest label is {use.age_days:,} days old, the policy allows {limit:,}"
            )
        if use.youden_low is None:
            yield Reason("no_basis", "the verifier card is uninformative: no true or no false triple was judged, so J is unknown")
        elif use.youden_low <= policy.card_minimum_youden_j:
            yield Reason(
                "no_basis",
                f"the verifier card is uninformative: Youden's J is {use.youden_j:.2f}, and the lower end of its interval, "
                f"{use.youden_low:.2f}, does not lie above {policy.card_minimum_youden_j:g}",
            )

    def _about_limits(self, refuted: float | None) -> Iterator[Reason]:
        limits: tuple[tuple[float | None, float | None, str], ...] = (
            (self._counts.share("not_judged"), self._policy.maximum_not_judged, "not judged"),
            (self._counts.share("not_enough_evidence"), self._policy.maximum_not_enough_evidence, "without enough evidence"),
            (refuted, self._policy.maximum_refuted, "refuted and not overridden"),
        )
        for share, limit, what in limits:
            if share is not None and limit is not None and share > limit:
                yield Reason("stopped", f"{_percent(share)} of the triples are {what}; the policy allows {_percent(limit)}")

    def _about_accuracy(self, accuracy: Estimate | None) -> Iterator[Reason]:
        if accuracy and accuracy.low < self._policy.threshold:
            low, threshold = _percent(accuracy.low, 2), _percent(self._policy.threshold, 2)
            level = _percent(accuracy.confidence, 0)
            yield Reason("stopped", f"the lower end of the accuracy's {level} interval, {low}, lies under the threshold {threshold}")

    def _about_groups(self, groups: tuple[Group, ...]) -> Iterator[Reason]:
        for group in groups:
            name, least = f"{group.kind} {group.name}", self._policy.minimum_labels_by_group
            if not group.triples:
                yield Reason("no_basis", f"the run holds no triple of {name}, for which the policy has a threshold")
            elif group.status == "no_basis":
                labels = group.estimate.labels if group.estimate else 0
                yield Reason("no_basis", f"{name} has {labels:,} labels; the policy asks for {least:,}")
            elif group.status == "stopped" and group.estimate:
                low, threshold = _percent(group.estimate.low, 2), _percent(group.threshold, 2)
                yield Reason("stopped", f"{name}: the lower end of its interval, {low}, lies under its threshold {threshold}")

    def _label_use(self) -> LabelUse | None:
        labels, matched, answered = self._labels, self._matched, self._matched.answered
        if labels is None:
            return None
        return LabelUse(
            path=", ".join(map(str, labels.paths)),
            sample=answered.text if answered else "",
            used=answered.decided if answered else 0,
            true=int(np.nansum(answered.truth)) if answered else 0,
            unsure=answered.unsure if answered else 0,
            missing=answered.missing if answered else 0,
            left=answered.left if answered else 0,
            absent=matched.absent,
            chosen=matched.chosen,
            other=matched.other,
            blank=labels.blank,
            shared=labels.shared,
            split=labels.split,
        )

    def _card_use(self) -> CardUse | None:
        if self._card is None:
            return None
        card, path = self._card
        measured = dt.datetime.fromisoformat(card.measured)
        measured = measured if measured.tzinfo else measured.replace(tzinfo=dt.timezone.utc)
        youden = card.skill.youden
        return CardUse(
            path=str(path),
            verifier=card.verifier,
            measured=card.measured,
            age_days=(self._now - measured).days,
            labels=card.labels,
            youden_j=youden.value if youden else None,
            youden_low=youden.low if youden else None,
            youden_high=youden.high if youden else None,
        )

    def _override_uses(self) -> Iterator[OverrideUse]:
        overrides = self._policy.overrides
        rows = self._rows.positions([one.key for one in overrides]).tolist() if overrides else []
        for one, row in zip(overrides, rows, strict=True):
            verdict = VERDICTS[self._rows.verdict[row]] if row >= 0 else None
            note = self._override_note(one, verdict)
            yield OverrideUse(one.key, one.author, one.reason, one.expires.isoformat(), not note, note)

    def _override_note(self, override: Override, verdict: VerdictName | None) -> str:
        if override.expires < self._now.date():
            return "expired"
        if verdict is None:
            return "the run does not hold the triple"
        return "" if verdict == "refuted" else f"the triple is {verdict.replace('_', ' ')}"

    def _refuted_without_overridden(self) -> float | None:
        total = self._counts.total
        return (self._counts.verdicts["refuted"] - sum(one.counts for one in self._overrides)) / total if total else None


def _others(sample: Sample, accuracy: Estimate) -> Iterator[Estimate]:
    """What the other estimators say, for people: they decide nothing."""
    for name in ESTIMATORS:
        if name != accuracy.estimator and (name != "ppi" or sample.score_mean is not None):
            yield estimate(sample, name, accuracy.confidence)


def _difference(card: Card, spec: dict[str, Any]) -> str:
    judge, policy = spec.get("judge") or {}, spec.get("policy") or {}
    if card.judge.get("digest") != judge.get("digest") or card.judge.get("name") != judge.get("name"):
        return (
            f"it measured the judge {card.judge.get('name')}, the run used {judge.get('name')} (digest {str(judge.get('digest'))[:12]})"
        )
    measured, used = ((one or {}).get("name") or "none" for one in (card.model, spec.get("model")))
    if measured != used:
        return f"it measured the language model {measured}, the run used {used}"
    if card.policy.get("name") != policy.get("name"):
        return f"it measured the policy {card.policy.get('name')}, the run used {policy.get('name')}"
    return "the settings of the policy or the judge's prompt differ"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"
