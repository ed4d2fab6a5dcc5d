"""Field cases 32 to 34: what others wrote, in a report, a spreadsheet and a terminal."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from browser import Browser, find_chromium
from field_cli import EX, FIELD, ONE_THREAD, Run, assert_verbatim, audit, command, copy_case, index_of, kgaudit, report_cards

BIDI = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")


def case_run(name: str, tmp_path: Path, folder: str = "run") -> Run:
    case = copy_case(name, tmp_path)
    return audit(case / "kg.nt", index=index_of(case / "docs.jsonl"), run=tmp_path / folder)


def exported(run: Path, suffix: str) -> Path:
    path = run.parent / f"verdicts.{suffix}"
    kgaudit("export", run, "--to", path)
    return path


def table(run: Path, suffix: str) -> list[dict[str, str]]:
    separator = "\t" if suffix == "tsv" else ","
    return list(csv.DictReader(io.StringIO(exported(run, suffix).read_bytes().decode("utf-8-sig"), newline=""), delimiter=separator))


def unchanged(run: Path) -> Iterator[list[dict[str, Any]]]:
    """The rows of the exports that keep every code point."""
    yield [json.loads(line) for line in exported(run, "jsonl").read_text("utf-8").split("\n") if line]
    yield pq.read_table(exported(run, "parquet")).to_pylist()


def labels(rows: list[dict[str, Any]]) -> set[str]:
    return {row[name] for row in rows for name in ("s_label", "o_label")}


def written_labels(kg: Path) -> set[str]:
    """The labels of a graph file of N-Triples, as they are meant."""
    found = re.findall(r'rdf-schema#label> "((?:[^"\\]|\\.)*)"', kg.read_text("utf-8"))
    return {label.replace('\\"', '"').replace("\\t", "\t").replace("\\r", "\r") for label in found}


# 32: markup in labels, links, titles, texts and names of runs

HOSTILE_RUN = "<img src=x onerror=document.title=1>"
TEXT_TAGS = {
    "bdi",
    "b",
    "q",
    "p",
    "span",
    "div",
    "code",
    "small",
    "li",
    "ul",
    "ol",
    "figure",
    "figcaption",
    "mark",
    "details",
    "summary",
    "a",
}


def nodes(node: Any) -> Iterator[tuple[str, dict[str, str], list[Any]]]:
    if isinstance(node, list):
        tag, attributes, *children = node
        yield tag, attributes, children
        for child in children:
            yield from nodes(child)


def texts(node: Any) -> str:
    return node if isinstance(node, str) else "".join(map(texts, node[2:]))


def test_32_script_in_label(tmp_path: Path) -> None:
    from selectolax.lexbor import LexborHTMLParser

    case = copy_case("32-script-in-label", tmp_path)
    run = audit(case / "kg.nt", index=index_of(case / "docs.jsonl"), run=tmp_path / "runs" / HOSTILE_RUN)
    kgaudit("report", run.path)
    page = LexborHTMLParser((run.path / "report.html").read_text("utf-8"))
    title = page.css_first("title")
    assert title is not None
    assert HOSTILE_RUN in title.text()
    assert page.css("img, iframe, object, embed, link, base, form, textarea") == []
    assert all(drawing.parent is not None and "document.title" not in (drawing.html or "") for drawing in page.css("svg"))
    for element in page.css("*"):
        for name, value in element.attributes.items():
            assert not name.startswith("on"), element.html
            assert name not in ("srcdoc", "style", "action", "formaction"), element.html
            if name in ("href", "src"):
                assert re.match(r"https?://|#|[^:]*\Z", value or ""), element.html
    scripts = page.css("script")
    assert len([script for script in scripts if not script.attributes.get("type")]) == 1
    foot = page.css_first("footer")
    assert foot is not None
    assert foot.text().strip()
    assert page.css_first("body > footer") is not None, "an open tag or comment swallowed the end of the page"
    cards = report_cards(run.path)
    assert len(cards) == 5
    shown = "\n".join(map(texts, cards))
    for label in written_labels(case / "kg.nt") | {"' onmouseover='document.title=5", "javascript:document.title=4"}:
        assert label in shown, label
    for card in cards:
        for tag, attributes, _ in nodes(card):
            assert tag in TEXT_TAGS, tag
            assert not any(name.startswith("on") for name in attributes)
            assert re.match(r"https?://", attributes.get("href", "https://"))


def test_32_csp_lets_nothing_in(tmp_path: Path) -> None:
    run = case_run("32-script-in-label", tmp_path)
    kgaudit("report", run.path)
    page = (run.path / "report.html").read_text("utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//(?!graph\.example)""", page)
    assert "javascript:" not in re.sub(r"<[^>]*>", lambda tag: tag[0], "".join(re.findall(r'href="[^"]*"', page)))


MARKUP = [
    "</script><script>document.title=1</script>",
    "<!--<script>",
    "]]><svg/onload=document.title=2>",
    "{{title}} ${document.title=3} <%= 1 %>",
    "\u2028document.title=4\u2029",
    "&lt;img src=x onerror=document.title=5&gt;",
    '" autofocus onfocus="document.title=6',
    "<style>*{display:none}</style>",
    "</bdi></div></main></body></html>",
    "＜script＞document.title=7＜/script＞",
]


def hostile_run(tmp_path: Path) -> Run:
    """Markup everywhere a graph or a document can put it: labels, predicates, literals, statements, file names, titles, urls, ids."""
    rows = [
        {"subject": f"{one} works", "predicate": f"owns {one}", "object": f"{one} mine", "statement": f"{one} works owns {one} mine.",
         "document": one, "extractor": one, "extracted_at": one, "valid_from": one}
        for one in MARKUP
    ]  # fmt: skip
    docs = [
        {
            "id": f"{i}{one}",
            "title": one,
            "url": f"javascript:{one}",
            "date": one,
            "text": f"{one} works owns {one} {one} mine. Norrby {one}.",
        }
        for i, one in enumerate(MARKUP)
    ]
    kg = tmp_path / f"<b onclick=x>{'&amp;'}.jsonl"
    for path, items in ((kg, rows), (tmp_path / "docs.jsonl", docs)):
        path.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    return audit(kg, index=index_of(tmp_path / "docs.jsonl"), run=tmp_path / "run")


def test_32_markup_everywhere(tmp_path: Path) -> None:
    run = hostile_run(tmp_path)
    assert_verbatim(run, tmp_path / "docs.jsonl")
    cards = report_cards(run.path)
    assert len(cards) == len(MARKUP)
    shown = "\n".join(map(texts, cards))
    for one in MARKUP:
        assert f"{one} works".strip() in shown, one
    for card in cards:
        for tag, attributes, _ in nodes(card):
            assert tag in TEXT_TAGS
            assert re.match(r"https?://", attributes.get("href", "https://"))
    page = (run.path / "report.html").read_text("utf-8")
    assert page.count("<script") == page.count("</script>")
    assert page.rstrip().endswith("</html>")
    assert "\u2028" not in page or "script" in page


def test_32_in_a_browser(tmp_path: Path) -> None:
    """What only a browser can tell: nothing of others runs, nothing is asked of the network, every triple is built and shown."""
    program = find_chromium()
    if program is None:
        pytest.skip("32: needs a browser (Chromium) to open the report in")
    case = copy_case("32-script-in-label", tmp_path)
    run = audit(case / "kg.nt", index=index_of(case / "docs.jsonl"), run=tmp_path / "runs" / HOSTILE_RUN)
    kgaudit("report", run.path)
    browser = Browser(program)
    try:
        browser.open(run.path / "report.html")
        title = browser.run("document.title")
        shown = ""
        for number in range(browser.run("document.querySelectorAll('.tab').length")):
            browser.run(f"document.querySelectorAll('.tab')[{number}].click()")
            time.sleep(0.2)
            shown += browser.run("document.getElementById('list').textContent")
        assert browser.run("document.title") == title
        assert HOSTILE_RUN in title
        for label in written_labels(case / "kg.nt"):
            assert label in shown, label
        assert [url for url in browser.urls() if not url.startswith(("file:", "data:"))] == []
        assert browser.complaints() == []
        assert browser.run("document.querySelector('footer').textContent").strip()
        links = browser.run("[...document.querySelectorAll('[href]')].map((each) => each.protocol)")
        assert set(links) <= {"https:", "http:", "file:"}
    finally:
        browser.close()


# 33: cells that a spreadsheet would run


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_33_formula_cells(tmp_path: Path, suffix: str) -> None:
    run = case_run("33-formula-cells", tmp_path)
    rows = table(run.path, suffix)
    assert len(rows) == 7
    for row in rows:
        for name, value in row.items():
            if name in ("searches", "judged_pairs", "model_calls", "tokens", "seconds", "confidence", "p_supported") and value:
                float(value)
            else:
                assert not value.startswith(("=", "+", "-", "@", "\t", "\r")), (name, value)
    wanted = written_labels(FIELD / "33-formula-cells" / "kg.nt")
    assert labels(rows) == {label if label.startswith("ok") else f"'{label}" for label in wanted}


def test_33_other_formats_keep_every_letter(tmp_path: Path) -> None:
    run = case_run("33-formula-cells", tmp_path)
    wanted = written_labels(FIELD / "33-formula-cells" / "kg.nt")
    for rows in unchanged(run.path):
        assert len(rows) == 7
        assert labels(rows) == wanted
    kgaudit("export", run.path, "--to", tmp_path / "table.xlsx", status=2)


DANGEROUS = [
    "=1+1",
    "+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1+1",
    "＋1",
    "－1",
    "＠x",
    "=cmd|' /C calc'!A0",
    "-",
    "--",
    " =1",
    "\ufeff=1",
    "'=1",
]


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_33_formulas_in_every_column(tmp_path: Path, suffix: str) -> None:
    rows = [
        {"subject": f"{one}s", "predicate": f"{one}p", "object": f"{one}o", "statement": f"{one}s owns {one}o",
         "document": one, "valid_from": one, "valid_until": one, "graph": one, "extractor": one}
        for one in DANGEROUS
    ]  # fmt: skip
    (tmp_path / "=kg.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "docs.jsonl").write_text(
        "".join(json.dumps({"id": f"={i}", "text": f"{one}s {one}p {one}o."}) + "\n" for i, one in enumerate(DANGEROUS)), "utf-8"
    )
    run = audit(tmp_path / "=kg.jsonl", index=index_of(tmp_path / "docs.jsonl"), run=tmp_path / "run")
    assert len(run.rows) == len({one.strip() for one in DANGEROUS})
    for row in table(run.path, suffix):
        for name, value in row.items():
            if name not in ("searches", "judged_pairs", "model_calls", "tokens", "seconds", "confidence", "p_supported"):
                assert not re.match(r"[\s\ufeff]*[=+\-@＝＋－＠]", value) or value.lstrip("\ufeff \n\t\r")[:1] == "'", (name, value)


# 34: text that runs the other way


def test_34_bidi_label(tmp_path: Path) -> None:
    run = case_run("34-bidi-label", tmp_path)
    assert_verbatim(run, FIELD / "34-bidi-label" / "docs.jsonl")
    assert not BIDI.search(run.result.text)
    wanted = written_labels(FIELD / "34-bidi-label" / "kg.nt")
    assert any(BIDI.search(label) for label in wanted)
    for rows in unchanged(run.path):
        assert labels(rows) == wanted
    cards = report_cards(run.path)
    assert not BIDI.search(json.dumps(cards, ensure_ascii=False))
    assert not BIDI.search((run.path / "report.html").read_text("utf-8"))
    shown = "\n".join(map(texts, cards))
    assert "[U+202E]tnuoc-doog" in shown
    assert "plain[U+200F]" in shown
    isolated = {texts([tag, attributes, *children]) for card in cards for tag, attributes, children in nodes(card) if tag == "bdi"}
    for label in ("נמל אורביק (3)", "شركة نوربي 12", "invoice[U+202E]tnuoc-doog"):
        assert label in isolated, "a label stands outside an element that keeps its direction apart"


def test_34_supported_claim_is_quoted_letter_for_letter(tmp_path: Path) -> None:
    run = case_run("34-bidi-label", tmp_path)
    row = run.one("c", "partOf", "d")
    assert row["verdict"] == "supported"
    assert any("נמל אורביק (3)" in span["quote"] for span in row["evidence"])


@pytest.mark.parametrize(
    "char", ["\u202e", "\u2066", "\u2069", "\u200f", "\u061c", "\x1b[31m", "\x9b", "\x07", "\r", "\x08", "\x7f", "\ufeff"]
)
def test_34_terminal_and_replay_show_controls_as_marks(tmp_path: Path, char: str) -> None:
    """Nothing that a graph holds steers the terminal: not the direction, not the colour, not the cursor."""
    rows = [{"subject": f"Norrby{char}Pumps", "predicate": f"ow{char}ns", "object": f"Hal{char}den", "statement": f"A{char}B"}]
    kg = tmp_path / "kg.jsonl"
    kg.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "docs.jsonl").write_text(
        json.dumps({"id": f"d{char}1", "text": f"Norrby{char}Pumps ow{char}ns Hal{char}den."}) + "\n", "utf-8"
    )
    run = audit(kg, index=index_of(tmp_path / "docs.jsonl"), run=tmp_path / "run")
    (row,) = run.rows
    said = run.result.text + kgaudit("replay", run.path, row["key"]).text + kgaudit("replay", run.path, f"no{char}such", status=2).text
    assert char[0] not in said.replace("\r\n", "\n")
    (tmp_path / "bad.jsonl").write_text(
        json.dumps({"id": f"e{char}", "text": f"{char} "}) + "\n" + json.dumps({"id": "x", "text": "Norrby."}) + "\n"
    )
    assert char[0] not in kgaudit("index", tmp_path / "bad.jsonl", "--to", tmp_path / "index2").text
    assert char[0] not in json.dumps(report_cards(run.path), ensure_ascii=False)


def test_34_terminal_that_is_not_utf8(tmp_path: Path) -> None:
    """A terminal or log of another encoding gets marks, never a traceback."""
    case = copy_case("34-bidi-label", tmp_path)
    index = index_of(case / "docs.jsonl")
    for encoding in ("ascii", "latin-1"):
        done = subprocess.run(
            command("audit", case / "kg.nt", "--index", index, "--run", tmp_path / encoding),
            env={**os.environ, **ONE_THREAD, "PYTHONIOENCODING": encoding}, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
        done = subprocess.run(
            command("replay", tmp_path / encoding, "נמל אורביק (3) part of شركة نوربي 12"),
            env={**os.environ, **ONE_THREAD, "PYTHONIOENCODING": encoding}, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def test_34_iri_and_url_with_controls(tmp_path: Path) -> None:
    (tmp_path / "kg.nt").write_text(f"<{EX}a\u200fb> <{EX}owns> <{EX}Halden> .\n<{EX}c%E2%80%AEd> <{EX}owns> <{EX}Halden> .\n", "utf-8")
    run = audit(tmp_path / "kg.nt", run=tmp_path / "run")
    assert not BIDI.search("\n".join(map(texts, report_cards(run.path))))
    assert not BIDI.search(run.result.text)
