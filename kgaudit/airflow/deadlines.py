"""What happens when a nightly audit is late."""

from __future__ import annotations

import logging
import sys
from datetime import timedelta
from typing import Any

from airflow.sdk import AsyncCallback, DeadlineAlert, DeadlineReference

from kgaudit.airflow import settings

log = logging.getLogger(__name__)


def nightly_deadline() -> DeadlineAlert | None:
    """The deadline of `nightly_audit`, from when its run is queued; None where the settings want none."""
    hours = settings.deadline_hours()
    # Airflow 3.3.2 ends `airflow dags test` of a DAG with a deadline by an error once the run has succeeded (apache/airflow#73428).
    if hours <= 0 or sys.argv[1:3] == ["dags", "test"]:
        return None
    return DeadlineAlert(DeadlineReference.DAGRUN_QUEUED_AT, timedelta(hours=hours), AsyncCallback(say_late))


async def say_late(context: dict[str, Any] | None = None) -> None:
    """Logs in the triggerer that a run is late and how far it has come. For mail or chat, give the DAG a callback of your own."""
    import asyncio

    run = (context or {}).get("dag_run") or {}
    dag_id, run_id = str(run.get("dag_id")), str(run.get("dag_run_id"))
    done = await asyncio.to_thread(progress_of, dag_id, run_id)
    log.error("The run %s of %s has missed its deadline: %s.", run_id, dag_id, done)


def progress_of(dag_id: str, run_id: str) -> str:
    """How far the run is: a sentence without its full stop."""
    from kgaudit.airflow.folders import run_folder
    from kgaudit.airflow.progress import shard_counts

    done, shards = shard_counts(run_folder(dag_id, run_id))
    return f"{done:,} of {shards:,} shards are done" if shards else "its triples are not yet selected"
