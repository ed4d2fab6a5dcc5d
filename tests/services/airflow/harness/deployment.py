"""Airflow on loopback with folders and ports of its own: `Standalone` on SQLite, `Cluster` with PostgreSQL, Redis and Celery workers.

Both are context managers: whatever happens inside, nothing goes on running after them.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from harness.processes import DeploymentError, Part, free_ports, wait_until
from harness.rest import Rest, call

ROOT = Path(__file__).parents[4]
DAGS = ROOT / "kgaudit/airflow/dags"
MORE_DAGS = Path(__file__).parent / "dags"
POSTGRES = ROOT / "tests/services/postgres"
START_SECONDS = 240
USER, PASSWORD = "admin", "only-on-loopback"


class Missing(Exception):
    """What these tests need and this machine does not have."""


def airflow_program() -> str:
    """The `airflow` beside this Python. Raises `Missing`."""
    if sys.platform != "linux":
        raise Missing("the processes of a deployment are looked after by means that only Linux has")
    program = Path(sys.executable).with_name("airflow")
    if not program.exists():
        raise Missing("Airflow is not installed here: `make test-airflow-services` makes its environment")
    return str(program)


def kg_connection(graph: Path, **fields: object) -> str:
    """The connection of a graph as AIRFLOW_CONN_... holds it; `fields` are those of its form."""
    return json.dumps({"conn_type": "kgaudit_kg", "host": str(graph), "extra": {name: str(value) for name, value in fields.items()}})


class Deployment:
    """What the two have in common: settings, parts, the REST API."""

    def __init__(
        self,
        *,
        dags: Sequence[Path] = (DAGS, MORE_DAGS),
        settings: Mapping[str, str] | None = None,
        folder: Path | None = None,
        password: str = PASSWORD,
        port: int | None = None,
    ) -> None:
        """`folder`: an empty one that outlives the deployment, as do its programs; otherwise one that goes when they end."""
        self.program = airflow_program()
        self.stays = folder is not None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="kgaudit-airflow-"))
        self.folder.chmod(0o755)  # PostgreSQL runs as another user
        self.home = self.folder / "airflow"
        self.home.mkdir()
        self.parts: dict[str, Part] = {}
        free, *logs = free_ports(3)
        self.port = port or free
        self._password = password
        self.url = f"http://127.0.0.1:{self.port}"
        bundles = [
            {
                "name": f"dags-{number}",
                "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
                "kwargs": {"path": str(path), "refresh_interval": 30},
            }
            for number, path in enumerate(dags)
        ]
        (self.home / "passwords.json").write_text(json.dumps({USER: password}))
        self.environment: dict[str, str] = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")},
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.home / "none"),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__CORE__FERNET_KEY": "",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self.home / "passwords.json"),
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API__SECRET_KEY": secrets.token_hex(16),
            "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
            "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(bundles),
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "30",
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(logs[0]),
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(logs[1]),
            "AIRFLOW__SCHEDULER__CATCHUP_BY_DEFAULT": "False",
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
            "PATH": f"{Path(self.program).parent}:{os.environ.get('PATH', '')}",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "C_FORCE_ROOT": "1",
            **(settings or {}),
        }
        self._rest: Rest | None = None

    def add(self, name: str, *command: str, settings: Mapping[str, str] | None = None) -> Part:
        """Starts a program as a part of this deployment."""
        part = Part(name, command, {**self.environment, **(settings or {})}, self.folder / f"{name}.log", self.stays)
        self.parts[name] = part
        part.start()
        return part

    def airflow(self, *arguments: str) -> str:
        """Runs an `airflow` command to its end and returns what it printed."""
        done = subprocess.run(
            [self.program, *arguments], env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=300
        )
        if done.returncode:
            raise DeploymentError(
                f"airflow {' '.join(arguments)}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
            )
        return done.stdout

    @property
    def rest(self) -> Rest:
        """The REST API for the administrator."""
        if self._rest is None:
            self._rest = Rest(self.url, USER, self._password)
        return self._rest

    def is_healthy(self, *names: str) -> bool:
        """Whether the API answers and says that these parts are well."""
        for part in self.parts.values():
            part.check()
        with contextlib.suppress(OSError, ValueError):
            health = call("GET", f"{self.url}/api/v2/monitor/health", seconds=5)
            return health.status == 200 and all(health.json()[name]["status"] == "healthy" for name in names)
        return False

    def wait_for_dags(self, *dags: str, seconds: float = 120) -> None:
        """Until the DAGs are parsed; then they are switched on."""

        def parsed() -> bool:
            errors = self.rest.get("/importErrors")["import_errors"]
            assert not errors, errors
            return all(self.rest.has_dag(dag) for dag in dags)

        wait_until(f"the DAGs {', '.join(dags)} appear", parsed, seconds)
        self.rest.unpause(*dags)

    def logs(self) -> dict[str, str]:
        """The end of each part's log, for the message of a failed test."""
        return {name: part.tail() for name, part in self.parts.items()}

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        for part in self.parts.values():
            part.ask_to_stop()
        for part in self.parts.values():
            part.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Standalone(Deployment):
    """`airflow standalone`: everything in one program, SQLite, LocalExecutor."""

    def start(self) -> None:
        self.add("standalone", self.program, "standalone")
        wait_until(
            "airflow standalone is up",
            lambda: self.is_healthy("metadatabase", "scheduler", "dag_processor", "triggerer"),
            START_SECONDS,
        )


class Cluster(Deployment):
    """Each part its own program: PostgreSQL, Redis, API server, scheduler, DAG processor, triggerer, two Celery workers."""

    def __init__(
        self,
        *,
        workers: int = 2,
        concurrency: int = 1,
        dags: Sequence[Path] = (DAGS, MORE_DAGS),
        settings: Mapping[str, str] | None = None,
    ) -> None:
        for program in ("redis-server", "setpriv"):
            if not shutil.which(program):
                raise Missing(f"{program} is not installed (Debian: apt-get install redis-server util-linux)")
        self._workers, self._concurrency = workers, concurrency
        super().__init__(dags=dags, settings=settings)
        self.redis_port, *self._log_ports = free_ports(1 + workers)

    def start(self) -> None:
        database = self._start_postgres()
        self.start_redis()
        self.environment |= {
            "AIRFLOW__CORE__EXECUTOR": "CeleryExecutor",
            # What waits for a worker too long is taken for lost, so no more is handed out than can soon begin.
            "AIRFLOW__CORE__PARALLELISM": str(self._workers * self._concurrency + 1),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database,
            "AIRFLOW__CELERY__RESULT_BACKEND": "db+" + database,
            "AIRFLOW__CELERY__BROKER_URL": f"redis://127.0.0.1:{self.redis_port}/0",
            "AIRFLOW__CELERY__WORKER_CONCURRENCY": str(self._concurrency),
        }
        self.airflow("db", "migrate")
        for name in ("api-server", "scheduler", "dag-processor", "triggerer"):
            self.add(name, self.program, name)
        for number in range(self._workers):
            self.start_worker(number)
        wait_until(
            "the Airflow cluster is up",
            lambda: self.is_healthy("metadatabase", "scheduler", "dag_processor", "triggerer"),
            START_SECONDS,
        )
        wait_until("the workers are up", lambda: all(self._is_ready(number) for number in range(self._workers)), START_SECONDS)

    def start_worker(self, number: int) -> Part:
        return self.add(
            f"worker-{number}",
            self.program,
            *("celery", "worker", "--celery-hostname", f"worker-{number}@%h"),
            settings={"AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(self._log_ports[number])},
        )

    def _is_ready(self, number: int) -> bool:
        part = self.parts[f"worker-{number}"]
        part.check()
        return "ready." in part.tail(100_000)

    def start_redis(self) -> Part:
        data = self.folder / "redis"
        data.mkdir(exist_ok=True)
        # Nothing is written to disk: what stood in the queue is lost when it restarts, the hardest case for the scheduler.
        part = self.add(
            "redis",
            *("redis-server", "--port", str(self.redis_port), "--bind", "127.0.0.1", "--save", "", "--dir", str(data)),
        )
        wait_until("Redis answers", self._redis_answers, 20, every=0.1)
        return part

    def _redis_answers(self) -> bool:
        self.parts["redis"].check()
        done = subprocess.run(["redis-cli", "-p", str(self.redis_port), "ping"], capture_output=True, text=True)
        return done.stdout.strip() == "PONG"

    def _start_postgres(self) -> str:
        started = subprocess.run(["bash", POSTGRES, "start", self.folder / "postgres"], capture_output=True, text=True)
        if started.returncode:
            raise Missing(started.stderr.strip())
        return started.stdout.strip()

    def stop(self) -> None:
        redis = self.parts.pop("redis", None)
        for part in self.parts.values():
            part.ask_to_stop()
        for part in self.parts.values():
            part.stop()
        if redis is not None:
            redis.stop()
        if (self.folder / "postgres").exists():
            subprocess.run(["bash", POSTGRES, "stop", self.folder / "postgres"], check=False)
        super().stop()
