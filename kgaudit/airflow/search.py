"""The documents behind a knowledge graph's connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgaudit.airflow.connections import KgConnection
from kgaudit.errors import UsageError

if TYPE_CHECKING:
    from kgaudit.documents import Retriever
    from kgaudit_retrievers.es_connect import Access


def index_address(kg: KgConnection) -> tuple[str, Access | None]:
    """Where the index is, as `--index` takes it, and the way in where it is on a cluster. Raises `UsageError` where none is named."""
    if not kg.index:
        raise UsageError("its field index names no index of documents", where=f"connection {kg.conn_id}",
                         todo="Build one (DAG index_documents, or `kgaudit index`) and name it there.")  # fmt: skip
    if not kg.elasticsearch_conn_id:
        return kg.index, None
    from airflow.sdk import BaseHook

    from kgaudit_retrievers.es_connect import Access, airflow_address

    connection = BaseHook.get_connection(kg.elasticsearch_conn_id)
    return airflow_address(connection, kg.index), Access.from_airflow(connection)


def open_search(kg: KgConnection) -> Retriever:
    """Opens the index. Raises what `open_retriever` raises: a missing index is an error, also where nothing is to be looked up."""
    from kgaudit_retrievers.opening import open_retriever

    address, access = index_address(kg)
    return open_retriever(address, access=access)
