"""Ends parts of a cluster in the middle of a run, as machines that lose power would."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.deployment import Cluster
from harness.processes import wait_until

WAIT_SECONDS = 300
PART_SECONDS = 2.0
"""A ledger writes a part when a verdict comes so long after the last part (`kgaudit.runs.audit`)."""


@dataclass(frozen=True, slots=True)
class KilledShard:
    """A shard whose worker was ended while it was being verified. `durable` of its triples were in its ledger."""

    shard: str
    worker: str
    durable: int


def shard_folders(run: Path) -> list[Path]:
    return sorted((run / "shards").glob("*")) if (run / "shards").is_dir() else []


def status(shard: Path) -> str:
    with contextlib.suppress(OSError, ValueError):
        return str(json.loads((shard / "summary.json").read_text())["status"])
    return ""


def complete(run: Path) -> int:
    return sum(status(shard) == "complete" for shard in shard_folders(run))


def rows(shard: Path) -> int:
    """Triples in the ledger of a shard."""
    import pyarrow.parquet as pq

    return sum(pq.ParquetFile(part).metadata.num_rows for part in (shard / "ledger").glob("part-*.parquet"))


def kill_worker_in_shard(cluster: Cluster, run: Path) -> KilledShard:
    """Ends the worker that has just begun a shard, once the shard's ledger holds a part of it but not all."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        for shard in shard_folders(run):
            if status(shard) != "complete" and not rows(shard) and (holder := _holder(shard)):
                name = next(
                    (name for name, part in cluster.parts.items() if name.startswith("worker-") and holder in part.pids()), None
                )
                if name and _let_write_a_part(shard, holder):
                    cluster.parts[name].kill()
                    if status(shard) != "complete":
                        return KilledShard(shard.name, name, rows(shard))
                    cluster.start_worker(int(name.rpartition("-")[2]))
        time.sleep(0.01)
    raise AssertionError(f"no shard was caught in the middle within {WAIT_SECONDS} s")


def _holder(shard: Path) -> int | None:
    """The process that holds the shard's lock."""
    with contextlib.suppress(OSError):
        found = re.match(r"process (\d+) ", (shard / "lock").read_text())
        return int(found[1]) if found else None
    return None


def _let_write_a_part(shard: Path, process: int) -> bool:
    """Makes a fast shard slow: stopped for a while, it writes what it has as soon as it goes on."""
    try:
        wait_until("the shard's ledger is open", (shard / "summary.json").exists, 30, every=0.005)
        time.sleep(0.3)
        os.kill(process, signal.SIGSTOP)
        time.sleep(PART_SECONDS + 0.1)
        os.kill(process, signal.SIGCONT)
        while status(shard) != "complete" and not rows(shard):
            os.kill(process, 0)
            time.sleep(0.002)
    except ProcessLookupError:
        return False
    return status(shard) != "complete"


def restart(cluster: Cluster, name: str, seconds: float = 3.0) -> None:
    """Ends a part at once, and starts it again after a while."""
    cluster.parts[name].kill()
    time.sleep(seconds)
    if name == "redis":
        cluster.start_redis()
    else:
        cluster.parts[name].start()


def wait_for_shards(run: Path, count: int, goes_on: Callable[[], bool]) -> None:
    """Raises `AssertionError` where the run ends before, which would leave nothing to disturb."""

    def reached() -> bool:
        assert goes_on(), f"the run ended when {complete(run)} shards were complete, before {count} were"
        return complete(run) >= count

    wait_until(f"{count} shards are complete", reached, WAIT_SECONDS)
