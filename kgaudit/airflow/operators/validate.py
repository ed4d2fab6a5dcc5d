"""`ValidateVerdicts`: the run against Great Expectations."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from kgaudit.airflow.connections import KgConnection
from kgaudit.airflow.failures import airflow_failures
from kgaudit.airflow.links import RunLink
from kgaudit.airflow.nights import skip_where_nothing_new
from kgaudit.airflow.operators.base import KgOperator

NIGHTLY = Path(__file__).parents[1] / "nightly_suite.yaml"


class ValidateVerdicts(KgOperator):
    """Checks the verdicts of a run against a suite, a file, with people's labels where given.

    The default suite (`NIGHTLY`) asks whether the audit is sound: something was judged, little was left out, quotes stand in their
    documents. It asks for no pass rate: that triples are refuted is what an audit is for.

    Fails where an expectation does not hold, was not evaluated or raised an exception, and where nothing was judged; the numbers are in
    the exception. `validation.json` and, with `docs`, Data Docs that open offline lie in the run folder. Where the run verified nothing
    because nothing was new, it is skipped.
    """

    template_fields = (*KgOperator.template_fields, "suite", "labels")
    operator_extra_links = (RunLink(),)
    ui_color = "#f2d0d0"

    def __init__(self, *, suite: str | None = None, labels: str | None = None, docs: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.suite = suite
        self.labels = labels
        self.docs = docs
        self._found: tuple[KgConnection, Path, Any] | None = None

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Validates. Raises `AirflowFailException` with what does not hold, `AirflowSkipException`, and Airflow's errors."""
        from kgaudit.runs.files import write_json
        from kgaudit_expectations import register

        run = self.folder(context)
        self.pages["Run"] = run
        with airflow_failures():
            skip_where_nothing_new(run)
            # It would write some hundred lines about its own decorators into the task's log.
            logging.getLogger("great_expectations").setLevel(logging.WARNING)
            register()
            from kgaudit_expectations.runner import validate_run

            outcome = validate_run(
                run,
                Path(self.suite) if self.suite else NIGHTLY,
                labels=Path(self.labels) if self.labels else None,
                docs=run / "docs" if self.docs else None,
            )
            write_json(run / "validation.json", outcome.to_json())
            self._found = (self.kg(), run, outcome)
        for check in outcome.checks:
            self.log.info("%s %s: %s", "holds" if check.success else "FAILS", check.type, check.words)
        if not outcome.success:
            raise AirflowFailException("; ".join(outcome.reasons))
        return {"rows": outcome.rows, "expectations": len(outcome.checks), "validation": str(run / "validation.json")}

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """What was found, as OpenLineage's data-quality facets of the graph; None where the validation could not be made."""
        from kgaudit.airflow.openlineage import lineage

        return lineage(*self._found) if self._found else None

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:
        """The same where an expectation does not hold."""
        return self.get_openlineage_facets_on_complete(task_instance)
