"""N-Triples and N-Quads, in blocks.

A block of lines goes through one strict regular expression over the whole column; lines that match are cut into terms by their
byte positions, without a Python object for each. The others (comments behind a triple, unusual white space, escapes in IRIs, RDF
1.2 triple terms, faults) are read one by one by pyoxigraph, and what is wrong with them is named.

Grammar: https://www.w3.org/TR/rdf12-n-triples/#sec-grammar. IRIs: RFC 3987, checked as pyoxigraph checks them, so that whatever is
taken here can be written and read again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgaudit.sources.opening import SourceStream
from kgaudit.sources.quarantine import Quarantine
from kgaudit.sources.statements import RoleFinder, statement_batch
from kgaudit.triples import escape, unescape

BLOCK = 1 << 22
LINE_LIMIT = 1 << 26
"""Bytes of a line; longer ones are quarantined with their length."""

_UCS = (
    r"\x{A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}\x{10000}-\x{1FFFD}\x{20000}-\x{2FFFD}\x{30000}-\x{3FFFD}"
    r"\x{40000}-\x{DFFFD}\x{E1000}-\x{EFFFD}"
)
_CHAR = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@?" + _UCS + r"]|%[0-9A-Fa-f]{2})"
_CHARS = rf"(?:{_CHAR}|/)*"
_FRAGMENT = rf"(?:#{_CHARS})?"
_HOST = r"(?:[A-Za-z0-9\-._~" + _UCS + r"]+(?::[0-9]*)?)"
# Common shapes only (no user, no IPv6 host): the others are checked one by one.
_IRI = rf"<[A-Za-z][A-Za-z0-9+.\-]*:(?://{_HOST}(?:[/?]{_CHARS})?|/?(?:{_CHAR}{_CHARS})?){_FRAGMENT}>"
_BLANK = r"_:[A-Za-z0-9_](?:[A-Za-z0-9_\-.]*[A-Za-z0-9_\-])?"
_HEX = "[0-9A-Fa-f]"
_NOT_SURROGATE = rf"(?:[0-9A-CE-Fa-ce-f]{_HEX}{_HEX}{_HEX}|[Dd][0-7]{_HEX}{_HEX})"
_ESCAPE = (
    rf"""\\(?:[tbnrf"'\\]|u{_NOT_SURROGATE}|U0000{_NOT_SURROGATE}"""
    rf"""|U000[1-9A-Fa-f]{_HEX}{_HEX}{_HEX}{_HEX}|U0010{_HEX}{_HEX}{_HEX}{_HEX})"""
)
# Only language tags of the common shapes (en, de-AT, zh-Hant, sr-Latn-RS, es-419): the others are checked one by one.
_LANGUAGE = r"@[A-Za-z]{2,3}(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?"
_LITERAL = rf'"(?:[^"\\\n\r]|{_ESCAPE})*"(?:{_LANGUAGE}|\^\^{_IRI})?'
_TRIPLE = rf"\A(?:{_IRI}|{_BLANK}) {_IRI} (?:{_IRI}|{_BLANK}|{_LITERAL})"
_TRIPLE_LINE = _TRIPLE + r" ?\.\n\z"
_QUAD_LINE = _TRIPLE + rf" (?:{_IRI}|{_BLANK}) ?\.\n\z"


class LineReader:
    """Reads one N-Triples or N-Quads stream into batches of `STATEMENT_SCHEMA`; bad lines go to the quarantine."""

    def __init__(self, stream: SourceStream, roles: RoleFinder, quarantine: Quarantine) -> None:
        self._stream = stream
        self._name = stream.source.name
        self._quads = stream.source.format == "nquads"
        self._roles = roles
        self._quarantine = quarantine

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        line = 1
        for block, skipped in self.blocks():
            if skipped:
                reason = f"a line of {skipped:,} bytes; the limit is {LINE_LIMIT:,}"
                self._quarantine.add(self._name, line, block, reason)
                line += 1
                continue
            batch, lines = self._batch(block, line)
            line += lines
            if batch.num_rows:
                yield batch

    def blocks(self, bytes_at_once: int | None = None) -> Iterator[tuple[bytes, int]]:
        """Blocks of whole lines that end in LF; or the beginning of a line that is too long, with its length."""
        rest: list[bytes] = []
        size = 0
        while chunk := self._stream.read(bytes_at_once or BLOCK):
            end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r", 0, len(chunk) - 1)) + 1
            if not end:
                rest.append(chunk)
                size += len(chunk)
                if size > LINE_LIMIT:
                    head, size, chunk = rest[0][:10_000], *self._skip_line(size)
                    yield head, size
                    rest, size = [chunk], len(chunk)
                continue
            rest.append(chunk[:end])
            yield _unix(b"".join(rest)), 0
            rest, size = [chunk[end:]], len(chunk) - end
        last = b"".join(rest)
        if last and not self._stream.failure:  # half a line before a cut is no line
            yield _unix(last + b"\n"), 0

    def _skip_line(self, size: int) -> tuple[int, bytes]:
        """Reads on to the end of the line: its whole length, and what follows it."""
        while chunk := self._stream.read(BLOCK):
            match = re.search(rb"\r\n|\n|\r", chunk)
            if match:
                return size + match.start(), chunk[match.end() :]
            size += len(chunk)
        return size, b""

    def _batch(self, block: bytes, first_line: int) -> tuple[pa.RecordBatch, int]:
        if not block.isascii():
            block = self._utf8(block, first_line)
        data = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(data == 10) + 1
        starts = np.empty_like(ends)
        starts[0], starts[1:] = 0, ends[:-1]
        numbers = np.arange(first_line, first_line + len(ends), dtype=np.int64)
        offsets = np.empty(len(ends) + 1, np.int32)
        offsets[0], offsets[1:] = 0, ends
        buffer = pa.py_buffer(block)
        lines = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), buffer)
        triples = _matches(lines, _TRIPLE_LINE)
        quads = _matches(lines, _QUAD_LINE) & ~triples if self._quads and not triples.all() else np.zeros_like(triples)
        good = triples | quads
        parts = [self._cut(data, buffer, starts[good], ends[good], quads[good])]
        line = [numbers[good]]
        others = np.flatnonzero(~good)
        if len(others):
            rows, row_lines = self._careful(block, starts[others], ends[others], numbers[others])
            if rows:
                parts.append(tuple(pa.array(column, pa.string()) for column in zip(*rows, strict=True)))
                line.append(np.array(row_lines, np.int64))
        parts[0] = (*parts[0][:2], _plain_escapes(data, len(ends), parts[0][2]), parts[0][3])
        columns = [pa.concat_arrays(pieces) if len(parts) > 1 else pieces[0] for pieces in zip(*parts, strict=True)]
        s, p, o, graph = columns
        at = np.concatenate(line)
        if len(parts) > 1:  # the lines that were read one by one take their places again
            order = pa.array(np.argsort(at, kind="stable"))
            s, p, o, graph, at = s.take(order), p.take(order), o.take(order), graph.take(order), np.sort(at)
        return statement_batch(s, p, o, graph=graph, line=pa.array(at), roles=self._roles), len(ends)

    def _cut(
        self, data: np.ndarray, buffer: pa.Buffer, starts: np.ndarray, ends: np.ndarray, quads: np.ndarray
    ) -> tuple[pa.Array, pa.Array, pa.Array, pa.Array]:
        """The terms of lines that matched: subject and predicate hold no space, so that their ends are the first two."""
        n = len(starts)
        if not n:
            return (pa.array([], pa.string()),) * 4
        spaces = np.flatnonzero(data == 32)
        first = np.searchsorted(spaces, starts)
        s_end, p_end = spaces[first], spaces[first + 1]
        o_end = ends - 2
        o_end = o_end - (data[o_end - 1] == 32)
        g_end = o_end
        if quads.any():
            last = spaces[np.searchsorted(spaces, o_end) - 1]
            o_end = np.where(quads, last, o_end)
        bounds = np.empty(8 * n + 1, np.int32)
        for column, values in enumerate((starts, s_end, s_end + 1, p_end, p_end + 1, o_end, np.where(quads, o_end + 1, g_end), g_end)):
            bounds[column:-1:8] = values
        bounds[-1] = g_end[-1]
        pieces = pa.StringArray.from_buffers(8 * n, pa.py_buffer(bounds), buffer)
        s, p, o = (pieces.take(pa.array(np.arange(column, 8 * n, 8))) for column in (0, 2, 4))
        if not quads.any():
            return s, p, o, pa.nulls(n, pa.string())
        graph = pieces.take(pa.array(np.arange(6, 8 * n, 8), mask=~quads))
        return s, p, o, graph

    def _utf8(self, block: bytes, first_line: int) -> bytes:
        """The block with lines that are no UTF-8 put into quarantine and emptied."""
        try:
            block.decode("utf-8")
            return block
        except UnicodeDecodeError:
            lines = block.split(b"\n")
            for i, line in enumerate(lines):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    reason = f"no UTF-8: byte 0x{line[error.start]:02X} at byte {error.start + 1} of the line"
                    self._quarantine.add(self._name, first_line + i, line, reason)
                    lines[i] = b""
            return b"\n".join(lines)

    def _careful(
        self, block: bytes, starts: np.ndarray, ends: np.ndarray, numbers: np.ndarray
    ) -> tuple[list[tuple[str, str, str, str | None]], list[int]]:
        rows: list[tuple[str, str, str, str | None]] = []
        lines: list[int] = []
        for start, end, number in zip(starts.tolist(), ends.tolist(), numbers.tolist(), strict=True):
            text = block[start : end - 1].decode("utf-8").lstrip("\ufeff")
            stripped = text.strip(" \t")
            if not stripped or stripped.startswith("#") or _VERSION.match(stripped):
                continue
            row = read_line(text, quads=self._quads)
            if isinstance(row, str):
                self._quarantine.add(self._name, number, text, row)
            else:
                rows.append(row)
                lines.append(number)
        return rows, lines


_UNUSUAL = r"""\\[uU']|[\x00-\x1F\x7F]"""


def _plain_escapes(data: np.ndarray, lines: int, o: pa.Array) -> pa.Array:
    """Literals with characters in place of numeric escapes, and with escapes in place of control characters: one text for one value."""
    backslashes = np.flatnonzero(data == 92)
    escaped = data[backslashes + 1]  # a block ends in LF, so that there is one
    if not np.isin(escaped, (ord("u"), ord("U"), ord("'"))).any() and np.count_nonzero(data < 32) == lines and not (data == 127).any():
        return o
    found = pc.match_substring_regex(o, _UNUSUAL)
    if not found.true_count:
        return o
    new = [f'"{escape(unescape(value[1:]))}"{tail}' for value, _, tail in (one.rpartition('"') for one in o.filter(found).to_pylist())]
    return pc.replace_with_mask(o, found, pa.array(new, pa.string()))


def _matches(lines: pa.Array, pattern: str) -> np.ndarray:
    found: np.ndarray = pc.match_substring_regex(lines, pattern).to_numpy(zero_copy_only=False)
    return found


def well_formed(lines: list[str]) -> list[bool]:
    """Which of the lines (each ending in LF) are statements in the plain form; the others may be, or not (`read_line`)."""
    column = pa.array(lines, pa.string())
    found: list[bool] = (_matches(column, _TRIPLE_LINE) | _matches(column, _QUAD_LINE)).tolist()
    return found


def _unix(block: bytes) -> bytes:
    return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in block else block


_VERSION = re.compile(r"(?:VERSION|@version)\s+[\"'][^\"']*[\"']\s*\.?\s*(?:#.*)?\Z", re.IGNORECASE)


def read_line(text: str, *, quads: bool) -> tuple[str, str, str, str | None] | str:
    """The terms (subject, predicate, object, graph) of one line, or what is wrong with it."""
    import pyoxigraph

    form = pyoxigraph.RdfFormat.N_QUADS if quads else pyoxigraph.RdfFormat.N_TRIPLES
    try:
        found = list(pyoxigraph.parse(text + "\n", format=form))
    except SyntaxError as error:
        return explain(str(error.msg), text)
    if len(found) != 1:
        return "the line holds no statement" if not found else "more than one statement on the line"
    quad = found[0]
    graph = None if isinstance(quad.graph_name, pyoxigraph.DefaultGraph) else str(quad.graph_name)
    return str(quad.subject), str(quad.predicate), term_text(quad.object), graph


def term_text(term: Any) -> str:
    """A pyoxigraph term as N-Triples text (`str` leaves the brackets of triple terms out)."""
    if hasattr(term, "predicate"):
        return f"<<( {term.subject} {term.predicate} {term_text(term.object)} )>>"
    return str(term)


_POSITION = re.compile(r"(?:Parser error (?:at|between) line .*?|error while parsing (?:IRI|language tag) '.*?'): ", re.DOTALL)
_CODE_POINT = re.compile(r"Invalid IRI code point '(.)'", re.DOTALL)
_KNOWN = {
    " ": "space", "{": "opening brace", "}": "closing brace", "<": "less-than sign", ">": "greater-than sign", '"': "quotation mark",
    "|": "vertical bar", "\\": "backslash", "^": "circumflex", "`": "backtick", "[": "opening bracket", "]": "closing bracket",
    "\t": "tab", "\n": "line feed", "\r": "carriage return", "#": "second number sign",
}  # fmt: skip


def character_name(char: str) -> str:
    """What a character is called in a reason: `space (U+0020)`."""
    return f"{_KNOWN.get(char) or unicodedata.name(char, 'character').lower()} (U+{ord(char):04X})"


def explain(message: str, text: str) -> str:
    """A parser's message as a reason: without its position, the character named, escapes told apart from what they stand for."""
    reason = _POSITION.sub("", message)
    if match := _CODE_POINT.search(reason):
        char = match[1]
        escaped = next((found for found in (f"\\u{ord(char):04X}", f"\\U{ord(char):08X}") if found.lower() in text.lower()), None)
        if escaped:
            return f"escaped {character_name(char)} in an IRI, where it may not stand, written {escaped} or not"
        return f"{character_name(char)} in an IRI, where it may not stand"
    if "LoadDocumentCallback" in reason:
        return "it asks for a context on another computer, which is not fetched: put the context into the file"
    if "No scheme found" in reason:
        return "a relative IRI: no base is given that it could be resolved against"
    if "is not a valid unicode character" in reason and re.search(r"\\u[Dd][89A-Fa-f]|\\U0000[Dd][89A-Fa-f]", text):
        return "an escape is half a character (a surrogate), which is not a character by itself or in a pair"
    if "language" in reason or "subtag" in reason or "integer should not be empty" in reason:
        return f"a language tag is not well-formed: {reason[:1].lower()}{reason[1:]}"
    if "Unexpected end of file" in reason:
        return "a literal, an IRI or a bracket is not closed"
    if "Quads must be followed by a dot" in reason or "Triples must be followed by a dot" in reason:
        return "the line does not end in a dot after subject, predicate and object"
    return reason
