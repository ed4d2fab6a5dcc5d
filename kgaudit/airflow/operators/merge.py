"""`MergeVerdicts`: the shards become a run, and the run a part of the graph's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgaudit.airflow.failures import airflow_failures
from kgaudit.airflow.links import RunLink
from kgaudit.airflow.operators.base import KgOperator


class MergeVerdicts(KgOperator):
    """Joins the shards of the run and commits it to the state of the graph; only then the watermark moves.

    Give it the trigger rule `none_failed`: where nothing was new there is no shard, and its own look at the ledgers tells that from
    shards that were skipped, which it refuses. Gives the run's counts.
    """

    operator_extra_links = (RunLink(),)
    ui_color = "#d7ead9"

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Joins and commits; what is done is not done again. Raises Airflow's errors."""
        from kgaudit.runs.nightly import commit, merge
        from kgaudit.runs.shards import plan_of, read_plan_file

        run = self.folder(context)
        self.pages["Run"] = run
        with airflow_failures():
            kg = self.kg()
            plan = plan_of(run, read_plan_file(run))
            summary = merge(run)
            commit(run, kg.state)
        verdicts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in summary["verdicts"].items())
        self.log.info("%s; verified: %s", plan.text, verdicts)
        return {"run": str(run), "state": str(kg.state), "new": plan.new, "total": plan.total, "verdicts": summary["verdicts"]}
