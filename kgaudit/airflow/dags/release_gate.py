"""May this version of the graph be released? Decides on its state; a passing version is announced as `kg:released`."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from airflow.sdk import DAG, Param, TriggerRule

from kgaudit.airflow import settings
from kgaudit.airflow.assets import AUDITED
from kgaudit.airflow.operators import AnnounceRelease, AskForRelease, GateRelease

GRAPH: dict[str, Any] = {"kg_conn_id": "{{ params.kg_conn_id }}", "graph": "{{ params.graph or '' }}"}

with DAG(
    "release_gate",
    description="Lets a version of a knowledge graph pass, or stops it.",
    schedule=[AUDITED],
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    tags=["kgaudit"],
    params={
        "kg_conn_id": Param("kgaudit_kg", type="string", title="Connection of the graph"),
        "graph": Param(None, type=["null", "string"], title="Another graph than that of the connection"),
        "policy": Param(None, type=["null", "string"], title="Another release policy than that of the connection"),
        "labels": Param(None, type=["null", "string"], format="multiline", title="Other sheets of labels, one a line"),
        "card": Param(None, type=["null", "string"], title="Another verifier card than that of the connection"),
        "approval": Param(False, type="boolean", title="A stopped version waits for a person"),
    },
    doc_md=__doc__,
):
    gate = GateRelease(
        task_id="gate",
        policy="{{ params.policy or '' }}",
        labels="{{ params.labels or '' }}",
        card="{{ params.card or '' }}",
        passed_task_id="release",
        stopped_task_id="{{ 'ask_for_release' if params.approval else '' }}",
        **GRAPH,
    )
    ask = AskForRelease(task_id="ask_for_release", response_timeout=timedelta(hours=settings.approval_hours()))
    # The question is skipped where the gate passed the version. The task itself looks for a decision, whatever was skipped before it.
    release = AnnounceRelease(task_id="release", trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS, **GRAPH)

    gate >> [ask, release]
    ask >> release
