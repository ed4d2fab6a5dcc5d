"""Field cases 12 to 17: documents, the index over them, and names as texts write them."""

from __future__ import annotations

import gzip
import json
import unicodedata
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from field_cli import EX, Run, assert_verbatim, audit, copy_case, index_of, kgaudit, read_jsonl

from kgaudit.runs.reader import steps_of
from kgaudit_retrievers.embedded import EmbeddedRetriever

NOT_SUPPORTED = ("refuted", "not_enough_evidence")


def write_docs(path: Path, *texts: str, **more: str) -> Path:
    path.write_text("".join(json.dumps({"id": f"d{i}", "text": text, **more}) + "\n" for i, text in enumerate(texts, 1)), "utf-8")
    return path


def stored(run: Run) -> list[str]:
    """The texts of all the passages that a run saw."""
    rows = [row for batch in run.reader.batches(["key", "trajectory"]) for row in batch.to_pylist()]
    ids = [key for row in rows for step in steps_of(row) for key in step.passages]
    return [passage.text for passage in run.reader.passages(ids).values()]


# 12: documents without a word


def test_12_empty_documents(tmp_path: Path) -> None:
    case = copy_case("12-empty-documents", tmp_path)
    result = kgaudit("index", case / "mixed.jsonl", "--to", tmp_path / "mixed")
    assert "1 of 4 documents indexed" in result.out
    assert "2 empty: blank, spaces" in result.out
    assert "1 set aside" in result.out
    (row,) = read_jsonl(tmp_path / "mixed" / "quarantine.jsonl")
    assert row["line"] == 4
    assert "null" in row["reason"]
    assert "none" in row["text"]
    run = audit(case / "kg.nt", index=tmp_path / "mixed", run=tmp_path / "run")
    (verdict,) = run.rows
    assert verdict["verdict"] == "supported"
    assert {span["document_id"] for span in verdict["evidence"]} == {"real"}
    assert_verbatim(run, case / "mixed.jsonl")
    refusal = kgaudit("index", case / "empty.jsonl", "--to", tmp_path / "empty", status=2)
    assert "nothing to index" in refusal.err
    assert "empty.jsonl" in refusal.err
    assert not (tmp_path / "empty").exists()


@pytest.mark.parametrize("text", ["", " ", "\u200b\u200b", "\u00a0\n\t", "—", "🚢", "...", "\u0301", "\ufeff"])
def test_12_other_texts_without_a_word(tmp_path: Path, text: str) -> None:
    docs = write_docs(tmp_path / "docs.jsonl", text)
    assert "nothing to index" in kgaudit("index", docs, "--to", tmp_path / "index", status=2).err
    docs = write_docs(tmp_path / "docs.jsonl", text, "Norrby Pumps has its seat in Orvik.")
    result = kgaudit("index", docs, "--to", tmp_path / "index")
    assert "1 of 2 documents indexed" in result.out
    assert "1 empty: d1" in result.out


def test_12_empty_pages_and_rows(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "a.html").write_text("<html><head><title>Only a title</title></head><body><script>x</script></body></html>")
    (pages / "b.md").write_text("---\ntitle: Head only\n---\n")
    (pages / "c.txt").write_text("")
    (pages / "d.txt").write_text("Norrby Pumps has its seat in Orvik.")
    result = kgaudit("index", pages, "--to", tmp_path / "index")
    assert "1 of 4 documents indexed" in result.out
    assert "3 empty" in result.out
    table = pa.table({"id": ["a", None, "c"], "text": [None, "no id", "Norrby Pumps has its seat in Orvik."]})
    pq.write_table(table, tmp_path / "docs.parquet")
    result = kgaudit("index", tmp_path / "docs.parquet", "--to", tmp_path / "index")
    assert "1 of 3 documents indexed" in result.out
    assert "2 set aside" in result.out
    (tmp_path / "none").mkdir()
    assert "none" in kgaudit("index", tmp_path / "none", "--to", tmp_path / "index", status=2).err


# 13: composed and decomposed letters


def test_13_composed_and_decomposed(tmp_path: Path) -> None:
    case = copy_case("13-composed-decomposed", tmp_path)
    run = audit(case / "kg.ttl", index=index_of(case / "docs.jsonl"), run=tmp_path / "run")
    assert run.verdict("ferry", "operatedBy", "oeland") == "supported"
    assert run.verdict("muehlbrueck", "twinnedWith", "reaulac") == "supported"
    assert_verbatim(run, case / "docs.jsonl")
    quotes = [span["quote"] for row in run.rows for span in row["evidence"] if row["verdict"] == "supported"]
    assert any("Mu\u0308hlbru\u0308ck" in quote for quote in quotes)
    (row,) = run.reader.find(run.one("bridge", "completed", "1987")["key"])
    found = run.reader.passages(key for step in steps_of(row) for key in step.passages)
    assert "d3" in {passage.document_id for passage in found.values()}
    graph = (case / "kg.ttl").read_text("utf-8")
    labels = {label for row in run.rows for label in (row["s_label"], row["o_label"])}
    assert all(f'"{label}"' in graph for label in labels), labels


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Åsa Straße", "A\u030asa Strasse has its seat in Orvik."),
        ("Ｎｏｒｒｂｙ", "Norrby has its seat in Orvik."),
        ("Norrby Pumps", "Norrby\u00a0Pumps has its seat in Orvik."),
        ("O'Neill Works", "O’Neill Works has its seat in Orvik."),
        ("Norrby-Pumps", "Norrby‑Pumps has its seat in Orvik."),
        ("NORRBY PUMPS", "Norrby Pumps has its seat in Orvik."),
        ("Norrby Pumps", "Nor\u00adrby Pumps has its seat in Orvik."),
        ("ﬁnance Orvik AG", "finance Orvik AG has its seat in Orvik."),
        ("Việt Hà", "Vie\u0323\u0302t Ha\u0300 has its seat in Orvik."),
        ("İzmir Works", "i\u0307zmir Works has its seat in Orvik."),
    ],
)
@pytest.mark.parametrize("swap", [False, True])
def test_13_other_forms_of_one_name(tmp_path: Path, name: str, text: str, swap: bool) -> None:
    """Either side may hold either form; the quote is the document's."""
    if swap:
        form = unicodedata.normalize("NFC" if unicodedata.normalize("NFC", text) != text else "NFD", text)
        name, text = text.removesuffix(" has its seat in Orvik."), f"{name} has its seat in Orvik."
        assert form
    docs = write_docs(tmp_path / "docs.jsonl", text, "Tarn Holdings has its seat in Dunmere.")
    (tmp_path / "kg.jsonl").write_text(json.dumps({"subject": name, "predicate": "seat", "object": "Orvik"}) + "\n", "utf-8")
    run = audit(tmp_path / "kg.jsonl", index=index_of(docs), run=tmp_path / "run")
    (row,) = run.rows
    assert row["verdict"] == "supported", row["reason"]
    assert_verbatim(run, docs)
    assert row["s_label"] == name


# 14: pages


def test_14_script_style_template_and_blocks(tmp_path: Path) -> None:
    case = copy_case("14-html-script-and-blocks", tmp_path)
    run = audit(case / "kg.nt", index=index_of(case / "pages"), run=tmp_path / "run")
    assert run.verdict("Norrby_Pumps", "acquiredBy", "Tarn_Holdings") in NOT_SUPPORTED
    assert run.verdict("Norrby_Pumps", "seat", "Dunmere") in NOT_SUPPORTED
    texts = "\n".join(stored(run))
    assert "Ida\u00a0Sund" in texts or "Ida Sund" in texts
    for never in ("OrvikNorrby", "worksKestrel", "<", "&amp;", "&nbsp;", "Tarn Holdings", "content:", "feed"):
        assert never not in texts
    assert run.verdict("Norrby_Pumps", "founder", "Ida_Sund") == "supported"
    assert run.verdict("Osprey", "brandOwner", "Norrby_Pumps") == "supported"
    document = EmbeddedRetriever(case / "pages.index").document("norrby.html")
    assert document is not None
    for row in run.rows:
        for span in row["evidence"]:
            assert document.text[span["start"] : span["end"]] == span["quote"]


BLOCKS = [
    "<p>Seat: Orvik</p><p>Norrby</p>",
    "<div>Seat: Orvik</div><div>Norrby</div>",
    "<ul><li>Orvik<li>Norrby</ul>",
    "<table><tr><td>Orvik</td><td>Norrby</td></tr></table>",
    "<dl><dt>Orvik</dt><dd>Norrby</dd></dl>",
    "Orvik<br>Norrby",
    "Orvik<hr/>Norrby",
    "<section>Orvik</section><aside>Norrby</aside>",
    "<h2>Orvik</h2>Norrby",
    "<my-card>Orvik</my-card><my-card>Norrby</my-card>",
]


def page_text(tmp_path: Path, name: str, page: bytes) -> str:
    folder = tmp_path / "pages"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(page)
    kgaudit("index", folder, "--to", tmp_path / "index")
    retriever = EmbeddedRetriever(tmp_path / "index")
    document = retriever.document(name)
    retriever.close()
    assert document is not None
    return document.text


def test_14_other_blocks(tmp_path: Path) -> None:
    for i, block in enumerate(BLOCKS):
        text = page_text(tmp_path, f"p{i}.html", f"<body>{block}</body>".encode())
        assert "OrvikNorrby" not in text.replace(" ", "|"), block
        assert "Orvik" in text, block
        assert "Norrby" in text, block


@pytest.mark.parametrize(
    ("page", "wanted", "never"),
    [
        ("<p>Nor<em>rb</em>y <a href='x'>Pum</a>ps</p>", "Norrby Pumps", "Nor rby"),
        ("<p>Halden &lt;b&gt; &#x4E;orrby &eacute;t&eacute;</p>", "Halden <b> Norrby été", "&eacute;"),
        ("<noscript>Tarn bought it</noscript><p>Norrby</p>", "Norrby", "Tarn"),
        ("<p hidden>Tarn bought it</p><p>Norrby</p>", "Norrby", "Tarn"),
        ("<p style='display:none'>Tarn bought it</p><p>Norrby</p>", "Norrby", "Tarn"),
        ("<script>if (a<b) document.write('</p>Tarn')</script><p>Norrby</p>", "Norrby", "Tarn"),
        ("<textarea>x</textarea><p>Norrby <!-- > Tarn --> Pumps</p>", "Norrby", "Tarn"),
        ("<svg><title>Tarn</title></svg><p>Norrby</p>", "Norrby", "Tarn"),
        ("<p>Norrby<p>Halden", "Norrby\n\nHalden", "NorrbyHalden"),
    ],
)
def test_14_other_markup(tmp_path: Path, page: str, wanted: str, never: str) -> None:
    text = page_text(tmp_path, "p.html", f"<body>{page}</body>".encode())
    assert wanted in text
    assert never not in text


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("p.html", b"<meta charset='iso-8859-1'><p>M\xfchlbr\xfcck Works</p>"),
        ("p.html", "<p>Mühlbrück Works</p>".encode("utf-16")),
        ("p.htm", "\ufeff<p>Mühlbrück Works</p>".encode()),
        ("p.md", "# Mühlbrück Works\n\n<script>Tarn</script>\n".encode()),
        ("p.txt", "Mühlbrück Works".encode()),
        ("p.html.gz", gzip.compress("<p>Mühlbrück Works</p>".encode(), mtime=0)),
    ],
)
def test_14_other_encodings_of_pages(tmp_path: Path, name: str, page: bytes) -> None:
    text = page_text(tmp_path, name, page)
    assert "Mühlbrück Works" in text
    assert "Tarn" not in text


# 15: an immense word


def test_15_immense_term(tmp_path: Path) -> None:
    case = copy_case("15-immense-term", tmp_path)
    result = kgaudit("index", case / "docs.jsonl", "--to", tmp_path / "index")
    assert "2 of 2 documents indexed" in result.out
    assert "1 words too long" in result.out or "1 word too long" in result.out
    run = audit(case / "kg.nt", index=tmp_path / "index", run=tmp_path / "run")
    assert {row["verdict"] for row in run.rows} == {"supported"}
    assert len(run.rows) == 3
    assert_verbatim(run, case / "docs.jsonl")
    assert max(map(len, stored(run))) < 10_000


@pytest.mark.parametrize("letter", ["x", "ж", "漢", "한", "🚢", "é", "\u0301", "0", "=", "\u200b"])
def test_15_other_immense_words(tmp_path: Path, letter: str) -> None:
    docs = write_docs(
        tmp_path / "docs.jsonl", f"Norrby Pumps has its seat in Orvik. {letter * 40_000} The Halden works belong to Norrby Pumps."
    )
    (tmp_path / "kg.nt").write_text(
        f"<{EX}Norrby_Pumps> <{EX}seat> <{EX}Orvik> .\n<{EX}Halden_works> <{EX}owner> <{EX}Norrby_Pumps> .\n"
    )
    run = audit(tmp_path / "kg.nt", index=index_of(docs), run=tmp_path / "run")
    assert [row["verdict"] for row in run.rows] == ["supported", "supported"]
    assert_verbatim(run, docs)
    assert max(map(len, stored(run))) < 10_000


def test_15_immense_names(tmp_path: Path) -> None:
    """A name of 40,000 letters in the graph is a name that no document holds."""
    rows = [{"subject": letter * 40_000, "predicate": "seat", "object": "Orvik"} for letter in ("x", "漢", "( ")]
    (tmp_path / "kg.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run = audit(tmp_path / "kg.jsonl", run=tmp_path / "run")
    assert {row["verdict"] for row in run.rows} == {"not_enough_evidence"}
    kgaudit("report", tmp_path / "run")


# 16: names full of query syntax


def test_16_query_syntax(tmp_path: Path) -> None:
    case = copy_case("16-query-syntax-names", tmp_path)
    run = audit(case / "kg.nt", index=index_of(case / "docs.jsonl"), run=tmp_path / "run")
    assert {number: run.verdict(f"e{number}", "seat", "t1") for number in range(1, 7)} == dict.fromkeys(range(1, 7), "supported")
    assert run.verdict("e4", "seat", "t2") in NOT_SUPPORTED
    assert_verbatim(run, case / "docs.jsonl")


@pytest.mark.parametrize(
    "name",
    ["title:Norrby", "Norrby~", "[a TO b]", "NOT Norrby", "Norrby^5", "{!term f=x}Norrby", "Norrby && Tarn", "Norr?y*", "\\Norrby\\",
     "'; DROP TABLE x", "%Norrby_", "$where", "Norrby\u0000Pumps", "(((Norrby", "Норрби AND Тарн", "*ノルビー?", "AND", "x" * 300],
)  # fmt: skip
def test_16_other_syntax(tmp_path: Path, name: str) -> None:
    docs = write_docs(
        tmp_path / "docs.jsonl", f"{name} has its seat in Orvik.", "Norrbyolo, Norrby and Tarn have their seat in Dunmere."
    )
    rows = [{"subject": name, "predicate": "seat", "object": place} for place in ("Orvik", "Dunmere")]
    (tmp_path / "kg.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run = audit(tmp_path / "kg.jsonl", index=index_of(docs), run=tmp_path / "run")
    assert run.verdict(name, "seat", "Orvik") == "supported"
    assert run.verdict(name, "seat", "Dunmere") in NOT_SUPPORTED
    assert_verbatim(run, docs)


# 17: one id for two documents


def test_17_duplicate_ids(tmp_path: Path) -> None:
    case = copy_case("17-duplicate-document-ids", tmp_path)
    snapshots = set()
    for attempt in ("one", "two"):
        result = kgaudit("index", case / "docs.jsonl", "--to", tmp_path / attempt)
        assert "3 of 5 documents indexed" in result.out
        assert "1 repeated word for word: d2" in result.out
        assert "1 set aside" in result.out
        (row,) = read_jsonl(tmp_path / attempt / "quarantine.jsonl")
        assert row["line"] == 3
        assert "d1" in row["reason"]
        assert "line 1" in row["reason"]
        snapshots.add(result.out.rsplit("snapshot", 1)[1])
    assert len(snapshots) == 1
    run = audit(case / "kg.nt", index=tmp_path / "one", run=tmp_path / "run")
    assert {row["verdict"] for row in run.rows} == {"supported"}
    assert len(run.rows) == 2
    strict = kgaudit("index", case / "docs.jsonl", "--to", tmp_path / "strict", "--strict", status=2)
    assert "d1" in strict.err
    assert "line 3" in strict.err
    assert "line 1" in strict.err


def test_17_duplicates_over_files_and_kinds(tmp_path: Path) -> None:
    """The same id in two files, as a number and as text, and a whole file given twice."""
    (tmp_path / "a.jsonl").write_text('{"id": 7, "text": "Norrby owns Halden."}\n{"id": "x", "text": "Same."}\n')
    (tmp_path / "b.jsonl").write_text('{"doc_id": "7", "text": "Norrby owns Tarn."}\n{"id": "x", "text": "Same.", "title": "Other"}\n')
    result = kgaudit("index", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--to", tmp_path / "index")
    assert "2 of 4 documents indexed" in result.out
    assert "2 set aside" in result.out
    reasons = [row["reason"] for row in read_jsonl(tmp_path / "index" / "quarantine.jsonl")]
    assert all("a.jsonl" in reason for reason in reasons)
    result = kgaudit("index", tmp_path / "a.jsonl", tmp_path / "a.jsonl", "--to", tmp_path / "index")
    assert "2 of 4 documents indexed" in result.out
    assert "2 repeated word for word" in result.out
