"""Baseline: retrieval interleaved with reasoning. Each thought is the next query, until a thought decides.

Source: Trivedi et al., Interleaving retrieval with chain-of-thought reasoning (2023), as in the AgentKGV paper, section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgaudit.agent import queries
from kgaudit.agent.actions import Action, Conclude, SearchDocuments
from kgaudit.agent.loop import MAX_SEARCHES, Environment, State
from kgaudit.agent.policies.llm.answers import THOUGHTS, Thought
from kgaudit.agent.policies.llm.reading import NEITHER, show_all, verdict_of
from kgaudit.agent.policies.llm.showing import block, claim_block, plain
from kgaudit.agent.policies.llm.use import ModelUse, questions
from kgaudit.claims import Claim
from kgaudit.documents import Passage, Query
from kgaudit.models.typed import NoAnswerError
from kgaudit.verdicts import Stance, Verdict

THOUGHT_TOKENS = 256
MAX_THOUGHT = 300
MAX_READ = 8
"""The passages in a prompt: those that were found last, since the thoughts hold what the others said."""


class IRCoT:
    """Searches for the claim, then for each thought, at most `MAX_SEARCHES` times."""

    name = "ircot"
    prompts = ("think",)

    def __init__(self, routes: Sequence[Callable[[Claim], Verdict | None]], use: ModelUse) -> None:
        self._use = use
        self.settings: dict[str, object] = {
            "query": "s+p+o",
            "max_searches": MAX_SEARCHES,
            "max_read": MAX_READ,
            **use.settings(self.name, self.prompts),
        }

    async def act(self, state: State, environment: Environment) -> Action:
        """A search, then a thought that decides or becomes the next search."""
        if not state.observations:
            return queries.whole(state.claim)
        passages = list(state.passages.values())[-MAX_READ:]
        fence = self._use.fence
        shown, blocks = show_all(state, passages, self._use)
        thoughts = [observation.search.query.text for observation in state.observations[1:]]
        body = "\n".join(f"{number}. {plain(text, MAX_THOUGHT, fence)}" for number, text in enumerate(thoughts, 1)) or "none yet"
        asked = questions(environment, fence)
        claim = claim_block(state.claim, fence, state.claim.statement)
        try:
            answer, sure = await asked.ask_sure(
                "think", [claim, *blocks, block("THOUGHTS", fence, body)], Thought, THOUGHTS, THOUGHT_TOKENS
            )
        except NoAnswerError as error:
            return Conclude(Verdict("not_judged", error.reason, "none"))
        finally:
            state.calls += asked.calls
        following = _search(state.claim, answer.thought)
        if answer.verdict == "search" and state.searches_left and following and not state.was_asked(following.query):
            return following
        reason = "the model came to no decision" if state.searches_left else f"{MAX_SEARCHES} searches brought no decision"
        return Conclude(verdict_of(self.name, answer.verdict, answer.quote, sure.probabilities, shown, self._use, reason))

    async def assess(self, state: State, found: Sequence[Passage], environment: Environment) -> list[Stance]:
        """Nothing by itself: the passages are read together."""
        return [NEITHER] * len(found)


def _search(claim: Claim, thought: str) -> SearchDocuments | None:
    text = " ".join(thought.split())[:MAX_THOUGHT]
    names = tuple(entity.names[: queries.MAX_NAMES] for entity in (claim.subject, claim.object))
    return SearchDocuments(Query(text, names, claim.subject.language), "thought") if text else None
