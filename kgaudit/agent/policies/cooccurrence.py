"""Baseline: both names in one of the top passages. What a verifier must beat."""

from __future__ import annotations

from collections.abc import Sequence

from kgaudit.agent import queries
from kgaudit.agent.actions import Action, Conclude
from kgaudit.agent.conclude import evidence
from kgaudit.agent.loop import Environment, State
from kgaudit.agent.mentions import names_both
from kgaudit.documents import Passage
from kgaudit.verdicts import Stance, Verdict


class CoOccurrence:
    """Searches once for `s p o`; supported where a passage names both."""

    name = "cooccurrence"

    def __init__(self, routes: Sequence[object] = ()) -> None:
        self.settings: dict[str, object] = {"query": "s+p+o"}

    async def act(self, state: State, environment: Environment) -> Action:
        """The one search, then the conclusion."""
        if not state.observations:
            return queries.whole(state.claim)
        passages, stances = state.judged()
        both = [index for index, stance in enumerate(stances) if stance.supports > 0.5]
        share = 1.0 if both else 0.0
        if both:
            spans = evidence(passages, stances, both, "supports")
            return Conclude(Verdict("supported", "a passage names both", "retrieval", share, share, spans))
        return Conclude(Verdict("not_enough_evidence", "no passage names both", "retrieval", share, 1.0))

    async def assess(self, state: State, found: Sequence[Passage], environment: Environment) -> list[Stance]:
        """Whether each passage names both."""
        yes, no = Stance(1.0, 0.0, 0.0), Stance(0.0, 0.0, 1.0)
        return [yes if names_both(passage, state.claim) else no for passage in found]
