"""Baseline: what the language model knows, without a document (Direct LLM of the AgentKGV paper, section 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgaudit.agent.actions import Action, Answer
from kgaudit.agent.loop import Environment, State
from kgaudit.agent.policies.llm.agentkgv import known, known_verdict
from kgaudit.agent.policies.llm.use import ModelUse
from kgaudit.claims import Claim
from kgaudit.documents import Passage
from kgaudit.models.typed import NoAnswerError
from kgaudit.verdicts import Stance, Verdict


class Direct:
    """Asks the model whether the claim is true. It never abstains, so that the routing threshold can be chosen from what it says."""

    name = "direct"
    prompts = ("known",)

    def __init__(self, routes: Sequence[Callable[[Claim], Verdict | None]], use: ModelUse) -> None:
        self._use = use
        self.settings: dict[str, object] = use.settings(self.name, self.prompts)

    async def act(self, state: State, environment: Environment) -> Action:
        """The one answer."""
        try:
            p = await known(state, environment, self._use)
        except NoAnswerError as error:
            return Answer(Verdict("not_judged", error.reason, "none"))
        if p is None:
            return Answer(Verdict("not_judged", "the server gives no basis for a probability", "none"))
        return Answer(known_verdict(p))

    async def assess(self, state: State, found: Sequence[Passage], environment: Environment) -> list[Stance]:
        """Never called: nothing is searched for."""
        raise AssertionError("the direct policy does not search")
