"""The section `[kgaudit]` of Airflow's configuration (AIRFLOW__KGAUDIT__...), and where runs lie."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import conf

SECTION = "kgaudit"


def runs_folder() -> Path:
    """The folder of all runs, states and decisions: workers, triggerer and API server must see the same one."""
    given: str = conf.get(SECTION, "runs_folder", fallback="")
    home = os.environ.get("AIRFLOW_HOME", os.path.expanduser("~/airflow"))
    return Path(given or os.path.join(home, "kgaudit"))


def nightly_schedule() -> str:
    """Cron expression of `nightly_audit`, in UTC; it also runs when `kg:extracted` is updated."""
    found: str = conf.get(SECTION, "nightly_schedule", fallback="0 2 * * *")
    return found


def deadline_hours() -> float:
    """Hours after which a run of `nightly_audit` that is still going is late; 0: never."""
    found: float = conf.getfloat(SECTION, "deadline_hours", fallback=6.0)
    return found


def approval_hours() -> float:
    """Hours that a stopped gate waits for a person."""
    found: float = conf.getfloat(SECTION, "approval_hours", fallback=72.0)
    return found


def retry_delay() -> timedelta:
    """How long a failed try of a task, or one whose worker was lost, waits before the next."""
    return timedelta(seconds=conf.getfloat(SECTION, "retry_seconds", fallback=60.0))


def triggerer_shards() -> int:
    """Shards that one triggerer works on at a time; further ones wait in it."""
    found: int = conf.getint(SECTION, "triggerer_shards", fallback=2)
    return found


def mapped_tasks() -> int:
    """How many shards a run may have: what Airflow maps over at most."""
    found: int = conf.getint("core", "max_map_length", fallback=1024)
    return min(found, 1000)


def base_url() -> str:
    """Address of Airflow's UI without a slash at its end; "" where none is set, so that links are relative to the host."""
    found: str = conf.get("api", "base_url", fallback="") or ""
    return found.rstrip("/")
