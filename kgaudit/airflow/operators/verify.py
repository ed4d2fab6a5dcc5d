"""`VerifyShard`: verifies the triples of one shard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import conf

from kgaudit.airflow.failures import airflow_failures, failure
from kgaudit.airflow.links import RunLink
from kgaudit.airflow.operators.base import KgOperator


class VerifyShard(KgOperator):
    """Verifies a shard against the documents; map it over the shards of `SelectNewTriples`.

    With the embedded judge the work is done in the worker. With a connection of type `kgaudit_model` it mostly waits for the model:
    with `deferrable` a process beside the triggerer does it (`kgaudit.airflow.triggers`), and the worker's slot is free meanwhile. A
    try after one that was killed goes on from the shard's ledger: nothing that is durable is verified again.

    Gives the counts of the shard.
    """

    template_fields = (*KgOperator.template_fields, "shard", "model_conn_id")
    operator_extra_links = (RunLink(),)
    ui_color = "#cfe8ef"

    def __init__(
        self,
        *,
        shard: str,
        model_conn_id: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.shard = shard
        self.model_conn_id = model_conn_id
        self.deferrable = deferrable
        self._stop: Any = None

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Verifies, or lets the triggerer do it. Raises Airflow's errors: those that a later try cannot mend are not retried."""
        from kgaudit.airflow.hooks import ModelHook
        from kgaudit.airflow.progress import LoggedProgress
        from kgaudit.airflow.search import index_address
        from kgaudit.airflow.shards import ShardJob, verify
        from kgaudit.runs.engine import Stop

        run = self.folder(context)
        self.pages["Run"] = run
        with airflow_failures():
            kg = self.kg()
            address, access = index_address(kg)
            judge = str(kg.judge or "")
            if self.model_conn_id and self.deferrable:
                self._defer(str(run), address, judge, kg.elasticsearch_conn_id)
            model = ModelHook(self.model_conn_id).get_conn() if self.model_conn_id else None
            job = ShardJob(str(run), self.shard, address, access, judge, *((model.spec, model.key) if model else ()))
            self._stop = Stop()
            return self._counts(verify(job, self._stop, LoggedProgress(f"shard {self.shard}", "triples", self.log)))

    def _defer(self, run: str, address: str, judge: str, elasticsearch_conn_id: str) -> None:
        from kgaudit.airflow.triggers import ShardTrigger

        trigger = ShardTrigger(run, self.shard, address, judge, elasticsearch_conn_id, self.model_conn_id or "")
        self.defer(trigger=trigger, method_name="execute_complete", timeout=self.execution_timeout)

    def execute_complete(self, context: Mapping[str, Any], event: dict[str, Any]) -> dict[str, Any]:
        """Takes what the trigger says. Raises Airflow's errors."""
        self.pages["Run"] = self.folder(context)
        if "error" in event:
            raise failure(event["error"], again=event["passing"])
        return self._counts(event["summary"])

    def on_kill(self) -> None:
        """What is in flight is finished and written; the rest is for the next try."""
        if self._stop is not None:
            self._stop.ask()

    def _counts(self, summary: dict[str, Any]) -> dict[str, Any]:
        verdicts = summary["verdicts"]
        self.log.info("shard %s: %s", self.shard, ", ".join(f"{number:,} {name}" for name, number in verdicts.items()))
        return {"shard": self.shard, "verdicts": verdicts, "verified_now": summary["verified_now"]}
