"""Which errors pass: a later try of a task may succeed. Imports nothing of Airflow."""

from __future__ import annotations

from kgaudit.errors import Interrupted, KgauditError, RunLockedError, TransientError


def is_passing(error: KgauditError) -> bool:
    """Whether a later try may succeed.

    A run that another process holds is such a case here: the worker that lost this task may take a moment to end.
    """
    return isinstance(error, TransientError | Interrupted | RunLockedError)
