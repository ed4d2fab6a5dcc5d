"""Rows into statements: which column holds what, names into IRIs, values into literals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import lru_cache
from itertools import chain, islice

import pyarrow as pa

from kgaudit.errors import InputError
from kgaudit.sources.ntriples import read_line
from kgaudit.sources.options import COMMON_NAMES, ColumnMapping
from kgaudit.sources.quarantine import Quarantine
from kgaudit.sources.rows import Nested, Row, Value
from kgaudit.sources.rules import Role
from kgaudit.sources.statements import GIVEN_NAMES, RoleFinder, statement_batch
from kgaudit.triples import literal_term, name_term

_LABEL_TERM = "<http://www.w3.org/2000/01/rdf-schema#label>"
_YES = frozenset({"true", "1", "yes", "y", "entity", "iri", "uri", "node"})
_NEEDED = ("subject", "predicate", "object")
BATCH_ROWS = 1 << 14
_LOOKED_AT = 1000
"""Rows whose columns are looked at before the mapping is settled."""


def settle(mapping: ColumnMapping, columns: list[str], where: str) -> dict[str, str]:
    """Which column holds what, by field of `ColumnMapping`. Raises `InputError` naming the column that is not there."""
    by_folded = {_folded(column): column for column in reversed(columns)}
    chosen: dict[str, str] = {}
    known = ", ".join(columns) or "none"
    for field in fields(ColumnMapping):
        wanted = getattr(mapping, field.name)
        if not isinstance(wanted, str):
            continue
        found = wanted if wanted in columns else by_folded.get(_folded(wanted))
        if found is None:
            what = (
                "says whether objects are things"
                if field.name == "object_is_entity"
                else f"is to hold the {field.name.replace('_', ' ')}"
            )
            raise InputError(
                f"there is no column {wanted!r}, which {what}; the columns are {known}", where=where, todo="Mend the mapping."
            )
        chosen[field.name] = found
    for name, common in COMMON_NAMES.items():
        if name not in chosen:
            found = next((by_folded[one] for one in common if one in by_folded and by_folded[one] not in chosen.values()), None)
            if found is not None:
                chosen[name] = found
    for name in _NEEDED:
        if name not in chosen:
            raise InputError(
                f"no column is known to hold the {name}; the columns are {known}",
                where=where,
                todo=f"Say which one does: --map {name}=COLUMN.",
            )
    return chosen


def _folded(column: str) -> str:
    return re.sub(r"[\s\-]+", "_", column.strip().lower())


class TableReader:
    """Turns rows into batches of `STATEMENT_SCHEMA`; rows without subject, predicate or object go to the quarantine."""

    def __init__(
        self, rows: Iterable[Row], name: str, where: str, mapping: ColumnMapping, roles: RoleFinder, quarantine: Quarantine
    ) -> None:
        self._rows = iter(rows)
        self._name = name
        self._where = where
        self._mapping = mapping
        self._roles = roles
        self._quarantine = quarantine

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        first = list(islice(self._rows, _LOOKED_AT))
        columns = list(dict.fromkeys(chain.from_iterable(row.values for row in first)))
        if not columns:
            for row in first:
                self._refuse(row, row.fault or "the row is empty")
            return
        of = settle(self._mapping, columns, self._where)
        rows = chain(first, self._rows)
        while some := list(islice(rows, BATCH_ROWS)):
            yield from self._batches(some, of)

    def _batches(self, rows: list[Row], of: dict[str, str]) -> Iterator[pa.RecordBatch]:
        columns: dict[str, list[Value | int]] = {name: [] for name in ("s", "p", "o", "line", *_SAID)}
        labels: dict[tuple[str, str], None] = {}
        for row in rows:
            if row.fault:
                self._refuse(row, row.fault)
                continue
            cell = _Cells(row, of)
            try:
                terms = self._terms(cell, of)
            except ValueError as error:
                self._refuse(row, str(error))
                continue
            for name, term in zip(("s", "p", "o"), terms, strict=True):
                columns[name].append(term)
            columns["line"].append(row.line)
            for name, value in cell.said().items():
                columns[name].append(value)
            for name, term in zip(_NEEDED, terms, strict=True):
                label = cell.text(f"{name}_label")
                if label and not term.startswith('"'):
                    labels[term, literal_term(label)] = None
        if columns["s"]:
            s, p, o = (pa.array(columns[name], pa.string()) for name in ("s", "p", "o"))
            said = {name: pa.array(columns[name], pa.list_(pa.string()) if name == "documents" else pa.string()) for name in _SAID}
            yield statement_batch(s, p, o, line=pa.array(columns["line"], pa.int64()), roles=self._roles, **said)
        if labels:
            yield given_batch(list(labels), _LABEL_TERM, Role.LABEL)

    def _terms(self, cell: _Cells, of: dict[str, str]) -> tuple[str, str, str]:
        for name in _NEEDED:
            if isinstance(cell.value(name), list | Nested):
                raise ValueError(f"the {name} is a list or an object, not a text")
            if not cell.text(name):
                raise ValueError(f"the {name} is empty")
        entity = self._mapping.object_is_entity
        if isinstance(entity, str):
            entity = (cell.text("object_is_entity") or "").lower() in _YES
        o = cell.text("object") or ""
        iri = resource(o, strict=entity)
        return (
            resource(cell.text("subject") or "") or name_term(cell.text("subject") or ""),
            resource(cell.text("predicate") or "") or name_term(cell.text("predicate") or ""),
            iri or (name_term(o) if entity else literal_term(o)),
        )

    def _refuse(self, row: Row, reason: str) -> None:
        text = row.text or json.dumps(row.values, ensure_ascii=False)
        self._quarantine.add(self._name, row.line, text.rstrip("\r\n"), reason, last_line=row.last_line)


_SAID = ("graph", "statement", "documents", "extractor", "extracted_at", "valid_from", "valid_until")


class _Cells:
    """The values of a row by field of the mapping."""

    def __init__(self, row: Row, of: dict[str, str]) -> None:
        self._values = row.values
        self._of = of

    def value(self, name: str) -> Value:
        column = self._of.get(name)
        return None if column is None else self._values.get(column)

    def text(self, name: str) -> str | None:
        """The value without white space around it; None where nothing is left."""
        value = self.value(name)
        return (value.strip() or None) if isinstance(value, str) else None

    def said(self) -> dict[str, Value]:
        graph = self.text("graph")
        span = self.text("span")
        # A span of words is what was extracted from; a span of offsets says nothing by itself.
        words = span if span and re.search(r"[^\W\d_]{2}", span) else None
        return {
            "graph": graph and (resource(graph, strict=False) or name_term(graph)),
            "statement": self.text("statement") or words,
            "documents": self._documents(),
            "extractor": self.text("extractor"),
            "extracted_at": self.text("extracted_at"),
            "valid_from": self.text("valid_from"),
            "valid_until": self.text("valid_until"),
        }

    def _documents(self) -> list[str] | None:
        value = self.value("document")
        if isinstance(value, str) and value.lstrip().startswith("["):
            try:
                found = json.loads(value)
                value = [str(one) for one in found] if isinstance(found, list) else value
            except ValueError:
                pass
        if isinstance(value, str):
            value = [value.strip()]
        return [one for one in value or () if one] or None


@lru_cache(maxsize=65536)
def resource(text: str, *, strict: bool = True) -> str | None:
    """The IRI term of a cell that holds an http(s) IRI, or any IRI in angle brackets; None for a name.

    Raises `ValueError` where it begins as one and holds what no IRI may hold; with `strict` False that is a name too.
    """
    bracketed = text.startswith("<") and text.endswith(">") and ":" in text
    if not bracketed and not text.startswith(("http://", "https://")):
        return None
    term = text if bracketed else f"<{text}>"
    found = read_line(f"{term} <urn:p> <urn:o> .", quads=False)
    if isinstance(found, str):
        if strict:
            raise ValueError(found)
        return None
    return found[0]


def given_batch(pairs: list[tuple[str, str]], predicate: str, role: Role) -> pa.RecordBatch:
    """Names or types that rows give beside their triples, as a batch of `GIVEN_NAMES`."""
    n = len(pairs)
    columns = {
        "s": pa.array([term for term, _ in pairs], pa.string()),
        "p": pa.repeat(pa.scalar(predicate, pa.string()), n),
        "o": pa.array([value for _, value in pairs], pa.string()),
        "line": pa.repeat(pa.scalar(0, pa.int64()), n),
        "role": pa.repeat(pa.scalar(int(role), pa.int8()), n),
    }
    arrays = [columns.get(field.name, pa.nulls(n, field.type)) for field in GIVEN_NAMES]
    return pa.RecordBatch.from_arrays(arrays, schema=GIVEN_NAMES)
