from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kgaudit.gate.estimators import (
    PPI_FLOOR,
    Mean,
    PredictedMean,
    Sample,
    choose,
    clopper_pearson,
    estimate,
    jeffreys,
    labels_for_threshold,
    labels_for_width,
    labels_mean,
    predicted_mean,
    skewed,
    wilson,
)

ROOT = Path(__file__).parent.parent
VERDICTS = ROOT.parent / "shared" / "data" / "dbpedia-verdicts"


def simple(
    truth: list[int], *, score: list[float] | None = None, score_mean: float | None = None, population: float = math.inf
) -> Sample:
    n = len(truth)
    return Sample(
        design="simple_random",
        truth=np.array(truth, float),
        weight=np.ones(n),
        stratum=np.zeros(n, int),
        cluster=np.arange(n),
        sizes=np.array([population]),
        universe=population,
        score=None if score is None else np.array(score, float),
        score_mean=score_mean,
    )


def mean(right: int, n: int) -> Mean:
    return Mean(right / n, n, math.inf, n, n)


# statsmodels 0.15: proportion_confint(81, 263, 0.05, method) for the methods wilson, beta and jeffreys.
@pytest.mark.parametrize(
    ("interval", "low", "high"),
    [(wilson, 0.2552885, 0.3662096), (clopper_pearson, 0.2527367, 0.3676219), (jeffreys, 0.2545219, 0.3656475)],
)
def test_intervals_are_those_of_statsmodels(interval, low: float, high: float) -> None:  # type: ignore[no-untyped-def]
    assert interval(mean(81, 263), 0.95) == pytest.approx((low, high), abs=1e-6)


def test_clopper_pearson_holds_the_binomial_tails_to_the_letter() -> None:
    from scipy.special import bdtr, bdtrc

    low, high = clopper_pearson(mean(95, 100), 0.9)
    assert bdtrc(94, 100, low) == pytest.approx(0.05)
    assert bdtr(95, 100, high) == pytest.approx(0.05)


@pytest.mark.parametrize("interval", [wilson, clopper_pearson, jeffreys])
def test_no_error_among_the_labels_is_no_certainty(interval) -> None:  # type: ignore[no-untyped-def]
    low, high = interval(mean(100, 100), 0.95)
    assert 0.95 < low < 0.985
    assert high == 1.0
    assert interval(mean(0, 100), 0.95)[0] == 0.0


def test_labels_of_the_whole_graph_leave_nothing_open() -> None:
    found = estimate(simple([1] * 9 + [0], population=10), "wilson")
    assert (found.low, found.high) == (0.9, 0.9)
    half = estimate(simple([1] * 90 + [0] * 10, population=200), "wilson")
    assert half.width < 0.75 * estimate(simple([1] * 90 + [0] * 10), "wilson").width


def test_no_labels_no_estimate() -> None:
    with pytest.raises(ValueError, match="no labels"):
        estimate(simple([]), "wilson")
    with pytest.raises(ValueError, match="no verdicts"):
        estimate(simple([1, 0]), "ppi")


def test_prediction_powered_mean_is_that_of_the_formula() -> None:
    # Labels and verdicts by hand: Cov = 0.24, Var = 0.25 (n = 10), so the power is 0.96.
    truth, score = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    found = predicted_mean(simple(truth, score=score, score_mean=0.7, population=1000))
    assert isinstance(found, PredictedMean)
    power = (0.5 - 0.6 * 0.5) / 0.25
    assert found.power == pytest.approx(power)
    assert found.value == pytest.approx(0.6 + power * (0.7 - 0.5))
    assert found.error > 0


def test_prediction_powered_error_is_that_of_the_jackknife() -> None:
    # Leaving out each label in turn measures what choosing the power from the same labels hides.
    random = np.random.default_rng(10)
    n, target = 12, 0.6  # about the mean of the labelled scores, where the slope itself adds no error
    truth = (random.random(n) < 0.7).astype(float)
    score = np.clip(truth * 0.6 + random.random(n) * 0.4, 0, 1)
    found = predicted_mean(simple(list(truth), score=list(score), score_mean=target))
    assert isinstance(found, PredictedMean)
    left_out = []
    for one in range(n):
        y, f = np.delete(truth, one), np.delete(score, one)
        left_out.append(y.mean() + np.cov(y, f)[0, 1] / f.var(ddof=1) * (target - f.mean()))
    jackknife = math.sqrt((n - 1) / n * ((np.array(left_out) - np.mean(left_out)) ** 2).sum())
    remainder = truth - found.power * score
    naive = math.sqrt(remainder.var(ddof=1) / n)
    assert abs(found.error - jackknife) < 0.3 * abs(naive - jackknife)


def test_skewness_moves_the_interval_to_second_order() -> None:
    found = PredictedMean(0.8, 500, math.inf, 200, 200, power=0.9, error=0.02, skewness=0.5)
    low, high = skewed(found, 0.95)
    assert (low + high) / 2 == pytest.approx(0.8 + 0.02 * 0.5 * (1 + 2 * 1.959964**2) / 6, abs=1e-6)
    assert high - low == pytest.approx(2 * 1.959964 * 0.02, abs=1e-6)


def test_prediction_powered_mean_and_interval_agree_with_ppi_py() -> None:
    ppi = pytest.importorskip("ppi_py")
    random = np.random.default_rng(3)
    n, total = 2000, 20000
    truth = (random.random(total) < 0.8).astype(float)
    score = np.where(random.random(total) < 0.1, 1 - truth, truth)
    found = predicted_mean(simple(list(truth[:n]), score=list(score[:n]), score_mean=float(score.mean()), population=total))
    assert isinstance(found, PredictedMean)
    # Theirs takes labelled and unlabelled triples apart: the power of n labels beside N - n is ours times (N - n) / N.
    theirs = ppi.ppi_mean_pointestimate(truth[:n], score[:n], score[n:], lam=found.power * (total - n) / total)
    assert found.value == pytest.approx(float(theirs[0]), abs=1e-9)
    low, high = ppi.ppi_mean_ci(truth[:n], score[:n], score[n:], alpha=0.05)
    ours = skewed(found, 0.95)
    # Their interval is for the accuracy behind the run, ours for that of the run itself, which knows all of its verdicts: never wider.
    assert ours[0] >= float(low[0]) - 1e-4
    assert ours[1] <= float(high[0]) + 1e-4
    behind = replace(simple(list(truth[:n]), score=list(score[:n]), score_mean=float(score.mean()), population=total), universe=1e12)
    assert estimate(behind, "ppi").width == pytest.approx(float(high[0] - low[0]), rel=0.02)


def test_good_verifier_narrows_and_useless_one_does_not_mislead() -> None:
    random = np.random.default_rng(5)
    truth = (random.random(400) < 0.85).astype(float)
    good = np.where(random.random(400) < 0.05, 1 - truth, truth)
    base = simple(list(truth), score=list(good), score_mean=0.82, population=10000)
    plain, informed = estimate(base, "wilson"), estimate(base, "ppi")
    assert informed.width < 0.7 * plain.width
    assert informed.design_effect < 0.5
    coin = replace(base, score=random.random(400).round(), score_mean=0.5)
    assert estimate(coin, "ppi").width == pytest.approx(plain.width, rel=0.03)
    always = replace(base, score=np.ones(400), score_mean=1.0)
    assert (estimate(always, "ppi").low, estimate(always, "ppi").high) == (plain.low, plain.high)


def test_verifier_that_agrees_with_every_label_gives_no_certainty() -> None:
    truth = [1] * 90 + [0] * 10
    sample = simple(truth, score=[float(one) for one in truth], score_mean=0.9, population=10000)
    assert estimate(sample, "ppi").width == pytest.approx(estimate(sample, "wilson").width)


def test_auto_takes_verdicts_from_the_floor_on_and_never_looks_at_labels() -> None:
    few, many = [1] * (PPI_FLOOR - 1), [1] * PPI_FLOOR
    assert choose(simple(many)) == "wilson"
    assert choose(simple(few, score=[0.0] + [1.0] * (len(few) - 1), score_mean=0.9)) == "wilson"
    assert choose(simple(many, score=[0.0] + [1.0] * (len(many) - 1), score_mean=0.9)) == "ppi"
    assert choose(simple(many, score=[1.0] * len(many), score_mean=1.0)) == "wilson"


def test_stratified_mean_weighs_strata_by_what_they_hold() -> None:
    sample = Sample(
        design="stratified",
        truth=np.array([1, 1, 1, 1, 0, 0, 0, 1], float),
        weight=np.array([225.0] * 4 + [25.0] * 4),
        stratum=np.array([0] * 4 + [1] * 4),
        cluster=np.arange(8),
        sizes=np.array([900.0, 100.0]),
        universe=1000.0,
    )
    found = labels_mean(sample)
    assert found.value == pytest.approx(0.9 * 1 + 0.1 * 0.25)
    # Four labels that agree do not make a stratum certain.
    assert found.effective < 20
    unseen = replace(sample, sizes=np.array([900.0, 100.0, 500.0]), universe=1500.0)
    assert labels_mean(unseen).effective < found.effective


def clustered(truth: list[list[int]]) -> Sample:
    flat = [one for cluster in truth for one in cluster]
    n = len(flat)
    return Sample(
        design="cluster",
        truth=np.array(flat, float),
        weight=np.array([1 / len(cluster) for cluster in truth for _ in cluster]),
        stratum=np.zeros(n, int),
        cluster=np.array([number for number, cluster in enumerate(truth) for _ in cluster]),
        sizes=np.array([1e6]),
        universe=1e6,
    )


def test_cluster_variance_is_that_between_subjects() -> None:
    truth = [[1, 1, 1]] * 16 + [[0, 0, 0]] * 4
    found = labels_mean(clustered(truth))
    # 20 cluster means of 1 and 0: variance 0.8 * 0.2 * 20 / 19 / 20, as if there were 19 labels.
    assert found.value == pytest.approx(0.8)
    assert found.effective == pytest.approx(19)
    assert found.df == 19
    assert found.design_effect == pytest.approx(60 / 19)
    mixed = labels_mean(clustered([[1, 1, 0]] * 20))
    assert mixed.effective == 60  # alike in every cluster: no better than independent labels
    alike = labels_mean(clustered([[1, 1, 1]] * 20))
    assert alike.effective == pytest.approx(20)  # nothing tells how subjects differ: each counts once


def test_run_that_ended_by_its_budget_widens_by_what_it_left_out() -> None:
    truth = [1] * 340 + [0] * 60
    whole = simple(truth, population=400)
    half = replace(whole, universe=800.0)
    assert estimate(whole, "wilson").width == 0
    assert estimate(half, "wilson").width == pytest.approx(estimate(simple(truth, population=800), "wilson").width)
    cluster = replace(clustered([[1, 1, 1]] * 60 + [[0, 0, 0]] * 40), sizes=np.array([300.0]), universe=300.0)
    assert estimate(replace(cluster, universe=1e9), "wilson").width > estimate(cluster, "wilson").width


def test_planned_labels_give_the_width_that_was_asked_for() -> None:
    n = labels_for_width(0.08, expected=0.9, confidence=0.95)
    low, high = wilson(mean(round(0.9 * n), n), 0.95)
    assert high - low <= 0.0802
    assert labels_for_width(0.08, expected=0.9, confidence=0.95, design_effect=2.0) == pytest.approx(2 * n, abs=2)
    assert labels_for_width(0.08, expected=0.9, confidence=0.95, population=100) < 100


def test_planned_labels_pass_a_gate_four_times_in_five() -> None:
    n = labels_for_threshold(0.9, expected=0.95, confidence=0.95)
    random = np.random.default_rng(1)
    passes = [wilson(mean(int(right), n), 0.95)[0] >= 0.9 for right in random.binomial(n, 0.95, 2000)]
    assert 0.74 < np.mean(passes) < 0.9
    with pytest.raises(ValueError, match="above the threshold"):
        labels_for_threshold(0.9, expected=0.9, confidence=0.95)


def test_coverage_and_false_passes_on_made_up_clusters() -> None:
    random = np.random.default_rng(7)
    population = [(random.random(int(size)) < chance).astype(int).tolist()
                  for size, chance in zip(random.integers(1, 9, 3000), random.beta(6, 1, 3000), strict=True)]  # fmt: skip
    sizes = np.array([len(one) for one in population])
    truth = sum(map(sum, population)) / sizes.sum()
    held = wrong = 0
    for _ in range(300):
        drawn = random.choice(len(population), 60, p=sizes / sizes.sum())
        found = estimate(clustered([list(random.permutation(population[one])[:3]) for one in drawn]), "wilson")
        held += found.low <= truth <= found.high
        wrong += found.low >= truth + 0.01
    assert 0.92 <= held / 300 <= 0.98
    assert wrong / 300 <= 0.05


@pytest.mark.slow
@pytest.mark.skipif(not VERDICTS.is_dir(), reason="dbpedia-verdicts is not here")
def test_benchmark_writes_honest_figures(tmp_path: Path) -> None:
    out = tmp_path / "gate.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "gate.py"), "--data", str(VERDICTS), "--audits", "30", "--json", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    rows = json.loads(out.read_text())["estimators"]
    assert {row["n"] for row in rows} == {100, 200, 400}
    raw = [row for row in rows if "raw" in row["estimator"]]
    assert raw
    assert all(row["false_pass"] == 1.0 for row in raw)
    assert all(row["coverage"] > 0.75 and row["false_pass"] < 0.2 for row in rows if row not in raw)
