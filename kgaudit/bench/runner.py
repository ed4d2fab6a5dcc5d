"""Runs policies over datasets on the real path: the graph file is loaded, the corpus indexed, the items' triples verified, then scored."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from kgaudit.bench.datasets import Dataset, Item, open_dataset, read_split, read_texts
from kgaudit.bench.metrics import Measures, Scored, f1, macro_f1, measure
from kgaudit.claims import Claim
from kgaudit.errors import InputError, storage_error

FIRST_SEARCH_POLICY = "single_turn"
"""Its one query decides which triples are those whose first search failed."""


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What to measure. `work` is the folder in which indexes are kept between calls (default: below the user's cache folder)."""

    name: str
    data: Path
    policies: tuple[str, ...] = ("agentkgv",)
    splits: tuple[str, ...] = ("test",)
    work: Path | None = None


@dataclass(frozen=True, slots=True)
class PartMeasures:
    """A few measures over part of a split."""

    n: int
    macro_f1: float | None
    f1_true: float | None
    searches_per_triple: float


@dataclass(frozen=True, slots=True)
class Result:
    """One policy on one split. `items` are in the order of the dataset's file.

    `where_first_search_failed` covers the triples for which the first search of `single_turn` brought no passage with both names;
    None where `single_turn` was not measured or no search failed.
    """

    policy: str
    split: str
    measures: Measures
    items: tuple[Scored, ...]
    where_first_search_failed: PartMeasures | None = None


Outcome = tuple[Trajectory, Sequence[Passage]]
Verify = Callable[[str, Sequence[Claim]], Mapping[str, Outcome]]
"""Verifies claims with the policy of that name: key to the trajectory and every passage that was seen."""


def run_bench(options: BenchOptions, say: Callable[[str], None] = lambda text: None) -> list[Result]:
    """Measures every policy on every split. `say` is told what is being done.

    Raises `UsageError` where dataset, split or policy do not exist, `InputError` where the graph file does not hold an item's triple.
    """
    dataset = open_dataset(options.data, options.name)
    splits = {split: read_split(dataset, split) for split in options.splits}
    claims = {split: find_claims(dataset, split, items) for split, items in splits.items()}
    with open_systems(dataset, options, say) as verify:
        return score(splits, claims, options.policies, verify, read_texts(dataset), say)


def score(
    splits: Mapping[str, Sequence[Item]],
    claims: Mapping[str, Mapping[str, Claim]],
    policies: Sequence[str],
    verify: Verify,
    documents: Mapping[str, str],
    say: Callable[[str], None],
) -> list[Result]:
    """Verifies and measures. `claims` holds the claim of each item's key for each split, `documents` the corpus by id."""
    results = []
    for split, items in splits.items():
        failed: set[str] = set()
        measured = []
        for policy in policies:
            say(f"{split}: {policy} on {len(items):,} triples")
            started = time.perf_counter()
            outcomes = verify(policy, list(claims[split].values()))
            seconds = time.perf_counter() - started
            scored = tuple(_scored(item, outcomes[item.key][0]) for item in items)
            measured.append(Result(policy, split, measure(scored, documents, seconds), scored))
            if policy == FIRST_SEARCH_POLICY:
                failed = {key for key, outcome in outcomes.items() if _first_search_failed(claims[split][key], outcome)}
        results += [replace(result, where_first_search_failed=_measure_part(result.items, failed)) for result in measured]
    return results


def find_claims(dataset: Dataset, split: str, items: Sequence[Item]) -> dict[str, Claim]:
    """The claims of the items by key, in the order of the items, as the graph file words them."""
    raise NotImplementedError


def _scored(item: Item, trajectory: Trajectory) -> Scored:
    return Scored(item.id, item.key, item.gold, item.neg_type, item.phenomenon, item.evidence, trajectory)


def _first_search_failed(claim: Claim, outcome: Outcome) -> bool:
    """Whether the first search of a trajectory brought no passage with both names (where it searched at all)."""
    trajectory, passages = outcome
    first = next((step for step in trajectory.steps if step.action == "search_documents"), None)
    if first is None:
        return False
    found = {passage.id: passage for passage in passages}
    return not any(names_both(found[key], claim) for key in first.passages)


def _measure_part(items: Sequence[Scored], keys: set[str]) -> PartMeasures | None:
    part = [item for item in items if item.key in keys]
    if not part:
        return None
    gold, predicted = [item.gold for item in part], [item.predicted for item in part]
    searches = sum(item.trajectory.searches for item in part) / len(part)
    return PartMeasures(len(part), macro_f1(gold, predicted), f1(gold, predicted, True), searches)


def results_to_json(dataset: str, results: Iterable[Result]) -> dict[str, Any]:
    """What `--json` writes."""
    rows = []
    for result in results:
        part = result.where_first_search_failed
        rows.append(
            {"policy": result.policy, "split": result.split}
            | asdict(result.measures)
            | {"where_first_search_failed": asdict(part) if part else None}
        )
    return {"dataset": dataset, "results": rows}


def write_results(path: Path, dataset: str, results: Iterable[Result]) -> None:
    """Writes `results_to_json` to a file. Raises `StorageError`."""
    write_json(path, results_to_json(dataset, results))


def write_items(path: Path, results: Iterable[Result]) -> None:
    """Writes one JSON line an item, policy and split. Raises `StorageError`."""
    with whole_file(path) as out:
        for result in results:
            for item in result.items:
                trajectory = item.trajectory
                row = {
                    "policy": result.policy,
                    "split": result.split,
                    "id": item.id,
                    "key": item.key,
                    "gold": item.gold,
                    "verdict": trajectory.verdict.verdict,
                    "p_supported": trajectory.verdict.p_supported,
                    "confidence": trajectory.verdict.confidence,
                    "neg_type": item.neg_type,
                    "phenomenon": item.phenomenon,
                    "searches": trajectory.searches,
                    "judged_pairs": trajectory.judged_pairs,
                    "route": trajectory.verdict.route,
                    "reason": trajectory.verdict.reason,
                }
                out.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
