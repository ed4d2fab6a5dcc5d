"""Great Expectations (1.24 and later) for verdict tables: failures of a knowledge graph as failing expectations.

Great Expectations knows a class only where its module was imported, and drops the others from a stored suite without a word. So use
any name below, which imports and registers all of them, or `validate_run`, which in addition fails where one was dropped:

    validate_run(run, suite=None, labels=None, docs=None) -> Outcome           (kgaudit_expectations.runner)
    validate_sql(connection, table, suite=None, run=None, docs=None) -> Outcome
    default_suite, read_suite                     what is expected               (kgaudit_expectations.suites)
    ephemeral_context, frame_batch, sql_batch, validation_definition, checkpoint (kgaudit_expectations.contexts)
    check_table, write_sql                        the table that is checked      (kgaudit_expectations.table)
    Expect...                                     the expectations

Importing the package alone loads Great Expectations (some seconds) only where the program already did: the command line starts at once.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

_HOMES = {
    "ExpectAbstentionShareToBeAtMost": "shares",
    "ExpectAccuracyLowerBoundToBeAtLeast": "audits",
    "ExpectAuditToBeFresh": "audits",
    "ExpectEvidenceQuotesToBeVerbatim": "rows",
    "ExpectJudgedShareToBeAtLeast": "shares",
    "ExpectNoFunctionalPredicateConflicts": "rows",
    "ExpectNoRefutedTriples": "rows",
    "ExpectNotJudgedShareToBeAtMost": "shares",
    "ExpectPassRateToBeAtLeast": "shares",
    "ExpectTriplesToHaveBeenJudged": "audits",
    "Outcome": "outcome",
    "check_table": "table",
    "checkpoint": "contexts",
    "default_suite": "suites",
    "ephemeral_context": "contexts",
    "frame_batch": "contexts",
    "read_suite": "suites",
    "sql_batch": "contexts",
    "validate_run": "runner",
    "validate_sql": "runner",
    "validation_definition": "contexts",
    "write_sql": "table",
}
_EXPECTATIONS = ("shares", "rows", "audits")

__all__ = sorted(_HOMES)


def register() -> None:
    """Registers our expectations and metrics with Great Expectations. Raises `UsageError` where it is not installed."""
    from kgaudit.errors import UsageError

    try:
        import_module("great_expectations")
    except ModuleNotFoundError as error:
        raise UsageError("Great Expectations is not installed", todo="pip install 'kgaudit[gx]'.") from error
    for name in _EXPECTATIONS:
        import_module(f"{__name__}.{name}")


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    register()
    return getattr(import_module(f"{__name__}.{home}"), name)


if "great_expectations" in sys.modules:
    register()
