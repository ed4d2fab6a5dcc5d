"""kgaudit's errors in Airflow's terms: what trying again cannot change fails at once, the rest is retried as the task says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kgaudit.airflow.passing import is_passing
from kgaudit.errors import KgauditError, storage_error


def failure(message: str, *, again: bool) -> AirflowException:
    """The exception for a failed task; `again`: Airflow may retry it."""
    return AirflowException(message) if again else AirflowFailException(message)


@contextmanager
def airflow_failures() -> Iterator[None]:
    """Turns kgaudit's errors into Airflow's, with the same message."""
    try:
        yield
    except KgauditError as error:
        raise failure(str(error), again=is_passing(error)) from None
    except OSError as error:
        raise failure(str(storage_error(error, str(error.filename or "this task"))), again=False) from None
