"""Baseline: one fixed query, the passages in one prompt, one answer (Single-turn RAG of the AgentKGV paper, section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgaudit.agent import queries
from kgaudit.agent.actions import Action, Conclude
from kgaudit.agent.loop import Environment, State
from kgaudit.agent.policies.llm.answers import STANCES, Reading
from kgaudit.agent.policies.llm.reading import NEITHER, show_all, verdict_of
from kgaudit.agent.policies.llm.showing import claim_block
from kgaudit.agent.policies.llm.use import ModelUse, questions
from kgaudit.claims import Claim
from kgaudit.documents import Passage
from kgaudit.models.typed import NoAnswerError
from kgaudit.verdicts import Stance, Verdict

ANSWER_TOKENS = 256


class LLMSingleTurn:
    """`single_turn` where the run has a language model."""

    name = "single_turn"
    prompts = ("answer",)

    def __init__(self, routes: Sequence[Callable[[Claim], Verdict | None]], use: ModelUse) -> None:
        self._use = use
        self.settings: dict[str, object] = {"query": "s+p+o", **use.settings(self.name, self.prompts)}

    async def act(self, state: State, environment: Environment) -> Action:
        """The one search, then the one answer."""
        if not state.observations:
            return queries.whole(state.claim)
        passages = list(state.passages.values())
        if not passages:
            return Conclude(Verdict("not_enough_evidence", "the search found nothing", "retrieval"))
        return Conclude(await self._read(state, passages, environment))

    async def _read(self, state: State, passages: Sequence[Passage], environment: Environment) -> Verdict:
        shown, blocks = show_all(state, passages, self._use)
        asked = questions(environment, self._use.fence)
        claim = claim_block(state.claim, self._use.fence, state.claim.statement)
        try:
            answer, sure = await asked.ask_sure("answer", [claim, *blocks], Reading, STANCES, ANSWER_TOKENS)
        except NoAnswerError as error:
            return Verdict("not_judged", error.reason, "none")
        finally:
            state.calls += asked.calls
        reason = "the model finds it neither stated nor contradicted in the documents"
        return verdict_of(self.name, answer.verdict, answer.quote, sure.probabilities, shown, self._use, reason)

    async def assess(self, state: State, found: Sequence[Passage], environment: Environment) -> list[Stance]:
        """Nothing by itself: the passages are read together."""
        return [NEITHER] * len(found)
