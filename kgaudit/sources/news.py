"""What is new in a graph since the last audit.

By default (`state`) every triple is new whose key the state of the graph does not hold: nothing can be missed, and nothing is verified
twice. The other ways narrow that down where a graph says itself what was added: `graphs` takes triples of named graphs that were not
seen before, `time` those that the graph's provenance (prov:generatedAtTime, dct:issued, dct:created and the like, of the named graph,
the reified triple or the row) dates at or after the watermark, `sparql` those that a query at an endpoint gives. A triple that the
state holds is never new by any of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

By = Literal["state", "graphs", "time", "sparql"]
Again = Literal["changed-judge", "changed-documents"]
WAYS: tuple[By, ...] = get_args(By)
REASONS: tuple[Again, ...] = get_args(Again)

DEFAULT_GRAPH = ""
"""What stands for the default graph among the graphs that were seen."""


@dataclass(frozen=True, slots=True)
class Selection:
    """How what is new is told, and what is verified again.

    `endpoint` and `query` (SELECT with the variables s, p, o and perhaps g, or CONSTRUCT) belong to `sparql`. `whole`: the files are
    the whole graph, so that a triple which the state holds and they do not was removed; otherwise they hold only what was added, and
    `removed` may name a file of the triples that were taken out. `again`: known triples that are verified once more, `changed-judge`
    where judge, policy or statement are not those of their verdict, `changed-documents` where their searches now return something else.
    """

    by: By = "state"
    endpoint: str | None = None
    query: str | None = None
    whole: bool = True
    removed: str | None = None
    again: tuple[Again, ...] = ()


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far a graph was audited: the latest time of a triple (ISO 8601, UTC; None: no triple had one), the named graphs seen."""

    time: str | None = None
    graphs: frozenset[str] = field(default_factory=frozenset)


def moment(text: str | None) -> datetime | None:
    """The time that a text of XSD or ISO 8601 form names, in UTC (a time without a zone is taken for UTC); None where it names none."""
    try:
        found = datetime.fromisoformat((text or "").strip())
    except ValueError:
        return None
    try:
        return found.replace(tzinfo=timezone.utc) if found.tzinfo is None else found.astimezone(timezone.utc)
    except OverflowError:  # year 1 or 9999 in a zone that leads beyond
        return None


class NewFinder:
    """Decides for batches of candidates (`CANDIDATE_SCHEMA`) which are new, and learns how far the watermark may move.

    `query_file` is what the places of the query's triples are called (`sparql`). `now` bounds the watermark: a triple dated in the
    future must not hide those of the nights until then.
    """

    def __init__(self, selection: Selection, watermark: Watermark, now: datetime, query_file: str = "") -> None:
        self._by = selection.by
        self._now = now
        self._file = query_file
        self._since = moment(watermark.time)
        self._seen = watermark.graphs
        self._begins = watermark == Watermark()
        self.latest = self._since
        self.graphs: set[str] = set()

    def __call__(self, batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Which rows are new, whether the state knows them or not."""
        places = pc.list_flatten(batch["places"])
        parents = pc.list_parent_indices(batch["places"]).to_numpy()
        graphs = pc.fill_null(pc.struct_field(places, "graph"), DEFAULT_GRAPH).dictionary_encode()
        times = pc.struct_field(places, "extracted_at").dictionary_encode()
        self.graphs.update(graphs.dictionary.to_pylist())
        moments = [moment(text) for text in times.dictionary.to_pylist()]
        past = [one for one in moments if one is not None and one <= self._now]
        self.latest = max([*past, *([self.latest] if self.latest else [])], default=None)
        if self._by == "state" or (self._begins and self._by != "sparql"):
            return np.ones(batch.num_rows, np.bool_)
        if self._by == "graphs":
            hits = _picked(graphs, [graph not in self._seen for graph in graphs.dictionary.to_pylist()], none=False)
        elif self._by == "time":
            # What has no time may be new: the state decides.
            hits = _picked(times, [self._since is None or one is None or one >= self._since for one in moments], none=True)
        else:
            hits = pc.equal(pc.struct_field(places, "file"), self._file).to_numpy(zero_copy_only=False)
        return np.bincount(parents[hits], minlength=batch.num_rows).astype(np.bool_)

    def moved(self) -> Watermark:
        """The watermark once all that was new has its verdict."""
        return Watermark(self.latest.isoformat() if self.latest else None, self._seen | self.graphs)

    def new_graphs(self) -> Iterable[str]:
        """The named graphs that were not seen before, sorted."""
        return sorted(self.graphs - self._seen)


def _picked(encoded: pa.DictionaryArray, chosen: list[bool], *, none: bool) -> npt.NDArray[np.bool_]:
    """The rows whose dictionary entry is chosen; `none`: whether rows without one are."""
    picked = pa.array(chosen, pa.bool_()).take(encoded.indices) if len(encoded) else pa.array([], pa.bool_())
    found: npt.NDArray[np.bool_] = pc.fill_null(picked, none).to_numpy(zero_copy_only=False)
    return found
