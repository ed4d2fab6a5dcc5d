"""Runs DAGs in the process of the tests, as `airflow dags test` does, and reads from the database what came of it."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).parents[3]
DAGS = ROOT / "kgaudit/airflow/dags"
FIELD = ROOT / "tests/field"
PROBES = Path(__file__).with_name("probes")
"""DAGs that only the tests need."""


def give_up(why: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(f"no Airflow to test with: {why}", pytrace=False)
    print(f"\n*** SKIPPED: the Airflow tests did not run: {why} ***", file=sys.__stderr__, flush=True)
    pytest.skip(why)


def bundles(*folders: Path) -> str:
    """The setting for DAG bundles in these folders."""
    kind = "airflow.dag_processing.bundles.local.LocalDagBundle"
    return json.dumps([{"name": one.name, "classpath": kind, "kwargs": {"path": str(one), "refresh_interval": 30}} for one in folders])


@dataclass(frozen=True)
class Ran:
    """A DAG run: its states by task (several for a mapped one), its folder, its asset events."""

    state: str
    run_id: str
    folder: Path
    tasks: dict[str, list[str]]
    events: dict[str, list[dict[str, Any]]]
    log: str


class Airflow:
    """Runs DAGs in this process, as `airflow dags test` does."""

    def __init__(self, home: Path, output: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.home, self._output, self._patch = home, output, patch

    def connect(self, conn_id: str, **fields: Any) -> None:
        """Defines a connection."""
        self._patch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(fields))

    def runs(self, folder: Path) -> None:
        """Lets runs lie below this folder."""
        self._patch.setenv("AIRFLOW__KGAUDIT__RUNS_FOLDER", str(folder))

    def dag(self, dag_id: str) -> Any:
        """A DAG of ours, or of the tests."""
        from airflow.dag_processing.dagbag import DagBag

        folder = DAGS if (DAGS / f"{dag_id}.py").exists() else PROBES
        bag = DagBag(dag_folder=folder / f"{dag_id}.py")
        assert not bag.import_errors, bag.import_errors
        return bag.dags[dag_id]

    def run(self, dag_id: str, dated: bool = False, **params: Any) -> Ran:
        """Runs a DAG with these params; without a logical date, as a run from the API or an asset has none, unless `dated`."""
        from airflow.sdk import timezone

        self._output.readouterr()
        now = timezone.utcnow()
        ran = self.dag(dag_id).test(run_after=now, logical_date=now if dated else None, run_conf=params)
        return self._ran(ran.dag_id, ran.run_id, str(ran.state))

    def _ran(self, dag_id: str, run_id: str, state: str) -> Ran:
        from airflow.models import TaskInstance
        from airflow.models.asset import AssetEvent, AssetModel
        from airflow.utils.session import create_session
        from sqlalchemy import select

        from kgaudit.airflow.folders import run_folder

        with create_session() as session:
            of_run = (TaskInstance.dag_id == dag_id, TaskInstance.run_id == run_id)
            found = session.execute(select(TaskInstance.task_id, TaskInstance.state).where(*of_run)).all()
            sent = session.execute(
                select(AssetModel.name, AssetEvent.extra)
                .join(AssetModel, AssetModel.id == AssetEvent.asset_id)
                .where(AssetEvent.source_dag_id == dag_id, AssetEvent.source_run_id == run_id)
            ).all()
        tasks: dict[str, list[str]] = {}
        for task_id, task_state in found:
            tasks.setdefault(task_id, []).append(str(task_state))
        events: dict[str, list[dict[str, Any]]] = {}
        for name, extra in sent:
            events.setdefault(name, []).append(extra)
        return Ran(state, run_id, run_folder(dag_id, run_id), tasks, events, "".join(self._output.readouterr()))


@dataclass
class Model:
    """A chat model that answers what is no verdict, once `answers` is set. `keys` are those that it was asked with."""

    url: str = ""
    keys: list[str | None] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    answers: threading.Event = field(default_factory=threading.Event)


@contextmanager
def chat_model() -> Iterator[Model]:
    """A chat model on loopback."""
    model = Model()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            model.keys.append(self.headers.get("Authorization"))
            self.rfile.read(int(self.headers["Content-Length"]))
            model.asked.set()
            model.answers.wait(60)
            message = {"role": "assistant", "content": "I would rather not answer in JSON."}
            body = json.dumps({"model": "small", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield model
    finally:
        model.answers.set()
        server.shutdown()
        server.server_close()
