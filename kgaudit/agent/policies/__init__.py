"""Policies: each small, beside its paper. `policy(name)` finds ours and those of others by entry point `kgaudit.policies`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kgaudit.agent.conclude import ERROR_COST
from kgaudit.agent.loop import Policy
from kgaudit.agent.policies.agentkgv import AgentKGV
from kgaudit.agent.policies.cooccurrence import CoOccurrence
from kgaudit.agent.policies.single_turn import SingleTurn
from kgaudit.claims import Claim
from kgaudit.errors import UsageError
from kgaudit.verdicts import Verdict

if TYPE_CHECKING:
    from kgaudit.agent.policies.llm.use import ModelUse

Route = Callable[[Claim], Verdict | None]

_OURS: dict[str, Callable[[Sequence[Route]], Policy]] = {
    "single_turn": SingleTurn,
    "cooccurrence": CoOccurrence,
}

WITH_MODEL = ("agentkgv", "cascade", "direct", "ircot", "single_turn")
"""The policies that a language model steers where a run has one; the others take no notice of it."""


def policy_names() -> tuple[str, ...]:
    """The names that `make_policy` knows."""
    from importlib.metadata import entry_points

    return tuple(sorted({*_OURS, "agentkgv", *WITH_MODEL, *(entry.name for entry in entry_points(group="kgaudit.policies"))}))


def make_policy(name: str, routes: Sequence[Route] = (), use: ModelUse | None = None, error_cost: float = ERROR_COST) -> Policy:
    """The policy of that name; `routes` decide claims without retrieval, in order. `use` says how it uses the run's language model,
    None: there is none. `error_cost` is for `agentkgv` as the embedded judge steers it. Raises `UsageError` naming what there is, or
    that a policy needs a model."""
    from importlib.metadata import entry_points

    if name in WITH_MODEL and use is not None:
        _refuse_error_cost(error_cost, name)
        return _with_model(name, routes, use)
    if name == "agentkgv":
        return AgentKGV(routes, error_cost)
    _refuse_error_cost(error_cost, name)
    if name in _OURS:
        return _OURS[name](routes)
    if name in WITH_MODEL:
        raise UsageError(f"the policy {name} needs a language model", todo="Name one: --model openai:http://host:8000/v1#name.")
    for entry in entry_points(group="kgaudit.policies"):
        if entry.name == name:
            made: Policy = entry.load()(routes)
            return made
    raise UsageError(f"there is no policy {name!r}", todo=f"Policies are {', '.join(policy_names())}.")


def _refuse_error_cost(error_cost: float, name: str) -> None:
    if error_cost != ERROR_COST:
        raise UsageError(f"the policy {name} takes no error cost", todo="Leave out --error-cost, or use agentkgv without --model.")


def _with_model(name: str, routes: Sequence[Route], use: ModelUse) -> Policy:
    from kgaudit.agent.cascade import Cascade
    from kgaudit.agent.policies.direct import Direct
    from kgaudit.agent.policies.ircot import IRCoT
    from kgaudit.agent.policies.llm.agentkgv import LLMAgentKGV
    from kgaudit.agent.policies.llm.single_turn import LLMSingleTurn

    policies: dict[str, Callable[[Sequence[Route], ModelUse], Policy]] = {
        "agentkgv": LLMAgentKGV,
        "cascade": Cascade,
        "direct": Direct,
        "ircot": IRCoT,
        "single_turn": LLMSingleTurn,
    }
    return policies[name](routes, use)
