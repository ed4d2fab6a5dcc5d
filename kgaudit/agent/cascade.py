"""The embedded judge and a language model together: the one settles what is clear to it, the other takes the rest.

A triple that the embedded policy would conclude with a P(supported) of `SUPPORTED_FROM` and more, or `UNSUPPORTED_TO` and less, keeps
that verdict. Everything else goes to the language model, which judges again what was found and searches on where that does not suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgaudit.agent.actions import Action, Conclude, JudgeAgain
from kgaudit.agent.loop import Environment, State
from kgaudit.agent.policies.agentkgv import AgentKGV
from kgaudit.agent.policies.llm.agentkgv import LLMAgentKGV
from kgaudit.agent.policies.llm.use import ModelUse
from kgaudit.claims import Claim
from kgaudit.documents import Passage
from kgaudit.verdicts import Stance, Verdict

SUPPORTED_FROM = 0.9
UNSUPPORTED_TO = 0.2
"""Chosen on the dev split of wiki-triples with the judge that ships: 171 of 612 triples lie above the one (95.9 % of them true) and 239
below the other (96.2 % false)."""

_HANDED_ON = "handed on"


class Cascade:
    """The embedded `agentkgv` first; what is not clear to it, the language model's."""

    name = "cascade"
    prompts = LLMAgentKGV.prompts

    def __init__(self, routes: Sequence[Callable[[Claim], Verdict | None]], use: ModelUse) -> None:
        self._screen = AgentKGV(routes)
        self._rest = LLMAgentKGV((), use, scaled_as=self.name)
        self.settings: dict[str, object] = {
            "supported_from": SUPPORTED_FROM,
            "unsupported_to": UNSUPPORTED_TO,
            "screen": self._screen.settings,
            "rest": self._rest.settings,
        }

    async def act(self, state: State, environment: Environment) -> Action:
        """What the embedded policy does, until it would conclude on a case that is not clear; then what the language model does."""
        if _HANDED_ON in state.memo:
            return await self._rest.act(state, environment)
        action = await self._screen.act(state, environment)
        if not isinstance(action, Conclude) or _is_clear(action.verdict):
            return action
        state.memo = {_HANDED_ON: f"P(supported) {action.verdict.p_supported}"}
        return JudgeAgain()

    async def assess(self, state: State, found: Sequence[Passage], environment: Environment) -> list[Stance]:
        """The stances of the one that has the case."""
        policy = self._rest if _HANDED_ON in state.memo else self._screen
        return await policy.assess(state, found, environment)


def _is_clear(verdict: Verdict) -> bool:
    p = verdict.p_supported
    return p is not None and not UNSUPPORTED_TO < p < SUPPORTED_FROM
