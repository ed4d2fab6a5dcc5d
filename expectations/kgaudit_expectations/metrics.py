"""What expectations measure on a table of `CHECK_SCHEMA`, in pandas and in SQL (SQLAlchemy; run on SQLite and PostgreSQL).

Each measure says what it takes from a frame and what from a database; both give the same plain Python values. Spark is left out: it
was not run, and what was not run is not claimed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pandas as pd
import sqlalchemy as sa
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import PandasExecutionEngine, SqlAlchemyExecutionEngine
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from kgaudit.verdicts import VERDICTS
from kgaudit_expectations.table import names_in

By = Literal["predicate", "file", "graph", "extractor", "document"]
Check = Literal["refuted", "loose_quotes", "conflicts"]
SHOWN = ("key", "s", "p", "o", "s_label", "p_label", "o_label", "verdict")
"""The columns of an unexpected row."""

_JUDGED = ("supported", "refuted")


@dataclass(frozen=True, slots=True)
class Tally:
    """How many triples got each verdict; `unknown` counts what is none of ours, empty ones too."""

    supported: int = 0
    refuted: int = 0
    not_enough_evidence: int = 0
    not_judged: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        """All rows."""
        return self.supported + self.refuted + self.not_enough_evidence + self.not_judged + self.unknown

    @property
    def judged(self) -> int:
        """Supported and refuted ones."""
        return self.supported + self.refuted

    @property
    def pass_rate(self) -> float | None:
        """supported / (supported + refuted); None where nothing was judged."""
        return self.supported / self.judged if self.judged else None

    def share(self, verdict: str) -> float | None:
        """The share of a verdict (or of `judged`) among all rows; None where there are none."""
        return int(getattr(self, verdict)) / self.total if self.total else None

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Group:
    """The tally of one predicate or source; `label` is for people."""

    name: str
    label: str
    tally: Tally


@dataclass(frozen=True, slots=True)
class Unexpected:
    """The rows that a row-level expectation does not accept.

    `elements` rows were looked at and `count` of them are unexpected; `rows` are those (`SHOWN`), by key, all or as many as asked for.
    """

    elements: int
    count: int
    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """One row that people labelled."""

    true: bool
    design: str | None
    stratum: str | None
    cluster: str | None
    weight: float | None


class Database:
    """A selectable of a database, and how to ask it."""

    def __init__(self, engine: SqlAlchemyExecutionEngine, domain: dict[str, Any]) -> None:
        selectable, _, _ = engine.get_compute_domain(domain, domain_type=MetricDomainTypes.TABLE)
        self._engine = engine
        self.table = selectable.subquery() if isinstance(selectable, sa.Select) else selectable

    def rows(self, query: Any) -> list[Any]:
        """The rows that a query gives."""
        return list(self._engine.execute_query(query).fetchall())

    def select(self, *columns: Any) -> Any:
        """A query on the table."""
        return sa.select(*columns).select_from(self.table)


def _frame(engine: PandasExecutionEngine, domain: dict[str, Any]) -> pd.DataFrame:
    frame, _, _ = engine.get_compute_domain(domain, domain_type=MetricDomainTypes.TABLE)
    return frame


class VerdictMetric(TableMetricProvider):
    """A measure of the verdict table: subclasses say what it is in a frame and in a database."""

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, values: dict[str, Any]) -> Any:
        """The measure of a frame."""
        raise NotImplementedError

    @classmethod
    def from_database(cls, database: Database, values: dict[str, Any]) -> Any:
        """The measure of a table in a database."""
        raise NotImplementedError

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> Any:  # noqa: N805
        return cls.from_frame(_frame(execution_engine, metric_domain_kwargs), metric_value_kwargs or {})

    @metric_value(engine=SqlAlchemyExecutionEngine)
    def _sqlalchemy(cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> Any:  # noqa: N805
        return cls.from_database(Database(execution_engine, metric_domain_kwargs), metric_value_kwargs or {})


class VerdictTallies(VerdictMetric):
    """The tally of the whole table (`by` None), or of each predicate or source. A triple of several sources counts in each."""

    metric_name = "kgaudit.tallies"
    value_keys = ("by",)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, values: dict[str, Any]) -> list[Group]:
        columns = _group_columns(values.get("by"))
        counts = frame.groupby([*columns, "verdict"], observed=True, dropna=False).size()
        return _groups(((*(key if isinstance(key, tuple) else (key,)), count) for key, count in counts.items()), values.get("by"))

    @classmethod
    def from_database(cls, database: Database, values: dict[str, Any]) -> list[Group]:
        columns = [sa.column(name) for name in (*_group_columns(values.get("by")), "verdict")]
        return _groups(database.rows(database.select(*columns, sa.func.count()).group_by(*columns)), values.get("by"))


def _group_columns(by: str | None) -> tuple[str, ...]:
    return () if by is None else ("p", "p_label") if by == "predicate" else (f"{by}s",)


def _groups(counted: Iterable[Sequence[Any]], by: str | None) -> list[Group]:
    tallies: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    labels: dict[str, str] = {}
    for *group, verdict, count in counted:
        name = verdict if verdict in VERDICTS else "unknown"
        if by is None:
            members = [""]
        elif by == "predicate":
            members = [str(group[0])]
            labels.setdefault(members[0], str(group[1]))
        else:
            members = names_in(group[0])
        for member in members:
            tallies[member][name] += int(count)
    if by is None and not tallies:
        return [Group("", "", Tally())]
    groups = [Group(name, labels.get(name, name), Tally(**counts)) for name, counts in tallies.items()]
    return sorted(groups, key=lambda group: (-group.tally.refuted, -group.tally.total, group.label, group.name))


class VerdictKeys(VerdictMetric):
    """The number of rows and of different keys."""

    metric_name = "kgaudit.keys"

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, values: dict[str, Any]) -> tuple[int, int]:
        return len(frame), int(frame["key"].nunique())

    @classmethod
    def from_database(cls, database: Database, values: dict[str, Any]) -> tuple[int, int]:
        rows, distinct = database.rows(database.select(sa.func.count(), sa.func.count(sa.distinct(sa.column("key")))))[0]
        return int(rows), int(distinct)


class AuditTimes(VerdictMetric):
    """When the oldest and the newest row were audited (text, ISO 8601), and how many rows do not say."""

    metric_name = "kgaudit.audit_times"

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, values: dict[str, Any]) -> tuple[list[str], int]:
        times = frame["audited_at"].value_counts(dropna=False)
        return _times((time, count) for time, count in times.items() if count)

    @classmethod
    def from_database(cls, database: Database, values: dict[str, Any]) -> tuple[list[str], int]:
        column = sa.column("audited_at")
        return _times(database.rows(database.select(column, sa.func.count()).group_by(column)))


def _times(counted: Iterable[Sequence[Any]]) -> tuple[list[str], int]:
    found = [(time if isinstance(time, str) else "", int(count)) for time, count in counted]
    return sorted(time for time, _ in found if time), sum(count for time, count in found if not time)


class LabelledRows(VerdictMetric):
    """The rows that people labelled."""

    metric_name = "kgaudit.labelled"
    _columns: ClassVar = ("label", "label_design", "label_stratum", "label_cluster", "label_weight")

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, values: dict[str, Any]) -> list[Labelled]:
        found = frame.loc[frame["label"].notna(), list(cls._columns)].astype(object)
        return [_labelled(row) for row in found.where(found.notna(), None).itertuples(index=False)]

    @classmethod
    def from_database(cls, database: Database, values: dict[str, Any]) -> list[Labelled]:
        columns = [sa.column(name) for name in cls._columns]
        return [_labelled(row) for row in database.rows(database.select(*columns).where(columns[0].is_not(None)))]


def _labelled(row: Any) -> Labelled:
    label, design, stratum, cluster, weight = row
    return Labelled(bool(int(label)), design, stratum, cluster, None if weight is None else float(weight))


class UnexpectedRows(VerdictMetric):
    """The rows that a check does not accept; `limit` None: all of them."""

    metric_name = "kgaudit.unexpected_rows"
    value_keys = ("check", "predicates", "limit")

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, values: dict[str, Any]) -> Unexpected:
        check, limit = values["check"], values.get("limit")
        if check == "conflicts":
            chosen = frame[frame["p"].isin(predicate_terms(values["predicates"])) & (frame["verdict"] != "refuted").fillna(True)]
            several = chosen.groupby(["s", "p"], observed=True)["o"].transform("nunique") > 1
            rows = chosen.loc[several, [*SHOWN, "valid_from", "valid_until"]].to_dict("records")
            return _conflicts(len(chosen), rows, limit)
        looked = frame["verdict"].isin(_JUDGED)
        unexpected = _is_loose(frame) if check == "loose_quotes" else frame["verdict"] == "refuted"
        elements = looked if check == "refuted" else (frame["quotes"] > 0) | _is_loose(frame)
        found = frame.loc[unexpected & elements, list(SHOWN)].sort_values("key")
        shown = found if limit is None else found.head(limit)
        return Unexpected(int(elements.sum()), len(found), tuple(shown.astype(object).to_dict("records")))

    @classmethod
    def from_database(cls, database: Database, values: dict[str, Any]) -> Unexpected:
        check, limit = values["check"], values.get("limit")
        shown = [sa.column(name) for name in SHOWN]
        if check == "conflicts":
            return cls._conflicts_in(database, shown, predicate_terms(values["predicates"]), limit)
        if check == "loose_quotes":
            loose = sa.column("loose_quotes")
            unexpected = sa.or_(loose.is_(None), loose > 0)
            elements = sa.or_(sa.column("quotes") > 0, unexpected)
        else:
            unexpected = sa.column("verdict") == "refuted"
            elements = sa.column("verdict").in_(_JUDGED)
        counts = database.select(sa.func.count(), sa.func.sum(sa.case((unexpected, 1), else_=0))).where(elements)
        looked, count = database.rows(counts)[0]
        found = database.rows(database.select(*shown).where(unexpected).order_by(shown[0]).limit(limit)) if count else []
        return Unexpected(int(looked), int(count or 0), tuple(dict(zip(SHOWN, row, strict=True)) for row in found))

    @classmethod
    def _conflicts_in(cls, database: Database, shown: list[Any], predicates: list[str], limit: int | None) -> Unexpected:
        s, p, o, verdict = (sa.column(name) for name in ("s", "p", "o", "verdict"))
        chosen = sa.and_(p.in_(predicates), sa.or_(verdict != "refuted", verdict.is_(None)))
        elements = database.rows(database.select(sa.func.count()).where(chosen))[0][0]
        several = database.select(s, p).where(chosen).group_by(s, p).having(sa.func.count(sa.distinct(o)) > 1)
        query = database.select(*shown, sa.column("valid_from"), sa.column("valid_until")).where(chosen, sa.tuple_(s, p).in_(several))
        names = (*SHOWN, "valid_from", "valid_until")
        return _conflicts(int(elements), [dict(zip(names, row, strict=True)) for row in database.rows(query)], limit)


def _is_loose(frame: pd.DataFrame) -> Any:
    return (frame["loose_quotes"] > 0) | frame["loose_quotes"].isna()


def predicate_terms(predicates: Iterable[str]) -> list[str]:
    """Predicates as N-Triples terms, whether they were given with angle brackets or without."""
    return [name if name.startswith("<") else f"<{name}>" for name in predicates]


def _conflicts(elements: int, rows: list[dict[str, Any]], limit: int | None) -> Unexpected:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["s"], row["p"]].append(row)
    found = sorted((row for group in groups.values() for row in _in_conflict(group)), key=lambda row: row["key"])
    shown = found if limit is None else found[:limit]
    return Unexpected(elements, len(found), tuple({name: row[name] for name in SHOWN} for row in shown))


def _in_conflict(group: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of one subject and predicate that name different objects for overlapping times, in n log n steps.

    A missing bound is open, and an end that another begins at is no overlap. With the rows in the order of their starts, a row meets
    an earlier one where that ends after it starts, and a later one where that starts before it ends: so of the earlier rows the
    latest end, and of the later ones the earliest start, each with another object, are all that has to be known.
    """
    spans = sorted(map(_span, group), key=lambda span: span[0])
    meets = [False] * len(spans)
    for order, bound in ((range(len(spans)), 1), (range(len(spans) - 1, -1, -1), 0)):
        best: list[tuple[str, str]] = []  # bounds of two different objects, the better first
        for i in order:
            start, end, row = spans[i]
            reach = next((value for value, other in best if other != row["o"]), None)
            meets[i] |= reach is not None and (reach > start if bound else reach < end)
            rest = [one for one in best if one[1] != row["o"]]
            same = [value for value, other in best if other == row["o"]]
            own = max([end, *same]) if bound else start
            best = sorted([*rest, (own, row["o"])], reverse=bool(bound))[:2]
    return [row for (_, _, row), met in zip(spans, meets, strict=True) if met]


def _span(row: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    start, end = _text(row["valid_from"]), _text(row["valid_until"]) or "9999"
    return start, f"{end}~" if start == end else end, row  # a single year or day lasts as long as its name


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def find_unexpected(engine: Any, domain: dict[str, Any], check: Check, predicates: Sequence[str]) -> Unexpected:
    """All unexpected rows of the batch that an execution engine holds, for those who write them out in full."""
    values = {"check": check, "predicates": list(predicates), "limit": None}
    if isinstance(engine, PandasExecutionEngine):
        return UnexpectedRows.from_frame(_frame(engine, domain), values)
    return UnexpectedRows.from_database(Database(engine, domain), values)
