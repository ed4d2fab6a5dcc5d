"""Names for blank nodes that follow what is said of them, not their label, their file or its order.

Statements with blank nodes are kept on disk, split into connected components (two blank nodes are connected where a statement holds
both), and each component is named by itself. Nodes are coloured by what is said of them, then again by the colours of their neighbours,
until no more can be told apart; where nodes are still alike, each of them in turn is set apart, and the choice with the least outcome
is kept. A name is a hash of the whole component and of the node's colour in it. Components that are alike get the same names: they say
the same, so that their triples are one.

Ideas: RDF Dataset Canonicalization (https://www.w3.org/TR/rdf-canon/), with colour refinement in place of the enumeration of paths,
since its time is bounded. Where a component needs more than `WORK_LIMIT` steps or is larger than `COMPONENT_LIMIT`, ties are broken
by the order of the file, and that is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b, sha256
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgaudit.errors import storage_error
from kgaudit.sources.provenance import OBJECT, PREDICATE, REIFIES, SUBJECT
from kgaudit.sources.rules import Role
from kgaudit.sources.spill import Spill
from kgaudit.sources.statements import STATEMENT_SCHEMA
from kgaudit.triples import canonical_term

WORK_LIMIT = 1_000_000
"""Looks at a statement from one of its nodes, in one component; about two seconds."""
ROUNDS = 20
"""Rounds of colouring that are made even where they need more than `WORK_LIMIT` (only long chains of like nodes need as many)."""
COMPONENT_LIMIT = 100_000
"""Statements of one component; in larger ones nodes are named by their order in the file."""

_BLANK = re.compile(r'_:[^\s<>"]+')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_SPILL_SCHEMA = STATEMENT_SCHEMA.append(pa.field("component", pa.int64()))

Statement = tuple[str, str, str]


def has_blank(batch: pa.RecordBatch) -> pa.Array:
    """Which rows hold a blank node as subject or object, or inside a triple term."""
    s, o = batch.column("s"), batch.column("o")
    plain = pc.or_(pc.starts_with(s, "_:"), pc.starts_with(o, "_:"))
    return pc.or_(plain, pc.and_(pc.starts_with(o, "<<("), pc.match_substring(o, " _:")))


def blank_labels(s: str, o: str) -> list[str]:
    """The blank nodes of a statement, in order, each time that they stand there."""
    labels = [s] if s.startswith("_:") else []
    if o.startswith("_:"):
        labels.append(o)
    elif o.startswith("<<("):
        labels += _BLANK.findall(_QUOTED.sub('""', o))
    return labels


def _renamed(term: str, names: dict[str, str]) -> str:
    if term.startswith("_:"):
        return names[term]
    if not term.startswith("<<("):
        return term
    pieces = _QUOTED.split(term)
    quoted = [*_QUOTED.findall(term), ""]
    return "".join(_BLANK.sub(lambda match: names[match[0]], piece) + text for piece, text in zip(pieces, quoted, strict=True))


class BlankNodes:
    """The statements with blank nodes of one file: takes batches, then gives them back with lasting names.

    Memory: 16 bytes a statement and 24 a node, and one component at a time.
    """

    def __init__(self, folder: Path, file: str) -> None:
        self._file = file
        self._path = folder / "blank.arrow"
        self._spill = Spill(folder / "components", _SPILL_SCHEMA)
        self._rows: tuple[pa.OSFile, pa.RecordBatchStreamWriter] | None = None
        self._node: list[np.ndarray] = []
        self._links: list[np.ndarray] = []
        self.tied = 0
        """Components in which ties were broken by the order of the file."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes rows of `STATEMENT_SCHEMA` that all hold a blank node. Raises `StorageError` where they cannot be kept."""
        try:
            if self._rows is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                file = pa.OSFile(str(self._path), "wb")
                self._rows = file, pa.ipc.new_stream(file, STATEMENT_SCHEMA)
            self._rows[1].write_batch(batch)
        except OSError as error:
            raise storage_error(error, str(self._path)) from error
        nodes, links = [], []
        for s, o in zip(batch.column("s").to_pylist(), batch.column("o").to_pylist(), strict=True):
            first, *others = (_number(label) for label in blank_labels(s, o))
            nodes.append(first)
            links += [(first, other) for other in others]
        self._node.append(np.array(nodes, np.int64))
        self._links.append(np.array(links, np.int64).reshape(-1, 2))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows with their nodes renamed to `_:c` and 32 hexadecimal digits; a component always lies within one batch."""
        if self._rows is None:
            return
        writer, file = self._rows[1], self._rows[0]
        try:
            writer.close()
            file.close()
            yield from self._named()
            self._path.unlink()
        except OSError as error:
            raise storage_error(error, str(self._path)) from error

    def _named(self) -> Iterator[pa.RecordBatch]:
        node, links = np.concatenate(self._node), np.concatenate(self._links)
        self._node, self._links = [], []
        nodes, first_seen = _first_seen(node, links)
        component = _components(np.searchsorted(nodes, links), len(nodes))
        of_row = component[np.searchsorted(nodes, node)]
        too_large = np.bincount(of_row, minlength=len(nodes)) > COMPONENT_LIMIT
        self.tied += int(too_large.sum())
        begin = 0
        with pa.OSFile(str(self._path), "rb") as file:
            for batch in pa.ipc.open_stream(file):
                mine = of_row[begin : begin + batch.num_rows]
                begin += batch.num_rows
                large = too_large[mine]
                if large.any():
                    yield self._by_order(batch.filter(pa.array(large)), nodes, first_seen)
                    batch, mine = batch.filter(pa.array(~large)), mine[~large]
                columns = [*batch.columns, pa.array(mine)]
                parts = (mine.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(56)).astype(np.uint8)
                self._spill.add(pa.RecordBatch.from_arrays(columns, schema=_SPILL_SCHEMA), parts)
        for table in self._spill.tables():
            yield self._by_content(table.take(pc.sort_indices(table, [("component", "ascending")])).combine_chunks())

    def _by_order(self, batch: pa.RecordBatch, nodes: np.ndarray, first_seen: np.ndarray) -> pa.RecordBatch:
        def name(label: str) -> str:
            place = int(first_seen[np.searchsorted(nodes, _number(label))])
            return "_:c" + sha256(f"{self._file}\n{place}".encode()).hexdigest()[:32]

        s, o = batch.column("s").to_pylist(), batch.column("o").to_pylist()
        names = [{label: name(label) for label in blank_labels(*pair)} for pair in zip(s, o, strict=True)]
        return _with_terms(
            batch,
            [_renamed(one, known) for one, known in zip(s, names, strict=True)],
            [_renamed(one, known) for one, known in zip(o, names, strict=True)],
            batch.column("role").to_pylist(),
        )

    def _by_content(self, table: pa.Table) -> pa.RecordBatch:
        batch = table.to_batches()[0]
        s, p, o = (batch.column(name).to_pylist() for name in ("s", "p", "o"))
        roles = batch.column("role").to_pylist()
        component = batch.column("component").to_numpy()
        bounds = [0, *(np.flatnonzero(np.diff(component)) + 1).tolist(), len(component)]
        for begin, end in pairwise(bounds):
            rows = list(zip(s[begin:end], p[begin:end], o[begin:end], strict=True))
            names, tied = name_component(rows)
            self.tied += tied
            reifiers = {row[0] for row in rows if row[1] in (REIFIES, SUBJECT, PREDICATE, OBJECT)}
            for i in range(begin, end):
                if s[i] in reifiers and roles[i] == Role.CLAIM:
                    roles[i] = int(Role.PROVENANCE)
                s[i], o[i] = _renamed(s[i], names), _renamed(o[i], names)
        return _with_terms(batch, s, o, roles)

    def discard(self) -> None:
        """Removes what is still on disk."""
        if self._rows and not self._rows[0].closed:
            self._rows[0].close()
        self._path.unlink(missing_ok=True)
        self._spill.discard()


def _with_terms(batch: pa.RecordBatch, s: list[str], o: list[str], roles: list[int]) -> pa.RecordBatch:
    new = {"s": pa.array(s, pa.string()), "o": pa.array(o, pa.string()), "role": pa.array(roles, pa.int8())}
    return pa.RecordBatch.from_arrays(
        [new.get(field.name, batch.column(field.name)) for field in STATEMENT_SCHEMA], schema=STATEMENT_SCHEMA
    )


def _number(label: str) -> int:
    return int.from_bytes(blake2b(label.encode(), digest_size=8).digest(), "little") >> 1


def _first_seen(node: np.ndarray, links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different nodes, sorted, and a number for each that grows in the order in which they were seen."""
    in_order = np.concatenate([node, links[:, 1]])
    nodes, firsts = np.unique(in_order, return_index=True)
    return nodes, firsts


def _components(links: np.ndarray, count: int) -> np.ndarray:
    """The least node of the component of each node; `links` are pairs of nodes."""
    least = np.arange(count)
    if not len(links):
        return least
    while True:
        a, b = least[links[:, 0]], least[links[:, 1]]
        if (a == b).all():
            return least
        np.minimum.at(least, np.maximum(a, b), np.minimum(a, b))
        while True:
            further = least[least]
            if (further == least).all():
                break
            least = further


def _digest(*parts: bytes) -> bytes:
    return sha256(b"\x00".join(parts)).digest()


class _Component:
    """Statements as templates, with the numbers of their nodes; each node with the statements in which it stands."""

    def __init__(self, rows: Sequence[Statement]) -> None:
        self.labels: dict[str, int] = {}
        templates: dict[tuple[bytes, tuple[int, ...]], None] = {}
        for s, p, o in rows:
            labels = blank_labels(s, o)
            numbers = tuple(self.labels.setdefault(label, len(self.labels)) for label in labels)
            holes = dict.fromkeys(labels, "_:")
            templates[(f"{_renamed(s, holes)} {p} {canonical_term(_renamed(o, holes))}".encode(), numbers)] = None
        self.statements = list(templates)
        self.at: list[list[tuple[bytes, tuple[int, ...]]]] = [[] for _ in self.labels]
        for statement in self.statements:
            for number in dict.fromkeys(statement[1]):
                self.at[number].append(statement)
        self.work = 0

    def refined(self, colours: list[bytes]) -> list[bytes]:
        """Colours by the colours of neighbours, until the number of different ones grows no more, or `ROUNDS` is not enough."""
        count = len(set(colours))
        for _ in range(max(ROUNDS, WORK_LIMIT // max(1, sum(map(len, self.at))))):
            self.work += sum(map(len, self.at))
            colours = [
                _digest(colour, *sorted(self._seen_from(number, statement, colours) for statement in self.at[number]))
                for number, colour in enumerate(colours)
            ]
            grown = len(set(colours))
            if grown in (count, len(colours)):
                return colours
            count = grown
        return colours

    @staticmethod
    def _seen_from(number: int, statement: tuple[bytes, tuple[int, ...]], colours: list[bytes]) -> bytes:
        template, numbers = statement
        return template + b"".join(b"\x01" if other == number else b"\x02" + colours[other] for other in numbers)

    def classes(self, colours: list[bytes]) -> list[list[int]]:
        """Nodes of one colour, where there is more than one; the smallest class first, then by colour."""
        by_colour: dict[bytes, list[int]] = {}
        for number, colour in enumerate(colours):
            by_colour.setdefault(colour, []).append(number)
        return [members for _, members in sorted(by_colour.items(), key=lambda pair: (len(pair[1]), pair[0])) if len(members) > 1]

    def apart(self, colours: list[bytes]) -> list[bytes]:
        """Numbers nodes that have the very same neighbours: they can be swapped, so that any order is as good as another."""
        twins: dict[tuple[bytes, frozenset[tuple[bytes, tuple[int, ...]]]], int] = {}
        new = list(colours)
        for members in self.classes(colours):
            for number in members:
                seen = frozenset((template, tuple(-1 if n == number else n for n in numbers)) for template, numbers in self.at[number])
                nth = twins[(colours[number], seen)] = twins.get((colours[number], seen), -1) + 1
                if nth:
                    new[number] = _digest(colours[number], b"twin %d" % nth)
        return new


def name_component(rows: Sequence[Statement]) -> tuple[dict[str, str], bool]:
    """Names for the blank nodes of one connected component, by label; and whether ties were broken by the order of the rows."""
    component = _Component(rows)
    colours = component.refined([b""] * len(component.labels))
    tied = False
    if component.classes(colours):
        colours = component.refined(component.apart(colours))
    while (classes := component.classes(colours)) and not tied:
        least: list[bytes] = []
        for number in classes[0]:
            if component.work > WORK_LIMIT:
                tied = True
                break
            chosen = list(colours)
            chosen[number] = _digest(colours[number], b"chosen")
            outcome = component.refined(chosen)
            if not least or sorted(outcome) < sorted(least):
                least = outcome
        colours = [_digest(colour, b"%d" % number) for number, colour in enumerate(colours)] if tied else least
    whole = _digest(*sorted(template + b"".join(colours[number] for number in numbers) for template, numbers in component.statements))
    return {label: "_:c" + _digest(whole, colours[number]).hex()[:32] for label, number in component.labels.items()}, tied
