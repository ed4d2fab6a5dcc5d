"""`SelectNewTriples`: what is new in the graph, cut into shards."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgaudit.airflow import settings
from kgaudit.airflow.connections import KgConnection, ModelConnection
from kgaudit.airflow.environment import secrets_in_environment
from kgaudit.airflow.failures import airflow_failures
from kgaudit.airflow.links import RunLink
from kgaudit.airflow.operators.base import KgOperator, lines_of

if TYPE_CHECKING:
    from kgaudit.documents import Retriever
    from kgaudit.runs.audit import AuditOptions
    from kgaudit.runs.shards import Plan
    from kgaudit.sources.news import Selection

SHARD_TRIPLES = 2000


class SelectNewTriples(KgOperator):
    """Loads the graph into the run folder, finds what its state does not hold yet, and cuts that into shards.

    `new_by` is how what is new is told: `state` (what the state does not hold), `graphs`, `time`, or `sparql`, as it always is for a
    graph behind an endpoint. `again` names reasons to verify known triples once more (`changed-judge`, `changed-documents`). There are
    at most as many shards as Airflow maps over: they grow beyond `shard_triples` where need be. `max_triples` bounds what is selected.

    `model_conn_id` is that of `VerifyShard`: it decides what is to be verified again. A missing index is an error here already, also
    when nothing is new. Gives the names of the shards, to map `VerifyShard` over; counts and the run's folder are under the key `plan`.
    """

    template_fields = (*KgOperator.template_fields, "new_by", "again", "shard_triples", "max_triples", "policy", "model_conn_id")
    operator_extra_links = (RunLink(),)
    ui_color = "#e4ecf7"

    def __init__(
        self,
        *,
        new_by: str = "state",
        again: list[str] | str | None = None,
        shard_triples: int | str = SHARD_TRIPLES,
        max_triples: int | str | None = None,
        policy: str = "agentkgv",
        model_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.new_by = new_by
        self.again = again
        self.shard_triples = shard_triples
        self.max_triples = max_triples
        self.policy = policy
        self.model_conn_id = model_conn_id

    def execute(self, context: Mapping[str, Any]) -> list[str]:
        """Selects; a run that has a plan keeps it. Raises Airflow's errors."""
        from kgaudit.airflow.hooks import ModelHook
        from kgaudit.airflow.search import open_search

        run = self.folder(context)
        with airflow_failures():
            kg = self.kg()
            model = ModelHook(self.model_conn_id).get_conn() if self.model_conn_id else None
            secrets = {
                "KGAUDIT_SPARQL_USER": kg.user,
                "KGAUDIT_SPARQL_PASSWORD": kg.password,
                "KGAUDIT_MODEL_KEY": model.key if model else "",
            }
            with closing(open_search(kg)) as retriever, secrets_in_environment(secrets):
                plan = self._select(kg, model, run, retriever)
        self.pages["Run"] = run
        self.log.info("%s: %s", run, plan.text)
        for note in plan.notes:
            self.log.warning("%s", note)
        counts = {"run": str(run), "total": plan.total, "new": plan.new, "removed": plan.removed, "rests_on": plan.rests_on}
        context["ti"].xcom_push(key="plan", value=counts)
        return list(plan.shards)

    def _select(self, kg: KgConnection, model: ModelConnection | None, run: Path, retriever: Retriever) -> Plan:
        from kgaudit.airflow.progress import LoggedProgress
        from kgaudit.models.embedded import load_judge
        from kgaudit.models.opening import open_model
        from kgaudit.runs.nightly import select

        return select(
            self._options(kg, model, run),
            kg.state,
            selection=self._selection(kg),
            shard_triples=int(self.shard_triples),
            max_shards=settings.mapped_tasks(),
            retriever=retriever,
            judge=load_judge(kg.judge),
            chat=open_model(model.spec, run / "calls") if model else None,
            progress=LoggedProgress("reading", "bytes", self.log),
            searching=LoggedProgress("searching again", "triples", self.log),
        )

    def _selection(self, kg: KgConnection) -> Selection:
        from kgaudit.sources.news import Selection

        again: Any = tuple(lines_of(self.again))
        if kg.is_endpoint:
            return Selection(by="sparql", endpoint=kg.graph, query=kg.query, whole=False, again=again)
        by: Any = self.new_by
        return Selection(by=by, again=again)

    def _options(self, kg: KgConnection, model: ModelConnection | None, run: Path) -> AuditOptions:
        from kgaudit.runs.audit import AuditOptions, Budget
        from kgaudit.sources.options import ColumnMapping, Rules, SourceOptions

        source = SourceOptions(
            format=kg.format,
            mapping=ColumnMapping(**kg.mapping),  # type: ignore[arg-type]
            rules=Rules.from_yaml(kg.rules) if kg.rules else Rules.default(),
            labels=kg.labels,
        )
        return AuditOptions(
            kg=() if kg.is_endpoint else (Path(kg.graph),),
            run=run,
            source=source,
            policy=self.policy,
            calibration=model.calibration if model else None,
            cards=kg.cards,
            trusted=kg.trusted,
            budget=Budget(triples=int(self.max_triples) if self.max_triples else None),
        )
