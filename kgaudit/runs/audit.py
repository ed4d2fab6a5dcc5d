"""One audit, end to end: load the graph, open the index, verify what the ledger does not hold, keep count."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kgaudit.agent.loop import Policy
from kgaudit.agent.policies import Route, make_policy
from kgaudit.agent.structure import StructuralRoute
from kgaudit.agent.trusted import TrustedKG
from kgaudit.claims import Claim, PredicateCard
from kgaudit.documents import Passage, Retriever
from kgaudit.errors import Interrupted, SpecMismatchError, storage_error
from kgaudit.models.judge import Judge
from kgaudit.namesakes import find_namesakes
from kgaudit.predicates import apply_yaml, learn_cards
from kgaudit.runs.counts import count_verdicts
from kgaudit.runs.engine import Stop, verify_all
from kgaudit.runs.files import make_folder, read_json, write_json
from kgaudit.runs.ledger import Entry, Ledger
from kgaudit.runs.lock import RunLock
from kgaudit.sources import LoadedGraph, load
from kgaudit.sources.options import SourceOptions
from kgaudit.triples import Candidate
from kgaudit.verdicts import Trajectory
from kgaudit.wording import ClaimBuilder

PART_ROWS = 500
PART_SECONDS = 2.0
"""A part is written after this many verdicts or seconds: what a kill can lose."""

Report = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend; None: no limit. `seconds` is wall time by a monotonic clock."""

    triples: int | None = None
    searches: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Everything that decides what an audit does."""

    kg: tuple[Path, ...]
    run: Path
    source: SourceOptions = field(default_factory=SourceOptions)
    policy: str = "agentkgv"
    cards: Path | None = None
    trusted: tuple[Path, ...] = ()
    languages: tuple[str, ...] = ("en", "")
    budget: Budget = Budget()


@dataclass(slots=True)
class Tally:
    """Counts of a run as it goes."""

    verdicts: Counter[str] = field(default_factory=Counter)
    searches: int = 0
    judged_pairs: int = 0
    seconds: float = 0.0

    def add(self, trajectory: Trajectory) -> None:
        """Counts one verified claim."""
        self.verdicts[trajectory.verdict.verdict] += 1
        self.searches += trajectory.searches
        self.judged_pairs += trajectory.judged_pairs


def file_digest(path: Path) -> str:
    """sha256 of a file, or of the files of a folder with their relative names. Raises `StorageError`."""
    digest = sha256()
    try:
        files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
        for one in files:
            digest.update(one.relative_to(path).as_posix().encode("utf-8", "surrogateescape") if path.is_dir() else b"")
            with open(one, "rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
    except OSError as error:
        raise storage_error(error, str(error.filename or path)) from error
    return digest.hexdigest()


def audit(
    options: AuditOptions,
    retriever: Retriever,
    judge: Judge,
    *,
    index: str,
    stop: Stop | None = None,
    loading: Report | None = None,
    verifying: Report | None = None,
) -> dict[str, Any]:
    """Runs the audit, or goes on with it where the run folder holds a part of it; returns the run's summary.

    Raises `RunLockedError`, `SpecMismatchError`, what loading raises, `StorageError`, and `Interrupted` when `stop` was asked: the
    ledger is valid after each of them, and the same call goes on.
    """
    make_folder(options.run)
    with RunLock(options.run):
        return _Audit(options, retriever, judge, index, stop or Stop()).run(loading, verifying)


class _Audit:
    def __init__(self, options: AuditOptions, retriever: Retriever, judge: Judge, index: str, stop: Stop) -> None:
        self._options, self._retriever, self._judge, self._index, self._stop = options, retriever, judge, index, stop
        self._begun = time.monotonic()
        self._ended_by_budget = False

    def run(self, loading: Report | None, verifying: Report | None) -> dict[str, Any]:
        options = self._options
        inputs = [{"path": str(path), "digest": file_digest(path)} for path in options.kg]
        graph = load(list(options.kg), options.run / "graph", options.source, loading)
        cards = learn_cards(graph)
        if options.cards:
            cards = apply_yaml(cards, options.cards)
        namesakes = find_namesakes(graph.names.shared(), graph.candidates())
        builder = ClaimBuilder(graph.names, cards, options.languages, namesakes)
        trusted = self._trusted(cards)
        policy = make_policy(options.policy, self._routes(graph, trusted))
        self._keep_spec(inputs, policy, trusted)
        ledger = Ledger(options.run)
        held = len(ledger)
        summary = self._summary(graph, ledger, Tally(), "interrupted", held)
        write_json(options.run / "summary.json", summary)
        tally = self._verify(graph, builder, policy, ledger, verifying)
        whole = graph.counts.claims <= len(ledger) or not self._missing(graph, ledger)
        status = "complete" if whole else "budget" if self._ended_by_budget else "interrupted"
        summary = self._summary(graph, ledger, tally, status, held)
        write_json(options.run / "summary.json", summary)
        if status == "interrupted":
            raise Interrupted(
                f"interrupted: {len(ledger):,} of {graph.counts.claims:,} triples are done",
                where=str(options.run),
                todo="The same command goes on where this one ended.",
            )
        return summary

    def _trusted(self, cards: dict[str, PredicateCard]) -> TrustedKG | None:
        if not self._options.trusted:
            return None
        graph = load(list(self._options.trusted), self._options.run / "trusted", SourceOptions(), None)
        builder = ClaimBuilder(graph.names, cards, self._options.languages)
        digest = sha256("".join(file_digest(path) for path in self._options.trusted).encode()).hexdigest()
        name = self._options.trusted[0]
        return TrustedKG(graph.candidates(), lambda term: builder.entity(term).label, digest=digest, name=name)

    def _routes(self, graph: LoadedGraph, trusted: TrustedKG | None) -> Sequence[Route]:
        routes: list[Route] = [StructuralRoute(graph.schema, graph.names)]
        return [*routes, trusted] if trusted else routes

    def _keep_spec(self, inputs: list[dict[str, str]], policy: Policy, trusted: TrustedKG | None) -> None:
        options = self._options
        decisive = {
            "snapshot": self._retriever.snapshot,
            "judge": {"name": self._judge.name, "digest": self._judge.digest},
            "policy": {"name": policy.name, "settings": policy.settings},
            "source": _source_identity(options.source),
            "cards": file_digest(options.cards) if options.cards else None,
            "trusted": trusted.digest if trusted else None,
            "languages": list(options.languages),
        }
        path = options.run / "spec.json"
        if path.exists():
            known = read_json(path)
            for name, value in decisive.items():
                if known.get(name) != value:
                    raise SpecMismatchError(
                        f"the run was begun with another {_SPEC_WORDS[name]}",
                        where=str(options.run),
                        todo="Give a new folder with --run, or the options of the first call.",
                    )
            new = [one for one in inputs if one not in known["kg"]]
            if new:
                write_json(path, {**known, "kg": [*known["kg"], *new]})
            return
        write_json(
            path,
            {
                "format": 1,
                "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                "kgaudit": version("kgaudit"),
                "python": platform.python_version(),
                "kg": inputs,
                "index": self._index,
                **decisive,
            },
        )

    def _verify(self, graph: LoadedGraph, builder: ClaimBuilder, policy: Policy, ledger: Ledger, verifying: Report | None) -> Tally:
        tally, waiting = Tally(), list[Entry]()
        places: dict[str, Candidate] = {}
        last_write = time.monotonic()

        def flush() -> None:
            nonlocal last_write
            ledger.append(waiting)
            waiting.clear()
            last_write = time.monotonic()

        def claims() -> Iterator[Claim]:
            taken = 0
            for candidate in graph.candidates():
                if candidate.key in ledger:
                    continue
                if self._is_spent(tally, taken):
                    self._ended_by_budget = True
                    return
                taken += 1
                places[candidate.key] = candidate
                yield builder.claim(candidate)

        def take(claim: Claim, trajectory: Trajectory, passages: tuple[Passage, ...]) -> None:
            tally.add(trajectory)
            waiting.append(Entry(claim, places.pop(claim.key).places, trajectory, passages))
            if len(waiting) >= PART_ROWS or time.monotonic() - last_write >= PART_SECONDS:
                flush()
            if verifying:
                verifying(len(ledger) + len(waiting), graph.counts.claims)

        try:
            verify_all(claims(), policy=policy, retriever=self._retriever, judge=self._judge, on_result=take, stop=self._stop)
        finally:
            flush()
        tally.seconds = time.monotonic() - self._begun
        return tally

    def _is_spent(self, tally: Tally, taken: int) -> bool:
        budget = self._options.budget
        return (
            (budget.triples is not None and taken >= budget.triples)
            or (budget.searches is not None and tally.searches >= budget.searches)
            or (budget.seconds is not None and time.monotonic() - self._begun >= budget.seconds)
        )

    def _missing(self, graph: LoadedGraph, ledger: Ledger) -> bool:
        return any(candidate.key not in ledger for candidate in graph.candidates())

    def _summary(self, graph: LoadedGraph, ledger: Ledger, tally: Tally, status: str, held: int) -> dict[str, Any]:
        return {
            "status": status,
            "verdicts": count_verdicts(self._options.run).verdicts,
            "verified_now": sum(tally.verdicts.values()),
            "verified_before": held,
            "load": asdict(graph.counts),
            "searches": tally.searches,
            "judged_pairs": tally.judged_pairs,
            "seconds": round(time.monotonic() - self._begun, 3),
        }


def _source_identity(options: SourceOptions) -> dict[str, Any]:
    return {
        "format": options.format,
        "base": options.base,
        "mapping": asdict(options.mapping),
        "rules": sha256(repr(options.rules).encode()).hexdigest(),
        "labels": file_digest(options.labels) if options.labels else None,
        "seed": options.seed,
    }


_SPEC_WORDS = {
    "snapshot": "index (its documents differ)",
    "judge": "judge",
    "policy": "policy",
    "source": "way of reading the graph (format, mapping, base or rules)",
    "cards": "file of predicate cards",
    "trusted": "trusted graph",
    "languages": "order of label languages",
}
