"""Many triples in shards over two Celery workers (PostgreSQL, Redis), without losses and with them: counts, time, overhead a shard.

    .venv-airflow/bin/python benchmarks/airflow.py --json FILE [--triples 20000] [--shards 20]

The same audit runs three times: as one process without Airflow, through Airflow undisturbed, and through Airflow while a worker is
killed in the middle of a shard, the scheduler is killed and started again, and so is Redis, whose queue is lost.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/services/airflow"))

from common import fail, progress, write_json
from harness import scale
from harness.deployment import Cluster, Missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--triples", type=int, default=20_000)
    parser.add_argument("--shards", type=int, default=20)
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="kgaudit-bench-") as folder:
            figures = measure(Path(folder), arguments.triples, arguments.shards)
    except Missing as why:
        fail(str(why))
    write_json(arguments.json, figures)
    progress(f"written: {arguments.json}")


def measure(folder: Path, triples: int, shards: int) -> dict[str, object]:
    figures: dict[str, object] = {"triples": triples, "shards": shards, "workers": 2, "load_average": os.getloadavg()[0]}
    progress(f"making a graph of {triples:,} triples and its documents")
    ground = scale.prepare(folder, triples)
    begun = time.monotonic()
    alone = scale.verdicts(scale.audit_alone(ground))
    figures["one_process_seconds"] = round(time.monotonic() - begun, 1)
    progress(f"one process without Airflow: {figures['one_process_seconds']} s")
    for name, losses in (("undisturbed", False), ("losses", True)):
        # A state of its own each: what is in the state is not new.
        site = ground.with_state(name)
        with Cluster(settings={**scale.FAST_LOSSES, **site.settings}) as cluster:
            outcome = scale.run_shards(cluster, site, shards, losses=losses)
        found = scale.verdicts(outcome.run)
        seconds = outcome.shard_seconds()
        figures[name] = {
            "state": outcome.state,
            "seconds": round(outcome.seconds, 1),
            "triples_once": sum(found.values()) == len(found) == triples,
            "verdicts_as_alone": found == alone,
            "tries_again": outcome.tries(),
            "killed_in_shard": outcome.killed and {"shard": outcome.killed.shard, "durable": outcome.killed.durable},
            "shard_task_seconds": round(seconds["worked"] / shards, 2),
            "shard_verifying_seconds": round(outcome.verifying_seconds() / shards, 2),
            "shard_overhead_seconds": round((seconds["worked"] - outcome.verifying_seconds()) / shards, 2),
        }
        progress(f"{name}: {figures[name]}")
    return figures


if __name__ == "__main__":
    main()
