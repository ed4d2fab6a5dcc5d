"""What Airflow's provider manager is told (entry point `apache_airflow_provider`). Imports nothing of Airflow."""

from __future__ import annotations

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """Connection types with the fields of their forms, links, settings."""
    return {
        "package-name": "kgaudit",
        "name": "kgaudit",
        "description": "Finds false triples in knowledge graphs and decides whether a version may be released.",
        "integrations": [{"integration-name": "kgaudit", "tags": ["software"]}],
        "operators": [{"integration-name": "kgaudit", "python-modules": ["kgaudit.airflow.operators"]}],
        "hooks": [{"integration-name": "kgaudit", "python-modules": ["kgaudit.airflow.hooks"]}],
        "triggers": [{"integration-name": "kgaudit", "python-modules": ["kgaudit.airflow.triggers"]}],
        "connection-types": [_kg_connection(), _model_connection()],
        "extra-links": [f"kgaudit.airflow.links.{name}" for name in ("ReportLink", "RunLink", "DecisionLink")],
        "config": {"kgaudit": {"description": "Settings of kgaudit's operators, DAGs and pages.", "options": _OPTIONS}},
    }


def _field(label: str, description: str, **schema: Any) -> dict[str, Any]:
    return {"label": label, "description": description, "schema": {"type": ["string", "null"], **schema}}


def _kg_connection() -> dict[str, Any]:
    return {
        "connection-type": "kgaudit_kg",
        "hook-class-name": "kgaudit.airflow.hooks.KgHook",
        "hook-name": "Knowledge graph (kgaudit)",
        "ui-field-behaviour": {
            "hidden-fields": ["port", "schema", "extra"],
            "relabeling": {"host": "Graph", "login": "User of the endpoint", "password": "Password of the endpoint"},
            "placeholders": {"host": "/data/kg.ttl, a folder of graph files, or https://host/sparql"},
        },
        "conn-fields": {
            "index": _field("Index", "Folder of the document index; with an Elasticsearch connection, the name of the index."),
            "elasticsearch_conn_id": _field("Elasticsearch connection", "Id of the connection of the cluster that has the index."),
            "documents": _field("Documents", "Files or folders that index_documents reads, one a line.", format="multiline"),
            "state": _field("State", "Folder that keeps what is known of this graph; default: below the runs folder."),
            "format": _field("Format", "Format of the graph, where its suffix does not say."),
            "mapping": _field("Columns", "Columns of a table: subject=head,predicate=rel,object=tail."),
            "rules": _field("Rules", "YAML file that says which triples are claims."),
            "labels": _field("Labels", "File of further labels of things."),
            "cards": _field("Predicate cards", "YAML file of predicate cards."),
            "judge": _field("Judge", "Folder of a judge that `kgaudit train judge` made; default: the one that ships."),
            "trusted": _field("Trusted graphs", "Files whose triples need no document, one a line.", format="multiline"),
            "query": _field("Query", "SPARQL query of what is new, for an endpoint.", format="multiline"),
            "gate_policy": _field("Release policy", "YAML file of the gate."),
            "gate_labels": _field("People's labels", "Filled-in sheets of `kgaudit sample`, one a line.", format="multiline"),
            "gate_card": _field("Verifier card", "Card of `kgaudit card`."),
        },
    }


def _model_connection() -> dict[str, Any]:
    return {
        "connection-type": "kgaudit_model",
        "hook-class-name": "kgaudit.airflow.hooks.ModelHook",
        "hook-name": "Chat model (kgaudit)",
        "ui-field-behaviour": {
            "hidden-fields": ["port", "schema", "login", "extra"],
            "relabeling": {"host": "Endpoints", "password": "API key"},
            "placeholders": {"host": "http://host:8000/v1 (several: separated by commas)"},
        },
        "conn-fields": {
            "model": _field("Model", "Name of the model, as the endpoint lists it."),
            "calibration": _field("Calibration", "File of `kgaudit bench ... --calibrate`, for calibrated confidences."),
        },
    }


def _option(description: str, kind: str, default: str, example: str | None = None) -> dict[str, Any]:
    return {"description": description, "version_added": "0.1.0", "type": kind, "example": example, "default": default}


_OPTIONS = {
    "runs_folder": _option(
        "Folder of runs, states and decisions, seen by workers, triggerer and API server alike. Empty: $AIRFLOW_HOME/kgaudit.\n",
        "string",
        "",
        "/shared/kgaudit",
    ),
    "nightly_schedule": _option("When nightly_audit runs: a cron expression, in UTC.\n", "string", "0 2 * * *"),
    "deadline_hours": _option(
        "A run of nightly_audit that takes longer is logged by the triggerer as late; 0: none is.\n", "float", "6"
    ),
    "retry_seconds": _option("How long a failed task, or one whose worker was lost, waits before its next try.\n", "float", "60"),
    "approval_hours": _option("How long a stopped gate waits for a person; then the release is red.\n", "float", "72"),
    "triggerer_shards": _option("Shards that a triggerer works on at a time, where the model is remote.\n", "integer", "2"),
}
