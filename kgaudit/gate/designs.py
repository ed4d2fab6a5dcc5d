"""Sampling designs: which triples of a run people should label, and what the labels that came back stand for.

- simple_random: every triple has the same chance.
- stratified: every predicate, source or verdict gets its share of the labels, at least `STRATUM_FLOOR`; small ones share a stratum.
- cluster: subjects are drawn with probability proportional to their triples, and `per_cluster` triples of each are labelled (TWCS: Gao
  et al. 2019): people look a subject up once for several triples, at the price of a design effect.

Passing triples are drawn like flagged ones, and the rows say nothing of the verdict: people label blind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import numpy as np
import numpy.typing as npt

from kgaudit.gate.estimators import (
    DesignName,
    Floats,
    Ints,
    Sample,
    labels_for_threshold,
    labels_for_width,
)
from kgaudit.gate.rows import Rows
from kgaudit.verdicts import VERDICTS

StrataName = Literal["predicate", "source", "verdict"]

PER_CLUSTER = 3
STRATUM_FLOOR = 2
STRATUM_SHARE = 0.02
"""Predicates and sources with a smaller share of the run make one stratum together: alone they would get no label."""

ANSWERED = 0.9
"""The labels that are used are those of the longest beginning of the sample of which at least this share was answered."""

SUBJECT_CORRELATION = 0.3
"""How alike triples of one subject are in being true, for planning: DBpedia's is 0.3 (KGAccuracyEval, 9,344 judged triples)."""


@dataclass(frozen=True, slots=True)
class Design:
    """How a sample is drawn. `strata` is what a stratified one goes by."""

    kind: DesignName = "simple_random"
    seed: int = 0
    strata: StrataName = "predicate"
    per_cluster: int = PER_CLUSTER

    @property
    def text(self) -> str:
        """All that is needed to draw it again: `stratified by predicate, seed 0`."""
        detail = {"simple_random": "", "stratified": f" by {self.strata}", "cluster": f" of {self.per_cluster}"}[self.kind]
        return f"{self.kind}{detail}, seed {self.seed}"

    @staticmethod
    def parse(text: str) -> Design | None:
        """The design behind `text`, or None where it is none."""
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            return None
        seed = int(match["seed"])
        if match["strata"]:
            return Design("stratified", seed, strata=match["strata"])  # type: ignore[arg-type]
        return Design("cluster", seed, per_cluster=int(match["per"])) if match["per"] else Design("simple_random", seed)


_TEXT = re.compile(
    r"(?:simple_random|stratified by (?P<strata>predicate|source|verdict)|cluster of (?P<per>[1-9]\d{0,8})), seed (?P<seed>-?\d{1,18})"
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A triple to label: its row in the run, the names of its stratum and cluster, and how many triples of the run it stands for."""

    row: int
    stratum: str
    cluster: str
    weight: float


def planned_labels(
    rows: Rows,
    design: Design,
    *,
    width: float | None = None,
    threshold: float | None = None,
    expected: float = 0.9,
    confidence: float = 0.95,
) -> int:
    """How many labels make an interval of this width at the expected accuracy, or let a KG of that accuracy pass a gate at `threshold`
    four times in five. Raises `ValueError` where `expected` is not above `threshold`."""
    effect = 1.0
    if design.kind == "cluster":
        sizes = np.bincount(rows.subject)
        taken = float((sizes * np.minimum(sizes, design.per_cluster)).sum() / max(sizes.sum(), 1))
        effect = 1 + (taken - 1) * SUBJECT_CORRELATION
    if threshold is not None:
        return labels_for_threshold(threshold, expected=expected, confidence=confidence, design_effect=effect, population=len(rows))
    assert width is not None
    return labels_for_width(width, expected=expected, confidence=confidence, design_effect=effect, population=len(rows))


def draw(rows: Rows, design: Design, labels: int, order: Ints | None = None) -> list[Drawn]:
    """The first `labels` triples of the sample, in the order in which to label them; a cluster sample ends with a whole cluster.

    `order` is `rows.order(design.seed)`, for callers that draw often.
    """
    order = rows.order(design.seed) if order is None else order
    labels = min(labels, len(rows))
    if design.kind == "cluster":
        return _draw_clusters(rows, design, labels, order)
    codes, names = strata_of(rows, design)
    sizes = np.bincount(codes, minlength=len(names)).astype(np.float64)
    quotas = allocate(sizes, labels)
    ranks = _rank_within(codes[order], len(names))
    taken = order[ranks < quotas[codes[order]]]
    weight = sizes / np.maximum(quotas, 1)
    return [Drawn(int(row), names[codes[row]], "", float(weight[codes[row]])) for row in taken]


def strata_of(rows: Rows, design: Design) -> tuple[Ints, tuple[str, ...]]:
    """The stratum of each row and the strata's names, which do not give verdicts away."""
    if design.kind != "stratified":
        return np.zeros(len(rows), np.int64), ("",)
    if design.strata == "verdict":
        return rows.verdict, tuple(sha256(f"{design.seed} {verdict}".encode()).hexdigest()[:6] for verdict in VERDICTS)
    if design.strata == "predicate":
        return _without_small(rows.predicate, rows.predicates)
    return _without_small(rows.source + 1, ("", *rows.sources))


def _without_small(codes: Ints, names: tuple[str, ...]) -> tuple[Ints, tuple[str, ...]]:
    sizes = np.bincount(codes, minlength=len(names))
    large = np.flatnonzero(sizes >= STRATUM_SHARE * len(codes))
    renamed: Ints = np.full(len(names), len(large), np.int64)
    renamed[large] = np.arange(len(large))
    return renamed[codes], (*(names[code] for code in large), "(other)")


def allocate(sizes: Floats, labels: int) -> Ints:
    """Labels by stratum: proportional, at least `STRATUM_FLOOR` each while there are enough, none more than the stratum has."""
    quotas: Ints = np.minimum(sizes, STRATUM_FLOOR).astype(np.int64)
    if int(quotas.sum()) > labels:
        quotas = np.zeros(len(sizes), np.int64)
    wanted = labels * sizes / max(sizes.sum(), 1)
    quotas = np.maximum(quotas, np.floor(wanted).astype(np.int64))
    while int(quotas.sum()) < labels:
        quotas[int(np.argmax(np.where(quotas < sizes, wanted - quotas, -np.inf)))] += 1
    while int(quotas.sum()) > labels:
        quotas[int(np.argmax(np.where(quotas > STRATUM_FLOOR, quotas - wanted, -np.inf)))] -= 1
    return quotas


def _rank_within(codes: Ints, count: int) -> Ints:
    """How many entries before each one have its code."""
    by_code = np.argsort(codes, kind="stable")
    starts = np.cumsum(np.bincount(codes, minlength=count)) - np.bincount(codes, minlength=count)
    ranks: Ints = np.empty(len(codes), np.int64)
    ranks[by_code] = np.arange(len(codes), dtype=np.int64) - starts[codes[by_code]]
    return ranks


def cluster_draws(rows: Rows, per_cluster: int, order: Ints) -> Iterator[tuple[int, Ints]]:
    """(subject, rows to label) of one draw after the other, without end before every row was drawn.

    Drawing triples one by one draws subjects with probability proportional to size; a subject that is drawn again brings its next
    triples, or none where all were taken.
    """
    by_subject = order[np.argsort(rows.subject[order], kind="stable")]
    ends = np.cumsum(np.bincount(rows.subject, minlength=len(rows.subjects)))
    begins = ends - np.bincount(rows.subject, minlength=len(rows.subjects))
    turns: dict[int, int] = {}
    for subject in rows.subject[order].tolist():
        turn = turns.get(subject, 0)
        turns[subject] = turn + 1
        begin = begins[subject] + turn * per_cluster
        yield subject, by_subject[begin : min(begin + per_cluster, ends[subject])]


def _draw_clusters(rows: Rows, design: Design, labels: int, order: Ints) -> list[Drawn]:
    turns: dict[int, int] = {}
    taken: dict[int, list[int]] = {}
    held = draws = 0
    for subject, chunk in cluster_draws(rows, design.per_cluster, order):
        if held >= labels:
            break
        turns[subject] = turns.get(subject, 0) + 1
        taken.setdefault(subject, []).extend(chunk.tolist())
        held, draws = held + len(chunk), draws + 1
    return [
        Drawn(row, "", rows.subjects[subject], turns[subject] * len(rows) / (draws * len(found)))
        for subject, found in taken.items()
        for row in found
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """The labels of one sample as they can be used: rows of the run, `truth` 1, 0 or NaN (unsure), and what each stands for.

    `missing`: triples of the sample that have no label; `left`: labels that lie behind the beginning that was answered.
    """

    design: DesignName
    text: str
    row: Ints
    truth: Floats
    weight: Floats
    stratum: Ints
    cluster: Ints
    strata: Ints | None
    missing: int = 0
    left: int = 0

    @property
    def decided(self) -> int:
        """Labels that are true or false."""
        return int((~np.isnan(self.truth)).sum())

    @property
    def unsure(self) -> int:
        """Labels that are neither."""
        return len(self.truth) - self.decided

    def sample(self, rows: Rows, universe: float, within: npt.NDArray[np.bool_] | None = None) -> Sample:
        """The sample for an estimate, of the triples `within` alone where that is given; labels that are unsure do not take part."""
        inside = np.ones(len(rows), np.bool_) if within is None else within
        use = ~np.isnan(self.truth) & inside[self.row]
        row, stratum = self.row[use], self.stratum[use]
        if self.strata is not None:
            sizes = np.bincount(self.strata[inside], minlength=int(self.strata.max(initial=0)) + 1).astype(np.float64)
        elif self.design == "stratified":
            # Weights as written need not add up to the run.
            sizes = np.bincount(stratum, self.weight[use] * (inside.sum() / max(self.weight[use].sum(), 1e-300))).astype(np.float64)
        else:
            sizes = np.array([float(inside.sum())])
        present = np.flatnonzero(sizes)
        _, clusters = np.unique(self.cluster[use], return_inverse=True)
        return Sample(
            design=self.design,
            truth=self.truth[use],
            weight=self._weights(use, stratum, sizes),
            stratum=np.searchsorted(present, stratum).astype(np.int64) if self.design == "stratified" else np.zeros(len(row), np.int64),
            cluster=clusters.astype(np.int64),
            sizes=sizes[present],
            universe=universe * float(inside.sum()) / max(len(rows), 1),
            score=rows.score[row],
            score_mean=float(rows.score[inside].mean()) if inside.any() else None,
        )

    def _weights(self, use: npt.NDArray[np.bool_], stratum: Ints, sizes: Floats) -> Floats:
        if self.design == "stratified":
            labels = np.bincount(stratum, minlength=len(sizes))
            return np.asarray(sizes[stratum] / labels[stratum], np.float64)
        return self.weight[use]


def answered(rows: Rows, design: Design, truths: Mapping[int, float], order: Ints | None = None) -> Answered:
    """Finds the labels' place in the sample that `design` draws from this run; `truths` maps rows to 1, 0 or NaN.

    The run need not be the one that the sample was drawn from: triples that it no longer holds have left the sample, and where new ones
    would have to be labelled first they count as missing. `order` as for `draw`.
    """
    order = rows.order(design.seed) if order is None else order
    if design.kind == "cluster":
        return _answered_clusters(rows, design, truths, order)
    codes, names = strata_of(rows, design)
    labelled = np.zeros(len(rows), np.int64)
    labelled[list(truths)] = 1
    used: list[Ints] = []
    missing = 0
    by_stratum = order[np.argsort(codes[order], kind="stable")]
    for member in np.split(by_stratum, np.cumsum(np.bincount(codes, minlength=len(names)))[:-1]):
        length = _answered_beginning(labelled[member], np.ones(len(member), np.int64))
        beginning = member[:length]
        missing += int((labelled[beginning] == 0).sum())
        used.append(beginning[labelled[beginning] > 0])
    row = np.concatenate(used)
    return Answered(
        design=design.kind,
        text=design.text,
        row=row,
        truth=np.array([truths[int(one)] for one in row], np.float64),
        weight=np.ones(len(row)),
        stratum=codes[row],
        cluster=np.arange(len(row)),
        strata=codes if design.kind == "stratified" else None,
        missing=missing,
        left=len(truths) - len(row),
    )


def _answered_beginning(labelled: Ints, asked: Ints) -> int:
    """The length of the longest beginning that ends with a label and of whose `asked` triples enough are labelled."""
    done, wanted = np.cumsum(labelled), np.cumsum(asked)
    enough = np.flatnonzero((done >= ANSWERED * wanted) & (labelled > 0))
    return int(enough[-1]) + 1 if len(enough) else 0


def _answered_clusters(rows: Rows, design: Design, truths: Mapping[int, float], order: Ints) -> Answered:
    draws: list[tuple[int, Ints]] = []
    counts: list[int] = []
    seen = 0
    for subject, chunk in cluster_draws(rows, design.per_cluster, order):
        if seen == len(truths):
            break
        draws.append((subject, chunk))
        counts.append(sum(int(row) in truths for row in chunk))
        seen += counts[-1]
    length = _answered_beginning(np.array(counts, np.int64), np.array([len(chunk) for _, chunk in draws], np.int64))
    turns: dict[int, int] = {}
    found: dict[int, list[int]] = {}
    asked = 0
    for subject, chunk in draws[:length]:
        turns[subject] = turns.get(subject, 0) + 1
        found.setdefault(subject, []).extend(int(row) for row in chunk if int(row) in truths)
        asked += len(chunk)
    row = np.array([one for rows_of in found.values() for one in rows_of], np.int64)
    truth = np.array([truths[int(one)] for one in row], np.float64)
    weight = [
        turns[subject] / max(sum(not np.isnan(truths[one]) for one in rows_of), 1)
        for subject, rows_of in found.items()
        for _ in rows_of
    ]
    return Answered(
        design="cluster",
        text=design.text,
        row=row,
        truth=truth,
        weight=np.array(weight, np.float64),
        stratum=np.zeros(len(row), np.int64),
        cluster=rows.subject[row],
        strata=None,
        missing=asked - len(row),
        left=len(truths) - len(row),
    )


def declared(
    kind: DesignName,
    row: Sequence[int],
    truth: Sequence[float],
    weight: Sequence[float],
    stratum: Sequence[str],
    cluster: Sequence[str],
) -> Answered:
    """Labels whose sample cannot be drawn again (made elsewhere): design, strata, clusters and weights are taken as written."""
    codes = {name: code for code, name in enumerate(dict.fromkeys(stratum))}
    clusters = {name: code for code, name in enumerate(dict.fromkeys(cluster))}
    return Answered(
        design=kind,
        text=f"{kind}, as declared",
        row=np.array(row, np.int64),
        truth=np.array(truth, np.float64),
        weight=np.array(weight, np.float64),
        stratum=np.array([codes[name] for name in stratum], np.int64),
        cluster=np.array([clusters[name] for name in cluster], np.int64) if kind == "cluster" else np.arange(len(row)),
        strata=None,
    )
