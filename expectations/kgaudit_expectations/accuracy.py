"""The interval of a graph's accuracy from the labels in a verdict table, by the estimators of the gate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kgaudit_expectations.metrics import Labelled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kgaudit.gate.estimators import Estimate


def accuracy_interval(labelled: Sequence[Labelled], triples: int, confidence: float) -> Estimate:
    """The score interval (Wilson) by labels alone for the design that drew them; `triples` is the size of the table.

    No correction is made for a sample that is a large part of the table: the table may itself be a sample of the graph. Raises
    `ValueError`, with the reason, where the labels are of several designs or of an unknown one.
    """
    from kgaudit.gate.estimators import DESIGNS, Sample, estimate

    designs = {one.design or "" for one in labelled}
    if len(designs) > 1:
        raise ValueError(f"labels of several designs: {', '.join(sorted(designs))}")
    name = designs.pop() or "simple_random"
    design = next((known for known in DESIGNS if known == name), None)
    if design is None:
        raise ValueError(f"labels of an unknown design: {name}")
    weight = np.array([1.0 if one.weight is None else one.weight for one in labelled])
    if not (weight > 0).all():
        raise ValueError("weights of labels must be above 0")
    stratum = _codes(one.stratum for one in labelled) if design == "stratified" else np.zeros(len(labelled), np.int64)
    sizes = np.bincount(stratum, weight).astype(np.float64) if design == "stratified" else np.array([float(triples)])
    if triples - sizes.sum() > 0.5:
        sizes = np.append(sizes, triples - sizes.sum())  # strata without a label are not known, and widen the interval
    sample = Sample(
        design=design,
        truth=np.array([one.true for one in labelled], np.float64),
        weight=weight,
        stratum=stratum,
        cluster=_codes(one.cluster for one in labelled) if design == "cluster" else np.arange(len(labelled)),
        sizes=sizes,
        universe=math.inf,
    )
    return estimate(sample, "wilson", confidence)


def _codes(names: Iterable[str | None]) -> NDArray[np.int64]:
    return np.unique(np.array([name or "" for name in names]), return_inverse=True)[1]
