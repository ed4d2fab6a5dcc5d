"""One source file into batches of statements, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pyarrow as pa

from kgaudit.errors import EmptyInputError, InputError
from kgaudit.sources.graphrag import GraphRagReader
from kgaudit.sources.ntriples import LineReader
from kgaudit.sources.opening import TABLES, SourceFile, SourceStream, source_files
from kgaudit.sources.options import SourceOptions
from kgaudit.sources.quarantine import Quarantine
from kgaudit.sources.rdf import GraphReader, check_base
from kgaudit.sources.rows import csv_rows, jsonl_rows, parquet_rows
from kgaudit.sources.statements import GIVEN_NAMES, RoleFinder
from kgaudit.sources.tables import TableReader


def read_batches(path: Path, options: SourceOptions, quarantine: Quarantine) -> Iterator[pa.RecordBatch]:
    """The statements of one file (or GraphRAG folder) in batches of `STATEMENT_SCHEMA`, every statement with its role.

    Blank nodes carry the labels of the file. Raises `InputError` where the file is not what its name or `options.format` says, is cut
    short, or holds only faulty lines; `EmptyInputError` where nothing is in it; `StorageError` where it cannot be opened.
    """
    check_base(options.base)
    for source in source_files([path], options.format):
        yield from read_source(source, options, quarantine)


def read_source(
    source: SourceFile,
    options: SourceOptions,
    quarantine: Quarantine,
    watch: Callable[[int], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> Iterator[pa.RecordBatch]:
    """`read_batches` for a file that has been found; `watch` is told how many bytes of it have been read, `note` what else a
    person should know."""
    roles = RoleFinder(options.rules)
    before, read = quarantine.count, 0
    with _opened(source, watch) as stream:
        for batch in _reader(source, stream, options, roles, quarantine, note):
            if batch.schema.metadata != GIVEN_NAMES.metadata:
                read += batch.num_rows
            yield batch
        if stream:
            stream.raise_failure(read)
    if not read:
        _raise_nothing(source, quarantine.count - before)


def _opened(source: SourceFile, watch: Callable[[int], None] | None) -> AbstractContextManager[SourceStream | None]:
    if source.format == "graphrag":
        return nullcontext()
    if source.format == "parquet" and source.compression:
        raise InputError(
            "a Parquet file is compressed inside", where=str(source.path), todo=f"Unpack the {source.compression} file around it."
        )
    return SourceStream(source, watch)


def _reader(
    source: SourceFile,
    stream: SourceStream | None,
    options: SourceOptions,
    roles: RoleFinder,
    quarantine: Quarantine,
    note: Callable[[str], None] | None,
) -> Iterable[pa.RecordBatch]:
    if stream is None:
        return GraphRagReader(source, roles, quarantine, note)
    if source.format in ("ntriples", "nquads"):
        return LineReader(stream, roles, quarantine)
    if source.format in ("turtle", "trig", "rdfxml", "jsonld"):
        return GraphReader(stream, options.base, roles, quarantine)
    rows = {
        "csv": lambda: csv_rows(stream, None),
        "tsv": lambda: csv_rows(stream, "\t"),
        "jsonl": lambda: jsonl_rows(stream),
        "parquet": lambda: parquet_rows(source.path),
    }[source.format]()
    return TableReader(rows, source.name, str(source.path), options.mapping, roles, quarantine)


def _raise_nothing(source: SourceFile, quarantined: int) -> None:
    what = "row" if source.format in TABLES else "statement"
    if quarantined:
        raise InputError(
            f"no {what} could be read: {quarantined:,} went into quarantine",
            where=str(source.path),
            todo="Check the format, or read why in quarantine.jsonl.",
        )
    raise EmptyInputError(f"no {what} is in this file", where=str(source.path), todo="Give a file that holds triples or rows.")
