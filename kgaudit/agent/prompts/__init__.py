"""The prompts: one file a task, behind the part that all of them share (servers keep the shared beginning of prompts in a cache)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

SHARED = "shared"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is told to do. `{fence}` stands for the run's fence; the digest is that of the text before it is put in."""

    name: str
    text: str
    digest: str

    def system(self, fence: str) -> str:
        """The text with the run's fence."""
        return self.text.replace("{fence}", fence)


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt of this name: `shared.md`, then `NAME.md`."""
    folder = files("kgaudit.agent.prompts")
    parts = [(folder / f"{part}.md").read_text(encoding="utf-8").strip() for part in (SHARED, name)]
    text = "\n\n".join(parts)
    return Prompt(name, text, sha256(text.encode()).hexdigest())


def prompt_digests(names: tuple[str, ...]) -> dict[str, str]:
    """Name to digest, for specs and calibration files."""
    return {name: load_prompt(name).digest for name in names}
