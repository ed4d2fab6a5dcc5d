"""Where the runs of DAGs lie."""

from __future__ import annotations

from pathlib import Path

from kgaudit.airflow import settings


def run_folder(dag_id: str, run_id: str) -> Path:
    """The folder of a DAG run: below the runs folder, by DAG and run id. Every run has an id, also where it has no date.

    Raises `UsageError` where the id cannot name a folder.
    """
    from kgaudit.runs.shards import run_folder as folder_below

    return folder_below(settings.runs_folder() / dag_id, run_id)
