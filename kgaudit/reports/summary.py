"""What a run found, in figures: counts, shares and pass rates, as a whole, by predicate and by where the triples came from."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from kgaudit.runs.counts import Counts, sum_counts
from kgaudit.runs.reader import RunReader

SourceKind = Literal["file", "graph", "extractor", "document"]
SOURCE_KINDS: tuple[SourceKind, ...] = ("file", "graph", "extractor", "document")
_Z95 = 1.959963984540054


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % score interval of a share. Raises `ValueError` where there were no trials.

    Source: E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22(158).
    """
    if trials <= 0:
        raise ValueError("no trials, no interval")
    share, spread = successes / trials, _Z95 * _Z95 / trials
    centre = (share + spread / 2) / (1 + spread)
    half = _Z95 / (1 + spread) * math.sqrt(share * (1 - share) / trials + spread / (4 * trials))
    return (0.0 if successes == 0 else centre - half), (1.0 if successes == trials else centre + half)


def interval(counts: Counts) -> tuple[float, float] | None:
    """The 95 % Wilson interval of the pass rate; None where nothing was judged."""
    return wilson(counts.verdicts["supported"], counts.judged) if counts.judged else None


@dataclass(frozen=True, slots=True)
class Group:
    """The counts of one predicate or one source. `name` identifies it (a term, a file, ...; "": none given), `label` is for people."""

    name: str
    label: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a run; groups stand in the order of how many of their triples were refuted.

    A triple that was found in several places counts once in each source that it was found in.
    """

    total: Counts
    predicates: tuple[Group, ...]
    sources: dict[SourceKind, tuple[Group, ...]]


def figures(reader: RunReader) -> Figures:
    """Counts the rows of a run; memory grows with the number of different predicates and sources, not of triples."""
    labels: dict[str, str] = {}
    predicates: dict[str, Counts] = defaultdict(Counts)
    sources: dict[SourceKind, dict[str, Counts]] = {kind: defaultdict(Counts) for kind in SOURCE_KINDS}
    for batch in reader.batches(["p", "p_label", "verdict", "places"]):
        for (predicate, label, verdict), count in _grouped(batch.select(["p", "p_label", "verdict"])):
            labels.setdefault(predicate, label)
            predicates[predicate].verdicts[verdict] += count
        for kind in SOURCE_KINDS:
            for (name, verdict), count in _grouped(_source_rows(batch, kind)):
                sources[kind][name or ""].verdicts[verdict] += count
    return Figures(
        total=sum_counts(predicates),
        predicates=_groups(predicates, labels),
        sources={kind: _groups(found, {}) for kind, found in sources.items() if any(found)},
    )


def _grouped(rows: pa.RecordBatch) -> Iterator[tuple[tuple[str, ...], int]]:
    table = pa.Table.from_batches([rows])
    names = table.column_names
    counted = table.group_by(names).aggregate([([], "count_all")])
    keys = zip(*(counted[name].to_pylist() for name in names), strict=True)
    yield from zip(keys, counted["count_all"].to_pylist(), strict=True)


def _source_rows(batch: pa.RecordBatch, kind: SourceKind) -> pa.RecordBatch:
    """(source, verdict), each source once a triple."""
    rows, places = pc.list_parent_indices(batch["places"]), pc.list_flatten(batch["places"])
    if kind == "document":
        inner = pc.struct_field(places, "documents")
        rows, names = pc.take(rows, pc.list_parent_indices(inner)), pc.list_flatten(inner)
    else:
        names = pc.struct_field(places, kind)
    distinct = pa.table({"row": rows, "name": names}).group_by(["row", "name"]).aggregate([]).combine_chunks()
    verdicts = pc.take(batch["verdict"], distinct["row"])
    table = pa.table({"name": distinct["name"], "verdict": verdicts}).combine_chunks()
    batches = table.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)


def _groups(counts: Mapping[str, Counts], labels: Mapping[str, str]) -> tuple[Group, ...]:
    groups = [Group(name, labels.get(name, name), found) for name, found in counts.items()]
    return tuple(sorted(groups, key=lambda group: (-group.counts.verdicts["refuted"], -group.counts.total, group.label, group.name)))
