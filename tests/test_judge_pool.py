"""Judging in several processes gives what one process gives, and leaves no process behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kgaudit.claims import Claim, Entity, PredicateCard
from kgaudit.documents import Passage
from kgaudit.errors import TransientError
from kgaudit.models.judge import Weighing
from kgaudit.models.pool import WORTH_A_POOL, JudgePool, pooled
from kgaudit.triples import Triple
from kgaudit.verdicts import Stance


class LengthJudge:
    """Supports the more, the longer the text."""

    name, digest = "length", "0"

    def judge(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        return [Stance(len(passage.text) / 1000, 0.0, 1 - len(passage.text) / 1000, note=str(os.getpid())) for _, passage in pairs]

    def weigh(self, claim: Claim, passages: Sequence[Passage], stances: Sequence[Stance]) -> Weighing:
        return Weighing(max((stance.supports for stance in stances), default=0.0), 0.0)

    @property
    def again(self) -> Callable[[], LengthJudge]:
        return LengthJudge


CLAIM = Claim("", Triple("", "", ""), Entity("", "a"), PredicateCard("", "p"), Entity("", "b"))
PAIRS = [(CLAIM, Passage(str(n), 0, n, "x" * n, "", "en")) for n in range(50)]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_workers_answer_what_the_judge_answers_and_end_with_the_pool() -> None:
    pool = JudgePool(LengthJudge(), LengthJudge, 2)
    try:
        with ThreadPoolExecutor(4) as threads:
            parts = list(threads.map(pool.judge, [PAIRS[i : i + 5] for i in range(0, 50, 5)]))
        stances = [stance for part in parts for stance in part]
        assert [stance.supports for stance in stances] == [n / 1000 for n in range(50)]
        workers = {int(stance.note) for stance in stances}
        assert os.getpid() not in workers
        assert pool.judge([]) == []
    finally:
        pool.close()
    assert not any(map(_alive, workers))


def test_a_worker_that_is_killed_is_said_and_replaced() -> None:
    pool = JudgePool(LengthJudge(), LengthJudge, 1)
    try:
        worker = int(pool.judge(PAIRS[:1])[0].note)
        os.kill(worker, signal.SIGKILL)
        while _alive(worker) and not _is_zombie(worker):
            time.sleep(0.02)
        time.sleep(0.2)  # until the pool has noticed
        with pytest.raises(TransientError, match="memory"):
            pool.judge(PAIRS[:1])
        assert pool.judge(PAIRS[:1])[0].note != str(worker)
    finally:
        pool.close()


def test_few_claims_one_processor_and_judges_that_cannot_be_opened_again_need_no_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain:
        name, digest = "plain", "1"
        judge, weigh = LengthJudge.judge, LengthJudge.weigh

    monkeypatch.setattr("kgaudit.models.pool.processors", lambda: 2)
    assert pooled(LengthJudge(), WORTH_A_POOL - 1) is None
    assert pooled(Plain(), WORTH_A_POOL) is None  # type: ignore[arg-type]
    pool = pooled(LengthJudge(), WORTH_A_POOL)
    assert pool is not None
    assert (pool.workers, pool.name) == (2, "length")
    pool.close()
    monkeypatch.setattr("kgaudit.models.pool.processors", lambda: 1)
    assert pooled(LengthJudge(), WORTH_A_POOL) is None


def _pool_and_wait(found: multiprocessing.Queue[int]) -> None:
    found.put(int(JudgePool(LengthJudge(), LengthJudge, 1).judge(PAIRS[:1])[0].note))
    time.sleep(60)


def test_workers_end_with_a_process_that_is_killed() -> None:
    context = multiprocessing.get_context("spawn")
    found: multiprocessing.Queue[int] = context.Queue()
    process = context.Process(target=_pool_and_wait, args=(found,))
    process.start()
    worker = found.get(timeout=60)
    process.kill()
    process.join()
    for _ in range(100):
        if not _alive(worker):
            break
        time.sleep(0.05)
    assert not _alive(worker)
