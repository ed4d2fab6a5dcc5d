"""The triples of a run as columns: what sampling, the verifier card and the gate need to know of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgaudit.gate.estimators import Floats, Ints
from kgaudit.runs.reader import RunReader
from kgaudit.verdicts import VERDICTS

_SCORE_BY_VERDICT = pa.array([1.0, 0.0, 0.5, 0.5])
"""P(true) where a verdict came without a probability, in the order of `VERDICTS`."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The triples of a run, in its order; codes point into `subjects`, `predicates`, `VERDICTS` and `sources`.

    `score` is P(true): the calibrated one (`probability`), or 1, 0 and one half by verdict where that is NaN. A triple may come from
    several sources (extractor, else named graph, else file of each place): `source` is that of its first place, `origins` holds all
    pairs (row, source).
    """

    keys: pa.Array
    subject: Ints
    predicate: Ints
    verdict: Ints
    source: Ints
    score: Floats
    probability: Floats
    subjects: tuple[str, ...]
    predicates: tuple[str, ...]
    predicate_labels: tuple[str, ...]
    sources: tuple[str, ...]
    origins: tuple[Ints, Ints]

    def __len__(self) -> int:
        return len(self.keys)

    def positions(self, keys: Sequence[str]) -> Ints:
        """Where these keys stand, -1 for one that the run does not hold."""
        found = pc.index_in(pa.array(keys, pa.string()), value_set=self.keys)
        return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)

    def order(self, seed: int) -> Ints:
        """The rows in a random order that depends on seed and keys alone.

        A triple keeps its place among the others when the graph changes, so that the sample of tomorrow's run with the same seed holds
        most of today's (permanent random numbers: K. R. W. Brewer et al. 1972), and a longer sample begins with the shorter one.
        """
        prefix = f"label {seed} ".encode()
        numbers = [int.from_bytes(sha256(prefix + key.encode()).digest()[:8], "big") for key in self.keys.to_pylist()]
        return np.argsort(np.array(numbers, np.uint64), kind="stable").astype(np.int64)

    def in_predicate(self, name: str) -> npt.NDArray[np.bool_]:
        """Which triples have this predicate, named by IRI or by label."""
        codes = [i for i, (term, label) in enumerate(zip(self.predicates, self.predicate_labels, strict=True))
                 if name in (term, term[1:-1], label)]  # fmt: skip
        return np.isin(self.predicate, codes)

    def in_source(self, name: str) -> npt.NDArray[np.bool_]:
        """Which triples came from this source, among others."""
        rows, codes = self.origins
        found = np.zeros(len(self), np.bool_)
        if name in self.sources:
            found[rows[codes == self.sources.index(name)]] = True
        return found


def read_rows(reader: RunReader) -> Rows:
    """The rows of a run; about 200 bytes a triple."""
    tables = [_narrow(batch) for batch in reader.batches(["key", "s", "p", "p_label", "verdict", "p_supported", "places"])]
    table = pa.concat_tables(tables) if tables else _narrow(pa.RecordBatch.from_pylist([], _READ))
    subject, subjects = _codes(table["s"])
    predicate, predicates = _codes(table["p"])
    source, sources = _codes(pa.chunked_array([pc.list_flatten(chunk) for chunk in table["origins"].chunks], pa.string()))
    lengths = np.asarray(pc.fill_null(pc.list_value_length(table["origins"]), 0).to_numpy(), np.int64)
    verdict = np.asarray(pc.index_in(table["verdict"], value_set=pa.array(VERDICTS)).to_numpy(), np.int64)
    probability = np.asarray(table["p_supported"].to_numpy(), np.float64)
    first = np.full(len(table), -1, np.int64)
    starts = np.cumsum(lengths) - lengths
    first[lengths > 0] = source[starts[lengths > 0]]
    return Rows(
        keys=_whole(table["key"]),
        subject=subject,
        predicate=predicate,
        verdict=verdict,
        source=first,
        score=np.where(np.isnan(probability), _SCORE_BY_VERDICT.to_numpy()[verdict], probability),
        probability=probability,
        subjects=subjects,
        predicates=predicates,
        predicate_labels=_labels(predicate, table["p_label"], len(predicates)),
        sources=sources,
        origins=(np.repeat(np.arange(len(table)), lengths), source),
    )


_READ = pa.schema(
    [("key", pa.string()), ("s", pa.string()), ("p", pa.string()), ("p_label", pa.string()), ("verdict", pa.string()),
     ("p_supported", pa.float64()),
     ("places", pa.list_(pa.struct([("file", pa.string()), ("graph", pa.string()), ("extractor", pa.string())])))]
)  # fmt: skip


def _narrow(batch: pa.RecordBatch) -> pa.Table:
    """The batch with the source of each place in the column `origins`, each once a triple."""
    parents, places = pc.list_parent_indices(batch["places"]), pc.list_flatten(batch["places"])
    names = pc.coalesce(*(pc.struct_field(places, name) for name in ("extractor", "graph", "file")))
    each = pa.table({"row": parents, "name": names, "at": np.arange(len(parents))}).group_by(["row", "name"]).aggregate([("at", "min")])
    each = each.sort_by([("row", "ascending"), ("at_min", "ascending")])
    counts = np.bincount(each["row"].to_numpy(), minlength=batch.num_rows) if batch.num_rows else np.zeros(0, np.int64)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    origins = pa.ListArray.from_arrays(offsets, _whole(each["name"]))
    names_kept = ["key", "s", "p", "p_label", "verdict", "p_supported"]
    return pa.table([*(batch[name] for name in names_kept), origins], names=[*names_kept, "origins"])


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _codes(column: pa.ChunkedArray) -> tuple[Ints, tuple[str, ...]]:
    encoded = _whole(column).dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64), tuple(encoded.dictionary.to_pylist())


def _labels(codes: Ints, labels: pa.ChunkedArray, count: int) -> tuple[str, ...]:
    _, first = np.unique(codes, return_index=True)
    found: list[Any] = labels.take(pa.array(first)).to_pylist()
    assert len(found) == count
    return tuple(found)
