"""One writer a run folder. The operating system lets the lock go when its process dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path
from types import TracebackType

from kgaudit.errors import RunLockedError, storage_error


class RunLock:
    """Holds `run/lock` while it is open. Raises `RunLockedError` naming the process that has it."""

    def __init__(self, run: Path) -> None:
        self._path = run / "lock"
        try:
            self._stream = open(self._path, "a+", encoding="utf-8")  # noqa: SIM115 - held open as long as the run
        except OSError as error:
            raise storage_error(error, str(self._path)) from error
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._stream.seek(0)
            holder = self._stream.read().strip() or "another process"
            self._stream.close()
            raise RunLockedError(
                f"the run is being worked on by {holder}",
                where=str(run),
                todo="Wait for it to end, or give another folder with --run.",
            ) from error
        self._stream.truncate(0)
        self._stream.write(f"process {os.getpid()} on {socket.gethostname()}")
        self._stream.flush()

    def close(self) -> None:
        """Lets go. The file stays: removing it would let two processes lock two files of one name."""
        self._stream.truncate(0)
        self._stream.close()

    def __enter__(self) -> RunLock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
