"""The steps of a nightly audit, for the command line and for schedulers alike: select, verify each shard, merge, commit.

    plan = select(options, state)             loads the graph, finds what is new and what is gone, cuts it into shards
    verify_shard(run, shard, retriever, judge, index=...)         for each of plan.shards, in any order, on any machine
    merge(run)                                joins the shards into a run that report, export, gate, replay and validate read
    commit(run, state)                        makes its verdicts the current ones and moves the watermark

Each step may be killed and called again at any moment: what is durable is not repeated, and nothing is lost. Steps of one run exclude
each other by locks; shards run side by side. Where known triples are verified again, `select` takes the judge, chat model and
retriever that will verify; `verify_shard` takes the chat model by name, and `index`, what the specification calls the documents.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kgaudit.agent.policies import make_policy
from kgaudit.documents import Retriever
from kgaudit.errors import EmptyInputError, RunError, SpecMismatchError, UsageError, storage_error
from kgaudit.models.chat import ChatModel
from kgaudit.models.judge import Judge
from kgaudit.runs.again import changed_documents, changed_judge
from kgaudit.runs.audit import (
    AuditOptions,
    Budget,
    Work,
    cards_of,
    file_digest,
    identity_of,
    inputs_of,
    load_trusted,
    model_use,
    verifier_of,
    verify_work,
)
from kgaudit.runs.counts import count_verdicts
from kgaudit.runs.engine import Stop
from kgaudit.runs.files import make_folder, read_json, remove_leftovers, whole_file, write_json
from kgaudit.runs.keys import Words, among, stacked, words_of
from kgaudit.runs.ledger import PARTS
from kgaudit.runs.lock import RunLock
from kgaudit.runs.shards import (
    FILES,
    PLAN,
    PLAN_FORMAT,
    Plan,
    ShardWriter,
    join_parts,
    plan_of,
    read_keys,
    read_plan_file,
    run_folder,
    shard_candidates,
    shard_folder,
    write_keys,
)
from kgaudit.runs.state import State, parts_digest
from kgaudit.sources import LoadedGraph, load
from kgaudit.sources.candidates import candidate_batches
from kgaudit.sources.news import NewFinder, Selection, Watermark
from kgaudit.wording import ClaimBuilder

__all__ = ["Plan", "Selection", "commit", "merge", "run_folder", "select", "verify_shard"]

SHARD_TRIPLES = 2000
MAX_SHARDS = 1000
"""Schedulers map over shards, and Airflow maps at most 1,024."""

Report = Callable[[int, int | None], None]


def select(
    options: AuditOptions,
    state: Path | None,
    *,
    selection: Selection = Selection(),  # noqa: B008 - frozen
    shard_triples: int = SHARD_TRIPLES,
    max_shards: int = MAX_SHARDS,
    retriever: Retriever | None = None,
    judge: Judge | None = None,
    chat: ChatModel | None = None,
    progress: Report | None = None,
    searching: Report | None = None,
) -> Plan:
    """Loads the graph into the run folder, finds what is new to the state and what is gone from the graph, and cuts it into shards.

    A run that has a plan keeps it, whatever the files of the graph hold by now: the loaded graph lies in the run folder. Without a
    state everything is new. `options.budget.triples` bounds what is selected: the others are new to the next run. To verify known
    triples `again` it needs the judge (with the chat model) that will verify, for `changed-documents` the retriever too; `searching`
    is told of the searches that it makes.

    Raises what loading raises, `RunLockedError`, `SpecMismatchError` where the run was begun otherwise, `EmptyInputError` where a
    whole graph without a triple to verify would empty the state, and `RunError` where a run that the state rests on is not there.
    """
    if selection.again and (judge is None or (retriever is None and "changed-documents" in selection.again)):
        raise UsageError("to tell what is to be verified again needs the judge, and the index of the documents")
    if state is not None and Path(state).resolve() == options.run.resolve():
        raise UsageError("run and state are one folder", where=str(state), todo="Give each a folder of its own.")
    make_folder(options.run)
    with RunLock(options.run):
        identity = {
            "policy": options.policy,
            "error_cost": options.error_cost,
            "calibration": file_digest(options.calibration) if options.calibration else None,
            **identity_of(options),
            "selection": asdict(selection),
        }
        remove_leftovers(options.run, *FILES)
        if (options.run / PLAN).is_file():
            values = read_plan_file(options.run)
            _check_identity(options.run, values["identity"], _plain(identity))
            return plan_of(options.run, values)
        if (options.run / "spec.json").exists():
            raise SpecMismatchError(
                "the run was begun without a state of the graph", where=str(options.run), todo="Give another folder with --run."
            )
        again = _Again(selection, retriever, judge, chat, searching)
        return _Selector(options, State(state) if state else None, selection, again, progress).plan(identity, shard_triples, max_shards)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """The values as a JSON file gives them back."""
    return {
        name: list(one) if isinstance(one, tuple) else _plain(one) if isinstance(one, dict) else one for name, one in values.items()
    }


def _check_identity(run: Path, known: dict[str, Any], asked: dict[str, Any]) -> None:
    for name, value in asked.items():
        if known.get(name) != value:
            raise SpecMismatchError(
                f"the run was begun with another {_WORDS[name]}",
                where=str(run),
                todo="Give a new folder, or the options of the first call.",
            )


_WORDS = {
    "policy": "policy",
    "error_cost": "cost of errors",
    "calibration": "calibration",
    "source": "way of reading the graph (format, mapping, base or rules)",
    "cards": "file of predicate cards",
    "trusted": "trusted graph",
    "languages": "order of label languages",
    "selection": "way of telling what is new",
}


@dataclass(frozen=True, slots=True)
class _Again:
    """What is asked to be verified once more, and with what that is told."""

    selection: Selection
    retriever: Retriever | None
    judge: Judge | None
    chat: ChatModel | None
    searching: Report | None

    def keys(self, state: State, options: AuditOptions, graph: LoadedGraph) -> Words:
        """The keys of the state that are verified again."""
        found: list[Words] = []
        if "changed-judge" in self.selection.again and self.judge:
            policy = make_policy(options.policy, (), model_use(options, self.chat, options.run), options.error_cost)
            found.append(changed_judge(state, verifier_of(self.judge, self.chat, policy), graph.work / "candidates.arrow"))
        if "changed-documents" in self.selection.again and self.judge and self.retriever:
            builder = ClaimBuilder(graph.names, cards_of(graph, options), options.languages)
            found.append(changed_documents(state, self.retriever, self.judge, builder, self.searching))
        return stacked(found)


class _Selector:
    def __init__(
        self, options: AuditOptions, state: State | None, selection: Selection, again: _Again, progress: Report | None
    ) -> None:
        self._options, self._state, self._selection, self._again, self._progress = options, state, selection, again, progress
        self._run = options.run

    def plan(self, identity: dict[str, Any], shard_triples: int, max_shards: int) -> Plan:
        options, run, state = self._options, self._run, self._state
        begun = datetime.now(timezone.utc)
        kg = self._files()
        inputs = inputs_of(kg)
        with closing(load(list(kg), run / "graph", options.source, self._progress)) as graph:
            load_counts = asdict(graph.counts)
            notes = [*graph.counts.notes]
            if graph.counts.quarantined:
                notes.append(f"{graph.counts.quarantined:,} lines or rows were set aside: see {run / 'graph' / 'quarantine.jsonl'}")
            query_file = graph.counts.files[-1].name if self._selection.by == "sparql" else ""
            again = self._again.keys(state, options, graph) if state else stacked(())
        trusted = load_trusted(options)
        if trusted:
            trusted.close()
        if options.cards:
            _copy(options.cards, run / "cards.yaml")
        if options.calibration:
            _copy(options.calibration, run / "calibration.json")
        known = state.view.words if state else stacked(())
        watermark = state.watermark if state else Watermark()
        finder = NewFinder(self._selection, watermark, begun, query_file)
        found = _Found(run / "graph" / "candidates.arrow", finder, known, again)
        total = len(found.words)
        removed = self._removed(found.words, total)
        limit = options.budget.triples if options.budget.triples is not None else found.new
        writer = ShardWriter(run, max(shard_triples, -(-min(limit, found.new) // max_shards)), limit)
        writer.write(found.batches())
        selected = sum(shard["rows"] for shard in writer.shards)
        moved = finder.moved() if selected == found.new else watermark
        write_keys(run / "removed.parquet", removed)
        write_keys(run / "graphs.parquet", sorted(moved.graphs - watermark.graphs))
        values = {
            "format": PLAN_FORMAT,
            "started": begun.isoformat(timespec="seconds"),
            "kgaudit": version("kgaudit"),
            "inputs": inputs,
            "identity": identity,
            "budget": asdict(options.budget),
            "trusted": [str(path) for path in options.trusted],
            "total": total,
            "new": found.new,
            "again": found.again,
            "selected": selected,
            "unselected": found.unselected,
            "removed": len(removed),
            "rests_on": state.rests_on if state else None,
            "watermark": moved.time,
            "load": load_counts,
            "notes": notes,
            "shards": writer.shards,
        }
        write_json(run / PLAN, values)
        return plan_of(run, values)

    def _files(self) -> tuple[Path, ...]:
        selection, kg = self._selection, self._options.kg
        if selection.by != "sparql":
            return kg
        from kgaudit.sources.sparql import fetch_triples

        if not selection.endpoint or not selection.query:
            raise UsageError("what is new by a query needs an endpoint and the query", todo="Give --endpoint and --query.")
        answer = self._run / "query-result.nq"
        fetch_triples(selection.endpoint, selection.query, answer, progress=self._progress)
        return (*kg, answer)

    def _removed(self, words: Words, total: int) -> list[str]:
        """Keys of the current view that the graph no longer holds."""
        state, selection = self._state, self._selection
        if state is None or not (selection.whole or selection.removed):
            return []
        if selection.removed:
            gone = among(state.view.words, _words_in(Path(selection.removed), self._options, self._run))
        else:
            if not total and len(state.view):
                raise EmptyInputError(
                    f"the graph holds no triple to verify, and the state {len(state.view):,}: all of them would be taken for removed",
                    where=", ".join(map(str, self._options.kg)),
                    todo="Check the file; --partial says that it holds only what was added.",
                )
            gone = ~among(state.view.words, words)
        begin, keys = 0, list[str]()
        for batch in state.view.batches(["key"]):
            mine = gone[begin : begin + batch.num_rows]
            begin += batch.num_rows
            if mine.any():
                keys += batch["key"].filter(pa.array(mine)).to_pylist()
        return keys


def _words_in(path: Path, options: AuditOptions, run: Path) -> Words:
    """The keys of the triples in a file, blank nodes as they are named there."""
    from kgaudit.sources import Quarantine, read_batches
    from kgaudit.sources.candidates import claim_keys

    folder = run / "graph" / "removed"
    make_folder(folder)
    with Quarantine(folder, strict=options.source.strict) as quarantine:
        return stacked([words_of(claim_keys(batch)) for batch in read_batches(path, options.source, quarantine)])


class _Found:
    """Which candidates of the loaded graph are new, in their order."""

    def __init__(self, path: Path, finder: NewFinder, known: Words, again: Words) -> None:
        self._path = path
        keys, chosen = list[Words](), [np.empty(0, np.bool_)]
        for batch in candidate_batches(path):
            keys.append(words_of(batch["key"].to_pylist()))
            chosen.append(finder(batch))
        self.words = stacked(keys)
        unknown = ~among(self.words, known)
        once_more = among(self.words, again) & ~unknown
        self._new: npt.NDArray[np.bool_] = unknown & np.concatenate(chosen) | once_more
        self.new, self.again = int(self._new.sum()), int(once_more.sum())
        self.unselected = int(unknown.sum()) - (self.new - self.again)

    def batches(self) -> Iterator[pa.RecordBatch]:
        begin = 0
        for batch in candidate_batches(self._path):
            mine = self._new[begin : begin + batch.num_rows]
            begin += batch.num_rows
            if mine.any():
                yield batch.filter(pa.array(mine))


def _copy(source: Path, to: Path) -> None:
    try:
        content = source.read_bytes()
    except OSError as error:
        raise storage_error(error, str(source)) from error
    with whole_file(to) as stream:
        stream.write(content)


def audit_night(
    options: AuditOptions,
    state: Path,
    retriever: Retriever,
    judge: Judge,
    *,
    index: str,
    selection: Selection = Selection(),  # noqa: B008 - frozen
    chat: ChatModel | None = None,
    stop: Stop | None = None,
    loading: Report | None = None,
    verifying: Report | None = None,
) -> dict[str, Any]:
    """All steps in one process, in one shard; returns the summary of the run, with `text`, what was new in words.

    Raises what the steps raise. The same call goes on after each of these; with other files it is refused.
    """
    planned = (options.run / PLAN).is_file()
    plan = select(
        options,
        state,
        selection=selection,
        shard_triples=sys.maxsize,
        retriever=retriever,
        judge=judge,
        chat=chat,
        progress=loading,
        searching=verifying,
    )
    if planned:
        known = {one["digest"] for one in read_plan_file(options.run)["inputs"]}
        if other := [one["path"] for one in inputs_of(options.kg) if one["digest"] not in known]:
            raise SpecMismatchError(
                f"the run was begun with another graph than {other[0]} now holds",
                where=str(options.run),
                todo="Give a new folder with --run.",
            )
    done = [
        verify_shard(options.run, shard, retriever, judge, index=index, chat=chat, stop=stop, progress=verifying)
        for shard in plan.shards
    ]
    summary = merge(options.run)
    commit(options.run, state)
    now = {name: sum(int(one[name]) for one in done) for name in ("verified_now", "verified_before")}
    return {**summary, **now, **{name: one["model"] for one in done for name in ("model",) if name in one}, "text": plan.text}


def verify_shard(
    run: Path,
    shard: str,
    retriever: Retriever,
    judge: Judge,
    *,
    index: str = "",
    chat: ChatModel | None = None,
    stop: Stop | None = None,
    progress: Report | None = None,
) -> dict[str, Any]:
    """Verifies what the shard's ledger does not hold; returns the shard's summary. A shard that is complete is not opened again.

    `index` is the name of the documents for the specification. The first shard to be verified decides snapshot and judge for all.
    Raises `UsageError` where the run has no such shard, and what `audit` raises: another process on the shard (`RunLockedError`),
    another index or judge than that of the other shards (`SpecMismatchError`), `Interrupted` when `stop` was asked.
    """
    run = Path(run)
    values = read_plan_file(run)
    found = next((one for one in values["shards"] if one["name"] == shard), None)
    if found is None:
        raise UsageError(f"the run has no shard {shard!r}", where=str(run), todo=f"It has {len(values['shards']):,} shards.")
    folder = shard_folder(run, shard)
    make_folder(folder)
    with RunLock(folder):
        summary = _shard_summary(folder)
        if summary.get("status") == "complete":
            return {**summary, "verified_now": 0, "verified_before": found["rows"]}
        begun = time.monotonic()
        identity = values["identity"]
        graph = LoadedGraph.open(run / "graph")
        trusted = LoadedGraph.open(run / "trusted") if identity["trusted"] else None
        work = Work(
            folder=folder,
            spec=run / "spec.json",
            graph=graph,
            trusted=trusted,
            inputs=values["inputs"],
            identity={name: identity[name] for name in ("source", "cards", "trusted", "languages")},
            candidates=lambda: shard_candidates(run, found),
            total=found["rows"],
            load={"claims": found["rows"]},
        )
        try:
            options = _shard_options(run, values)
            return verify_work(work, options, retriever, judge, index=index, chat=chat, stop=stop, verifying=progress, begun=begun)
        finally:
            graph.close()
            if trusted:
                trusted.close()


def _shard_options(run: Path, values: dict[str, Any]) -> AuditOptions:
    """What was asked for the run; each shard may spend its part of the budget, and all of the time, since they run side by side."""
    identity, budget, shards = values["identity"], Budget(**values["budget"]), len(values["shards"])

    def part(of: int | None) -> int | None:
        return None if of is None else -(-of // shards)

    return AuditOptions(
        kg=tuple(Path(one["path"]) for one in values["inputs"]),
        run=run,
        policy=identity["policy"],
        error_cost=identity["error_cost"],
        calibration=run / "calibration.json" if identity["calibration"] else None,
        cards=run / "cards.yaml" if identity["cards"] else None,
        trusted=tuple(Path(path) for path in values["trusted"]),
        languages=tuple(identity["languages"]),
        budget=Budget(None, part(budget.searches), budget.seconds, part(budget.model_calls), part(budget.tokens)),
    )


def _shard_summary(folder: Path) -> dict[str, Any]:
    path = folder / "summary.json"
    summary: dict[str, Any] = read_json(path) if path.is_file() else {}
    return summary


def merge(run: Path) -> dict[str, Any]:
    """Joins the shards into what a run is: report, export, gate, replay and validate read it. Returns the summary.

    May be called again, also after shards that their budget ended went on. Raises `RunError` where a shard is missing or was not
    verified to its end, naming it.
    """
    run = Path(run)
    values = read_plan_file(run)
    plan = plan_of(run, values)
    with RunLock(run):
        remove_leftovers(run, *FILES)
        summaries = {name: _shard_summary(shard_folder(run, name)) for name in plan.shards}
        for name, summary in summaries.items():
            if summary.get("status") not in ("complete", "budget"):
                what = "was not verified to its end" if summary else "was not begun"
                raise RunError(
                    f"shard {name} {what} ({len(plan.shards):,} shards in all)", where=str(run), todo="Verify it, then merge again."
                )
        ended = any(summary["status"] == "budget" for summary in summaries.values())
        join_parts(run, values["shards"], whole=not ended)
        if not (run / "spec.json").exists():
            write_json(run / "spec.json", _spec_of_nothing(values))
        summary = {
            "status": "budget" if ended or plan.selected < plan.new else "complete",
            "verdicts": count_verdicts(run).verdicts,
            "verified_now": sum(one["verified_now"] for one in summaries.values()),
            "verified_before": sum(one["verified_before"] for one in summaries.values()),
            "load": {**values["load"], "claims": plan.new},
            "searches": sum(one["searches"] for one in summaries.values()),
            "judged_pairs": sum(one["judged_pairs"] for one in summaries.values()),
            "model_calls": sum(one["model_calls"] for one in summaries.values()),
            "tokens": sum(one["tokens"] for one in summaries.values()),
            "seconds": round(sum(one["seconds"] for one in summaries.values()), 3),
            "selected": {
                "by": values["identity"]["selection"]["by"],
                "total": plan.total,
                "new": plan.new,
                "again": plan.again,
                "selected": plan.selected,
                "unselected": plan.unselected,
                "removed": plan.removed,
                "rests_on": plan.rests_on,
                "shards": len(plan.shards),
            },
        }
        write_json(run / "summary.json", summary)
    return summary


def _spec_of_nothing(values: dict[str, Any]) -> dict[str, Any]:
    """The specification of a run for which nothing was new: no index was asked, and no judge."""
    identity = values["identity"]
    return {
        "format": 1,
        "started": values["started"],
        "kgaudit": values["kgaudit"],
        "kg": values["inputs"],
        "index": None,
        "snapshot": None,
        "judge": None,
        "model": None,
        "policy": None,
        **{name: identity[name] for name in ("source", "cards", "trusted", "languages")},
    }


def commit(run: Path, state: Path) -> dict[str, Any]:
    """Makes the verdicts of a merged run the current ones of the state, takes out what is gone, moves the watermark; returns the entry.

    A run is committed once: again, its entry is returned. The watermark stays where a budget left new triples without a verdict.
    Raises `RunError` where the run is not merged.
    """
    run = Path(run)
    plan = read_plan_file(run)
    if not (run / "summary.json").is_file() or not (run / "ledger" / PARTS).is_file():
        raise RunError("the shards of this run are not joined yet", where=str(run), todo="Merge it, then commit again.")
    summary, spec = read_json(run / "summary.json"), read_json(run / "spec.json")
    if summary["status"] not in ("complete", "budget"):
        raise RunError(f"the run is {summary['status']}", where=str(run), todo="Go on with it, then commit again.")
    left = plan["new"] - sum(summary["verdicts"].values())
    values = {
        "run": run.resolve().name,
        "parts": parts_digest(run),
        "status": summary["status"],
        "started": spec["started"],
        "kgaudit": spec["kgaudit"],
        "kg": spec["kg"],
        "index": spec["index"],
        "judge": spec["judge"],
        "model": spec["model"],
        "policy": spec["policy"],
        "snapshot": spec["snapshot"],
        "selection": plan["identity"]["selection"],
        "total": plan["total"],
        "new": plan["new"],
        "again": plan["again"],
        "left": left,
        "unselected": plan["unselected"],
        "rests_on": plan["rests_on"],
        "verdicts": summary["verdicts"],
        "searches": summary["searches"],
        "judged_pairs": summary["judged_pairs"],
        "seconds": summary["seconds"],
        "load": summary["load"],
        "watermark": None if left else plan["watermark"],
    }
    graphs = [] if left else read_keys(run / "graphs.parquet")
    return State(state).commit(run, values, read_keys(run / "removed.parquet"), graphs)
