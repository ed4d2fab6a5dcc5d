"""Field cases of model endpoints: the stub of the cases plays the server, the product answers as it should."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from socket import socket
from typing import Any

import pytest
from field_cli import FIELD, Result, Run, copy_case, index_of, kgaudit, read_jsonl

ANSWERS = Path(__file__).with_name("field_answers.py")
THINKING, CUT, RETRY, BARE, REFUSAL = (
    "23-thinking-aloud", "24-cut-at-length", "25-retry-after-date", "26-no-logprobs", "27-refusal",
)  # fmt: skip


@dataclass(frozen=True)
class Endpoint:
    """The stub as it runs."""

    address: str
    log: Path

    @property
    def requests(self) -> list[dict[str, Any]]:
        return read_jsonl(self.log)

    @property
    def by_step(self) -> Counter[str]:
        """Requests for each step of the agent: each has a task of its own."""
        return Counter(one["request"]["messages"][0]["content"] for one in self.requests)


@contextmanager
def served(case: str, part: str, folder: Path) -> Iterator[Endpoint]:
    """The case's stub on a free port; its log lies in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    with socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    words = [
        sys.executable,
        "-u",
        str(FIELD / "stub.py"),
        str(FIELD / case),
        "--part",
        part,
        "--port",
        str(port),
        "--answers",
        str(ANSWERS),
    ]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert "stub on" in process.stdout.readline()
            _wait_for(port)  # it says so a moment before it listens
            yield Endpoint(f"openai:http://127.0.0.1:{port}/v1#stub", folder / "requests.jsonl")
        finally:
            process.kill()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)


@dataclass(frozen=True)
class Tried:
    """An audit of a case against one part of its script."""

    run: Run
    endpoint: Endpoint

    @property
    def row(self) -> dict[str, Any]:
        (row,) = self.run.rows
        return row

    @property
    def verdict(self) -> str:
        found: str = self.row["verdict"]
        return found


def try_out(case: str, part: str, folder: Path) -> Tried:
    copied = copy_case(case, folder / part)
    with served(case, part, folder / part / "stub") as endpoint:
        run = folder / part / "run"
        words = ("audit", copied / "kg.nt", "--index", index_of(copied / "docs.jsonl"), "--run", run, "--model", endpoint.address)
        return Tried(Run(run, kgaudit(*words)), endpoint)


def test_23_thoughts_are_not_the_answer(tmp_path: Path) -> None:
    inline = try_out(THINKING, "inline", tmp_path)
    assert inline.verdict == "supported"
    elsewhere = try_out(THINKING, "elsewhere", tmp_path)
    assert elsewhere.verdict == "supported"
    assert max(elsewhere.endpoint.by_step.values()) <= 2


def test_23_thoughts_that_never_end_are_not_judged(tmp_path: Path) -> None:
    tried = try_out(THINKING, "unclosed", tmp_path)
    assert tried.verdict == "not_judged"
    assert "thought aloud" in tried.row["reason"]
    assert set(tried.endpoint.by_step.values()) == {2}, "the question and one repair"


@pytest.mark.parametrize("part", ["half", "whole"])
def test_24_cut_off_answers_are_not_taken(part: str, tmp_path: Path) -> None:
    tried = try_out(CUT, part, tmp_path)
    assert tried.verdict == "not_judged"
    assert "cut off at the token limit" in tried.row["reason"]
    asked = [json.dumps(one["request"], sort_keys=True) for one in tried.endpoint.requests]
    assert max(map(asked.count, asked)) <= 3
    assert not tried.row["evidence"]


def test_24_cut_off_once_and_then_whole(tmp_path: Path) -> None:
    assert try_out(CUT, "once", tmp_path).verdict == "supported"


def test_25_a_date_is_waited_for(tmp_path: Path) -> None:
    tried = try_out(RETRY, "date", tmp_path)
    assert tried.verdict == "supported"
    times = [one["time"] for one in tried.endpoint.requests]
    assert len(times) >= 4
    for before, after in pairwise(times[:4]):
        assert after - before >= 4 - 1 - 1, "the date has whole seconds, and a second early is allowed"


@pytest.mark.parametrize("part", ["past", "words"])
def test_25_what_names_no_moment_ahead_is_an_ordinary_pause(part: str, tmp_path: Path) -> None:
    tried = try_out(RETRY, part, tmp_path)
    assert tried.verdict == "supported"
    assert tried.endpoint.requests[-1]["time"] - tried.endpoint.requests[0]["time"] < 5


def test_25_a_moment_far_ahead_ends_the_run_and_the_ledger_resumes(tmp_path: Path) -> None:
    case = copy_case(RETRY, tmp_path)
    words = ("audit", case / "kg.nt", "--index", index_of(case / "docs.jsonl"), "--run", tmp_path / "run", "--model")
    with served(RETRY, "far", tmp_path / "far") as endpoint:
        message = kgaudit(*words, endpoint.address, status=2).err
        assert "429" in message
        assert endpoint.address.removeprefix("openai:").removesuffix("#stub") in message
        assert len(endpoint.requests) < 5
    with served(RETRY, "words", tmp_path / "words") as endpoint:
        run = Run(tmp_path / "run", kgaudit(*words, endpoint.address))
    assert [row["verdict"] for row in run.rows] == ["supported"]


@pytest.mark.parametrize("part", ["null", "empty"])
def test_26_without_log_probabilities(part: str, tmp_path: Path) -> None:
    tried = try_out(BARE, part, tmp_path)
    assert tried.verdict == "supported"
    confidence = tried.row["confidence"]
    assert confidence is None or 0.0 < confidence < 1.0
    assert "samples" in tried.run.result.text, "it is said where the confidence comes from"
    with served(BARE, part, tmp_path / "doctor") as endpoint:
        said = kgaudit("doctor", endpoint.address).out
    assert "log-probabilities are not given" in said
    assert "samples" in said
    gate = tmp_path / "gate.yaml"
    gate.write_text("accuracy:\n  threshold: 0.5\nlabels:\n  minimum: 0\nverifier_card:\n  required: true\n", encoding="utf-8")
    assert gated(tried.run, gate).status == 2, "a calibrated verifier is asked for, and there is no card of one"


@pytest.mark.parametrize(("part", "reason"), [("field", "refused"), ("filter", "refused"), ("prose", "no valid answer")])
def test_27_refusals_are_not_judged(part: str, reason: str, tmp_path: Path) -> None:
    tried = try_out(REFUSAL, part, tmp_path)
    assert tried.verdict == "not_judged"
    assert reason in tried.row["reason"]
    questions = [json.dumps(one["request"], sort_keys=True) for one in tried.endpoint.requests]
    assert len(questions) == len(set(questions)), "nothing is sent again as it is"
    assert set(tried.endpoint.by_step.values()) == ({2} if part == "prose" else {1})
    assert "not judged 100.0% of 1" in tried.run.result.out
    assert "pass rate 100" not in tried.run.result.out
    gate = tmp_path / "gate.yaml"
    gate.write_text(
        "accuracy:\n  threshold: 0.5\nlabels:\n  minimum: 0\nverifier_card:\n  required: false\nlimits:\n  not_judged: 0.1\n",
        encoding="utf-8",
    )
    assert gated(tried.run, gate).status in (1, 2)


def gated(run: Run, policy: Path) -> Result:
    """The gate as a process of its own: its status is the question."""
    done = subprocess.run(
        [sys.executable, "-m", "kgaudit", "gate", str(run.path), "--policy", str(policy)], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    return Result(done.returncode, done.stdout, done.stderr)
