"""The REST API and the plugin's pages from outside: runs without a logical date, and who may see what."""

from __future__ import annotations

import json
import re

from harness.processes import wait_until
from harness.rest import call, quote
from harness.site import FIELD, Site

TRIGGER = FIELD / "37-null-logical-date/trigger.json"


def test_case_37_runs_without_a_logical_date(site: Site) -> None:
    body = json.loads(TRIGGER.read_text())
    rest = site.rest
    scheduled = site.scheduled()
    runs = [rest.ask("POST", "/dags/nightly_audit/dagRuns", body)["dag_run_id"] for _ in range(2)]
    known = {one["dag_run_id"] for one in rest.runs("nightly_audit")}
    asset = next(one for one in rest.get("/assets", limit=100)["assets"] if one["name"] == "kg:extracted")
    rest.ask("POST", "/assets/events", {"asset_id": asset["id"], "extra": {"batch": "b-17"}})
    ended = [site.wait("nightly_audit", run) for run in (*scheduled, *runs)]
    by_asset = list[str]()

    def came() -> bool:
        by_asset[:] = [one["dag_run_id"] for one in rest.runs("nightly_audit") if one["dag_run_id"] not in known]
        return bool(by_asset)

    wait_until("the asset's event starts a run", came, 300)
    ended += [site.wait("nightly_audit", run) for run in by_asset]
    assert [one.state for one in ended] == ["success"] * 4, [rest.complaints(one.dag, one.id) for one in ended]

    for run in (*runs, *by_asset):
        assert rest.run("nightly_audit", run)["logical_date"] is None
    assert rest.run("nightly_audit", by_asset[0])["run_type"] == "asset_triggered"
    summaries = [json.loads((one.folder / "summary.json").read_text()) for one in ended]
    assert len({one.folder for one in ended}) == 4
    assert [one["selected"]["new"] for one in summaries] == [1, 0, 0, 0]
    assert {one["selected"]["rests_on"] for one in summaries[1:]} == {scheduled[0]}

    gates = [site.wait("release_gate", rest.ask("POST", "/dags/release_gate/dagRuns", body)["dag_run_id"]) for _ in range(2)]
    # The audit that judged something has started the gate by its event.
    gates.append(site.gate_of(ended[0]))
    assert [one.state for one in gates] == ["success"] * 3, [rest.complaints(one.dag, one.id) for one in gates]
    assert len({one.folder for one in gates}) == 3
    for one in (*ended, *gates):
        assert not re.search(r"KeyError|UndefinedError", site.log(one)), one


def test_the_pages_want_to_know_who_comes(site: Site) -> None:
    below = f"/kgaudit/runs/nightly_audit/{quote(site.wait('nightly_audit', site.scheduled()[0]).id)}"
    for page in ("/kgaudit/", below, f"{below}/report.html", f"{below}/summary.json"):
        address = site.rest.url + page
        assert call("GET", address).status == 401, page
        assert call("GET", address, token="forged").status in (401, 403), page
        assert call("GET", address, token=site.rest.token).status == 200, page
    for outside in (f"{below}/lock", f"{below}/..%2f..%2f..%2fcase37/labels.jsonl", "/kgaudit/runs/%2e%2e/case37/gate.yaml"):
        assert call("GET", site.rest.url + outside, token=site.rest.token).status == 404, outside


def test_the_api_takes_nobody_without_a_token(site: Site) -> None:
    runs = len(site.rest.runs("nightly_audit"))
    for token in (None, "forged"):
        answer = call("POST", f"{site.rest.url}/api/v2/dags/nightly_audit/dagRuns", json.loads(TRIGGER.read_text()), token=token)
        assert answer.status in (401, 403)
    assert len(site.rest.runs("nightly_audit")) == runs
