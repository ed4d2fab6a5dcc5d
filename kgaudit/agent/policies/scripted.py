"""A policy that plays a script: for tests of the loop, the engine and the replay."""

from __future__ import annotations

from collections.abc import Sequence

from kgaudit.agent.actions import Action
from kgaudit.agent.loop import Environment, State
from kgaudit.documents import Passage
from kgaudit.verdicts import Stance


class Scripted:
    """Plays the actions in order, one an `act`; passages are all judged `neither` unless the script holds stances."""

    name = "scripted"

    def __init__(self, actions: Sequence[Action], stances: Sequence[Stance] = ()) -> None:
        self._actions = tuple(actions)
        self._stances = tuple(stances)
        self.settings: dict[str, object] = {"actions": len(self._actions)}

    async def act(self, state: State, environment: Environment) -> Action:
        """The next action of the script."""
        return self._actions[state.searches]

    async def assess(self, state: State, found: Sequence[Passage], environment: Environment) -> list[Stance]:
        """The scripted stances, by the order in which passages are found."""
        begun = len(state.stances)
        return [self._stances[begun + i] if begun + i < len(self._stances) else Stance(0.0, 0.0, 1.0) for i in range(len(found))]
