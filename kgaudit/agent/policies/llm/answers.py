"""The answers that language models are asked for. Their JSON schemas go to the server, and are part of what decides an answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Combination = Literal["s+o", "s+p+o", "s+p", "p+o", "s", "o"]
STANCES = ("supports", "refutes", "neither")
KNOWN = ("true", "false")
THOUGHTS = ("supports", "refutes", "search")


Numbered = Annotated[str, Field(json_schema_extra={"pattern": r"^(\[[0-9]{1,2}\])?$"})]
"""A quote by the number of its sentence, [3]. Only the server is held to the pattern: words are taken too where they stand in the text."""

NumberedOfSeveral = Annotated[str, Field(json_schema_extra={"pattern": r"^(\[[0-9]{1,2}\.[0-9]{1,2}\])?$"})]
"""As `Numbered`, [2.3]: sentence 3 of document 2."""


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", str_max_length=4000)


class Judgement(_Answer):
    """What one document says of a claim (`judge.md`)."""

    quote: Numbered
    verdict: Literal["supports", "refutes", "neither"]
    instead: str


class Summary(_Answer):
    """What of a document bears on a claim (`summarise.md`)."""

    quotes: list[Numbered] = Field(max_length=6)


class SearchQuery(_Answer):
    """A search query (`query.md`, `rewrite.md`)."""

    combination: Combination
    form: Literal["keywords", "statement", "question"]
    query: str


class Known(_Answer):
    """What a model knows of a claim (`known.md`)."""

    verdict: Literal["true", "false"]


class Reading(_Answer):
    """What several documents say of a claim together (`answer.md`)."""

    quote: NumberedOfSeveral
    verdict: Literal["supports", "refutes", "neither"]


class Thought(_Answer):
    """One step of interleaved retrieval and reasoning (`think.md`)."""

    thought: str
    quote: NumberedOfSeveral
    verdict: Literal["supports", "refutes", "search"]
