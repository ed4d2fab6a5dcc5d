"""The labels of a file as a sample of a run: which of them are one random sample, and which cannot be used."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from kgaudit.gate.designs import Answered, Design, answered, declared
from kgaudit.gate.estimators import DESIGNS
from kgaudit.gate.labels import Label, Labels, is_random
from kgaudit.gate.rows import Rows


@dataclass(frozen=True, slots=True)
class Matched:
    """Labels beside a run. `answered` is the largest random sample among them; None where there is none.

    `absent` labels are of triples that the run does not hold, `chosen` ones were not drawn at random, `other` ones belong to another
    sample alone.
    """

    answered: Answered | None
    absent: int = 0
    chosen: int = 0
    other: int = 0


def match(rows: Rows, labels: Labels) -> Matched:
    """Finds the sample that most of the labels belong to."""
    placed = place(rows, labels)
    groups: dict[Design | str, list[tuple[int, Label]]] = {}
    for row, label in placed:
        if is_random(label):
            groups.setdefault(Design.parse(label.sample) or label.design, []).append((row, label))
    groups.pop("", None)
    absent, random = len(labels.labels) - len(placed), sum(map(len, groups.values()))
    if not groups:
        return Matched(None, absent, len(placed))
    name, found = max(groups.items(), key=lambda item: len(item[1]))
    if isinstance(name, str):
        return Matched(_declared(name, found), absent, len(placed) - random, random - len(found))
    # A triple of the sample counts whichever random sample it was labelled for.
    sample = answered(rows, name, {row: truth_of(label) for row, label in placed if is_random(label)})
    own = {row for row, _ in found}
    used = len(own.intersection(sample.row.tolist()))
    return Matched(replace(sample, left=len(own) - used), absent, len(placed) - random, random - len(found) - (len(sample.row) - used))


def place(rows: Rows, labels: Labels) -> list[tuple[int, Label]]:
    """(row, label) of the labels whose triple the run holds."""
    positions = rows.positions([label.key for label in labels.labels]).tolist()
    return [(row, label) for row, label in zip(positions, labels.labels, strict=True) if row >= 0]


def truth_of(label: Label) -> float:
    """1 for true, 0 for false, NaN for unsure."""
    return math.nan if label.label is None else float(label.label)


def as_chosen(rows: Rows, labels: Labels) -> Answered:
    """All labels with equal weight: a gold set that was put together by hand."""
    placed = place(rows, labels)
    return _declared("simple_random", [(row, Label(label.key, label.label)) for row, label in placed])


def _declared(kind: str, found: list[tuple[int, Label]]) -> Answered:
    assert kind in DESIGNS
    return declared(
        kind,
        row=[row for row, _ in found],
        truth=[truth_of(label) for _, label in found],
        weight=[1.0 if kind == "simple_random" else label.weight or 1.0 for _, label in found],
        stratum=[label.stratum if kind == "stratified" else "" for _, label in found],
        cluster=[label.cluster or label.key for _, label in found],
    )
