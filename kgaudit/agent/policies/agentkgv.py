"""AgentKGV in its embedded form: route, ask, rewrite from what came back, stop when the evidence suffices.

Source: AgentKGV, section 3.2: dynamic routing (3.2.2), a first query from a component combination (3.2.3), rewriting from earlier
queries and their results (3.2.4). Here rules take the language model's place: a partly relevant result leads to another combination,
a useless one to another surface form, and no query is asked twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kgaudit.agent import queries
from kgaudit.agent.actions import Action, Answer, Conclude, ReadDocument, SearchDocuments
from kgaudit.agent.attribution import attributed, said_of_itself
from kgaudit.agent.conclude import ERROR_COST, certainty, refuted_by_rival, share_with_rival, verdict_from
from kgaudit.agent.loop import MAX_SEARCHES, TOP_K, Environment, State
from kgaudit.agent.mentions import any_names, names_both, names_entity
from kgaudit.agent.rivals import strongest_rival
from kgaudit.agent.statements import statement_claim, tempered
from kgaudit.agent.steering import unsteered
from kgaudit.claims import Claim, Entity
from kgaudit.documents import READ_CHARACTERS, Passage
from kgaudit.models.values import claimed_value
from kgaudit.verdicts import Stance, Verdict, VerdictName
from kgaudit.wording import is_unnamed

ENOUGH = 0.75
"""Evidence suffices from this probability of support or contradiction on."""

MAX_STATEMENTS = 5
RIVAL_WEIGHT = 0.15
"""What the odds of the strongest rival count beside those of a claim of which only one can hold: it is the best of many candidates.
On the dev split of wiki-triples 0.03 to 0.15 differ by three triples in macro F1 (.872 to .868), and 0.15 refutes most (46 of 612)."""

MAX_READ = 2
"""Long documents read for names that stand far apart, after a search that brought no passage with both names."""


class AgentKGV:
    """The default policy. `routes` decide claims without retrieval, in order (schema, trusted graph).

    `error_cost`: what a wrong verdict costs beside an abstention (`kgaudit.agent.conclude.certainty`).
    """

    name = "agentkgv"

    def __init__(self, routes: Sequence[Callable[[Claim], Verdict | None]] = (), error_cost: float = ERROR_COST) -> None:
        self._routes = tuple(routes)
        self._certain = certainty(error_cost)
        self.settings: dict[str, object] = {
            "top_k": TOP_K,
            "max_searches": MAX_SEARCHES,
            "max_read": MAX_READ,
            "enough": ENOUGH,
            "rival_weight": RIVAL_WEIGHT,
            "error_cost": error_cost,
        }

    async def act(self, state: State, environment: Environment) -> Action:
        """Routes first; then searches until the evidence suffices or no query is left that could bring more."""
        if not state.observations:
            verdict = self._route(state.claim)
            return Answer(verdict) if verdict else _first_query(state.claim)
        passages, stances = state.judged()
        weighing = environment.weigh(state.claim, passages, stances)
        if max(weighing.p_supported, weighing.p_refuted) < ENOUGH and state.searches_left:
            action = next_document(state) or _next_query(state)
            if action is not None:
                return action
        return Conclude(await self._conclude(state, environment))

    def _route(self, claim: Claim) -> Verdict | None:
        for route in self._routes:
            verdict = route(claim)
            if verdict is not None:
                return verdict
        return unverifiable(claim)

    async def assess(self, state: State, found: Sequence[Passage], environment: Environment) -> list[Stance]:
        """The judge's stances; where a statement is checked, the best over the statements for each passage."""
        claim = state.claim
        if not claim.statement:
            stances = await environment.judge([(claim, passage) for passage in found])
            pairs = zip(found, stances, strict=True)
            return [attributed(claim, passage, said_of_itself(claim, passage, unsteered(passage, stance))) for passage, stance in pairs]
        best = [Stance(0.0, 0.0, 1.0)] * len(found)
        for statement in claim.statements[:MAX_STATEMENTS]:
            stated = statement_claim(claim, statement)
            if stated is None:
                continue
            stances = await environment.judge([(stated, passage) for passage in found])
            for index, (passage, stance) in enumerate(zip(found, stances, strict=True)):
                stance = tempered(claim, statement, passage, stance)
                if stance.supports > best[index].supports or best[index].neither == 1.0:
                    best[index] = stance
                    state.memo[passage.id] = statement
        return best

    async def _conclude(self, state: State, environment: Environment) -> Verdict:
        claim = state.claim
        passages, stances = state.judged()
        weighing = environment.weigh(claim, passages, stances)
        alone, rival = weighing.p_supported, None
        if not claim.statement and claim.triple.s != claim.triple.o:
            # What is not supported anyway can only become less so.
            rival = await strongest_rival(claim, passages, environment, closely=alone >= 0.5)
        if rival is not None:
            shared = share_with_rival(weighing, rival, RIVAL_WEIGHT)
            if shared.p_refuted >= self._certain:
                return refuted_by_rival(rival, shared)
            weighing = shared
        reasons: dict[VerdictName, str] = {}
        reason = why_not_enough(state)
        if rival is not None and weighing.p_supported < self._certain <= alone:
            reason = f"the documents speak for it, but also for “{rival.label}”, and there is only one"
        if reason:
            reasons["not_enough_evidence"] = reason
        statement = claim.statement or None
        if claim.statement and weighing.deciding:
            statement = state.memo.get(passages[weighing.deciding[0]].id, claim.statement)
        return verdict_from(
            weighing,
            passages,
            stances,
            reasons=reasons,
            route="statement" if claim.statement else "retrieval",
            statement=statement,
            certain=self._certain,
        )


def unverifiable(claim: Claim) -> Verdict | None:
    """Claims that no document can decide, with the reason."""
    if claim.statement:
        return None
    if claim.predicate.vacuous:
        reason = f"the predicate “{claim.predicate.label}” says nothing that could be checked, and there is no statement"
    elif claim.fragment:
        reason = claim.fragment
    elif is_unnamed(claim.subject) or is_unnamed(claim.object):
        entity = claim.subject if is_unnamed(claim.subject) else claim.object
        reason = f"{entity.label} has no name that a document could hold"
    else:
        return None
    return Verdict("not_enough_evidence", reason, "none", p_supported=0.0, confidence=1.0)


def _first_query(claim: Claim) -> SearchDocuments:
    if claimed_value(claim.object) is not None:  # documents write dates and numbers in many ways: the predicate's words help
        return queries.whole(claim)
    return queries.subject_object(claim)


def next_document(state: State) -> ReadDocument | None:
    """A document that names the subject and was read in part only: what is said of it may stand pages away from its name."""
    claim = state.claim
    passages = list(state.passages.values())
    if len(state.documents_read) >= MAX_READ or any(names_both(passage, claim) for passage in passages):
        return None
    for passage in passages:
        in_part = passage.start > 0 or len(passage.text) >= READ_CHARACTERS
        if in_part and passage.document_id not in state.documents_read and names_entity(passage, claim.subject):
            return ReadDocument(passage.document_id)
    return None


def _next_query(state: State) -> SearchDocuments | None:
    """The first query of the options for what came back that was not asked yet."""
    for option in _options(state):
        if option is not None and option.query.text.strip() and not state.was_asked(option.query):
            return option
    return None


def _options(state: State) -> Iterator[SearchDocuments | None]:
    claim = state.claim
    passages = list(state.passages.values())
    if any(names_both(passage, claim) for passage in passages):
        return  # what names both was found and judged: asking in other words brings the same passages
    yield queries.aliases(claim)
    if not any_names(passages, claim.subject):
        yield queries.subject_alone(claim)
        if not any_names(passages, claim.subject):
            return  # the documents do not know the subject
    if not any_names(passages, claim.object):
        yield queries.object_alone(claim)
        if not any_names(passages, claim.object):
            return
    yield queries.whole(claim)
    yield queries.paraphrased(claim)
    yield queries.subject_predicate(claim)
    yield queries.predicate_object(claim)


def why_not_enough(state: State) -> str:
    claim = state.claim
    passages = list(state.passages.values())
    same = "subject and object are the same, and no passage says it of itself" if claim.triple.s == claim.triple.o else ""
    if same:
        return same
    if any(names_both(passage, claim) for passage in passages):
        return "the documents name both, but no passage states " + ("the statement" if claim.statement else "the relation")
    for entity in (claim.subject, claim.object):
        if not any_names(passages, entity):
            return f"no passage that was found names {_shown(entity)}"
    return f"no passage names both {_shown(claim.subject)} and {_shown(claim.object)}"


def _shown(entity: Entity) -> str:
    return f"“{entity.label[:80]}”"
