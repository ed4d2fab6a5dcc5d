"""Gradient-boosted trees as plain arrays: traversed level by level for all rows and trees at once, numpy only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Trees:
    """`feature`, `threshold`, `left`, `right` and `value` are (trees, nodes); a leaf's `left` and `right` are itself.

    A row goes left where `x[feature] <= threshold`. The score is `base` plus the sum of the leaves' values.
    """

    feature: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int16]
    right: NDArray[np.int16]
    value: NDArray[np.float32]
    base: float
    depth: int

    def score(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over the trees for each row (log-odds)."""
        out = np.empty(len(rows), dtype=np.float64)
        tree = np.arange(len(self.feature))[None, :]
        for start in range(0, len(rows), 512):
            x = rows[start : start + 512].astype(np.float32)
            row = np.arange(len(x))[:, None]
            node = np.zeros((len(x), len(self.feature)), dtype=np.int16)
            for _ in range(self.depth):
                goes_left = x[row, self.feature[tree, node]] <= self.threshold[tree, node]
                node = np.where(goes_left, self.left[tree, node], self.right[tree, node])
            out[start : start + len(x)] = self.value[tree, node].sum(axis=1, dtype=np.float64) + self.base
        return out
