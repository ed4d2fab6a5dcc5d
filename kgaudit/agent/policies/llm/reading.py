"""Several passages in one prompt: how the baselines read. One quote decides, and it must stand in one of them."""

from __future__ import annotations

from collections.abc import Sequence

from kgaudit.agent.conclude import verdict_from
from kgaudit.agent.loop import State
from kgaudit.agent.policies.llm.showing import Shown, document_block, show
from kgaudit.agent.policies.llm.use import ModelUse
from kgaudit.documents import Passage
from kgaudit.models.judge import Weighing
from kgaudit.verdicts import Stance, Verdict

NEITHER = Stance(0.0, 0.0, 1.0)


def show_all(state: State, passages: Sequence[Passage], use: ModelUse) -> tuple[list[Shown], list[str]]:
    """The passages as the model sees them, and their numbered blocks; sentences are numbered through."""
    shown = list[Shown]()
    for passage in passages:
        before = shown[-1].last if shown else 0
        shown.append(show(passage, state.claim, use.fence, before + 1))
    return shown, [document_block(one, use.fence, number) for number, one in enumerate(shown, 1)]


def verdict_of(
    policy: str, said: str, quote: int | str, probabilities: dict[str, float] | None, shown: Sequence[Shown], use: ModelUse, reason: str
) -> Verdict:
    """The verdict of one reading: with a quote that stands in a passage, or not enough evidence.

    `probabilities` are those of `supports`, `refutes` and the third answer; without them the verdict's confidence stays empty.
    """
    raw_supported = probabilities["supports"] if probabilities else float(said == "supports")
    raw_refuted = probabilities["refutes"] if probabilities else float(said == "refutes")
    found = next(((one.passage, span) for one in shown if (span := one.find(quote))), None)
    if said not in ("supports", "refutes") or found is None:
        p = use.scaled(policy, min(raw_supported, 0.49)) if probabilities else None
        note = reason if said not in ("supports", "refutes") else "the model's quote is in none of the documents"
        return Verdict("not_enough_evidence", note, "retrieval", p, None if p is None else 1.0 - p)
    passage, (start, end) = found
    supported = use.scaled(policy, raw_supported) if probabilities else raw_supported
    stance = Stance(raw_supported, raw_refuted, max(0.0, 1.0 - raw_supported - raw_refuted), start, end)
    weighing = Weighing(supported, min(raw_refuted, 1.0 - supported), (0,))
    verdict = verdict_from(weighing, [passage], [stance], reasons={"not_enough_evidence": "the evidence found is too weak"})
    if probabilities is None:
        return Verdict(verdict.verdict, verdict.reason, verdict.route, None, None, verdict.evidence)
    return verdict
