"""The accuracy of a knowledge graph (KG) from the labels of a random sample, with an interval that covers as often as it says.

Two steps. First a mean with its *effective* number of labels: as many independent labels as would give the variance that the design and
the verifier's verdicts leave. Then an interval for a share of that many labels:

    estimator         mean         interval                                                            designs
    wilson            labels only  score interval (Wilson 1927)                                        all three
    clopper_pearson   labels only  exact binomial, effective labels never above the real ones          all three
    jeffreys          labels only  Bayesian, Beta(1/2, 1/2) prior, equal-tailed                        all three
    ppi               PPI++        t interval, corrected for skewness (Johnson 1978)                   all three

- simple_random: variance p(1 - p)/n with finite population correction.
- stratified: sum over strata, shares known; one label worth of the overall share is added to each stratum's variance, so that a
  stratum whose few labels agree does not count as certain.
- cluster: two-stage cluster sampling, subjects drawn with probability proportional to their triples (TWCS: Gao et al. 2019, Efficient
  knowledge graph accuracy evaluation, VLDB 12(11)). The variance is that between subjects, Student's t with one degree of freedom less
  than subjects stands for the normal quantile, and the design effect is taken as at least 1 (Korn and Graubard 1998, Confidence
  intervals for proportions with small expected number of positive counts estimated from survey data, Survey Methodology 24).
- ppi: prediction-powered inference with power tuning (Angelopoulos, Duchi and Zrnic 2023, PPI++, arXiv:2311.01453). The labelled
  triples are some of those that have verdicts, so the prediction's mean over the run is known and only the remainder
  label - power * prediction has to be estimated. Where the verifier is good the remainder is rarely off zero, which makes it skewed and
  its sample variance poorly known: the third moment shifts the interval, the fourth sets Satterthwaite's degrees of freedom of the
  variance, and each remainder is taken as if it had not helped to choose the power (HC3: MacKinnon and White 1985, J. Econometrics 29).

Equal-tailed and not highest-density, score and not Wald intervals: the gate compares the lower end alone, so each tail has to hold its
half of the error. Wald ends are symmetric, but near 1 errors are not: they lie too high. `benchmarks/gate.py` measures all of this.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

DesignName = Literal["simple_random", "stratified", "cluster"]
EstimatorName = Literal["wilson", "clopper_pearson", "jeffreys", "ppi"]
DESIGNS: tuple[DesignName, ...] = get_args(DesignName)
ESTIMATORS: tuple[EstimatorName, ...] = get_args(EstimatorName)

PPI_FLOOR = 100
"""`choose` takes ppi from this many labels on: below, the sample holds too few of a good verifier's errors to know its variance."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Labelled triples drawn from a run by a design; the arrays have one entry a labelled triple.

    `truth` is 1 for true and 0 for false. `weight` is proportional to how many triples of the run the label stands for. `stratum` and
    `cluster` are codes from 0 (all 0, and all different, where the design has none). `sizes[h]` is the number of triples of stratum h
    in the run, `universe` that of the KG of which the run is a random sample (the same where the run is complete). `score` is the
    verifier's P(true) of the same triples, `score_mean` its mean over all triples of the run; None where there are no verdicts.
    """

    design: DesignName
    truth: Floats
    weight: Floats
    stratum: Ints
    cluster: Ints
    sizes: Floats
    universe: float
    score: Floats | None = None
    score_mean: float | None = None

    @property
    def population(self) -> float:
        """Triples of the run."""
        return float(self.sizes.sum())


@dataclass(frozen=True, slots=True)
class Mean:
    """An estimated share. `effective` is the number of independent labels that would tell as much; `df` are the degrees of freedom of
    its variance (infinite where that follows from the share)."""

    value: float
    effective: float
    df: float
    labels: int
    clusters: int

    @property
    def design_effect(self) -> float:
        """Variance in units of that of as many independent labels: above 1 the design costs labels, below 1 it saves them."""
        return self.labels / self.effective


@dataclass(frozen=True, slots=True)
class PredictedMean(Mean):
    """A mean by PPI++: `power` is the weight of the predictions, `error` the standard error, `skewness` that of the estimate."""

    power: float = 0.0
    error: float = 0.0
    skewness: float = 0.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """An accuracy with its two-sided interval at `confidence`, and what it rests on."""

    estimator: EstimatorName
    design: DesignName
    value: float
    low: float
    high: float
    confidence: float
    labels: int
    clusters: int
    effective_labels: float
    design_effect: float
    power: float | None = None

    @property
    def width(self) -> float:
        """high - low."""
        return self.high - self.low


def choose(sample: Sample) -> EstimatorName:
    """The estimator behind `auto`: ppi where there are verdicts that differ and at least `PPI_FLOOR` labels, else wilson.

    The rule looks at no label, so it cannot pick the answer that pleases.
    """
    usable = sample.score is not None and len(sample.truth) >= PPI_FLOOR and float(np.ptp(sample.score)) > 0
    return "ppi" if usable else "wilson"


def estimate(sample: Sample, estimator: EstimatorName, confidence: float = 0.95) -> Estimate:
    """The accuracy of the KG. Raises `ValueError` where there are no labels, or no verdicts for `ppi`."""
    mean = predicted_mean(sample) if estimator == "ppi" else labels_mean(sample)
    intervals = {"wilson": wilson, "ppi": wilson, "clopper_pearson": clopper_pearson, "jeffreys": jeffreys}
    predicted = mean if isinstance(mean, PredictedMean) else None
    low, high = skewed(predicted, confidence) if predicted else intervals[estimator](mean, confidence)
    return Estimate(
        estimator=estimator,
        design=sample.design,
        value=mean.value,
        low=low,
        high=high,
        confidence=confidence,
        labels=mean.labels,
        clusters=mean.clusters,
        effective_labels=mean.effective,
        design_effect=mean.design_effect,
        power=predicted.power if predicted else None,
    )


def labels_mean(sample: Sample) -> Mean:
    """The share of true triples by labels alone. Raises `ValueError` where there are none."""
    if not len(sample.truth):
        raise ValueError("no labels, no estimate")
    return {"simple_random": _simple_mean, "stratified": _stratified_mean, "cluster": _cluster_mean}[sample.design](sample)


def _simple_mean(sample: Sample) -> Mean:
    n, value = len(sample.truth), float(sample.truth.mean())
    return Mean(value, _ratio(n, 1 - n / max(sample.universe, n)), math.inf, n, n)


def _stratified_mean(sample: Sample) -> Mean:
    strata = len(sample.sizes)
    labels = np.bincount(sample.stratum, minlength=strata).astype(np.float64)
    right = np.bincount(sample.stratum, sample.truth, strata)
    share = sample.sizes / sample.population
    seen = labels > 0
    value = float((share[seen] * right[seen] / labels[seen]).sum() / share[seen].sum())
    smoothed = (right + value) / (labels + 1)
    universe = sample.sizes * max(sample.universe / sample.population, 1.0)
    left = np.clip(1 - labels / np.maximum(universe, 1), 0, 1)
    # A stratum without a label counts as if it had one: it widens, and never passes for known.
    counted = np.maximum(labels, 1)
    terms = share**2 * left * smoothed * (1 - smoothed) * (counted + 1) / counted**2
    # Where all labels agree they tell nothing of how they vary; unequal weights then cost what Kish's formula says.
    kish = float(1 / (share**2 / counted).sum())
    return Mean(value, _effective(value, float(terms.sum()), kish), math.inf, len(sample.truth), len(sample.truth))


def _cluster_mean(sample: Sample) -> Mean:
    weight = sample.weight / sample.weight.sum()
    value = float((weight * sample.truth).sum())
    totals = _cluster_sums(sample, weight * (sample.truth - value))
    clusters, n = len(totals), len(sample.truth)
    if clusters < 2:
        return Mean(value, 1.0, 1.0, n, clusters)
    variance = float((totals**2).sum()) * clusters / (clusters - 1) + _second_phase(value, sample)
    masses = _cluster_sums(sample, weight)
    effective = min(_effective(value, variance, float(1 / (masses**2).sum())), n)
    return Mean(value, effective, clusters - 1, n, clusters)


def predicted_mean(sample: Sample) -> Mean:
    """The share of true triples by PPI++: labels and, on all triples of the run, the verifier's verdicts.

    The mean of the labelled remainders `truth - power * score` plus `power * score_mean`; `power` minimises the variance. In a
    stratified sample the strata narrow nothing further. The mean by labels alone is given where the sample cannot tell how far the
    verifier errs: no labelled verdict was wrong, or none differs. Raises `ValueError` where there are no labels or no verdicts.
    """
    if sample.score is None or sample.score_mean is None:
        raise ValueError("no verdicts, no prediction-powered estimate")
    plain = labels_mean(sample)
    if plain.clusters < 4 or float(np.ptp(sample.score)) == 0:
        return plain
    weight = sample.weight / sample.weight.sum()
    truth = _cluster_sums(sample, weight * (sample.truth - (weight * sample.truth).sum()))
    score = _cluster_sums(sample, weight * (sample.score - (weight * sample.score).sum()))
    clusters, spread = len(truth), float((score**2).sum())
    power = float((truth * score).sum()) / spread
    remainder = (truth - power * score) / np.maximum(1 - score**2 / spread, 1 / clusters)
    second, third, fourth = (float((remainder**moment).mean()) for moment in (2, 3, 4))
    if second <= 1e-18:
        return plain
    value = float((weight * (sample.truth - power * sample.score)).sum()) + power * sample.score_mean
    value = min(max(value, 0.0), 1.0)
    left = 1 - len(sample.truth) / sample.population if sample.design == "simple_random" else 1.0
    variance = second * clusters**2 / (clusters - 1) * max(left, 0.0) + _second_phase(value, sample)
    df = min(clusters - 2, max(1.0, 2 * clusters * _ratio(second**2, fourth - second**2)))
    edge = 1 / (2 * len(sample.truth))
    inner = min(max(value, edge), 1 - edge)
    return PredictedMean(
        value=value,
        effective=_ratio(inner * (1 - inner), variance),
        df=df,
        labels=len(sample.truth),
        clusters=plain.clusters,
        power=power,
        error=math.sqrt(variance),
        skewness=third / second**1.5 / math.sqrt(clusters),
    )


def _cluster_sums(sample: Sample, values: Floats) -> Floats:
    _, codes = np.unique(sample.cluster, return_inverse=True)
    return np.bincount(codes, values).astype(np.float64)


def _second_phase(value: float, sample: Sample) -> float:
    """The variance that a run ended by its budget adds: its triples are a simple random sample of the KG's."""
    return value * (1 - value) * max(0.0, 1 / sample.population - 1 / sample.universe)


def _effective(value: float, variance: float, otherwise: float) -> float:
    spread = value * (1 - value)
    if spread <= 0:
        return otherwise
    return _ratio(spread, variance)


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else math.inf


def _quantiles(mean: Mean, confidence: float) -> tuple[float, float]:
    """The normal quantile and that of the mean's own degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    level = (1 + confidence) / 2
    normal = float(ndtri(level))
    return normal, normal if math.isinf(mean.df) else float(stdtrit(mean.df, level))


def wilson(mean: Mean, confidence: float) -> tuple[float, float]:
    """The score interval of a share (E. B. Wilson 1927, JASA 22(158)), with t in place of the normal quantile where df are few."""
    _, t = _quantiles(mean, confidence)
    return _score(mean.value, mean.effective, t)


def _score(value: float, n: float, z: float) -> tuple[float, float]:
    if math.isinf(n):
        return value, value
    spread = z * z / n
    centre = (value + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(value * (1 - value) / n + spread / (4 * n))
    return max(0.0, centre - half) if value > 0 else 0.0, min(1.0, centre + half) if value < 1 else 1.0


def skewed(mean: PredictedMean, confidence: float) -> tuple[float, float]:
    """The t interval with its centre moved by the skewness of the estimate, to second order.

    Source: N. J. Johnson 1978, Modified t tests and confidence intervals for asymmetrical populations, JASA 73(363), with the term in
    the squared quantile of P. Hall 1983, Inverting an Edgeworth expansion, Annals of Statistics 11(2).
    """
    normal, t = _quantiles(mean, confidence)
    centre = mean.value + mean.error * mean.skewness * (1 + 2 * normal**2) / 6
    return max(0.0, centre - t * mean.error), min(1.0, centre + t * mean.error)


def clopper_pearson(mean: Mean, confidence: float) -> tuple[float, float]:
    """The exact binomial interval (Clopper and Pearson 1934, Biometrika 26), at effective labels as Korn and Graubard (1998) do."""
    from scipy.special import betaincinv

    right, wrong = _counts(mean, confidence, limit=mean.labels)
    tail = (1 - confidence) / 2
    low = float(betaincinv(right, wrong + 1, tail)) if right > 0 else 0.0
    high = float(betaincinv(right + 1, wrong, 1 - tail)) if wrong > 0 else 1.0
    return low, high


def jeffreys(mean: Mean, confidence: float) -> tuple[float, float]:
    """The equal-tailed credible interval under the prior Beta(1/2, 1/2) (Brown, Cai and DasGupta 2001, Statistical Science 16(2)).

    At 0 and at 1 the end is the bound itself, as there.
    """
    from scipy.special import betaincinv

    if math.isinf(mean.effective):
        return mean.value, mean.value
    right, wrong = _counts(mean, confidence, limit=math.inf)
    tail = (1 - confidence) / 2
    low = float(betaincinv(right + 0.5, wrong + 0.5, tail)) if right > 0 else 0.0
    high = float(betaincinv(right + 0.5, wrong + 0.5, 1 - tail)) if wrong > 0 else 1.0
    return low, high


def _counts(mean: Mean, confidence: float, limit: float) -> tuple[float, float]:
    normal, t = _quantiles(mean, confidence)
    n = min(mean.effective, limit) * (normal / t) ** 2
    return mean.value * n, (1 - mean.value) * n


def labels_for_width(
    width: float, *, expected: float, confidence: float, design_effect: float = 1.0, population: float = math.inf
) -> int:
    """The smallest number of labels whose Wilson interval is at most `width` wide where the share is `expected`."""
    return _smallest(lambda n: _span(expected, n, confidence, design_effect, population) <= width, population)


def labels_for_threshold(
    threshold: float, *, expected: float, confidence: float, design_effect: float = 1.0, population: float = math.inf
) -> int:
    """The smallest number of labels with which a KG of accuracy `expected` passes a gate at `threshold` four times in five.

    Raises `ValueError` where `expected` is not above `threshold`: no number of labels is enough then.
    """
    if expected <= threshold:
        raise ValueError("the expected accuracy must lie above the threshold")
    from scipy.special import ndtri

    normal, power = float(ndtri((1 + confidence) / 2)), float(ndtri(0.8))

    def enough(n: int) -> bool:
        effective = _ratio(n / design_effect, 1 - n / population)
        unlucky = expected - power * math.sqrt(_ratio(expected * (1 - expected), effective)) if not math.isinf(effective) else expected
        return _score(max(unlucky, 0.0), effective, normal)[0] >= threshold

    return _smallest(enough, population)


def _span(expected: float, n: int, confidence: float, design_effect: float, population: float) -> float:
    low, high = wilson(Mean(expected, _ratio(n / design_effect, 1 - n / population), math.inf, n, n), confidence)
    return high - low


def _smallest(enough: Callable[[int], bool], population: float) -> int:
    low, high = 1, 2
    while not enough(high) and high < population:
        high *= 2
    high = int(min(high, population))
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return low
