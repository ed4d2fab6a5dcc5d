"""Secrets of a connection, where kgaudit looks for them: in the environment of this process, as long as they are needed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def secrets_in_environment(values: Mapping[str, str]) -> Iterator[None]:
    """Sets the variables whose value is not empty, and puts back what was there."""
    given = {name: value for name, value in values.items() if value}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
