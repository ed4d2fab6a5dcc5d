"""What two snapshots of a graph differ in: the triples that were added and those that were removed, for files larger than memory.

Lines are compared as they stand, and only what differs is read as RDF:

1. Both snapshots are dealt out to buckets on disk by a hash of subject and predicate. A line that is in both lies in the same bucket
   of both, so that buckets are compared one by one, in memory; one that is too large is cut up further, by a hash of the line.
2. The lines that only one snapshot holds are read and keyed (`kgaudit.triples.triple_key`), so that a triple that is written otherwise
   (language tag, datatype, escapes, white space, named graph) is none that differs.
3. Such a triple may also be written in a line that both hold: of these, the ones with its subject and predicate are keyed too.

Statements with blank nodes are always read: their labels mean nothing beyond the file, their keys follow what is said of the node.
So are lines whose subject or predicate is written in escapes. Memory is bounded by `memory`, apart from blank nodes (24 bytes a node
and the largest connected part). On disk stand, for the time of the comparison, both snapshots unpacked.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgaudit.errors import UsageError, storage_error
from kgaudit.sources.blank import BlankNodes, has_blank
from kgaudit.sources.candidates import claim_keys
from kgaudit.sources.ntriples import LineReader
from kgaudit.sources.opening import TABLES, SourceFile, SourceStream, source_files, split_suffix
from kgaudit.sources.options import SourceOptions
from kgaudit.sources.quarantine import Quarantine
from kgaudit.sources.rdf import check_base
from kgaudit.sources.reading import read_source
from kgaudit.sources.spill import Spill
from kgaudit.sources.statements import RoleFinder

THREADS = 2
MEMORY = 512 * 1024 * 1024
LEAST_MEMORY = 64 * 1024 * 1024
BUCKETS = 128
BLOCK = 1 << 20
"""Small enough for a processor's cache, and for memory that is used again instead of asked for anew."""
_LINE_COST = 120
"""Bytes that a line takes in memory beside its text and two copies of it: numbers for its place, its hash and its code."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
_TAIL = 16
"""Bytes of subject and predicate that are looked at to deal lines out."""

OLD_ONLY, NEW_ONLY, IN_BOTH = range(3)

T = TypeVar("T")
Out = TypeVar("Out")

Hashes = npt.NDArray[np.uint64]

_KEYED = pa.schema(
    [
        pa.field("key", pa.binary(32)),
        pa.field("tag", pa.int8()),
        ("s", pa.string()),
        ("p", pa.string()),
        ("o", pa.string()),
        ("graph", pa.string()),
    ]
)

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Difference:
    """How many triples were added and removed, how many lines could not be read (`quarantine`: where they are kept), and notes."""

    added: int
    removed: int
    quarantined: int
    quarantine: Path | None
    notes: tuple[str, ...] = ()


def difference(
    old: Sequence[Path],
    new: Sequence[Path],
    *,
    added: Path | None = None,
    removed: Path | None = None,
    memory: int = MEMORY,
    work: Path | None = None,
    options: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
    progress: Progress | None = None,
) -> Difference:
    """Compares two snapshots, each of one or more files or folders of RDF, and writes the triples that only one of them holds.

    `added` and `removed` are files to write (.nt or .nq, perhaps with .gz or .zst behind; a .nt file leaves graph names out); triples
    stand in them in the order of their keys, each once. `memory` in bytes bounds what is held at a time, `work` is the folder in which
    a temporary one is made (default: beside the file to write, else the system's).

    Lines that only one snapshot holds (and those with blank nodes) which cannot be read are set aside beside the file written, or stop
    it with `options.strict`. Raises `InputError` and `EmptyInputError` where a snapshot is not what it claims to be or is cut short,
    `UsageError` on tables and on names of files that say no format, and `StorageError`.
    """
    check_base(options.base)
    for target in (added, removed):
        if target is not None:
            _check_target(target)
    home = work or (added or removed or Path(tempfile.gettempdir(), "x")).parent
    try:
        folder = Path(tempfile.mkdtemp(prefix=".difference-", dir=home))
    except OSError as error:
        raise storage_error(error, str(home)) from error
    try:
        compared = _Comparison(folder, max(memory, LEAST_MEMORY), options, progress)
        return compared.run(old, new, added, removed)
    except OSError as error:
        raise storage_error(error, str(error.filename or folder)) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_target(path: Path) -> None:
    if split_suffix(path)[0] not in (".nt", ".nq"):
        raise UsageError("a difference is written as .nt or .nq", where=str(path), todo="Name the file so; .gz or .zst may follow.")


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the snapshots: its files as lines, and the tag of what only it holds."""

    name: str
    files: list[SourceFile]
    tag: int


class _Comparison:
    def __init__(self, folder: Path, memory: int, options: SourceOptions, progress: Progress | None) -> None:
        self._folder, self._options = folder, options
        self._limit = min(memory // (2 * THREADS), 1 << 30)
        self._quarantine = Quarantine(folder, strict=options.strict)
        self._keyed = Spill(folder / "keyed", _KEYED)
        self._roles = RoleFinder(options.rules)
        self._progress = progress
        self._done: dict[str, int] = {}
        self._total = 0
        self._stopped = False
        self._lock = threading.Lock()
        self._tied = 0
        self._apart: list[list[Hashes]] = [[] for _ in range(BUCKETS)]

    def run(self, old: Sequence[Path], new: Sequence[Path], added: Path | None, removed: Path | None) -> Difference:
        sides = [self._side("old", old, OLD_ONLY), self._side("new", new, NEW_ONLY)]
        self._total = sum(file.size for side in sides for file in side.files)
        costs = self._in_threads(self._deal_out, sides)
        for side in sides:
            for file, aside in zip(side.files, self._asides(side), strict=True):
                self._key_aside(aside, file, side.tag)
        self._in_threads(
            lambda number: self._compare([self._bucket(side, number) for side in sides], sum(one[number] for one in costs), number),
            range(BUCKETS),
        )
        for side in sides:
            self._key(f"{side.name}-only", side, self._quarantine)
        self._key("both", _Side("both", sides[0].files, IN_BOTH), _Ignored())
        counts = self._write(added, removed)
        self._quarantine.close()
        notes = (f"{self._tied:,} groups of blank nodes could not be told apart: they may seem changed",) if self._tied else ()
        return Difference(*counts, self._quarantine.count, self._kept_quarantine(added or removed), notes)

    def _side(self, name: str, paths: Sequence[Path], tag: int) -> _Side:
        sources = source_files([Path(path) for path in paths], self._options.format)
        files = [self._as_lines(source, self._folder / f"{name}.{number}.nq") for number, source in enumerate(sources)]
        return _Side(name, files, tag)

    def _as_lines(self, source: SourceFile, to: Path) -> SourceFile:
        """The file itself where it is one of lines; the statements of another format as N-Quads."""
        if source.format in TABLES:
            raise UsageError(
                f"a {source.format} table has no lines of RDF to compare",
                where=str(source.path),
                todo="`kgaudit audit --state` finds what is new in it.",
            )
        if source.format in ("ntriples", "nquads"):
            return source
        with open(to, "wb") as stream:
            for batch in read_source(source, self._options, self._quarantine):
                stream.write(_lines_of(batch, graphs=True))
        return SourceFile(to, source.name, "nquads")

    def _in_threads(self, work: Callable[[T], Out], items: Iterable[T]) -> list[Out]:
        """What `work` gives for each item. Most of it is done outside Python, so that threads help."""
        with ThreadPoolExecutor(THREADS) as pool:
            try:
                return [one.result() for one in [pool.submit(work, item) for item in items]]
            except BaseException:
                self._stopped = True  # what the others would find is of no use any more
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _deal_out(self, side: _Side) -> list[int]:
        """The lines of one snapshot into buckets; what each bucket takes in memory. What must be read in any case goes aside."""
        costs = np.zeros(BUCKETS, np.int64)
        with ExitStack() as stack:
            files = [stack.enter_context(open(self._bucket(side, number), "wb", buffering=0)) for number in range(BUCKETS)]
            for file, path in zip(side.files, self._asides(side), strict=True):
                with open(path, "wb") as aside:
                    for block in self._blocks(side, file):
                        for part in _plain_parts(block, aside):
                            costs += part.deal(files)
        counted: list[int] = costs.tolist()
        return counted

    def _blocks(self, side: _Side, file: SourceFile) -> Iterator[bytes]:
        """Blocks of whole lines. Raises where the file is cut short."""
        before = self._done.get(side.name, 0)

        def watch(read: int) -> None:
            self._done[side.name] = before + read
            if self._progress:
                self._progress(sum(list(self._done.values())), self._total)

        with SourceStream(file, watch) as stream:
            for block, skipped in LineReader(stream, self._roles, self._quarantine).blocks(BLOCK):
                if self._stopped:
                    return
                if skipped:
                    with self._lock:
                        self._quarantine.add(file.name, 0, block, f"a line of {skipped:,} bytes is too long")
                else:
                    yield block
            stream.raise_failure(0)

    def _asides(self, side: _Side) -> list[Path]:
        return [self._folder / f"{side.name}-aside-{number}" for number in range(len(side.files))]

    def _bucket(self, side: _Side, number: int) -> Path:
        return self._folder / f"{side.name}-{number}"

    def _key_aside(self, path: Path, file: SourceFile, tag: int) -> None:
        blank = BlankNodes(self._folder / "blank", file.name)
        try:
            for batch in self._read(path, file, self._quarantine):
                mask = has_blank(batch)
                if mask.true_count:
                    blank.add(batch.filter(mask))
                ground = batch.filter(pc.invert(mask))
                if ground.num_rows:
                    self._take(ground, tag)
                    hashes = _Lines(_lines_of(ground, graphs=False)).hashes()
                    for number in np.unique(_bucket_of(hashes)).tolist():
                        self._apart[number].append(np.unique(hashes[_bucket_of(hashes) == number]))
            for batch in blank.batches():
                self._take(batch, tag)
            self._tied += blank.tied
        finally:
            blank.discard()

    def _compare(self, paths: Sequence[Path], cost: int, number: int) -> None:
        """Compares one bucket: lines that one side alone holds, and lines of both that may say the same as one of these."""
        pieces = self._cut_up(paths, cost) if cost > self._limit else [paths]
        pairs = _Pairs(cost // _LINE_COST, self._apart[number])
        for piece in pieces:
            bucket = _Bucket(*piece)
            for name, content in (("old-only", bucket.only(OLD_ONLY)), ("new-only", bucket.only(NEW_ONLY))):
                pairs.add(content)
                self._append(name, content)
        for piece in pieces if pairs else ():
            bucket = bucket if len(pieces) == 1 else _Bucket(*piece)
            self._append("both", bucket.both(pairs))
        for path in chain.from_iterable(pieces):
            path.unlink()

    def _append(self, name: str, content: bytes) -> None:
        with self._lock, open(self._folder / name, "ab") as out:
            out.write(content)

    def _cut_up(self, paths: Sequence[Path], cost: int) -> list[Sequence[Path]]:
        """Smaller buckets by a hash of the whole line: subject and predicate may be the same in all of a bucket."""
        count = min(512, 2 * cost // self._limit + 1)
        for path in paths:
            with ExitStack() as stack:
                files = [stack.enter_context(open(path.with_name(f"{path.name}-{number}"), "wb")) for number in range(count)]
                for line in stack.enter_context(open(path, "rb")):
                    files[hash(line) % count].write(line)
            path.unlink()
        return [[path.with_name(f"{path.name}-{number}") for path in paths] for number in range(count)]

    def _key(self, name: str, side: _Side, quarantine: Quarantine) -> None:
        path = self._folder / name
        if path.exists():
            quads = any(file.format == "nquads" for file in side.files)
            for batch in self._read(path, SourceFile(path, side.name, "nquads" if quads else "ntriples"), quarantine):
                self._take(batch, side.tag)

    def _read(self, path: Path, source: SourceFile, quarantine: Quarantine) -> Iterator[pa.RecordBatch]:
        with open(path, "rb") as file:
            yield from LineReader(_Kept(file, source), self._roles, quarantine)  # type: ignore[arg-type]

    def _take(self, batch: pa.RecordBatch, tag: int) -> None:
        keys = claim_keys(batch)
        whole = bytes.fromhex("".join(keys))
        terms = [pa.nulls(len(keys), pa.string()) if tag == IN_BOTH else batch.column(name) for name in ("s", "p", "o", "graph")]
        columns = [
            pa.FixedSizeBinaryArray.from_buffers(pa.binary(32), len(keys), [None, pa.py_buffer(whole)]),
            pa.array(np.full(len(keys), tag, np.int8)),
            *terms,
        ]
        self._keyed.add(pa.RecordBatch.from_arrays(columns, schema=_KEYED), np.frombuffer(whole, np.uint8)[::32])

    def _write(self, added: Path | None, removed: Path | None) -> tuple[int, int]:
        counts = {NEW_ONLY: 0, OLD_ONLY: 0}
        ways = ((NEW_ONLY, added, (OLD_ONLY, IN_BOTH)), (OLD_ONLY, removed, (NEW_ONLY, IN_BOTH)))
        with ExitStack() as stack:
            outs = [stack.enter_context(_written(path)) if path else None for _, path, _ in ways]
            for table in self._keyed.tables():
                for (only, path, others), out in zip(ways, outs, strict=True):
                    known = table.filter(pc.is_in(table["tag"], pa.array(others, pa.int8())))["key"]
                    mine = table.filter(pc.equal(table["tag"], pa.scalar(only, pa.int8())))
                    rows = _each_once(mine.filter(pc.invert(pc.is_in(mine["key"], known))))
                    counts[only] += rows.num_rows
                    if out is not None and path is not None:
                        out.write(_lines_of(rows, graphs=split_suffix(path)[0] == ".nq"))
        return counts[NEW_ONLY], counts[OLD_ONLY]

    def _kept_quarantine(self, beside: Path | None) -> Path | None:
        if not self._quarantine.count or beside is None:
            return None
        target = beside.with_name(beside.name + ".quarantine.jsonl")
        shutil.copyfile(self._quarantine.path, target)
        return target


class _Ignored(Quarantine):
    """For lines that are no difference, good or bad."""

    def __init__(self) -> None:
        self.strict, self.count = False, 0

    def add(self, file: str, line: int, text: str | bytes, reason: str, *, last_line: int | None = None) -> None:
        pass


class _Kept:
    """Lines that were kept from a file, as a stream for `LineReader`."""

    failure = None

    def __init__(self, file: IO[bytes], source: SourceFile) -> None:
        self.read, self.source = file.read, source


class _Lines:
    """Whole lines of a block, and where subject and predicate end in them: at their first two spaces."""

    def __init__(self, block: bytes) -> None:
        self.block = block
        self.data = np.frombuffer(block, np.uint8)
        self.ends = np.flatnonzero(self.data == 10)
        self.starts = np.append(0, self.ends[:-1] + 1)
        spaces = np.append(np.flatnonzero(self.data == 32), (len(block), len(block) + 2))
        at = np.searchsorted(spaces, self.starts)
        self.first, self.second = spaces[at], spaces[at + 1]

    def of(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The numbers of the lines that hold these positions."""
        return np.searchsorted(self.starts, positions, "right") - 1

    def hashes(self) -> Hashes:
        """A number for the last bytes of subject and predicate of each line; good enough to deal lines out, and cheap."""
        padded = np.frombuffer(bytes(_TAIL) + self.block + bytes(2), np.uint8)
        tails = np.lib.stride_tricks.sliding_window_view(padded, _TAIL)
        found = np.zeros(len(self.starts), np.uint64)
        for begin, end in ((self.starts, self.first), (self.first + 1, self.second)):
            tail = tails[np.minimum(end, len(self.block))]
            missing = _TAIL - (end - begin)
            for row in np.flatnonzero(missing > 0).tolist():  # what stands before a short term is not its own
                tail[row, : missing[row]] = 0
            for word in tail.view("<u8").T:
                found = (found ^ word) * _ODD
        found ^= found >> np.uint64(32)
        return found * _ODD

    def deal(self, files: Sequence[IO[bytes]]) -> npt.NDArray[np.int64]:
        """Writes each line to the file of its bucket; what the lines of each take in memory."""
        bucket = _bucket_of(self.hashes())
        order = np.argsort(bucket, kind="stable")
        offsets = np.append(0, self.ends + 1).astype(np.int32)
        lines = pa.Array.from_buffers(pa.binary(), len(self.ends), [None, pa.py_buffer(offsets), pa.py_buffer(self.block)])
        taken = lines.take(pa.array(order))
        _, bounds, content = taken.buffers()
        counts = np.bincount(bucket, minlength=BUCKETS)
        at = np.frombuffer(bounds, np.int32)[np.append(0, np.cumsum(counts))]
        view = memoryview(content)
        for number in np.flatnonzero(counts).tolist():
            files[number].write(view[at[number] : at[number + 1]])
        sizes: npt.NDArray[np.int64] = 3 * np.diff(at) + _LINE_COST * counts
        return sizes


def _bucket_of(hashes: Hashes) -> npt.NDArray[np.uint8]:
    return (hashes >> np.uint64(64 - BUCKETS.bit_length() + 1)).astype(np.uint8)


def _plain_parts(block: bytes, aside: IO[bytes]) -> Iterator[_Lines]:
    """The lines of a block in which subject and predicate stand as in canonical N-Triples: unescaped, with one space behind each.

    Lines with other white space are brought into that form; those that must be read as RDF in any case (blank nodes, escapes) are
    written to `aside`; comments are left out.
    """
    lines = _Lines(block)
    unusual, blank = _unusual(lines), _with_blank(lines)
    plain = ~(unusual | blank)
    if plain.all():
        yield lines
        return
    bounds = list(zip(lines.starts.tolist(), lines.ends.tolist(), strict=True))
    aside.writelines(block[begin : end + 1] for begin, end in (bounds[i] for i in np.flatnonzero(blank).tolist()))
    usual = [_usual(block[begin:end], aside) for begin, end in (bounds[i] for i in np.flatnonzero(unusual & ~blank).tolist())]
    changed = b"".join(usual)
    if changed:
        yield _Lines(changed)
    if plain.any():
        yield _Lines(b"".join([block[begin : end + 1] for begin, end in (bounds[i] for i in np.flatnonzero(plain).tolist())]))


def _unusual(lines: _Lines) -> npt.NDArray[np.bool_]:
    """Which lines have no two plain terms at their beginning, with one space behind each."""
    found: npt.NDArray[np.bool_] = (lines.first == lines.starts) | (lines.second == lines.first + 1) | (lines.second > lines.ends)
    data = lines.data
    closing = np.flatnonzero(data == 62)
    behind = data[closing + 1]  # there is one: a block ends in LF
    suspects = [closing[(behind == 60) | (behind == 34) | (behind == 95)]]  # > before < " _
    suspects += [np.flatnonzero(data == rare[0]) for rare in (b"\t", b"\\") if rare in lines.block]
    for positions in suspects:
        holder = lines.of(positions)
        found[holder[positions < lines.second[holder]]] = True
    return found


def _with_blank(lines: _Lines) -> npt.NDArray[np.bool_]:
    """Which lines hold `_:` and may thus hold a blank node."""
    found = np.zeros(len(lines.starts), np.bool_)
    underscores = np.flatnonzero(lines.data == 95)
    found[lines.of(underscores[lines.data[underscores + 1] == 58])] = True
    return found


def _usual(line: bytes, aside: IO[bytes]) -> bytes:
    """The line with usual white space at its beginning; nothing where it is a comment or went aside."""
    parts = line.split(None, 2)
    if not parts or parts[0].startswith(b"#"):
        return b""
    if len(parts) < 3 or any(b"\\" in part or part.find(b">") != len(part) - 1 for part in parts[:2]):
        aside.write(line + b"\n")
        return b""
    return b" ".join(parts) + b"\n"


class _Bucket:
    """The lines of one bucket of both snapshots, each different one by a number."""

    def __init__(self, old: Path, new: Path) -> None:
        parts = [old.read_bytes(), new.read_bytes()]
        self._old = parts[0]
        whole = parts[0] + parts[1]
        ends = np.flatnonzero(np.frombuffer(whole, np.uint8) == 10) + 1
        offsets = np.append(0, ends).astype(np.int32)
        lines = pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(whole)])
        encoded = lines.dictionary_encode()
        self._lines = encoded.dictionary
        codes = encoded.indices.to_numpy()
        self._codes = codes[: np.searchsorted(ends, len(self._old), "right")]
        self._held = [np.zeros(len(self._lines), np.bool_) for _ in parts]
        self._held[OLD_ONLY][self._codes] = True
        self._held[NEW_ONLY][codes[len(self._codes) :]] = True

    def only(self, side: int) -> bytes:
        """The lines that this side alone holds, each once, with their ends."""
        return self._content(self._held[side] & ~self._held[1 - side])

    def both(self, pairs: _Pairs) -> bytes:
        """The lines of both that may begin with one of the pairs."""
        if not self._old:
            return b""
        chosen = np.zeros(len(self._lines), np.bool_)
        chosen[self._codes[pairs.hits(self._old)]] = True
        return self._content(chosen & self._held[OLD_ONLY] & self._held[NEW_ONLY])

    def _content(self, chosen: npt.NDArray[np.bool_]) -> bytes:
        taken = self._lines.take(pa.array(np.flatnonzero(chosen)))
        return b"".join(taken.to_pylist())


class _Pairs:
    """Subjects with predicates, in a table that may say yes too often (such lines are read in vain), never too seldom."""

    def __init__(self, size: int, hashes: Sequence[Hashes]) -> None:
        """`size`: how many pairs there may be; `hashes`: pairs that are there from the beginning."""
        self._table = np.zeros(1 << min(26, max(12, (4 * size).bit_length())), np.bool_)
        self._mask = np.uint64(len(self._table) - 1)
        self._some = False
        for some in hashes:
            self._mark(some)

    def __bool__(self) -> bool:
        return self._some

    def add(self, block: bytes) -> None:
        """Takes the subjects and predicates of lines."""
        if block:
            self._mark(_Lines(block).hashes())

    def _mark(self, hashes: Hashes) -> None:
        self._table[hashes & self._mask] = True
        self._some = True

    def hits(self, block: bytes) -> npt.NDArray[np.bool_]:
        """Which lines may begin with one of the pairs."""
        found: npt.NDArray[np.bool_] = self._table[_Lines(block).hashes() & self._mask]
        return found


def _each_once(table: pa.Table) -> pa.Table:
    """One row a key, in the order of the keys; of several the one whose terms come first."""
    ordered = table.take(pc.sort_indices(table, [(name, "ascending") for name in ("key", "o", "graph")])).combine_chunks()
    keys = ordered["key"].combine_chunks()
    begins = np.ones(len(keys), np.bool_)
    if len(keys) > 1:
        begins[1:] = pc.not_equal(keys.slice(1), keys.slice(0, len(keys) - 1)).to_numpy(zero_copy_only=False)
    return ordered.filter(pa.array(begins))


def _lines_of(rows: pa.Table | pa.RecordBatch, *, graphs: bool) -> bytes:
    s, p, o = (rows.column(name).to_pylist() for name in ("s", "p", "o"))
    if not graphs:
        return "".join([f"{a} {b} {c} .\n" for a, b, c in zip(s, p, o, strict=True)]).encode()
    names = rows.column("graph").to_pylist()
    return "".join([f"{a} {b} {c} {g + ' ' if g else ''}.\n" for a, b, c, g in zip(s, p, o, names, strict=True)]).encode()


@contextmanager
def _written(path: Path) -> Iterator[IO[bytes]]:
    """A file that is whole or not there, compressed as its name says. Raises `StorageError`."""
    temporary = path.with_name(f".writing-{os.getpid()}-{path.name}")
    compression = split_suffix(path)[1]
    try:
        try:
            if compression is None:
                with open(temporary, "wb") as plain:
                    yield plain
            elif compression == "gzip":
                with gzip.open(temporary, "wb", compresslevel=6) as packed:
                    yield packed  # type: ignore[misc]
            else:
                with pa.OSFile(str(temporary), "wb") as file, pa.CompressedOutputStream(file, "zstd") as stream:
                    yield stream
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error(error, str(path)) from error
