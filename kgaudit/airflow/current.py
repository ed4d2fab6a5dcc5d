"""Whether what the state of a graph says is said of the graph as it is now."""

from __future__ import annotations

from pathlib import Path

from kgaudit.airflow.connections import KgConnection
from kgaudit.errors import RunError


def check_audited(kg: KgConnection) -> None:
    """Raises `RunError` where the graph's files are not those that its last audit read: what nobody checked would be released.

    A graph behind an endpoint has no files to compare, and a state without a run says so itself when it is decided on.
    """
    from kgaudit.runs.audit import file_digest
    from kgaudit.runs.state import State

    entries = State(kg.state).entries
    if kg.is_endpoint or not entries:
        return
    if file_digest(Path(kg.graph)) not in {one["digest"] for one in entries[-1]["kg"]}:
        raise RunError(
            f"the graph has changed since its last audit (run {entries[-1]['run']})",
            where=kg.graph,
            todo="Audit it first (DAG nightly_audit), then decide.",
        )
