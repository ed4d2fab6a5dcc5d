"""Many triple keys at once, as columns of numbers: which of them are new, which come again, which came last.

A key is held as the first 128 bits of its sha256, two numbers a key: 16 bytes where a Python text takes 113. That two of a thousand
million different keys agree in them has a probability of about 1e-21.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
"""Shape (n, 2)."""


def words_of(keys: Iterable[str]) -> Words:
    """The keys (64 hexadecimal digits each) as words, in their order."""
    halves = bytes.fromhex("".join([key[:32] for key in keys]))
    return np.frombuffer(halves, ">u8").astype(np.uint64).reshape(-1, 2)


def stacked(parts: Iterable[Words]) -> Words:
    """All in one, in order; none at all is an array without rows."""
    return np.concatenate([np.empty((0, 2), np.uint64), *parts])


def first_of_each(words: Words) -> npt.NDArray[np.int64]:
    """The position at which each different key stands first, in rising order."""
    order, begins = _grouped(words)
    return np.sort(order[begins]).astype(np.int64)


def among(words: Words, known: Words) -> npt.NDArray[np.bool_]:
    """Which of the words are among the known ones."""
    order, begins = _grouped(np.concatenate([known, words]))
    found = np.empty(len(order), np.bool_)
    # The sort is stable: a known key stands first in its group.
    found[order] = (order[begins] < len(known))[np.cumsum(begins) - 1]
    return found[len(known) :]


def _grouped(words: Words) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """An order that puts equal keys together, the earlier first; and where in it another key begins."""
    order = np.lexsort((words[:, 1], words[:, 0]))
    ordered = words[order]
    begins = np.ones(len(words), np.bool_)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return order, begins
