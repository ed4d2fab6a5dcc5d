"""How a run uses its language model, and the questions that policies put to it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgaudit.agent.loop import Environment
from kgaudit.agent.prompts import load_prompt, prompt_digests
from kgaudit.models.chat import ChatModel, ChatRequest, Message
from kgaudit.models.chat_calibration import ChatCalibration, read_calibration
from kgaudit.models.confidence import Sure, ask_sure
from kgaudit.models.typed import NoAnswerError, T, ask
from kgaudit.verdicts import ModelCall

PROMPTS = ("judge", "summarise", "query", "rewrite", "known", "answer", "think")


def new_fence() -> str:
    """A fence for a run: 64 random bits, which no document can know beforehand. A run keeps it, so that its calls are found again."""
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class ModelUse:
    """What the policies of one run share: the fence around data, and the calibration where there is one."""

    fence: str
    calibration: ChatCalibration | None = None

    def words(self, policy: str) -> str:
        """On what a policy's confidence rests, for people."""
        return self.calibration.words if self.calibration and policy in self.calibration.policies else "uncalibrated"

    def scaled(self, policy: str, p: float) -> float:
        """The calibrated probability of a policy, or the raw one where there is no calibration of it."""
        scaling = self.calibration.policies.get(policy) if self.calibration else None
        return scaling(p) if scaling else p

    def settings(self, policy: str, prompts: Sequence[str]) -> dict[str, object]:
        """For the run's spec: the prompts' digests, and on what confidence rests."""
        return {
            "prompts": prompt_digests(tuple(prompts)),
            "confidence": self.words(policy),
            "calibration": self.calibration.digest if self.calibration else None,
        }


def open_use(chat: ChatModel, fence: str, calibration: Path | None) -> ModelUse:
    """The use of a model, with the calibration of a file. Raises what `read_calibration` raises, and `UsageError` where it is of
    another model or of other prompts."""
    if calibration is None:
        return ModelUse(fence)
    found = read_calibration(calibration)
    found.check(chat, prompt_digests(PROMPTS), str(calibration))
    return ModelUse(fence, found)


@dataclass(slots=True)
class Questions:
    """Puts questions to the model and keeps each call. Every method raises `NoAnswerError` where there is no valid answer (the call is
    kept all the same), and what the model raises where its endpoint fails."""

    chat: ChatModel
    fence: str
    calls: list[ModelCall] = field(default_factory=list)

    async def ask(self, task: str, blocks: Sequence[str], schema: type[T], max_tokens: int) -> T:
        """One answer."""
        try:
            typed = await ask(self.chat, self._request(task, blocks, max_tokens), schema)
        except NoAnswerError as error:
            self._keep_failure(task, error)
            raise
        answer = typed.value.model_dump_json()
        self.calls.append(ModelCall(task, answer, typed.digests, typed.prompt_tokens, typed.completion_tokens))
        return typed.value

    async def ask_sure(
        self, task: str, blocks: Sequence[str], schema: type[T], values: Sequence[str], max_tokens: int
    ) -> tuple[T, Sure[T]]:
        """One answer, with the probabilities of the values of its field `verdict`."""
        try:
            sure = await ask_sure(self.chat, self._request(task, blocks, max_tokens), schema, "verdict", values)
        except NoAnswerError as error:
            self._keep_failure(task, error)
            raise
        answer = sure.typed.value.model_dump_json()
        self.calls.append(ModelCall(task, answer, sure.digests, sure.prompt_tokens, sure.completion_tokens))
        return sure.typed.value, sure

    def _request(self, task: str, blocks: Sequence[str], max_tokens: int) -> ChatRequest:
        system = load_prompt(task).system(self.fence)
        return ChatRequest((Message("system", system), Message("user", "\n\n".join(blocks))), max_tokens=max_tokens)

    def _keep_failure(self, task: str, error: NoAnswerError) -> None:
        self.calls.append(ModelCall(task, error.reason, error.digests, error.prompt_tokens, error.completion_tokens, failed=True))


def questions(environment: Environment, fence: str) -> Questions:
    """Questions to the model of an environment, which has one: policies that need it are not made without."""
    assert environment.chat is not None
    return Questions(environment.chat, fence)
