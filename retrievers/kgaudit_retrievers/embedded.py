"""The embedded retriever: a search index in one folder, no server to start.

The folder holds the texts as they were given, the passages as offsets into them, and BM25 postings (`postings.py`). All is mapped
into memory: opening reads next to nothing, and many processes share one copy.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgaudit.documents import Document, Passage, Query
from kgaudit.errors import SearchIndexError
from kgaudit_retrievers.corpus import is_index
from kgaudit_retrievers.indexing import DOCUMENTS, META, PASSAGES, QUARANTINE, RECORDS, TEXTS, VERSION, IndexReport, build_index
from kgaudit_retrievers.postings import Postings
from kgaudit_retrievers.terms import SETTINGS, language_of, terms

__all__ = ["QUARANTINE", "EmbeddedRetriever", "IndexReport", "build_index"]

_REBUILD = "Build it again with `kgaudit index`."


class EmbeddedRetriever:
    """Searches an index made by `build_index`. May be used from any number of threads at once.

    Passages that hold a name of every group of `Query.names` come first, then BM25 decides. Raises `SearchIndexError` where the
    folder is no index, is damaged, or is of another version, and after `close`.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        meta = _read_meta(self._path)
        self._snapshot: str = meta["snapshot"]
        self._count: int = meta["documents"]
        self._languages: tuple[str, ...] = tuple(meta["languages"])
        self._open: _Files | None = _Files(self._path)

    @property
    def snapshot(self) -> str:
        """Digest of the documents and of how they are cut and analysed: the same wherever and in whatever order they lay."""
        return self._snapshot

    def documents(self) -> int:
        """How many documents the index holds."""
        return self._count

    def passages(self) -> int:
        """How many passages the index holds."""
        return self._files().count

    def passage(self, number: int, score: float = 0.0) -> Passage:
        """The passage of this number, from 0, in the order of document ids and places."""
        return self._files().passage(number, score)

    def search(self, queries: Sequence[Query], k: int) -> list[list[Passage]]:
        """The best `k` passages for each query, best first, ties by document id and place. Their score is that of BM25."""
        files = self._files()
        return [self._search(files, query, max(0, k)) for query in queries]

    def document(self, identity: str) -> Document | None:
        """The document of this id, or None."""
        return self._files().document(identity)

    def close(self) -> None:
        """Lets go of the files, once the searches that other threads are in have ended. Closing twice is allowed."""
        self._open = None

    def _files(self) -> _Files:
        files = self._open
        if files is None:
            raise SearchIndexError("the index has been closed", where=str(self._path), todo="Open it again.")
        return files

    def _search(self, files: _Files, query: Query, k: int) -> list[Passage]:
        languages = (language_of(query.language),) if query.language else self._languages
        names = [[terms(name) for name in group] for group in query.names]
        return [files.passage(*found) for found in files.postings.search(terms(query.text, languages), names, k)]


class _Files:
    """The mapped files of an index."""

    def __init__(self, path: Path) -> None:
        try:
            self._texts = _mapped(path / TEXTS)
            self._records = _mapped(path / RECORDS)
            self._documents: NDArray[np.int64] = np.fromfile(path / DOCUMENTS, np.int64).reshape(-1, 4)
            self._passages: NDArray[np.int64] = np.asarray(np.memmap(path / PASSAGES, np.int64, "r")).reshape(-1, 5)
            self.count = len(self._passages)
            self.postings = Postings.open(path, self.count)
        except (OSError, ValueError) as error:
            raise SearchIndexError(f"the index is damaged ({error})", where=str(path), todo=_REBUILD) from error
        self._path = path

    def document(self, identity: str) -> Document | None:
        """The document of this id: the rows are in the order of the ids."""
        low, high = 0, len(self._documents)
        while low < high:
            middle = (low + high) // 2
            if self._record(middle)[0] < identity:
                low = middle + 1
            else:
                high = middle
        if low == len(self._documents):
            return None
        found, title, language, date, url, *_ = self._record(low)
        if found != identity:
            return None
        begin, end = self._documents[low, :2].tolist()
        return Document(found, self._decoded(self._texts[begin:end]), title, language, date, url)

    def passage(self, number: int, score: float) -> Passage:
        """The passage of this number."""
        document, start, end, text_begin, text_end = self._passages[number].tolist()
        identity, title, language, date, url, digest, _ = self._record(document)
        text = self._decoded(self._texts[text_begin:text_end])
        return Passage(identity, start, end, text, title, language, date, url, digest, score)

    def _record(self, number: int) -> list[Any]:
        begin, end = self._documents[number, 2:].tolist()
        try:
            record: list[Any] = json.loads(self._records[begin:end])
        except ValueError as error:
            raise self._damaged() from error
        return record

    def _decoded(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._damaged() from error

    def _damaged(self) -> SearchIndexError:
        return SearchIndexError("the index is damaged: its texts cannot be read", where=str(self._path), todo=_REBUILD)


def _mapped(path: Path) -> mmap.mmap:
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _read_meta(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise SearchIndexError("there is no index here", where=str(path), todo="Build one with `kgaudit index`, or check the path.")
    if not is_index(path):
        raise SearchIndexError("this folder is no index, or its meta.json is damaged", where=str(path),
                               todo="Check the path, or build an index with `kgaudit index`.")  # fmt: skip
    meta: dict[str, Any] = json.loads((path / META).read_text(encoding="utf-8"))
    version = f"{meta.get('version')} ({meta.get('analysis')})"
    if version != f"{VERSION} ({SETTINGS})":
        raise SearchIndexError(f"the index is of version {version}, this program reads version {VERSION} ({SETTINGS})",
                               where=str(path), todo=_REBUILD)  # fmt: skip
    for name, size in meta["sizes"].items():
        try:
            there = (path / name).stat().st_size
        except OSError:
            there = -1
        if there != size:
            state = "is missing" if there < 0 else f"has {there} bytes instead of {size}"
            raise SearchIndexError(f"the index is damaged: {name} {state}", where=str(path), todo=_REBUILD)
    return meta
