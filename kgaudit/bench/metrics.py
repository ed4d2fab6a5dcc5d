"""The measures, each defined once.

Two-way measures count the verdict `supported` as true and every other verdict, `not_judged` included, as false: an error can
lower a score but never leave its denominator. A measure that has no basis (no item of a class, no pair, no quote) is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from kgaudit.verdicts import EvidenceSpan, Trajectory

BINS = 10
SUREST = 0.8
COVERAGES = (0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Scored:
    """One item of a dataset and what came out for it.

    `gold` is whether the triple is true; `neg_type` how a false one was made; `gold_evidence` the (document id, text) pairs that state
    or contradict it. None of these was seen by what is measured.
    """

    id: str
    key: str
    gold: bool
    neg_type: str | None
    phenomenon: str | None
    gold_evidence: tuple[tuple[str, str], ...]
    trajectory: Trajectory

    @property
    def predicted(self) -> bool:
        """The two-way reading of the verdict."""
        return self.trajectory.verdict.verdict == "supported"

    @property
    def p(self) -> float | None:
        """P(supported), None where nothing was judged."""
        return self.trajectory.verdict.p_supported

    @property
    def abstained(self) -> bool:
        """Whether no decision was made."""
        return self.trajectory.verdict.verdict in ("not_enough_evidence", "not_judged")


def f1(gold: Sequence[bool], predicted: Sequence[bool], positive: bool) -> float | None:
    """F1 of one class; None where neither gold nor prediction has it."""
    hits = sum(g == positive and p == positive for g, p in zip(gold, predicted, strict=True))
    total = sum(g == positive for g in gold) + sum(p == positive for p in predicted)
    return 2 * hits / total if total else None


def macro_f1(gold: Sequence[bool], predicted: Sequence[bool]) -> float | None:
    """Mean of the F1 of true and the F1 of false."""
    return _mean_of_both(f1(gold, predicted, True), f1(gold, predicted, False))


def balanced_accuracy(gold: Sequence[bool], predicted: Sequence[bool]) -> float | None:
    """Mean of the recall of true and the recall of false."""
    return _mean_of_both(
        share(p for g, p in zip(gold, predicted, strict=True) if g), share(not p for g, p in zip(gold, predicted, strict=True) if not g)
    )


def calibration_error(probabilities: Sequence[float], gold: Sequence[bool], bins: int = BINS) -> float | None:
    """Expected calibration error of P(supported): `bins` bins of equal mass, |mean probability - share of true| weighted by size.

    Where the number of items is no multiple of `bins`, the first bins hold one item more.
    """
    n = len(probabilities)
    ranked = sorted(zip(probabilities, gold, strict=True), key=lambda pair: pair[0])
    size, extra = divmod(n, bins)
    error, start = 0.0, 0
    for index in range(min(bins, n)):
        end = start + size + (index < extra)
        error += abs(sum(p - g for p, g in ranked[start:end]))
        start = end
    return error / n if n else None


def surest(items: Sequence[Scored], part: float = SUREST) -> list[Scored]:
    """The part of the items whose P(supported) lies farthest from one half; those without a probability come last."""
    ranked = sorted(items, key=lambda item: -abs(item.p - 0.5) if item.p is not None else 1.0)
    return ranked[: round(part * len(items))]


def risk_coverage(items: Sequence[Scored]) -> list[tuple[float, float]]:
    """(coverage, share of wrong two-way answers among the surest items of that part), for each of `COVERAGES`."""
    curve = []
    for coverage in COVERAGES:
        risk = share(item.predicted != item.gold for item in surest(items, coverage))
        if risk is not None:
            curve.append((coverage, risk))
    return curve


def pair_ranking(probabilities: Mapping[str, float | None]) -> float | None:
    """Share of the pairs `...-t`, `...-f` (by item id) in which the true item has the higher probability.

    Ties count half, and so do pairs that lack a probability.
    """
    points = []
    for name, p_true in probabilities.items():
        partner = name[:-1] + "f"
        if not name.endswith("-t") or partner not in probabilities:
            continue
        p_false = probabilities[partner]
        points.append(0.5 if p_true is None or p_false is None or p_true == p_false else float(p_true > p_false))
    return sum(points) / len(points) if points else None


def accuracy_by(items: Iterable[Scored], kind: Callable[[Scored], str | None]) -> dict[str, float]:
    """Share of right two-way answers for each kind of item, the kinds in alphabetical order; items of kind None are left out."""
    right: dict[str, list[bool]] = {}
    for item in items:
        name = kind(item)
        if name is not None:
            right.setdefault(name, []).append(item.predicted == item.gold)
    return {name: sum(right[name]) / len(right[name]) for name in sorted(right)}


def is_verbatim(span: EvidenceSpan, documents: Mapping[str, str]) -> bool:
    """Whether the quote stands in its document, word for word, at its offsets."""
    return bool(span.quote) and documents.get(span.document_id, "")[span.start : span.end] == span.quote


def evidence_verbatim(items: Iterable[Scored], documents: Mapping[str, str]) -> float | None:
    """Share of all quotes that are verbatim. `documents` maps ids to texts."""
    return share(is_verbatim(span, documents) for item in items for span in item.trajectory.verdict.evidence)


def evidence_precision(items: Iterable[Scored], documents: Mapping[str, str]) -> float | None:
    """Of the supporting quotes given for true triples that were found supported: the share that overlaps annotated evidence.

    Annotation is not complete, so the figure is a lower bound.
    """
    return share(
        _overlaps(span, item.gold_evidence, documents)
        for item in items
        if item.gold and item.predicted and item.gold_evidence
        for span in item.trajectory.verdict.evidence
        if span.stance == "supports"
    )


def share(flags: Iterable[bool]) -> float | None:
    """Share of those that hold; None where there are none."""
    values = list(flags)
    return sum(values) / len(values) if values else None


@dataclass(frozen=True, slots=True)
class Measures:
    """All measures of one policy on one split; `where_first_search_failed` is filled in by `kgaudit.bench.runner`."""

    n: int
    macro_f1: float | None
    f1_true: float | None
    f1_false: float | None
    balanced_accuracy: float | None
    accuracy_by_negative: dict[str, float]
    searches_per_triple: float
    abstained: float
    macro_f1_at_80: float | None
    pair_ranking: float | None
    accuracy_by_phenomenon: dict[str, float]
    calibration_error: float | None
    evidence_verbatim: float | None
    evidence_precision: float | None
    triples_per_second: float
    verdicts: dict[str, int]
    judged_pairs_per_triple: float
    model_calls_per_triple: float
    tokens_per_triple: float
    cost_per_triple: float | None
    risk_coverage: list[tuple[float, float]]
    seconds: float


def measure(
    items: Sequence[Scored], documents: Mapping[str, str], seconds: float, prices: tuple[float, float] | None = None
) -> Measures:
    """All measures over the items (at least one), which took `seconds` of wall time together.

    `prices` are those of a million tokens read and written; without them there is no cost.
    """
    # Ties in probability must not be broken by an order that may follow the answers.
    items = sorted(items, key=lambda item: sha256(item.id.encode("utf-8", "surrogatepass")).digest())
    n = len(items)
    gold, predicted = [item.gold for item in items], [item.predicted for item in items]
    sure = surest(items)
    judged = [(item.p, item.gold) for item in items if item.p is not None]
    names = sorted({item.trajectory.verdict.verdict for item in items})
    return Measures(
        n=n,
        macro_f1=macro_f1(gold, predicted),
        f1_true=f1(gold, predicted, True),
        f1_false=f1(gold, predicted, False),
        balanced_accuracy=balanced_accuracy(gold, predicted),
        accuracy_by_negative=accuracy_by(items, lambda item: "true" if item.gold else item.neg_type or "false"),
        searches_per_triple=sum(item.trajectory.searches for item in items) / n,
        abstained=sum(item.abstained for item in items) / n,
        macro_f1_at_80=macro_f1([item.gold for item in sure], [item.predicted for item in sure]),
        pair_ranking=pair_ranking({item.id: item.p for item in items}),
        accuracy_by_phenomenon=accuracy_by(items, lambda item: item.phenomenon),
        calibration_error=calibration_error([p for p, _ in judged], [label for _, label in judged]),
        evidence_verbatim=evidence_verbatim(items, documents),
        evidence_precision=evidence_precision(items, documents),
        triples_per_second=n / seconds,
        verdicts={name: sum(item.trajectory.verdict.verdict == name for item in items) for name in names},
        judged_pairs_per_triple=sum(item.trajectory.judged_pairs for item in items) / n,
        model_calls_per_triple=sum(item.trajectory.model_calls for item in items) / n,
        tokens_per_triple=sum(item.trajectory.tokens for item in items) / n,
        cost_per_triple=_cost(items, prices) / n if prices else None,
        risk_coverage=risk_coverage(items),
        seconds=seconds,
    )


def _cost(items: Iterable[Scored], prices: tuple[float, float]) -> float:
    calls = [call for item in items for step in item.trajectory.steps for call in step.calls]
    return sum(call.prompt_tokens * prices[0] + call.completion_tokens * prices[1] for call in calls) / 1e6


def _mean_of_both(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else (first + second) / 2


def _overlaps(span: EvidenceSpan, evidence: Iterable[tuple[str, str]], documents: Mapping[str, str]) -> bool:
    for document_id, text in evidence:
        if document_id != span.document_id:
            continue
        start = documents.get(document_id, "").find(text)
        if start >= 0 and start < span.end and span.start < start + len(text):
            return True
    return False
