"""Documents, passages, and the protocol that every retriever implements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Protocol, runtime_checkable

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Document:
    """An entry of the corpus. `text` is what offsets point into, code point by code point, never renormalised."""

    id: str
    text: str
    title: str = ""
    language: str = ""
    date: str = ""
    url: str = ""

    @property
    def digest(self) -> str:
        """Content hash: sha256 over title and text."""
        return sha256(f"{self.title}\x00{self.text}".encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved piece of a document: `text == document.text[start:end]`."""

    document_id: str
    start: int
    end: int
    text: str
    title: str = ""
    language: str = ""
    date: str = ""
    url: str = ""
    document_digest: str = ""
    score: float = 0.0

    @property
    def id(self) -> str:
        """Names the passage for good: document id, document content and offsets."""
        return sha256(f"{self.document_id}\x00{self.document_digest}\x00{self.start}\x00{self.end}".encode()).hexdigest()[:32]


READ_CHARACTERS = 6000
"""What is read of a document around what a search found in it. What a text says of a name often stands sentences away from it, and
how often and how near two names stand in the whole document says more than one passage does."""


def reading_of(document: Document, found: Passage) -> Passage:
    """The document as a passage, or `READ_CHARACTERS` of it around `found` where it is longer."""
    if len(document.text) <= READ_CHARACTERS:
        start, end = 0, len(document.text)
    else:
        spare = max(0, READ_CHARACTERS - (found.end - found.start))
        start = max(0, min(found.start - spare // 2, len(document.text) - READ_CHARACTERS))
        end = min(len(document.text), max(start + READ_CHARACTERS, found.end))
        start = start if start == 0 else _word_start(document.text, start, found.start)
    return replace(found, start=start, end=end, text=document.text[start:end])


def _word_start(text: str, start: int, limit: int) -> int:
    """The first beginning of a word at or after `start`, before `limit`."""
    at = start
    while at < limit and not text[at - 1].isspace():
        at += 1
    return at if at < limit else start


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of a retriever.

    `text` is plain text in which no character has a meaning of its own. `names` are groups of alternative names (a group for
    the subject, one for the object): at least one of each group is looked for, which retrievers may use to rank.
    """

    text: str
    names: tuple[tuple[str, ...], ...] = ()
    language: str = ""


class Retriever(Protocol):
    """Finds passages. Implementations are found by the entry point group `kgaudit.retrievers`."""

    @property
    def snapshot(self) -> str:
        """Identity of what is searched: equal where every search returns the same."""
        ...

    def search(self, queries: Sequence[Query], k: int) -> list[list[Passage]]:
        """The best `k` passages for each query, best first; ties in a fixed order. May be called from several threads.

        Raises `TransientError` where trying again may help and `PermanentError` where it does not.
        """
        ...

    def document(self, identity: str) -> Document | None:
        """The whole document of this id, or None where there is none. May be called from several threads; raises as `search`."""
        ...

    def close(self) -> None:
        """Lets go of files and connections."""
        ...


@runtime_checkable
class ReadsMany(Protocol):
    """A retriever that reads many documents in one go, as one on a server should."""

    def read_many(self, identities: Sequence[str]) -> list[Document | None]:
        """What `Retriever.document` gives for each id."""
        ...


PASSAGE_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("document_id", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("language", pa.string(), nullable=False),
        pa.field("date", pa.string(), nullable=False),
        pa.field("url", pa.string(), nullable=False),
        pa.field("document_digest", pa.string(), nullable=False),
    ]
)
"""The passages that a run saw, each once."""
