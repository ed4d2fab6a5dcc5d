"""`AnnounceRelease`: tells the DAGs that wait for `kg:released`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from kgaudit.airflow.assets import RELEASED
from kgaudit.airflow.failures import airflow_failures
from kgaudit.airflow.links import DecisionLink
from kgaudit.airflow.operators.base import KgOperator


class AnnounceRelease(KgOperator):
    """Updates `kg:released`, with numbers and paths in the event.

    It looks for itself whether the run's gate passed the version, or a person did where it was stopped: however it came that the task
    runs (a trigger rule, a task that was skipped, cleared or marked as a success), nothing is released without a decision.
    """

    operator_extra_links = (DecisionLink(),)
    ui_color = "#cdeac0"

    def __init__(self, *, outlets: list[Any] | None = None, **kwargs: Any) -> None:
        super().__init__(outlets=[RELEASED] if outlets is None else outlets, **kwargs)

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Announces. Raises `AirflowFailException` where nothing let the version pass."""
        from kgaudit.runs.files import read_json

        folder = self.folder(context)
        with airflow_failures():
            self.follow_event(context)
            decision = read_json(folder / "decision.json")
            approval = read_json(folder / "approval.json") if (folder / "approval.json").is_file() else {}
        self.pages["Decision"] = folder
        approval = _approval_of(decision, approval)
        if decision["status"] != "passed" and not (decision["status"] == "stopped" and approval):
            raise AirflowFailException(f"{folder}: the gate says {decision['status']}, and nobody let it pass: nothing is released")
        accuracy = decision["accuracy"] or {}
        event = {
            "kg": self.kg_conn_id,
            "subject": decision["run"],
            "decision": str(folder / "decision.json"),
            "status": decision["status"],
            "accuracy_low": accuracy.get("low"),
            "accuracy": accuracy.get("value"),
            "threshold": decision["threshold"],
            "triples": decision["triples"],
            "verdicts": decision["verdicts"],
            "approved_by": approval.get("author"),
            "reason": approval.get("reason"),
        }
        self.announce(context, event)
        return {name: event[name] for name in ("decision", "status", "triples")}


def _approval_of(decision: Mapping[str, Any], approval: Mapping[str, Any]) -> Mapping[str, Any]:
    """The approval where it is one, and of this very decision; otherwise empty."""
    return approval if approval.get("approved") and approval.get("decided") == decision["decided"] else {}
