"""The pages inside Airflow: who may see them, what they give out, and what they never do."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from in_process import Airflow

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::kgaudit")]

RUN = "manual__2026-11-30T00:00:00+00:00 #1 100%"


@pytest.fixture(scope="module")
def app(airflow_home: Path) -> Iterator[Any]:
    """Airflow's whole API server in this process, with our plugin as its entry point brings it."""
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    with TestClient(create_app(), raise_server_exceptions=True) as client:
        yield client


@pytest.fixture
def token(app: Any) -> dict[str, str]:
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    made = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="ada", role="ADMIN"))
    return {"Authorization": f"Bearer {made}"}


@pytest.fixture
def runs(airflow: Airflow, tmp_path: Path) -> Path:
    """A runs folder with one audit and one decision."""
    run = tmp_path / "runs/nightly_audit" / RUN
    (run / "graph").mkdir(parents=True)
    (run / "report.html").write_text("<!doctype html><p>the report")
    (run / "graph/quarantine.jsonl").write_text("{}\n")
    (run / "secret.txt").write_text("geheim")
    verdicts = {"supported": 0, "refuted": 0, "not_enough_evidence": 0, "not_judged": 0}
    selected = {"new": 0, "total": 2, "rests_on": "<img src=x onerror=alert(1)>"}
    (run / "summary.json").write_text(json.dumps({"status": "complete", "verdicts": verdicts, "selected": selected}))
    gate = tmp_path / "runs/release_gate/one"
    gate.mkdir(parents=True)
    reasons = [{"status": "stopped", "text": "predicate <script>alert(1)</script> is too low"}]
    decision = {"status": "stopped", "accuracy": {"low": 0.5}, "threshold": 0.9, "reasons": reasons}
    (gate / "decision.json").write_text(json.dumps(decision))
    (gate / "decision.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (gate / "approval.json").write_text(json.dumps({"author": "<b>ada</b>", "reason": "late register", "answered": "now"}))
    return tmp_path / "runs"


def test_who_did_not_log_in_gets_nothing(app: Any, runs: Path) -> None:
    for path in (
        "/kgaudit/",
        f"/kgaudit/runs/nightly_audit/{quote(RUN)}/report.html",
        "/kgaudit/runs/release_gate/one",
        "/kgaudit/openapi.json",
    ):
        assert app.get(path).status_code in (401, 404)
        assert app.get(path, headers={"Authorization": "Bearer nonsense"}).status_code in (401, 403, 404)
    assert app.get("/kgaudit/").status_code == 401


def test_the_pages_show_what_came_of_the_runs(app: Any, runs: Path, token: dict[str, str]) -> None:
    listed = app.get("/kgaudit/", headers=token)
    assert listed.status_code == 200
    assert "0 of 2 new" in listed.text
    assert "accuracy at least 50.0%, threshold 90.0%" in listed.text
    assert f'href="runs/nightly_audit/{quote(RUN)}"' in listed.text
    page = app.get(f"/kgaudit/runs/nightly_audit/{quote(RUN)}", headers=token)
    assert f'href="./{quote(RUN)}/report.html"' in page.text
    assert "late register" in app.get("/kgaudit/runs/release_gate/one", headers=token).text
    report = app.get(f"/kgaudit/runs/nightly_audit/{quote(RUN)}/report.html", headers=token)
    assert report.text == "<!doctype html><p>the report"
    assert app.get(f"/kgaudit/runs/nightly_audit/{quote(RUN)}/graph/quarantine.jsonl", headers=token).text == "{}\n"
    assert app.get("/kgaudit/runs/release_gate/one/decision.svg", headers=token).headers["content-type"] == "image/svg+xml"


def test_nothing_of_a_graph_becomes_markup_and_no_script_runs(app: Any, runs: Path, token: dict[str, str]) -> None:
    for path in ("/kgaudit/", f"/kgaudit/runs/nightly_audit/{quote(RUN)}", "/kgaudit/runs/release_gate/one"):
        page = app.get(path, headers=token)
        assert not [tag for tag in ("<script", "<img", "<b>") if tag in page.text]
        assert "script-src" not in page.headers["content-security-policy"]
        assert page.headers["content-security-policy"].startswith("default-src 'none'")
    report = app.get(f"/kgaudit/runs/nightly_audit/{quote(RUN)}/report.html", headers=token)
    policy = report.headers["content-security-policy"]
    assert policy.startswith("sandbox ")
    assert "allow-same-origin" not in policy
    assert report.headers["x-content-type-options"] == "nosniff"


def test_only_files_of_runs_below_the_runs_folder_are_given_out(app: Any, runs: Path, token: dict[str, str], tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shutil.copytree(runs / "nightly_audit" / RUN, outside)
    run = runs / "nightly_audit" / RUN
    (runs / "nightly_audit/linked").symlink_to(outside)
    (run / "validation.json").symlink_to(outside / "summary.json")
    (runs / "report.html").write_text("no run")
    (runs / "nightly_audit/.hidden").mkdir()
    shutil.copy(run / "summary.json", runs / "nightly_audit/.hidden/summary.json")
    os.mkfifo(run / "spec.json")
    at = f"nightly_audit/{quote(RUN)}"
    for path in (
        f"{at}/secret.txt",
        f"{at}/validation.json",
        f"{at}/spec.json",
        f"{at}/nothing.html",
        f"{at}/graph",
        f"{at}/",
        "nightly_audit/linked/report.html",
        "nightly_audit/linked",
        "nightly_audit/.hidden/summary.json",
        "report.html",
        "nightly_audit",
        "..%2foutside/report.html",
        f"{at}/..%2f..%2f..%2foutside%2freport.html",
        f"{at}/%2e%2e/%2e%2e/%2e%2e/outside/report.html",
        "%2fetc%2fpasswd",
        f"{at}/report.html%00",
    ):
        assert app.get(f"/kgaudit/runs/{path}", headers=token).status_code == 404, path
    assert "linked" not in app.get("/kgaudit/", headers=token).text


def test_only_reading_is_possible(app: Any, runs: Path, token: dict[str, str]) -> None:
    for method in ("post", "put", "delete", "patch"):
        assert getattr(app, method)("/kgaudit/", headers=token).status_code == 405


def test_damaged_files_do_not_take_the_list_away(app: Any, runs: Path, token: dict[str, str]) -> None:
    (runs / "nightly_audit" / RUN / "summary.json").write_text('{"verdicts": ["torn')
    (runs / "release_gate/one/decision.json").write_text('{"status": 3, "accuracy": {}}')
    page = app.get("/kgaudit/", headers=token)
    assert page.status_code == 200
    assert "not finished" in page.text


def test_airflow_names_the_pages_in_its_navigation(app: Any, token: dict[str, str]) -> None:
    found = [one for one in app.get("/api/v2/plugins", headers=token).json()["plugins"] if one["name"] == "kgaudit"]
    (view,) = found[0]["external_views"]
    assert view["href"] == "/kgaudit/"
    assert view["url_route"] == "kgaudit"
