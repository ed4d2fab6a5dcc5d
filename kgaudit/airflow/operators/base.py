"""What the operators share: the connection of the graph, and the folder of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from airflow.sdk import BaseOperator

from kgaudit.airflow.connections import DEFAULT_KG, KgConnection
from kgaudit.errors import UsageError


class KgOperator(BaseOperator):
    """An operator on a knowledge graph.

    `kg_conn_id` is a connection of type `kgaudit_kg`; `graph` and `index`, where given, take the place of what it names. `run` is the
    run folder; by default one below the runs folder that is named after DAG and run id, so that each DAG run has one of its own,
    whatever its dates, and each task of it finds the same.
    """

    template_fields: Sequence[str] = ("kg_conn_id", "graph", "index", "run")

    def __init__(
        self, *, kg_conn_id: str = DEFAULT_KG, graph: str | None = None, index: str | None = None, run: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.kg_conn_id = kg_conn_id
        self.graph = graph
        self.index = index
        self.run = run
        self.pages: dict[str, Path] = {}

    def folder(self, context: Mapping[str, Any]) -> Path:
        """The run folder."""
        from kgaudit.airflow.folders import run_folder

        return Path(self.run) if self.run else run_folder(context["dag"].dag_id, context["run_id"])

    def kg(self) -> KgConnection:
        """The connection of the graph, with what the operator names instead. Raises `UsageError`."""
        from kgaudit.airflow.hooks import KgHook

        kg = KgHook(self.kg_conn_id).get_conn()
        for name, given in (("graph", self.graph), ("index", self.index)):
            if given and "://" not in given and not Path(given).is_absolute() and not (name == "index" and kg.elasticsearch_conn_id):
                raise UsageError(f"{name} is a relative path ({given})", where=f"task {self.task_id}", todo="Write the whole path.")
        return replace(kg, graph=self.graph or kg.graph, index=self.index or kg.index)

    def follow_event(self, context: Mapping[str, Any]) -> None:
        """Takes connection and graph from the event that started the run, where one did: it may be another graph than the default.

        Raises `UsageError` where several events started it that speak of different graphs, of which only one could be decided on.
        """
        events = context.get("triggering_asset_events") or {}
        told = {(one.extra["kg"], one.extra.get("graph") or "") for kind in events.values() for one in kind if "kg" in one.extra}
        if len(told) > 1:
            names = ", ".join(sorted({f"{kg} ({graph})" if graph else kg for kg, graph in told}))
            raise UsageError(f"events of different graphs started this run together: {names}", where=f"task {self.task_id}",
                             todo="Trigger the DAG for each of them.")  # fmt: skip
        for self.kg_conn_id, self.graph in told:
            self.log.info("started by an event of %s, graph %s", self.kg_conn_id, self.graph)

    def announce(self, context: Mapping[str, Any], extra: dict[str, Any]) -> None:
        """Puts `extra` into the events of the assets that this task updates."""
        for asset in self.outlets:
            context["outlet_events"][asset].extra.update(extra)


def lines_of(values: list[str] | str | None) -> list[str]:
    """The values of a list, or of a text that holds one a line: a template gives texts."""
    lines = values.splitlines() if isinstance(values, str) else values or []
    return [line.strip() for line in lines if line.strip()]
