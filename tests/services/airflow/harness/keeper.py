"""Runs a program and answers for everything that it starts: `python keeper.py SECONDS PROGRAM ...`.

Orphans of the program become children of the keeper (Linux: PR_SET_CHILD_SUBREAPER), so that nothing escapes it, whatever session,
title or environment it takes.

- The program ends, or SIGTERM: the program is asked to end, has SECONDS to do so, then all that is left of it is killed.
- SIGUSR1: all of it is killed at once, as when a machine loses power.
- The process that started the keeper dies: as SIGTERM, unless KEEPER_STAYS is set.

Its exit status is that of the program.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def below(root: int) -> list[int]:
    """The processes that descend from `root`."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            with contextlib.suppress(OSError, ValueError):
                with open(f"/proc/{entry}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state != b"Z":
                    children.setdefault(int(parent), []).append(int(entry))
    found, waiting = [], [root]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found


def kill_all() -> None:
    """Until nothing descends from here: what is killed may have just started something."""
    while pids := below(os.getpid()):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def main() -> None:
    seconds, *command = sys.argv[1:]
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    if not os.environ.pop("KEEPER_STAYS", None):
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    wanted = {signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    unblock = {"preexec_fn": lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, wanted)}
    program = subprocess.Popen(command, start_new_session=True, **unblock)
    deadline = None
    while True:
        reap(program)
        if program.returncode is not None:
            break
        told = signal.sigtimedwait(wanted, 1.0 if deadline is None else max(0.0, min(1.0, deadline - time.monotonic())))
        if told is not None and told.si_signo == signal.SIGUSR1:
            break
        if told is not None and told.si_signo in (signal.SIGTERM, signal.SIGINT) and deadline is None:
            deadline = time.monotonic() + float(seconds)
            program.terminate()
        if deadline is not None and time.monotonic() >= deadline:
            break
    kill_all()
    reap(program)
    status = program.returncode if program.returncode is not None else -signal.SIGKILL
    sys.exit(status if status >= 0 else 128 - status)


def reap(program: subprocess.Popen[bytes]) -> None:
    """Takes leave of the ended program and of adopted orphans, which would stay as zombies otherwise."""
    while True:
        try:
            pid, state = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid == program.pid:
            program.returncode = os.waitstatus_to_exitcode(state)


if __name__ == "__main__":
    main()
