"""Building a search index: documents in, one folder out.

Two passes: the first reads the documents in whatever order they come and stores their texts; the second cuts and analyses them in
the order of their ids, so that the same documents give the same index whichever files they came in.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import secrets
import shutil
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import chain
from pathlib import Path

from kgaudit.errors import EmptyInputError, InputError, UsageError, storage_error
from kgaudit.text import guess_language
from kgaudit_retrievers import postings
from kgaudit_retrievers.corpus import INDEX_FORMAT, Found, find_documents, is_index
from kgaudit_retrievers.pages import Heading
from kgaudit_retrievers.passages import WINDOW, pieces, windows
from kgaudit_retrievers.terms import SETTINGS, count_long_words, language_of, terms

VERSION = 1

META = "meta.json"
TEXTS = "texts.bin"  # the texts as UTF-8, in the order in which they were read
RECORDS = "records.bin"  # what else is known of them: JSON lists
DOCUMENTS = "documents.i64"  # a row a document, by id: where its text and its record begin and end, in bytes
PASSAGES = "passages.i64"  # a row a passage: number of its document, start and end in characters, begin and end in bytes
QUARANTINE = "quarantine.jsonl"

Progress = Callable[[int, int | None], None]

_QUOTED = 10_000  # characters of a quarantined text that are kept
_COMMON = 20  # a language counts as one of the corpus where one document in so many is in it


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What became of the documents: read = indexed + empty + repeats + quarantined.

    `empty`: ids of documents without a word. `repeats`: ids that came again with the same content, once for each time.
    `long_words`: words of over 100 letters, which no search finds. `size_bytes` is that of the whole folder.
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


def build_index(paths: Sequence[Path], to: Path, *, strict: bool = False, progress: Progress | None = None) -> IndexReport:
    """Indexes the documents of files and folders (see `read_documents`) into the folder `to`.

    What cannot be read is written to `quarantine.jsonl` in the index (file, line, text, reason) and counted; `strict` stops
    instead. `progress` hears how many documents are done and of how many: first (n, None) while they are read, then (n, all).
    An index that is already there is replaced once the new one is whole. Raises `InputError`, `EmptyInputError`, `UsageError`
    where `to` holds something else than an index, and `StorageError`.
    """
    begun = time.monotonic()
    place = Path(os.path.realpath(to))
    try:
        _check_replaceable(place, to)
        place.parent.mkdir(parents=True, exist_ok=True)
        _sweep(place)
        with _Workshop(place) as folder:
            report = _Builder(folder, strict, progress or (lambda done, total: None)).build(paths, begun)
            _check_replaceable(place, to)
            _move(folder, place)
            return report
    except OSError as error:
        raise storage_error(error, str(to)) from error


def _check_replaceable(place: Path, to: Path) -> None:
    if not place.exists() or is_index(place) or (place.is_dir() and not any(place.iterdir())):
        return
    what = "this folder holds something else than an index" if place.is_dir() else "this is a file, not a folder"
    raise UsageError(f"{what}, and is left as it is", where=str(to), todo="Choose another place for the index.")


class _Workshop:
    """A folder beside the place of the index, locked while it is worked in, gone afterwards unless it was moved."""

    def __init__(self, place: Path) -> None:
        self._path = place.parent / f"{_workshop_name(place)}{secrets.token_hex(4)}"

    def __enter__(self) -> Path:
        self._path.mkdir()
        self._lock = os.open(self._path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self._path

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)
        shutil.rmtree(self._path, ignore_errors=True)


def _workshop_name(place: Path) -> str:
    return f".{place.name[:50]}.building-"


def _sweep(place: Path) -> None:
    """Removes what builds that were killed left beside the place; a build that is still at work holds its lock."""
    for left in place.parent.glob(glob.escape(_workshop_name(place)) + "*"):
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
    if not place.exists():
        folder.rename(place)
        return
    old = folder.with_name(folder.name + "-old")
    place.rename(old)
    folder.rename(place)
    shutil.rmtree(old, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The first document of an id: its content, its place, and its row among the stored ones (-1: it was empty)."""

    digest: bytes
    file: str
    line: int
    row: int


class _Builder:
    """One build in its folder."""

    def __init__(self, folder: Path, strict: bool, progress: Progress) -> None:
        self._folder = folder
        self._strict = strict
        self._progress = progress
        self._seen: dict[str, _Seen] = {}
        self._rows = array("q")  # four numbers a stored document, as in `DOCUMENTS`
        self._empty: list[str] = []
        self._repeats: list[str] = []
        self._read = 0
        self._quarantined = 0
        self._first_reason = ""
        self._long_words = 0
        self._passages = 0

    def build(self, paths: Sequence[Path], begun: float) -> IndexReport:
        """Reads, indexes and writes `META`, without which the folder is no index."""
        self._store(paths)
        if not self._rows:
            raise EmptyInputError(
                f"there is nothing to index: {self._read} documents read, {len(self._empty)} of them without a word, "
                f"{self._quarantined} not readable{self._first_reason}",
                where=", ".join(map(str, paths)),
                todo="Check the paths and what the documents hold.",
            )
        snapshot, languages = self._index()
        files = (TEXTS, RECORDS, DOCUMENTS, PASSAGES, QUARANTINE, *postings.FILES)
        sizes = {name: (self._folder / name).stat().st_size for name in files}
        meta = {
            "format": INDEX_FORMAT,
            "version": VERSION,
            "analysis": SETTINGS,
            "snapshot": snapshot,
            "documents": len(self._rows) // 4,
            "passages": self._passages,
            "languages": languages,
            "sizes": sizes,
        }
        with open(self._folder / META, "w", encoding="utf-8") as file:
            json.dump(meta, file, indent=1)
        return IndexReport(
            read=self._read,
            indexed=len(self._rows) // 4,
            empty=tuple(self._empty),
            repeats=tuple(self._repeats),
            quarantined=self._quarantined,
            long_words=self._long_words,
            passages=self._passages,
            seconds=time.monotonic() - begun,
            size_bytes=sum(sizes.values()) + (self._folder / META).stat().st_size,
            snapshot=snapshot,
        )

    def _store(self, paths: Sequence[Path]) -> None:
        """First pass: each document that has a word, once."""
        with (
            open(self._folder / QUARANTINE, "w", encoding="utf-8") as quarantined,
            open(self._folder / TEXTS, "wb") as texts,
            open(self._folder / RECORDS, "wb") as records,
        ):

            def quarantine(file: str, line: int, text: str, reason: str) -> None:
                where = _where(file, line)
                if self._strict:
                    raise InputError(reason, where=where, todo="Mend it, or leave --strict out so that it is set aside.")
                self._read += 1
                self._quarantined += 1
                self._first_reason = self._first_reason or f" (first {where}: {reason})"
                row = {"file": file, "line": line, "text": text[:_QUOTED], "reason": reason}
                quarantined.write(json.dumps(row) + "\n")

            for found in find_documents(paths, quarantine):
                document = found.document
                digest = bytes.fromhex(document.digest)
                earlier = self._seen.get(document.id)
                if earlier is not None and earlier.digest != digest:
                    reason = f"the id {document.id} is that of another document ({_where(earlier.file, earlier.line)})"
                    quarantine(found.file, found.line, document.text, reason)
                    continue
                self._read += 1
                if earlier is not None:
                    self._repeats.append(document.id)
                    continue
                row = -1
                if any(map(str.isalnum, document.text)):
                    row = len(self._rows) // 4
                    for file, content in ((texts, document.text), (records, _record(found))):
                        begin = file.tell()
                        self._rows.extend((begin, begin + file.write(content.encode("utf-8"))))
                else:
                    self._empty.append(document.id)
                self._seen[document.id] = _Seen(digest, found.file, found.line, row)
                self._progress(self._read, None)

    def _index(self) -> tuple[str, list[str]]:
        """Second pass: passages and postings by document id. Gives the snapshot and the common languages beside English."""
        digest = sha256(f"{INDEX_FORMAT} {VERSION} {SETTINGS}\n".encode())
        languages: Counter[str] = Counter()
        writer = postings.PostingsWriter(self._folder)
        stored = sorted(identity for identity, seen in self._seen.items() if seen.row >= 0)
        with (
            open(self._folder / TEXTS, "rb") as texts,
            open(self._folder / RECORDS, "rb") as records,
            open(self._folder / DOCUMENTS, "wb") as document_rows,
            open(self._folder / PASSAGES, "wb") as passage_rows,
        ):
            for number, identity in enumerate(stored):
                row = self._seen[identity].row * 4
                place = self._rows[row : row + 4]
                texts.seek(place[0])
                text = texts.read(place[1] - place[0]).decode("utf-8")
                records.seek(place[2])
                record = records.read(place[3] - place[2])
                *known, rows = json.loads(record)
                digest.update(json.dumps(known).encode() + b"\n")
                language = language_of(known[2] or guess_language(text))
                languages[language] += 1
                headings = [Heading(*heading) for heading in rows]
                passages = self._cut(writer, text, known[1], headings, language)
                self._long_words += count_long_words(text)
                place.tofile(document_rows)
                passage_rows.write(_passage_rows(number, place[0], text, passages))
                self._passages += len(passages)
                self._progress(number + 1, len(stored))
        if not writer.vocabulary:
            raise EmptyInputError("there is nothing to index: no document holds a word that can be searched", where=str(stored[0]),
                                  todo="Check what the documents hold.")  # fmt: skip
        writer.finish()
        common = sorted(language for language, seen in languages.items() if language and seen * _COMMON >= len(stored))
        return digest.hexdigest(), common

    def _cut(
        self, writer: postings.PostingsWriter, text: str, title: str, headings: list[Heading], language: str
    ) -> list[tuple[int, int]]:
        """The spans of the passages; their terms, with those of the title and of the headings above, go to the writer."""

        def ids(part: str) -> list[int]:
            return writer.term_ids(terms(part, (language,)))

        @lru_cache(maxsize=2 * WINDOW)  # a piece stands in two windows at most, one after the other
        def piece_ids(i: int) -> list[int]:
            return ids(text[spans[i][0] : spans[i][1]])

        spans = pieces(text)
        runs = windows(spans, {heading.start for heading in headings})
        passages = [(spans[first][0], spans[last - 1][1]) for first, last in runs]
        title_ids = ids(title)
        heading_ids = [ids(heading.text) for heading in headings]
        for (first, last), above in zip(runs, headings_above(headings, [start for start, _ in passages]), strict=True):
            writer.add(chain(title_ids, *(heading_ids[i] for i in above), *map(piece_ids, range(first, last))))
        return passages


def _where(file: str, line: int) -> str:
    return f"{file}, line {line}" if line else file


def _record(found: Found) -> str:
    document = found.document
    headings = [(heading.start, heading.level, heading.text) for heading in found.headings]
    return json.dumps(
        [document.id, document.title, document.language, document.date, document.url, document.digest, headings], ensure_ascii=False
    )


def _passage_rows(number: int, begin: int, text: str, passages: list[tuple[int, int]]) -> bytes:
    rows = array("q")
    done = 0
    for start, end in passages:
        begin += len(text[done:start].encode("utf-8"))
        done = start
        rows.extend((number, start, end, begin, begin + len(text[start:end].encode("utf-8"))))
    return rows.tobytes()


def headings_above(headings: list[Heading], starts: list[int]) -> Iterator[list[int]]:
    """For each passage the headings under which it stands and that it does not hold itself."""
    above: list[int] = []
    following = 0
    for start in starts:
        while following < len(headings) and headings[following].start < start:
            while above and headings[above[-1]].level >= headings[following].level:
                above.pop()
            above.append(following)
            following += 1
        yield above
