"""Counts of a ledger: by verdict, by predicate, by any column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from kgaudit.runs.ledger import open_parts, read_part
from kgaudit.verdicts import VERDICTS


@dataclass(frozen=True, slots=True)
class Counts:
    """How many triples got which verdict."""

    verdicts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VERDICTS, 0))

    @property
    def total(self) -> int:
        """All triples."""
        return sum(self.verdicts.values())

    @property
    def judged(self) -> int:
        """Supported and refuted."""
        return self.verdicts["supported"] + self.verdicts["refuted"]

    @property
    def pass_rate(self) -> float | None:
        """supported / (supported + refuted); None where nothing was judged. Never shown without the shares of the others."""
        return self.verdicts["supported"] / self.judged if self.judged else None

    def share(self, verdict: str) -> float | None:
        """The share of a verdict among all; None where there are none."""
        return self.verdicts[verdict] / self.total if self.total else None


def count_verdicts(run: Path) -> Counts:
    """The counts of the whole ledger."""
    return sum_counts(count_by(run, "verdict"))


def count_by(run: Path, column: str) -> dict[str, Counts]:
    """The counts for each value of a text column of the verdict table, e.g. `p_label`."""
    names = list(dict.fromkeys([column, "verdict"]))
    return count_rows((read_part(part, names) for part in open_parts(run / "ledger")), column)


def count_rows(tables: Iterable[pa.Table | pa.RecordBatch], column: str) -> dict[str, Counts]:
    """The counts for each value of a text column in rows of the verdict table."""
    found: dict[str, Counts] = defaultdict(Counts)
    for rows in tables:
        table = pa.table({"group": rows[column], "verdict": rows["verdict"]})
        for row in table.group_by(["group", "verdict"]).aggregate([([], "count_all")]).to_pylist():
            found[row["group"]].verdicts[row["verdict"]] += row["count_all"]
    return dict(found)


def sum_counts(groups: dict[str, Counts]) -> Counts:
    """The counts of all groups together."""
    total = Counts()
    for counts in groups.values():
        for verdict, number in counts.verdicts.items():
            total.verdicts[verdict] += number
    return total
