"""Run folders made by hand, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kgaudit.claims import Claim, Entity, PredicateCard
from kgaudit.documents import Passage
from kgaudit.runs.files import write_json
from kgaudit.runs.ledger import Entry, Ledger
from kgaudit.triples import Place, Triple, iri_term
from kgaudit.verdicts import EvidenceSpan, Stance, Step, Trajectory, Verdict, VerdictName

GRAPH = "https://graph.example/"
SPEC: dict[str, Any] = {
    "format": 1,
    "started": "2026-11-30T10:15:07+00:00",
    "kgaudit": "0.1.0",
    "kg": [{"path": "kg.nt", "digest": "0" * 64}],
    "index": "index",
    "snapshot": "5" * 64,
    "judge": {"name": "cue-1", "digest": "d" * 64},
    "policy": {"name": "agentkgv", "settings": {}},
}


def passage(text: str, *, document: str = "d1", start: int = 0, **rest: str) -> Passage:
    return Passage(document_id=document, start=start, end=start + len(text), text=text, document_digest="0" * 64, **rest)


def span(passage: Passage, quote: str, stance: str = "refutes") -> EvidenceSpan:
    start = passage.start + passage.text.index(quote)
    return EvidenceSpan(passage.document_id, start, start + len(quote), quote, stance, 0.9, passage.id)  # type: ignore[arg-type]


def entry(
    subject: str = "Norrby Pumps",
    predicate: str = "based in",
    object: str = "Orvik",
    verdict: VerdictName = "refuted",
    *,
    confidence: float | None = 0.9,
    reason: str = "The documents name another place.",
    passages: tuple[Passage, ...] = (),
    evidence: tuple[EvidenceSpan, ...] = (),
    better: str | None = None,
    places: tuple[Place, ...] = (Place("kg.nt", 1),),
    terms: tuple[str, str, str] | None = None,
    statement: str | None = None,
) -> Entry:
    s, p, o = terms or tuple(iri_term(GRAPH + name.replace(" ", "_")) for name in (subject, predicate, object))
    triple = Triple(s, p, o)
    claim = Claim(triple.key, triple, Entity(s, subject), PredicateCard(p, predicate), Entity(o, object))
    supported = {"refuted": 0.05, "supported": 0.95, "not_enough_evidence": 0.4}.get(verdict)
    made = Verdict(verdict, reason, "retrieval", supported, confidence, evidence, better, statement)
    stances = tuple((each.id, Stance(0.05, 0.9, 0.05, 0, min(30, len(each.text)), "names 3 words apart")) for each in passages)
    steps = (
        Step(
            "search_documents", f"{subject} {predicate} {object}", "s+p+o", tuple(each.id for each in passages), stances, seconds=0.01
        ),
        Step("conclude", note=reason),
    )
    trajectory = Trajectory(triple.key, "agentkgv", steps, made, searches=1, judged_pairs=len(passages), seconds=0.02)
    return Entry(claim, places, trajectory, passages)


def make_run(
    folder: Path, entries: Iterable[Entry], *, status: str = "complete", load: dict[str, Any] | None = None, part: int = 500
) -> Path:
    ledger, waiting = Ledger(folder), list(entries)
    for start in range(0, len(waiting), part):
        ledger.append(waiting[start : start + part])
    write_json(folder / "spec.json", SPEC)
    write_json(folder / "summary.json", {"status": status, "load": load or {}, "searches": 1, "judged_pairs": 1, "seconds": 1.5})
    return folder
