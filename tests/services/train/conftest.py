"""Suites that train need torch: a loud skip on a user's machine, a failure in CI."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [name for name in ("torch", "transformers", "onnx", "sklearn") if find_spec(name) is None]
    if missing and not os.environ.get("CI"):
        for item in items:
            item.add_marker(pytest.mark.skip(reason=f"{', '.join(missing)} not installed: run `make test-train`"))
