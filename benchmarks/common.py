"""What the benchmark scripts share."""

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any, NoReturn

THREADS = 2
BENCH_ENV = "run `make bench-env`, or `pip install -r benchmarks/requirements.txt`"


def measured_environment() -> dict[str, str]:
    """The environment of every measured process: two threads, nothing from the network, no chatter."""
    return os.environ | {
        "OMP_NUM_THREADS": str(THREADS),
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "TOKENIZERS_PARALLELISM": "true",
    }


def use_two_cores() -> None:
    """Keeps this process and its threads on two cores, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])


def peak_mb() -> float:
    """Highest resident memory of this process so far, in MB (10**6 bytes)."""
    try:
        # VmHWM starts anew with the program; ru_maxrss may be that of the process which started it.
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    except (OSError, IndexError):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def fail(text: str) -> NoReturn:
    """Ends with status 2 and one message."""
    print(f"Error: {text}", file=sys.stderr)
    sys.exit(2)


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
