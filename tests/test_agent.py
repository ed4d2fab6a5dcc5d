from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import pytest
from conftest import WordJudge, WordRetriever, make_claim, make_passage

from kgaudit.agent.actions import Conclude, SearchDocuments
from kgaudit.agent.environment import Batcher, BatchingEnvironment, with_retries
from kgaudit.agent.loop import MAX_SEARCHES, verify
from kgaudit.agent.policies import make_policy, policy_names
from kgaudit.agent.policies.scripted import Scripted
from kgaudit.claims import Claim, Entity, PredicateCard
from kgaudit.documents import READ_CHARACTERS, Document, Passage, Query, reading_of
from kgaudit.errors import ServiceError, UsageError
from kgaudit.literals import XSD
from kgaudit.verdicts import Stance, Trajectory, Verdict, steps_from_json, steps_to_json

PASSAGES = [
    make_passage("d1", "Norrby owns Halden and has its seat in Orvik."),
    make_passage("d2", "Tarn does not owns Kestrel at all."),
    make_passage("d3", "Sund was once in Orvik."),
]


def run(claim: Claim, name: str = "agentkgv", retriever: WordRetriever | None = None, judge: WordJudge | None = None) -> Trajectory:
    environment = BatchingEnvironment(retriever or WordRetriever(PASSAGES), judge or WordJudge())
    try:
        return asyncio.run(verify(claim, make_policy(name), environment))[0]
    finally:
        environment.close()


def test_supported_claim_quotes_its_document_word_for_word() -> None:
    trajectory = run(make_claim("Norrby", "owns", "Halden"))
    verdict = trajectory.verdict
    assert (verdict.verdict, verdict.route) == ("supported", "retrieval")
    (span,) = verdict.evidence
    assert span.quote == PASSAGES[0].text[span.start : span.end]
    assert trajectory.searches == 1


def test_denied_claim_is_refuted_with_the_denial_quoted() -> None:
    verdict = run(make_claim("Tarn", "owns", "Kestrel")).verdict
    assert verdict.verdict == "refuted"
    assert verdict.evidence[0].stance == "refutes"
    assert "denied" in verdict.reason


def test_name_that_no_document_holds_is_not_enough_evidence_without_a_quote() -> None:
    verdict = run(make_claim("Zephyr Ltd", "owns", "Halden")).verdict
    assert verdict.verdict == "not_enough_evidence"
    assert verdict.evidence == ()
    assert "Zephyr" in verdict.reason


def test_rewriting_never_asks_twice_and_stays_within_the_limit() -> None:
    retriever = WordRetriever(PASSAGES)
    trajectory = run(make_claim("Sund", "owns", "Halden"), retriever=retriever)
    folded = [" ".join(query.casefold().split()) for query in retriever.queries]
    assert len(folded) == len(set(folded)) == trajectory.searches
    assert 1 < trajectory.searches <= MAX_SEARCHES
    combinations = [step.combination for step in trajectory.steps if step.action == "search_documents"]
    assert combinations[0] == "s+o"
    assert "s+p" in combinations


def apart(text: str) -> tuple[WordRetriever, str]:
    """A retriever that knows one document and finds its first sentence only."""

    class Apart(WordRetriever):
        def document(self, identity: str) -> Document | None:
            return Document("d9", text)

    return Apart([make_passage("d9", text.split(". ")[0] + ".")]), text


def test_document_of_a_passage_is_read_beyond_it() -> None:
    retriever, text = apart("Norrby was founded by a fisherman. It grew. In 1990 it bought what it owns: Halden.")
    trajectory = run(make_claim("Norrby", "owns", "Halden"), retriever=retriever)
    assert trajectory.verdict.verdict == "supported"
    assert trajectory.verdict.evidence[0].quote == text
    assert [step.action for step in trajectory.steps] == ["search_documents", "conclude"]


def test_names_that_stand_far_apart_are_found_by_reading_on() -> None:
    filling = "The harbour froze in every winter of those years. " * 140
    retriever, text = apart(f"Norrby was founded by a fisherman. {filling}Norrby grew. In 1990 it bought what it owns: Halden.")
    trajectory = run(make_claim("Norrby", "owns", "Halden"), retriever=retriever)
    assert trajectory.verdict.verdict == "supported"
    (span,) = trajectory.verdict.evidence
    assert span.quote == text[span.start : span.end]
    assert span.quote.startswith("Norrby grew.")
    assert [step.action for step in trajectory.steps] == ["search_documents", "read_document", "conclude"]


def test_reading_of_a_long_document_holds_what_was_found() -> None:
    text = " ".join(f"word{i}" for i in range(5000))
    document = Document("d", text, "Title")
    for start in (0, 20_000, len(text) - 50):
        found = Passage("d", start, min(start + 300, len(text)), text[start : start + 300])
        reading = reading_of(document, found)
        assert reading.start <= found.start
        assert reading.end >= found.end
        assert reading.text == text[reading.start : reading.end]
        assert len(reading.text) <= READ_CHARACTERS
        assert reading.start == 0 or text[reading.start - 1] == " "
    whole = Document("d", text[:1000])
    assert reading_of(whole, Passage("d", 10, 20, text[10:20])).text == whole.text


def test_rewriting_finds_what_the_first_query_missed() -> None:
    crowd = [make_passage(f"n{i}", "Norrby Halden Works annual Pumps dinner") for i in range(9)]
    claim = make_claim("Norrby Pumps", "owns", "Halden Works")
    named = Claim(
        claim.key, claim.triple, Entity(claim.subject.term, "Norrby Pumps", ("NP",)), claim.predicate, claim.object
    )  # fmt: skip
    target = make_passage("z", "NP owns Halden.")
    assert run(named, retriever=WordRetriever([*crowd, target])).searches > 1


def functional(claim: Claim, **changes: object) -> Claim:
    card = replace(claim.predicate, **{"functional": True, **changes})  # type: ignore[arg-type]
    return replace(claim, predicate=card)


def test_other_object_of_a_functional_predicate_refutes_and_is_named() -> None:
    passages = [make_passage("d1", "Norrby Pumps has its seat in Orvik."), make_passage("d2", "Halden lies on the coast.")]
    claim = make_claim("Norrby Pumps", "seat", "Halden")
    verdict = run(functional(claim), retriever=WordRetriever(passages)).verdict
    assert (verdict.verdict, verdict.better_object) == ("refuted", "Orvik")
    assert verdict.evidence[0].quote == passages[0].text
    assert verdict.evidence[0].stance == "refutes"
    assert "Orvik" in verdict.reason
    assert run(claim, retriever=WordRetriever(passages)).verdict.verdict == "not_enough_evidence"


def test_other_subject_of_an_inverse_functional_predicate_refutes() -> None:
    passages = [make_passage("d1", "Ida Sund is head of Norrby Pumps."), make_passage("d2", "Odo Brandt sings.")]
    claim = functional(make_claim("Odo Brandt", "head of", "Norrby Pumps"), functional=False, inverse_functional=True)
    verdict = run(claim, retriever=WordRetriever(passages)).verdict
    assert (verdict.verdict, verdict.better_object) == ("refuted", None)
    assert "“Ida Sund” as subject" in verdict.reason


def test_rivals_are_of_the_kind_of_the_claimed_object() -> None:
    from kgaudit.agent.rivals import rival_objects

    text = "Founded on 5 March 1990 in Orvik by Ida Sund, Norrby Pumps employs 4,523 people. The plant opened in 1995."
    claim = make_claim("Norrby Pumps", "founded in", "x")
    year = replace(claim, object=Entity("y", "1985", (), (), XSD + "gYear", "1985"))
    assert [rival.value for rival in rival_objects(year, make_passage("d", text))] == ["1990-03-05", "1995"]
    number = replace(claim, object=Entity("n", "4,000", (), (), XSD + "integer", "4000"))
    assert [rival.value for rival in rival_objects(number, make_passage("d", text))] == ["4523"]
    names = {rival.label for rival in rival_objects(claim, make_passage("d", text))}
    assert {"Orvik", "Ida Sund"} <= names
    assert not names & {"The", "Norrby Pumps", "March"}


@pytest.mark.parametrize("subject", ["This", "the project", "It", "our company"])
def test_fragment_as_subject_is_not_enough_evidence_and_says_why(subject: str) -> None:
    from kgaudit.wording import fragment_reason

    trajectory = run(make_claim(subject, "owns", "Halden", fragment=fragment_reason(subject)))
    assert trajectory.verdict.verdict == "not_enough_evidence"
    assert subject in trajectory.verdict.reason
    assert trajectory.searches == 0


def test_vacuous_predicate_needs_a_statement() -> None:
    claim = make_claim("Norrby", "related_to", "Halden")
    vacuous = Claim(claim.key, claim.triple, claim.subject, PredicateCard("x", "related to", vacuous=True), claim.object)
    verdict = run(vacuous).verdict
    assert verdict.verdict == "not_enough_evidence"
    assert "says nothing" in verdict.reason


@pytest.mark.parametrize(
    ("statement", "expected"), [("Norrby owns Halden.", "supported"), ("Norrby sold Halden.", "not_enough_evidence")]
)
def test_vacuous_predicate_is_judged_by_its_statement(statement: str, expected: str) -> None:
    claim = make_claim("Norrby", "related_to", "Halden", statement=statement, statements=(statement,))
    vacuous = Claim(
        claim.key, claim.triple, claim.subject, PredicateCard("x", "related to", vacuous=True), claim.object, statement, (statement,)
    )  # fmt: skip
    verdict = run(vacuous).verdict
    assert verdict.verdict == expected
    assert verdict.route == "statement"
    assert verdict.statement == statement


def test_best_supported_statement_decides() -> None:
    statements = ("Norrby sold Halden.", "Norrby owns Halden.")
    claim = make_claim("Norrby", "related_to", "Halden", statement=statements[0], statements=statements)
    vacuous = Claim(
        claim.key, claim.triple, claim.subject, PredicateCard("x", "related to", vacuous=True), claim.object, statements[0], statements
    )  # fmt: skip
    verdict = run(vacuous).verdict
    assert (verdict.verdict, verdict.statement) == ("supported", statements[1])


def test_baselines_ask_once() -> None:
    for name in ("single_turn", "cooccurrence"):
        trajectory = run(make_claim("Norrby", "owns", "Halden"), name)
        assert (trajectory.verdict.verdict, trajectory.searches) == ("supported", 1)


def test_unknown_policy_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="agentkgv"):
        make_policy("nonesuch")
    assert "single_turn" in policy_names()


def test_scripted_policy_is_recorded_step_by_step() -> None:
    verdict = Verdict("refuted", "because", "retrieval")
    script = Scripted([SearchDocuments(Query("Norrby"), "s"), Conclude(verdict)], [Stance(0.1, 0.8, 0.1, 0, 6, "seen")])
    environment = BatchingEnvironment(WordRetriever(PASSAGES), WordJudge())
    trajectory, passages = asyncio.run(verify(make_claim("Norrby", "owns", "Halden"), script, environment))
    environment.close()
    assert [step.action for step in trajectory.steps] == ["search_documents", "conclude"]
    assert trajectory.steps[0].stances == ((passages[0].id, Stance(0.1, 0.8, 0.1, 0, 6, "seen")),)
    assert steps_from_json(steps_to_json(trajectory.steps))[0].stances == trajectory.steps[0].stances


def test_searching_twice_for_the_same_is_a_fault_of_the_policy() -> None:
    again = SearchDocuments(Query("Norrby"), "s")
    environment = BatchingEnvironment(WordRetriever(PASSAGES), WordJudge())
    with pytest.raises(AssertionError, match="twice"):
        asyncio.run(verify(make_claim("Norrby", "owns", "Halden"), Scripted([again, again]), environment))
    environment.close()


def test_requests_that_arrive_together_go_out_as_one_batch() -> None:
    sizes: list[int] = []

    def work(batch: list[int]) -> list[int]:
        sizes.append(len(batch))
        return [2 * one for one in batch]

    async def main() -> list[int]:
        batcher: Batcher[int, int] = Batcher(work, 100, "test")
        try:
            return await asyncio.gather(*(batcher(i) for i in range(50)))
        finally:
            batcher.close()

    assert asyncio.run(main()) == [2 * i for i in range(50)]
    assert sizes == [50]


def test_one_bad_request_does_not_fail_its_neighbours() -> None:
    def work(batch: list[int]) -> list[int]:
        if 3 in batch:
            raise ZeroDivisionError
        return batch

    async def main() -> list[int | BaseException]:
        batcher: Batcher[int, int] = Batcher(work, 100, "test")
        try:
            return await asyncio.gather(*(batcher(i) for i in range(6)), return_exceptions=True)
        finally:
            batcher.close()

    results = asyncio.run(main())
    assert [one for one in results if not isinstance(one, BaseException)] == [0, 1, 2, 4, 5]
    assert isinstance(results[3], ZeroDivisionError)


def test_transient_errors_are_tried_again_under_a_deadline() -> None:
    calls = 0

    async def flaky() -> str:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise ServiceError("busy", retry_after=0.01)
        return "done"

    async def dead() -> str:
        raise ServiceError("down")

    assert asyncio.run(with_retries(flaky)) == "done"
    begun = time.monotonic()
    with pytest.raises(ServiceError, match="down"):
        asyncio.run(with_retries(dead, deadline=0.2))
    assert time.monotonic() - begun < 1.0


def test_schema_refutes_self_loops_and_impossible_values() -> None:
    from kgaudit.agent.structure import StructuralRoute

    class Schema:
        subclass_of: Mapping[str, Sequence[str]] = MappingProxyType({})

        def are_disjoint(self, one: str, other: str) -> bool:
            return {one, other} == {"<x:Person>", "<x:Place>"}

    class Names:
        def types(self, term: str) -> Sequence[str]:
            return ["<x:Place>"] if term == "<x:orvik>" else []

    route = StructuralRoute(Schema(), Names())
    loop = make_claim("A", "part of", "A")
    card = PredicateCard("x", "part of", irreflexive=True)
    verdict = route(Claim(loop.key, loop.triple, loop.subject, card, loop.object))
    assert verdict is not None
    assert verdict.verdict == "refuted"
    assert "same" in verdict.reason
    number = Entity('"many"', "many", datatype=XSD + "integer", value="many")
    bad = route(Claim(loop.key, loop.triple, loop.subject, PredicateCard("x", "employees"), number))
    assert bad is not None
    assert "integer" in bad.reason
    place = Entity("<x:orvik>", "Orvik")
    clash = route(Claim(loop.key, loop.triple, place, PredicateCard("x", "born in", domain=("<x:Person>",)), loop.object))
    assert clash is not None
    assert "Person" in clash.reason
    assert route(loop) is None


def test_passage_identity_follows_the_document_content() -> None:
    one, other = make_passage("d", "text", document_digest="1"), make_passage("d", "text", document_digest="2")
    assert one.id != other.id
    assert Passage("d", 0, 4, "text", document_digest="1").id == one.id
