"""Airflow's pages in a browser: what a person finds there. The pictures are kept in build/airflow-pictures, to be looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import find_chromium
from harness.pictures import Pages
from harness.rest import quote
from harness.site import TRIPLES, Ran, Site
from in_process import give_up


@pytest.fixture(scope="module")
def pages(site: Site) -> Iterator[Pages]:
    program = find_chromium()
    if program is None:
        give_up("Chromium is not installed (Debian: apt-get install chromium)")
    made = Pages(program, site.rest)
    yield made
    made.close()


@pytest.fixture(scope="module")
def audit(site: Site) -> Ran:
    """The last audit of the half wrong graph."""
    runs = [one for one in site.rest.runs("nightly_audit") if one["conf"].get("kg_conn_id") == "kgaudit_bad"]
    if runs:
        return site.wait("nightly_audit", runs[-1]["dag_run_id"])
    return site.run("nightly_audit", "kgaudit_bad", shard_triples=TRIPLES // 2)


def address(ran: Ran, task: str = "", page: str = "") -> str:
    below = f"/tasks/{task}" if task else ""
    return f"/dags/{ran.dag}/runs/{quote(ran.id)}{below}" + (f"/{page}" if page else "")


def test_grid(pages: Pages, audit: Ran, pictures: Path) -> None:
    pages.visit(address(audit), "validate_verdicts")
    for task in ("select_new_triples", "verify_shard [ ]", "merge_verdicts", "publish_report"):
        pages.wait_for_words(task)
    pages.picture(pictures / "grid.png")


def test_failed_gate_says_the_numbers(pages: Pages, site: Site, audit: Ran, pictures: Path) -> None:
    gate = site.gate_of(audit)
    pages.visit(address(gate, "gate"), "stopped (exit status 1)")
    pages.wait_for_words("threshold 80.0 %")
    pages.picture(pictures / "failed-gate.png")


def test_extra_links_lead_to_the_report(pages: Pages, site: Site, audit: Ran, pictures: Path) -> None:
    pages.visit(address(audit, "publish_report", "details"), "Extra Links")
    pages.wait("[...document.querySelectorAll('a')].some(a => a.innerText === 'Report')")
    pages.picture(pictures / "extra-links.png")
    link = pages.run("[...document.querySelectorAll('a')].find(a => a.innerText === 'Report').href")
    assert link == site.rest.links(audit.dag, audit.id, "publish_report")["Report"]
    pages.visit(link, "refuted")
    assert pages.complaints() == []
    pages.picture(pictures / "report.png")


def test_links_of_the_gate_and_of_a_shard(site: Site, audit: Ran) -> None:
    for ran, task, index, name in ((site.gate_of(audit), "gate", -1, "Decision"), (audit, "verify_shard", 1, "Run")):
        link = site.rest.links(ran.dag, ran.id, task, index)[name]
        assert link == f"{site.rest.url}/kgaudit/runs/{ran.dag}/{quote(ran.id)}"


def test_pages_inside_airflow(pages: Pages, audit: Ran, pictures: Path) -> None:
    pages.visit("/plugin/kgaudit", "Browse")
    pages.wait("document.querySelector('iframe')?.contentDocument?.body?.innerText.includes('Knowledge graph audits')")
    shown = pages.run("document.querySelector('iframe').contentDocument.body.innerText")
    assert audit.id in shown
    pages.picture(pictures / "audits.png")


def test_run_page(pages: Pages, site: Site, audit: Ran, pictures: Path) -> None:
    pages.visit(f"/kgaudit/runs/{audit.dag}/{quote(audit.id)}", "Report")
    pages.picture(pictures / "run.png")
    gate = site.gate_of(audit)
    pages.visit(f"/kgaudit/runs/{gate.dag}/{quote(gate.id)}", "stopped")
    pages.picture(pictures / "decision.png")


def test_question_to_a_person(pages: Pages, site: Site, audit: Ran, pictures: Path) -> None:
    del audit
    run = site.ask_for_release("kgaudit_bad")
    pages.visit(f"/dags/release_gate/runs/{quote(run)}/tasks/ask_for_release/required_actions", "Release it all the same?")
    pages.wait_for_words("Reason")
    pages.picture(pictures / "question.png")
    site.answer(run, "Reject", "Only looked at.")
    assert site.wait("release_gate", run).state == "failed"
