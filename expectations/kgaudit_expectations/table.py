"""The table that expectations are checked on: the verdict table of a run without its nested columns, one row a triple.

It is what a pandas batch holds and what `write_sql` puts into a database, so that every expectation has the same columns on each
engine. Its checks of quotes are made here, against the passages of the run, because no database can make them.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgaudit.errors import InputError, ServiceError, UsageError
from kgaudit.runs.reader import RunReader
from kgaudit.runs.state import open_reader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kgaudit.gate.labels import Labels

_WORDS = pa.dictionary(pa.int32(), pa.string())
SOURCES = ("file", "graph", "extractor", "document")

CHECK_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("s", pa.string(), nullable=False),
        pa.field("p", _WORDS, nullable=False),
        pa.field("o", pa.string(), nullable=False),
        ("valid_from", pa.string()),
        ("valid_until", pa.string()),
        pa.field("s_label", pa.string(), nullable=False),
        pa.field("p_label", _WORDS, nullable=False),
        pa.field("o_label", pa.string(), nullable=False),
        pa.field("verdict", _WORDS, nullable=False),
        ("confidence", pa.float64()),
        pa.field("quotes", pa.int32(), nullable=False),
        pa.field("loose_quotes", pa.int32(), nullable=False),
        *(pa.field(f"{kind}s", _WORDS, nullable=False) for kind in SOURCES),
        pa.field("audited_at", _WORDS, nullable=False),
        ("label", pa.int8()),
        ("label_design", pa.string()),
        ("label_stratum", pa.string()),
        ("label_cluster", pa.string()),
        ("label_weight", pa.float64()),
    ]
)
"""One row a triple.

`quotes` counts the evidence quotes and `loose_quotes` those of them that do not stand word for word in their passage; a verdict by
retrieval that quotes nothing counts as one loose quote. `files`, `graphs`, `extractors` and `documents` are JSON lists of where the
triple was found. `audited_at` is when the audit began (ISO 8601, UTC). `label` is what people said of it, 1 true, 0 false, null where
it is not of the random sample that they labelled; `label_weight` is how many triples of the run the label stands for.
"""

_VERDICT_COLUMNS = (
    "key", "s", "p", "o", "valid_from", "valid_until", "s_label", "p_label", "o_label", "verdict", "confidence", "evidence", "places",
)  # fmt: skip


def check_table(run: Path, labels: Labels | None = None) -> pa.Table:
    """The table of `CHECK_SCHEMA` for a run, with people's labels (`kgaudit.gate.labels.read_labels`) where those are given.

    Raises `RunError` where `run` is no run folder or a part of it is damaged.
    """
    reader = open_reader(run)
    audited_at = str(reader.spec.get("started", ""))
    loose = _loose_quotes(reader)
    labelled = _label_columns(reader, labels) if labels else {name: pa.nulls(len(loose)) for name in _LABEL_COLUMNS}
    lists = {kind: _NameLists() for kind in SOURCES}
    pieces: list[pa.RecordBatch] = []
    position = 0
    for batch in reader.batches(_VERDICT_COLUMNS):
        rows = batch.num_rows
        quotes = pc.fill_null(pc.list_value_length(batch["evidence"]), 0)
        columns: dict[str, Any] = {name: batch[name] for name in CHECK_SCHEMA.names if name in batch.schema.names}
        columns |= {f"{kind}s": lists[kind].column(batch["places"], kind) for kind in SOURCES}
        columns["quotes"] = quotes
        columns["loose_quotes"] = loose[position : position + rows]
        columns["audited_at"] = pa.repeat(pa.scalar(audited_at), rows)
        columns |= {name: column[position : position + rows] for name, column in labelled.items()}
        pieces.append(pa.RecordBatch.from_arrays([_as(columns[field.name], field.type) for field in CHECK_SCHEMA], schema=CHECK_SCHEMA))
        position += rows
    return pa.Table.from_batches(pieces, CHECK_SCHEMA).unify_dictionaries()


def _as(values: Any, kind: pa.DataType) -> pa.Array:
    coded = pa.types.is_dictionary(kind)
    array = values if isinstance(values, pa.Array) else pa.array(values, kind.value_type if coded else kind)
    if coded and not pa.types.is_dictionary(array.type):
        return array.dictionary_encode()
    return array.cast(kind)


_LABEL_COLUMNS = ("label", "label_design", "label_stratum", "label_cluster", "label_weight")


def _label_columns(reader: RunReader, labels: Labels) -> dict[str, pa.Array]:
    """The largest random sample among the labels, as the gate takes it, spread over the rows of the run."""
    from kgaudit.gate.rows import read_rows
    from kgaudit.gate.samples import match

    rows = read_rows(reader)
    answered = match(rows, labels).answered if len(rows) else None
    if answered is None or not answered.decided:
        return {name: pa.nulls(len(rows)) for name in _LABEL_COLUMNS}
    sample = answered.sample(rows, math.inf)
    at = answered.row[~np.isnan(answered.truth)]
    weight = sample.weight
    if answered.strata is None:  # weights as somebody wrote them say only how the labels stand to each other
        weight = weight / weight.sum() * len(rows)
    named: dict[str, Iterable[Any]] = {
        "label": sample.truth,
        "label_design": [sample.design] * len(at),
        "label_stratum": map(str, sample.stratum.tolist()),
        "label_cluster": map(str, sample.cluster.tolist()),
        "label_weight": weight,
    }
    return {name: _spread(len(rows), at.tolist(), list(values)) for name, values in named.items()}


def _spread(rows: int, at: Sequence[int], values: Sequence[Any]) -> pa.Array:
    column: list[Any] = [None] * rows
    for row, value in zip(at, values, strict=True):
        column[row] = value
    return pa.array(column)


class _NameLists:
    """The names in which triples were found, as JSON lists; equal lists are written once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], str] = {}

    def column(self, places: pa.Array, kind: str) -> pa.Array:
        lengths = pc.fill_null(pc.list_value_length(places), 0).to_numpy(zero_copy_only=False)
        names = pc.struct_field(pc.list_flatten(places), "documents" if kind == "document" else kind)
        if kind == "document":
            inner = pc.fill_null(pc.list_value_length(names), 0).to_numpy(zero_copy_only=False)
            rows = np.repeat(np.repeat(np.arange(len(places)), lengths), inner)
            lengths, names = np.bincount(rows, minlength=len(places)), pc.list_flatten(names)
        if len(names) == len(places) and (lengths == 1).all():  # what most runs hold: one place a triple
            coded = pc.fill_null(names, "").dictionary_encode()
            texts = [self._text((name,)) for name in coded.dictionary.to_pylist()]
            return pa.DictionaryArray.from_arrays(coded.indices, pa.array(texts, pa.string()))
        values, out, start = names.to_pylist(), [], 0
        for length in lengths.tolist():
            out.append(self._text(tuple(sorted({name or "" for name in values[start : start + length]}))))
            start += length
        return pa.array(out, pa.string())

    def _text(self, names: tuple[str, ...]) -> str:
        text = self._known.get(names)
        if text is None:
            text = self._known[names] = json.dumps(names, ensure_ascii=False)
        return text


def _loose_quotes(reader: RunReader) -> NDArray[np.int32]:
    """How many quotes of each row, in the order of the ledger, do not stand in their passage."""
    loose: list[int] = []
    rows_of: list[NDArray[np.int64]] = []
    spans: list[pa.RecordBatch] = []
    for batch in reader.batches(["verdict", "route", "evidence"]):
        lengths = pc.fill_null(pc.list_value_length(batch["evidence"]), 0).to_numpy(zero_copy_only=False)
        rows_of.append(np.repeat(np.arange(len(loose), len(loose) + len(lengths)), lengths))
        spans.append(pa.RecordBatch.from_struct_array(pc.list_flatten(batch["evidence"])).select(_SPAN_COLUMNS))
        found = zip(lengths.tolist(), batch["route"].to_pylist(), batch["verdict"].to_pylist(), strict=True)
        loose += [not count and route == "retrieval" and verdict in ("supported", "refuted") for count, route, verdict in found]
    counts = np.array(loose, np.int32)
    if spans:
        stands = _standing(reader, pa.Table.from_batches(spans))
        np.add.at(counts, np.concatenate(rows_of)[~stands], 1)
    return counts


_SPAN_COLUMNS = ["passage_id", "document_id", "start", "end", "quote"]


def _standing(reader: RunReader, spans: pa.Table) -> NDArray[np.bool_]:
    """Which quotes stand in their passage. The passages are read part by part: only one part is held at a time."""
    stands = np.zeros(spans.num_rows, bool)
    spans = spans.combine_chunks()
    ids = np.array([text or "" for text in spans["passage_id"].to_pylist()], "S32")
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    for table in reader.passage_tables(["id", "document_id", "start", "text"]):
        passages = table.to_pylist()
        named = np.array([passage["id"] for passage in passages], "S32")
        first, last = np.searchsorted(ids, named, "left"), np.searchsorted(ids, named, "right")
        owners = np.repeat(np.arange(len(passages)), last - first)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
        chosen = order[np.repeat(first, last - first) + within]
        found = zip(owners.tolist(), spans.take(pa.array(chosen)).to_pylist(), strict=True)
        stands[chosen] = [_stands_in(span, passages[owner]) for owner, span in found]
    return stands


def _stands_in(span: Mapping[str, Any], passage: Mapping[str, Any]) -> bool:
    start, end = span["start"] - passage["start"], span["end"] - passage["start"]
    return (
        bool(span["quote"])
        and start >= 0
        and span["document_id"] == passage["document_id"]
        and bool(passage["text"][start:end] == span["quote"])
    )


_TABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def write_sql(table: pa.Table, connection: str, name: str, *, rows_at_once: int = 10_000) -> int:
    """Writes a table of `CHECK_SCHEMA` into the database of the SQLAlchemy URL `connection` as `name`; returns the number of rows.

    A table of that name is replaced, in one transaction. Raises `UsageError` where the name is not of letters, digits and
    underscores, where the URL is none and where the driver is not installed, `ServiceError` where the database cannot be reached or
    does not take the rows.
    """
    import sqlalchemy as sa
    from sqlalchemy.exc import SQLAlchemyError

    if not _TABLE_NAME.match(name):
        raise UsageError(f"{name!r} is no table name", todo="Use letters, digits and underscores.")
    types: dict[str, Any] = {"int32": sa.Integer, "int8": sa.Integer, "double": sa.Float(53)}
    target = sa.Table(name, sa.MetaData(), *(sa.Column(field.name, types.get(str(field.type), sa.Text)) for field in CHECK_SCHEMA))
    plain = pa.table({field.name: _storable(table[field.name]) for field in CHECK_SCHEMA})
    engine = _engine(connection)
    try:
        with engine.begin() as transaction:
            target.drop(transaction, checkfirst=True)
            target.create(transaction)
            for batch in plain.to_batches(max_chunksize=rows_at_once):
                if engine.dialect.driver == "psycopg2":
                    _copy(transaction.connection.cursor(), name, batch)
                else:
                    transaction.execute(sa.insert(target), batch.to_pylist())
    except (SQLAlchemyError, engine.dialect.loaded_dbapi.Error) as error:
        reason = str(error).splitlines()[0]
        raise ServiceError(f"the table could not be written ({reason})", where=f"table {name}", todo="Check the database.") from error
    finally:
        engine.dispose()
    return int(table.num_rows)


def _engine(connection: str) -> Any:
    import sqlalchemy as sa
    from sqlalchemy.exc import SQLAlchemyError

    try:
        return sa.create_engine(connection)
    except ModuleNotFoundError as error:
        raise UsageError(f"the driver {error.name} of this database is not installed", todo=f"pip install {error.name}.") from error
    except SQLAlchemyError as error:
        raise UsageError(
            "this is no database URL", todo="Write it as postgresql+psycopg2://user@host/name or sqlite:///file."
        ) from error


def _storable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts as plain ones and without U+0000, which PostgreSQL does not take."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    return pc.replace_substring(column, "\x00", "\\u0000") if pa.types.is_string(column.type) else column


def _copy(cursor: Any, name: str, batch: pa.RecordBatch) -> None:
    """Rows by COPY, some ten times as fast as INSERT. In Arrow's CSV nulls are empty and texts quoted, as PostgreSQL reads them."""
    from pyarrow.csv import WriteOptions, write_csv

    buffer = io.BytesIO()
    write_csv(batch, buffer, WriteOptions(include_header=False))
    buffer.seek(0)
    cursor.copy_expert(f'COPY "{name}" FROM STDIN WITH (FORMAT csv)', buffer)


def names_in(text: str) -> list[str]:
    """The names in a JSON list of `CHECK_SCHEMA`; `[""]` where none was given."""
    names = json.loads(text)
    if not isinstance(names, list):
        raise InputError(f"not a JSON list: {text[:80]}", where="a column of sources", todo="Write the table with `write_sql`.")
    return [str(name) for name in names] or [""]
