"""Turtle, TriG, RDF/XML and JSON-LD through pyoxigraph, as a stream."""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Iterator
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa

from kgaudit.errors import InputError, UsageError
from kgaudit.sources.ntriples import explain, read_line, term_text, well_formed
from kgaudit.sources.opening import SourceStream
from kgaudit.sources.quarantine import TEXT_LIMIT, Quarantine
from kgaudit.sources.rdfxml import EntityGuard, is_whole, prologue
from kgaudit.sources.statements import RoleFinder, statement_batch

BATCH_ROWS = 1 << 14
WINDOW = 1 << 22
"""Bytes of the input that are kept, so that a faulty line can be shown."""
MAX_FAULTS = 1000
"""Faults behind which reading goes on, and relative IRIs whose line is looked for."""

# Faults of one token: the parser goes on behind the end of the statement, and what follows means what it says.
_OF_ONE_TOKEN = re.compile(
    r"Invalid IRI|No scheme found|Invalid character|has not been declared|not a valid unicode|subtag|language|Unexpected escape"
)

# Where no base is given, relative IRIs are resolved against this one, and statements that hold it are quarantined.
_NO_BASE = "http://relative-iri.invalid/"
_RELATIVE = "a relative IRI: no base is given that it could be resolved against; give one with --base"

Row = tuple[str, str, str, str | None]


def check_base(base: str | None) -> None:
    """Raises `UsageError` where the base is no absolute IRI."""
    if base is not None and isinstance(found := read_line(f"<{base}> <urn:p> <urn:o> .", quads=False), str):
        raise UsageError(f"the base {base!r} is no absolute IRI: {found}", todo="Give one such as --base https://example.org/.")


class GraphReader:
    """Reads one stream into batches of `STATEMENT_SCHEMA`.

    Statements with relative IRIs that no base resolves are quarantined. In Turtle and TriG a statement with a faulty IRI, escape,
    language tag or prefix is quarantined and reading goes on behind it (not within a graph block of TriG, where what follows would
    lose its graph), in JSON-LD one with a faulty IRI, which JSON-LD processors drop in silence. Every other fault raises
    `InputError`, which says where it is and how much had been read.
    """

    def __init__(self, stream: SourceStream, base: str | None, roles: RoleFinder, quarantine: Quarantine) -> None:
        self._stream = stream
        self._name = stream.source.name
        self._format = stream.source.format
        self._base = base
        self._roles = roles
        self._quarantine = quarantine
        self._faults = self._relative = 0
        self._last_fault = ""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        import pyoxigraph

        form = {
            "turtle": pyoxigraph.RdfFormat.TURTLE,
            "trig": pyoxigraph.RdfFormat.TRIG,
            "rdfxml": pyoxigraph.RdfFormat.RDF_XML,
            "jsonld": pyoxigraph.RdfFormat.JSON_LD,
        }[self._format]
        window = _Window(self._stream)
        root = window.guard_entities() if self._format == "rdfxml" else b""
        default = pyoxigraph.DefaultGraph()
        graphs: dict[Any, str | None] = {default: None}
        rows: list[Row] = []
        read = 0
        # Only JSON-LD is read leniently: its strict reader leaves faulty IRIs out without a word, and `_sound` is as strict.
        quads = iter(
            pyoxigraph.parse(cast(IO[bytes], window), format=form, base_iri=self._base or _NO_BASE, lenient=self._format == "jsonld")
        )
        while not self._stream.failure:
            try:
                for quad in quads:
                    graph = quad.graph_name
                    if graph not in graphs:
                        graphs[graph] = self._graph_name(graph, len(graphs))
                    rows.append((str(quad.subject), str(quad.predicate), term_text(quad.object), graphs[graph]))
                    if len(rows) >= BATCH_ROWS:
                        read += len(rows)
                        yield self._batch(rows, window)
                        rows = []
                break
            except SyntaxError as error:
                if self._stream.failure:
                    break
                read += len(rows)
                if rows:
                    yield self._batch(rows, window)
                    rows = []
                self._fault(error, window, read)
            except MemoryError as error:  # what the parser raises where one term is longer than it takes
                read += len(rows)
                raise InputError(
                    f"one term or comment is longer than 16 MB, more than the parser takes ({read:,} statements were read before)",
                    where=str(self._stream.source.path),
                    todo="Shorten it, or convert the file to N-Triples, where such a line is set aside.",
                ) from error
        read += len(rows)
        if rows:
            yield self._batch(rows, window)
        if root and not self._stream.failure and not is_whole(window.kept, root):
            raise InputError(
                f"the XML ends early: its first element is never closed ({read:,} statements were read)",
                where=str(self._stream.source.path),
                todo="Fetch or write the file again: it is not whole.",
            )

    @staticmethod
    def _graph_name(graph: Any, number: int) -> str:
        """A graph's term; graphs without a name get one by their order, since the parser's is another each time."""
        text = str(graph)
        return f"_:graph{number}" if re.fullmatch(r"_:[0-9a-f]{32}", text) else text

    def _batch(self, rows: list[Row], window: _Window) -> pa.RecordBatch:
        if not self._base and any(_NO_BASE in s or _NO_BASE in p or _NO_BASE in o or _NO_BASE in (g or "") for s, p, o, g in rows):
            rows = [row for row in rows if not self._is_relative(row, window)]
        if self._format == "jsonld":
            rows = self._sound(rows)
        s, p, o, graph = (pa.array([row[i] for row in rows], pa.string()) for i in range(4))
        return statement_batch(s, p, o, graph=graph, line=pa.array(np.zeros(len(rows), np.int64)), roles=self._roles)

    def _is_relative(self, row: Row, window: _Window) -> bool:
        line = _as_line(row)
        at = line.find(_NO_BASE)
        if at < 0:
            return False
        bare = line.replace(_NO_BASE, "")
        self._relative += 1
        number, text = 0, ""
        if self._format in ("turtle", "trig") and self._relative <= MAX_FAULTS:
            number, text = window.find(bare[at - 1 : bare.index(">", at) + 1])
        self._quarantine.add(self._name, number, text or bare, _RELATIVE)
        return True

    def _sound(self, rows: list[Row]) -> list[Row]:
        """The rows without those that hold faulty IRIs, which are quarantined."""
        lines = [_as_line(row) for row in rows]
        kept = []
        for row, line, is_sound in zip(rows, lines, well_formed([f"{line}\n" for line in lines]), strict=True):
            if is_sound or not isinstance(found := read_line(line, quads=True), str):
                kept.append(row)
            elif ":" not in row[1]:
                self._quarantine.add(self._name, 0, line, f"the key {row[1][1:-1]!r} is mapped to no IRI by the context")
            else:
                self._quarantine.add(self._name, 0, line, found)
        return kept

    def _fault(self, error: SyntaxError, window: _Window, read: int) -> None:
        message = str(error.msg)
        line = error.lineno or 0
        last_line = error.end_lineno or line
        text = window.lines(line, last_line)
        reason = explain(message, text)
        self._faults += 1
        if self._format in ("turtle", "trig") and self._faults <= MAX_FAULTS and _OF_ONE_TOKEN.search(message):
            self._last_fault = f"line {line}: {reason}"
            self._quarantine.add(
                self._name, line, text, f"{reason}; the statement is left out from there to its end", last_line=last_line
            )
            return
        happened = f"line {line}: {reason}" if line else reason
        if self._last_fault and self._format == "trig":
            happened = f"{self._last_fault}; it stands in a graph block, where reading cannot go on behind it"
        raise InputError(
            f"{happened} ({read:,} statements were read before)",
            where=str(self._stream.source.path),
            todo="Mend the file, or convert it to N-Quads, where one faulty line does not stop the others.",
        ) from None


def _as_line(row: Row) -> str:
    s, p, o, graph = row
    return f"{s} {p} {o} {graph} ." if graph else f"{s} {p} {o} ."


class _Window(io.RawIOBase):
    """Passes a stream on and keeps the last piece of it with its line numbers."""

    def __init__(self, stream: SourceStream) -> None:
        self._stream = stream
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._gone = 0  # bytes that are no longer kept
        self._lines_gone = 0
        self._found = 0  # where in the file the last search ended
        self._ahead = b""
        self._guard: EntityGuard | None = None

    def guard_entities(self) -> bytes:
        """Reads up to the first element of an RDF/XML file and checks its entities; the name of that element."""
        head, root, doctype = prologue(self._stream)
        self._guard = EntityGuard(doctype, str(self._stream.source.path))
        self._ahead = head.replace(doctype, self._guard.plain_doctype(doctype), 1)
        return root

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._ahead:
            size = min(len(buffer), len(self._ahead))
            buffer[:size] = self._ahead[:size]
            self._ahead = self._ahead[size:]
        else:
            size = self._stream.readinto(buffer)
        data = bytes(buffer[:size])
        if self._guard:
            self._guard.saw(data)
        self._pieces.append(data)
        self._size += size
        while self._size - len(self._pieces[0]) > WINDOW:
            first = self._pieces.popleft()
            self._size -= len(first)
            self._gone += len(first)
            self._lines_gone += first.count(b"\n")
        return size

    @property
    def kept(self) -> bytes:
        """What is kept, which ends where reading stands."""
        return b"".join(self._pieces)

    def lines(self, first: int, last: int) -> str:
        """Lines `first` to `last`, as far as they are still there."""
        if first <= self._lines_gone:
            return ""
        lines = self.kept.split(b"\n")[first - self._lines_gone - 1 : last - self._lines_gone]
        return b"\n".join(lines)[: TEXT_LIMIT * 4].decode("utf-8", "backslashreplace").rstrip("\r")

    def find(self, text: str) -> tuple[int, str]:
        """The next line that holds the text, as number and text; (0, "") where it is not found."""
        kept, needle = self.kept, text.encode()
        at = kept.find(needle, max(0, self._found - self._gone))
        if at < 0:
            return 0, ""
        self._found = self._gone + at + len(needle)
        number = self._lines_gone + kept.count(b"\n", 0, at) + 1
        return number, self.lines(number, number)
