"""The triples that a report lists: which of them, and in what order."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgaudit.runs.reader import RunReader
from kgaudit.verdicts import VerdictName

LISTED: tuple[VerdictName, ...] = ("refuted", "not_enough_evidence", "not_judged", "supported")
"""The verdicts in the order in which a report lists them."""

_SEARCHED_TERM = 200


@dataclass(frozen=True, slots=True)
class Section:
    """The listed triples of one verdict: ranks `start` to `start + listed`, of `total` that there are."""

    verdict: VerdictName
    start: int
    listed: int
    total: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """`ranks[i]` is the place in the report of the i-th row of the run, -1 where it is not listed."""

    sections: tuple[Section, ...]
    ranks: npt.NDArray[np.int64]

    @property
    def listed(self) -> int:
        """How many triples are listed."""
        return sum(section.listed for section in self.sections)


def rank_rows(reader: RunReader, limits: Mapping[VerdictName, int]) -> Ranking:
    """Orders the rows: refuted by falling confidence, the others by rising probability of being supported; unknown ones last.

    `limits` caps how many of a verdict are listed.
    """
    all_codes, all_values = [np.empty(0, np.int64)], [np.empty(0, np.float64)]
    for batch in reader.batches(["verdict", "confidence", "p_supported"]):
        codes = np.array([LISTED.index(verdict) for verdict in batch["verdict"].to_pylist()], np.int64)
        confidence = np.array(batch["confidence"].to_pylist(), np.float64)
        supported = np.array(batch["p_supported"].to_pylist(), np.float64)
        all_codes.append(codes)
        all_values.append(np.where(codes == LISTED.index("refuted"), -confidence, supported))
    codes, values = np.concatenate(all_codes), np.concatenate(all_values)
    ranks = np.full(len(codes), -1, np.int64)
    sections, start = [], 0
    for code, verdict in enumerate(LISTED):
        rows = np.flatnonzero(codes == code)
        ordered = rows[np.argsort(values[rows], kind="stable")][: limits.get(verdict)]
        ranks[ordered] = np.arange(start, start + len(ordered))
        sections.append(Section(verdict, start, len(ordered), len(rows)))
        start += len(ordered)
    return Ranking(tuple(sections), ranks)


def search_text(row: Mapping[str, Any]) -> str:
    """What the page's search looks in: the beginning of the key, labels and terms, in one line, folded as the page folds."""
    parts = [row["key"][:12], *(row[name][:_SEARCHED_TERM] for name in ("s_label", "p_label", "o_label", "s", "o"))]
    return unicodedata.normalize("NFKC", " ".join(" ".join(parts).split())).lower()
