"""A judge in several processes: reading is Python's work, which threads cannot share.

Each worker opens the judge for itself and ends with the process that started it, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import Protocol, runtime_checkable

from kgaudit.claims import Claim
from kgaudit.documents import Passage
from kgaudit.errors import TransientError
from kgaudit.models.judge import Glances, Judge, Weighing
from kgaudit.verdicts import Stance

WORTH_A_POOL = 400
"""Claims from which on a start of about two seconds a process is won back."""
_judge: Judge | None = None


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


@runtime_checkable
class Reloads(Protocol):
    """A judge that can be opened again in another process."""

    @property
    def again(self) -> Callable[[], Judge]:
        """Opens it; can be pickled."""
        ...


def pooled(judge: Judge, expected: int) -> JudgePool | None:
    """The judge in as many processes as there are processors, where so many claims are expected that starting them pays; else None."""
    workers = processors()
    daemon = multiprocessing.current_process().daemon  # may not start others
    if expected < WORTH_A_POOL or workers < 2 or daemon or not isinstance(judge, Reloads):
        return None
    return JudgePool(judge, judge.again, workers)


class JudgePool:
    """A judge that may be called from many threads at once, and judges in `workers` processes. Close it when done.

    `judge` is the one of this process; `load` opens the same again in a worker and must be importable from there.
    """

    def __init__(self, judge: Judge, load: Callable[[], Judge], workers: int) -> None:
        self.workers = workers
        self._judge, self._load = judge, load
        self._lock = threading.Lock()
        self._pool = self._begun()

    def _begun(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(self._load,))

    @property
    def name(self) -> str:
        """The judge's own."""
        return self._judge.name

    @property
    def digest(self) -> str:
        """The judge's own."""
        return self._judge.digest

    def judge(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        """As `Judge.judge`, in one of the workers. Raises `TransientError` where one was ended from outside: others were started."""
        return self._ask(pairs, False)

    def glance(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        """As `Glances.glance` where the judge has it, else as `judge`."""
        return self._ask(pairs, isinstance(self._judge, Glances))

    def _ask(self, pairs: Sequence[tuple[Claim, Passage]], quickly: bool) -> list[Stance]:
        if not pairs:
            return []
        pool = self._pool
        try:
            return pool.submit(_answer, list(pairs), quickly).result()
        except BrokenProcessPool as error:
            with self._lock:
                if self._pool is pool:  # the first that notices starts others
                    pool.shutdown(wait=False)
                    self._pool = self._begun()
            raise TransientError(
                "a process that judges was ended from outside (out of memory?)",
                todo="The same command goes on; give the machine more memory, or fewer processors (taskset).",
            ) from error

    def weigh(self, claim: Claim, passages: Sequence[Passage], stances: Sequence[Stance]) -> Weighing:
        """As `Judge.weigh`."""
        return self._judge.weigh(claim, passages, stances)

    def close(self) -> None:
        """Ends the workers."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _begin(load: Callable[[], Judge]) -> None:
    global _judge
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the run ends its workers itself
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    _judge = load()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(0)


def _answer(pairs: list[tuple[Claim, Passage]], quickly: bool) -> list[Stance]:
    assert _judge is not None
    return _judge.glance(pairs) if quickly and isinstance(_judge, Glances) else _judge.judge(pairs)
