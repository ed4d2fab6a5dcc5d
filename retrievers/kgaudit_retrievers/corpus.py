"""Documents in: JSONL, Parquet, folders of text, Markdown and HTML. One bad line never stops the others."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from kgaudit.documents import Document
from kgaudit.errors import InputError, storage_error
from kgaudit_retrievers.pages import Heading, html_page, markdown_page

Quarantine = Callable[[str, int, str, str], None]
"""Takes what could not be read: file, line (rows and lines from 1; 0: the whole file), text, reason."""

INDEX_FORMAT = "kgaudit index"
"""What `meta.json` of an index calls itself."""

_IDS = ("id", "doc_id")
_TEXTS = ("text", "content", "body")
_LANGUAGES = ("language", "lang")
_COLUMNS = (*_IDS, *_TEXTS, *_LANGUAGES, "title", "date", "url")
_KINDS = (".jsonl", ".ndjson", ".parquet", ".txt", ".md", ".markdown", ".html", ".htm", ".xhtml")
_COMPRESSED = (".gz", ".zst")
LINE_LIMIT = 1 << 26
"""Bytes of a line of JSON; longer ones are no document but an accident, and are quarantined."""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_KNOWN = "Documents are read from .jsonl, .parquet, .txt, .md and .html files (also .gz and .zst) and folders of them."


@dataclass(frozen=True, slots=True)
class Found:
    """A document, where it stood, and its headings as offsets into its text (only Markdown and HTML have them)."""

    document: Document
    file: str
    line: int
    headings: tuple[Heading, ...] = ()


def read_documents(paths: Sequence[Path], quarantine: Quarantine) -> Iterator[Document]:
    """The documents of files and folders, in order. A document that is a file is named by its path below the folder given.

    JSONL and Parquet hold `id` or `doc_id`, `text`, `content` or `body`, and may hold `title`, `language` or `lang`, `date`
    and `url`. Raises `InputError` for a file that is not what it claims to be, `StorageError` where it cannot be opened.
    """
    return (found.document for found in find_documents(paths, quarantine))


def find_documents(paths: Sequence[Path], quarantine: Quarantine) -> Iterator[Found]:
    """`read_documents` with the places."""
    for path in paths:
        if path.is_dir():
            for file, name in _walk(path):
                if _kind(file):
                    yield from _read_file(file, name, quarantine)
                else:
                    quarantine(str(file), 0, "", f"{file.suffix or 'a file without an ending'} is not a kind of document that is read")
        elif not path.exists():
            raise InputError("there is no such file or folder", where=str(path), todo="Check the path.")
        elif not _kind(path):
            raise InputError("this is not a kind of document that is read", where=str(path), todo=_KNOWN)
        else:
            yield from _read_file(path, path.name, quarantine)


def _walk(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files below a folder in a fixed order; hidden ones and indexes of ours are left out."""
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not is_index(Path(base, name)))
        for name in sorted(files):
            if not name.startswith("."):
                path = Path(base, name)
                yield path, path.relative_to(folder).as_posix()


def is_index(folder: Path) -> bool:
    """Whether the folder was made by `build_index`."""
    try:
        with open(folder / "meta.json", encoding="utf-8") as file:
            return bool(json.load(file).get("format") == INDEX_FORMAT)
    except (OSError, ValueError, AttributeError):
        return False


def _kind(path: Path) -> str:
    name = path.name.lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return next((kind for kind in _KINDS if name.endswith(kind)), "")


def _read_file(path: Path, name: str, quarantine: Quarantine) -> Iterator[Found]:
    kind = _kind(path)
    try:
        if kind == ".parquet":
            yield from _read_parquet(path, quarantine)
        elif kind in (".jsonl", ".ndjson"):
            yield from _read_jsonl(path, quarantine)
        else:
            yield from _read_page(path, name, kind, quarantine)
    except OSError as error:
        if error.errno is not None:
            raise storage_error(error, str(path)) from error
        raise _damaged(path, error) from error  # gzip and Arrow say so of damaged streams
    except (EOFError, zlib.error, pa.ArrowException) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: BaseException) -> InputError:
    return InputError(f"the file is cut off or damaged ({_short(error)})", where=str(path), todo="Fetch or write it again.")


def _short(error: BaseException) -> str:
    return str(error).split("\n", 1)[0][:200]


def _open(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        import gzip

        return cast(IO[bytes], gzip.open(path, "rb"))
    if path.suffix.lower() == ".zst":
        return pa.PythonFile(pa.CompressedInputStream(pa.OSFile(str(path)), "zstd"), mode="r")  # type: ignore[no-any-return]
    return open(path, "rb")


def _read_jsonl(path: Path, quarantine: Quarantine) -> Iterator[Found]:
    with _open(path) as stream:
        for number, (raw, length) in enumerate(_lines(stream), 1):
            if length > LINE_LIMIT:
                reason = f"a line of {length:,} bytes; the limit is {LINE_LIMIT:,}"
                quarantine(str(path), number, raw[:10_000].decode("utf-8", "replace"), reason)
                continue
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if not raw.strip():
                continue
            try:
                line = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                quarantine(str(path), number, raw.decode("utf-8", "replace"), f"not UTF-8 (byte {error.start + 1} of the line)")
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                quarantine(str(path), number, line, f"not JSON ({_short(error)})")
                continue
            if not isinstance(row, dict):
                quarantine(str(path), number, line, "not a JSON object")
                continue
            document = _document(row)
            if isinstance(document, str):
                quarantine(str(path), number, line, document)
            else:
                yield Found(document, str(path), number)


def _lines(stream: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """Lines ended by LF, and the length of each; of longer ones than `LINE_LIMIT` only the beginning. Not every stream (zstd) can be
    iterated."""
    rest: list[bytes] = []
    length = 0

    def line() -> tuple[bytes, int]:
        return b"".join(rest)[: LINE_LIMIT + 1], length

    while block := stream.read(1 << 20):
        first, *others = block.split(b"\n")
        length += len(first)
        if length - len(first) <= LINE_LIMIT:
            rest.append(first)
        for other in others:
            yield line()
            rest, length = [other], len(other)
    yield line()


def _read_parquet(path: Path, quarantine: Quarantine) -> Iterator[Found]:
    import pyarrow.parquet as pq

    with _open(path) as stream:
        source = pa.BufferReader(stream.read()) if path.suffix.lower() in _COMPRESSED else stream
        table = pq.ParquetFile(source)
        columns = [name for name in table.schema_arrow.names if name in _COLUMNS]
        if not any(name in columns for name in _IDS) or not any(name in columns for name in _TEXTS):
            there = ", ".join(table.schema_arrow.names[:20])
            raise InputError(f"no columns id (or doc_id) and text (or content, body) among: {there}", where=str(path),
                             todo="Rename the columns.")  # fmt: skip
        number = 0
        for batch in table.iter_batches(batch_size=512, columns=columns):
            for row in batch.to_pylist():
                number += 1
                document = _document(row)
                if isinstance(document, str):
                    quarantine(str(path), number, json.dumps(row, ensure_ascii=False, default=str), document)
                else:
                    yield Found(document, str(path), number)


def _document(row: Mapping[str, Any]) -> Document | str:
    """The document of a row, or the reason why it is none."""
    identity = _first(row, _IDS)
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    if not isinstance(identity, str) or not identity:
        return "id is missing" if identity is None or identity == "" else "id is neither a string nor a whole number"
    text = _first(row, _TEXTS)
    if not isinstance(text, str):
        fault = "not a string" if text is not None else "null" if any(name in row for name in _TEXTS) else "missing"
        return f"text is {fault} (document {identity})"
    document = Document(
        id=identity,
        text=text,
        title=_plain(row.get("title")),
        language=_plain(_first(row, _LANGUAGES)),
        date=_plain(row.get("date")),
        url=_plain(row.get("url")),
    )
    if any(map(_HALF_CHARACTER.search, (identity, text, document.title, document.language, document.date, document.url))):
        return f"it holds half a character, a lone surrogate (document {identity.encode('utf-8', 'replace').decode()})"
    return document


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _read_page(path: Path, name: str, kind: str, quarantine: Quarantine) -> Iterator[Found]:
    with _open(path) as stream:
        raw = stream.read()
    text = _decode(raw, kind)
    if text is None:
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            begin, end = raw.rfind(b"\n", 0, error.start) + 1, raw.find(b"\n", error.start)
            bad = raw[begin : end if end >= 0 else None].decode("utf-8", "replace")
            quarantine(str(path), line, bad, f"not UTF-8 (byte {error.start + 1} of the file)")
        return
    if _HALF_CHARACTER.search(name):
        quarantine(str(path), 0, "", "the name of the file is not UTF-8")
        return
    if kind in (".txt",):
        yield Found(Document(name, text), str(path), 0)
        return
    page = html_page(text) if kind in (".html", ".htm", ".xhtml") else markdown_page(text)
    document = Document(name, page.text, page.title, page.language, page.date, page.url)
    yield Found(document, str(path), 0, page.headings)


_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)|<\?xml[^>]{0,100}encoding\s*=\s*["']([\w.:-]+)""", re.IGNORECASE
)


def _decode(raw: bytes, kind: str) -> str | None:
    encoding = "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        pass
    declared = _CHARSET.search(raw, 0, 4096) if kind in (".html", ".htm", ".xhtml") else None
    if declared is None:
        return None
    try:
        return raw.decode((declared[1] or declared[2]).decode("ascii"))
    except (LookupError, UnicodeDecodeError):
        return None
