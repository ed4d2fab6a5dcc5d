"""One writer a run folder. The operating system lets the lock go when its process dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from pathlib import Path
from types import TracebackType

from kgaudit.errors import RunLockedError, storage_error


class RunLock:
    """Holds `run/lock` while it is open, after at most `wait` seconds. Raises `RunLockedError` naming the process that has it."""

    def __init__(self, run: Path, wait: float = 0.0) -> None:
        self._path = run / "lock"
        try:
            self._file = open(self._path, "a+b", buffering=0)  # noqa: SIM115 - held open as long as the run
        except OSError as error:
            raise storage_error(error, str(self._path)) from error
        try:
            self._take(time.monotonic() + wait)
            self._file.truncate(0)
            self._file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
        except BlockingIOError as error:
            holder = self._holder()
            self._file.close()
            raise RunLockedError(
                f"the run is being worked on by {holder}",
                where=str(run),
                todo="Wait for it to end, or give another folder with --run.",
            ) from error
        except OSError as error:
            self._file.close()
            raise storage_error(error, str(self._path)) from error

    def _take(self, until: float) -> None:
        while True:
            try:
                return fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise
                time.sleep(0.05)

    def _holder(self) -> str:
        for _ in range(20):  # who has just taken the lock may not have written its name yet
            self._file.seek(0)
            holder = self._file.read().decode("utf-8", "replace").strip()
            if holder:
                return holder
            time.sleep(0.01)
        return "another process"

    def close(self) -> None:
        """Lets go. The file stays: removing it would let two processes lock two files of one name."""
        self._file.truncate(0)
        self._file.close()

    def __enter__(self) -> RunLock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
