"""Expectations on the audit as a whole: that there is one, how old it is, and what people's labels say of the graph."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, ClassVar

from great_expectations.compatibility import pydantic
from great_expectations.core.suite_parameters import SuiteParameterDict

from kgaudit_expectations.accuracy import accuracy_interval
from kgaudit_expectations.base import Finding, Metric, VerdictExpectation, percent
from kgaudit_expectations.metrics import Tally


class ExpectTriplesToHaveBeenJudged(VerdictExpectation):
    """Expect the table to hold an audit: at least one judged triple, one row a key, no verdict that is none.

    Our runner adds it to every suite that lacks it.
    """

    class Config:
        title = "Expect triples to have been judged"

    def _needs(self) -> dict[str, Metric]:
        return {"keys": ("kgaudit.keys", {})}

    def _decide(self, tally: Tally, found: Mapping[str, Any], result_format: Mapping[str, Any]) -> Finding:
        rows, distinct = found["keys"]
        words = f"{tally.judged:,} of {tally.total:,} triples were judged"
        faults = [f"{rows - distinct:,} rows repeat a key or have none"] if rows != distinct else []
        faults += [f"{tally.unknown:,} rows have no verdict or an unknown one"] if tally.unknown else []
        return Finding(not faults, tally.judged, "; ".join([words, *faults]), {"reason": "; ".join(faults)} if faults else {})

    @classmethod
    def _words(cls, values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        return "The table must hold judged triples, one row each.", {}


class ExpectAuditToBeFresh(VerdictExpectation):
    """Expect every row to come from an audit that began at most `max_age_days` ago."""

    max_age_days: float | SuiteParameterDict = pydantic.Field(
        default=7.0, description="The greatest age of the audit in days, inclusive."
    )
    as_of: str | None = pydantic.Field(
        default=None, description="The time that counts as now, in ISO 8601 with an offset; left out: the time of the validation."
    )

    success_keys: ClassVar[tuple[str, ...]] = ("max_age_days", "as_of")
    args_keys: ClassVar[tuple[str, ...]] = ("max_age_days", "as_of")

    class Config:
        title = "Expect audit to be fresh"

    @pydantic.validator("as_of")
    def _is_time(cls, value: str | None) -> str | None:  # noqa: N805
        if value is not None and _time(value) is None:
            raise ValueError(f"{value!r} is no ISO 8601 time with an offset")
        return value

    def _needs(self) -> dict[str, Metric]:
        return {"times": ("kgaudit.audit_times", {})}

    def _decide(self, tally: Tally, found: Mapping[str, Any], result_format: Mapping[str, Any]) -> Finding:
        texts, missing = found["times"]
        times = [time for text in texts if (time := _time(text)) is not None]
        if missing or len(times) < len(texts) or not times:
            return Finding(False, None, "some rows do not say when they were audited", {"reason": "rows without a time of audit"})
        now = _time(self.as_of) if self.as_of else datetime.now(timezone.utc)
        assert now is not None
        age, youngest = now - min(times), now - max(times)
        days = age / timedelta(days=1)
        words = f"{days:.2f} days old (begun {min(times).isoformat()})"
        if youngest < timedelta(minutes=-5):  # clocks of two machines differ a little
            return Finding(False, days, f"{words}: begun in the future", {"reason": "the audit begins in the future: check the clocks"})
        return Finding(days <= self.max_age_days, days, words)

    @classmethod
    def _words(cls, values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        return "The audit must have begun at most $max_age_days days ago.", {"max_age_days": _days(values["max_age_days"])}


def _days(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else json.dumps(value)


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else None


class ExpectAccuracyLowerBoundToBeAtLeast(VerdictExpectation):
    """Expect the lower bound of the confidence interval of the graph's accuracy, from people's labels, to be at least a value.

    The labels are those of the rows (column `label`), a random sample by one of the designs of the gate (`label_design`,
    `label_stratum`, `label_cluster`, `label_weight`). The verdicts of the verifier take no part: this is about the graph.
    """

    min_value: float | SuiteParameterDict = pydantic.Field(default=0.9, description="The least lower bound, from 0 to 1, inclusive.")
    confidence: float = pydantic.Field(default=0.95, gt=0.5, lt=1.0, description="Confidence level of the two-sided interval.")
    min_labels: int = pydantic.Field(default=30, ge=1, description="With fewer labels than this it does not hold.")

    success_keys: ClassVar[tuple[str, ...]] = ("min_value", "confidence", "min_labels")
    args_keys: ClassVar[tuple[str, ...]] = ("min_value", "confidence", "min_labels")

    class Config:
        title = "Expect accuracy lower bound to be at least"

    def _needs(self) -> dict[str, Metric]:
        return {"labelled": ("kgaudit.labelled", {})}

    def _decide(self, tally: Tally, found: Mapping[str, Any], result_format: Mapping[str, Any]) -> Finding:
        labelled = found["labelled"]
        if len(labelled) < self.min_labels:
            reason = f"{len(labelled):,} labels, fewer than the {self.min_labels:,} asked for"
            return Finding(False, None, reason, {"reason": reason, "labels": len(labelled)})
        try:
            interval = accuracy_interval(labelled, tally.total, self.confidence)
        except ValueError as error:
            return Finding(False, None, str(error), {"reason": str(error), "labels": len(labelled)})
        words = (
            f"{percent(interval.low)} (accuracy {percent(interval.value)}, "
            f"interval {percent(interval.low)} to {percent(interval.high)} from {len(labelled):,} labels, "
            f"{interval.estimator}, {interval.design})"
        )
        details = {
            "labels": len(labelled),
            "accuracy": interval.value,
            "low": interval.low,
            "high": interval.high,
            "estimator": interval.estimator,
            "design": interval.design,
            "design_effect": interval.design_effect,
        }
        return Finding(interval.low >= self.min_value, interval.low, words, details)

    @classmethod
    def _words(cls, values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        return (
            "With $confidence confidence, the accuracy of the graph must be at least $min_value, by $min_labels or more labels.",
            {
                "confidence": percent(values["confidence"]),
                "min_value": percent(values["min_value"]),
                "min_labels": f"{values['min_labels']:,}",
            },
        )
