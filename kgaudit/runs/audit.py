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
from typing import TYPE_CHECKING, Any

from kgaudit.agent.conclude import ERROR_COST
from kgaudit.agent.loop import Policy
from kgaudit.agent.policies import Route, make_policy
from kgaudit.agent.structure import StructuralRoute
from kgaudit.agent.trusted import TrustedKG
from kgaudit.claims import Claim, PredicateCard
from kgaudit.documents import Passage, Retriever
from kgaudit.errors import Interrupted, SpecMismatchError, UsageError, storage_error
from kgaudit.models.chat import ChatModel
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

if TYPE_CHECKING:
    from kgaudit.agent.policies.llm.use import ModelUse

PART_ROWS = 500
PART_SECONDS = 2.0
"""A part is written after this many verdicts or seconds: what a kill can lose."""

Report = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend; None: no limit. `seconds` is wall time by a monotonic clock.

    `model_calls` and `tokens` (read and written) are those of the chat model.
    """

    triples: int | None = None
    searches: int | None = None
    seconds: float | None = None
    model_calls: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Everything that decides what an audit does."""

    kg: tuple[Path, ...]
    run: Path
    source: SourceOptions = field(default_factory=SourceOptions)
    policy: str = "agentkgv"
    error_cost: float = ERROR_COST
    calibration: Path | None = None
    cards: Path | None = None
    trusted: tuple[Path, ...] = ()
    languages: tuple[str, ...] = ("en", "")
    budget: Budget = Budget()


@dataclass(frozen=True, slots=True)
class Work:
    """What is verified: candidates of a loaded graph, all or a shard of them, and where what comes of it is kept.

    `folder` takes ledger and summary, `spec` is the file of the specification. `inputs` name the files of the graph with their digests,
    `identity` is what decides how they were read (`identity_of`), `load` the counts for the summary.
    """

    folder: Path
    spec: Path
    graph: LoadedGraph
    trusted: LoadedGraph | None
    inputs: list[dict[str, str]]
    identity: dict[str, Any]
    candidates: Callable[[], Iterator[Candidate]]
    total: int
    load: dict[str, Any]


@dataclass(slots=True)
class Tally:
    """Counts of a run as it goes."""

    verdicts: Counter[str] = field(default_factory=Counter)
    searches: int = 0
    judged_pairs: int = 0
    model_calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def add(self, trajectory: Trajectory) -> None:
        """Counts one verified claim."""
        self.verdicts[trajectory.verdict.verdict] += 1
        self.searches += trajectory.searches
        self.judged_pairs += trajectory.judged_pairs
        self.model_calls += trajectory.model_calls
        self.tokens += trajectory.tokens


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


def cards_of(graph: LoadedGraph, options: AuditOptions) -> dict[str, PredicateCard]:
    """The predicate cards of a graph: learnt from it, with what people wrote into a file of their own."""
    cards = learn_cards(graph)
    return apply_yaml(cards, options.cards) if options.cards else cards


def audit(
    options: AuditOptions,
    retriever: Retriever,
    judge: Judge,
    *,
    index: str,
    chat: ChatModel | None = None,
    stop: Stop | None = None,
    loading: Report | None = None,
    verifying: Report | None = None,
) -> dict[str, Any]:
    """Runs the audit, or goes on with it where the run folder holds a part of it; returns the run's summary.

    Raises `RunLockedError`, `SpecMismatchError`, what loading raises, `StorageError`, and `Interrupted` when `stop` was asked: the
    ledger is valid after each of them, and the same call goes on.
    """
    make_folder(options.run)
    if (options.run / "plan.json").exists():
        raise SpecMismatchError(
            "the run was begun with a state of the graph", where=str(options.run), todo="Name it with --state, or give another folder."
        )
    with RunLock(options.run):
        begun = time.monotonic()
        inputs = inputs_of(options.kg)
        graph = load(list(options.kg), options.run / "graph", options.source, loading)
        work = Work(
            folder=options.run,
            spec=options.run / "spec.json",
            graph=graph,
            trusted=load_trusted(options),
            inputs=inputs,
            identity=identity_of(options),
            candidates=graph.candidates,
            total=graph.counts.claims,
            load=asdict(graph.counts),
        )
        return verify_work(work, options, retriever, judge, index=index, chat=chat, stop=stop, verifying=verifying, begun=begun)


def verify_work(
    work: Work,
    options: AuditOptions,
    retriever: Retriever,
    judge: Judge,
    *,
    index: str,
    chat: ChatModel | None = None,
    stop: Stop | None = None,
    verifying: Report | None = None,
    begun: float | None = None,
) -> dict[str, Any]:
    """Verifies what the ledger of `work` does not hold; returns the summary. Only one at a time on a folder (`RunLock`).

    `begun` is when the clock of the budget started (`time.monotonic`). Raises what `audit` raises, without what only loading raises.
    """
    return _Audit(options, retriever, judge, index, chat, stop or Stop(), begun).run(work, verifying)


def inputs_of(paths: Sequence[Path]) -> list[dict[str, str]]:
    """The files with their digests, for the specification. Raises `StorageError`."""
    return [{"path": str(path), "digest": file_digest(path)} for path in paths]


def load_trusted(options: AuditOptions) -> LoadedGraph | None:
    """The trusted graph, loaded into the run folder; None where none was given."""
    return load(list(options.trusted), options.run / "trusted", SourceOptions(), None) if options.trusted else None


def identity_of(options: AuditOptions) -> dict[str, Any]:
    """What decides a verdict beside documents, judge and policy: how the graph was read, and what was given with it."""
    digests = "".join(file_digest(path) for path in options.trusted)
    return {
        "source": _source_identity(options.source),
        "cards": file_digest(options.cards) if options.cards else None,
        "trusted": sha256(digests.encode()).hexdigest() if options.trusted else None,
        "languages": list(options.languages),
    }


def model_use(options: AuditOptions, chat: ChatModel | None, run: Path) -> ModelUse | None:
    """How the language model is used; None where there is none. Raises `UsageError` where the calibration is not of this model."""
    path = options.calibration
    if chat is None:
        if path is not None:
            raise UsageError("a calibration needs the model that it is of", where=str(path), todo="Name it with --model.")
        return None
    from kgaudit.agent.policies.llm.use import open_use
    from kgaudit.runs.fence import keep_fence

    return open_use(chat, keep_fence(run), path)


def verifier_of(judge: Judge, chat: ChatModel | None, policy: Policy) -> dict[str, Any]:
    """Who verifies, for the specification."""
    return {
        "judge": {"name": judge.name, "digest": judge.digest},
        "model": {"name": chat.name, "digest": chat.digest} if chat else None,
        "policy": {"name": policy.name, "settings": policy.settings},
    }


class _Audit:
    def __init__(
        self,
        options: AuditOptions,
        retriever: Retriever,
        judge: Judge,
        index: str,
        chat: ChatModel | None,
        stop: Stop,
        begun: float | None,
    ) -> None:
        self._chat = chat
        self._use: ModelUse | None = None
        self._options, self._retriever, self._judge, self._index, self._stop = options, retriever, judge, index, stop
        self._begun = time.monotonic() if begun is None else begun
        self._ended_by_budget = False

    def run(self, work: Work, verifying: Report | None) -> dict[str, Any]:
        options, graph = self._options, work.graph
        cards = cards_of(graph, options)
        namesakes = find_namesakes(graph.names.shared(), graph.candidates())
        builder = ClaimBuilder(graph.names, cards, options.languages, namesakes)
        trusted = self._trusted(work, cards)
        self._use = model_use(options, self._chat, work.spec.parent)
        policy = make_policy(options.policy, self._routes(graph, trusted), self._use, options.error_cost)
        self._keep_spec(work, policy)
        ledger = Ledger(work.folder)
        held = len(ledger)
        write_json(work.folder / "summary.json", self._summary(work, Tally(), "interrupted", held))
        tally = self._verify(work, builder, policy, ledger, verifying)
        whole = work.total <= len(ledger) or not self._missing(work, ledger)
        status = "complete" if whole else "budget" if self._ended_by_budget else "interrupted"
        summary = self._summary(work, tally, status, held)
        write_json(work.folder / "summary.json", summary)
        if status == "interrupted":
            raise Interrupted(
                f"interrupted: {len(ledger):,} of {work.total:,} triples are done",
                where=str(options.run),
                todo="The same command goes on where this one ended.",
            )
        return summary

    def _trusted(self, work: Work, cards: dict[str, PredicateCard]) -> TrustedKG | None:
        graph = work.trusted
        if graph is None:
            return None
        builder = ClaimBuilder(graph.names, cards, self._options.languages)
        digest, name = work.identity["trusted"], self._options.trusted[0]
        return TrustedKG(graph.candidates(), lambda term: builder.entity(term).label, digest=digest, name=name)

    def _routes(self, graph: LoadedGraph, trusted: TrustedKG | None) -> Sequence[Route]:
        routes: list[Route] = [StructuralRoute(graph.schema, graph.names)]
        return [*routes, trusted] if trusted else routes

    def _keep_spec(self, work: Work, policy: Policy) -> None:
        decisive = {
            "snapshot": self._retriever.snapshot,
            **verifier_of(self._judge, self._chat, policy),
            **work.identity,
        }
        if work.folder == work.spec.parent:
            self._write_spec(work, decisive)
        else:  # one of several shards: the first to come decides for all
            with RunLock(work.spec.parent, wait=60):
                self._write_spec(work, decisive)

    def _write_spec(self, work: Work, decisive: dict[str, Any]) -> None:
        path = work.spec
        if path.exists():
            known = read_json(path)
            for name, value in decisive.items():
                if known.get(name) != value:
                    raise SpecMismatchError(
                        f"the run was begun with another {_SPEC_WORDS[name]}",
                        where=str(path.parent),
                        todo="Give a new folder with --run, or the options of the first call.",
                    )
            new = [one for one in work.inputs if one not in known["kg"]]
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
                "kg": work.inputs,
                "index": self._index,
                **({"model_settings": self._chat.settings} if self._chat else {}),
                **decisive,
            },
        )

    def _verify(self, work: Work, builder: ClaimBuilder, policy: Policy, ledger: Ledger, verifying: Report | None) -> Tally:
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
            for candidate in work.candidates():
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
                verifying(len(ledger) + len(waiting), work.total)

        try:
            verify_all(
                claims(),
                policy=policy,
                retriever=self._retriever,
                judge=self._judge,
                on_result=take,
                stop=self._stop,
                chat=self._chat,
                expected=min(work.total - len(ledger), self._options.budget.triples or work.total),
            )
        finally:
            flush()
        tally.seconds = time.monotonic() - self._begun
        return tally

    def _is_spent(self, tally: Tally, taken: int) -> bool:
        budget = self._options.budget
        return (
            (budget.triples is not None and taken >= budget.triples)
            or (budget.searches is not None and tally.searches >= budget.searches)
            or (budget.model_calls is not None and tally.model_calls >= budget.model_calls)
            or (budget.tokens is not None and tally.tokens >= budget.tokens)
            or (budget.seconds is not None and time.monotonic() - self._begun >= budget.seconds)
        )

    def _missing(self, work: Work, ledger: Ledger) -> bool:
        return any(candidate.key not in ledger for candidate in work.candidates())

    def _summary(self, work: Work, tally: Tally, status: str, held: int) -> dict[str, Any]:
        return {
            "status": status,
            "verdicts": count_verdicts(work.folder).verdicts,
            "verified_now": sum(tally.verdicts.values()),
            "verified_before": held,
            "load": work.load,
            "searches": tally.searches,
            "judged_pairs": tally.judged_pairs,
            "model_calls": tally.model_calls,
            "tokens": tally.tokens,
            **({"model": self._model_summary(self._chat)} if self._chat else {}),
            "seconds": round(time.monotonic() - self._begun, 3),
        }

    def _model_summary(self, chat: ChatModel) -> dict[str, Any]:
        return {"name": chat.name, "confidence": self._use.words(self._options.policy) if self._use else "", **asdict(chat.usage)}


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
    "model": "chat model",
    "policy": "policy",
    "source": "way of reading the graph (format, mapping, base or rules)",
    "cards": "file of predicate cards",
    "trusted": "trusted graph",
    "languages": "order of label languages",
}
