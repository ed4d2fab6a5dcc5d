"""Every night: what is new in the graph is verified, joined, validated and published."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from airflow.sdk import DAG, AssetOrTimeSchedule, CronTriggerTimetable, Param, TriggerRule

from kgaudit.airflow import settings
from kgaudit.airflow.assets import EXTRACTED
from kgaudit.airflow.deadlines import nightly_deadline
from kgaudit.airflow.operators import MergeVerdicts, PublishReport, SelectNewTriples, ValidateVerdicts, VerifyShard

GRAPH: dict[str, Any] = {
    "kg_conn_id": "{{ params.kg_conn_id }}",
    "graph": "{{ params.graph or '' }}",
    "index": "{{ params.index or '' }}",
}

with DAG(
    "nightly_audit",
    description="Verifies what is new in a knowledge graph against the documents.",
    schedule=AssetOrTimeSchedule(timetable=CronTriggerTimetable(settings.nightly_schedule(), timezone="UTC"), assets=[EXTRACTED]),
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,  # two at once would both find the same triples new
    tags=["kgaudit"],
    params={
        "kg_conn_id": Param("kgaudit_kg", type="string", title="Connection of the graph"),
        "model_conn_id": Param("", type="string", title="Connection of a chat model", description="Empty: the embedded judge."),
        "policy": Param("agentkgv", type="string", title="Policy of the agent", description="With a chat model also: cascade."),
        "graph": Param(None, type=["null", "string"], title="Another graph than that of the connection"),
        "index": Param(None, type=["null", "string"], title="Another index than that of the connection"),
        "new_by": Param("state", enum=["state", "graphs", "time"], title="How what is new is told"),
        "again": Param("", enum=["", "changed-judge", "changed-documents"], title="Known triples to verify again"),
        "shard_triples": Param(2000, type="integer", minimum=1, title="Triples of a shard"),
        "suite": Param(None, type=["null", "string"], title="Suite of expectations, a file", description="Empty: is the audit sound?"),
        "max_triples": Param(None, type=["null", "integer"], minimum=1, title="Triples at most, a random sample"),
    },
    default_args={"retries": 3, "retry_delay": settings.retry_delay()},
    deadline=nightly_deadline(),
    doc_md=__doc__,
):
    select = SelectNewTriples(
        task_id="select_new_triples",
        new_by="{{ params.new_by }}",
        again="{{ params.again }}",
        shard_triples="{{ params.shard_triples }}",
        max_triples="{{ params.max_triples or '' }}",
        policy="{{ params.policy }}",
        model_conn_id="{{ params.model_conn_id }}",
        **GRAPH,
    )
    verify = VerifyShard.partial(
        task_id="verify_shard",
        model_conn_id="{{ params.model_conn_id }}",
        deferrable=True,
        map_index_template="{{ task.shard }}",
        **GRAPH,
    ).expand(shard=select.output)
    # No shard is mapped where nothing is new; what was skipped for another reason is refused by the task itself.
    merge = MergeVerdicts(task_id="merge_verdicts", trigger_rule=TriggerRule.NONE_FAILED, **GRAPH)
    publish = PublishReport(task_id="publish_report", **GRAPH)
    validate = ValidateVerdicts(task_id="validate_verdicts", suite="{{ params.suite or '' }}", **GRAPH)

    verify >> merge >> [publish, validate]
