"""The DAGs, as `airflow dags test` runs them: nights, gate, index, and what happens when something is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from in_process import DAGS, FIELD, Airflow, chat_model

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::kgaudit")]

NIGHTS = FIELD / "36-nothing-new-tonight"
NULL_DATE = FIELD / "37-null-logical-date"


@pytest.fixture
def graph(airflow: Airflow, tmp_path: Path, make_index: Callable[[Path], Path]) -> Path:
    """The graph of the first night, with a connection that names it."""
    graph = tmp_path / "kg.nt"
    shutil.copy(NIGHTS / "night1.nt", graph)
    index = make_index(NIGHTS / "docs.jsonl")
    airflow.connect("kgaudit_kg", conn_type="kgaudit_kg", host=str(graph), extra={"index": str(index)})
    return graph


def test_36_a_night_on_which_nothing_is_new(airflow: Airflow, graph: Path, tmp_path: Path) -> None:
    first = airflow.run("nightly_audit")
    assert first.state == "success"
    assert first.tasks["verify_shard"] == ["success"]
    (event,) = first.events["kg:audited"]
    assert (event["new"], event["total"], event["verdicts"]["supported"]) == (2, 2, 2)
    assert Path(event["report"]).read_text(encoding="utf-8").startswith("<!doctype html>")

    shutil.copy(NIGHTS / "night2.nt", graph)
    second = airflow.run("nightly_audit")
    assert second.state == "success"
    assert second.tasks == {
        "select_new_triples": ["success"],
        "verify_shard": ["skipped"],
        "merge_verdicts": ["success"],
        "publish_report": ["skipped"],
        "validate_verdicts": ["skipped"],
    }
    assert not second.events
    assert f"0 of 2 triples are new; the state rests on run {first.run_id}" in second.log
    selected = json.loads((second.folder / "summary.json").read_text())["selected"]
    assert (selected["new"], selected["total"], selected["rests_on"]) == (0, 2, first.run_id)

    gate = tmp_path / "gate.yaml"
    gate.write_text("accuracy: {threshold: 0.9}\n")
    decided = airflow.run("release_gate", policy=str(gate))
    assert decided.state == "failed"
    assert decided.tasks["gate"] == ["failed"]
    assert "no labels were given" in decided.log
    assert not decided.events

    airflow.connect("kgaudit_kg", conn_type="kgaudit_kg", host=str(graph), extra={"index": str(tmp_path / "nowhere")})
    without = airflow.run("nightly_audit")
    assert without.state == "failed"
    assert without.tasks["select_new_triples"] == ["failed"]
    assert "there is no index here" in without.log
    assert not without.events


def test_37_runs_without_a_logical_date_share_no_folder(airflow: Airflow, tmp_path: Path, make_index: Callable[[Path], Path]) -> None:
    trigger = json.loads((NULL_DATE / "trigger.json").read_text())
    assert trigger["logical_date"] is None
    index = make_index(NULL_DATE / "docs.jsonl")
    airflow.connect("kgaudit_kg", conn_type="kgaudit_kg", host=str(NULL_DATE / "kg.nt"), extra={"index": str(index)})
    runs = [airflow.run("nightly_audit", **trigger["conf"]) for _ in range(2)]
    dated = airflow.run("nightly_audit", dated=True)
    assert [one.state for one in (*runs, dated)] == ["success"] * 3
    assert len({one.folder for one in (*runs, dated)}) == 3
    assert all(one.folder.name == one.run_id and (one.folder / "summary.json").is_file() for one in (*runs, dated))
    news = [json.loads((one.folder / "summary.json").read_text())["selected"]["new"] for one in (*runs, dated)]
    assert news[0] > 0
    assert news[1:] == [0, 0]
    gate = airflow.run("release_gate", policy=str(_policy(tmp_path)))
    for one in (*runs, dated, gate):
        assert "KeyError" not in one.log
        assert "UndefinedError" not in one.log


def test_no_template_names_a_date() -> None:
    for path in (*DAGS.glob("*.py"), *DAGS.parent.rglob("operators/*.py")):
        text = path.read_text(encoding="utf-8")
        assert not [word for word in ("logical_date", "data_interval", "{{ ds", "{{ ts", '["ds"]', '["ts"]') if word in text], path


def _policy(folder: Path, threshold: float = 0.85) -> Path:
    path = folder / f"gate-{threshold}.yaml"
    path.write_text(f"accuracy: {{threshold: {threshold}}}\nlabels: {{minimum: 20}}\nverifier_card: {{required: false}}\n")
    return path


@pytest.fixture
def audited(airflow: Airflow, tmp_path: Path) -> Callable[[float], dict[str, Any]]:
    """Audits a graph of 60 triples and labels 50 of them, a share of which as false; gives the fields of its connection."""
    from kgaudit_retrievers.embedded import build_index

    def audit(false: float) -> dict[str, Any]:
        graph, documents = tmp_path / "kg.nt", tmp_path / "docs.jsonl"
        graph.write_text("".join(f"<https://graph.example/Firm_{i}> <https://graph.example/owns> <https://graph.example/Works_{i}> .\n"
                                 for i in range(60)))  # fmt: skip
        documents.write_text("".join(json.dumps({"id": f"d{i}", "text": f"Firm {i} owns Works {i}."}) + "\n" for i in range(60)))
        build_index([documents], tmp_path / "index")
        fields = {"index": str(tmp_path / "index"), "gate_policy": str(_policy(tmp_path))}
        airflow.connect("kgaudit_kg", conn_type="kgaudit_kg", host=str(graph), extra=fields)
        night = airflow.run("nightly_audit", shard_triples=20)
        assert night.tasks["verify_shard"] == ["success"] * 3
        labels = tmp_path / "labels.jsonl"
        _label(Path(night.events["kg:audited"][0]["state"]), labels, false)
        fields["gate_labels"] = str(labels)
        airflow.connect("kgaudit_kg", conn_type="kgaudit_kg", host=str(graph), extra=fields)
        return {"graph": graph, **fields}

    return audit


def _label(state: Path, to: Path, false: float) -> None:
    from kgaudit.gate.designs import Design
    from kgaudit.gate.sheet import COLUMNS, draw_sample, write_table

    rows = draw_sample(state, Design("simple_random", 0), labels=50).rows
    wrong = round(false * len(rows))
    filled = [{**row, "label": "false" if i < wrong else "true", "annotator": "ada", "time": "2026-11-30T09:00:00+00:00"}
              for i, row in enumerate(rows)]  # fmt: skip
    write_table(filled, COLUMNS, to)


def test_a_good_version_is_released_and_wakes_the_dags_that_wait(airflow: Airflow, audited: Callable[[float], dict[str, Any]]) -> None:
    audited(0.0)
    ran = airflow.run("release_gate")
    assert ran.state == "success"
    assert ran.tasks == {"gate": ["success"], "ask_for_release": ["skipped"], "release": ["success"]}
    (event,) = ran.events["kg:released"]
    assert event["status"] == "passed"
    assert event["accuracy_low"] > event["threshold"]
    assert event["triples"] == 60
    assert Path(event["decision"]) == ran.folder / "decision.json"
    assert _waiting("kg:released") == ["on_release"]


def test_a_bad_version_is_red_with_its_numbers_and_nothing_is_announced(
    airflow: Airflow, audited: Callable[[float], dict[str, Any]]
) -> None:
    audited(0.4)
    ran = airflow.run("release_gate")
    assert ran.state == "failed"
    assert ran.tasks == {"gate": ["failed"], "ask_for_release": ["upstream_failed"], "release": ["upstream_failed"]}
    assert not ran.events
    assert "stopped (exit status 1)" in ran.log.lower()
    assert "lies under the threshold 85" in ran.log
    assert json.loads((ran.folder / "decision.json").read_text())["status"] == "stopped"
    assert "on_release" not in _waiting("kg:released", since=ran.run_id)


def test_a_graph_that_changed_since_its_audit_is_no_basis(airflow: Airflow, audited: Callable[[float], dict[str, Any]]) -> None:
    graph = audited(0.0)["graph"]
    with open(graph, "a") as file:
        file.write("<https://graph.example/Firm_1> <https://graph.example/owns> <https://graph.example/Works_2> .\n")
    ran = airflow.run("release_gate")
    assert ran.state == "failed"
    assert not ran.events
    assert "the graph has changed since its last audit" in ran.log
    assert not (ran.folder / "decision.json").exists()


def _waiting(asset: str, since: str = "") -> list[str]:
    """The DAGs that an event of the asset has queued."""
    from airflow.models.asset import AssetDagRunQueue, AssetModel
    from airflow.models.dag import DagModel
    from airflow.utils.session import create_session
    from sqlalchemy import delete, select

    with create_session() as session:
        found = session.scalars(
            select(DagModel.dag_id)
            .join(AssetDagRunQueue, AssetDagRunQueue.target_dag_id == DagModel.dag_id)
            .join(AssetModel, AssetModel.id == AssetDagRunQueue.asset_id)
            .where(AssetModel.name == asset)
        ).all()
        session.execute(delete(AssetDagRunQueue))
    return list(found)


def test_with_a_chat_model_a_shard_is_deferred_and_its_key_stays_secret(airflow: Airflow, graph: Path, tmp_path: Path) -> None:
    key = "sk-geheim-0815"
    with chat_model() as model:
        model.answers.set()
        airflow.connect("kgaudit_model", conn_type="kgaudit_model", host=model.url, password=key, extra={"model": "small"})
        ran = airflow.run("nightly_audit", model_conn_id="kgaudit_model")
    assert ran.tasks["verify_shard"] == ["success"]
    assert "running trigger in line" in ran.log
    assert set(model.keys) == {f"Bearer {key}"}
    summary = json.loads((ran.folder / "summary.json").read_text())
    assert summary["verdicts"]["not_judged"] == 2  # an answer that cannot be read is never a verdict
    assert ran.tasks["validate_verdicts"] == ["failed"]
    kept = [path for path in (*ran.folder.rglob("*"), *airflow.home.rglob("*")) if path.is_file()]
    assert not [path for path in kept if key.encode() in path.read_bytes()]
    assert key not in ran.log


def test_index_documents_makes_what_the_audit_searches(airflow: Airflow, tmp_path: Path) -> None:
    fields = {"index": str(tmp_path / "index"), "documents": f"{NIGHTS / 'docs.jsonl'}\n{FIELD / 'any.jsonl'}\n"}
    airflow.connect("kgaudit_kg", conn_type="kgaudit_kg", host=str(NIGHTS / "night1.nt"), extra=fields)
    ran = airflow.run("index_documents")
    assert ran.state == "success"
    (event,) = ran.events["kg:indexed"]
    assert event["documents"] == 2
    assert airflow.run("nightly_audit").state == "success"


def test_dags_test_of_each_dag_on_the_command_line(airflow: Airflow, graph: Path, tmp_path: Path) -> None:
    """With a deadline, as it is by default, and with OpenLineage listening."""
    heard = tmp_path / "lineage.json"
    environment = {
        **os.environ,
        "AIRFLOW__KGAUDIT__DEADLINE_HOURS": "6",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps({"type": "file", "log_file_path": str(heard), "append": True}),
    }
    command = [sys.executable, "-m", "airflow", "dags", "test"]
    index = json.dumps({"documents": str(NIGHTS / "docs.jsonl"), "index": str(tmp_path / "other")})
    gate = json.dumps({"policy": str(_policy(tmp_path))})
    calls = (["index_documents", "--conf", index], ["nightly_audit"], ["release_gate", "--conf", gate])
    ended = [subprocess.run([*command, *call], env=environment, capture_output=True, text=True) for call in calls]
    assert [one.returncode for one in ended] == [0, 0, 1], [one.stderr[-1500:] for one in ended]
    assert "DagRun failed" in ended[2].stderr
    assert "no labels were given" in ended[2].stdout
    events = [json.loads(line) for line in heard.read_text().splitlines()]
    (told,) = [one for one in events if one["job"]["name"] == "nightly_audit.validate_verdicts" and one["eventType"] == "COMPLETE"]
    assert told["inputs"][0]["name"] == str(graph)
    assert told["inputs"][0]["inputFacets"]["dataQualityMetrics"]["rowCount"] == 2


@pytest.mark.parametrize("name", ["nightly_audit", "release_gate", "index_documents"])
def test_a_dag_file_is_read_at_once(airflow_home: Path, name: str) -> None:
    """What it costs beyond Airflow itself, and that nothing heavy comes with it; the best of three, for the machine is not idle."""
    program = f"""
import importlib, json, sys, time
from airflow.sdk import DAG, AssetOrTimeSchedule, AsyncCallback, BaseHook, BaseOperatorLink, CronTriggerTimetable, DeadlineAlert, Param
import airflow.providers.standard.operators.hitl, airflow.sdk.exceptions
before = set(sys.modules)
begun = time.process_time()
importlib.import_module("kgaudit.airflow.dags.{name}")
print(json.dumps([time.process_time() - begun, sorted(set(sys.modules) - before)]))
"""
    found = []
    for _ in range(3):
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        found.append(json.loads(ran.stdout.splitlines()[-1]))
    assert min(seconds for seconds, _ in found) < 0.2
    heavy = {"numpy", "pyarrow", "pandas", "great_expectations", "elasticsearch", "rich", "sklearn", "torch", "pyoxigraph"}
    assert not heavy & set(found[0][1])
