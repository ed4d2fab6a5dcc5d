"""Validates a run, or its table in a database, so that green can be trusted.

Beyond what Great Expectations evaluates, a validation fails here where a stored expectation was dropped or raised an exception, where
nothing was judged whatever the suite asks for, and where the run was interrupted. What cannot be read at all is an error.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import great_expectations as gx
from great_expectations.core.run_identifier import RunIdentifier

from kgaudit.errors import InputError
from kgaudit.gate.labels import read_labels
from kgaudit.runs.reader import RunReader
from kgaudit.runs.state import open_reader
from kgaudit_expectations.audits import ExpectTriplesToHaveBeenJudged
from kgaudit_expectations.base import details_of
from kgaudit_expectations.contexts import Batch, checkpoint, ephemeral_context, frame_batch, sql_batch, validation_definition
from kgaudit_expectations.docs import DocsFolder, Failures
from kgaudit_expectations.metrics import find_unexpected
from kgaudit_expectations.outcome import Outcome, checks_of, dropped
from kgaudit_expectations.rows import RowExpectation
from kgaudit_expectations.suites import Stored, default_suite, functional_predicates, identity, read_suite, stored
from kgaudit_expectations.table import check_table

_NAME = re.compile(r"[^A-Za-z0-9_-]+")


def validate_run(
    run: Path,
    suite: Path | Any | None = None,
    *,
    labels: Path | None = None,
    docs: Path | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Outcome:
    """Validates the verdict table of a run against a suite: a file, an `ExpectationSuite`, or None for the default one.

    `labels` is a file of people's labels as `kgaudit sample` makes it, `docs` is the folder for Data Docs that open offline, with the
    table of failing triples and the report in it; a folder that an earlier validation wrote is replaced as a whole. `parameters` are
    the values of the suite's parameters (`{"$PARAMETER": name}`).

    Raises `RunError` where the run cannot be read, `UsageError` where the suite or the folder for Data Docs cannot be used,
    `InputError` where the labels are damaged, `StorageError`.
    """
    reader = open_reader(run)
    answers = read_labels(labels) if labels else None
    if suite is None:
        suite = default_suite(functional_predicates(run), labels=labels is not None)
    name, wanted = _read(suite)
    table = check_table(run, answers)
    asked = _Asked(name, wanted, dict(parameters or {}), _faults_of(reader), run, docs)
    return asked.outcome(lambda context: frame_batch(context, table))


def validate_sql(
    connection: str,
    table: str,
    suite: Path | Any | None = None,
    *,
    schema: str | None = None,
    run: Path | None = None,
    docs: Path | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Outcome:
    """Validates a table that `write_sql` wrote into a database (an SQLAlchemy URL).

    With `run`, the table of failing triples quotes their evidence, and the report stands beside it. Raises what `validate_run` raises,
    and `InputError` where the database or the table cannot be read.
    """
    if suite is None:
        suite = default_suite(functional_predicates(run) if run else ())
    name, wanted = _read(suite)
    faults = _faults_of(open_reader(run)) if run else []
    asked = _Asked(name, wanted, dict(parameters or {}), faults, run, docs)
    return asked.outcome(lambda context: sql_batch(context, connection, table, schema))


def outcome_of(
    wanted: Sequence[Stored], results: Sequence[Any], faults: Sequence[str] = (), parameters: Mapping[str, Any] | None = None
) -> Outcome:
    """The outcome behind the `ExpectationValidationResult`s of a suite: of any validation that Great Expectations ran, ours or not.

    `faults` are reasons that lie outside the suite, `parameters` the values of the suite's parameters.
    """
    checks = tuple(checks_of(results))
    evaluated = [identity(result.expectation_config.type, result.expectation_config.kwargs) for result in results]
    lost = dropped([one.identity(parameters) for one in wanted], evaluated)
    reasons = [*faults]
    reasons += [f"not evaluated: {one}: is the package that defines it imported?" for one in lost]
    reasons += [f"raised an exception: {check.type}: {check.words}" for check in checks if check.raised]
    reasons += [f"{check.type}: {check.words}" for check in checks if not check.success and not check.raised]
    if not checks:
        reasons.append("no expectation was evaluated")
    return Outcome(success=not reasons, reasons=tuple(reasons), checks=checks, rows=_rows(results))


def _rows(results: Sequence[Any]) -> int:
    tallies = (details_of(result).get("tally") for result in results)
    return max((sum(tally.values()) for tally in tallies if tally), default=0)


def _read(suite: Path | Any) -> tuple[str, list[Stored]]:
    if isinstance(suite, str | Path):
        name, wanted = read_suite(Path(suite))
    else:
        name, wanted = suite.name, [stored(one.copy(update={"id": None}, deep=True)) for one in suite.expectations]
    guard = stored(ExpectTriplesToHaveBeenJudged())
    if not any(one.identity() == guard.identity() for one in wanted):
        wanted = [guard, *wanted]
    return _NAME.sub("_", name) or "suite", wanted


def _faults_of(reader: RunReader) -> list[str]:
    """What makes a run no basis, whatever its rows say."""
    summary = reader.summary
    faults = {
        "interrupted": ["the run was interrupted: its rows are no sample of the graph"],
        "unverified": ["some triples of the graph have no verdict yet"],
    }.get(str(summary.get("status")), [])
    load = summary.get("load") or {}
    if load.get("claims") == 0:
        left_out = ", ".join(f"{count:,} {role}" for role, count in (load.get("left_out") or {}).items() if count)
        said = f"nothing to judge: 0 claims in {load.get('statements', 0):,} statements"
        faults.append(f"{said}; left out: {left_out}" if left_out else said)
    return faults


@dataclass(frozen=True, slots=True)
class _Asked:
    """A validation that was asked for."""

    suite: str
    wanted: Sequence[Stored]
    parameters: dict[str, Any]
    faults: Sequence[str]
    run: Path | None
    docs: Path | None

    def outcome(self, open_batch: Callable[[Any], Batch]) -> Outcome:
        if self.docs is None:
            with _quiet():
                results, _ = self._evaluate(ephemeral_context(), open_batch, docs=False)
            return outcome_of(self.wanted, results, self.faults, self.parameters)
        with DocsFolder(self.docs) as folder, _quiet():
            results, batch = self._evaluate(ephemeral_context(folder.path), open_batch, docs=True)
            outcome = outcome_of(self.wanted, results, self.faults, self.parameters)
            broken = {check.type for check in outcome.checks if check.raised}
            return folder.finish(outcome, _failures(batch, [one for one in self.wanted if one.type not in broken]), self.run)

    def _evaluate(self, context: Any, open_batch: Callable[[Any], Batch], *, docs: bool) -> tuple[list[Any], Batch]:
        batch = open_batch(context)
        known = [one.expectation for one in self.wanted if one.expectation is not None]
        try:
            definition = validation_definition(context, batch, gx.ExpectationSuite(self.suite, expectations=known))
            ran = checkpoint(context, definition, docs=docs).run(
                batch_parameters=dict(batch.parameters),
                expectation_parameters=self.parameters,
                run_id=RunIdentifier(run_name=_NAME.sub("_", self.run.name)[:80] if self.run else "table"),
            )
        except Exception as error:  # what is wrong with one expectation is in its result: here the batch or the suite is of no use
            reason = " ".join(str(error).split())[:500] or type(error).__name__
            raise InputError(
                f"Great Expectations could not evaluate the suite ({reason})", where=self.suite, todo="Check the table and the suite."
            ) from error
        return [result for each in ran.run_results.values() for result in each.results], batch


def _failures(batch: Batch, wanted: Sequence[Stored]) -> Failures:
    """All unexpected rows of the row-level expectations, whether `mostly` lets them pass or not."""
    engine = batch.engine()
    failures = Failures()
    for one in wanted:
        if isinstance(one.expectation, RowExpectation):
            domain = {name: value for name, value in one.expectation._get_domain_kwargs().items() if name != "batch_id"}
            found = find_unexpected(engine, domain, one.expectation.check, one.expectation.checked_predicates)
            failures.add(one.expectation.check, found.rows)
    return failures


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps Great Expectations' own chatter off the terminal: what matters is in the outcome."""
    logger = logging.getLogger("great_expectations")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
