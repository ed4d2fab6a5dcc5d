"""Loading: sources into a folder that an audit works from, in constant memory."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kgaudit.errors import EmptyInputError, InputError, storage_error
from kgaudit.sources.blank import BlankNodes, has_blank
from kgaudit.sources.candidates import CandidateWriter, cached, claim_keys, read_candidates
from kgaudit.sources.names import ALIAS, LABEL, PREFERRED, Names, NamesWriter, read_label_rows
from kgaudit.sources.opening import SourceFile, source_files, split_suffix
from kgaudit.sources.options import SourceOptions
from kgaudit.sources.provenance import Provenance, reified
from kgaudit.sources.quarantine import Quarantine
from kgaudit.sources.reading import read_source
from kgaudit.sources.rules import Role
from kgaudit.sources.schema import Schema, SchemaWriter
from kgaudit.sources.statements import GIVEN_NAMES
from kgaudit.sources.uses import PredicateUse, UseLearner

VERSION = 1
_SKOS_PREFERRED = "<http://www.w3.org/2004/02/skos/core#prefLabel>"


@dataclass(frozen=True, slots=True)
class FileCounts:
    """What came out of one file."""

    name: str
    statements: int
    quarantined: int


@dataclass(frozen=True, slots=True)
class LoadCounts:
    """What was read.

    `statements` read, of them `claims` different candidates (one a key), `duplicates` further statements of the same candidates, and
    `left_out` by role. `quarantined`: bad lines and rows, not among the statements. `notes`: what else a person should know.
    """

    statements: int
    claims: int
    duplicates: int
    left_out: dict[str, int]
    quarantined: int
    files: tuple[FileCounts, ...]
    notes: tuple[str, ...] = ()


class LoadedGraph:
    """A loaded graph: everything lies below the folder `work`."""

    def __init__(self, work: Path, counts: LoadCounts, schema: Schema, uses: dict[str, PredicateUse]) -> None:
        self.work = work
        self.counts = counts
        self.schema = schema
        self.uses = uses
        self.names = Names(work / "names.sqlite")

    @staticmethod
    def open(work: Path) -> LoadedGraph:
        """Opens what `load` left in `work`. Raises `InputError` where that is not there or not whole."""
        path = work / "load.json"
        todo = "Load the graph again."
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError("no graph was loaded here to its end", where=str(work), todo=todo) from None
        except OSError as error:
            raise storage_error(error, str(path)) from error
        except ValueError:
            raise InputError("the record of the loaded graph is damaged", where=str(path), todo=todo) from None
        if values.get("version") != VERSION:
            raise InputError("the graph was loaded by another version of kgaudit", where=str(path), todo=todo)
        counts = values["counts"]
        files = tuple(FileCounts(**one) for one in counts.pop("files"))
        return LoadedGraph(
            work,
            LoadCounts(**{**counts, "notes": tuple(counts["notes"])}, files=files),
            Schema.from_json(values["schema"]),
            {
                term: PredicateUse(
                    **{name: tuple(map(tuple, value)) if isinstance(value, list) else value for name, value in use.items()}
                )
                for term, use in values["uses"].items()
            },
        )

    def candidates(self) -> Iterator[Any]:
        """The candidates in seeded random order: sorted by sha256(seed + key), so that any beginning is a random sample."""
        return read_candidates(self.work / "candidates.arrow")

    def close(self) -> None:
        """Lets go of the files."""
        self.names.close()
