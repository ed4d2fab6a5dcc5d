"""Many triples in shards over two Celery workers, with or without losses: what came of it, and what it took."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from harness import kills
from harness.corpus import Corpus, write_corpus
from harness.deployment import Cluster, kg_connection
from harness.rest import ENDED

DAG = "nightly_audit"
FAST_LOSSES = {
    # By default a lost task is noticed after 5 minutes and one that got lost in the queue after 10.
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "4",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT": "60",
    "AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT_CHECK_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "20",
    "AIRFLOW__KGAUDIT__RETRY_SECONDS": "5",
}


@dataclass(frozen=True, slots=True)
class Ground:
    """A graph and its documents, indexed, in a folder that all workers see."""

    folder: Path
    corpus: Corpus
    index: Path
    name: str = "runs"

    @property
    def runs(self) -> Path:
        return self.folder / self.name

    def with_state(self, name: str) -> Ground:
        """The same with runs and state of their own, in which everything is new."""
        return replace(self, name=name)

    @property
    def settings(self) -> dict[str, str]:
        """What a cluster has to be told to work on it."""
        return {
            "AIRFLOW__KGAUDIT__RUNS_FOLDER": str(self.runs),
            # No night since the DAG's start date, so that no scheduled run is made up for when it is switched on.
            "AIRFLOW__KGAUDIT__NIGHTLY_SCHEDULE": "0 0 29 2 *",
            "AIRFLOW_CONN_KGAUDIT_KG": kg_connection(self.corpus.graph, index=self.index, state=self.runs / "state"),
        }


def prepare(folder: Path, triples: int) -> Ground:
    corpus = write_corpus(folder, triples)
    index = folder / "index"
    command("index", corpus.documents, "--to", index)
    return Ground(folder, corpus, index)


def command(*arguments: object) -> str:
    """Runs kgaudit's command line and returns what it printed."""
    done = subprocess.run([sys.executable, "-m", "kgaudit", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def audit_alone(ground: Ground) -> Path:
    """The same audit as one process, without Airflow."""
    run = ground.folder / "alone"
    command("audit", ground.corpus.graph, "--index", ground.index, "--run", run)
    return run


def verdicts(run: Path) -> Counter[tuple[str, str]]:
    """How often each key came with which verdict."""
    from kgaudit.runs.reader import RunReader

    return Counter(
        pair
        for batch in RunReader(run).batches(["key", "verdict"])
        for pair in zip(batch["key"].to_pylist(), batch["verdict"].to_pylist(), strict=True)
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    run: Path
    state: str
    seconds: float
    tasks: list[dict[str, Any]]
    killed: kills.KilledShard | None

    def shard_tasks(self) -> list[dict[str, Any]]:
        return [one for one in self.tasks if one["map_index"] >= 0]

    def tries(self) -> int:
        """Tries of shards beyond the first."""
        return sum(one["try_number"] - 1 for one in self.shard_tasks())

    def shard_seconds(self) -> dict[str, float]:
        """Over all shards: from being queued to the start in a worker, and from there to the end."""
        waited = worked = 0.0
        for one in self.shard_tasks():
            begun, ended, queued = (_time(one[name]) for name in ("start_date", "end_date", "queued_when"))
            waited += (begun - queued).total_seconds()
            worked += (ended - begun).total_seconds()
        return {"waited": waited, "worked": worked}

    def _summaries(self) -> list[dict[str, Any]]:
        return [json.loads((shard / "summary.json").read_text()) for shard in kills.shard_folders(self.run)]

    def verifying_seconds(self) -> float:
        """Over all shards: what the last try of each took within kgaudit."""
        return float(sum(one["seconds"] for one in self._summaries()))


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def run_shards(cluster: Cluster, ground: Ground, shards: int, *, losses: bool, seconds: float = 1800) -> Outcome:
    """Triggers an audit over that many shards; with `losses` a worker, the scheduler and Redis are ended meanwhile and start again."""
    cluster.wait_for_dags(DAG)
    begun = time.monotonic()
    run_id = cluster.rest.trigger(DAG, {"shard_triples": -(-len(ground.corpus.truth) // shards)})
    run = ground.runs / DAG / run_id

    def goes_on() -> bool:
        return cluster.rest.run(DAG, run_id)["state"] not in ENDED

    killed = _lose_parts(cluster, run, shards, goes_on) if losses else None
    state = cluster.rest.wait(DAG, run_id, seconds)
    return Outcome(run, state, time.monotonic() - begun, cluster.rest.tasks(DAG, run_id), killed)


def _lose_parts(cluster: Cluster, run: Path, shards: int, goes_on: Callable[[], bool]) -> kills.KilledShard:
    killed = kills.kill_worker_in_shard(cluster, run)
    time.sleep(3)
    cluster.start_worker(int(killed.worker.rpartition("-")[2]))
    kills.wait_for_shards(run, shards // 3, goes_on)
    kills.restart(cluster, "scheduler")
    kills.wait_for_shards(run, 2 * shards // 3, goes_on)
    kills.restart(cluster, "redis")
    return killed
