"""The answers that language models are asked for. Their JSON schemas go to the server, and are part of what decides an answer."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

Combination = Literal["s+o", "s+p+o", "s+p", "p+o", "s", "o"]
STANCES = ("supports", "refutes", "neither")
KNOWN = ("true", "false")
THOUGHTS = ("supports", "refutes", "search")


Quote = Annotated[int | str, WithJsonSchema({"type": "integer"})]
"""A sentence by its number. Servers are held to numbers, which cannot be miscopied; words count too where they stand in the text."""

Short = Annotated[str, Field(json_schema_extra={"maxLength": 120})]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", str_max_length=4000)


class Judgement(_Answer):
    """What one document says of a claim (`judge.md`)."""

    quote: Quote
    verdict: Literal["supports", "refutes", "neither"]
    instead: Short


class Summary(_Answer):
    """What of a document bears on a claim (`summarise.md`)."""

    quotes: list[Quote] = Field(max_length=6)


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

    quote: Quote
    verdict: Literal["supports", "refutes", "neither"]


class Thought(_Answer):
    """One step of interleaved retrieval and reasoning (`think.md`)."""

    thought: str
    quote: Quote
    verdict: Literal["supports", "refutes", "search"]
