"""Claim statements into candidates: one row a key, in seeded random order, merged on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgaudit.errors import storage_error
from kgaudit.sources.spill import Spill
from kgaudit.sources.statements import STATEMENT_SCHEMA
from kgaudit.triples import CANDIDATE_SCHEMA, PLACE_TYPE, Candidate, Place, Triple, canonical_term, place_from_dict, place_to_dict

READ_ROWS = 4096

_SPILL_SCHEMA = pa.schema(
    [
        pa.field("order", pa.uint64()),
        pa.field("key", pa.string()),
        pa.field("file", pa.string()),
        *(field for field in STATEMENT_SCHEMA if field.name != "role"),
    ]
)


def claim_keys(batch: pa.RecordBatch) -> list[str]:
    """The triple key of each row (`kgaudit.triples.triple_key`, whose form this must keep)."""
    s, p, o = (batch.column(name).to_pylist() for name in ("s", "p", "o"))
    lines = [f"{a} {b} {c if c[0] == '<' != c[1] else canonical_term(c)} .\n" for a, b, c in zip(s, p, o, strict=True)]
    if batch.column("valid_from").null_count < len(lines) or batch.column("valid_until").null_count < len(lines):
        intervals = zip(batch.column("valid_from").to_pylist(), batch.column("valid_until").to_pylist(), strict=True)
        lines = [
            f"{line}{start or ''}/{end or ''}\n" if start or end else line for line, (start, end) in zip(lines, intervals, strict=True)
        ]
    return [sha256(line.encode()).hexdigest() for line in lines]


@dataclass(frozen=True, slots=True)
class Said:
    """What the graph's own provenance says of a place."""

    statement: str | None = None
    documents: tuple[str, ...] = ()
    extractor: str | None = None
    extracted_at: str | None = None


class CandidateWriter:
    """Takes claim statements and writes candidates."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._seed = str(seed)
        self._spill = Spill(folder / "claims", _SPILL_SCHEMA)

    def add(self, batch: pa.RecordBatch, keys: list[str], file: str) -> None:
        """Takes a batch of `STATEMENT_SCHEMA` from one file."""
        digests = b"".join([sha256(f"{self._seed}{key}".encode()).digest()[:8] for key in keys])
        order = np.frombuffer(digests, ">u8").astype(np.uint64)
        columns = [
            pa.array(order),
            pa.array(keys, pa.string()),
            pa.repeat(pa.scalar(file, pa.string()), len(keys)),
            *(batch.column(field.name) for field in STATEMENT_SCHEMA if field.name != "role"),
        ]
        self._spill.add(pa.RecordBatch.from_arrays(columns, schema=_SPILL_SCHEMA), (order >> np.uint64(56)).astype(np.uint8))

    def write(
        self,
        path: Path,
        of_graph: Callable[[str], Said],
        of_triple: Callable[[str], list[Said]] | None,
        is_reifier: Callable[[str], bool] | None,
    ) -> tuple[Counter[str], int]:
        """Writes the candidates, with what provenance says of their graphs and of themselves.

        Returns the candidates of each predicate, and how many statements were left out since their subject stands for a triple.
        """
        claims: Counter[str] = Counter()
        left_out = 0
        try:
            with (
                pa.OSFile(str(path), "wb") as file,
                pa.ipc.new_file(file, CANDIDATE_SCHEMA, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer,
            ):
                for table in self._spill.tables():
                    if is_reifier:
                        kept = pa.array([not is_reifier(s) for s in table.column("s").to_pylist()])
                        left_out += len(kept) - kept.true_count
                        table = table.filter(kept).combine_chunks()
                    if table.num_rows:
                        merged = _merged(_with_provenance(table, of_graph))
                        merged = _with_reifiers(merged, of_triple) if of_triple else merged
                        for counted in merged.column("p").value_counts().to_pylist():
                            claims[counted["values"]] += counted["counts"]
                        writer.write_table(pa.Table.from_batches([merged]), max_chunksize=READ_ROWS)
        except OSError as error:
            raise storage_error(error, str(path)) from error
        return claims, left_out

    def discard(self) -> None:
        """Removes what is still on disk."""
        self._spill.discard()


def _with_provenance(table: pa.Table, of_graph: Callable[[str], Said]) -> pa.Table:
    """Fills extractor, time and documents from what is said of the named graph, where the row itself says nothing."""
    graphs = table.column("graph").combine_chunks()
    if graphs.null_count == len(graphs):
        return table
    encoded = graphs.dictionary_encode()
    said = [of_graph(graph) for graph in encoded.dictionary.to_pylist()]
    for name in ("extractor", "extracted_at"):
        values = pa.array([getattr(one, name) for one in said], pa.string()).take(encoded.indices)
        table = table.set_column(table.schema.get_field_index(name), name, pc.coalesce(table.column(name), values))
    documents = pa.array([list(one.documents) or None for one in said], pa.list_(pa.string())).take(encoded.indices)
    own = table.column("documents")
    return table.set_column(table.schema.get_field_index("documents"), "documents", pc.if_else(pc.is_valid(own), own, documents))


def _merged(table: pa.Table) -> pa.RecordBatch:
    """One row a key, sorted by (order, key), with the list of its places in the order in which they came."""
    table = table.take(pc.sort_indices(table, [("order", "ascending"), ("key", "ascending")])).combine_chunks()
    column = {name: table.column(name).combine_chunks() for name in table.column_names}
    keys = column["key"]
    n = len(keys)
    begins = np.ones(n, bool)
    begins[1:] = pc.not_equal(keys.slice(1), keys.slice(0, n - 1)).to_numpy(zero_copy_only=False)
    firsts = np.flatnonzero(begins)
    places = pa.StructArray.from_arrays([column[field.name] for field in PLACE_TYPE], fields=list(PLACE_TYPE))
    offsets = pa.array(np.append(firsts, n).astype(np.int32))
    of_key = pa.ListArray.from_arrays(offsets, places)
    if len(firsts) < n:
        of_key = _without_copies(of_key, np.diff(np.append(firsts, n)))
    heads = pa.array(firsts)
    return pa.RecordBatch.from_arrays(
        [*(column[name].take(heads) for name in ("key", "s", "p", "o", "valid_from", "valid_until")), of_key], schema=CANDIDATE_SCHEMA
    )


def _without_copies(places: pa.ListArray, lengths: np.ndarray) -> pa.Array:
    """A format without lines says the same place for every copy of a triple: once is enough."""
    several = np.flatnonzero(lengths > 1)
    chosen = places.take(pa.array(several)).to_pylist()
    once = [list({place_from_dict(place): place for place in group}.values()) for group in chosen]
    if all(len(after) == len(before) for after, before in zip(once, chosen, strict=True)):
        return places
    mask = np.zeros(len(places), bool)
    mask[several] = True
    position = np.arange(len(places))
    position[several] = len(places) + np.arange(len(several))
    return pa.concat_arrays([places, pa.array(once, places.type)]).take(pa.array(position))


def _with_reifiers(batch: pa.RecordBatch, of_triple: Callable[[str], list[Said]]) -> pa.RecordBatch:
    """Fills places from what stands beside the reified triple; with several reifiers there is a place for each."""
    keys = batch.column("key").to_pylist()
    said = [(row, of_triple(key)) for row, key in enumerate(keys)]
    found = {row: one for row, one in said if one}
    if not found:
        return batch
    places = batch.column("places").to_pylist()
    for row, several in found.items():
        own = [place_from_dict(place) for place in places[row]]
        filled = [_filled(place, one) for one in several for place in own]
        places[row] = [place_to_dict(place) for place in dict.fromkeys(filled)]
    return batch.set_column(
        batch.schema.get_field_index("places"), CANDIDATE_SCHEMA.field("places"), pa.array(places, pa.list_(PLACE_TYPE))
    )


def _filled(place: Place, said: Said) -> Place:
    return replace(
        place,
        statement=place.statement or said.statement,
        documents=place.documents or said.documents,
        extractor=place.extractor or said.extractor,
        extracted_at=place.extracted_at or said.extracted_at,
    )


def read_candidates(path: Path, first: int = 0, batches: int | None = None) -> Iterator[Candidate]:
    """The candidates of a file that `CandidateWriter` wrote, in its order; `first` and `batches` name a stretch of its batches.

    Raises `StorageError` where it cannot be read.
    """
    for batch in candidate_batches(path, first, batches):
        yield from _candidates(batch)


def candidate_batches(path: Path, first: int = 0, batches: int | None = None) -> Iterator[pa.RecordBatch]:
    """The batches (`CANDIDATE_SCHEMA`) behind `read_candidates`."""
    try:
        with pa.OSFile(str(path), "rb") as file:
            reader = pa.ipc.open_file(file)
            for i in range(first, reader.num_record_batches if batches is None else first + batches):
                yield reader.get_batch(i)
    except OSError as error:
        raise storage_error(error, str(path)) from error


def _candidates(batch: pa.RecordBatch) -> Iterator[Candidate]:
    lists = batch.column("places")
    fields = [column.to_pylist() for column in lists.flatten().flatten()]
    places = [
        Place(file, line, graph, statement, tuple(documents or ()), extractor, extracted_at)
        for file, line, graph, statement, documents, extractor, extracted_at in zip(*fields, strict=True)
    ]
    ends = np.cumsum(pc.list_value_length(lists).to_numpy(zero_copy_only=False)).tolist()
    begin = 0
    columns = (batch.column(name).to_pylist() for name in ("key", "s", "p", "o", "valid_from", "valid_until"))
    for (key, s, p, o, valid_from, valid_until), end in zip(zip(*columns, strict=True), ends, strict=True):
        yield Candidate(key, Triple(s, p, o, valid_from, valid_until), tuple(places[begin:end]))
        begin = end
