"""Baseline: one fixed query, one judgement (Single-turn RAG of the AgentKGV paper, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

from kgaudit.agent import queries
from kgaudit.agent.actions import Action, Conclude
from kgaudit.agent.conclude import verdict_from
from kgaudit.agent.loop import Environment, State
from kgaudit.documents import Passage
from kgaudit.verdicts import Stance


class SingleTurn:
    """Searches once for `s p o`, judges what comes back, concludes."""

    name = "single_turn"

    def __init__(self, routes: Sequence[object] = ()) -> None:
        self.settings: dict[str, object] = {"query": "s+p+o"}

    async def act(self, state: State, environment: Environment) -> Action:
        """The one search, then the conclusion."""
        if not state.observations:
            return queries.whole(state.claim)
        passages, stances = state.judged()
        return Conclude(verdict_from(environment.weigh(state.claim, passages, stances), passages, stances, reasons={}))

    async def assess(self, state: State, found: Sequence[Passage], environment: Environment) -> list[Stance]:
        """The judge's stances."""
        return await environment.judge([(state.claim, passage) for passage in found])
