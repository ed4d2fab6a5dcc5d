"""Programs of a deployment, each with its log, ended with everything that they started, even after the test itself has failed."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.keeper import below

KEEPER = Path(__file__).with_name("keeper.py")
STOP_SECONDS = 15


class DeploymentError(Exception):
    """A part that did not start or ended by itself, with the end of its log."""


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 on which nothing listens."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def wait_until(what: str, ready: Callable[[], bool], seconds: float, every: float = 0.3) -> None:
    """Raises `DeploymentError` where `ready` does not come true in time."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise DeploymentError(f"{what}: not within {seconds:.0f} s")
        time.sleep(every)


@dataclass(slots=True)
class Part:
    """One program of a deployment: the scheduler, a worker, Redis."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    stays: bool = False
    """Whether it goes on when this process ends."""
    _keeper: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        with open(self.log, "ab") as log:
            self._keeper = subprocess.Popen(
                [sys.executable, str(KEEPER), str(STOP_SECONDS), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**self.environment, **({"KEEPER_STAYS": "1"} if self.stays else {})},
                cwd=self.log.parent,
            )

    @property
    def keeper(self) -> int:
        """The process that answers for the program."""
        assert self._keeper is not None, f"{self.name} does not run"
        return self._keeper.pid

    def check(self) -> None:
        """Raises `DeploymentError` where the program has ended by itself."""
        if self._keeper is not None and self._keeper.poll() is not None:
            raise DeploymentError(f"{self.name} ended with status {self._keeper.returncode}:\n{self.tail()}")

    def tail(self, characters: int = 3000) -> str:
        return self.log.read_text(errors="replace")[-characters:] if self.log.exists() else "(no log)"

    def pids(self) -> list[int]:
        """The program and all that it started."""
        return below(self.keeper)

    def ask_to_stop(self) -> None:
        """Asks it to end, without waiting; where it does not, it is ended after `STOP_SECONDS`."""
        self._send(signal.SIGTERM)

    def stop(self) -> None:
        """Asks it to end and waits for that."""
        self.ask_to_stop()
        self._wait()

    def kill(self) -> None:
        """Ends it and all that it started at once, as when its machine loses power."""
        self._send(signal.SIGUSR1)
        self._wait()

    def _send(self, how: signal.Signals) -> None:
        if self._keeper is not None:
            self._keeper.send_signal(how)

    def _wait(self) -> None:
        if self._keeper is not None:
            self._keeper.wait(STOP_SECONDS + 30)
            self._keeper = None
