"""The report in a browser: nothing of others runs, no request leaves, thousands of triples are paged, searched and filtered."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, find_chromium
from fake_run import GRAPH, entry, make_run, passage, span

from kgaudit.reports.html import write_report
from kgaudit.runs.ledger import Entry
from kgaudit.triples import Place, iri_term, literal_term

READY = "!document.querySelector('.controls').hidden && /: [0-9,]+ triples?\\./.test(document.getElementById('status').textContent)"
LABELS = {
    "a": "<script>document.title=1</script>",
    "b": '"><img src=x onerror=document.title=2>',
    "c": "</title></textarea></script><svg onload=document.title=3>",
    "d": "<!-- open comment",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium: CI must open the report in a browser")
        pytest.skip("NO CHROMIUM FOUND: the report was not opened in a browser (install chromium, or name it in CHROMIUM)")
    made = Browser(program)
    yield made
    made.close()


def hostile_entries() -> list[Entry]:
    """The graph of field case 32, each label also as reason, correction, document title, text and quote."""
    entries = []
    for subject, obj in ("ab", "bc", "cd", "da"):
        quote = f"{LABELS[subject]} is part of {LABELS[obj]}"
        found = passage(f"The part {quote}.", document=LABELS[obj], title="<b onclick=document.title=6>Title</b>",
                        url="javascript:document.title=7")  # fmt: skip
        terms = (iri_term(GRAPH + subject), iri_term(GRAPH + "partOf"), iri_term(GRAPH + obj))
        entries.append(
            entry(LABELS[subject], "part of", LABELS[obj], terms=terms,
                  passages=(found,), evidence=(span(found, quote),), reason=LABELS[obj], better=LABELS[subject])
        )  # fmt: skip
    for predicate, term, label in (
        ("homepage", "<javascript:document.title=4>", "javascript:document.title=4"),
        ("note", literal_term("' onmouseover='document.title=5"), "' onmouseover='document.title=5"),
        ("image", "<data:text/html,<script>document.title=1</script>>", "data:text/html,<script>document.title=1</script>"),
    ):
        terms = (iri_term(GRAPH + "d"), iri_term(GRAPH + predicate), term)
        entries.append(entry(LABELS["d"], predicate, label, terms=terms))
    return entries


def test_case_32_nothing_of_others_runs(browser: Browser, tmp_path: Path) -> None:
    name = "<img src=x onerror=document.title=1>"
    path = write_report(make_run(tmp_path / "runs" / name, hostile_entries()))
    browser.open(path)
    browser.wait(READY)
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    browser.run("document.querySelectorAll('*').forEach((each) => { each.dispatchEvent(new MouseEvent('mouseover')); })")
    assert browser.run("document.title") == f"Audit report: {name}"
    assert browser.run("document.querySelector('h1').textContent") == name
    shown = browser.run("document.getElementById('list').textContent")
    for label in (
        *LABELS.values(),
        "' onmouseover='document.title=5",
        "<b onclick=document.title=6>Title</b>",
        "javascript:document.title=7",
    ):
        assert label in shown, label
    assert browser.run("document.querySelectorAll('#list > li').length") == 7
    assert browser.run("[...document.querySelectorAll('a')].every((a) => ['https:', 'file:'].includes(a.protocol))")
    assert browser.run("document.querySelectorAll('img, iframe, textarea, #list svg, #list script, #list b').length") == 0
    assert "kgaudit export" in browser.run("document.querySelector('body > footer').textContent")
    assert browser.urls() == [path.absolute().as_uri()]
    assert browser.complaints() == []
    for character in "<>&\"'":
        choose(browser, "find", character, "input")
    browser.wait("document.querySelectorAll('#list > li').length < 7")
    assert browser.run("document.title") == f"Audit report: {name}"


def test_case_32_the_policy_stops_what_would_get_through(browser: Browser, tmp_path: Path) -> None:
    browser.open(write_report(make_run(tmp_path / "run", hostile_entries())))
    browser.wait(READY)
    title = browser.run("document.title")
    assert (
        browser.run("(() => { try { document.body.innerHTML = '<b>x</b>'; return 'set'; } catch { return 'refused'; } })()")
        == "refused"
    )
    browser.run(
        "(() => { const script = document.createElement('script'); script.append('document.title=1'); document.body.append(script);"
        " const link = document.createElement('img'); link.src = 'http://127.0.0.1:9/x'; document.body.append(link); })()"
    )
    assert browser.run("fetch('http://127.0.0.1:9/y').then(() => 'sent', () => 'refused')") == "refused"
    assert browser.run("document.title") == title


def test_case_34_labels_keep_their_direction_to_themselves(browser: Browser, tmp_path: Path) -> None:
    labels = ["invoice\u202etnuoc-doog", "\u2069\u202eOrvik", "נמל אורביק (3)", "شركة نوربي 12", "plain\u200f"]
    found = passage("As of 2024 נמל אורביק (3) is part of شركة نوربي 12 and pays rent.")
    quoted = entry(labels[2], "part of", labels[3], "supported", passages=(found,), evidence=(span(found, found.text, "supports"),))
    others = [entry(labels[i], "part of", labels[j], "refuted") for i, j in ((0, 1), (3, 4), (1, 2))]
    browser.open(write_report(make_run(tmp_path / "run", [quoted, *others])))
    browser.wait(READY)
    assert not browser.run("/[\\u202a-\\u202e\\u2066-\\u2069\\u200e\\u200f]/.test(document.documentElement.textContent)")
    shown = browser.run("document.getElementById('list').textContent")
    assert "invoice[U+202E]tnuoc-doog" in shown
    assert "plain[U+200F]" in shown
    directions = json.loads(
        browser.run(
            "JSON.stringify([...document.querySelectorAll('.label')].map((each) => [each.textContent, getComputedStyle(each).direction,"
            " getComputedStyle(each).unicodeBidi, each.localName]))"
        )
    )
    for text, direction, isolation, tag in directions:
        assert tag == "bdi"
        assert isolation in ("isolate", "plaintext")
        assert direction == ("rtl" if text in (labels[2], labels[3]) else "ltr"), text
    browser.run("document.querySelector('.tab.supported').click()")
    browser.wait("document.querySelector('#list .supported') !== null")
    assert browser.run("document.querySelector('#list mark').textContent") == found.text


PREDICATES = ("based in", "owns", "supplies", "audits")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 refuted triples, and some of each other verdict."""

    def made(i: int) -> Entry:
        found = passage(f"Site {i} is old. It was moved to Halden {i} in May.", document=f"d{i}")
        verdict = "refuted" if i < 2000 else ("supported", "not_enough_evidence", "not_judged")[i % 3]
        return entry(
            f"Site {i}", PREDICATES[i % 4], f"Orvik {i % 7}", verdict,  # type: ignore[arg-type]
            confidence=None if verdict == "not_judged" else 1 - i / 10_000,
            passages=(found,), evidence=(span(found, f"It was moved to Halden {i}"),) if verdict == "refuted" else (),
            places=(Place(f"part-{i % 3}.nt", i + 1),),
        )  # fmt: skip

    return write_report(make_run(tmp_path_factory.mktemp("large") / "run", map(made, range(2030))))


def first(browser: Browser) -> str:
    return str(browser.run("document.querySelector('#list .label')?.textContent ?? ''"))


def choose(browser: Browser, identity: str, value: str, event: str = "change") -> None:
    field = f"document.getElementById({identity!r})"
    browser.run(f"{field}.value = {json.dumps(value)}; {field}.dispatchEvent(new Event({event!r}))")


def said(browser: Browser, words: str) -> None:
    browser.wait(f"document.getElementById('status').textContent.startsWith({words!r})")


def test_2000_flagged_triples_are_paged(browser: Browser, large: Path) -> None:
    browser.open(large)
    browser.wait(READY)
    said(browser, "Refuted: 2,000 triples.")
    assert browser.run("document.querySelectorAll('#list > li').length") == 50
    seen: list[str] = []
    for page in range(40):
        seen += browser.run("[...document.querySelectorAll('#list > li')].map((each) => each.querySelector('.label').textContent)")
        if page < 39:
            before = first(browser)
            browser.run("document.querySelectorAll('.pager button')[1].click()")
            browser.wait(f"document.querySelector('#list .label').textContent !== {before!r}")
    assert seen == [f"Site {i}" for i in range(2000)]
    assert browser.run("document.querySelectorAll('.pager button')[1].disabled")
    browser.run("{ const at = document.querySelector('.pager input'); at.value = 21; at.dispatchEvent(new Event('change')); }")
    browser.wait("document.querySelector('#list .label').textContent === 'Site 1000'")
    assert browser.run("document.querySelector('#list mark').textContent") == "It was moved to Halden 1000"
    assert browser.complaints() == []


def test_filters_search_tabs_and_order_work_together(browser: Browser, large: Path) -> None:
    browser.open(large)
    browser.wait(READY)
    choose(browser, "find", "SITE 1999", "input")
    said(browser, "Refuted: 1 triple.")
    browser.wait("document.querySelector('#list .label').textContent === 'Site 1999'")
    choose(browser, "find", "OWNS orvik_3", "input")
    wanted = sum(i % 7 == 3 and i % 4 == 1 for i in range(2000))
    said(browser, f"Refuted: {wanted} triples.")
    choose(browser, "find", "", "input")
    said(browser, "Refuted: 2,000 triples.")
    value = browser.run("[...document.querySelectorAll('#by-predicate option')].find((each) => each.textContent === 'audits').value")
    choose(browser, "by-predicate", value)
    said(browser, "Refuted: 500 triples.")
    value = browser.run("[...document.querySelectorAll('#by-source option')].find((each) => each.textContent === 'part-2.nt').value")
    choose(browser, "by-source", value)
    said(browser, f"Refuted: {sum(i % 4 == 3 and i % 3 == 2 for i in range(2000))} triples.")
    choose(browser, "by-source", "")
    choose(browser, "by-predicate", "")
    said(browser, "Refuted: 2,000 triples.")
    choose(browser, "order", "last")
    browser.wait("document.querySelector('#list .label').textContent === 'Site 1999'")
    browser.run("document.querySelector('.tab.not_judged').click()")
    said(browser, "Not judged: 10 triples.")
    browser.run("document.querySelector('.tab.not_enough_evidence').click()")
    said(browser, "Not enough evidence: 10 triples.")
    choose(browser, "find", "nothing is called so", "input")
    said(browser, "Not enough evidence: 0 triples.")
    assert browser.run("document.querySelectorAll('#list > li').length") == 0


def test_the_address_of_a_triple_opens_it(browser: Browser, large: Path) -> None:
    key = entry("Site 2002", PREDICATES[2], "Orvik 0").claim.key
    browser.open(large, f"#{key}")
    browser.wait("document.querySelectorAll('#list > li').length === 1")
    assert browser.run("document.querySelector('#list code.key, #list button.key').textContent") == key[:12]
    assert first(browser) == "Site 2002"


def test_without_scripts_the_summary_and_the_first_page_are_there(browser: Browser, large: Path) -> None:
    browser.open(large)
    browser.wait(READY)
    built = browser.run("document.getElementById('list').innerText")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(large)
        root = browser.call("DOM.getDocument")["root"]["nodeId"]
        found = browser.call("DOM.querySelectorAll", nodeId=root, selector="#list > li")["nodeIds"]
        assert len(found) == 50
        assert browser.run("document.getElementById('list').innerText") == built
        assert "Pass rate" in browser.run("document.querySelector('.tiles').innerText")
        assert browser.run("getComputedStyle(document.querySelector('.controls')).display") == "none"
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.parametrize("width", [1366, 390, 320])
def test_nothing_runs_over_the_width_of_the_screen(browser: Browser, tmp_path: Path, width: int) -> None:
    long = "Donaudampfschifffahrtsgesellschaft" * 8
    found = passage(long + " moved.", title=long, url="https://docs.example/" + long)
    run = make_run(
        tmp_path / long[:100], [entry(long, long, long, passages=(found,), evidence=(span(found, long),)), *hostile_entries()]
    )
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500)
    try:
        browser.open(write_report(run))
        browser.wait(READY)
        browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.run("document.querySelector('.triple').scrollWidth - document.querySelector('.triple').clientWidth") <= 0
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")
