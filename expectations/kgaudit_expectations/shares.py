"""Expectations on shares of the verdicts: pass rate, judged, not enough evidence, not judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from great_expectations.compatibility import pydantic
from great_expectations.core.suite_parameters import SuiteParameterDict
from great_expectations.expectations.model_field_types import MostlyField
from great_expectations.render import LegacyDiagnosticRendererType, RenderedTableContent
from great_expectations.render.renderer.renderer import renderer

from kgaudit_expectations.base import TABLE_ROWS, Finding, Metric, VerdictExpectation, cell, details_of, percent, rows_table
from kgaudit_expectations.metrics import By, Group, Tally

_KEPT_GROUPS = 200
_ALL = "all predicates and sources too small to be looked at alone"


class ExpectPassRateToBeAtLeast(VerdictExpectation):
    """Expect the pass rate, supported / (supported + refuted), to be at least a value: of the table, or of each predicate or source.

    The pass rate is what a verifier says, not the accuracy of the graph: see ExpectAccuracyLowerBoundToBeAtLeast. With `by`, groups of
    fewer than `min_rows` triples are taken together as one, so that none leaves the count; a group in which nothing was judged fails.
    A triple found in several sources counts in each of them.
    """

    min_value: float | SuiteParameterDict = pydantic.Field(default=0.9, description="The least pass rate, from 0 to 1, inclusive.")
    by: By | None = pydantic.Field(
        default=None, description="Look at each predicate, file, graph, extractor or document by itself; left out: at the whole table."
    )
    min_rows: int = pydantic.Field(default=20, ge=1, description="Groups of fewer triples than this are looked at together.")
    mostly: MostlyField = 1.0

    success_keys: ClassVar[tuple[str, ...]] = ("min_value", "by", "min_rows", "mostly")
    args_keys: ClassVar[tuple[str, ...]] = ("min_value", "by", "min_rows", "mostly")

    class Config:
        title = "Expect pass rate to be at least"

    def _needs(self) -> dict[str, Metric]:
        return {"groups": ("kgaudit.tallies", {"by": self.by})}

    def _decide(self, tally: Tally, found: Mapping[str, Any], result_format: Mapping[str, Any]) -> Finding:
        overall = f"pass rate {percent(tally.pass_rate)} of {tally.judged:,} judged"
        rest = f"not enough evidence {percent(tally.share('not_enough_evidence'))}, not judged {percent(tally.share('not_judged'))}"
        if self.by is None:
            assert tally.pass_rate is not None
            return Finding(tally.pass_rate >= self.min_value, tally.pass_rate, f"{overall}; {rest} of {tally.total:,}")
        groups = _pooled(found["groups"], self.min_rows)
        failing = [group for group in groups if group.tally.pass_rate is None or group.tally.pass_rate < self.min_value]
        held = 1 - len(failing) / len(groups) if groups else 0.0
        words = f"{len(groups) - len(failing):,} of {len(groups):,} groups reach it; {overall}"
        kept = [_values(group) for group in failing[:_KEPT_GROUPS]]
        details = {"groups": len(groups), "failing": len(failing), "failing_groups": kept}
        return Finding(bool(groups) and held >= self.mostly, held, words, details)

    @classmethod
    def _words(cls, values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        params = {"min_value": percent(values["min_value"])}
        if values["by"] is None:
            return "The pass rate must be at least $min_value.", params
        params |= {"by": str(values["by"]), "min_rows": f"{values['min_rows']:,}", "mostly": percent(values["mostly"])}
        share = "each $by" if values["mostly"] == 1 else "at least $mostly of the groups by $by"
        return f"The pass rate of {share} must be at least $min_value (groups of fewer than $min_rows triples taken together).", params

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)
    def _diagnostic_unexpected_table_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None, **_: Any
    ) -> list[RenderedTableContent] | None:
        details = details_of(result)
        groups = details.get("failing_groups")
        if not groups:
            return None
        more = details["failing"] - min(len(groups), TABLE_ROWS)
        header = ["Below the least pass rate" + (f" (the first {TABLE_ROWS} of {details['failing']:,})" if more else "")]
        return [
            rows_table(
                [*header, "Supported", "Refuted", "Not enough evidence", "Not judged", "Pass rate"],
                [
                    [
                        cell(group["label"] or "(none given)"),
                        *(cell(f"{group[name]:,}") for name in ("supported", "refuted", "not_enough_evidence", "not_judged")),
                        cell(percent(group["pass_rate"])),
                    ]
                    for group in groups[:TABLE_ROWS]
                ],
            )
        ]


def _pooled(groups: list[Group], min_rows: int) -> list[Group]:
    """The groups that are large enough, and the others together, where they are large enough or all that there is."""
    large = [group for group in groups if group.tally.total >= min_rows]
    small = sum((group.tally for group in groups if group.tally.total < min_rows), Tally())
    return [*large, Group("", _ALL, small)] if small.total and (small.total >= min_rows or not large) else large


def _values(group: Group) -> dict[str, Any]:
    tally = group.tally
    counts = {name: getattr(tally, name) for name in ("supported", "refuted", "not_enough_evidence", "not_judged")}
    return {"name": group.name, "label": group.label, "pass_rate": tally.pass_rate, **counts}


class ExpectJudgedShareToBeAtLeast(VerdictExpectation):
    """Expect at least a share of the triples to be judged: supported or refuted, neither without evidence nor failed."""

    min_value: float | SuiteParameterDict = pydantic.Field(default=0.5, description="The least share, from 0 to 1, inclusive.")

    success_keys: ClassVar[tuple[str, ...]] = ("min_value",)
    args_keys: ClassVar[tuple[str, ...]] = ("min_value",)

    class Config:
        title = "Expect judged share to be at least"

    def _needs(self) -> dict[str, Metric]:
        return {}

    def _decide(self, tally: Tally, found: Mapping[str, Any], result_format: Mapping[str, Any]) -> Finding:
        share = tally.judged / tally.total
        return Finding(share >= self.min_value, share, f"{percent(share)}: {tally.judged:,} of {tally.total:,} triples")

    @classmethod
    def _words(cls, values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        return "At least $min_value of the triples must be judged (supported or refuted).", {"min_value": percent(values["min_value"])}


class _ShareAtMost(VerdictExpectation):
    """At most a share of one verdict."""

    verdict: ClassVar[str]
    says: ClassVar[str]

    max_value: float | SuiteParameterDict = pydantic.Field(default=0.5, description="The largest share, from 0 to 1, inclusive.")

    success_keys: ClassVar[tuple[str, ...]] = ("max_value",)
    args_keys: ClassVar[tuple[str, ...]] = ("max_value",)

    def _needs(self) -> dict[str, Metric]:
        return {}

    def _decide(self, tally: Tally, found: Mapping[str, Any], result_format: Mapping[str, Any]) -> Finding:
        share, count = tally.share(self.verdict), getattr(tally, self.verdict)
        assert share is not None
        return Finding(share <= self.max_value, share, f"{percent(share)}: {count:,} of {tally.total:,} triples")

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether this is the base class and not an expectation."""
        return not hasattr(cls, "verdict")

    @classmethod
    def _words(cls, values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        return cls.says, {"max_value": percent(values["max_value"])}


class ExpectAbstentionShareToBeAtMost(_ShareAtMost):
    """Expect at most a share of the triples to end without enough evidence."""

    verdict: ClassVar[str] = "not_enough_evidence"
    says: ClassVar[str] = "At most $max_value of the triples may end without enough evidence."

    class Config:
        title = "Expect abstention share to be at most"


class ExpectNotJudgedShareToBeAtMost(_ShareAtMost):
    """Expect at most a share of the triples not to be judged because of an error, a timeout or the budget."""

    verdict: ClassVar[str] = "not_judged"
    says: ClassVar[str] = "At most $max_value of the triples may not be judged (error, timeout, budget)."

    max_value: float | SuiteParameterDict = pydantic.Field(default=0.02, description="The largest share, from 0 to 1, inclusive.")

    class Config:
        title = "Expect not judged share to be at most"
