"""Finding and opening source files: formats by suffix, decompression as a stream, and a look at whether a file is what it claims."""

from __future__ import annotations

import io
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from kgaudit.errors import EmptyInputError, InputError, UsageError, storage_error

FORMATS: dict[str, str] = {
    ".nt": "ntriples", ".ntriples": "ntriples", ".nq": "nquads", ".nquads": "nquads", ".ttl": "turtle", ".turtle": "turtle",
    ".trig": "trig", ".rdf": "rdfxml", ".owl": "rdfxml", ".xml": "rdfxml", ".jsonld": "jsonld", ".json": "jsonld",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
"""Format names by suffix (before `.gz` or `.zst`). `graphrag` names a folder of Microsoft GraphRAG's tables."""

NAMES = (*dict.fromkeys(FORMATS.values()), "graphrag")
COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
CHUNK = 1 << 22

RELATIONSHIP_TABLES = ("relationships.parquet", "create_final_relationships.parquet")
"""The tables by which a GraphRAG output folder is known: new name, old name."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file (or GraphRAG folder) to read. `name` is what places call it: never an absolute or local folder path."""

    path: Path
    name: str
    format: str
    compression: str | None = None
    named: bool = True

    @property
    def size(self) -> int:
        """Bytes on disk; 0 for a folder."""
        return 0 if self.path.is_dir() else self.path.stat().st_size


def split_suffix(path: Path) -> tuple[str, str | None]:
    """The suffix that tells the format, and the compression."""
    name = path.name.lower()
    for ending, compression in COMPRESSED.items():
        if name.endswith(ending):
            return Path(name.removesuffix(ending)).suffix, compression
    return Path(name).suffix, None


def graphrag_folder(path: Path) -> Path | None:
    """The folder that holds GraphRAG's tables: `path`, its `output`, or the latest `output/<time>/artifacts`; None: there is none."""
    runs = sorted(path.glob("output/*/artifacts"), reverse=True)
    for folder in (path, path / "output", path / "artifacts", path / "output" / "artifacts", *runs):
        if any((folder / table).is_file() for table in RELATIONSHIP_TABLES):
            return folder
    return None


def source_files(paths: Sequence[Path], format_name: str | None) -> list[SourceFile]:
    """The files behind the arguments, in the order given; the files of a folder in the order of their paths.

    Raises `StorageError` where one is missing or may not be read, `UsageError` where a format is unknown,
    `EmptyInputError` where a folder holds nothing that can be read.
    """
    format_name = FORMATS.get(f".{format_name}", format_name)  # nt is as good a name as ntriples
    if format_name is not None and format_name not in NAMES:
        raise UsageError(f"unknown format {format_name!r}", todo=f"Formats are {', '.join(NAMES)}.")
    found: list[tuple[Path, str, Path, bool]] = []  # path, name, argument, named itself
    for path in paths:
        try:
            if not path.exists():
                os.stat(path)
            if not path.is_dir():
                found.append((path, path.name, path, True))
            elif (folder := graphrag_folder(path)) and format_name in (None, "graphrag"):
                found.append((folder, path.resolve().name, path, True))
            elif format_name == "graphrag":
                raise InputError(
                    f"no {RELATIONSHIP_TABLES[0]} (or {RELATIONSHIP_TABLES[1]}) is in this folder, its output or output/*/artifacts",
                    where=str(path),
                    todo="Name the folder that GraphRAG wrote.",
                )
            else:
                inside = [(one, one.relative_to(path).as_posix(), path, False) for one in _walk(path, format_name)]
                if not inside:
                    raise EmptyInputError(
                        "this folder holds no graph or table that can be read",
                        where=str(path),
                        todo=f"Known suffixes are {', '.join(FORMATS)}.",
                    )
                found += inside
        except OSError as error:
            raise storage_error(error, str(path)) from error
    names = _distinct([(name, argument) for _, name, argument, _ in found])
    return [_source_file(path, name, format_name, named) for (path, _, _, named), name in zip(found, names, strict=True)]


def _walk(folder: Path, format_name: str | None) -> list[Path]:
    def fail(error: OSError) -> None:
        raise error

    files = []
    for parent, folders, names in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += [Path(parent, name) for name in names if not name.startswith((".", "_"))]
    return sorted(path for path in files if format_name is not None or split_suffix(path)[0] in FORMATS)


def _distinct(named: list[tuple[str, Path]]) -> list[str]:
    """Names made distinct by the name of the folder that the argument lies in (or is), then by a number."""
    clashes = {name for name, count in Counter(name for name, _ in named).items() if count > 1}
    names = [f"{_parent(argument)}/{name}" if name in clashes else name for name, argument in named]
    seen: Counter[str] = Counter()
    for i, name in enumerate(names):
        seen[name] += 1
        if seen[name] > 1:
            names[i] = f"{name} ({seen[name]})"
    return names


def _parent(argument: Path) -> str:
    whole = argument.resolve()
    return whole.name if whole.is_dir() else whole.parent.name


def _source_file(path: Path, name: str, format_name: str | None, named: bool) -> SourceFile:
    if path.is_dir():
        return SourceFile(path, name, "graphrag")
    suffix, compression = split_suffix(path)
    chosen = format_name or FORMATS.get(suffix)
    if chosen is None:
        raise UsageError(
            f"the suffix {suffix or '(none)'} does not tell the format",
            where=str(path),
            todo=f"Say it with --format: {', '.join(NAMES)}.",
        )
    if chosen == "graphrag":
        raise UsageError(
            "GraphRAG output is a folder, not a file", where=str(path), todo="Name the folder that holds relationships.parquet."
        )
    return SourceFile(path, name, chosen, compression, named)


class CutShort(Exception):
    """The compressed stream ends before its end mark, or is damaged."""


def _plain_chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def _gzip_chunks(file: BinaryIO) -> Iterator[bytes]:
    """What a gzip file holds, over all its members; unlike the gzip module, everything before a cut comes out."""
    member, begun = zlib.decompressobj(wbits=31), False
    while True:
        data = file.read(CHUNK // 4)
        if not data:
            if begun:
                raise CutShort("the gzip stream ends early")
            return
        while data:
            if not begun:
                data = data.lstrip(b"\0")  # padding after a member
                if not data:
                    break
            begun = True
            try:
                chunk = member.decompress(data, CHUNK)
            except zlib.error as error:
                raise CutShort(f"the gzip stream is damaged ({error})") from None
            if chunk:
                yield chunk
            data = member.unconsumed_tail
            if member.eof:
                data, member, begun = member.unused_data, zlib.decompressobj(wbits=31), False
            elif not data:
                break


def _zstd_chunks(file: BinaryIO) -> Iterator[bytes]:
    import pyarrow as pa

    if not file.seekable() or file.seek(0, io.SEEK_END) == 0:
        return
    file.seek(0)
    stream = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
    while True:
        try:
            chunk = stream.read(CHUNK // 16)
        except OSError as error:
            raise CutShort("the zstd stream ends early" if "runcated" in str(error) else "the zstd stream is damaged") from None
        if not chunk:
            return
        yield chunk


_CHUNKS = {None: _plain_chunks, "gzip": _gzip_chunks, "zstd": _zstd_chunks}


class SourceStream(io.RawIOBase):
    """The decompressed bytes of a file, without a byte-order mark, as a binary file object.

    `failure` keeps what went wrong while reading, since parsers hide it. `consumed` counts bytes on disk.
    """

    def __init__(self, source: SourceFile, watch: Callable[[int], None] | None = None) -> None:
        self.source = source
        self.failure: CutShort | OSError | None = None
        self._watch = watch
        try:
            self._file = open(source.path, "rb")  # noqa: SIM115 (closed by close)
        except OSError as error:
            raise storage_error(error, str(source.path)) from error
        self._chunks = _CHUNKS[source.compression](self._file)
        self._chunk: bytes | memoryview = b""
        try:
            head = self._head()
        except BaseException:
            self._file.close()
            raise
        self._chunk = memoryview(head.removeprefix(b"\xef\xbb\xbf"))

    def _head(self) -> bytes:
        head = b""
        while len(head) < 4096:
            chunk = self._next()
            if not chunk:
                break
            head += chunk
        if self.failure and not head:
            self.raise_failure(0)
        check_content(head, self.source)
        return head

    def _next(self) -> bytes:
        if self.failure:
            return b""
        try:
            chunk = next(self._chunks, b"")
        except (CutShort, OSError) as error:
            self.failure = error
            return b""
        if self._watch and not self._file.closed:  # Arrow closes the file at the end of a zstd stream
            self._watch(self._file.tell())
        return chunk

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not len(self._chunk):
            self._chunk = memoryview(self._next())
        size = min(len(buffer), len(self._chunk))
        buffer[:size] = self._chunk[:size]
        self._chunk = self._chunk[size:]
        return size

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()

    def raise_failure(self, read: int) -> None:
        """Raises what went wrong while reading, if anything did; `read` statements or rows came out before."""
        if isinstance(self.failure, OSError):
            raise storage_error(self.failure, str(self.source.path)) from self.failure
        if self.failure:
            what = "rows" if self.source.format in TABLES else "statements"
            raise InputError(
                f"{self.failure}: {read:,} {what} were read before the end of what is there",
                where=str(self.source.path),
                todo="Fetch or write the file again: it is not whole.",
            )


TABLES = ("jsonl", "csv", "tsv", "parquet", "graphrag")

_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x8b", "a gzip file", "Name it so that it ends in .gz."),
    (b"\x28\xb5\x2f\xfd", "a zstd file", "Name it so that it ends in .zst."),
    (b"PK\x03\x04", "a zip archive", "Unpack it first."),
    (b"BZh", "a bzip2 file", "Unpack it, or pack it with gzip."),
    (b"\xfd7zXZ", "an xz file", "Unpack it, or pack it with gzip."),
    (b"PAR1", "a Parquet file", "Name it so that it ends in .parquet, or say --format parquet."),
    (b"%PDF", "a PDF file", "Documents belong into `kgaudit index`."),
    (b"SQLite format 3", "an SQLite database", "Export the table as CSV or Parquet."),
    (b"\xff\xfe", "UTF-16 text", "Convert it to UTF-8."),
    (b"\xfe\xff", "UTF-16 text", "Convert it to UTF-8."),
)
_HTML = re.compile(rb"\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_XML = re.compile(rb"\s*<(?:\?xml|rdf:RDF|!DOCTYPE|!--)", re.IGNORECASE)
_TURTLE = re.compile(rb"\s*(?:#[^\n]*\n\s*)*(?:@prefix|@base|prefix\s+[^\s:]*:\s*<|base\s+<)", re.IGNORECASE)


def check_content(head: bytes, source: SourceFile) -> None:
    """Raises `InputError` where the first bytes plainly belong to another format, `EmptyInputError` where there are none."""
    where = str(source.path)
    if not head.removeprefix(b"\xef\xbb\xbf").strip() and len(head) < 4096:
        raise EmptyInputError("the file is empty", where=where, todo="Give a file that holds triples or rows.")
    if source.format == "parquet" and head.startswith(b"PAR1"):
        return
    for magic, what, todo in _MAGIC:
        if head.startswith(magic):
            raise InputError(f"this is {what}, not {_SPOKEN[source.format]}", where=where, todo=todo)
    head = head.removeprefix(b"\xef\xbb\xbf")
    other = _other_format(head, source.format)
    if other:
        raise InputError(
            f"this is {other}, not {_SPOKEN[source.format]}", where=where, todo="Check the file, or say its format with --format."
        )


def _other_format(head: bytes, format_name: str) -> str | None:
    first = head.lstrip()[:1]
    if _HTML.match(head):
        return "an HTML page"
    if b"\x00" in head[:1000]:
        return "binary data"
    if format_name == "rdfxml":
        return None if first == b"<" and not re.match(rb"\s*<[a-z]+://", head) else "no XML"
    if format_name != "jsonl" and format_name not in ("csv", "tsv") and _XML.match(head):
        return "XML"
    if format_name in ("ntriples", "nquads"):
        if first in (b"{", b"["):
            return "JSON"
        return "Turtle" if _TURTLE.match(head) else None
    if format_name == "turtle" and first == b"{":
        return "JSON or TriG"
    if format_name == "jsonld" and first not in (b"{", b"["):
        return "no JSON"
    if format_name == "jsonl" and first != b"{":
        return "a JSON array" if first == b"[" else "no JSON"
    return None


_SPOKEN = {
    "ntriples": "N-Triples", "nquads": "N-Quads", "turtle": "Turtle", "trig": "TriG", "rdfxml": "RDF/XML", "jsonld": "JSON-LD",
    "jsonl": "JSON lines", "csv": "a CSV table", "tsv": "a table with tabs", "parquet": "a Parquet table",
}  # fmt: skip
