"""Run folders with known truth, labels and cards, for tests of the gate."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fake_run import entry, make_run

from kgaudit.gate.card import make_card
from kgaudit.gate.designs import Design
from kgaudit.gate.sheet import draw_sample
from kgaudit.runs.files import write_json
from kgaudit.runs.ledger import Entry
from kgaudit.triples import Place

POLICY = "accuracy: {threshold: 0.85}\n"


@dataclass(frozen=True)
class Audited:
    """A run and which of its triples are true."""

    run: Path
    truth: dict[str, bool]


def entries(
    number: int, *, wrong: float, verifier_errs: float = 0.05, seed: int = 1, predicates: Iterable[str] = ("based in", "makes")
) -> list[tuple[Entry, bool]]:
    """Triples of which the share `wrong` is false and which a verifier judges wrongly with chance `verifier_errs`; four a subject."""
    chance = random.Random(seed)
    names = list(predicates)
    made = []
    for i in range(number):
        true = chance.random() >= wrong
        says = true if chance.random() >= verifier_errs else not true
        predicate = names[i % len(names)]
        place = Place("kg.nt", i + 1, extractor="old" if i % 3 else "new")
        made.append((entry(f"Firm {i // 4}", predicate, f"Thing {i}", "supported" if says else "refuted", places=(place,)), true))
    return made


def audited(run: Path, made: list[tuple[Entry, bool]], **options: Any) -> Audited:
    """A run folder of these triples."""
    make_run(run, [one for one, _ in made], **options)
    return Audited(run, {one.claim.key: true for one, true in made})


def label_sheet(to: Path, graph: Audited, design: Design | None = None, number: int = 300, **options: Any) -> Path:
    """Labels, true to life, of a sample that is drawn from the run."""
    sheet = draw_sample(graph.run, design or Design(), labels=number, **options)
    rows = [{**row, "label": "true" if graph.truth[row["key"]] else "false", "annotator": "ada",
             "time": "2026-11-30T09:00:00+00:00"} for row in sheet.rows]  # fmt: skip
    return write_labels(to, rows)


def write_labels(to: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    to.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return to


def card_file(to: Path, graph: Audited, labels: Path) -> Path:
    write_json(to, make_card(graph.run, labels).to_json())
    return to


def with_verdict(one: Entry, verdict: str) -> Entry:
    """The entry with another verdict."""
    made = replace(one.trajectory.verdict, verdict=verdict, p_supported=None, confidence=None)  # type: ignore[arg-type]
    return replace(one, trajectory=replace(one.trajectory, verdict=made))
