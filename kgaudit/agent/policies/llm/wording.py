"""Search queries: the first from a component combination that the model chooses, the next from the earlier ones and what they brought.

Source: AgentKGV, sections 3.2.3 and 3.2.4, appendix A (table 3). A query that was asked before, or that lost the names it is built
from, is not used: the ladder of the embedded policy stands in.
"""

from __future__ import annotations

from collections.abc import Iterator

from kgaudit.agent import queries
from kgaudit.agent.actions import SearchDocuments
from kgaudit.agent.loop import State
from kgaudit.agent.mentions import names_both, names_entity
from kgaudit.agent.policies.llm.answers import SearchQuery
from kgaudit.agent.policies.llm.showing import block, claim_block, plain
from kgaudit.agent.policies.llm.use import Questions
from kgaudit.claims import Claim
from kgaudit.documents import Query
from kgaudit.models.typed import NoAnswerError
from kgaudit.text import find_names, fold

QUERY_TOKENS = 128
MAX_QUERY = 300
MAX_KEPT = 2


async def write_query(state: State, asked: Questions) -> SearchDocuments | None:
    """The next search, or None where neither the model nor the ladder has one that was not made before."""
    claim = state.claim
    blocks = [claim_block(claim, asked.fence, claim.statement), block("OPTIONS", asked.fence, _options(claim, asked.fence))]
    task = "query"
    if state.observations:
        task = "rewrite"
        blocks.append(block("EARLIER", asked.fence, _earlier(state, asked.fence)))
    try:
        answer = await asked.ask(task, blocks, SearchQuery, QUERY_TOKENS)
    except NoAnswerError:
        return next(_ladder(state), None)
    return _search(claim, answer, state) or next(_ladder(state), None)


def _options(claim: Claim, fence: str) -> str:
    subject, predicate, obj = claim.subject.label, claim.predicate.label, claim.object.label
    words = {
        "s+o": f"{subject} {obj}",
        "s+p+o": f"{subject} {predicate} {obj}",
        "s+p": f"{subject} {predicate}",
        "p+o": f"{claim.predicate.inverse or predicate} {obj}",
        "s": subject,
        "o": obj,
    }
    return "\n".join(f"{name}: {plain(text, 200, fence)}" for name, text in words.items())


def _earlier(state: State, fence: str) -> str:
    """Each query, and what it brought: how many passages name what, and the words that bear on the claim."""
    lines = []
    for number, observation in enumerate(state.observations, 1):
        both = sum(names_both(passage, state.claim) for passage in observation.passages)
        one = sum(
            names_entity(passage, state.claim.subject) or names_entity(passage, state.claim.object) for passage in observation.passages
        )
        use = "bears on it in part" if both or one else "of no use"
        query = plain(observation.search.query.text, MAX_QUERY, fence)
        lines.append(
            f"{number}. [{observation.search.combination}] {query}\n   {use}: {len(observation.passages)} passages, {both} name both, "
            f"{one - both} one of them"
        )
        kept = [(passage, quote) for passage in observation.passages if (quote := state.memo.get(f"kept {passage.id}"))]
        lines += [f"   {plain(passage.document_id, 60, fence)}: “{plain(quote, 160, fence)}”" for passage, quote in kept[:MAX_KEPT]]
    return "\n".join(lines)


def _search(claim: Claim, answer: SearchQuery, state: State) -> SearchDocuments | None:
    """The search of an answer; None where its words do not hold the names of its combination, or were asked before."""
    text = " ".join(answer.query.split())[:MAX_QUERY]
    folded = fold(text)
    parts = answer.combination.split("+")
    named = [entity for part, entity in (("s", claim.subject), ("o", claim.object)) if part in parts]
    if not text or any(not find_names(text, folded, entity.names) for entity in named):
        return None
    found = SearchDocuments(_query(claim, text), f"{_built_from(claim, text)}, {answer.form}")
    return None if state.was_asked(found.query) else found


def _built_from(claim: Claim, text: str) -> str:
    """The combination that a query has in fact: models choose one and write another."""
    folded = fold(text)
    subject, obj = find_names(text, folded, claim.subject.names), find_names(text, folded, claim.object.names)
    held = {letter for mention in (*subject, *obj) for letter in range(mention.start, mention.end)}
    other = any(char.isalnum() for index, char in enumerate(folded.text) if index not in held)
    return "+".join(part for part, there in (("s", subject), ("p", other), ("o", obj)) if there)


def _query(claim: Claim, text: str) -> Query:
    names = tuple(entity.names[: queries.MAX_NAMES] for entity in (claim.subject, claim.object))
    return Query(text, names, claim.subject.language or claim.object.language)


def _ladder(state: State) -> Iterator[SearchDocuments]:
    """The embedded policy's queries that were not asked yet."""
    claim = state.claim
    steps = (
        queries.subject_object(claim),
        queries.aliases(claim),
        queries.whole(claim),
        queries.paraphrased(claim),
        queries.subject_predicate(claim),
        queries.predicate_object(claim),
        queries.subject_alone(claim),
        queries.object_alone(claim),
    )
    for search in steps:
        if search is not None and search.query.text.strip() and not state.was_asked(search.query):
            yield search
