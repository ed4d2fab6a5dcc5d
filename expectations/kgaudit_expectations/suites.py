"""Suites: the default one for a run, and suites from files.

A file is YAML or JSON, in the form in which Great Expectations stores suites:

    name: nightly
    expectations:
      - type: expect_pass_rate_to_be_at_least
        kwargs: {min_value: 0.95, by: predicate}
      - type: expect_no_refuted_triples
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import great_expectations as gx
from great_expectations.core.suite_parameters import build_suite_parameters
from great_expectations.exceptions import SuiteParameterError
from great_expectations.expectations.expectation import Expectation
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.expectations.registry import get_expectation_impl, list_registered_expectation_implementations

from kgaudit.errors import KgauditError, UsageError, storage_error
from kgaudit_expectations.audits import ExpectAccuracyLowerBoundToBeAtLeast, ExpectAuditToBeFresh, ExpectTriplesToHaveBeenJudged
from kgaudit_expectations.rows import (
    ExpectEvidenceQuotesToBeVerbatim,
    ExpectNoFunctionalPredicateConflicts,
    ExpectNoRefutedTriples,
)
from kgaudit_expectations.shares import (
    ExpectAbstentionShareToBeAtMost,
    ExpectJudgedShareToBeAtLeast,
    ExpectNotJudgedShareToBeAtMost,
    ExpectPassRateToBeAtLeast,
)

_FIELDS = ("type", "kwargs", "meta", "notes", "description", "severity", "id", "expectation_context", "rendered_content")


@dataclass(frozen=True, slots=True)
class Stored:
    """An expectation as it was asked for: `expectation` is None where its class is not known here, so that it would be dropped."""

    type: str
    kwargs: Mapping[str, Any]
    expectation: Any | None

    def identity(self, parameters: Mapping[str, Any] | None = None) -> str:
        """What tells it from the others of its suite, once the suite's parameters have their values."""
        try:
            kwargs, _ = build_suite_parameters(dict(self.kwargs), dict(parameters or {}))
        except SuiteParameterError:
            kwargs = dict(self.kwargs)
        return identity(self.type, kwargs)


def identity(type_: str, kwargs: Mapping[str, Any]) -> str:
    """What tells two expectations of a suite apart: their arguments, those with default values too, the same before and after they
    were evaluated."""
    known_here = type_ in list_registered_expectation_implementations()
    fields = get_expectation_impl(type_).__fields__ if known_here else {}
    known = {name: field.default for name, field in fields.items() if name not in _NOT_ARGUMENTS}
    given = {name: value for name, value in kwargs.items() if name not in _NOT_ARGUMENTS}
    return f"{type_} {json.dumps({**known, **given}, sort_keys=True, default=str)}"


_NOT_ARGUMENTS = frozenset(
    ("batch_id", "result_format", "catch_exceptions", "id", "meta", "notes", "description", "severity", "rendered_content", "windows")
)


def default_suite(functional: Sequence[str] = (), *, labels: bool = False, name: str = "kgaudit") -> Any:
    """A suite with the defaults of all expectations.

    `functional` are the IRIs of functional predicates (`functional_predicates`); without any, conflicts are not looked for. With
    `labels`, the accuracy from people's labels must hold as well.
    """
    expectations: list[Any] = [
        ExpectTriplesToHaveBeenJudged(),
        ExpectNoRefutedTriples(),
        ExpectPassRateToBeAtLeast(),
        ExpectPassRateToBeAtLeast(by="predicate", min_value=0.8),
        ExpectJudgedShareToBeAtLeast(),
        ExpectAbstentionShareToBeAtMost(),
        ExpectNotJudgedShareToBeAtMost(),
        ExpectEvidenceQuotesToBeVerbatim(),
        ExpectAuditToBeFresh(),
    ]
    if functional:
        expectations.append(ExpectNoFunctionalPredicateConflicts(predicates=list(functional)))
    if labels:
        expectations.append(ExpectAccuracyLowerBoundToBeAtLeast())
    return gx.ExpectationSuite(name, expectations=expectations)


def functional_predicates(run: Path) -> tuple[str, ...]:
    """The IRIs of the predicates that the schema of the graph declares functional; none where the run or state keeps no graph.

    What was only learnt from use is left out: it holds of most subjects, not of all.
    """
    from kgaudit.runs.state import open_reader
    from kgaudit.sources import LoadedGraph

    try:
        graph = LoadedGraph.open(open_reader(run).graph)
    except KgauditError:
        return ()
    graph.close()
    return tuple(sorted(term[1:-1] for term, facts in graph.schema.predicates.items() if facts.functional))


def read_suite(path: Path) -> tuple[str, list[Stored]]:
    """The name and the expectations of a suite file. One of an unknown class is kept, to be reported, not dropped.

    Raises `UsageError` where the file is no suite or arguments of an expectation are wrong, `StorageError` where it cannot be read.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise storage_error(error, str(path)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"neither YAML nor JSON ({reason})", where=str(path), todo="Correct the file.") from error
    rows = content.get("expectations") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not rows:
        raise UsageError("no suite: it has no list of `expectations`", where=str(path), todo="Give each a `type` and its `kwargs`.")
    return str(content.get("name") or path.stem), [_stored(row, f"{path}, expectation {number}") for number, row in enumerate(rows, 1)]


def _stored(row: Any, where: str) -> Stored:
    if not isinstance(row, dict) or not isinstance(row.get("type"), str) or not isinstance(row.get("kwargs") or {}, dict):
        raise UsageError("an expectation needs a `type`, a text, and `kwargs`, a mapping", where=where, todo="Correct the file.")
    unknown = sorted(set(map(str, row)) - set(_FIELDS))
    if unknown:
        raise UsageError(f"unknown field {unknown[0]!r}", where=where, todo="Arguments of an expectation stand below `kwargs`.")
    kept = ("type", "meta", "notes", "description", "severity")
    values = {name: value for name, value in row.items() if name in kept and value is not None}
    configuration = ExpectationConfiguration(**values, kwargs=dict(row.get("kwargs") or {}))
    if configuration.type not in list_registered_expectation_implementations():
        return Stored(configuration.type, configuration.kwargs, None)
    try:
        return stored(configuration.to_domain_obj())
    except (ValueError, TypeError) as error:
        reason = "; ".join(line.strip() for line in str(error).splitlines()[1:]) or str(error)
        raise UsageError(f"{configuration.type}: {reason}", where=where, todo="Correct its `kwargs`.") from error


def stored(expectation: Expectation) -> Stored:
    """An expectation object as it was asked for."""
    configuration = expectation.configuration
    return Stored(configuration.type, configuration.kwargs, expectation)
