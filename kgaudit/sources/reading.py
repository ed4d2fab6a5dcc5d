"""One source file into batches of statements, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from kgaudit.errors import EmptyInputError, InputError
from kgaudit.sources.ntriples import LineReader
from kgaudit.sources.opening import TABLES, SourceFile, SourceStream, source_files
from kgaudit.sources.options import SourceOptions
from kgaudit.sources.quarantine import Quarantine
from kgaudit.sources.rdf import GraphReader
from kgaudit.sources.statements import GIVEN_NAMES, RoleFinder


def read_batches(path: Path, options: SourceOptions, quarantine: Quarantine) -> Iterator[pa.RecordBatch]:
    """The statements of one file (or GraphRAG folder) in batches of `STATEMENT_SCHEMA`, every statement with its role.

    Blank nodes carry the labels of the file. Raises `InputError` where the file is not what its name or `options.format` says, is cut
    short, or holds only faulty lines; `EmptyInputError` where nothing is in it; `StorageError` where it cannot be opened.
    """
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
    with SourceStream(source, watch) as stream:
        reader = (
            LineReader(stream, roles, quarantine)
            if source.format in ("ntriples", "nquads")
            else GraphReader(stream, options.base, roles, quarantine)
        )
        for batch in reader:
            read += batch.num_rows
            yield batch
        stream.raise_failure(read)
    if not read:
        _raise_nothing(source, quarantine.count - before)


def _raise_nothing(source: SourceFile, quarantined: int) -> None:
    what = "row" if source.format in TABLES else "statement"
    if quarantined:
        raise InputError(
            f"no {what} could be read: {quarantined:,} went into quarantine",
            where=str(source.path),
            todo="Check the format, or read why in quarantine.jsonl.",
        )
    raise EmptyInputError(f"no {what} is in this file", where=str(source.path), todo="Give a file that holds triples or rows.")
