"""`python -m kgaudit.airflow.shard_process`: verifies a shard for a trigger, and ends when the trigger does.

Standard input: the job (`ShardJob`) as one line of JSON. Then it stays open as long as somebody waits; once it is closed, because the
triggerer was killed or restarted, the work stops, and the next trigger goes on from the ledger. Standard output: lines of JSON,
`{"done", "total"}` as it goes and at its end `{"summary"}` or `{"error", "passing", "locked"}`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time

from kgaudit.airflow.passing import is_passing
from kgaudit.airflow.shards import ShardJob, verify
from kgaudit.errors import KgauditError, RunLockedError
from kgaudit.runs.engine import Stop

EVERY = 2.0
"""Seconds between two reports of progress."""


def main() -> None:
    """Reads the job, does it, says what came of it."""
    job = ShardJob.from_json(json.loads(sys.stdin.buffer.readline()))
    stop = Stop()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.ask(number))
    threading.Thread(target=_watch, args=(stop,), daemon=True).start()
    shown = 0.0

    def progress(done: int, total: int | None = None) -> None:
        nonlocal shown
        if time.monotonic() - shown >= EVERY:
            shown = time.monotonic()
            _say({"done": done, "total": total})

    try:
        _say({"summary": verify(job, stop, progress)})
    except KgauditError as error:
        _say({"error": str(error), "passing": is_passing(error), "locked": isinstance(error, RunLockedError)})


def _watch(stop: Stop) -> None:
    # Read by descriptor: a buffered reader would hold a lock that the end of the interpreter waits for.
    while os.read(0, 65536):
        pass
    stop.ask(signal.SIGHUP)


def _say(message: dict[str, object]) -> None:
    # Nobody may be left to hear it.
    try:
        print(json.dumps(message), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    main()
