"""What every retriever promises. A test module imports everything from here and gives the fixtures `make` and `kind`.

`make(documents, name="")` indexes the documents and opens a retriever on them; with a `name` of before, that index is brought to the
new documents. `kind` is `lexical`, `dense` or `fused`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from kgaudit.agent.environment import BatchingEnvironment
from kgaudit.documents import Document, Passage, Query, Retriever
from kgaudit.errors import SearchIndexError
from kgaudit.models.judge import Judge

Make = Callable[..., Retriever]


def docs(*texts: str) -> list[Document]:
    return [Document(f"d{i}", text) for i, text in enumerate(texts, 1)]


def ask(retriever: Retriever, text: str, k: int = 5, **more: object) -> list[Passage]:
    return retriever.search([Query(text, **more)], k)[0]  # type: ignore[arg-type]


def ids(passages: list[Passage]) -> list[str]:
    return [passage.document_id for passage in passages]


TOWNS = docs(
    "Norrby Pumps has its seat in Orvik. The town lies on the Morrow.",
    "Halden Valves was founded by Mara Kestrel in 1974.",
    "The Orvik ferry crosses the Morrow twice a day.",
    "Réaulac is a lake. Its water feeds the Kestrel works of Halden.",
    "Die Gründung der Firma Mühlbrück war 1990. Sie liegt in Öland.",
    "하늘강 다리는 노르비가 지었다. 오르비크는 도시이다.",
    "東京の会社は1990年に設立された。",
    "شركة نوربي تقع في أورفيك.",
)
FERRY = Document(
    "web/ferry & co.html?x=1",
    "Öland Süd\u00a0Ltd runs a ferry. \U0001f6a2 The ferry\r\nis old. It sails.  Norrby Pumps built it. The end.",
    "Ferry “Süd”", "en", "2024-05-01", "http://example.org/ferry",
)  # fmt: skip
SIMILAR = docs(*(f"Number {i} belongs to Norrby Pumps in town {i % 7}. It was built in {1900 + i}." for i in range(150)))


def test_passages_are_verbatim_slices_and_carry_what_is_known_of_their_document(make: Make) -> None:
    retriever = make([FERRY])
    document = retriever.document(FERRY.id)
    assert document == FERRY
    passages = ask(retriever, "ferry Norrby Pumps built", 10)
    assert passages
    for passage in passages:
        assert passage.text == FERRY.text[passage.start : passage.end]
        assert (passage.document_id, passage.title, passage.language, passage.date, passage.url, passage.document_digest) == (
            FERRY.id, FERRY.title, FERRY.language, FERRY.date, FERRY.url, FERRY.digest,
        )  # fmt: skip
    assert len({passage.id for passage in passages}) == len(passages)


def test_documents_come_back_whole_or_not_at_all(make: Make) -> None:
    retriever = make(TOWNS)
    assert [retriever.document(document.id) for document in TOWNS] == TOWNS
    assert [retriever.document(name) for name in ("", "d", "d99", "D1", " d1", "*", "d1/../d2", "\ud800", "x" * 5000)] == [None] * 9


def test_a_document_is_found_by_its_own_words(make: Make) -> None:
    retriever = make(TOWNS)
    for document in TOWNS:
        assert ids(ask(retriever, document.text.split(".")[0]))[0] == document.id


def test_best_first_and_the_best_do_not_depend_on_how_many_are_asked_for(make: Make) -> None:
    retriever = make(SIMILAR)
    many = ask(retriever, "Number 14 Norrby town", 40)
    scores = [passage.score for passage in many]
    assert scores == sorted(scores, reverse=True)
    assert len(many) == 40
    for k in (1, 5, 20):
        assert ask(retriever, "Number 14 Norrby town", k) == many[:k]
    assert len({(passage.document_id, passage.start) for passage in many}) == 40


def test_ties_by_document_and_place(make: Make) -> None:
    same = [Document(name, "Orvik lies on the Morrow.") for name in ("c", "a", "d", "b")]
    retriever = make([*same, *TOWNS[1:2]])
    assert ids(ask(retriever, "Orvik Morrow", 4)) == ["a", "b", "c", "d"]


def test_many_queries_at_once_are_answered_as_one_by_one(make: Make) -> None:
    retriever = make(TOWNS)
    named = Query("Kestrel Halden", (("Halden Valves",), ("Kestrel",)), "en")
    queries = [Query("Orvik"), Query(""), named, Query("하늘강 다리", (), "ko")] * 20
    assert retriever.search(queries, 3) == [retriever.search([query], 3)[0] for query in queries[:4]] * 20
    assert retriever.search([], 5) == []


def test_passages_with_a_name_of_every_group_come_first(make: Make, kind: str) -> None:
    if kind != "lexical":
        pytest.skip("names are looked for by words")
    texts = ("Orvik Orvik seat Norrby, says Orvik: seat seat.", "The seat of NP is the town of Orvik.", "A pump in Orvik: the seat.")
    retriever = make(docs(*texts))
    plain = ask(retriever, "Norrby Pumps seat Orvik")
    named = ask(retriever, "Norrby Pumps seat Orvik", names=(("Norrby Pumps", "NP"), ("Orvik",)))
    assert (ids(plain)[0], ids(named)[0]) == ("d1", "d2")
    assert sorted(ids(plain)) == sorted(ids(named)) == ["d1", "d2", "d3"]
    assert ids(ask(retriever, "Norrby Pumps seat Orvik", names=(("Nowhere",), ("Orvik",)))) == ids(plain)
    assert ids(ask(retriever, "Norrby Pumps seat Orvik", names=(("***",), ()))) == ids(plain)


def test_letters_meet_however_they_are_written(make: Make) -> None:
    texts = [
        "The Mu\u0308hlbru\u0308ck ferry is run by O\u0308land.",
        "Réaulac is a lake.",
        "\u1112\u1161\u1102\u1173\u11af\u1100\u1161\u11bc 다리는 길다.",
        "The “Star” has ﬁve decks — and NO\u00a0BREAK.",
    ]
    retriever = make(docs(*texts))
    assert ask(retriever, "Mühlbrück Öland")[0].text == texts[0]
    assert ids(ask(retriever, "Re\u0301aulac lake"))[0] == "d2"
    assert ask(retriever, "하늘강 다리는")[0].text == texts[2]
    assert ids(ask(retriever, "five DECKS no break"))[0] == "d4"


def test_words_in_many_languages(make: Make, kind: str) -> None:
    if kind != "lexical":
        pytest.skip("stems are a matter of words")
    retriever = make([*TOWNS, Document("n", "It has 4,523,000 people.")])
    assert ids(ask(retriever, "founding")) == ids(ask(retriever, "founded")) == ["d2"]
    assert ids(ask(retriever, "4523000")) == ["n"]
    assert ids(ask(retriever, "Gründungen", language="de"))[0] == "d5"
    assert ids(ask(retriever, "하늘강", language="ko"))[0] == ids(ask(retriever, "하늘강"))[0] == "d6"
    assert ids(ask(retriever, "東京の会社", language="ja"))[0] == "d7"
    assert ids(ask(retriever, "نوربي", language="ar"))[0] == "d8"
    assert ids(ask(retriever, "Orvik", language="xx"))[0] in ("d1", "d3")


def test_queries_without_a_word_find_nothing(make: Make) -> None:
    retriever = make(TOWNS)
    for text in ("", " \n\t", "??? ... !", "\x00\x01", "\ud800", "—", "()[]{}"):
        assert ask(retriever, text) == [], repr(text)
        assert ask(retriever, text, names=((text,), (text,))) == []


SIGNS = ['"{}"', "+{} -", "({}", "{}*?~2", "title:{}", "{}^10 /x/", "{} AND OR NOT", "\\{}\\", '{{"match": "{}"}}', "{}\x00"]


@pytest.mark.parametrize("signs", SIGNS)
def test_signs_of_query_languages_are_plain_text(make: Make, signs: str) -> None:
    retriever = make(TOWNS)
    text = signs.format("Kestrel Halden")
    assert set(ids(ask(retriever, text, 2, names=((text,), (text,))))) == {"d2", "d4"}


def test_thousands_of_words(make: Make, kind: str) -> None:
    retriever = make(TOWNS)
    words = " ".join(f"word{i}" for i in range(5000))
    assert len(ask(retriever, words + " Orvik", 5, names=((words,), tuple(words.split())))) <= 5
    if kind == "lexical":
        assert set(ids(ask(retriever, words + " Orvik"))) == {"d1", "d3"}
        assert ids(ask(retriever, f"Orvik {words} Kestrel 1974"))[0] == "d2"
    assert len(ask(retriever, "Orvik " * 20_000)) >= 1
    assert ask(retriever, "x" * 100_000 + " Orvik")


def test_more_than_there_is(make: Make) -> None:
    retriever = make(TOWNS)
    found = ask(retriever, "Orvik Halden Kestrel Morrow", 50_000)
    assert {"d1", "d2", "d3", "d4"} <= set(ids(found))
    assert len(found) <= 20
    assert ask(retriever, "Orvik", 0) == []
    assert ask(retriever, "Orvik", -1) == []


def test_documents_that_are_deleted_or_changed(make: Make) -> None:
    before = make(TOWNS, name="moving")
    changed = Document("d3", "The Halden ferry crosses the Morrow.")
    after = make([TOWNS[0], changed, *TOWNS[3:]], name="moving")
    assert before.snapshot != after.snapshot
    assert after.document("d2") is None
    assert after.document("d3") == changed
    assert "d2" not in ids(ask(after, "Halden Valves was founded by Mara Kestrel", 50))
    found = [passage for passage in ask(after, "ferry crosses the Morrow", 50) if passage.document_id == "d3"]
    assert [passage.text for passage in found] == [changed.text]
    assert before.document("d2") == TOWNS[1]  # who searches sees what was there when he began
    assert "d2" in ids(ask(before, "Halden Valves was founded by Mara Kestrel", 50))


def test_the_snapshot_says_what_is_searched(make: Make) -> None:
    one, same, other = make(TOWNS, name="same"), make(TOWNS, name="same"), make(TOWNS[:4], name="other")
    assert one.snapshot == same.snapshot
    assert one.snapshot != other.snapshot


def test_64_threads_see_the_same(make: Make) -> None:
    retriever = make(SIMILAR)
    queries = [Query(f"Number {i} gründung Norrby", (("Norrby Pumps",), (f"Number {i}",)), "en") for i in range(64)]
    alone = retriever.search(queries, 5)
    with ThreadPoolExecutor(64) as threads:
        assert list(threads.map(lambda query: retriever.search([query], 5)[0], queries)) == alone
        assert list(threads.map(lambda i: retriever.document(f"d{i}"), range(1, 65))) == SIMILAR[:64]


def test_cancelled_searches_leave_the_others_alone(make: Make, judge: Judge) -> None:
    retriever = make(SIMILAR)

    async def search() -> list[object]:
        environment = BatchingEnvironment(retriever, judge, search_batch=8)
        try:
            tasks = [asyncio.create_task(environment.search(Query(f"Number {i} Norrby"), 3)) for i in range(64)]
            await asyncio.sleep(0.005)
            for task in tasks[::2]:
                task.cancel()
            return await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            environment.close()

    found = asyncio.run(search())
    assert found[1::2] == [ask(retriever, f"Number {i} Norrby", 3) for i in range(1, 64, 2)]


def test_closing_ends_what_is_under_way(make: Make) -> None:
    retriever = make(SIMILAR, name="closing")
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(retriever.search, [Query(f"Number {i}") for i in range(64)], 5) for _ in range(8)]
        retriever.close()
        for one in asked:
            error = one.exception(timeout=20)
            assert error is None or isinstance(error, SearchIndexError)
    retriever.close()
    for call in (lambda: ask(retriever, "Orvik"), lambda: retriever.document("d1")):
        with pytest.raises(SearchIndexError, match="closed"):
            call()
