"""Runs policies over datasets on the real path: the graph file is loaded, the corpus indexed, the triples verified, then scored."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgaudit.agent.conclude import ERROR_COST
from kgaudit.agent.loop import Policy
from kgaudit.agent.mentions import names_both
from kgaudit.agent.policies import WITH_MODEL, make_policy
from kgaudit.agent.structure import StructuralRoute
from kgaudit.bench.datasets import Item, open_dataset, read_split, read_texts
from kgaudit.bench.metrics import Measures, Scored, f1, macro_f1, measure
from kgaudit.claims import Claim
from kgaudit.documents import Passage, Retriever
from kgaudit.errors import InputError, SearchIndexError
from kgaudit.models.chat import ChatModel
from kgaudit.models.chat_calibration import ChatCalibration, make_calibration
from kgaudit.models.judge import Judge
from kgaudit.namesakes import find_namesakes
from kgaudit.predicates import learn_cards
from kgaudit.runs.audit import file_digest
from kgaudit.runs.engine import verify_all
from kgaudit.runs.files import make_folder, whole_file, write_json
from kgaudit.sources import LoadedGraph, SourceOptions, load
from kgaudit.verdicts import Trajectory, steps_to_json
from kgaudit.wording import ClaimBuilder

if TYPE_CHECKING:
    from kgaudit.agent.policies.llm.use import ModelUse

FIRST_SEARCH_POLICY = "single_turn"
"""Its one query decides which triples are those whose first search failed."""

Report = Callable[[int, int | None], None]
Watch = Callable[[str, str], AbstractContextManager[Report]]
"""Shows a piece of work: called with its name and its unit, like `kgaudit.runs.progress.Progress`."""

Outcome = tuple[Trajectory, tuple[Passage, ...]]
Verify = Callable[[Policy, Sequence[Claim], Report], Mapping[str, Outcome]]
"""Verifies claims: key to the trajectory and every passage that was seen."""


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What to measure. `work` is the folder in which indexes, and what a language model answered, are kept between calls; None: below
    the user's cache folder. `sample`: so many items of each split, true and false in its proportions, the same ones every time.

    `prices` are those of a million tokens read and written.
    """

    name: str
    data: Path
    policies: tuple[str, ...] = ("agentkgv",)
    splits: tuple[str, ...] = ("test",)
    work: Path | None = None
    sample: int | None = None
    calibration: Path | None = None
    prices: tuple[float, float] | None = None
    error_cost: float = ERROR_COST


@dataclass(frozen=True, slots=True)
class PartMeasures:
    """A few measures over part of a split."""

    n: int
    macro_f1: float | None
    f1_true: float | None
    searches_per_triple: float


@dataclass(frozen=True, slots=True)
class Result:
    """One policy on one split. `items` are in the order of the dataset's file; `model` is the language model that steered the policy.

    `where_first_search_failed` covers the triples for which the first search of `single_turn` brought no passage with both names;
    None where `single_turn` was not measured or none of its searches failed.
    """

    policy: str
    split: str
    measures: Measures
    items: tuple[Scored, ...]
    where_first_search_failed: PartMeasures | None = None
    model: str | None = None


@contextmanager
def _unseen(what: str, unit: str) -> Iterator[Report]:
    yield lambda done, total: None


def run_bench(options: BenchOptions, judge: Judge | None = None, watch: Watch = _unseen, chat: ChatModel | None = None) -> list[Result]:
    """Measures every policy on every split, splits in the order given. `judge` defaults to the one that ships; `chat` is the language
    model of the policies that one can steer.

    Raises `UsageError` where dataset, split or policy do not exist or the calibration is of another model, `InputError` where the graph
    file does not hold an item's triple, and what loading, indexing and verifying raise.
    """
    dataset = open_dataset(options.data, options.name)
    splits = {split: sample_items(read_split(dataset, split), options.sample) for split in options.splits}
    use = _model_use(options, chat)
    for name in options.policies:
        make_policy(name, use=use, error_cost=options.error_cost)  # a wrong name is said before the work begins
    with tempfile.TemporaryDirectory(prefix="kgaudit-bench-") as work:
        graphs: dict[Path, LoadedGraph] = {}
        for split in splits:
            path = dataset.graph(split)
            if path not in graphs:
                with watch(f"reading {path.name}", "statements") as report:
                    graphs[path] = load([path], Path(work) / path.name, SourceOptions(), report)
        claims = {split: find_claims(graphs[dataset.graph(split)], items, dataset.graph(split)) for split, items in splits.items()}
        retriever = open_index(dataset.corpus, options.work or default_work(), watch)
        try:
            verify = make_verify(retriever, judge or default_judge(), chat)
            documents = read_texts(dataset)
            results: list[Result] = []
            for split, items in splits.items():
                graph = graphs[dataset.graph(split)]
                routes = [StructuralRoute(graph.schema, graph.names)]
                policies = [make_policy(name, routes, use, options.error_cost) for name in options.policies]
                results += measure_split(split, items, claims[split], policies, verify, documents, watch, options.prices)
            return [replace(result, model=chat.name if chat and result.policy in WITH_MODEL else None) for result in results]
        finally:
            retriever.close()


def sample_items(items: Sequence[Item], size: int | None) -> list[Item]:
    """`size` of the items in their order, true and false in the proportions of all, chosen by the hash of their ids; None: all."""
    if size is None or size >= len(items):
        return list(items)
    true, false = [item for item in items if item.gold], [item for item in items if not item.gold]
    n_true = round(size * len(true) / len(items))
    chosen = {item.id for part, n in ((true, n_true), (false, size - n_true)) for item in sorted(part, key=_draw)[:n]}
    return [item for item in items if item.id in chosen]


def _draw(item: Item) -> bytes:
    return sha256(item.id.encode("utf-8", "surrogatepass")).digest()


def _model_use(options: BenchOptions, chat: ChatModel | None) -> ModelUse | None:
    if chat is None:
        return None
    from kgaudit.agent.policies.llm.use import open_use
    from kgaudit.runs.fence import keep_fence

    work = options.work or default_work()
    make_folder(work)
    return open_use(chat, keep_fence(work), options.calibration)


def calibrate(dataset: str, split: str, results: Iterable[Result], chat: ChatModel) -> ChatCalibration:
    """A calibration from results that were measured without one, each policy by itself, on the items that its model was asked about.

    Raises `UsageError` where they are too few.
    """
    from kgaudit.agent.policies.llm.use import PROMPTS
    from kgaudit.agent.prompts import prompt_digests

    measured = {
        result.policy: [(item.p, item.gold) for item in result.items if item.p is not None and item.trajectory.model_calls]
        for result in results
        if result.model
    }
    return make_calibration(chat, prompt_digests(PROMPTS), dataset, split, measured)


def default_work() -> Path:
    """Where indexes are kept between calls: `kgaudit` in the user's cache folder, or among temporary files where a user has no home."""
    home = os.path.expanduser("~")
    cache = os.environ.get("XDG_CACHE_HOME") or (os.path.join(home, ".cache") if os.path.isabs(home) else tempfile.gettempdir())
    return Path(cache) / "kgaudit"


def default_judge() -> Judge:
    """The judge that ships."""
    from kgaudit.models.embedded import load_default

    return load_default()


def open_index(corpus: Path, work: Path, watch: Watch = _unseen) -> Retriever:
    """The embedded index of a corpus, built below `work` where there is none of this content that can be read."""
    from kgaudit_retrievers.embedded import EmbeddedRetriever, build_index

    place = work / "indexes" / file_digest(corpus)[:32]
    if place.exists():
        try:
            return EmbeddedRetriever(place)
        except SearchIndexError:
            pass  # of another version, or damaged: built again below
    with watch(f"indexing {corpus.name}", "documents") as report:
        build_index([corpus], place, progress=report)
    return EmbeddedRetriever(place)


def find_claims(graph: LoadedGraph, items: Sequence[Item], path: Path) -> dict[str, Claim]:
    """The claim of each item's key, in the order of the items. Raises `InputError` naming an item that the graph does not hold."""
    wanted = {item.key for item in items}
    namesakes = find_namesakes(graph.names.shared(), graph.candidates())
    builder = ClaimBuilder(graph.names, learn_cards(graph), namesakes=namesakes)
    found = {candidate.key: builder.claim(candidate) for candidate in graph.candidates() if candidate.key in wanted}
    missing = [item.id for item in items if item.key not in found]
    if missing:
        more = f" and of {len(missing) - 1:,} more items" if len(missing) > 1 else ""
        raise InputError(
            f"the triple of item {missing[0]}{more} is not among the triples to verify in this graph",
            where=str(path),
            todo="Add it to the graph file; a triple that counts as schema or labels by the rules cannot be measured.",
        )
    return {item.key: found[item.key] for item in items}


def make_verify(retriever: Retriever, judge: Judge, chat: ChatModel | None = None) -> Verify:
    """Verification by the engine that audits use."""

    def verify(policy: Policy, claims: Sequence[Claim], report: Report) -> Mapping[str, Outcome]:
        outcomes: dict[str, Outcome] = {}

        def take(claim: Claim, trajectory: Trajectory, passages: tuple[Passage, ...]) -> None:
            outcomes[claim.key] = trajectory, passages
            report(len(outcomes), len(claims))

        verify_all(claims, policy=policy, retriever=retriever, judge=judge, on_result=take, chat=chat, expected=len(claims))
        return outcomes

    return verify


def measure_split(
    split: str,
    items: Sequence[Item],
    claims: Mapping[str, Claim],
    policies: Sequence[Policy],
    verify: Verify,
    documents: Mapping[str, str],
    watch: Watch = _unseen,
    prices: tuple[float, float] | None = None,
) -> list[Result]:
    """Verifies the claims with each policy and measures it. `claims` go by item key, `documents` holds the corpus' texts by id."""
    results = []
    failed: set[str] = set()
    for policy in policies:
        with watch(f"{split}: {policy.name}", "triples") as report:
            begun = time.perf_counter()
            outcomes = verify(policy, list(claims.values()), report)
            seconds = time.perf_counter() - begun
        scored = tuple(
            Scored(item.id, item.key, item.gold, item.neg_type, item.phenomenon, item.evidence, outcomes[item.key][0]) for item in items
        )
        results.append(Result(policy.name, split, measure(scored, documents, seconds, prices), scored))
        if policy.name == FIRST_SEARCH_POLICY:
            failed = {key for key, outcome in outcomes.items() if _first_search_failed(claims[key], outcome)}
    return [replace(result, where_first_search_failed=_measure_part(result.items, failed)) for result in results]


def _first_search_failed(claim: Claim, outcome: Outcome) -> bool:
    """Whether a trajectory's first search brought no passage with both names."""
    trajectory, passages = outcome
    by_id = {passage.id: passage for passage in passages}
    first = next((step for step in trajectory.steps if step.action == "search_documents"), None)
    return first is not None and not any(names_both(by_id[key], claim) for key in first.passages)


def _measure_part(items: Sequence[Scored], keys: set[str]) -> PartMeasures | None:
    part = [item for item in items if item.key in keys]
    if not part:
        return None
    gold, predicted = [item.gold for item in part], [item.predicted for item in part]
    searches = sum(item.trajectory.searches for item in part) / len(part)
    return PartMeasures(len(part), macro_f1(gold, predicted), f1(gold, predicted, True), searches)


def results_to_json(dataset: str, results: Iterable[Result]) -> dict[str, Any]:
    """What `--json` writes: `{"dataset", "results": [{"policy", "split", "model", one entry a measure}]}`."""
    rows = []
    for result in results:
        part = result.where_first_search_failed
        rows.append(
            {"policy": result.policy, "split": result.split, "model": result.model}
            | asdict(result.measures)
            | {"where_first_search_failed": asdict(part) if part else None}
        )
    return {"dataset": dataset, "results": rows}


def write_results(path: Path, dataset: str, results: Iterable[Result]) -> None:
    """Writes `results_to_json` to a file. Raises `StorageError`."""
    make_folder(path.parent)
    write_json(path, results_to_json(dataset, results))


def write_items(path: Path, results: Iterable[Result]) -> None:
    """Writes a JSON line for each item of each result. Raises `StorageError`."""
    make_folder(path.parent)
    with whole_file(path) as out:
        for result in results:
            for item in result.items:
                trajectory, verdict = item.trajectory, item.trajectory.verdict
                row = {
                    "policy": result.policy,
                    "split": result.split,
                    "id": item.id,
                    "key": item.key,
                    "gold": item.gold,
                    "verdict": verdict.verdict,
                    "p_supported": verdict.p_supported,
                    "confidence": verdict.confidence,
                    "neg_type": item.neg_type,
                    "phenomenon": item.phenomenon,
                    "searches": trajectory.searches,
                    "judged_pairs": trajectory.judged_pairs,
                    "model_calls": trajectory.model_calls,
                    "tokens": trajectory.tokens,
                    "route": verdict.route,
                    "reason": verdict.reason,
                }
                if trajectory.model_calls:
                    row["steps"] = steps_to_json(trajectory.steps)
                out.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
