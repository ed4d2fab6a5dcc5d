"""What these tests share: they need Great Expectations, which the environment of the other tests does not have."""

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import pytest

Validate = Callable[..., Any]
"""Validates a run on some engine: `validate(run, suite, labels=..., docs=...)`."""

IGNORED = [
    # Great Expectations, the libraries below it, and sockets and files that they leave to the garbage collector.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def need_great_expectations() -> None:
    """Skips the module that calls it, aloud, where Great Expectations is not installed; under CI that is a failure."""
    if importlib.util.find_spec("great_expectations") is None:
        said = "Great Expectations is not installed here: pip install 'kgaudit[gx]' psycopg2-binary"
        if os.environ.get("CI"):
            pytest.fail(said, pytrace=False)
        pytest.skip(said, allow_module_level=True)
