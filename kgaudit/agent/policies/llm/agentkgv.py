"""AgentKGV with a language model: routes, asks, summarises, judges, rewrites, and stops when the evidence suffices.

Source: AgentKGV, section 3.2. The routing (3.2.2) answers from the model's own knowledge only above a confidence that was chosen on
dev; queries are built from component combinations (3.2.3) and rewritten from what came back (3.2.4); each passage is condensed with
respect to the triple (3.2.5). Other than there, every passage is judged by itself and every verdict rests on words that stand in a
document: what one document says, whatever it says, cannot colour how another is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kgaudit.agent.actions import Action, Answer, Conclude
from kgaudit.agent.conclude import verdict_from
from kgaudit.agent.loop import MAX_SEARCHES, TOP_K, Environment, State
from kgaudit.agent.mentions import names_both, names_entity
from kgaudit.agent.policies.agentkgv import next_document, unverifiable, why_not_enough
from kgaudit.agent.policies.llm.answers import KNOWN, Known
from kgaudit.agent.policies.llm.judging import UNKNOWN_NOTE, Judged, judge_many
from kgaudit.agent.policies.llm.showing import claim_block
from kgaudit.agent.policies.llm.use import ModelUse, questions
from kgaudit.agent.policies.llm.weighing import contradicts_itself, weigh
from kgaudit.agent.policies.llm.wording import write_query
from kgaudit.claims import Claim
from kgaudit.documents import Passage
from kgaudit.models.judge import Weighing
from kgaudit.models.typed import NoAnswerError
from kgaudit.verdicts import Stance, Verdict, VerdictName

ENOUGH = 0.75
"""Evidence suffices from this probability of support or contradiction on, before calibration."""

MAX_JUDGED = 5
"""Passages of one search that the model is asked about, those that name both first."""

MAX_PARTIAL = 2
"""Of those that name only one of the two, so many: they seldom decide."""

MAX_FRUITLESS = 2
"""Searches in a row that brought no new passage with both names, after which more of them would hardly bring one."""

MAX_STATEMENTS = 3
KNOWN_TOKENS = 32
FAILURE = "failure"
"""In a state's memo: why the model gave no answer, the last time it gave none."""

SILENT = "silent"
"""In a state's memo: the model answered for none of the passages of a search, so that asking about more would not help."""

UNJUDGED = Stance(0.0, 0.0, 1.0, note="names neither subject nor object")
PASSED_OVER = Stance(0.0, 0.0, 1.0, note="not read: others name more of the claim")


class LLMAgentKGV:
    """`agentkgv` where the run has a language model. `routes` decide claims without retrieval, in order (schema, trusted graph).

    `scaled_as` names the policy whose scaling makes its confidence: other claims reach it in a cascade.
    """

    name = "agentkgv"
    prompts = ("judge", "summarise", "query", "rewrite", "known")

    def __init__(self, routes: Sequence[Callable[[Claim], Verdict | None]], use: ModelUse, scaled_as: str = "agentkgv") -> None:
        self._routes = tuple(routes)
        self._use = use
        self._scaled_as = scaled_as
        self._known_from = use.calibration.known_from if use.calibration else None
        self.settings: dict[str, object] = {
            "top_k": TOP_K,
            "max_searches": MAX_SEARCHES,
            "enough": ENOUGH,
            "max_judged": MAX_JUDGED,
            "max_partial": MAX_PARTIAL,
            "max_fruitless": MAX_FRUITLESS,
            "known_from": self._known_from,
            **use.settings(scaled_as, self.prompts),
        }

    async def act(self, state: State, environment: Environment) -> Action:
        """Routes first; then searches until the evidence suffices or further queries bring nothing."""
        if not state.observations:
            verdict = await self._route(state, environment)
            if verdict:
                return Answer(verdict)
        passages, stances = state.judged()
        weighing = weigh(passages, stances)
        enough = max(weighing.p_supported, weighing.p_refuted) >= ENOUGH
        if not enough and state.searches_left and SILENT not in state.memo and not _is_fruitless(state):
            action = next_document(state) or await self._next_search(state, environment)
            if action is not None:
                return action
        return Conclude(self._conclude(state, weighing))

    async def _route(self, state: State, environment: Environment) -> Verdict | None:
        for route in (*self._routes, unverifiable):
            verdict = route(state.claim)
            if verdict is not None:
                return verdict
        if self._known_from is None or state.claim.statement:
            return None
        try:
            p = await known(state, environment, self._use)
        except NoAnswerError:
            return None  # what it does not know it can still read
        if p is None or max(p, 1.0 - p) < self._known_from:
            return None
        return known_verdict(p)

    async def _next_search(self, state: State, environment: Environment) -> Action | None:
        asked = questions(environment, self._use.fence)
        try:
            return await write_query(state, asked)
        finally:
            state.calls += asked.calls

    async def assess(self, state: State, found: Sequence[Passage], environment: Environment) -> list[Stance]:
        """Each passage by itself; where a statement is checked, the best over the statements for each passage."""
        chosen = _worth_judging(state.claim, found)
        best = {passage.id: UNJUDGED if not _names_any(passage, state.claim) else PASSED_OVER for passage in found}
        for statement in state.claim.statements[:MAX_STATEMENTS] or (state.claim.statement,):
            judged, calls = await judge_many(state.claim, statement, chosen, environment, self._use.fence)
            state.calls += calls
            if judged and all(one.failure for one in judged):
                state.memo[SILENT] = judged[0].failure
            for passage, one in zip(chosen, judged, strict=True):
                held = best[passage.id]
                if held in (UNJUDGED, PASSED_OVER) or one.stance.supports > held.supports:
                    best[passage.id] = one.stance
                    _remember(state, passage, one, statement)
        return [best[passage.id] for passage in found]

    def _conclude(self, state: State, weighing: Weighing) -> Verdict:
        claim = state.claim
        passages, stances = state.judged()
        if not weighing.deciding and FAILURE in state.memo:
            return Verdict("not_judged", state.memo[FAILURE], "none")
        p_supported = self._use.scaled(self._scaled_as, weighing.p_supported)
        scaled = replace(weighing, p_supported=p_supported, p_refuted=min(weighing.p_refuted, 1.0 - p_supported))
        statement = claim.statement or None
        if claim.statement and weighing.deciding:
            statement = state.memo.get(passages[weighing.deciding[0]].id, claim.statement)
        verdict = verdict_from(
            _backed(scaled, stances),
            passages,
            stances,
            reasons=_reasons(state, weighing, passages, stances),
            route="statement" if claim.statement else "retrieval",
            statement=statement,
        )
        instead = state.memo.get(f"instead {passages[weighing.deciding[0]].id}") if weighing.deciding else None
        if verdict.verdict == "refuted" and instead:
            verdict = replace(verdict, better_object=instead)
        if any(stances[i].note == UNKNOWN_NOTE for i in weighing.deciding):
            verdict = replace(verdict, p_supported=None, confidence=None)
        return verdict


async def known(state: State, environment: Environment, use: ModelUse) -> float | None:
    """P(true) by the model's own knowledge, calibrated as that of `direct`; None where the server gives no probability.

    Raises `NoAnswerError` where there is no valid answer.
    """
    asked = questions(environment, use.fence)
    try:
        claim = claim_block(state.claim, use.fence, state.claim.statement)
        _, sure = await asked.ask_sure("known", [claim], Known, KNOWN, KNOWN_TOKENS)
    finally:
        state.calls += asked.calls
    return use.scaled("direct", sure.probabilities["true"]) if sure.probabilities else None


def known_verdict(p: float) -> Verdict:
    """The verdict of the model's own knowledge."""
    if p >= 0.5:
        return Verdict("supported", "the model knows it; no document was asked", "knowledge", p, p)
    return Verdict("refuted", "the model knows otherwise; no document was asked", "knowledge", p, 1.0 - p)


def _worth_judging(claim: Claim, found: Sequence[Passage]) -> list[Passage]:
    """What may bear on the claim: passages that name both. Where there is none, or where another object would refute the claim, also
    those that name the subject; where there is none of either, those that name the object."""
    both = [passage for passage in found if names_both(passage, claim)]
    if both and not claim.predicate.functional:
        return both[:MAX_JUDGED]
    subject = [passage for passage in found if passage not in both and names_entity(passage, claim.subject)]
    obj = [] if both or subject else [passage for passage in found if names_entity(passage, claim.object)]
    return [*both, *[*subject, *obj][:MAX_PARTIAL]][:MAX_JUDGED]


def _names_any(passage: Passage, claim: Claim) -> bool:
    return names_entity(passage, claim.subject) or names_entity(passage, claim.object)


def _remember(state: State, passage: Passage, judged: Judged, statement: str) -> None:
    state.memo[passage.id] = statement
    if judged.kept:
        state.memo[f"kept {passage.id}"] = judged.kept[0]
    if judged.instead:
        state.memo[f"instead {passage.id}"] = judged.instead
    if judged.failure:
        state.memo[FAILURE] = judged.failure


def _is_fruitless(state: State) -> bool:
    """Whether each of the last searches, after the first of all, brought no new passage that names both."""
    before, recent = state.observations[:-MAX_FRUITLESS], state.observations[-MAX_FRUITLESS:]
    known = {passage.id for one in before for passage in one.passages}
    new = [passage for one in recent for passage in one.passages if passage.id not in known]
    return bool(before) and not any(names_both(passage, state.claim) for passage in new)


def _backed(weighing: Weighing, stances: Sequence[Stance]) -> Weighing:
    """The weighing with no verdict that no quote backs: calibration may raise what only a hint carries."""
    wanted = weighing.deciding[:1]
    if wanted and (stances[wanted[0]].supports > stances[wanted[0]].refutes) == (weighing.p_supported >= weighing.p_refuted):
        return weighing
    return replace(weighing, p_supported=min(weighing.p_supported, 0.49), p_refuted=min(weighing.p_refuted, 0.49), deciding=())


def _reasons(state: State, weighing: Weighing, passages: Sequence[Passage], stances: Sequence[Stance]) -> dict[VerdictName, str]:
    reasons: dict[VerdictName, str] = {"not_enough_evidence": why_not_enough(state)}
    if contradicts_itself(passages, stances):
        reasons["not_enough_evidence"] = "the documents contradict one another"
    if weighing.deciding:
        passage = passages[weighing.deciding[0]]
        instead = state.memo.get(f"instead {passage.id}")
        if instead:
            reasons["refuted"] = f"document {passage.document_id} states “{instead}” instead"
    return reasons
