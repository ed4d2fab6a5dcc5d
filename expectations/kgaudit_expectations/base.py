"""What all expectations of ours share: how they ask for metrics, when they can pass at all, and how they are shown.

None passes on a table in which nothing was judged, whatever it asks for: an empty batch, a run that only found errors and one that
abstained from everything are no good news. What people read is shown with class defaults filled in (Great Expectations leaves arguments
with default values out of the configuration), and texts of graphs and documents are always parameters of a template, which it escapes,
never part of the template.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import BatchExpectation, render_suite_parameter_string
from great_expectations.expectations.model_field_types import ConditionParser
from great_expectations.expectations.row_conditions import RowConditionType
from great_expectations.render import (
    LegacyDiagnosticRendererType,
    LegacyRendererType,
    RenderedStringTemplateContent,
    RenderedTableContent,
)
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.renderer_configuration import RendererConfiguration, RendererValueType
from great_expectations.validator.metric_configuration import MetricConfiguration

from kgaudit.text import one_line
from kgaudit_expectations.metrics import Tally

TABLE_ROWS = 20
"""So many rows does a table in Data Docs show; the table of triples beside them is never cut."""
_TEXT = 300


@dataclass(frozen=True, slots=True)
class Finding:
    """What an expectation found: whether it holds, its one figure, that figure in words, and what goes into the result besides."""

    success: bool
    observed: Any
    words: str
    details: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, Any] = field(default_factory=dict)


Metric = tuple[str, dict[str, Any]]
"""A metric's name and the values that it takes."""


class VerdictExpectation(BatchExpectation):
    """An expectation on a verdict table. Subclasses name their metrics, decide, and say in words what they expect."""

    row_condition: RowConditionType = pydantic.Field(default=None, description="Look only at the rows that meet this condition.")
    condition_parser: ConditionParser | None = pydantic.Field(
        default=None, description="Deprecated by Great Expectations; leave it out."
    )

    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id", "row_condition", "condition_parser")
    library_metadata: ClassVar[dict[str, Any]] = {
        "maturity": "production",
        "tags": ["knowledge graph", "kgaudit"],
        "contributors": ["kgaudit"],
        "requirements": ["kgaudit"],
        "has_full_test_suite": True,
        "manually_reviewed_code": True,
    }

    @abstractmethod
    def _needs(self) -> dict[str, Metric]:
        """The metrics that `_decide` reads, besides the tally of the table."""

    @abstractmethod
    def _decide(self, tally: Tally, found: Mapping[str, Any], result_format: Mapping[str, Any]) -> Finding:
        """The finding, on a table in which something was judged."""

    @classmethod
    @abstractmethod
    def _words(cls, values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        """What is expected: a template with `$names`, and the texts for them."""

    def get_validation_dependencies(self, execution_engine: Any = None, runtime_configuration: Any = None) -> Any:
        """The metrics of this expectation, on its own domain."""
        dependencies = super().get_validation_dependencies(execution_engine, runtime_configuration)
        domain = self._get_domain_kwargs()
        for name, (metric, values) in {"tally": ("kgaudit.tallies", {"by": None}), **self._needs()}.items():
            dependencies.set_metric_configuration(
                metric_name=name,
                metric_configuration=MetricConfiguration(metric_name=metric, metric_domain_kwargs=domain, metric_value_kwargs=values),
            )
        return dependencies

    def _validate(self, metrics: Any, runtime_configuration: Any = None, execution_engine: Any = None) -> dict[str, Any]:
        tally: Tally = metrics["tally"][0].tally
        result_format = (runtime_configuration or {}).get("result_format") or {}
        chosen = {"result_format": result_format} if isinstance(result_format, str) else result_format
        finding = self._decide(tally, metrics, chosen) if tally.judged else nothing_judged(tally)
        details = {"words": finding.words, "tally": _tally_values(tally), **finding.details}
        return {
            "success": bool(finding.success),
            "result": {"observed_value": finding.observed, "details": details, "element_count": tally.total, **finding.rows},
        }

    @classmethod
    def _prescriptive_template(cls, renderer_configuration: Any) -> Any:
        template, params = cls._words(_with_defaults(cls, renderer_configuration.kwargs))
        for name, text in params.items():
            renderer_configuration.add_param(name=name, param_type=RendererValueType.STRING, value=text)
        renderer_configuration.template_str = template
        return renderer_configuration

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    @render_suite_parameter_string
    def _prescriptive_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None, **_: Any
    ) -> list[RenderedStringTemplateContent]:
        shown = RendererConfiguration(configuration=configuration, result=result, runtime_configuration=runtime_configuration)
        template, params = cls._words(_with_defaults(cls, shown.kwargs))
        return [text_block(template, (runtime_configuration or {}).get("styling"), **params)]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None, **_: Any
    ) -> RenderedStringTemplateContent:
        return text_block("$words", words=str(details_of(result).get("words", "--")))

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)
    def _diagnostic_unexpected_table_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None, **_: Any
    ) -> list[RenderedTableContent] | None:
        return None


def nothing_judged(tally: Tally) -> Finding:
    """The finding of every expectation on a table in which nothing was judged."""
    if not tally.total:
        return Finding(False, None, "nothing to judge: the table holds no row", {"reason": "nothing to judge: the table holds no row"})
    reason = f"none of the {tally.total:,} triples was judged"
    return Finding(False, None, reason, {"reason": reason})


def details_of(result: Any) -> Mapping[str, Any]:
    """The `details` of a validation result, empty where it has none."""
    found = (result.result or {}).get("details") if result is not None else None
    return found if isinstance(found, Mapping) else {}


def _tally_values(tally: Tally) -> dict[str, int]:
    return {name: getattr(tally, name) for name in Tally.__slots__}


def _with_defaults(cls: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: one.default for name, one in cls.__fields__.items()}, **kwargs}


def text_block(template: str, styling: Any = None, /, **params: str) -> RenderedStringTemplateContent:
    """A text for Data Docs; only its parameters may hold texts of others, which are cut and made visible."""
    shown = {name: one_line(text, _TEXT) for name, text in params.items()}
    content = {"template": template, "params": shown, "styling": styling} if styling else {"template": template, "params": shown}
    return RenderedStringTemplateContent(content_block_type="string_template", string_template=content)


def cell(text: str, tag: str = "bdi", classes: Sequence[str] = ()) -> RenderedStringTemplateContent:
    """A cell of a table that holds a text of others."""
    styling = {"styling": {"classes": list(classes)}} if classes else {}
    content = {"template": "$text", "params": {"text": one_line(text, _TEXT)}, "tag": tag, **styling}
    return RenderedStringTemplateContent(content_block_type="string_template", string_template=content)


def rows_table(header: Sequence[str], rows: Sequence[Sequence[RenderedStringTemplateContent]]) -> RenderedTableContent:
    """A small table below an expectation."""
    return RenderedTableContent(
        content_block_type="table",
        header_row=list(header),
        table=[list(row) for row in rows],
        styling={"body": {"classes": ["table-bordered", "table-sm", "mt-3"]}},
    )


def percent(share: Any) -> str:
    """A share in per cent, never rounded to 0 or 100 where it is not; a dash for none; a suite parameter as it is written."""
    if share is None:
        return "–"
    if not isinstance(share, int | float):
        return json.dumps(share)
    text = f"{100 * share:.2f}".rstrip("0").rstrip(".")
    if text == "100" and share < 1:
        return "> 99.99 %"
    return "< 0.01 %" if text == "0" and share > 0 else f"{text} %"
