"""Microsoft GraphRAG's output: relationships as statements, judged by their description.

Tables: https://microsoft.github.io/graphrag/index/outputs/. Older versions put `create_final_` before the names of the files. The
edges have no predicate: it is the name `related to`. `source` and `target` are names of things, `text_unit_ids` lead to the documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from kgaudit.errors import InputError
from kgaudit.sources.opening import SourceFile
from kgaudit.sources.options import ColumnMapping
from kgaudit.sources.quarantine import Quarantine
from kgaudit.sources.rows import Row, Value, parquet_columns, parquet_rows
from kgaudit.sources.rules import RDF_TYPE, Role
from kgaudit.sources.statements import RoleFinder
from kgaudit.sources.tables import TableReader, given_batch
from kgaudit.triples import name_term

PREDICATE = "related to"
_MAPPING = ColumnMapping(
    subject="source", predicate="predicate", object="target", statement="description", document="documents", object_is_entity=True
)
_SHOWN = 5
"""Missing text units that a note names."""


class GraphRagReader:
    """Reads an output folder into batches of `STATEMENT_SCHEMA`; `note` is told of text units that are named and not there.

    Raises `InputError` naming the file and the column that is missing.
    """

    def __init__(self, source: SourceFile, roles: RoleFinder, quarantine: Quarantine, note: Callable[[str], None] | None) -> None:
        self._folder = source.path
        self._name = source.name
        self._roles = roles
        self._quarantine = quarantine
        self._note = note
        self._missing: dict[str, None] = {}

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        path = self._table("relationships")
        assert path is not None  # source_files looked for it
        columns = _require(path, ("source", "target", "description"), ("text_unit_ids",))
        units = self._documents_of_units()
        rows = (self._edge(row, units) for row in parquet_rows(path, columns))
        yield from TableReader(rows, f"{self._name}/{path.name}", str(path), _MAPPING, self._roles, self._quarantine)
        yield from self._types()
        if self._missing and self._note:
            shown = ", ".join(list(self._missing)[:_SHOWN]) + (", ..." if len(self._missing) > _SHOWN else "")
            path = self._table("text_units")
            where = "there is no text_units.parquet" if path is None else f"missing from {path.name}"
            self._note(
                f"{self._name}: {where}: {len(self._missing):,} of the text units that relationships name ({shown}); "
                "which documents those statements come from is not known"
            )

    def _table(self, name: str) -> Path | None:
        return next(
            (path for path in (self._folder / f"{name}.parquet", self._folder / f"create_final_{name}.parquet") if path.is_file()), None
        )

    def _documents_of_units(self) -> dict[str, list[str]]:
        path = self._table("text_units")
        if path is None:
            return {}
        columns = _require(path, ("id", "document_ids" if "document_ids" in parquet_columns(path) else "document_id"), ())
        return {str(row.values[columns[0]]): _list(row.values[columns[1]]) for row in parquet_rows(path, columns)}

    def _edge(self, row: Row, units: dict[str, list[str]]) -> Row:
        documents: dict[str, None] = {}
        for unit in _list(row.values.get("text_unit_ids")):
            if unit in units:
                documents.update(dict.fromkeys(units[unit]))
            else:
                self._missing[unit] = None
        values: dict[str, Value] = {**row.values, "predicate": PREDICATE, "documents": list(documents)}
        values.pop("text_unit_ids", None)
        return replace(row, values=values)

    def _types(self) -> Iterator[pa.RecordBatch]:
        path = self._table("entities")
        if path is None:
            return
        columns = parquet_columns(path)
        title = next((name for name in ("title", "name") if name in columns), None)
        if title is None or "type" not in columns:
            return
        pairs = {
            (name_term(str(row.values[title]).strip()), name_term(str(row.values["type"]).strip()))
            for row in parquet_rows(path, [title, "type"])
            if row.values[title] and row.values["type"]
        }
        if pairs:
            yield given_batch(sorted(pairs), f"<{RDF_TYPE}>", Role.TYPE)


def _list(value: Value) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _require(path: Path, needed: tuple[str, ...], wanted: tuple[str, ...]) -> list[str]:
    columns = parquet_columns(path)
    for name in needed:
        if name not in columns:
            raise InputError(
                f"the column {name!r} is missing; the columns are {', '.join(columns) or 'none'}",
                where=str(path),
                todo="Give the folder as GraphRAG wrote it.",
            )
    return [*needed, *(name for name in wanted if name in columns)]
