"""Rows of CSV, TSV, JSON lines and Parquet files, every value as the text that stands there.

A row that is broken is given out as such, with its lines; nothing is shifted into another column.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgaudit.errors import InputError, KgauditError, storage_error
from kgaudit.sources.opening import SourceStream

RECORD_LIMIT = 1 << 26
"""Bytes of one row."""
QUOTED_LINES = 10_000
"""Lines that a quoted cell may span before its opening quotation mark counts as a slip."""


class Nested(str):
    """The text of a JSON object that stands where a value is expected."""


Value = str | list[str] | None


@dataclass(frozen=True, slots=True)
class Row:
    """A row: where it stands, its text, and its values by column. `fault` says why it has none."""

    line: int
    last_line: int
    text: str
    values: dict[str, Value]
    fault: str = ""


class Lines:
    """The lines of a stream with their numbers; CR, LF and CRLF end a line. Lines can be put back."""

    def __init__(self, stream: SourceStream) -> None:
        self._stream = stream
        self._rest: list[bytes] = []
        self._size = 0
        self._ready: deque[bytes] = deque()
        self._ended = False
        self.number = 0

    def next(self) -> bytes | None:
        """The next line with its end, or None. `number` is then its number. Lines over the limit come cut at it."""
        while not self._ready:
            if self._ended:
                return None
            chunk = self._stream.read(1 << 20)
            if chunk:
                self._take(chunk)
            else:
                self._ended = True
                if self._size and not self._stream.failure:  # half a line before a cut is no line
                    self._ready.append(b"".join(self._rest))
        self.number += 1
        return self._ready.popleft()

    def _take(self, chunk: bytes) -> None:
        if self._rest and self._rest[-1].endswith(b"\r"):  # a line end that may go on in this chunk
            chunk = b"\r" + chunk
            self._rest[-1] = self._rest[-1][:-1]
        pieces = chunk.splitlines(keepends=True)
        rest = b"" if pieces[-1].endswith(b"\n") else pieces.pop()
        if pieces:
            self._ready.append(b"".join([*self._rest, pieces[0]]))
            self._ready.extend(pieces[1:])
            self._rest, self._size = [], 0
        if rest and self._size <= RECORD_LIMIT:
            self._rest.append(rest)
            self._size += len(rest)

    def put_back(self, lines: Sequence[bytes]) -> None:
        """Puts lines back, to be read again."""
        self._ready.extendleft(reversed(lines))
        self.number -= len(lines)


def csv_rows(stream: SourceStream, delimiter: str | None) -> Iterator[Row]:
    """The rows of a CSV file by its header. `delimiter` None: guessed among comma, semicolon, tab and bar from the header."""
    records = _Records(Lines(stream), delimiter)
    header = records.header(str(stream.source.path))
    held: Row | None = None  # a whole row waits for the next one, which may show that it was cut in two
    broken: Row | None = None
    for cells, row in records:
        count = len(cells)
        if not row.fault and count == len(header):
            if broken is not None:
                yield broken
                broken = None
            if held is not None:
                yield held
            held = Row(row.line, row.last_line, row.text, dict(zip(header, cells, strict=True)))
            continue
        fault = row.fault or f"{count} cell{'s' if count > 1 else ''} where the header has {len(header)}"
        if not row.fault and held is not None and count < min(3, len(header)):
            # Too little for a row of its own: the end of the row before, cut off by a line break without quotation marks.
            fault = f"a line break without quotation marks: line {row.line} has {fault}, and seems to belong to the row before it"
            broken = Row(held.line, row.last_line, held.text + row.text, {}, fault)
            held = None
        elif not row.fault and broken is not None and count < len(header) and broken.last_line + 1 == row.line:
            broken = Row(broken.line, row.last_line, broken.text + row.text, {}, broken.fault)
        else:
            if held is not None:
                yield held
                held = None
            if broken is not None:
                yield broken
            broken = Row(row.line, row.last_line, row.text, {}, fault)
    if held is not None:
        yield held
    if broken is not None:
        yield broken


_SEPARATOR = re.compile(rb"""["']?sep=([,;\t|])["']?\s*""", re.IGNORECASE)


class _Records:
    """Lines put together to records: a quoted cell may hold line breaks."""

    def __init__(self, lines: Lines, delimiter: str | None) -> None:
        self._lines = lines
        self._delimiter = delimiter or ","
        self._guess = delimiter is None
        self._horizon = QUOTED_LINES
        csv.field_size_limit(max(csv.field_size_limit(), RECORD_LIMIT))

    def header(self, where: str) -> list[str]:
        if self._guess:
            seen = []
            while (first := self._lines.next() or b"") and not first.strip():
                seen.append(first)
            if match := _SEPARATOR.fullmatch(first):  # a line by which spreadsheets tell each other the delimiter
                self._delimiter, self._guess = match[1].decode(), False
                return self.header(where)
            self._lines.put_back([*seen, first] if first else seen)
            bare = re.sub(rb'"[^"]*"', b"", first)
            self._delimiter = max(",;\t|", key=lambda mark: (bare.count(mark.encode()), -",;\t|".index(mark)))
        for cells, row in self:
            if row.fault:
                raise InputError(f"the header (line {row.line}) cannot be read: {row.fault}", where=where)
            header = [cell.strip() for cell in cells]
            twice = [name for name, count in Counter(header).items() if count > 1 and name]
            if twice:
                raise InputError(f"two columns are called {twice[0]!r}", where=where, todo="Rename one of them.")
            return [name or f"column {i}" for i, name in enumerate(header, 1)]
        return []

    def __iter__(self) -> Iterator[tuple[list[str], Row]]:
        while (line := self._lines.next()) is not None:
            if line.strip():
                yield self._record(line)

    def _record(self, line: bytes) -> tuple[list[str], Row]:
        number = self._lines.number
        lines = [line]
        size = len(line)
        mark = self._delimiter.encode()
        inside = size <= RECORD_LIMIT and _still_open(line, mark, False)
        while inside and size <= RECORD_LIMIT:
            more = self._lines.next()
            if more is None or len(lines) >= self._horizon:
                self._lines.put_back([*lines[1:], *([more] if more is not None else [])])
                self._horizon = max(100, self._horizon // 2)  # a table with many slips must not be read many times over
                text = line.decode("utf-8", "backslashreplace")
                return [], Row(number, number, text, {}, "a quotation mark opens a cell and none closes it")
            lines.append(more)
            size += len(more)
            inside = _still_open(more, mark, True)
        last = self._lines.number
        whole = b"".join(lines)
        if size > RECORD_LIMIT:
            text = whole[:10_000].decode("utf-8", "backslashreplace")
            return [], Row(number, last, text, {}, f"a row of more than {RECORD_LIMIT:,} bytes")
        try:
            text = whole.decode("utf-8")
        except UnicodeDecodeError as error:
            return [], Row(number, last, whole.decode("utf-8", "backslashreplace"), {}, _not_utf8(whole, error))
        bare = text.rstrip("\r\n")
        if '"' not in bare:
            return bare.split(self._delimiter), Row(number, last, text, {})
        try:
            cells = next(csv.reader(io.StringIO(bare, newline=""), delimiter=self._delimiter, strict=True))
        except (csv.Error, StopIteration) as error:
            if self._delimiter == "\t" and len(lines) == 1:  # tables with tabs are often written without any quoting
                return bare.split("\t"), Row(number, last, text, {})
            return [], Row(number, last, text, {}, f"its quotation marks do not fit: {error}")
        return cells, Row(number, last, text, {})


def _still_open(line: bytes, delimiter: bytes, inside: bool) -> bool:
    """Whether a quoted cell is open at the end of the line. A quotation mark opens a cell only where the cell begins."""
    if not inside and b'"' not in line:
        return False
    at = 0
    while True:
        if inside:
            at = line.find(b'"', at)
            if at < 0:
                return True
            if line[at + 1 : at + 2] == b'"':
                at += 2
                continue
            inside = False
        elif line.startswith(b'"', at):
            inside = True
            at += 1
            continue
        at = line.find(delimiter, at)
        if at < 0:
            return False
        at += 1


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> str:
    return f"no UTF-8: byte 0x{data[error.start]:02X} at byte {error.start + 1} of the row"


_HALF = re.compile("[\ud800-\udfff]")


def jsonl_rows(stream: SourceStream) -> Iterator[Row]:
    """The rows of a file of JSON objects, one a line; numbers keep the text in which they are written."""
    lines = Lines(stream)
    while (line := lines.next()) is not None:
        if not line.strip():
            continue
        if len(line) > RECORD_LIMIT:
            yield Row(
                lines.number,
                lines.number,
                line[:10_000].decode("utf-8", "backslashreplace"),
                {},
                f"a row of more than {RECORD_LIMIT:,} bytes",
            )
            continue
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            yield Row(lines.number, lines.number, line.decode("utf-8", "backslashreplace"), {}, _not_utf8(line, error))
            continue
        try:
            found = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
        except (ValueError, RecursionError) as error:
            yield Row(lines.number, lines.number, text, {}, f"no JSON: {error}")
            continue
        if not isinstance(found, dict):
            yield Row(lines.number, lines.number, text, {}, "no JSON object")
        elif "\\u" in text and _HALF.search(json.dumps(found, ensure_ascii=False)):
            yield Row(lines.number, lines.number, text, {}, "an escape is half a character (a surrogate), which is not a character")
        else:
            yield Row(lines.number, lines.number, text, {name: _json_value(value) for name, value in found.items()})


def _json_value(value: Any) -> Value:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in value if one is not None]
    return Nested(json.dumps(value, ensure_ascii=False))


def parquet_rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """The rows of a Parquet file; `line` is the number of the row. Values that are no text become the text that Arrow writes.

    Raises `InputError` where it is no Parquet file, or a damaged one.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(batch_size=8192, columns=columns):
                names = batch.schema.names
                for values in zip(*(_texts(column) for column in batch.columns), strict=True):
                    number += 1
                    yield Row(number, number, "", dict(zip(names, values, strict=True)))
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def parquet_columns(path: Path) -> list[str]:
    """The columns of a Parquet file. Raises `InputError` where it is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> KgauditError:
    if isinstance(error, OSError) and error.errno:
        return storage_error(error, str(path))
    return InputError(
        f"this Parquet file cannot be read ({' '.join(str(error).split())})", where=str(path), todo="Write the file again."
    )


def _texts(column: Any) -> list[Value]:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _texts(column.dictionary_decode())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [None if one is None else [str(item) for item in one if item is not None] for one in column.to_pylist()]
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [None if one is None else str(one) for one in column.to_pylist()]
    return list(column.cast(pa.string()).to_pylist())
