from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from kgaudit.documents import Passage, Query, Retriever
from kgaudit.errors import EmptyInputError, InputError, SearchIndexError, StorageError, UsageError
from kgaudit_retrievers.embedded import EmbeddedRetriever, IndexReport, build_index
from kgaudit_retrievers.postings import Postings, PostingsWriter

Make = Callable[..., EmbeddedRetriever]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def rows(*texts: str) -> list[dict[str, object]]:
    return [{"id": f"d{i}", "title": "", "text": text} for i, text in enumerate(texts, 1)]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def index(*texts: str) -> EmbeddedRetriever:
        build_index([write(tmp_path / "docs.jsonl", rows(*texts))], tmp_path / "index")
        return EmbeddedRetriever(tmp_path / "index")

    return index


def ask(retriever: Retriever, text: str, k: int = 5, **more: object) -> list[Passage]:
    return retriever.search([Query(text, **more)], k)[0]  # type: ignore[arg-type]


def ids(passages: list[Passage]) -> list[str]:
    return [passage.document_id for passage in passages]


# What a search gives


def test_passages_are_verbatim_slices_and_carry_what_is_known_of_their_document(tmp_path: Path) -> None:
    text = "Öland Süd\u00a0Ltd runs a ferry. \U0001f6a2 The ferry\r\nis old. It sails.  Norrby Pumps built it. The end."
    row: dict[str, object] = {"id": "d/1", "title": "Ferry", "text": text, "language": "en", "date": "2024", "url": "http://x"}
    build_index([write(tmp_path / "docs.jsonl", [row])], tmp_path / "index")
    retriever = EmbeddedRetriever(tmp_path / "index")
    document = retriever.document("d/1")
    assert document is not None
    assert document.text == text
    passages = ask(retriever, "ferry Norrby", 10)
    assert [passage.text for passage in passages if "Norrby" in passage.text] == ["It sails.  Norrby Pumps built it. The end."]
    for passage in passages:
        assert passage.text == text[passage.start : passage.end]
        assert (passage.document_id, passage.title, passage.language, passage.date, passage.url, passage.document_digest) == (
            "d/1", "Ferry", "en", "2024", "http://x", document.digest,
        )  # fmt: skip
    assert retriever.documents() == 1
    assert retriever.document("d/2") is None
    assert retriever.document("") is None


def test_best_first_and_ties_by_document_and_place(make: Make) -> None:
    retriever = make(
        "Orvik lies on the Morrow.", "Norrby Pumps is in Orvik.", "Norrby Pumps is in Halden.", "Orvik lies on the Morrow."
    )
    assert ids(ask(retriever, "Norrby Orvik"))[0] == "d2"
    assert ids(ask(retriever, "Morrow")) == ["d1", "d4"]
    scores = [passage.score for passage in ask(retriever, "Norrby Orvik")]
    assert scores == sorted(scores, reverse=True)


def test_passages_with_a_name_of_every_group_come_first(make: Make) -> None:
    retriever = make(
        "Orvik Orvik seat Norrby, says Orvik: seat seat.", "The seat of NP is the town of Orvik.", "A pump in Orvik: the seat."
    )
    plain = ask(retriever, "Norrby Pumps seat Orvik")
    named = ask(retriever, "Norrby Pumps seat Orvik", names=(("Norrby Pumps", "NP"), ("Orvik",)))
    assert ids(plain)[0] == "d1"
    assert ids(named)[0] == "d2"
    assert sorted(ids(plain)) == sorted(ids(named)) == ["d1", "d2", "d3"]
    assert ids(ask(retriever, "Norrby Pumps seat Orvik", names=(("Nowhere",), ("Orvik",)))) == ids(plain)
    assert ids(ask(retriever, "Norrby Pumps seat Orvik", names=(("***",), ()))) == ids(plain)


def test_title_and_headings_count_where_the_passage_does_not_name_its_subject(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "a.html").write_text("<title>Kestrel</title><p>It was built in 1974.")
    filler = "Much is said here. And then more. And more again. And on. And on it goes."
    (pages / "b.md").write_text(
        f"# Works\n\n## Halden\n\n{filler} It was built in 1980.\n\n## Tarn\n\n{filler} It was built in 1990.\n"
    )
    build_index([pages], tmp_path / "index")
    retriever = EmbeddedRetriever(tmp_path / "index")
    assert ask(retriever, "Kestrel built")[0].text == "It was built in 1974."
    assert "1980" in ask(retriever, "Halden built")[0].text
    assert "1990" in ask(retriever, "Tarn built")[0].text


def test_stems_numbers_and_languages(make: Make, tmp_path: Path) -> None:
    retriever = make(
        "The founders met.", "It has 4,523,000 people.", "Die Gründung der Firma und die Werke von Orvik.", "하늘강 다리는 길다."
    )
    assert ids(ask(retriever, "founder")) == ["d1"]
    assert ids(ask(retriever, "4523000")) == ["d2"]
    assert ids(ask(retriever, "Gründungen")) == ids(ask(retriever, "Gründungen", language="de")) == ["d3"]
    assert ids(ask(retriever, "하늘강")) == ["d4"]


def test_odd_queries(make: Make) -> None:
    retriever = make("Norrby Pumps has its seat in Orvik.", "Halden lies on the Morrow.")
    assert ask(retriever, "") == ask(retriever, "??? \x00 \ud800") == ask(retriever, "nowhere") == []
    assert ask(retriever, "Orvik", 0) == []
    assert len(ask(retriever, "Orvik Halden", 1000)) == 2
    assert ids(ask(retriever, " ".join(f"word{i}" for i in range(5000)) + " Orvik")) == ["d1"]
    assert retriever.search([], 5) == []
    assert [ids(one) for one in retriever.search([Query("Orvik"), Query("Halden")], 5)] == [["d1"], ["d2"]]


def test_many_threads_at_once_see_the_same(make: Make) -> None:
    retriever = make(*(f"Number {i} belongs to Norrby Pumps in town {i % 7}." for i in range(300)))
    queries = [Query(f"Number {i} gründung Norrby", (("Norrby Pumps",), (f"Number {i}",)), "de") for i in range(64)]
    alone = [retriever.search([query], 5) for query in queries]
    with ThreadPoolExecutor(64) as threads:
        assert list(threads.map(lambda query: retriever.search([query], 5), queries)) == alone


def test_after_close_the_message_says_so(make: Make) -> None:
    retriever = make("Orvik.")
    retriever.close()
    retriever.close()
    for call in (lambda: ask(retriever, "Orvik"), lambda: retriever.document("d1")):
        with pytest.raises(SearchIndexError, match="closed"):
            call()


# The best are the best: against counting everything


def test_leaving_out_common_words_loses_nothing(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    writer = PostingsWriter(tmp_path)
    vocabulary = [f"t{i}" for i in range(200)]
    passages = [[vocabulary[min(199, int(i))] for i in random.pareto(0.7, 12)] for _ in range(2000)]
    for passage in passages:
        writer.add(writer.term_ids(passage))
    writer.finish()
    postings = Postings.open(tmp_path, len(passages))
    for _ in range(50):
        query = list(dict.fromkeys(random.choice(vocabulary, 6).tolist()))
        everything = postings.search(query, [], len(passages))
        assert len(everything) == sum(bool(set(query) & set(passage)) for passage in passages)
        for k in (1, 5, 40):
            assert [number for number, _ in postings.search(query, [], k)] == [number for number, _ in everything[:k]]


# Field cases of the area documents


def test_field_12_documents_without_a_word(tmp_path: Path) -> None:
    mixed = [*rows("", "Norrby Pumps has its seat in Orvik.", " \n\t "), {"id": "none", "text": None}]
    report = build_index([write(tmp_path / "mixed.jsonl", mixed)], tmp_path / "index")
    assert (report.read, report.indexed, report.empty, report.quarantined) == (4, 1, ("d1", "d3"), 1)
    entry = json.loads((tmp_path / "index" / "quarantine.jsonl").read_text())
    assert (Path(entry["file"]).name, entry["line"], entry["reason"]) == ("mixed.jsonl", 4, "text is null (document none)")
    assert '"none"' in entry["text"]
    with pytest.raises(EmptyInputError, match="3 of them without a word"):
        build_index([write(tmp_path / "empty.jsonl", rows("", " \n\t", "... -- !"))], tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_field_13_composed_and_decomposed(make: Make) -> None:
    texts = [
        "The Mu\u0308hlbru\u0308ck ferry is run by O\u0308land.",
        "Réaulac.",
        "\u1112\u1161\u1102\u1173\u11af\u1100\u1161\u11bc 다리는 길다.",
    ]
    retriever = make(*texts)
    assert ask(retriever, "Mühlbrück Öland")[0].text == texts[0]
    assert ids(ask(retriever, "Re\u0301aulac")) == ["d2"]
    assert ask(retriever, "하늘강 다리")[0].text == texts[2]


def test_field_15_an_immense_word(make: Make, tmp_path: Path) -> None:
    word = "Ab3" * 13_334
    retriever = make(f"Norrby Pumps has its seat in Orvik. {word} The Halden works belong to Norrby Pumps.", "The Kestrel pump.")
    for query, identity in (("Norrby Orvik", "d1"), ("Halden works", "d1"), ("Kestrel", "d2")):
        passages = ask(retriever, query)
        assert ids(passages)[0] == identity
        assert all(word not in passage.text for passage in passages)
    report = build_index([tmp_path / "docs.jsonl"], tmp_path / "index")
    assert (report.read, report.indexed, report.long_words) == (2, 2, 1)


NAMES = ["AND/OR Logic (Nord)", "C++ & Co.", "/home/ Interiors", "What? Studio*", '"Quoted" ~2^3 [sic]:', "-Minus OR Plus+"]


@pytest.mark.parametrize("name", NAMES)
def test_field_16_query_syntax_is_plain_text(make: Make, name: str) -> None:
    retriever = make(*(f"{other} has its seat in Orvik." for other in NAMES), "Studiolo has its seat in Dunmere.")
    assert ask(retriever, f"{name} seat Orvik", names=((name,), ("Orvik",)))[0].text.startswith(name)
    assert "d7" not in ids(ask(retriever, name))


def test_field_17_one_id_for_two_documents(tmp_path: Path) -> None:
    docs = rows("Norrby Pumps has its seat in Orvik.", "Halden lies on the Morrow.")
    docs += [{**docs[0], "text": "Norrby Pumps has its seat in Dunmere."}, docs[1], {"id": "d3", "text": "Tarn owns it."}]
    path = write(tmp_path / "docs.jsonl", docs)
    report = build_index([path], tmp_path / "index")
    assert (report.read, report.indexed, report.quarantined, report.repeats) == (5, 3, 1, ("d2",))
    entry = json.loads((tmp_path / "index" / "quarantine.jsonl").read_text())
    assert (entry["line"], entry["text"]) == (3, "Norrby Pumps has its seat in Dunmere.")
    assert "d1" in entry["reason"]
    assert "line 1" in entry["reason"]
    assert ask(EmbeddedRetriever(tmp_path / "index"), "Norrby seat")[0].text.endswith("Orvik.")
    with pytest.raises(InputError, match=r"line 3.*d1.*line 1"):
        build_index([path], tmp_path / "strict", strict=True)
    assert not (tmp_path / "strict").exists()


# The folder


def test_the_same_documents_give_the_same_snapshot_and_the_same_order(tmp_path: Path) -> None:
    docs = rows(*(f"Town {i} lies on the Morrow." for i in range(20)))
    report = build_index([write(tmp_path / "a.jsonl", docs)], tmp_path / "a")
    (tmp_path / "other").mkdir()
    halves = [write(tmp_path / "other" / "c.jsonl", docs[:7:-1]), write(tmp_path / "b.jsonl", docs[:8])]
    assert build_index(halves, tmp_path / "b").snapshot == report.snapshot
    a, b = EmbeddedRetriever(tmp_path / "a"), EmbeddedRetriever(tmp_path / "b")
    assert a.snapshot == b.snapshot == report.snapshot
    assert ask(a, "Morrow", 30) == ask(b, "Morrow", 30)
    for changed in ({**docs[0], "text": "Other."}, {**docs[0], "title": "T"}, {**docs[0], "id": "x"}, {**docs[0], "date": "2024"}):
        assert build_index([write(tmp_path / "d.jsonl", [changed, *docs[1:]])], tmp_path / "d").snapshot != report.snapshot


def test_progress_counts_reading_then_indexing(tmp_path: Path) -> None:
    heard: list[tuple[int, int | None]] = []
    report = build_index([write(tmp_path / "d.jsonl", rows("A.", "B."))], tmp_path / "index", progress=lambda *step: heard.append(step))
    assert heard == [(1, None), (2, None), (1, 2), (2, 2)]
    assert report.size_bytes == sum(path.stat().st_size for path in (tmp_path / "index").iterdir())


@pytest.mark.parametrize("name", ["idx #1 100%", "-rf", "ü [x]*?", "a'b\"c", "x" * 200])
def test_odd_folder_names(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "d.jsonl", rows("Orvik."))
    build_index([path], tmp_path / name)
    build_index([path], tmp_path / name / "")
    assert ids(ask(EmbeddedRetriever(tmp_path / name), "Orvik")) == ["d1"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(["d.jsonl", name])


def test_an_index_is_replaced_and_only_an_index(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", rows("Orvik."))
    first = build_index([path], tmp_path / "index")
    opened = EmbeddedRetriever(tmp_path / "index")
    write(path, rows("Halden."))
    assert build_index([path], tmp_path / "index").snapshot != first.snapshot
    assert ids(ask(EmbeddedRetriever(tmp_path / "index"), "Halden")) == ["d1"]
    assert ask(opened, "Orvik")[0].text == "Orvik."  # who has it open still reads the old one

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for to in (tmp_path / "mine", path):
        with pytest.raises(UsageError, match="left as it is"):
            build_index([path], to)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    build_index([path], tmp_path / "empty")


def test_a_failed_build_leaves_the_old_index(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", rows("Orvik."))
    build_index([path], tmp_path / "index")
    path.write_text("nonsense\n")
    with pytest.raises(EmptyInputError, match=r"line 1: not JSON"):
        build_index([path], tmp_path / "index")
    assert ids(ask(EmbeddedRetriever(tmp_path / "index"), "Orvik")) == ["d1"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["d.jsonl", "index"]


def test_an_index_inside_the_folder_it_was_made_of_is_no_document(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("Orvik.")
    first = build_index([docs], docs / "index")
    assert build_index([docs], docs / "index").snapshot == first.snapshot


def test_a_killed_build_leaves_nothing_that_counts(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", rows("Orvik."))
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom kgaudit_retrievers.embedded import build_index\n"
        "def stop(*step):\n    print('in', flush=True)\n    time.sleep(60)\n"
        "build_index([Path(sys.argv[1])], Path(sys.argv[2]), progress=stop)\n"
    )
    build = subprocess.Popen([sys.executable, "-c", code, str(path), str(tmp_path / "index")], stdout=subprocess.PIPE)
    with build:
        assert build.stdout is not None
        build.stdout.readline()
        assert len(list(tmp_path.glob(".index.building-*"))) == 1
        build_index([path], tmp_path / "other")
        build_index([path], tmp_path / "index")  # leaves the one at work alone
        assert len(list(tmp_path.glob(".index.building-*"))) == 1
        build.send_signal(signal.SIGKILL)
    assert EmbeddedRetriever(tmp_path / "index").documents() == 1
    build_index([path], tmp_path / "index")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["d.jsonl", "index", "other"]


def test_what_is_no_index_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SearchIndexError, match=r"no index here.*kgaudit index"):
        EmbeddedRetriever(tmp_path / "none")
    with pytest.raises(SearchIndexError, match="no index"):
        EmbeddedRetriever(tmp_path)


def damage_meta(meta: dict[str, object], **changes: object) -> str:
    return json.dumps({**meta, **changes})


@pytest.mark.parametrize(
    ("change", "message"),
    [({"version": 99}, "version 99"), ({"analysis": "analysis-0"}, "analysis-0"), ({"format": "other"}, "no index")],
)
def test_an_index_of_another_version_is_refused(make: Make, tmp_path: Path, change: dict[str, object], message: str) -> None:
    make("Orvik.")
    meta = tmp_path / "index" / "meta.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text()), **change}))
    with pytest.raises(SearchIndexError, match=message) as caught:
        EmbeddedRetriever(tmp_path / "index")
    assert "kgaudit index" in str(caught.value)


@pytest.mark.parametrize(
    "name", ["texts.bin", "records.bin", "documents.i64", "passages.i64", "terms.bin", "postings.u32", "weights.u8"]
)
def test_a_damaged_index_is_refused(make: Make, tmp_path: Path, name: str) -> None:
    make("Orvik lies on the Morrow.")
    file = tmp_path / "index" / name
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(SearchIndexError, match=f"damaged: {name} has"):
        EmbeddedRetriever(tmp_path / "index")
    file.unlink()
    with pytest.raises(SearchIndexError, match=f"damaged: {name} is missing"):
        EmbeddedRetriever(tmp_path / "index")


def test_meta_json_that_is_half_there_is_refused(make: Make, tmp_path: Path) -> None:
    make("Orvik.")
    meta = tmp_path / "index" / "meta.json"
    for text in (meta.read_text()[:40], "", "[]", '{"format": "kgaudit index"}', '{"format": "kgaudit index", "version": 1}'):
        meta.write_text(text)
        with pytest.raises(SearchIndexError):
            EmbeddedRetriever(tmp_path / "index")


def test_texts_that_were_overwritten_are_an_error_not_a_traceback(make: Make, tmp_path: Path) -> None:
    make("Orvik lies on the Morrow.")
    for name in ("texts.bin", "records.bin"):
        file = tmp_path / "index" / name
        before = file.read_bytes()
        file.write_bytes(b"\xff" * len(before))
        with pytest.raises(SearchIndexError, match="damaged"):
            ask(EmbeddedRetriever(tmp_path / "index"), "Orvik")
        file.write_bytes(before)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", rows("Orvik."))
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(StorageError, match="permission"):
        build_index([path], closed / "index")


def test_a_place_that_cannot_be(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", rows("Orvik."))
    with pytest.raises((StorageError, UsageError)):
        build_index([path], path / "index")
    with pytest.raises(StorageError):
        build_index([path], tmp_path / ("x" * 300))
    with pytest.raises(StorageError):
        build_index([path], Path("/proc/index"))


def test_a_long_document_is_quick(tmp_path: Path) -> None:
    text = "Norrby Pumps has its seat in Orvik. " * 20_000 + "z" * 200_000 + " Halden lies on the Morrow."
    begun = time.perf_counter()
    report = build_index([write(tmp_path / "d.jsonl", rows(text))], tmp_path / "index")
    assert isinstance(report, IndexReport)
    assert ids(ask(EmbeddedRetriever(tmp_path / "index"), "Halden Morrow")) == ["d1"]
    assert time.perf_counter() - begun < 8
