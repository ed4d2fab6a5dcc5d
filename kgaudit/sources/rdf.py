"""Turtle, TriG, RDF/XML and JSON-LD through pyoxigraph, as a stream."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa

from kgaudit.errors import InputError
from kgaudit.sources.ntriples import explain, read_line, term_text, well_formed
from kgaudit.sources.opening import SourceStream
from kgaudit.sources.quarantine import TEXT_LIMIT, Quarantine
from kgaudit.sources.rdfxml import check_entities
from kgaudit.sources.statements import BATCH_ROWS, RoleFinder, statement_batch

WINDOW = 1 << 21
"""Bytes of the input that are kept, so that a faulty line can be shown."""
MAX_FAULTS = 10_000

# Faults of one token: the parser goes on behind the end of the statement, and what follows means what it says.
_OF_ONE_TOKEN = re.compile(
    r"Invalid IRI|No scheme found|Invalid character|has not been declared|not a valid unicode|subtag|language|Unexpected escape"
)

# Where no base is given, relative IRIs in RDF/XML and JSON-LD are resolved against this one, and what holds it is quarantined.
_NO_BASE = "http://relative-iri.invalid/"

Row = tuple[str, str, str, str | None]


class GraphReader:
    """Reads one stream into batches of `STATEMENT_SCHEMA`.

    In Turtle and TriG a statement with a faulty IRI, escape, language tag or prefix is quarantined and reading goes on behind it;
    every other fault raises `InputError`, which says where it is and how much had been read. In RDF/XML and JSON-LD statements with
    relative IRIs that nothing resolves are quarantined, in JSON-LD also those with faulty IRIs, which its parsers drop in silence.
    """

    def __init__(self, stream: SourceStream, base: str | None, roles: RoleFinder, quarantine: Quarantine) -> None:
        self._stream = stream
        self._name = stream.source.name
        self._format = stream.source.format
        self._base = base
        self._roles = roles
        self._quarantine = quarantine

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        import pyoxigraph

        form = {
            "turtle": pyoxigraph.RdfFormat.TURTLE,
            "trig": pyoxigraph.RdfFormat.TRIG,
            "rdfxml": pyoxigraph.RdfFormat.RDF_XML,
            "jsonld": pyoxigraph.RdfFormat.JSON_LD,
        }[self._format]
        as_lines = self._format in ("turtle", "trig")
        base = self._base or (None if as_lines else _NO_BASE)
        source = _Window(self._stream)
        if self._format == "rdfxml":
            check_entities(source.peek(), str(self._stream.source.path))
        default = pyoxigraph.DefaultGraph()
        rows: list[Row] = []
        read = faults = 0
        quads = iter(pyoxigraph.parse(cast(IO[bytes], source), format=form, base_iri=base, lenient=self._format == "jsonld"))
        while not self._stream.failure:
            try:
                for quad in quads:
                    graph = quad.graph_name
                    rows.append(
                        (str(quad.subject), str(quad.predicate), term_text(quad.object), None if graph == default else str(graph))
                    )
                    if len(rows) >= BATCH_ROWS:
                        read += len(rows)
                        yield self._batch(rows)
                        rows = []
                break
            except SyntaxError as error:
                if self._stream.failure:
                    break
                read += len(rows)
                if rows:
                    yield self._batch(rows)
                    rows = []
                faults += 1
                self._fault(error, source, read, recoverable=as_lines and faults <= MAX_FAULTS)
        if rows:
            yield self._batch(rows)
        if self._format == "rdfxml" and not self._stream.failure and not source.is_whole_xml():
            raise InputError(
                f"the XML ends early: its first element is never closed ({read + len(rows):,} statements were read)",
                where=str(self._stream.source.path),
                todo="Fetch or write the file again: it is not whole.",
            )

    def _batch(self, rows: list[Row]) -> pa.RecordBatch:
        if self._format in ("rdfxml", "jsonld"):
            rows = self._resolved(rows)
        s, p, o, graph = (pa.array([row[i] for row in rows], pa.string()) for i in range(4))
        return statement_batch(s, p, o, graph=graph, line=pa.array(np.zeros(len(rows), np.int64)), roles=self._roles)

    def _resolved(self, rows: list[Row]) -> list[Row]:
        """The rows without those that hold relative or faulty IRIs, which are quarantined."""
        lines = [f"{s} {p} {o} {g} .\n" if g else f"{s} {p} {o} .\n" for s, p, o, g in rows]
        sound = well_formed(lines)
        kept = []
        for row, line, is_sound in zip(rows, lines, sound, strict=True):
            if not self._base and _NO_BASE in line:
                reason = "a relative IRI: no base is given that it could be resolved against. Give one with --base."
                self._quarantine.add(self._name, 0, line.replace(_NO_BASE, "").rstrip("\n"), reason)
            elif is_sound or not isinstance(found := read_line(line.rstrip("\n"), quads=True), str):
                kept.append(row)
            elif ":" not in row[1]:
                reason = f"the key {row[1][1:-1]!r} is mapped to no IRI by the context"
                self._quarantine.add(self._name, 0, line.rstrip("\n"), reason)
            else:
                self._quarantine.add(self._name, 0, line.rstrip("\n"), found)
        return kept

    def _fault(self, error: SyntaxError, source: _Window, read: int, *, recoverable: bool) -> None:
        message = str(error.msg)
        line = error.lineno or 0
        text = source.lines(line, error.end_lineno or line)
        reason = explain(message, text)
        if recoverable and _OF_ONE_TOKEN.search(message):
            self._quarantine.add(
                self._name, line, text, f"{reason}; the statement is left out from there to its end", last_line=error.end_lineno or line
            )
            return
        raise InputError(
            f"{f'line {line}: ' if line else ''}{reason} ({read:,} statements were read before)",
            where=str(self._stream.source.path),
            todo="Mend the file, or convert it to N-Triples, where one faulty line does not stop the others.",
        ) from None


class _Window(io.RawIOBase):
    """Passes a stream on and keeps the last piece of it with its line numbers."""

    def __init__(self, stream: SourceStream) -> None:
        self._stream = stream
        self._kept = b""
        self._first_line = 1
        self._root: bytes | None = None
        self._ahead = b""

    def readable(self) -> bool:
        return True

    def peek(self) -> bytes:
        """The first bytes, up to 1 MiB, before anything else has read them."""
        while len(self._ahead) < 1 << 20 and (chunk := self._stream.read(1 << 18)):
            self._ahead += chunk
        if match := re.search(rb"<([A-Za-z_][^\s/>]*)", self._ahead):
            self._root = match[1]
        return self._ahead

    def readinto(self, buffer: Any) -> int:
        if self._ahead:
            size = min(len(buffer), len(self._ahead))
            buffer[:size] = self._ahead[:size]
            self._ahead = self._ahead[size:]
        else:
            size = self._stream.readinto(buffer)
        self._kept += bytes(buffer[:size])
        if len(self._kept) > 2 * WINDOW:
            self._first_line += self._kept.count(b"\n", 0, len(self._kept) - WINDOW)
            self._kept = self._kept[-WINDOW:]
        return size

    def lines(self, first: int, last: int) -> str:
        """Lines `first` to `last`, as far as they are still there."""
        if first < self._first_line:
            return ""
        lines = self._kept.split(b"\n")[first - self._first_line : last - self._first_line + 1]
        return b"\n".join(lines)[: TEXT_LIMIT * 4].decode("utf-8", "backslashreplace").rstrip("\r")

    def is_whole_xml(self) -> bool:
        """Whether the last thing that was read closes the first element (which pyoxigraph does not ask)."""
        if self._root is None:
            return False
        tail = re.sub(rb"<!--.*?-->|<\?.*?\?>", b"", self._kept, flags=re.DOTALL).rstrip()
        return re.search(rb"</" + re.escape(self._root) + rb"\s*>\Z", tail) is not None or (
            tail.endswith(b"/>") and tail.rfind(b"<") == tail.find(b"<" + self._root)
        )
