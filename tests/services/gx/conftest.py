from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gx.here import Validate

POSTGRES = Path(__file__).parents[1] / "postgres"


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    # Not below pytest's own folder: the server runs as another user, which has to reach it.
    folder = tempfile.mkdtemp(prefix="kgaudit-postgres-")
    started = subprocess.run(["bash", POSTGRES, "start", folder], capture_output=True, text=True)
    if started.returncode:
        if os.environ.get("CI"):
            pytest.fail(started.stderr)
        pytest.skip(started.stderr)
    yield started.stdout.strip()
    subprocess.run(["bash", POSTGRES, "stop", folder], check=True)


@pytest.fixture(params=["pandas", "sqlite", "postgresql"])
def validate(request: pytest.FixtureRequest, tmp_path: Path) -> Validate:
    """Validates a run on each engine: `validate(run, suite, **options)`."""
    from kgaudit.gate.labels import read_labels
    from kgaudit_expectations import check_table, validate_run, validate_sql, write_sql

    if request.param == "pandas":
        return validate_run
    url = request.getfixturevalue("postgres") if request.param == "postgresql" else f"sqlite:///{tmp_path / 'verdicts.db'}"

    def on_database(run: Path, suite: Any = None, *, labels: Path | None = None, docs: Path | None = None) -> Any:
        write_sql(check_table(run, read_labels(labels) if labels else None), url, "verdicts")
        return validate_sql(url, "verdicts", suite, run=run, docs=docs)

    return on_database
