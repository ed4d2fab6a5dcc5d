"""`PublishReport`: the report of a run, and word to the DAGs that wait for `kg:audited`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgaudit.airflow.assets import AUDITED
from kgaudit.airflow.failures import airflow_failures
from kgaudit.airflow.links import ReportLink, RunLink
from kgaudit.airflow.nights import skip_where_nothing_new
from kgaudit.airflow.operators.base import KgOperator


class PublishReport(KgOperator):
    """Writes `report.html` into the run folder and updates `kg:audited`, with counts and paths in the event.

    Where the run verified nothing because nothing was new, it is skipped: an event would read as a good audit.
    """

    operator_extra_links = (ReportLink(), RunLink())
    ui_color = "#e6dcf2"

    def __init__(self, *, outlets: list[Any] | None = None, **kwargs: Any) -> None:
        super().__init__(outlets=[AUDITED] if outlets is None else outlets, **kwargs)

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Publishes. Raises `AirflowSkipException` where nothing was new, and Airflow's errors."""
        from kgaudit.airflow.links import page_url
        from kgaudit.airflow.progress import LoggedProgress
        from kgaudit.reports.html import write_report
        from kgaudit.runs.files import read_json

        run = self.folder(context)
        self.pages["Run"] = run
        with airflow_failures():
            kg = self.kg()
            plan = skip_where_nothing_new(run)
            report = write_report(run, progress=LoggedProgress("report", "triples", self.log))
            summary = read_json(run / "summary.json")
        self.pages["Report"] = report
        event = {
            "kg": self.kg_conn_id,
            "graph": kg.graph,
            "run": str(run),
            "state": str(kg.state),
            "report": str(report),
            "report_url": page_url(report),
            "new": plan.new,
            "total": plan.total,
            "removed": plan.removed,
            "verdicts": summary["verdicts"],
        }
        self.announce(context, event)
        self.log.info("report: %s", report)
        return event
