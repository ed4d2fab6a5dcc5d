"""Component combinations: which of subject, predicate and object a query is built from, and in what surface form.

Source: AgentKGV, section 3.2.3 and appendix A (table 3).
"""

from __future__ import annotations

from kgaudit.agent.actions import SearchDocuments
from kgaudit.claims import Claim, Entity
from kgaudit.documents import Query

MAX_NAMES = 8
"""At most this many names of an entity go into a query: a thing with hundreds of aliases must not make a query of them all."""


def _names(entity: Entity) -> tuple[str, ...]:
    return entity.names[:MAX_NAMES]


def _search(claim: Claim, combination: str, *parts: str) -> SearchDocuments:
    text = " ".join(part for part in parts if part)
    language = claim.subject.language or claim.object.language
    return SearchDocuments(Query(text, (_names(claim.subject), _names(claim.object)), language), combination)


def subject_object(claim: Claim) -> SearchDocuments:
    """`s+o`, keyword: the two names and nothing that the documents may word otherwise."""
    return _search(claim, "s+o", claim.subject.label, claim.object.label)


def whole(claim: Claim) -> SearchDocuments:
    """`s+p+o`, declarative."""
    return _search(claim, "s+p+o", claim.subject.label, claim.predicate.label, claim.object.label)


def paraphrased(claim: Claim) -> SearchDocuments | None:
    """`s+p+o` with another phrase for the predicate, or None where the card has none."""
    for phrase in claim.predicate.paraphrases:
        return _search(claim, "s+p+o, paraphrase", claim.subject.label, phrase, claim.object.label)
    return None


def aliases(claim: Claim) -> SearchDocuments | None:
    """`s+o` with all the names of both, or None where neither has an alias."""
    if not claim.subject.aliases and not claim.object.aliases:
        return None
    return _search(claim, "s+o, aliases", *_names(claim.subject), *_names(claim.object))


def subject_predicate(claim: Claim) -> SearchDocuments:
    """`s+p`: what the documents say of the subject in the place of the object."""
    return _search(claim, "s+p", claim.subject.label, claim.predicate.label)


def predicate_object(claim: Claim) -> SearchDocuments:
    """`p+o`, inverse phrase where the card has one: what the documents say of the object."""
    return _search(claim, "p+o, inverse", claim.object.label, claim.predicate.inverse or claim.predicate.label)


def subject_alone(claim: Claim) -> SearchDocuments:
    """`s` with all its names: does any document speak of it at all?"""
    return _search(claim, "s", *_names(claim.subject))


def object_alone(claim: Claim) -> SearchDocuments:
    """`o` with all its names."""
    return _search(claim, "o", *_names(claim.object))
