from __future__ import annotations

import gzip
import json
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgaudit.documents import Document
from kgaudit.errors import InputError
from kgaudit_retrievers.corpus import read_documents
from kgaudit_retrievers.pages import html_page, markdown_page
from kgaudit_retrievers.passages import MAX_CHARACTERS, pieces, windows
from kgaudit_retrievers.terms import count_long_words, language_of, terms

ROW = {"id": "d1", "title": "Note", "text": "Norrby Pumps has its seat in Orvik.", "lang": "en", "date": "2024-05-01", "url": "u"}
DOCUMENT = Document("d1", ROW["text"], "Note", "en", "2024-05-01", "u")


def read(*paths: Path) -> tuple[list[Document], list[tuple[str, int, str, str]]]:
    quarantined: list[tuple[str, int, str, str]] = []
    documents = list(read_documents(paths, lambda *entry: quarantined.append(entry)))
    return documents, quarantined


def lines(path: Path, *rows: object, raw: bytes = b"") -> Path:
    path.write_bytes(raw or "".join(json.dumps(row) + "\n" for row in rows).encode())
    return path


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_jsonl_plain_and_compressed(tmp_path: Path, ending: str) -> None:
    raw = (json.dumps(ROW) + "\n" + json.dumps({"doc_id": 7, "body": "Seven.", "language": "de"}) + "\n").encode()
    if ending == ".gz":
        raw = gzip.compress(raw)
    elif ending == ".zst":
        raw = pa.Codec("zstd").compress(raw, asbytes=True)
    documents, quarantined = read(lines(tmp_path / f"docs.jsonl{ending}", raw=raw))
    assert documents == [DOCUMENT, Document("7", "Seven.", language="de")]
    assert quarantined == []


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_stream_that_is_cut_off_is_refused_by_name(tmp_path: Path, ending: str) -> None:
    raw = "".join(json.dumps({"id": str(i), "text": f"Text {i * i}."}) + "\n" for i in range(2000)).encode()
    packed = gzip.compress(raw) if ending == ".gz" else pa.Codec("zstd").compress(raw, asbytes=True)
    path = lines(tmp_path / f"cut.jsonl{ending}", raw=packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"cut\.jsonl"):
        read(path)


def test_bad_lines_are_set_aside_with_line_and_reason_and_the_others_are_read(tmp_path: Path) -> None:
    raw = b"\xef\xbb\xbf" + json.dumps(ROW).encode() + b"\r\n"
    raw += b'{"id": "d2", "text": "\xff"}\r\n\r\n{"id": "d3"\n[1]\n{"text": "x"}\n{"id": "d4", "text": null}\n{"id": "d5", "text": 5}\n'
    raw += b'{"id": "d6", "text": "half \\ud83d"}\n{"id": {}, "text": "x"}\n' + b"[" * 100_000 + b'\n{"id": "d7", "text": "a\\u0000b"}'
    documents, quarantined = read(lines(tmp_path / "docs.jsonl", raw=raw))
    assert documents == [DOCUMENT, Document("d7", "a\x00b")]
    assert [(line, reason.split(" (")[0]) for _, line, _, reason in quarantined] == [
        (2, "not UTF-8"), (4, "not JSON"), (5, "not a JSON object"), (6, "id is missing"), (7, "text is null"),
        (8, "text is not a string"), (9, "it holds half a character, a lone surrogate"),
        (10, "id is neither a string nor a whole number"), (11, "not JSON"),
    ]  # fmt: skip
    assert quarantined[4][2] == '{"id": "d4", "text": null}'


def test_parquet(tmp_path: Path) -> None:
    table = pa.table({"doc_id": ["d1", "d2"], "content": ["One.", None], "date": [date(2024, 5, 1), None], "other": [1, 2]})
    pq.write_table(table, tmp_path / "docs.parquet")
    documents, quarantined = read(tmp_path / "docs.parquet")
    assert documents == [Document("d1", "One.", date="2024-05-01")]
    assert [(line, reason) for _, line, _, reason in quarantined] == [(2, "text is null (document d2)")]


@pytest.mark.parametrize("raw", [b"", b"PAR1 is not enough", b"x" * 100])
def test_what_is_no_parquet_file_is_refused_by_name(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "docs.parquet").write_bytes(raw)
    with pytest.raises(InputError, match=r"docs\.parquet"):
        read(tmp_path / "docs.parquet")


def test_parquet_without_the_columns_says_which_there_are(tmp_path: Path) -> None:
    pq.write_table(pa.table({"name": ["x"]}), tmp_path / "docs.parquet")
    with pytest.raises(InputError, match="name"):
        read(tmp_path / "docs.parquet")


def test_a_folder_is_read_in_order_and_named_by_path(tmp_path: Path) -> None:
    for name, text in {
        "b.txt": "B\r\nb",
        "a/z.md": "# Z\n\nText *of* z.",
        "a/page.HTML": "<p>P",
        ".git/x.txt": "no",
        "s.pdf": "no",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, newline="")
    documents, quarantined = read(tmp_path)
    assert [(document.id, document.title, document.text) for document in documents] == [
        ("b.txt", "", "B\r\nb"), ("a/page.HTML", "", "P"), ("a/z.md", "Z", "Z\n\nText of z."),
    ]  # fmt: skip
    assert [(Path(file).name, line) for file, line, _, _ in quarantined] == [("s.pdf", 0)]


def test_text_files_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("ok\nM\u00fchl".encode("latin-1"))
    (tmp_path / "b.txt").write_bytes("Mühl".encode("utf-16"))
    (tmp_path / "c.html").write_bytes("<meta charset=iso-8859-1><p>Mühl".encode("latin-1"))
    documents, quarantined = read(tmp_path)
    assert [document.text for document in documents] == ["Mühl", "Mühl"]
    assert [(line, text) for _, line, text, _ in quarantined] == [(2, "M\ufffdhl")]


def test_a_path_that_is_not_there_or_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such"):
        read(tmp_path / "none.jsonl")
    (tmp_path / "x.pdf").write_bytes(b"%PDF")
    with pytest.raises(InputError, match=r"\.jsonl"):
        read(tmp_path / "x.pdf")


# Field case 14: what a page says, and what only its script says.
PAGE = """<!doctype html>
<html lang="en-GB"><head><title>Norrby
 Pumps</title>
<style>.seat:after { content: "Dunmere" }</style><script>var feed = "bought by Tarn Holdings";</script></head><body>
<!-- bought by Tarn Holdings --><h1>Norrby Pumps</h1><p>Seat: Orvik</p><p>Founded by Ida&nbsp;Sund &amp; Odo&#160;Brandt.</p>
<ul><li>Halden works</li><li>Kestrel works</li></ul><template><p>bought by Tarn Holdings</p></template>
<p hidden>bought by Tarn Holdings</p><div style="color: red; display: none">bought</div>
<table><tr><th>Seat</th><td>Orvik</td></tr><tr><th>Owner</th><td>Ida</td></tr></table>
<pre>a  b
c</pre><p>The brand <b>Os</b>prey<br>belongs to<sup>1</sup> <i>Norrby</i> Pumps.</p></body></html>"""


def test_html_is_read_as_a_reader_sees_it() -> None:
    page = html_page(PAGE)
    assert page.text == (
        "Norrby Pumps\n\nSeat: Orvik\n\nFounded by Ida\u00a0Sund & Odo\u00a0Brandt.\n\nHalden works\nKestrel works\n\n"
        "Seat\tOrvik\nOwner\tIda\n\na  b\nc\n\nThe brand Osprey\nbelongs to1 Norrby Pumps."
    )
    assert (page.title, page.language) == ("Norrby Pumps", "en-GB")
    assert [(heading.start, heading.level, heading.text) for heading in page.headings] == [(0, 1, "Norrby Pumps")]


@pytest.mark.parametrize("html", ["", "<", "<p", "<title></title>", "<script>x", "\x00", "</body></html>text", "plain & simple"])
def test_broken_html_is_no_error(html: str) -> None:
    assert "x" not in html_page(html).text.replace("text", "")


def test_deeply_nested_html() -> None:
    assert html_page("<div>" * 20_000 + "deep").text == "deep"


def test_markdown() -> None:
    page = markdown_page("---\ntitle: Minutes\nlang: de\ndate: 2024-05-01\n---\n# Top\n\nA *b*_c_ [link](http://x) &amp; `code`.\n\n"
                         "## Part\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<script>no</script>\n")  # fmt: skip
    assert (page.title, page.language, page.date) == ("Minutes", "de", "2024-05-01")
    assert page.text == "Top\n\nA bc link & code.\n\nPart\n\none\ntwo\n\na\tb\n1\t2"
    assert [(heading.level, heading.text) for heading in page.headings] == [(1, "Top"), (2, "Part")]
    assert [page.text[heading.start :][: len(heading.text)] for heading in page.headings] == ["Top", "Part"]


def test_passages_are_windows_of_three_that_share_a_sentence() -> None:
    text = "One is. Two is. Three is. Four is. Five is. Six is."
    spans = pieces(text)
    assert [text[spans[first][0] : spans[last - 1][1]] for first, last in windows(spans)] == [
        "One is. Two is. Three is.", "Three is. Four is. Five is.", "Five is. Six is.",
    ]  # fmt: skip
    assert windows(pieces("Only one.")) == [(0, 1)]
    assert windows([(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)], {0, 4, 6}) == [(0, 2), (2, 5)]
    assert windows([]) == []


@pytest.mark.parametrize(
    "text", ["word " * 1000, "x" * 40_000, "Start. " + "y" * 40_000 + " End.", "a" * 1200 + " b", "漢" * 5000, "z" * 1201]
)
def test_no_passage_is_too_long_and_nothing_is_lost(text: str) -> None:
    spans = pieces(text)
    covered = [span for first, last in windows(spans) for span in [(spans[first][0], spans[last - 1][1])]]
    assert max(end - start for start, end in covered) <= MAX_CHARACTERS
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())
    assert "word" not in text or all(text[start:end].split()[0] == "word" for start, end in covered)


@pytest.mark.parametrize(
    ("text", "languages", "right"),
    [
        ("The Founders founded", (), ["the", "founder", "found"]),
        ("Gründungen", ("de",), ["gründungen", "de:grundung"]),
        ("4,523,000 or 1.234.567,89", (), ["4", "523", "000", "or", "1", "234", "567", "89", "4523000", "1234567"]),
        ("on 2,010", (), ["on", "2", "010", "2010"]),
        ("하늘강 다리는", (), ["하늘", "늘강", "다리", "리는"]),
        ("C언어 中", (), ["c", "언어", "中"]),
        ("Norrby_Pumps-AG's", (), ["norrbi", "pump", "ag", "s"]),
        ("AND/OR (Nord) *~^ [sic]: \\", (), ["and", "or", "nord", "sic"]),
        ("Ida\u00a0Sund", (), ["ida", "sund"]),
        ("हिन्दी", (), ["हिन्दी"]),
        ("... -- !", (), []),
    ],
)
def test_terms(text: str, languages: tuple[str, ...], right: list[str]) -> None:
    assert terms(text, languages) == right


def test_words_that_are_too_long_are_counted_and_left_out() -> None:
    assert terms("a " + "x" * 101) == ["a"]
    assert count_long_words("a " + "x" * 40_000 + " b " + "y" * 100 + " " + "漢" * 200) == 1


def test_language_codes() -> None:
    assert [language_of(code) for code in ("de-CH", "DE", "pt_BR", "en", "ko", "", "xx")] == ["de", "de", "pt", "", "", "", ""]
