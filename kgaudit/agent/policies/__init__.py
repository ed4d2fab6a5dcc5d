"""Policies: each small, beside its paper. `policy(name)` finds ours and those of others by entry point `kgaudit.policies`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgaudit.agent.loop import Policy
from kgaudit.agent.policies.agentkgv import AgentKGV
from kgaudit.agent.policies.cooccurrence import CoOccurrence
from kgaudit.agent.policies.single_turn import SingleTurn
from kgaudit.claims import Claim
from kgaudit.errors import UsageError
from kgaudit.verdicts import Verdict

Route = Callable[[Claim], Verdict | None]

_OURS: dict[str, Callable[[Sequence[Route]], Policy]] = {
    "agentkgv": AgentKGV,
    "single_turn": SingleTurn,
    "cooccurrence": CoOccurrence,
}


def policy_names() -> tuple[str, ...]:
    """The names that `make_policy` knows."""
    from importlib.metadata import entry_points

    return tuple(sorted({*_OURS, *(entry.name for entry in entry_points(group="kgaudit.policies"))}))


def make_policy(name: str, routes: Sequence[Route] = ()) -> Policy:
    """The policy of that name; `routes` decide claims without retrieval, in order. Raises `UsageError` naming what there is."""
    from importlib.metadata import entry_points

    if name in _OURS:
        return _OURS[name](routes)
    for entry in entry_points(group="kgaudit.policies"):
        if entry.name == name:
            made: Policy = entry.load()(routes)
            return made
    raise UsageError(f"there is no policy {name!r}", todo=f"Policies are {', '.join(policy_names())}.")
