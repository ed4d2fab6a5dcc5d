"""The DAGs through a real scheduler (`airflow standalone`), triggered by REST: what passes, what stops, what is told to others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from harness.processes import wait_until
from harness.site import FIELD, SECRET, TRIPLES, Ran, Site

NIGHT = ("select_new_triples", "merge_verdicts", "publish_report", "validate_verdicts")


@pytest.fixture(scope="module")
def good(site: Site) -> Ran:
    return site.run("nightly_audit", "kgaudit_good", shard_triples=TRIPLES // 2)


@pytest.fixture(scope="module")
def bad(site: Site) -> Ran:
    return site.run("nightly_audit", "kgaudit_bad", shard_triples=TRIPLES // 2)


def test_an_audit_maps_over_shards(site: Site, good: Ran) -> None:
    assert good.state == "success", site.rest.complaints(good.dag, good.id)
    assert good.states == dict.fromkeys([*NIGHT, "verify_shard[0]", "verify_shard[1]"], "success")
    summary = json.loads((good.folder / "summary.json").read_text())
    assert summary["status"] == "complete"
    assert sum(summary["verdicts"].values()) == TRIPLES
    [event] = site.events("kg:audited", good)
    assert event["extra"]["kg"] == "kgaudit_good"
    assert event["extra"]["verdicts"] == summary["verdicts"]
    assert Path(event["extra"]["report"]).is_file()


def test_xcom_carries_paths_and_counts_only(site: Site, good: Ran) -> None:
    names = {row.split("> <")[0].rpartition("/")[2] for row in (site.folder / "good/kg.nt").read_text().splitlines()}
    for task in site.rest.tasks(good.dag, good.id):
        said = json.dumps(site.rest.xcoms(good.dag, good.id, task["task_id"], task["map_index"]))
        assert len(said) < 3000, said
        assert not [name for name in names if name in said]


def test_a_good_graph_is_released_and_others_hear_of_it(site: Site, good: Ran) -> None:
    gate = site.gate_of(good)
    assert gate.state == "success", site.rest.complaints(gate.dag, gate.id)
    assert gate.states == {"gate": "success", "ask_for_release": "skipped", "release": "success"}
    [event] = site.events("kg:released", gate)
    decision = json.loads(Path(event["extra"]["decision"]).read_text())
    assert decision["status"] == "passed"
    assert (event["extra"]["kg"], event["extra"]["triples"]) == ("kgaudit_good", TRIPLES)
    assert event["extra"]["accuracy_low"] == decision["accuracy"]["low"] > 0.8
    wait_until("after_release has heard of it", lambda: decision["run"] in _heard(site), 300)


def _heard(site: Site) -> list[str]:
    """The states of which the DAG behind the gate has heard."""
    runs = [one["dag_run_id"] for one in site.rest.runs("after_release") if one["state"] == "success"]
    return [extra["subject"] for run in runs for extra in site.rest.xcoms("after_release", run, "load")["return_value"]]


def test_a_bad_graph_is_stopped_and_nobody_hears_of_it(site: Site, bad: Ran) -> None:
    assert bad.state == "success", site.rest.complaints(bad.dag, bad.id)  # refuted triples are results
    gate = site.gate_of(bad)
    assert gate.state == "failed"
    assert gate.states == {"gate": "failed", "ask_for_release": "upstream_failed", "release": "upstream_failed"}
    said = site.log(gate)
    assert "stopped (exit status 1)" in said
    assert "threshold 80.0 %" in said
    assert site.events("kg:released", gate) == []
    decision = json.loads((gate.folder / "decision.json").read_text())
    assert decision["status"] == "stopped"
    assert decision["run"] not in _heard(site)


@pytest.mark.parametrize(("answer", "state"), [("Reject", "failed"), ("Release it all the same", "success")])
def test_a_stopped_graph_waits_for_a_person(site: Site, bad: Ran, answer: str, state: str) -> None:
    del bad
    run = site.ask_for_release("kgaudit_bad")
    assert "threshold 80.0" in site.rest.get(site.question(run))["body"]
    site.answer(run, answer, "The register is newer.")
    ran = site.wait("release_gate", run)
    assert ran.state == state, (ran.states, site.rest.complaints(ran.dag, ran.id))
    approval = json.loads((ran.folder / "approval.json").read_text())
    assert (approval["author_id"], approval["reason"]) == ("admin", "The register is newer.")
    released = site.events("kg:released", ran)
    if state == "failed":
        assert released == []
    else:
        assert (released[0]["extra"]["status"], released[0]["extra"]["approved_by"]) == ("stopped", approval["author"])


def test_case_36_a_night_on_which_nothing_is_new(site: Site) -> None:
    case, folder = FIELD / "36-nothing-new-tonight", site.folder / "case36"
    first = site.run("nightly_audit", "kgaudit_case36")
    assert first.state == "success", site.rest.complaints(first.dag, first.id)
    assert len(site.events("kg:audited", first)) == 1

    shutil.copy(case / "night2.nt", folder / "kg.nt")
    second = site.run("nightly_audit", "kgaudit_case36")
    assert second.state == "success", site.rest.complaints(second.dag, second.id)
    assert second.states["verify_shard"] == "skipped"
    assert "0 of 2 triples are new" in site.log(second)
    assert first.id in site.log(second)
    selected = json.loads((second.folder / "summary.json").read_text())["selected"]
    assert (selected["new"], selected["total"], selected["rests_on"]) == (0, 2, first.id)
    assert site.events("kg:audited", second) == []

    assert site.gate_of(first).state == "success"
    gate = site.run("release_gate", "kgaudit_case36")
    assert gate.state == "success", site.rest.complaints(gate.dag, gate.id)
    assert site.events("kg:released", gate)[0]["extra"]["triples"] == 2

    shutil.move(folder / "index", folder / "away")
    third = site.run("nightly_audit", "kgaudit_case36")
    assert third.state == "failed"
    assert third.states["select_new_triples"] == "failed"
    assert str(folder / "index") in site.log(third)


def test_no_secret_in_logs_runs_and_events(site: Site) -> None:
    ran = site.run("nightly_audit")  # its connection has the secret as its password
    assert ran.state == "success", site.rest.complaints(ran.dag, ran.id)
    places = [site.runs, site.deployment.home / "logs"]
    files = [file for place in places for file in place.rglob("*") if file.is_file()]
    assert len(files) > 10
    assert [file for file in files if SECRET.encode() in file.read_bytes()] == []
    assert SECRET not in json.dumps(site.rest.events())
