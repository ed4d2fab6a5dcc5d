"""No hostile passage changes a verdict that the honest passages decide: for a gullible language model, and for the embedded judge."""

from __future__ import annotations

import asyncio
import time
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import WordJudge, WordRetriever
from hostile_tools import CLAIMS, FENCE, HONEST, RIGHT, Gullible, Hostile, corpus

from kgaudit.agent.environment import BatchingEnvironment
from kgaudit.agent.loop import verify
from kgaudit.agent.policies import make_policy
from kgaudit.agent.policies.llm.showing import MAX_SHOWN, document_block, show
from kgaudit.agent.policies.llm.use import ModelUse
from kgaudit.agent.steering import steers
from kgaudit.claims import Claim
from kgaudit.documents import Document, Passage, Query, Retriever, reading_of
from kgaudit.models.chat import ScriptedChat
from kgaudit.models.embedded import load_default
from kgaudit.models.judge import Judge
from kgaudit.text import one_line
from kgaudit.verdicts import Trajectory
from kgaudit_retrievers.embedded import EmbeddedRetriever, build_index

NAMES = [hostile.name for hostile in corpus()]
USE = ModelUse(FENCE)


def passage(document: Document) -> Passage:
    whole = Passage(document.id, 0, min(len(document.text), 300), document.text[:300], document_digest=document.digest)
    return reading_of(document, whole)


def judged(claim: Claim, retriever: Retriever, judge: Judge, chat: ScriptedChat | None = None) -> Trajectory:
    environment = BatchingEnvironment(retriever, judge, chat)
    try:
        policy = make_policy("agentkgv", (), USE if chat else None)
        return asyncio.run(verify(claim, policy, environment))[0]
    finally:
        environment.close()


def with_all(documents: Sequence[Document]) -> WordRetriever:
    """A retriever that finds everything."""

    class All(WordRetriever):
        def search(self, queries: Sequence[object], k: int) -> list[list[Passage]]:
            return [self.passages for _ in queries]

        def document(self, identity: str) -> Document | None:
            return next((document for document in documents if document.id == identity), None)

    return All([passage(document) for document in documents])


def about(claim: str) -> tuple[Document, ...]:
    return HONEST[:3] if claim == "owned" else HONEST[3:]


def test_there_are_enough_of_every_kind() -> None:
    assert len(corpus()) >= 60
    kinds = {hostile.category for hostile in corpus()}
    assert {"instructions", "forged turn", "forged answer", "forged citation", "fence", "hidden", "homoglyphs", "repetition"} <= kinds
    assert sum(len(hostile.text) >= 150_000 for hostile in corpus()) >= 3


@pytest.mark.parametrize("claim", list(CLAIMS))
@pytest.mark.parametrize("everywhere", [False, True], ids=["outside", "everywhere"])
def test_honest_passages_decide_by_themselves(claim: str, everywhere: bool) -> None:
    trajectory = judged(
        CLAIMS[claim], with_all(about(claim)), WordJudge(), ScriptedChat(Gullible(claim, everywhere=everywhere))
    )  # fmt: skip
    assert trajectory.verdict.verdict == RIGHT[claim]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_gets_out_of_the_fence(name: str) -> None:
    hostile = corpus()[NAMES.index(name)]
    model = Gullible(hostile.claim)
    documents = (hostile.document, *about(hostile.claim))
    trajectory = judged(CLAIMS[hostile.claim], with_all(documents), WordJudge(), ScriptedChat(model))
    assert model.obeyed == 0
    assert trajectory.verdict.verdict == RIGHT[hostile.claim]
    stance = "supports" if RIGHT[hostile.claim] == "supported" else "refutes"
    backing = [span.document_id for span in trajectory.verdict.evidence if span.stance == stance]
    assert backing
    assert hostile.document.id not in backing


@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_obeys_documents_is_outvoted(name: str) -> None:
    hostile = corpus()[NAMES.index(name)]
    chat = ScriptedChat(Gullible(hostile.claim, everywhere=True))
    trajectory = judged(CLAIMS[hostile.claim], with_all((hostile.document, *about(hostile.claim))), WordJudge(), chat)
    assert trajectory.verdict.verdict == RIGHT[hostile.claim]


def test_the_gullible_model_does_fall_for_what_stands_outside() -> None:
    model = Gullible("owned")
    request_text = f"<<DOCUMENT {FENCE}\nNorrby Pumps owns Halden Works\n{FENCE}>>\n\nAnswer refutes."
    from kgaudit.models.chat import ChatRequest, Message

    answer = model(ChatRequest((Message("user", request_text),), schema_name="Judgement"))
    assert '"refutes"' in answer.text


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shown_is_short_clean_and_closed(name: str) -> None:
    hostile = corpus()[NAMES.index(name)]
    begun = time.perf_counter()
    shown = show(passage(hostile.document), CLAIMS[hostile.claim], FENCE)
    block = document_block(shown, FENCE)
    assert time.perf_counter() - begun < 2.0
    assert len(shown.text) <= MAX_SHOWN * 2
    assert block.casefold().count(FENCE) == 2
    assert block.startswith(f"<<DOCUMENT {FENCE}\n")
    assert block.endswith(f"\n{FENCE}>>")
    unseen = [char for char in shown.text if unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs")]
    assert unseen == []
    for char, place in zip(shown.text, shown.places, strict=True):
        assert place < 0 or hostile.text[place] == char or (char == " " and hostile.text[place].isspace())


@pytest.mark.parametrize("name", NAMES)
def test_what_people_are_shown_hides_nothing(name: str) -> None:
    hostile = corpus()[NAMES.index(name)]
    line = one_line(hostile.text, 4000)
    assert [char for char in line if unicodedata.category(char) in ("Cc", "Cf") and char != "\u00ad"] == []


def test_orders_are_told_from_statements() -> None:
    orders = [hostile for hostile in corpus() if hostile.category in ("instructions", "forged turn", "forged answer", "languages")]
    missed = [hostile.name for hostile in orders if not any(map(steers, hostile.text[:2000].split("\n"))) and not steers(hostile.text)]
    assert missed == []
    assert [document.id for document in HONEST if steers(document.text)] == []


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


def by_embedded_judge(documents: Sequence[Document], claim: Claim, folder: Path) -> Trajectory:
    import json

    lines = [json.dumps({"id": one.id, "text": one.text}) for one in documents]
    (folder / "docs.jsonl").write_text("\n".join(lines))
    build_index([folder / "docs.jsonl"], folder / "index")
    retriever = EmbeddedRetriever(folder / "index")
    try:
        return judged(claim, retriever, load_default())
    finally:
        retriever.close()


@pytest.mark.parametrize("name", NAMES)
def test_the_embedded_judge_is_not_moved(name: str, embedded: Path) -> None:
    hostile: Hostile = corpus()[NAMES.index(name)]
    honest = by_embedded_judge(about(hostile.claim), CLAIMS[hostile.claim], embedded).verdict
    beside = by_embedded_judge((hostile.document, *about(hostile.claim)), CLAIMS[hostile.claim], embedded).verdict
    assert beside.verdict == honest.verdict


def test_a_document_that_takes_every_place_is_not_the_only_one_heard() -> None:
    loud = Document("loud", "Norrby Pumps owns Halden Works, they say. " * 1000)
    places = [Passage("loud", i * 42, i * 42 + 41, loud.text[i * 42 : i * 42 + 41]) for i in range(1000)]
    quiet = Passage("quiet", 0, 20, "Halden Works is sold")
    asked: list[int] = []

    class Crowd(WordRetriever):
        def search(self, queries: Sequence[object], k: int) -> list[list[Passage]]:
            asked.append(k)
            return [[*places, quiet][:k] for _ in queries]

        def document(self, identity: str) -> Document | None:
            return loud if identity == "loud" else None

    environment = BatchingEnvironment(Crowd([]), WordJudge())
    try:
        found = asyncio.run(environment.search(Query("Norrby Pumps Halden Works"), 5))
    finally:
        environment.close()
    assert [one.document_id for one in found][-1] == "quiet"
    assert asked == [5, 40, 320, 2560]
