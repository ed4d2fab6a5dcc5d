"""An Airflow of its own for the tests in this process: a SQLite database, and runs and connections below a temporary folder."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness.fixtures import pictures, site  # noqa: F401
from in_process import DAGS, PROBES, Airflow, bundles, give_up


@pytest.fixture(scope="session")
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home of an Airflow whose database is made; the environment names it as long as the tests run."""
    if importlib.util.find_spec("airflow") is None:
        give_up("it is not installed: `make test-airflow` makes its environment")
    home = tmp_path_factory.mktemp("airflow")
    settings = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        # A DAG that is paused does not hear of assets.
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": bundles(DAGS, PROBES),
        "AIRFLOW__KGAUDIT__RUNS_FOLDER": str(home / "runs"),
        # `DAG.test` of a DAG with a deadline fails in Airflow 3.3.2 (apache/airflow#73428).
        "AIRFLOW__KGAUDIT__DEADLINE_HOURS": "0",
        "AIRFLOW__KGAUDIT__RETRY_SECONDS": "1",
        "OMP_NUM_THREADS": "1",
    }
    before = dict(os.environ)
    os.environ.update(settings)
    for command in (["db", "migrate"], ["dags", "reserialize"]):
        made = subprocess.run([sys.executable, "-m", "airflow", *command], capture_output=True, text=True)
        assert made.returncode == 0, made.stderr[-2000:]
    yield home
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def airflow(airflow_home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Airflow:
    """An Airflow whose runs lie below this test's own folder."""
    made = Airflow(airflow_home, capfd, monkeypatch)
    made.runs(tmp_path / "runs")
    return made


@pytest.fixture(scope="session")
def make_index(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Indexes documents; those of the same file once."""
    made: dict[Path, Path] = {}

    def make(documents: Path) -> Path:
        from kgaudit_retrievers.embedded import build_index

        if documents not in made:
            made[documents] = tmp_path_factory.mktemp("index") / "index"
            build_index([documents], made[documents])
        return made[documents]

    return make
