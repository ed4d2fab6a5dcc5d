"""Makes the documents of a graph searchable. An index on a cluster takes what has changed; a folder is made anew and then exchanged."""

from __future__ import annotations

from datetime import datetime, timezone

from airflow.sdk import DAG, Param

from kgaudit.airflow import settings
from kgaudit.airflow.operators import IndexDocuments

with DAG(
    "index_documents",
    description="Indexes the documents that triples are verified against.",
    schedule=None,
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    tags=["kgaudit"],
    params={
        "kg_conn_id": Param("kgaudit_kg", type="string", title="Connection of the graph"),
        "documents": Param(None, type=["null", "string"], format="multiline", title="Other documents, files or folders, one a line"),
        "index": Param(None, type=["null", "string"], title="Another index than that of the connection"),
    },
    default_args={"retries": 3, "retry_delay": settings.retry_delay()},
    doc_md=__doc__,
):
    IndexDocuments(
        task_id="index_documents",
        kg_conn_id="{{ params.kg_conn_id }}",
        documents="{{ params.documents or '' }}",
        index="{{ params.index or '' }}",
    )
