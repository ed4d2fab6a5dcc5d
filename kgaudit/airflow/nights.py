"""A night on which nothing is new."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk.exceptions import AirflowSkipException

if TYPE_CHECKING:
    from kgaudit.runs.shards import Plan


def skip_where_nothing_new(run: Path) -> Plan:
    """The plan of the run. Raises `AirflowSkipException` where it found nothing to verify, and `RunError` where there is no plan."""
    from kgaudit.runs.shards import plan_of, read_plan_file

    plan = plan_of(run, read_plan_file(run))
    if not plan.new:
        raise AirflowSkipException(plan.text)
    return plan
