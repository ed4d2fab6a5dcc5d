"""The seam behind which every judge stands: batches of (claim, passage) in, stances out; then many stances to one weighing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kgaudit.claims import Claim
from kgaudit.documents import Passage
from kgaudit.verdicts import Stance


@dataclass(frozen=True, slots=True)
class Weighing:
    """What the stances say together.

    `p_supported` is the calibrated probability that the documents support the claim; `p_refuted` that they contradict it.
    `deciding` are the indices of the passages that decide, the strongest first.
    """

    p_supported: float
    p_refuted: float
    deciding: tuple[int, ...] = ()


class Judge(Protocol):
    """Judges passages against claims. Must be deterministic and safe to call from one thread at a time."""

    @property
    def name(self) -> str:
        """Short name for people, e.g. `cue-1`."""
        ...

    @property
    def digest(self) -> str:
        """sha256 of everything that decides a stance: weights, features, calibration."""
        ...

    def judge(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        """The stance of each passage on its claim, in the order of `pairs`. Sorting and batching inside are the judge's own."""
        ...

    def weigh(self, claim: Claim, passages: Sequence[Passage], stances: Sequence[Stance]) -> Weighing:
        """One weighing from all the passages judged for a claim (may be none), calibrated on dev by route and language."""
        ...


@runtime_checkable
class Glances(Protocol):
    """A judge that also has a quicker, less sure way to look: for choosing among many candidates which to judge."""

    def glance(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        """As `Judge.judge`."""
        ...


def odds(p: float) -> float:
    """p / (1 - p), for probabilities that may be 0 or 1."""
    p = min(max(p, 1e-4), 1.0 - 1e-4)
    return p / (1.0 - p)
