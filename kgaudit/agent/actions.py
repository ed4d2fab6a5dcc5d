"""What a policy may do next."""

from __future__ import annotations

from dataclasses import dataclass

from kgaudit.documents import Query
from kgaudit.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class SearchDocuments:
    """Search the documents. `combination` names what the query is built from, e.g. `s+o` or `s+p, inverse`."""

    query: Query
    combination: str


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """Read a document that a search brought a piece of: the stretch of it that names subject and object, if there is one."""

    document_id: str


@dataclass(frozen=True, slots=True)
class JudgeAgain:
    """Have all that was found assessed once more: a policy that changed its judge."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict without retrieval."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Conclude:
    """A verdict from what was retrieved."""

    verdict: Verdict


Action = SearchDocuments | ReadDocument | JudgeAgain | Answer | Conclude
