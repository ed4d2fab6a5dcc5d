"""Documents into Elasticsearch: only what is new or changed is written, what is gone is removed, a run that was killed goes on.

A version of the index is made beside the one that is searched, verified, and takes its place in one step (`es_versions`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgaudit.errors import EmptyInputError, InputError, Interrupted, SearchIndexError, storage_error
from kgaudit_retrievers import es_publish, es_versions
from kgaudit_retrievers.corpus import Found, find_documents
from kgaudit_retrievers.dense import Embedder
from kgaudit_retrievers.es_bulk import PATIENCE, BulkWriter, Unit
from kgaudit_retrievers.es_connect import Access, Cluster, parse_address
from kgaudit_retrievers.es_query import searched_as
from kgaudit_retrievers.es_schema import (
    FORMAT,
    Analysers,
    Cut,
    cut,
    delete_line,
    document_entry,
    document_key,
    passage_entries,
    passage_key,
    put_line,
)  # fmt: skip
from kgaudit_retrievers.es_snapshot import scan, snapshot_of
from kgaudit_retrievers.es_versions import Lock, Version
from kgaudit_retrievers.terms import count_long_words

KEPT = 2
"""Versions that are kept, the one that is searched among them; older ones are deleted when a new one has taken its place."""

EMBED_BATCH = 256
_QUOTED = 10_000  # characters of a quarantined text that are kept
_LINES_AT_ONCE = 200  # documents whose entries are asked for together

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class EsIndexReport:
    """What became of the documents: read = added + changed + unchanged + empty + repeats + quarantined.

    `removed` were in the index and came no more. `documents` and `passages` are what it holds now. `index` is the version behind the
    alias. `notes` say what is not as one would wish, such as an analyser that the server lacks.
    """

    read: int
    added: int
    changed: int
    unchanged: int
    removed: int
    empty: tuple[str, ...]
    repeats: tuple[str, ...]
    quarantined: int
    long_words: int
    documents: int
    passages: int
    seconds: float
    index: str
    snapshot: str
    notes: tuple[str, ...]


def index_documents(
    paths: Sequence[Path],
    to: str,
    *,
    access: Access | None = None,
    embedder: Embedder | None = None,
    strict: bool = False,
    quarantine: Path | None = None,
    progress: Progress | None = None,
    kept: int = KEPT,
    shards: int = 1,
    replicas: int | None = None,
) -> EsIndexReport:
    """Brings the index at the address `to` (`https://host:9200/name`) to what the files and folders hold (see `read_documents`).

    What cannot be read, and what the server refuses, is written to the file `quarantine` and counted; `strict` stops instead.
    `embedder` adds vectors for kNN and hybrid search. Interrupted or killed, the same call goes on where it ended; searches see the
    index as it was until the new version is whole and verified. `shards` and `replicas` are for a new index.

    Raises `InputError`, `EmptyInputError`, `StorageError`, `UsageError` (address, credentials, an index that is not ours),
    `SearchIndexError` (the new version did not stand the test), `ServiceError` and `Interrupted`.
    """
    cluster = Cluster(parse_address(to), access, patience=PATIENCE)
    try:
        settings = _Settings(parse_address(to).index, embedder, kept, shards, replicas)
        with _Quarantine(quarantine, strict) as aside:
            return _Build(cluster, settings, aside, progress or (lambda done, total: None)).run(paths)
    finally:
        cluster.close()


@dataclass(frozen=True, slots=True)
class _Settings:
    alias: str
    embedder: Embedder | None
    kept: int
    shards: int
    replicas: int | None

    @property
    def embedder_name(self) -> str:
        return self.embedder.name if self.embedder else ""

    @property
    def dimensions(self) -> int:
        return self.embedder.dimensions if self.embedder else 0


class _Quarantine:
    """A file of what was set aside; it is only made when there is something."""

    def __init__(self, path: Path | None, strict: bool) -> None:
        self._path, self._strict = path, strict
        self._file: Any = None
        self.count = 0
        self.first = ""

    def __enter__(self) -> _Quarantine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def __call__(self, file: str, line: int, text: str, reason: str) -> None:
        where = f"{file}, line {line}" if line else file
        if self._strict:
            raise InputError(reason, where=where, todo="Mend it, or leave --strict out so that it is set aside.")
        self.count += 1
        self.first = self.first or f" (first {where}: {reason})"
        if self._path is None:
            return
        try:
            self._file = self._file or open(self._path, "w", encoding="utf-8")  # noqa: SIM115
            self._file.write(json.dumps({"file": file, "line": line, "text": text[:_QUOTED], "reason": reason}) + "\n")
        except OSError as error:
            raise storage_error(error, str(self._path)) from error


@dataclass(frozen=True, slots=True)
class _Pending:
    """What the units of the writer are for."""

    found: Found
    is_new: bool


@dataclass(frozen=True, slots=True)
class _Seen:
    """The first document of an id: its content, all that is known of it, and its place."""

    digest: str
    state: str
    file: str
    line: int


class _Build:
    """One call of `index_documents`."""

    def __init__(self, cluster: Cluster, settings: _Settings, quarantine: _Quarantine, progress: Progress) -> None:
        self._cluster, self._settings, self._quarantine, self._progress = cluster, settings, quarantine, progress
        self._begun = time.monotonic()
        self._seen: dict[str, _Seen] = {}
        self._empty: list[str] = []
        self._repeats: list[str] = []
        self._counts = dict.fromkeys(("read", "added", "changed", "unchanged", "removed", "long_words"), 0)

    def run(self, paths: Sequence[Path]) -> EsIndexReport:
        cluster, alias = self._cluster, self._settings.alias
        versions = cluster.run(es_versions.find_versions(cluster, alias))
        live = next((version for version in versions if version.is_live), None)
        base = live if live and self._fits(live.meta) and live.is_whole else None
        begun = next((version for version in reversed(versions) if self._may_go_on(version, live, base)), None)
        for version in versions:
            if not version.is_whole and not version.is_live and version is not begun:
                cluster.run(es_versions.discard(cluster, version))
        self._number = max((version.number for version in versions), default=0) + 1 if begun is None else begun.number
        self._name = es_versions.version_name(alias, self._number)
        self._generation = int(live.meta["generation"]) + 1 if live else 1
        self._base = base
        self._lock: Lock | None = None
        self._writer: BulkWriter | None = None
        try:
            if begun is not None:
                self._open(make=False)
            source = self._name if begun is not None else base.name if base else ""
            self._known: dict[str, str] = cluster.run(self._states(source)) if source else {}
            self._take(find_documents(paths, self._quarantine))
            self._check_not_empty(paths)
            self._remove_gone()
            if self._writer is not None:
                self._writer.drain()
            if base is not None and not self._has_changed(base, begun is not None):
                return self._as_it_was(base)
            return self._finish(versions)
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted: {self._counts['read']:,} documents were read", where=cluster.where,
                              todo="The same command goes on where this one ended.") from None  # fmt: skip
        finally:
            self._let_go()

    def _has_changed(self, base: Version, goes_on: bool) -> bool:
        """Whether the documents are others than those that are searched; an earlier call may have written what is not wanted now."""
        if goes_on:
            return self._cluster.run(self._states(base.name)) != {identity: seen.state for identity, seen in self._seen.items()}
        return any(self._counts[what] for what in ("added", "changed", "removed"))

    def _as_it_was(self, base: Version) -> EsIndexReport:
        """Nothing is new: the version that is searched stays, and one that was begun for documents that were refused goes."""
        cluster = self._cluster
        if self._writer is not None:
            cluster.run(cluster.ask("indices.delete", index=self._name, ignore_unavailable=True))
        return self._report(base, cluster.run(snapshot_of(cluster, base.name, searched_as("bm25"))))

    def _fits(self, meta: Mapping[str, Any]) -> bool:
        wanted = (FORMAT, self._settings.embedder_name, self._settings.dimensions)
        return (meta.get("format"), meta.get("embedder"), meta.get("dimensions")) == wanted

    def _may_go_on(self, version: Version, live: Version | None, base: Version | None) -> bool:
        """Whether this is a version that an earlier call began, and that this one would begin in the same way."""
        return (
            not version.is_live
            and (live is None or version.number > live.number)
            and version.meta.get("name") == version.name
            and self._fits(version.meta)
            and version.meta.get("base") == (base.uuid if base else "")
        )

    async def _states(self, index: str) -> dict[str, str]:
        await self._cluster.ask("indices.refresh", index=index)
        query = {"term": {"kind": "document"}}
        return {hit["document_id"]: hit["state"] async for hit in scan(self._cluster, index, query, ["document_id", "state"])}

    def _open(self, *, make: bool) -> None:
        """The version in the making, made where it is not there yet, and locked."""
        settings, cluster = self._settings, self._cluster
        meta = es_versions.begin_meta(self._name, self._generation, settings.embedder_name, settings.dimensions, self._base)
        if make and self._base:
            cluster.run(es_versions.clone(cluster, self._base.name, self._name, meta))
        elif make:
            cluster.run(es_versions.create(cluster, self._name, meta, settings.dimensions, settings.shards, settings.replicas))
        else:  # one that was whole, but not yet seen, is closed for writing
            cluster.run(cluster.ask("indices.put_settings", index=self._name, settings={"index.blocks.write": None}))
        lock = Lock(cluster, self._name)
        cluster.run(lock.take())
        self._lock = lock
        self._keeping = cluster.start(lock.keep())
        self._writer = BulkWriter(cluster, self._name, self._refused)

    def _let_go(self) -> None:
        """Leaves a version in the making as it is, for the next call."""
        if self._writer is not None:
            self._writer.cancel()
        if self._lock is not None:
            self._keeping.cancel()
            self._cluster.run(self._lock.let_go())

    def _take(self, documents: Iterable[Found]) -> None:
        for batch in self._batches(self._new(documents)):
            vectors = self._vectors(batch)
            old = self._spans([one.document.id for _, one in batch if one.document.id in self._known])
            for (found, one), rows in zip(batch, vectors, strict=True):
                self._put(found, one, rows, old.get(one.document.id))

    def _new(self, documents: Iterable[Found]) -> Iterator[tuple[Found, Cut]]:
        """Those that the index does not hold as they are, cut into passages."""
        counts = self._counts
        for found in documents:
            document = found.document
            digest = document.digest
            earlier = self._seen.get(document.id)
            if earlier is not None and earlier.digest != digest:
                place = f"{earlier.file}, line {earlier.line}" if earlier.line else earlier.file
                self._quarantine(found.file, found.line, document.text, f"the id {document.id} is that of another document ({place})")
                continue
            counts["read"] += 1
            if earlier is not None:
                self._repeats.append(document.id)
                continue
            if not any(map(str.isalnum, document.text)):
                self._empty.append(document.id)
                continue
            state = state_of(found)
            self._seen[document.id] = _Seen(digest, state, found.file, found.line)
            if self._known.get(document.id) == state:
                counts["unchanged"] += 1
            else:
                counts["long_words"] += count_long_words(document.text)
                yield found, cut(found)
            self._progress(counts["read"], None)

    def _batches(self, documents: Iterable[tuple[Found, Cut]]) -> Iterator[list[tuple[Found, Cut]]]:
        batch: list[tuple[Found, Cut]] = []
        size = 0
        for found, one in documents:
            batch.append((found, one))
            size += len(one.spans)
            if size >= EMBED_BATCH or len(batch) >= _LINES_AT_ONCE:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _vectors(self, batch: Sequence[tuple[Found, Cut]]) -> list[NDArray[np.float32] | None]:
        embedder = self._settings.embedder
        if embedder is None:
            return [None] * len(batch)
        texts = [f"{one.document.title}\n{one.text(i)}" for _, one in batch for i in range(len(one.spans))]
        rows = embedder.encode(texts)
        ends = np.cumsum([len(one.spans) for _, one in batch])
        return list(np.split(rows, ends[:-1]))

    def _spans(self, ids: Sequence[str]) -> dict[str, tuple[str, list[list[int]]]]:
        """State and spans of documents that the index holds in another form."""
        if not ids:
            return {}
        if self._writer is None:
            self._open(make=True)
        wanted = [document_key(identity) for identity in ids]
        found = self._cluster.run(
            self._cluster.ask("mget", index=self._name, ids=wanted, source_includes=["document_id", "state", "spans"])
        )
        entries = [one["_source"] for one in found["docs"] if one.get("found")]
        return {entry["document_id"]: (entry["state"], entry["spans"]) for entry in entries}

    def _put(self, found: Found, one: Cut, vectors: NDArray[np.float32] | None, old: tuple[str, list[list[int]]] | None) -> None:
        if self._writer is None:
            self._open(make=True)
        assert self._writer is not None
        self._check_lock()
        identity = one.document.id
        state = self._seen[identity].state
        first, keys = [], []
        for key, entry in passage_entries(one, state, vectors):
            keys.append(key)
            first.append(put_line(key, entry))
        if old is not None:
            first += [delete_line(key) for key in (passage_key(identity, old[0], span) for span in old[1]) if key not in keys]
        self._counts["added" if old is None else "changed"] += 1
        entry = document_entry(one, state, self._generation)
        key = document_key(identity)
        self._writer.put(Unit(_Pending(found, old is None), first, put_line(key, entry), [*keys, key]))

    def _refused(self, unit: Unit) -> None:
        pending: _Pending = unit.name
        document = pending.found.document
        self._counts["added" if pending.is_new else "changed"] -= 1
        self._counts["removed"] += not pending.is_new  # what the index held of it is of another time
        self._counts["read"] -= 1
        del self._seen[document.id]
        self._quarantine(pending.found.file, pending.found.line, document.text, f"the server refuses it: {unit.reason}")

    def _remove_gone(self) -> None:
        gone = [identity for identity in self._known if identity not in self._seen]
        for begin in range(0, len(gone), _LINES_AT_ONCE):
            for identity, (state, spans) in self._spans(gone[begin : begin + _LINES_AT_ONCE]).items():
                assert self._writer is not None
                self._check_lock()
                first = [delete_line(passage_key(identity, state, span)) for span in spans]
                entry = {"kind": "gone", "document_id": identity, "generation": self._generation}
                self._writer.put(Unit(identity, first, put_line(document_key(identity), entry)))
                self._counts["removed"] += 1

    def _check_not_empty(self, paths: Sequence[Path]) -> None:
        if self._writer is not None:
            self._writer.drain()  # what the server refuses is known then
        if not self._seen:
            raise EmptyInputError(
                f"there is nothing to index: {self._counts['read']} documents read, {len(self._empty)} of them without a word, "
                f"{self._quarantine.count} not readable{self._quarantine.first}",
                where=", ".join(map(str, paths)),
                todo="Check the paths and what the documents hold.",
            )

    def _check_lock(self) -> None:
        assert self._lock is not None
        if self._lock.lost:
            raise SearchIndexError("another process has taken over the making of this version", where=self._cluster.where,
                                   todo="Let that one finish.")  # fmt: skip

    def _finish(self, versions: Sequence[Version]) -> EsIndexReport:
        """Verifies the new version and lets searches see it."""
        cluster = self._cluster
        self._check_lock()
        self._keeping.cancel()
        assert self._lock is not None
        cluster.run(self._lock.release())
        self._lock = None
        states = {identity: seen.state for identity, seen in self._seen.items()}
        meta = cluster.run(es_publish.publish(cluster, self._settings.alias, self._name, states, versions))
        cluster.run(es_publish.clear_out(cluster, self._name, versions, self._settings.kept))
        return self._report(Version(self._name, "", self._number, meta, True), meta["snapshot"])

    def _report(self, version: Version, snapshot: str) -> EsIndexReport:
        counts = self._counts
        meta = version.meta
        used: dict[str, str] = meta["analysers"]
        analysers = Analysers({code: (kind,) for code, kind in used.items()})
        notes = tuple(note for code in ("en", *meta["languages"]) if (note := analysers.note(code)))
        return EsIndexReport(
            read=counts["read"] + self._quarantine.count,
            added=counts["added"],
            changed=counts["changed"],
            unchanged=counts["unchanged"],
            removed=counts["removed"],
            empty=tuple(self._empty),
            repeats=tuple(self._repeats),
            quarantined=self._quarantine.count,
            long_words=counts["long_words"],
            documents=meta["documents"],
            passages=meta["passages"],
            seconds=time.monotonic() - self._begun,
            index=version.name,
            snapshot=snapshot,
            notes=notes,
        )


def state_of(found: Found) -> str:
    """Hash of all that the entries of a document are made of: content, what else is known of it, and headings."""
    document = found.document
    headings = [(heading.start, heading.level, heading.text) for heading in found.headings]
    known = [document.digest, document.language, document.date, document.url, headings]
    return sha256(json.dumps(known).encode()).hexdigest()[:40]
