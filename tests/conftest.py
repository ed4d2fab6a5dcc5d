from __future__ import annotations

from collections.abc import Sequence

import pytest

from kgaudit.claims import Claim, Entity, PredicateCard
from kgaudit.documents import Document, Passage, Query
from kgaudit.models.judge import Weighing
from kgaudit.triples import Triple, name_term
from kgaudit.verdicts import Stance

pytest.register_assert_rewrite("contract")


def make_claim(subject: str, predicate: str, obj: str, **changes: object) -> Claim:
    triple = Triple(name_term(subject), name_term(predicate), name_term(obj))
    card = PredicateCard(iri=triple.p[1:-1], label=predicate)
    return Claim(triple.key, triple, Entity(triple.s, subject), card, Entity(triple.o, obj), **changes)  # type: ignore[arg-type]


def make_passage(document_id: str, text: str, **changes: object) -> Passage:
    return Passage(document_id, 0, len(text), text, **changes)  # type: ignore[arg-type]


class WordRetriever:
    """Ranks passages by how many of the query's words they hold."""

    snapshot = "words"

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = list(passages)
        self.queries: list[str] = []

    def search(self, queries: Sequence[Query], k: int) -> list[list[Passage]]:
        self.queries.extend(query.text for query in queries)
        return [self._one(query, k) for query in queries]

    def _one(self, query: Query, k: int) -> list[Passage]:
        words = set(query.text.casefold().split())
        scored = [(sum(word in passage.text.casefold() for word in words), passage) for passage in self.passages]
        ranked = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1].document_id))
        return [passage for _, passage in ranked[:k]]

    def document(self, identity: str) -> Document | None:
        texts = [passage.text for passage in self.passages if passage.document_id == identity]
        return Document(identity, " ".join(texts)) if texts else None

    def close(self) -> None:
        pass


class WordJudge:
    """Supports where the passage holds subject, predicate and object word for word; refutes where it also holds "not"."""

    name = "words"
    digest = "0" * 64

    def judge(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        return [self._one(claim, passage) for claim, passage in pairs]

    def _one(self, claim: Claim, passage: Passage) -> Stance:
        text = passage.text.casefold()
        if not all(part.casefold() in text for part in (claim.subject.label, claim.predicate.label, claim.object.label)):
            return Stance(0.0, 0.0, 1.0)
        return Stance(0.0, 0.9, 0.1, 0, len(text), "denied") if " not " in text else Stance(0.9, 0.0, 0.1, 0, len(text))

    def weigh(self, claim: Claim, passages: Sequence[Passage], stances: Sequence[Stance]) -> Weighing:
        supports = max((stance.supports for stance in stances), default=0.0)
        refutes = max((stance.refutes for stance in stances), default=0.0)
        order = sorted(range(len(stances)), key=lambda i: -max(stances[i].supports, stances[i].refutes))
        return Weighing(supports, refutes, tuple(i for i in order if stances[i].neither < 0.5))


@pytest.fixture
def judge() -> WordJudge:
    return WordJudge()
