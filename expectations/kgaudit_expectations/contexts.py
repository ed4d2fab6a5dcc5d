"""Great Expectations' own objects, made the way that is safe: one ephemeral context for each validation.

A context kept in files loses data sources when several processes write to it at once, so none is used here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import great_expectations as gx
import pyarrow as pa
from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

from kgaudit.errors import InputError
from kgaudit_expectations.base import TABLE_ROWS

SITE = "kgaudit"
RESULT_FORMAT = {"result_format": "SUMMARY", "partial_unexpected_count": TABLE_ROWS}
"""Enough for Data Docs; the table of triples holds what they cut."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch definition with the parameters that it is asked with."""

    definition: Any
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def engine(self) -> Any:
        """The execution engine, with the batch loaded."""
        return self.definition.get_batch(batch_parameters=dict(self.parameters)).data.execution_engine


def ephemeral_context(docs: Path | None = None) -> Any:
    """A context in memory, with a Data Docs site in the folder `docs` where that is given. Progress bars are off."""
    # The defaults would make a folder for Data Docs in the system's temporary folder and leave it there.
    defaults = InMemoryStoreBackendDefaults(init_temp_docs_sites=False)
    context = gx.get_context(mode="ephemeral", project_config=DataContextConfig(store_backend_defaults=defaults))
    context.variables.progress_bars = {"globally": False}
    if docs is not None:
        context.add_data_docs_site(
            site_name=SITE,
            site_config={
                "class_name": "SiteBuilder",
                "show_how_to_buttons": False,
                "site_index_builder": {"class_name": "DefaultSiteIndexBuilder", "show_cta_footer": False},
                "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(docs)},
            },
        )
    return context


def frame_batch(context: Any, table: pa.Table, name: str = "verdicts") -> Batch:
    """A table of `CHECK_SCHEMA` as a pandas batch."""
    source = context.data_sources.add_pandas(f"{name}_frame")
    definition = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("all")
    return Batch(definition, {"dataframe": table.to_pandas()})


def sql_batch(context: Any, connection: str, table: str, schema: str | None = None) -> Batch:
    """A table of a database (an SQLAlchemy URL, run on SQLite and PostgreSQL) as a batch.

    Raises `InputError` where the database or the table cannot be read.
    """
    try:
        source = context.data_sources.add_or_update_sql(
            f"{table}_{sha256(connection.encode()).hexdigest()[:8]}", connection_string=connection
        )
        asset = source.add_table_asset(table, table_name=table, schema_name=schema)
    except Exception as error:  # Great Expectations wraps whatever the driver raises in errors of several families
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(
            f"the table cannot be read ({reason})", where=f"table {table}", todo="Check the connection and the name of the table."
        ) from error
    return Batch(asset.add_batch_definition_whole_table("all"))


def validation_definition(context: Any, batch: Batch, suite: Any, name: str = "kgaudit") -> Any:
    """A validation definition of a batch and a suite, both in the context afterwards."""
    return context.validation_definitions.add(
        gx.ValidationDefinition(name=name, data=batch.definition, suite=context.suites.add(suite))
    )


def checkpoint(context: Any, definition: Any, name: str = "kgaudit", *, docs: bool = False) -> Any:
    """A checkpoint of one validation definition; `docs`: it updates the Data Docs site of the context."""
    from great_expectations.checkpoint import UpdateDataDocsAction

    actions = [UpdateDataDocsAction(name="data_docs", site_names=[SITE])] if docs else []
    return context.checkpoints.add(
        gx.Checkpoint(name=name, validation_definitions=[definition], actions=actions, result_format=dict(RESULT_FORMAT))
    )
