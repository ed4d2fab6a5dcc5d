"""The agent loop: a policy looks at the state and acts, the environment carries it out, the trajectory grows, a limit ends it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from kgaudit.agent.actions import Action, Answer, Conclude, JudgeAgain, ReadDocument, SearchDocuments
from kgaudit.agent.mentions import stretch_naming_both
from kgaudit.claims import Claim
from kgaudit.documents import Document, Passage, Query
from kgaudit.models.chat import ChatModel
from kgaudit.models.judge import Weighing
from kgaudit.verdicts import ModelCall, Stance, Step, Trajectory, Verdict

MAX_SEARCHES = 8
TOP_K = 5


@dataclass(frozen=True, slots=True)
class Observation:
    """A search and what came back, best first."""

    search: SearchDocuments
    passages: tuple[Passage, ...]


@dataclass(slots=True)
class State:
    """What a policy may look at: the claim, what was asked, what came back and how it was judged."""

    claim: Claim
    observations: list[Observation] = field(default_factory=list)
    passages: dict[str, Passage] = field(default_factory=dict)
    stances: dict[str, Stance] = field(default_factory=dict)
    documents_read: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    judged_pairs: int = 0
    calls: list[ModelCall] = field(default_factory=list)
    memo: dict[str, str] = field(default_factory=dict)  # a policy's own notes on this claim

    def was_asked(self, query: Query) -> bool:
        """Whether the same text was searched before, whatever its case and spacing."""
        text = _normal(query.text)
        return any(_normal(observation.search.query.text) == text for observation in self.observations)

    @property
    def model_calls(self) -> int:
        """Requests that were made of a language model, repairs included."""
        return sum(len(call.digests) for call in self.calls)

    @property
    def tokens(self) -> int:
        """Tokens that a language model read and wrote."""
        return sum(call.tokens for call in self.calls)

    @property
    def searches_left(self) -> int:
        """How many searches are still allowed; reading a document counts as one."""
        return MAX_SEARCHES - self.searches

    @property
    def searches(self) -> int:
        """Searches made and documents read."""
        return len(self.observations) + len(self.documents_read)

    def close_step(self, step: Step, begun: float) -> None:
        """Keeps a step with the time since `begun` and the model calls that no step holds yet."""
        held = sum(len(one.calls) for one in self.steps)
        self.steps.append(replace(step, seconds=time.monotonic() - begun, calls=tuple(self.calls[held:])))

    def judged(self) -> tuple[list[Passage], list[Stance]]:
        """The passages that were judged and their stances, in the order in which they were found."""
        found = [(self.passages[key], stance) for key, stance in self.stances.items()]
        return [passage for passage, _ in found], [stance for _, stance in found]


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())


class Environment(Protocol):
    """What the loop and the policies act through."""

    @property
    def chat(self) -> ChatModel | None:
        """The language model, where the run has one."""
        ...

    async def search(self, query: Query, k: int) -> list[Passage]:
        """What is read of the documents of the best `k` passages."""
        ...

    async def read(self, document_id: str) -> Document | None:
        """The whole document, or None where there is none."""
        ...

    async def judge(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        """The stances of passages on claims."""
        ...

    async def glance(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        """Quicker and less sure stances, for choosing what to judge."""
        ...

    def weigh(self, claim: Claim, passages: Sequence[Passage], stances: Sequence[Stance]) -> Weighing:
        """Many stances to one weighing."""
        ...


class Policy(Protocol):
    """Decides what to do next. Found by the entry point group `kgaudit.policies`."""

    @property
    def name(self) -> str:
        """The name on the command line."""
        ...

    @property
    def settings(self) -> dict[str, object]:
        """All that decides what the policy does, for the run's spec."""
        ...

    async def act(self, state: State, environment: Environment) -> Action:
        """The next action. Called until it answers or concludes."""
        ...

    async def assess(self, state: State, found: Sequence[Passage], environment: Environment) -> list[Stance]:
        """How the passages that a search brought for the first time bear on the claim."""
        ...


async def verify(claim: Claim, policy: Policy, environment: Environment) -> tuple[Trajectory, tuple[Passage, ...]]:
    """Runs one policy on one claim to its verdict; returns the trajectory and every passage that was seen."""
    begun = time.monotonic()
    state = State(claim)
    while True:
        step_begun = time.monotonic()
        action = await policy.act(state, environment)
        if isinstance(action, Answer | Conclude):
            break
        state.close_step(await _carry_out(action, state, policy, environment), step_begun)
    state.close_step(_closing_step(action), step_begun)
    trajectory = Trajectory(
        key=claim.key,
        policy=policy.name,
        steps=tuple(state.steps),
        verdict=action.verdict,
        searches=state.searches,
        judged_pairs=state.judged_pairs,
        model_calls=state.model_calls,
        tokens=state.tokens,
        seconds=time.monotonic() - begun,
    )
    return trajectory, tuple(state.passages.values())


async def _carry_out(
    action: SearchDocuments | ReadDocument | JudgeAgain, state: State, policy: Policy, environment: Environment
) -> Step:
    if isinstance(action, JudgeAgain):
        return await _judge_again(state, policy, environment)
    if not state.searches_left:
        raise AssertionError(f"policy {policy.name} searched past its limit")
    if isinstance(action, SearchDocuments):
        return await _search(state, action, policy, environment)
    return await _read(state, action, policy, environment)


async def _judge_again(state: State, policy: Policy, environment: Environment) -> Step:
    found = list(state.passages.values())
    stances = await policy.assess(state, found, environment)
    judged = tuple((passage.id, stance) for passage, stance in zip(found, stances, strict=True))
    state.stances = dict(judged)
    state.judged_pairs += len(judged)
    return Step("judge_again", passages=tuple(state.passages), stances=judged)


async def _search(state: State, action: SearchDocuments, policy: Policy, environment: Environment) -> Step:
    if state.was_asked(action.query):
        raise AssertionError(f"policy {policy.name} searched twice for {action.query.text!r}")
    found = await environment.search(action.query, TOP_K)
    state.observations.append(Observation(action, tuple(found)))
    stances = await _take_in(state, found, policy, environment)
    return Step(
        action="search_documents",
        query=action.query.text,
        combination=action.combination,
        passages=tuple(passage.id for passage in found),
        stances=stances,
    )


async def _read(state: State, action: ReadDocument, policy: Policy, environment: Environment) -> Step:
    document = await environment.read(action.document_id)
    state.documents_read.append(action.document_id)
    stretch = stretch_naming_both(document, state.claim) if document else None
    found = [stretch] if stretch else []
    stances = await _take_in(state, found, policy, environment)
    note = "" if found else "no stretch of it names both"
    passages = tuple(passage.id for passage in found)
    return Step("read_document", action.document_id, "", passages, stances, note)


async def _take_in(state: State, found: list[Passage], policy: Policy, environment: Environment) -> tuple[tuple[str, Stance], ...]:
    """Has the policy assess what is new, and keeps it."""
    new = [passage for passage in found if passage.id not in state.passages]
    state.passages.update((passage.id, passage) for passage in new)
    stances = await policy.assess(state, new, environment)
    judged = tuple((passage.id, stance) for passage, stance in zip(new, stances, strict=True))
    state.stances.update(judged)
    state.judged_pairs += len(judged)
    return judged


def _closing_step(action: Answer | Conclude) -> Step:
    return Step(
        action="answer" if isinstance(action, Answer) else "conclude",
        note=f"{action.verdict.verdict}: {action.verdict.reason}",
    )


def not_judged(claim: Claim, policy: str, reason: str, seconds: float = 0.0) -> Trajectory:
    """The trajectory of a claim that could not be verified: never a label."""
    verdict = Verdict("not_judged", reason, "none")
    return Trajectory(claim.key, policy, (Step("conclude", note=reason),), verdict, seconds=seconds)
