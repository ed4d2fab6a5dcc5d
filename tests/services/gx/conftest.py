from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gx.here import Validate

POSTGRES = Path(__file__).parents[1] / "postgres"

@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.getbasetemp().parent / f"kgaudit-postgres-{os.getpid()}"
    for parent in folder.parents:  # the server runs as another user, which has to reach its folder
        if parent.stat().st_uid == os.getuid() and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
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
    from kgaudit_expectations import check_table, read_labels, validate_run, validate_sql, write_sql

    if request.param == "pandas":
        return validate_run
    url = request.getfixturevalue("postgres") if request.param == "postgresql" else f"sqlite:///{tmp_path / 'verdicts.db'}"

    def on_database(run: Path, suite: Any = None, *, labels: Path | None = None, docs: Path | None = None) -> Any:
        write_sql(check_table(run, read_labels(labels) if labels else None), url, "verdicts")
        return validate_sql(url, "verdicts", suite, run=run, docs=docs)

    return on_database
