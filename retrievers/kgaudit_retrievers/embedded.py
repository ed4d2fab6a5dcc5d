"""The embedded retriever: a search index in one folder, no server to start.

The folder holds the texts as they were given, the passages as offsets into them, and BM25 postings (`postings.py`). It is built
beside its place and moved there whole, and names itself by a digest of what it holds.
"""

from __future__ import annotations

import fcntl
import glob
import json
import mmap
import os
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kgaudit.documents import Document, Passage, Query
from kgaudit.errors import EmptyInputError, InputError, SearchIndexError, UsageError, storage_error
from kgaudit.text import guess_language
from kgaudit_retrievers import postings
from kgaudit_retrievers.corpus import Found, find_documents, is_index
from kgaudit_retrievers.pages import Heading
from kgaudit_retrievers.passages import pieces, windows
from kgaudit_retrievers.postings import Postings, PostingsWriter
from kgaudit_retrievers.terms import SETTINGS, language_of, terms

FORMAT = "kgaudit index"
VERSION = 1

_META, _TEXTS, _RECORDS, _DOCUMENTS, _PASSAGES, QUARANTINE = (
    "meta.json", "texts.bin", "records.bin", "documents.i64", "passages.i64", "quarantine.jsonl",
)  # fmt: skip
_REBUILD = "Build it again with `kgaudit index`."
_QUOTED = 10_000  # characters of a quarantined text that are kept


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What became of the documents: read = indexed + empty + repeats + quarantined.

    `empty`: ids of documents without a word. `repeats`: ids that came again with the same content, once for each time.
    `long_words`: words that no search finds because they are over 100 letters long.
    """

    read: int
    indexed: int
    empty: tuple[str, ...]
    repeats: tuple[str, ...]
    quarantined: int
    long_words: int
    passages: int
    seconds: float
    size_bytes: int
    snapshot: str


def build_index(
    paths: Sequence[Path], to: Path, *, strict: bool = False, progress: Callable[[int, int | None], None] | None = None
) -> IndexReport:
    """Indexes the documents of files and folders (see `read_documents`) into the folder `to`.

    What cannot be read is written to `quarantine.jsonl` in the index (file, line, text, reason) and counted; `strict` stops
    instead. `progress` hears how many documents are done and of how many: first (n, None) while they are read, then (n, all).
    An index that is already there is replaced once the new one is whole. Raises `InputError`, `EmptyInputError`, `UsageError`
    where `to` is a folder of something else, and `StorageError`.
    """
    begun = time.monotonic()
    place = Path(os.path.realpath(to))
    _check_replaceable(place, to)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _sweep(place)
        with _Workshop(place) as folder:
            report = _build(paths, folder, strict, progress or (lambda done, total: None), begun)
            _check_replaceable(place, to)
            _move(folder, place)
            return report
    except OSError as error:
        raise storage_error(error, str(to)) from error


def _check_replaceable(place: Path, to: Path) -> None:
    if not place.exists() or is_index(place):
        return
    if place.is_dir() and not any(place.iterdir()):
        return
    what = "this folder holds something else than an index" if place.is_dir() else "this is a file, not a folder"
    raise UsageError(f"{what}, and is left as it is", where=str(to), todo="Choose another place for the index.")


class _Workshop:
    """A folder beside the place of the index, locked while it is worked in, and gone afterwards unless it was moved."""

    def __init__(self, place: Path) -> None:
        self.path = place.parent / f".{place.name[:100]}.building-{secrets.token_hex(4)}"

    def __enter__(self) -> Path:
        self.path.mkdir()
        self._lock = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self.path

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)
        shutil.rmtree(self.path, ignore_errors=True)


def _sweep(place: Path) -> None:
    """Removes what builds that were killed left beside the place; a build that is still at work holds its lock."""
    for left in place.parent.glob(f".{glob.escape(place.name[:100])}.building-*"):
        try:
            lock = os.open(left, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)


def _move(folder: Path, place: Path) -> None:
    if place.exists():
        old = place.parent / f"{folder.name}-old"
        place.rename(old)
        folder.rename(place)
        shutil.rmtree(old, ignore_errors=True)
    else:
        folder.rename(place)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A document whose text is already in the texts file."""

    id: str
    begin: int
    end: int
    title: str
    language: str
    date: str
    url: str
    digest: str
    headings: tuple[Heading, ...]


def _build(paths: Sequence[Path], folder: Path, strict: bool, progress: Callable[[int, int | None], None], begun: float) -> IndexReport:
    with open(folder / QUARANTINE, "w", encoding="utf-8") as quarantine_file:
        unread = conflicts = 0

        def quarantine(file: str, line: int, text: str, reason: str) -> None:
            nonlocal unread
            if strict:
                where = f"{file}, line {line}" if line else file
                raise InputError(reason, where=where, todo="Mend it, or leave --strict out so that it is set aside.")
            unread += 1
            row = {"file": file, "line": line, "text": text[:_QUOTED], "reason": reason}
            quarantine_file.write(json.dumps(row, ensure_ascii=True) + "\n")

        kept: dict[str, _Kept] = {}
        first_seen: dict[str, tuple[str, str]] = {}
        empty: list[str] = []
        repeats: list[str] = []
        read = 0
        with open(folder / _TEXTS, "wb") as texts:
            for found in find_documents(paths, quarantine):
                read += 1
                document = found.document
                identity, digest = document.id, document.digest
                where = f"{found.file}, line {found.line}" if found.line else found.file
                earlier = first_seen.get(identity)
                if earlier is None:
                    first_seen[identity] = (digest, where)
                    if any(map(str.isalnum, document.text)):
                        kept[identity] = _keep(found, digest, texts)
                    else:
                        empty.append(identity)
                elif earlier[0] == digest:
                    repeats.append(identity)
                else:
                    conflicts += 1
                    quarantine(found.file, found.line, document.text, f"the id {identity} is that of another document ({earlier[1]})")
                progress(read, None)
        if not kept:
            raise EmptyInputError("there is nothing to index: no document holds a word", where=", ".join(map(str, paths)),
                                  todo="Check the paths and what the documents hold.")  # fmt: skip
        documents = [kept[identity] for identity in sorted(kept)]
        passages, long_words, languages = _index(documents, folder, progress)

    snapshot = _snapshot(documents)
    files = (_TEXTS, _RECORDS, _DOCUMENTS, _PASSAGES, QUARANTINE, *postings.FILES)
    sizes = {name: (folder / name).stat().st_size for name in files}
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "snapshot": snapshot,
        "documents": len(documents),
        "passages": passages,
        "languages": languages,
        "sizes": sizes,
    }
    with open(folder / _META, "w", encoding="utf-8") as file:
        json.dump(meta, file, indent=1)
    return IndexReport(
        read=read + unread - conflicts,
        indexed=len(documents),
        empty=tuple(empty),
        repeats=tuple(repeats),
        quarantined=unread,
        long_words=long_words,
        passages=passages,
        seconds=time.monotonic() - begun,
        size_bytes=sum(sizes.values()) + (folder / _META).stat().st_size,
        snapshot=snapshot,
    )


def _keep(found: Found, digest: str, texts: BinaryIO) -> _Kept:
    document = found.document
    begin = texts.tell()
    end = begin + texts.write(document.text.encode("utf-8"))
    return _Kept(
        document.id, begin, end, document.title, document.language, document.date, document.url, digest, found.headings
    )  # fmt: skip


def _index(documents: list[_Kept], folder: Path, progress: Callable[[int, int | None], None]) -> tuple[int, int, list[str]]:
    """Writes records, passages and postings; gives the passages, the words left out, and the languages of the documents."""
    long_words = 0
    languages: Counter[str] = Counter()
    writer = PostingsWriter(folder)
    count = 0
    with (
        open(folder / _TEXTS, "rb") as texts,
        open(folder / _RECORDS, "wb") as records,
        open(folder / _DOCUMENTS, "wb") as document_rows,
        open(folder / _PASSAGES, "wb") as passage_rows,
    ):
        for number, document in enumerate(documents):
            texts.seek(document.begin)
            text = texts.read(document.end - document.begin).decode("utf-8")
            language = language_of(document.language or guess_language(text))
            languages[language] += 1
            stemmed = (language,)

            def ids_of(piece: str, stemmed: tuple[str, ...] = stemmed) -> tuple[list[int], int]:
                found, too_long = terms(piece, stemmed)
                return writer.term_ids(found), too_long

            spans = pieces(text)
            piece_terms = []
            for start, end in spans:
                ids, too_long = ids_of(text[start:end])
                piece_terms.append(ids)
                long_words += too_long
            title_terms = ids_of(document.title)[0]
            heading_terms = [ids_of(heading.text)[0] for heading in document.headings]

            begin = records.tell()
            records.write(json.dumps(
                [document.id, document.title, document.language, document.date, document.url, document.digest], ensure_ascii=False,
            ).encode("utf-8"))  # fmt: skip
            np.array([document.begin, document.end, begin, records.tell()], np.int64).tofile(document_rows)
            rows = []
            reached_char, reached_byte = 0, document.begin
            for window in windows(spans):
                start, end = spans[window.first][0], spans[window.last - 1][1]
                reached_byte += len(text[reached_char:start].encode("utf-8"))
                reached_char = start
                rows.append((number, start, end, reached_byte, reached_byte + len(text[start:end].encode("utf-8"))))
                above = _headings_above(document.headings, start)
                writer.add(chain(title_terms, *(heading_terms[i] for i in above), *piece_terms[window.first : window.last]))
            np.array(rows, np.int64).tofile(passage_rows)
            count += len(rows)
            progress(number + 1, len(documents))
    writer.finish()
    common = sorted(language for language, seen in languages.items() if language and seen * 20 >= len(documents))
    return count, long_words, common


def _headings_above(headings: tuple[Heading, ...], start: int) -> list[int]:
    """The headings that a passage stands under and does not hold itself."""
    above: list[int] = []
    for i, heading in enumerate(headings):
        if heading.start >= start:
            break
        while above and headings[above[-1]].level >= heading.level:
            above.pop()
        above.append(i)
    return above


def _snapshot(documents: list[_Kept]) -> str:
    digest = sha256(f"{FORMAT} {VERSION} {SETTINGS}\n".encode())
    for document in documents:
        row = [document.id, document.digest, document.language, document.date, document.url]
        digest.update(json.dumps(row, ensure_ascii=True).encode() + b"\n")
    return digest.hexdigest()


class EmbeddedRetriever:
    """Searches an index made by `build_index`. May be used from any number of threads.

    Raises `SearchIndexError` where the folder is no index, is damaged, or is of another version, and after `close`.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        meta = _read_meta(self._path)
        try:
            self._texts = _Mapped(self._path / _TEXTS)
            self._records = _Mapped(self._path / _RECORDS)
            self._documents: NDArray[np.int64] = np.fromfile(self._path / _DOCUMENTS, np.int64).reshape(-1, 4)
            self._passages: NDArray[np.int64] = np.memmap(self._path / _PASSAGES, np.int64, "r").reshape(-1, 5)
            self._postings = Postings.open(self._path, len(self._passages))
        except (OSError, ValueError) as error:
            raise SearchIndexError(f"the index is damaged ({error})", where=str(path), todo=_REBUILD) from error
        self._snapshot: str = meta["snapshot"]
        self._languages: tuple[str, ...] = tuple(meta["languages"])
        self._closed = False

    @property
    def snapshot(self) -> str:
        """Digest of the documents and of how they were cut and analysed."""
        return self._snapshot

    def documents(self) -> int:
        """How many documents the index holds."""
        return len(self._documents)

    def search(self, queries: Sequence[Query], k: int) -> list[list[Passage]]:
        """The best `k` passages for each query, best first, ties by document id and place."""
        self._check_open()
        return [self._search(query, k) for query in queries]

    def _search(self, query: Query, k: int) -> list[Passage]:
        language = language_of(query.language)
        found = terms(query.text, (language,) if language else self._languages)[0]
        names = [[list(dict.fromkeys(terms(name)[0])) for name in group] for group in query.names if any(group)]
        best = self._postings.search(list(dict.fromkeys(found)), names, k)
        return [self._passage(number, score) for number, score in best]

    def document(self, identity: str) -> Document | None:
        """The document of this id, or None."""
        self._check_open()
        low, high = 0, len(self._documents)
        while low < high:
            middle = (low + high) // 2
            if self._record(middle)[0] < identity:
                low = middle + 1
            else:
                high = middle
        if low == len(self._documents):
            return None
        begin, end = self._documents[low, :2]
        found, title, language, date, url, _ = self._record(low)
        return Document(found, self._texts.text(begin, end), title, language, date, url) if found == identity else None

    def close(self) -> None:
        """Lets go of the files; closing twice is allowed."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise SearchIndexError("the index has been closed", where=str(self._path), todo="Open it again.")

    def _record(self, number: int) -> list[str]:
        begin, end = self._documents[number, 2:]
        return json.loads(self._records.text(begin, end))  # type: ignore[no-any-return]

    def _passage(self, number: int, score: float) -> Passage:
        document, start, end, byte_start, byte_end = self._passages[number].tolist()
        identity, title, language, date, url, digest = self._record(document)
        text = self._texts.text(byte_start, byte_end)
        return Passage(identity, start, end, text, title, language, date, url, digest, score)


class _Mapped:
    """A file of UTF-8 mapped into memory."""

    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def text(self, begin: int, end: int) -> str:
        return self._bytes[begin:end].decode("utf-8")


def _read_meta(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise SearchIndexError("there is no index here", where=str(path), todo="Build one with `kgaudit index`, or check the path.")
    if not is_index(path):
        raise SearchIndexError("this folder is no index, or its meta.json is damaged", where=str(path), todo=_REBUILD)
    meta: dict[str, Any] = json.loads((path / _META).read_text(encoding="utf-8"))
    if meta.get("version") != VERSION:
        raise SearchIndexError(f"the index is of version {meta.get('version')}, this program reads version {VERSION}",
                               where=str(path), todo=_REBUILD)  # fmt: skip
    for name, size in meta.get("sizes", {}).items():
        try:
            there = (path / name).stat().st_size
        except OSError:
            there = -1
        if there != size:
            state = "is missing" if there < 0 else f"has {there} bytes instead of {size}"
            raise SearchIndexError(f"the index is damaged: {name} {state}", where=str(path), todo=_REBUILD)
    return meta
