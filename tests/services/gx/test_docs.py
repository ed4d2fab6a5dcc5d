"""Data Docs in a browser: offline, readable, unharmed by what others wrote, and usable with thousands of failures."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, find_chromium
from fake_run import entry, make_run, passage, span

from gx.here import IGNORED, Validate, need_great_expectations
from kgaudit.errors import UsageError

need_great_expectations()
pytestmark = IGNORED

HOSTILE = [
    "<script>document.title=1</script>",
    '"><img src=x onerror=document.title=2>',
    "</title></textarea></script><svg onload=document.title=3>",
    "<!-- open comment",
    "' onmouseover='document.title=5",
    "$expectation_type $PARAMETER ${words} $$",
    "{{ 7 * 7 }}{% raw %}",
    "invoice\u202etnuoc-doog",
    "\u2069\u202eOrvik",
    "line\nbreak <br> &amp;",
]
SHOWN = {label: label.replace("\u202e", "[U+202E]").replace("\u2069", "[U+2069]").replace("\n", " ") for label in HOSTILE}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        said = "no Chromium here (Debian: apt-get install chromium)"
        pytest.fail(said) if os.environ.get("CI") else pytest.skip(said)
    opened = Browser(program)
    yield opened
    opened.close()


def hostile_run(folder: Path) -> Path:
    rows = []
    for i, label in enumerate(HOSTILE):
        seen = passage(f"{label} stands here.", document=f"d{i} {label}", title=label)
        rows.append(entry(label, label, label, passages=(seen,), evidence=(span(seen, label),), reason=label))
    return make_run(folder, rows)


def pages_of(docs: Path) -> list[Path]:
    """Every page of Data Docs and of the table of failing triples; the report has its own tests."""
    return [page for page in sorted(docs.rglob("*.html")) if page.name != "report.html"]


def test_pages_ask_the_network_for_nothing_and_hostile_labels_stay_text(browser: Browser, tmp_path: Path) -> None:
    from kgaudit_expectations import validate_run

    outcome = validate_run(hostile_run(tmp_path / "<img src=x onerror=document.title=1>"), docs=tmp_path / "docs")
    assert outcome.failing_triples == len(HOSTILE)
    pages = pages_of(tmp_path / "docs")
    assert len(pages) == 4  # index, suite, validation, failing triples
    for page in pages:
        browser.open(page)
        browser.run("new Promise(done => setTimeout(done, 200))")
        assert {url.partition(":")[0] for url in browser.urls()} <= {"file", "data"}, browser.urls()
        assert browser.complaints() == []
        assert browser.run("document.title").startswith(("Data documentation compiled by", "Data Docs created by", "Failing triples"))
        assert browser.run("document.querySelectorAll('svg[onload], img[onerror], [onmouseover]').length") == 0
        assert browser.run("[...document.images].every(image => image.naturalWidth > 0)")
        missing = "[...document.querySelectorAll('a[href]')].map(a => a.href).filter(href => href.startsWith('file:'))"
        for href in browser.run(missing):
            assert Path(href.removeprefix("file://").partition("#")[0].partition("?")[0]).exists(), href
    validation = next(page for page in pages if "validations" in page.parts)
    for page in (validation, tmp_path / "docs" / "triples" / "page-1.html"):
        browser.open(page)
        cells = set(browser.run("[...document.querySelectorAll('td bdi')].map(cell => cell.textContent.trim())"))
        wanted = set(SHOWN.values()) if page == validation else {text.replace("\n", " ") for text in SHOWN.values()}
        assert wanted <= {" ".join(cell.split()) for cell in cells}, wanted - cells
    browser.open(validation)
    assert browser.run("getComputedStyle(document.querySelector('.container-fluid')).paddingLeft") != "0px"  # Bootstrap is there
    assert browser.run("document.fonts.check('900 16px \"Font Awesome 6 Free\"')")
    assert browser.run("typeof jQuery.fn.bootstrapTable") == "function"
    assert "Validation failed" in browser.run("document.getElementById('kgaudit-outcome').textContent")


def test_links_lead_to_the_triple_in_the_report(browser: Browser, tmp_path: Path) -> None:
    from kgaudit_expectations import validate_run

    validate_run(hostile_run(tmp_path / "run"), docs=tmp_path / "docs")
    (validation,) = (tmp_path / "docs" / "validations").rglob("*.html")
    for page in (validation, tmp_path / "docs" / "triples" / "page-1.html"):
        browser.open(page)
        href = browser.run("[...document.querySelectorAll('td a')].map(a => a.href).find(href => href.includes('report.html#'))")
        name, _, key = href.removeprefix("file://").partition("#")
        assert Path(name) == tmp_path / "docs" / "report.html"
        browser.open(Path(name), f"#{key}")
        shown = "[...document.querySelectorAll('li.triple .key')].map(key => key.dataset.key ?? key.title)"
        browser.wait(f"{shown}.length === 1 && {shown}[0].endsWith('{key}')")


@pytest.mark.parametrize("count", [1, 2_345])
def test_the_table_of_triples_is_never_cut_and_the_cut_elsewhere_is_said(count: int, validate: Validate, tmp_path: Path) -> None:
    rows = [entry(f"S{i}", object="=1+1") for i in range(count)]
    outcome = validate(make_run(tmp_path / "run", rows), docs=tmp_path / "docs")
    assert outcome.failing_triples == count
    with open(tmp_path / "docs" / "triples" / "triples.csv", encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert {row["key"] for row in table} == {row.claim.key for row in rows}
    assert all(row["o_label"] == "'=1+1" for row in table)
    assert all(row["fails"] == "refuted; evidence not quoted word for word" for row in table)
    pages = sorted((tmp_path / "docs" / "triples").glob("page-*.html"))
    assert len(pages) == -(-count // 500)
    assert sum(page.read_text("utf-8").count("<tr id=") for page in pages) == count
    assert all(page.read_text("utf-8").endswith("</html>\n") for page in pages)
    (validation,) = (tmp_path / "docs" / "validations").rglob("*.html")
    text = validation.read_text("utf-8")
    assert len(text) < 150_000
    assert ("the table of triples holds all" in text) == (count > 20)


def test_a_table_without_its_run(tmp_path: Path) -> None:
    from kgaudit_expectations import check_table, validate_sql, write_sql

    url = f"sqlite:///{tmp_path / 'v.db'}"
    write_sql(check_table(make_run(tmp_path / "run", [entry("Norrby")])), url, "verdicts")
    outcome = validate_sql(url, "verdicts", docs=tmp_path / "docs")
    assert outcome.failing_triples == 1
    assert not (tmp_path / "docs" / "report.html").exists()
    assert "report.html" not in "".join(page.read_text("utf-8") for page in pages_of(tmp_path / "docs"))


def test_docs_replace_only_docs(tmp_path: Path) -> None:
    from kgaudit_expectations import validate_run

    run, docs = make_run(tmp_path / "run", [entry("Norrby")]), tmp_path / "docs"
    validate_run(run, docs=docs)
    first: Any = sorted((docs / "validations").rglob("*.html"))
    validate_run(run, docs=docs)
    assert len(first) == len(sorted((docs / "validations").rglob("*.html"))) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs", "run"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="other files"):
        validate_run(run, docs=other)
    assert (other / "letter.txt").read_text("utf-8") == "mine"


def test_what_is_vendored_is_small_and_licensed() -> None:
    from importlib.resources import files

    vendor = Path(str(files("kgaudit_expectations") / "vendor"))
    assert sum(path.stat().st_size for path in vendor.rglob("*")) < 1_500_000
    for path in [*(vendor / "css").iterdir(), *(vendor / "js").iterdir()]:
        name = path.name.split(".")[0]
        known = {licence.stem for licence in (vendor / "licences").iterdir()}
        assert any(name.startswith(one) for one in known) or name == "bootstrap-prefers-dark", path
