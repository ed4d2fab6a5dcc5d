"""Stances, evidence, verdicts and trajectories: what comes out of a verification, and the tables they are kept in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from kgaudit.triples import PLACE_TYPE

VerdictName = Literal["supported", "refuted", "not_enough_evidence", "not_judged"]
VERDICTS: tuple[VerdictName, ...] = ("supported", "refuted", "not_enough_evidence", "not_judged")
StanceName = Literal["supports", "refutes", "neither"]


@dataclass(frozen=True, slots=True)
class Stance:
    """What one passage says of one claim: three probabilities that sum to 1, and where in the passage it says so.

    `start` and `end` count code points within the passage's text and hold the sentence that decides.
    `note` says in words what was seen, for people ("names 3 words apart", "states the other direction").
    """

    supports: float
    refutes: float
    neither: float
    start: int = 0
    end: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """A verbatim quote: `quote == document.text[start:end]`."""

    document_id: str
    start: int
    end: int
    quote: str
    stance: StanceName
    score: float
    passage_id: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided of a claim.

    `p_supported` is the calibrated probability that the documents support the claim (None where nothing was judged);
    `confidence` is that of the verdict given. `route`: `schema`, `trusted_kg`, `knowledge` (what a language model knows), `retrieval`,
    `statement` or `none`.
    `reason` is one sentence for people. `better_object` is what the evidence states in the object's place.
    """

    verdict: VerdictName
    reason: str
    route: str
    p_supported: float | None = None
    confidence: float | None = None
    evidence: tuple[EvidenceSpan, ...] = ()
    better_object: str | None = None
    statement: str | None = None


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One question to a language model and what it answered (JSON), or why it gave no answer.

    `digests` name the requests that were made for it (`kgaudit.models.chat.request_digest`): a repair makes two.
    """

    task: str
    answer: str
    digests: tuple[str, ...]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failed: bool = False

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Step:
    """One action of a trajectory and what came of it.

    `action`: `answer`, `search_documents`, `read_document`, `judge_again` or `conclude`. `query` is what was searched for, or the id of
    the document that was read; `combination` is that of a search, `passages` the ids of what came back (best first), `stances` the
    judgement of those that were judged, `calls` what a language model was asked on the way.
    """

    action: str
    query: str = ""
    combination: str = ""
    passages: tuple[str, ...] = ()
    stances: tuple[tuple[str, Stance], ...] = ()
    note: str = ""
    seconds: float = 0.0
    calls: tuple[ModelCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The full record of one verification."""

    key: str
    policy: str
    steps: tuple[Step, ...]
    verdict: Verdict
    searches: int = 0
    judged_pairs: int = 0
    model_calls: int = 0
    tokens: int = 0
    seconds: float = 0.0


EVIDENCE_TYPE = pa.struct(
    [
        ("document_id", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("quote", pa.string()),
        ("stance", pa.string()),
        ("score", pa.float64()),
        ("passage_id", pa.string()),
    ]
)

VERDICT_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("s", pa.string(), nullable=False),
        pa.field("p", pa.string(), nullable=False),
        pa.field("o", pa.string(), nullable=False),
        ("valid_from", pa.string()),
        ("valid_until", pa.string()),
        pa.field("s_label", pa.string(), nullable=False),
        pa.field("p_label", pa.string(), nullable=False),
        pa.field("o_label", pa.string(), nullable=False),
        pa.field("verdict", pa.string(), nullable=False),
        ("confidence", pa.float64()),
        ("p_supported", pa.float64()),
        pa.field("route", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        ("statement", pa.string()),
        ("better_object", pa.string()),
        pa.field("evidence", pa.list_(EVIDENCE_TYPE), nullable=False),
        pa.field("places", pa.list_(PLACE_TYPE), nullable=False),
        pa.field("policy", pa.string(), nullable=False),
        pa.field("searches", pa.int32(), nullable=False),
        pa.field("judged_pairs", pa.int32(), nullable=False),
        pa.field("model_calls", pa.int32(), nullable=False),
        pa.field("tokens", pa.int64(), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
    ]
)
"""The verdict table: one row a triple. `seconds` is wall time by a monotonic clock."""

LEDGER_SCHEMA = VERDICT_SCHEMA.append(pa.field("trajectory", pa.string(), nullable=False))
"""A ledger part: the verdict table with each trajectory as JSON (`steps_to_json`)."""


def stance_to_list(stance: Stance) -> list[Any]:
    """A stance as a JSON list."""
    return [
        round(stance.supports, 6), round(stance.refutes, 6), round(stance.neither, 6), stance.start, stance.end, stance.note,
    ]  # fmt: skip


def steps_to_json(steps: tuple[Step, ...]) -> list[dict[str, Any]]:
    """The steps of a trajectory as JSON values; `calls` stands only where there were any."""
    return [
        {
            "action": step.action,
            "query": step.query,
            "combination": step.combination,
            "passages": list(step.passages),
            "stances": [[passage, *stance_to_list(stance)] for passage, stance in step.stances],
            "note": step.note,
            "seconds": round(step.seconds, 6),
        }
        | ({"calls": [_call_to_list(call) for call in step.calls]} if step.calls else {})
        for step in steps
    ]


def _call_to_list(call: ModelCall) -> list[Any]:
    return [call.task, call.answer, list(call.digests), call.prompt_tokens, call.completion_tokens, call.failed]


def steps_from_json(rows: list[dict[str, Any]]) -> tuple[Step, ...]:
    """The steps behind `steps_to_json`."""
    return tuple(
        Step(
            action=row["action"],
            query=row["query"],
            combination=row["combination"],
            passages=tuple(row["passages"]),
            stances=tuple((passage, Stance(*rest)) for passage, *rest in row["stances"]),
            note=row["note"],
            seconds=row["seconds"],
            calls=tuple(ModelCall(task, answer, tuple(digests), *rest) for task, answer, digests, *rest in row.get("calls", ())),
        )
        for row in rows
    )
