"""`IndexDocuments`: makes the documents searchable."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgaudit.airflow.assets import INDEXED
from kgaudit.airflow.failures import airflow_failures
from kgaudit.airflow.operators.base import KgOperator, lines_of
from kgaudit.errors import UsageError


class IndexDocuments(KgOperator):
    """Indexes the documents of the connection, or of `documents`, into its index: a folder, or an index on its Elasticsearch cluster.

    What is there is replaced when the new one is whole; on a cluster only what has changed is written. What could not be read is set
    aside and counted. Updates `kg:indexed`, with counts in the event.
    """

    template_fields = (*KgOperator.template_fields, "documents")
    ui_color = "#dde6c6"

    def __init__(self, *, documents: list[str] | str | None = None, outlets: list[Any] | None = None, **kwargs: Any) -> None:
        super().__init__(outlets=[INDEXED] if outlets is None else outlets, **kwargs)
        self.documents = documents

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Indexes. Raises Airflow's errors."""
        from kgaudit.airflow.progress import LoggedProgress
        from kgaudit.airflow.search import index_address

        progress = LoggedProgress("indexing", "documents", self.log)
        with airflow_failures():
            kg = self.kg()
            documents = [Path(one) for one in lines_of(self.documents)] or list(kg.documents)
            if not documents:
                raise UsageError("its field documents names no documents", where=f"connection {kg.conn_id}", todo="Name some there.")
            address, access = index_address(kg)
            if access is None:
                from kgaudit_retrievers.embedded import build_index

                built = build_index(documents, Path(address), progress=progress)
                counts = {"documents": built.indexed, "set_aside": built.quarantined, "snapshot": built.snapshot}
            else:
                from kgaudit_retrievers.elasticsearch import index_documents

                aside = self.folder(context) / "quarantine.jsonl"
                aside.parent.mkdir(parents=True, exist_ok=True)
                on_server = index_documents(documents, address, access=access, quarantine=aside, progress=progress)
                counts = {"documents": on_server.documents, "set_aside": on_server.quarantined, "snapshot": on_server.snapshot}
        self.announce(context, {"kg": self.kg_conn_id, "index": address, **counts})
        self.log.info("%s: %s", address, counts)
        return counts
