"""From a weighing to a verdict: thresholds, verbatim evidence, and the reason in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgaudit.agent.rivals import Rival
from kgaudit.documents import Passage
from kgaudit.models.judge import Weighing, odds
from kgaudit.verdicts import EvidenceSpan, Stance, StanceName, Verdict, VerdictName

ERROR_COST = 2.0
"""What a wrong verdict costs beside an abstention, unless the user says otherwise."""
MAX_SPANS = 3
OPPOSED_FROM = 0.5


def certainty(error_cost: float) -> float:
    """The probability from which a verdict pays: below it, being wrong costs more than saying that the evidence is not enough.

    Chow, "On Optimum Recognition Error and Reject Tradeoff" (1970), with an abstention at cost 1. Never below one half.
    """
    return max(0.5, 1.0 - 1.0 / error_cost)


def decide(weighing: Weighing, certain: float = 0.5) -> VerdictName:
    """Supported or refuted where the calibrated probability reaches `certain`, else not enough evidence."""
    if weighing.p_supported >= certain and weighing.p_supported >= weighing.p_refuted:
        return "supported"
    return "refuted" if weighing.p_refuted >= certain else "not_enough_evidence"


def confidence(name: VerdictName, weighing: Weighing) -> float:
    """The probability of the verdict given."""
    if name == "supported":
        return weighing.p_supported
    if name == "refuted":
        return weighing.p_refuted
    return 1.0 - max(weighing.p_supported, weighing.p_refuted)


def evidence(
    passages: Sequence[Passage], stances: Sequence[Stance], deciding: Sequence[int], stance: StanceName
) -> tuple[EvidenceSpan, ...]:
    """Verbatim spans from the deciding passages, the strongest first; the same words of one document are quoted once."""
    spans: list[EvidenceSpan] = []
    for index in deciding:
        passage, judged = passages[index], stances[index]
        start, end = (judged.start, judged.end) if judged.end > judged.start else (0, len(passage.text))
        first, last = passage.start + start, passage.start + end
        if any(span.document_id == passage.document_id and span.start < last and first < span.end for span in spans):
            continue
        score = judged.supports if stance == "supports" else judged.refutes
        spans.append(EvidenceSpan(passage.document_id, first, last, passage.text[start:end], stance, score, passage.id))
        if len(spans) == MAX_SPANS:
            break
    return tuple(spans)


def verdict_from(
    weighing: Weighing,
    passages: Sequence[Passage],
    stances: Sequence[Stance],
    *,
    reasons: dict[VerdictName, str],
    route: str = "retrieval",
    statement: str | None = None,
    certain: float = 0.5,
) -> Verdict:
    """The verdict that a weighing gives; `reasons` hold a sentence for each verdict that needs its own.

    Where other passages say the opposite, the verdict says so and quotes them.
    """
    name = decide(weighing, certain)
    stance: StanceName = "supports" if name == "supported" else "refutes"
    deciding = weighing.deciding if name != "not_enough_evidence" else ()
    spans = evidence(passages, stances, deciding, stance)
    if name != "not_enough_evidence" and not spans:
        name = "not_enough_evidence"  # a verdict that can quote nothing is none
    against = evidence(passages, stances, _opposed(stances, name), "refutes" if name == "supported" else "supports")[:1]
    return Verdict(
        verdict=name,
        reason=(reasons.get(name) or _reason(name, spans, passages, stances, weighing))
        + (f"; document {against[0].document_id} says the opposite" if against else ""),
        route=route,
        p_supported=weighing.p_supported,
        confidence=confidence(name, weighing),
        evidence=(*spans, *against),
        statement=statement,
    )


def _opposed(stances: Sequence[Stance], name: VerdictName) -> list[int]:
    """The passages that say the opposite of a verdict, the surest first."""
    if name == "not_enough_evidence":
        return []
    opposite = [stance.refutes if name == "supported" else stance.supports for stance in stances]
    return sorted((i for i, p in enumerate(opposite) if p >= OPPOSED_FROM), key=lambda i: (-opposite[i], i))


def share_with_rival(weighing: Weighing, rival: Rival, weight: float) -> Weighing:
    """The weighing of a claim of which only one can hold, beside its strongest rival, whose odds count by `weight`."""
    claimed, other = odds(weighing.p_supported), weight * odds(rival.stance.supports)
    total = 1.0 + claimed + other
    return Weighing(claimed / total, max(weighing.p_refuted * (1.0 - claimed / total), other / total), weighing.deciding)


def refuted_by_rival(rival: Rival, weighing: Weighing) -> Verdict:
    """The verdict where the documents state something else in the place of the claim's object or subject."""
    stance = replace(rival.stance, supports=0.0, refutes=rival.stance.supports)
    spans = evidence([rival.passage], [stance], [0], "refutes")
    place = f" as {rival.role}" if rival.role == "subject" else ""
    return Verdict(
        verdict="refuted",
        reason=f"document {rival.passage.document_id} states “{rival.label}”{place} instead, and there is only one",
        route="retrieval",
        p_supported=weighing.p_supported,
        confidence=weighing.p_refuted,
        evidence=spans,
        better_object=rival.label if rival.role == "object" else None,
    )


def _reason(
    name: VerdictName,
    spans: Sequence[EvidenceSpan],
    passages: Sequence[Passage],
    stances: Sequence[Stance],
    weighing: Weighing,
) -> str:
    if name == "not_enough_evidence":
        return "the documents name both, but no passage states the relation"
    documents = list(dict.fromkeys(span.document_id for span in spans))
    others = f" and {len(documents) - 1} more" if len(documents) > 1 else ""
    note = stances[weighing.deciding[0]].note
    verb = "states it" if name == "supported" else "contradicts it"
    return f"document {documents[0]}{others} {verb}" + (f" ({note})" if note else "")
