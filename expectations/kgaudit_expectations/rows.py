"""Row-level expectations: unexpected rows are keyed by triple key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from great_expectations.compatibility import pydantic
from great_expectations.expectations.model_field_types import MostlyField
from great_expectations.render import LegacyDiagnosticRendererType, RenderedStringTemplateContent, RenderedTableContent
from great_expectations.render.renderer.renderer import renderer

from kgaudit_expectations.base import TABLE_ROWS, Finding, Metric, VerdictExpectation, cell, details_of, percent, rows_table, text_block
from kgaudit_expectations.metrics import Check, Tally, Unexpected

INDEX_COLUMNS = ["key", "s_label", "p_label", "o_label", "verdict"]
KEY_CLASS = "kgaudit-key"
"""Class of the cells of triple keys in Data Docs; `docs.py` makes them links."""


class RowExpectation(VerdictExpectation):
    """An expectation on every triple. `mostly`: at least this share of the triples that are looked at must meet it.

    The result holds what Great Expectations' own row-level results hold: `element_count`, `unexpected_count`, `unexpected_percent`,
    `partial_unexpected_list` and `partial_unexpected_index_list` (as many as `partial_unexpected_count` of the result format says),
    and, with COMPLETE, `unexpected_list` and `unexpected_index_list` of all of them.
    """

    mostly: MostlyField = 1.0

    success_keys: ClassVar[tuple[str, ...]] = ("mostly",)
    args_keys: ClassVar[tuple[str, ...]] = ("mostly",)
    check: ClassVar[Check]
    says: ClassVar[str]
    """What is expected, after "Every triple must "."""
    failed: ClassVar[str]
    """What is said of the triples that do not, after their number."""

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether this is the base class and not an expectation."""
        return not hasattr(cls, "check")

    @property
    def checked_predicates(self) -> Sequence[str]:
        """The predicates that the check is about; empty: all."""
        return ()

    def get_validation_dependencies(self, execution_engine: Any = None, runtime_configuration: Any = None) -> Any:
        """The metrics, with as many rows as the result format shows."""
        self._limit = _shown(self._get_result_format(runtime_configuration))
        return super().get_validation_dependencies(execution_engine, runtime_configuration)

    _limit: int | None = pydantic.PrivateAttr(default=TABLE_ROWS)

    def _needs(self) -> dict[str, Metric]:
        values = {"check": self.check, "predicates": list(self.checked_predicates), "limit": self._limit}
        return {"unexpected": ("kgaudit.unexpected_rows", values)}

    def _decide(self, tally: Tally, found: Mapping[str, Any], result_format: Mapping[str, Any]) -> Finding:
        unexpected: Unexpected = found["unexpected"]
        share = unexpected.count / unexpected.elements if unexpected.elements else 0.0
        shown = unexpected.rows[: result_format.get("partial_unexpected_count", TABLE_ROWS)]
        rows: dict[str, Any] = {
            "element_count": unexpected.elements,
            "unexpected_count": unexpected.count,
            "unexpected_percent": 100 * share,
            "partial_unexpected_list": [_triple(row) for row in shown],
            "partial_unexpected_index_list": [_index(row) for row in shown],
            "unexpected_index_column_names": INDEX_COLUMNS,
        }
        if _kind(result_format) == "COMPLETE":
            rows["unexpected_list"] = [_triple(row) for row in unexpected.rows]
            rows["unexpected_index_list"] = [_index(row) for row in unexpected.rows]
        words = f"{unexpected.count:,} of {unexpected.elements:,} triples {self.failed}"
        return Finding(1 - share >= self.mostly, unexpected.count, words, {"check": self.check}, rows)

    @classmethod
    def _words(cls, values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        if values["mostly"] == 1:
            return f"Every triple must {cls.says}.", {}
        return f"At least $mostly of the triples must {cls.says}.", {"mostly": percent(values["mostly"])}

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_STATEMENT)
    def _diagnostic_unexpected_statement_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None, **_: Any
    ) -> list[RenderedStringTemplateContent]:
        counts = (result.result or {}) if result is not None else {}
        if _has_raised(result) or not counts.get("unexpected_count"):
            return list(super()._diagnostic_unexpected_statement_renderer(result=result)) if _has_raised(result) else []
        count, shown = counts["unexpected_count"], min(TABLE_ROWS, len(counts.get("partial_unexpected_index_list") or ()))
        cut = f"Shown here: the first {shown:,} by key; the table of triples holds all." if shown < count else ""
        return [text_block("\n\n$words. $cut", words=str(details_of(result).get("words", "")), cut=cut)]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)
    def _diagnostic_unexpected_table_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None, **_: Any
    ) -> list[RenderedTableContent] | None:
        rows = ((result.result or {}) if result is not None else {}).get("partial_unexpected_index_list")
        if not rows:
            return None
        cells = [
            [
                *(cell(row[name]) for name in ("s_label", "p_label", "o_label", "verdict")),
                cell(row["key"], "code", [KEY_CLASS, "text-nowrap"]),
            ]
            for row in rows[:TABLE_ROWS]
        ]
        return [rows_table(["Subject", "Predicate", "Object", "Verdict", "Key"], cells)]


def _kind(result_format: Mapping[str, Any]) -> str:
    kind = result_format.get("result_format", "BASIC")
    return str(getattr(kind, "value", kind))


def _shown(result_format: Any) -> int | None:
    if not isinstance(result_format, Mapping):
        result_format = {"result_format": result_format}
    if _kind(result_format) == "COMPLETE":
        return None
    return int(result_format.get("partial_unexpected_count", TABLE_ROWS))


def _has_raised(result: Any) -> bool:
    from kgaudit_expectations.outcome import raised

    return result is not None and raised(result.exception_info) is not None


def _triple(row: Mapping[str, Any]) -> str:
    return f"{row['s_label']} · {row['p_label']} · {row['o_label']}"


def _index(row: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(row[name]) for name in INDEX_COLUMNS}


class ExpectNoRefutedTriples(RowExpectation):
    """Expect no triple to be refuted. `mostly` is a share of the triples that were judged: those that were not do not help it."""

    check: ClassVar[Check] = "refuted"
    says: ClassVar[str] = "stand unrefuted by the documents"
    failed: ClassVar[str] = "are refuted"

    class Config:
        title = "Expect no refuted triples"


class ExpectEvidenceQuotesToBeVerbatim(RowExpectation):
    """Expect every quote of the evidence to stand word for word in the passage that it is said to come from.

    The quotes are checked against the passages of the run when the table is made (`check_table`), not taken on trust from the audit. A
    verdict by retrieval without any quote does not meet it. `mostly` is a share of the triples that have evidence.
    """

    check: ClassVar[Check] = "loose_quotes"
    says: ClassVar[str] = "quote its evidence word for word from the documents"
    failed: ClassVar[str] = "have evidence that is not quoted word for word"

    class Config:
        title = "Expect evidence quotes to be verbatim"


class ExpectNoFunctionalPredicateConflicts(RowExpectation):
    """Expect no subject to have two objects of a functional predicate at the same time, refuted triples left aside.

    Triples whose times of validity do not overlap are no conflict; a bound that is not given is open. `mostly` is a share of the
    triples of these predicates.
    """

    predicates: list[str] = pydantic.Field(min_items=1, description="IRIs of predicates of which a subject has one object at a time.")

    success_keys: ClassVar[tuple[str, ...]] = ("predicates", "mostly")
    args_keys: ClassVar[tuple[str, ...]] = ("predicates", "mostly")
    check: ClassVar[Check] = "conflicts"
    says: ClassVar[str] = "be the only one of its subject and predicate"
    failed: ClassVar[str] = "contradict another of the same subject and predicate"

    class Config:
        title = "Expect no functional predicate conflicts"

    @property
    def checked_predicates(self) -> Sequence[str]:
        """The functional predicates."""
        return self.predicates

    @classmethod
    def _words(cls, values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        predicates = values["predicates"] or ()
        named = ", ".join(map(str, predicates[:5])) + (f" and {len(predicates) - 5:,} more" if len(predicates) > 5 else "")
        share = "No" if values["mostly"] == 1 else "Of the triples of these predicates, at least $mostly must be without conflict: no"
        return (
            f"{share} subject may have two objects at the same time of $predicates (refuted ones aside).",
            {"predicates": named, "mostly": percent(values["mostly"])},
        )
