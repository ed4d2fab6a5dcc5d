"""Loading: sources into a folder that an audit works from, in constant memory."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kgaudit.errors import EmptyInputError, InputError, storage_error
from kgaudit.sources.blank import BlankNodes, has_blank
from kgaudit.sources.candidates import CandidateWriter, claim_keys, read_candidates
from kgaudit.sources.names import ALIAS, LABEL, PREFERRED, Names, NamesWriter, read_label_rows
from kgaudit.sources.opening import SourceFile, source_files, split_suffix
from kgaudit.sources.options import SourceOptions
from kgaudit.sources.provenance import Provenance, reified
from kgaudit.sources.quarantine import Quarantine
from kgaudit.sources.rdf import check_base
from kgaudit.sources.reading import read_source
from kgaudit.sources.rules import Role
from kgaudit.sources.schema import Schema, SchemaWriter
from kgaudit.sources.statements import GIVEN_NAMES
from kgaudit.sources.uses import PredicateUse, UseLearner
from kgaudit.triples import Candidate

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
            {term: PredicateUse(**{**use, **_pairs(use)}) for term, use in values["uses"].items()},
        )

    def candidates(self) -> Iterator[Candidate]:
        """The candidates in seeded random order: sorted by sha256(seed + key), so that any beginning is a random sample."""
        return read_candidates(self.work / "candidates.arrow")

    def close(self) -> None:
        """Lets go of the files."""
        self.names.close()


def load(
    paths: Sequence[Path],
    work: Path,
    options: SourceOptions,
    progress: Callable[[int, int | None], None] | None = None,
) -> LoadedGraph:
    """Reads files and folders into `work` and opens what came of them.

    `progress` is told the bytes of the files that have been read, and of how many. Raises `InputError` where a file is not what it
    claims to be or is cut short, `EmptyInputError` where there is nothing in it, `StorageError` where a file cannot be read or `work`
    cannot be written; nothing that looks whole is left then.
    """
    check_base(options.base)
    sources = source_files([Path(path) for path in paths], options.format)
    if not sources:
        raise EmptyInputError("no file was named", todo="Name a graph file, a table or a folder of them.")
    try:
        work.mkdir(parents=True, exist_ok=True)
        (work / "load.json").unlink(missing_ok=True)
        with Quarantine(work, strict=options.strict) as quarantine:
            loader = _Loader(work, options, quarantine)
            try:
                loader.read(sources, progress)
                record = loader.finish()
            finally:
                loader.discard()
        temporary = work / "load.json.tmp"
        temporary.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
        os.replace(temporary, work / "load.json")
    except OSError as error:
        raise storage_error(error, str(work)) from error
    return LoadedGraph.open(work)


class _Loader:
    """Sends every batch where its rows belong."""

    def __init__(self, work: Path, options: SourceOptions, quarantine: Quarantine) -> None:
        self._work = work
        self._options = options
        self._quarantine = quarantine
        self._spill = work / "spill"
        self._names = NamesWriter(work / "names.sqlite")
        self._schema = SchemaWriter()
        self._candidates = CandidateWriter(self._spill, options.seed)
        self._uses = UseLearner()
        self._left_out: Counter[str] = Counter()
        self._claim_statements = 0
        self._files: list[FileCounts] = []
        self._notes: list[str] = []
        self._tied = 0

    def read(self, sources: Sequence[SourceFile], progress: Callable[[int, int | None], None] | None) -> None:
        total, done = sum(source.size for source in sources), 0
        empty: EmptyInputError | None = None
        for source in sources:
            quarantined = self._quarantine.count
            watch = None if progress is None else _Watch(progress, done, total)
            statements = 0
            try:
                statements = self._read_file(source, watch)
            except EmptyInputError as error:
                if source.named:  # shards of a folder may be empty, as long as not all of them are
                    raise
                empty = error
            done += source.size
            self._files.append(FileCounts(source.name, statements, self._quarantine.count - quarantined))
        if empty and not any(file.statements for file in self._files):
            raise empty
        if self._options.labels:
            self._read_labels(self._options.labels)

    def _read_file(self, source: SourceFile, watch: Callable[[int], None] | None) -> int:
        blank = BlankNodes(self._spill / "blank", source.name)
        statements = 0
        try:
            for batch in read_source(source, self._options, self._quarantine, watch, self._notes.append):
                if batch.schema.metadata == GIVEN_NAMES.metadata:
                    self._take_names(batch)
                    continue
                statements += batch.num_rows
                mask = has_blank(batch)
                if mask.true_count:
                    blank.add(batch.filter(mask))
                    batch = batch.filter(pc.invert(mask))
                self._take(batch, source.name)
            for batch in blank.batches():
                self._take(batch, source.name)
            self._tied += blank.tied
        finally:
            blank.discard()
        return statements

    def _read_labels(self, path: Path) -> None:
        try:
            if split_suffix(path)[0] in (".tsv", ".tab", ".csv", ".jsonl", ".ndjson", ".txt"):
                self._names.given(read_label_rows(path))
                return
        except OSError as error:
            raise storage_error(error, str(path)) from error
        except UnicodeDecodeError as error:
            raise InputError(f"no UTF-8 at byte {error.start + 1}", where=str(path), todo="Convert the file to UTF-8.") from error
        for source in source_files([path], None):
            for batch in read_source(source, self._options, self._quarantine):
                self._take_names(batch)

    def _take(self, batch: pa.RecordBatch, file: str) -> None:
        by_role = _by_role(batch)
        for role, rows in by_role.items():
            if role != Role.CLAIM:
                self._left_out[role.word] += rows.num_rows
        claims = by_role.get(Role.CLAIM)
        if claims is not None:
            keys = claim_keys(claims)
            self._claim_statements += len(keys)
            self._candidates.add(claims, keys, file)
            self._uses.add(claims, keys)
        self._take_names(batch, by_role)
        if Role.SCHEMA in by_role:
            self._schema.add(_terms(by_role[Role.SCHEMA]))
        if Role.PROVENANCE in by_role:
            rows = list(_terms(by_role[Role.PROVENANCE]))
            self._names.said(rows)
            self._names.reifiers(reified(rows))

    def _take_names(self, batch: pa.RecordBatch, by_role: dict[Role, pa.RecordBatch] | None = None) -> None:
        for role, rows in (by_role or _by_role(batch)).items():
            s, o = rows.column("s").to_pylist(), rows.column("o").to_pylist()
            if role == Role.LABEL:
                preferred = pc.equal(rows.column("p"), _SKOS_PREFERRED).to_pylist()
                for kind in (PREFERRED, LABEL):
                    wanted = [i for i, one in enumerate(preferred) if one == (kind == PREFERRED)]
                    self._names.labels([s[i] for i in wanted], [o[i] for i in wanted], kind)
            elif role == Role.ALIAS:
                self._names.labels(s, o, ALIAS)
            elif role == Role.TYPE:
                self._names.types(s, o)
            elif role == Role.SAME_AS:
                self._names.same(s, o)

    def finish(self) -> dict[str, Any]:
        """Writes the candidates and returns what `LoadedGraph.open` needs."""
        self._names.finish()
        names = Names(self._work / "names.sqlite")
        try:
            provenance = Provenance(names)
            reifiers = names.has_reifiers()
            claims, of_reifiers = self._candidates.write(
                self._work / "candidates.arrow",
                lru_cache(65536)(provenance.of_graph),
                provenance.of_triple if reifiers else None,
                lru_cache(65536)(names.is_reifier) if reifiers else None,
            )
            uses = self._uses.uses(claims, names.types)
        finally:
            names.close()
        if of_reifiers:
            self._left_out[Role.PROVENANCE.word] += of_reifiers
        if self._tied:
            self._notes.append(
                f"{self._tied:,} groups of blank nodes are too large or too much alike to be told apart: "
                "the names of their nodes follow the order of the file"
            )
        counts = LoadCounts(
            statements=sum(file.statements for file in self._files),
            claims=claims.total(),
            duplicates=self._claim_statements - of_reifiers - claims.total(),
            left_out=dict(self._left_out),
            quarantined=self._quarantine.count,
            files=tuple(self._files),
            notes=tuple(self._notes),
        )
        return {
            "version": VERSION,
            "counts": asdict(counts),
            "schema": self._schema.schema().to_json(),
            "uses": {term: asdict(use) for term, use in uses.items()},
        }

    def discard(self) -> None:
        """Removes what only loading needed."""
        self._names.close()
        self._candidates.discard()
        shutil.rmtree(self._spill, ignore_errors=True)


def _pairs(use: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple((term, count) for term, count in use[name]) for name in ("subject_types", "object_types")}


class _Watch:
    """Progress within one file as progress within all."""

    def __init__(self, progress: Callable[[int, int | None], None], before: int, total: int) -> None:
        self._progress = progress
        self._before = before
        self._total = total

    def __call__(self, read: int) -> None:
        self._progress(self._before + read, self._total)


def _by_role(batch: pa.RecordBatch) -> dict[Role, pa.RecordBatch]:
    roles = batch.column("role")
    present = sorted(roles.unique().to_pylist())
    if len(present) == 1:
        return {Role(present[0]): batch}
    return {Role(role): batch.filter(pc.equal(roles, pa.scalar(role, pa.int8()))) for role in present}


def _terms(batch: pa.RecordBatch) -> Iterator[tuple[str, str, str]]:
    return zip(*(batch.column(name).to_pylist() for name in ("s", "p", "o")), strict=True)
