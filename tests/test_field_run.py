"""Field cases 28 to 31 and, as far as an audit goes, 35: run folders, two runs at once, Ctrl-C, clocks, nothing to judge."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from field_cli import (
    EX,
    FIELD,
    ONE_THREAD,
    any_index,
    audit,
    command,
    copy_case,
    finish,
    index_of,
    kgaudit,
    quick_judge,
    refused,
    report_text,
    spawn,
)

from kgaudit.runs.files import TEMPORARY_PREFIX
from kgaudit.runs.lock import RunLock
from kgaudit.runs.reader import RunReader, steps_of


def keys_of(run: Path) -> list[str]:
    return [key for batch in RunReader(run).batches(["key"]) for key in batch["key"].to_pylist()]


def assert_whole(run: Path, triples: int) -> None:
    """Every triple once, every part readable, nothing half-written left."""
    keys = keys_of(run)
    assert len(keys) == triples
    assert len(set(keys)) == triples
    assert RunReader(run).summary["status"] == "complete"
    assert [path for path in run.rglob("*") if path.name.startswith(TEMPORARY_PREFIX)] == []


def wait_for_part(process: subprocess.Popen[str], run: Path) -> None:
    """Waits until the run has written its first verdicts."""
    deadline = time.monotonic() + 30
    while not list(run.glob("ledger/part-*.parquet")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


# 28: names of run folders

NAMES = (FIELD / "28-run-id-in-path" / "names.txt").read_text("utf-8").splitlines()
MORE_NAMES = [
    "a?b&c=d;e",
    "'quoted' \"twice\"",
    "tab\there",
    "..hidden",
    "%41",
    "100%",
    "-",
    "日本 런",
    "x" * 200,
    "e\u0301 ünïcode",
    "back\\slash",
    "~",
]


@pytest.mark.parametrize("name", [*NAMES, *MORE_NAMES])
def test_28_run_id_in_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    case = copy_case("28-run-id-in-path", tmp_path)
    index = case / "idx #1 100%"
    kgaudit("index", case / "docs.jsonl", "--to", f"{index}/")
    run = audit(case / "kg.nt", index=index, run=case / "runs" / name)
    assert [row["verdict"] for row in run.rows] == ["supported"]
    assert [path.name for path in (case / "runs").iterdir()] == [name]
    links = re.findall(r'href="([^"#][^"]*)"', _page(run.path))
    assert links
    for link in links:
        parts = urlsplit(link)
        assert parts.scheme in ("", "https"), link
        if not parts.scheme:
            assert (run.path / unquote(parts.path)).exists(), link
    again = audit(case / "kg.nt", index=index, run=case / "runs" / name)
    assert again.reader.summary["verified_now"] == 0
    monkeypatch.chdir(case / "runs")
    kgaudit("report", "--", name)
    kgaudit("report", f"./{name}", "--to", case / "elsewhere" / f"{name}.html"[-200:])
    for link in re.findall(r'href="([^"#][^":]*)"', (case / "elsewhere" / f"{name}.html"[-200:]).read_text("utf-8")):
        assert (case / "elsewhere" / unquote(link)).exists(), link


def _page(run: Path) -> str:
    kgaudit("report", run)
    return (run / "report.html").read_text("utf-8")


def test_28_relative_names_that_look_like_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = copy_case("28-run-id-in-path", tmp_path)
    monkeypatch.chdir(case)
    for name in ("--help", "-x"):
        result = kgaudit("audit", "kg.nt", f"--run={name}", "--index", any_index())
        assert "1 verified" in result.out
        assert (case / name / "ledger").is_dir()


def test_28_name_that_the_file_system_refuses(tmp_path: Path) -> None:
    message = refused(FIELD / "28-run-id-in-path" / "kg.nt", run=tmp_path / ("x" * 300))
    assert "name" in message
    assert list(tmp_path.iterdir()) == []


def test_28_run_folder_that_is_a_file_or_an_index(tmp_path: Path) -> None:
    kg = FIELD / "28-run-id-in-path" / "kg.nt"
    (tmp_path / "file").write_text("mine")
    for run in (tmp_path / "file", tmp_path / "file" / "below"):
        assert str(tmp_path / "file") in refused(kg, run=run)
    assert (tmp_path / "file").read_text() == "mine"


def test_28_another_graph_or_index_in_a_run_folder(tmp_path: Path) -> None:
    """A folder that belongs to a run with other documents is not mixed into."""
    case = copy_case("28-run-id-in-path", tmp_path)
    audit(case / "kg.nt", run=tmp_path / "run")
    message = refused(case / "kg.nt", index=index_of(case / "docs.jsonl"), run=tmp_path / "run")
    assert "index" in message
    assert str(tmp_path / "run") in message


# 29: the same run twice at once


def test_29_two_runs_one_folder(tmp_path: Path) -> None:
    case = copy_case("29-two-runs-one-folder", tmp_path)
    index = index_of(case / "docs.jsonl")
    run = tmp_path / "run"
    both = [spawn("audit", case / "kg.nt", "--index", index, "--run", run, "--judge", quick_judge()) for _ in range(2)]
    begun = [process.communicate(timeout=60) for process in both]
    statuses = sorted(process.returncode for process in both)
    assert statuses in ([0, 2], [0, 0]), begun
    assert "Traceback" not in str(begun)
    for process, (_, err) in zip(both, begun, strict=True):
        if process.returncode == 2:
            (other,) = [one for one in both if one is not process]
            assert f"process {other.pid}" in err
    assert_whole(run, 3000)
    # The pair once more, killed; what is left of it blocks nobody. (Without the judge: it takes no part in this.)
    run = tmp_path / "killed"
    arguments = ("audit", case / "kg.nt", "--index", index, "--run", run, "--policy", "cooccurrence")
    both = [spawn(*arguments) for _ in range(2)]
    deadline = time.monotonic() + 30
    while not list(run.glob("ledger/part-*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.005)
    for process in both:
        process.kill()
        process.communicate()
    held = len(keys_of(run))
    result = kgaudit(*arguments)
    assert f"{3000 - held:,} verified" in result.out
    assert_whole(run, 3000)


def test_29_held_run_names_its_holder(tmp_path: Path) -> None:
    kg = FIELD / "28-run-id-in-path" / "kg.nt"
    run = audit(kg, run=tmp_path / "run").path
    with RunLock(run):
        message = refused(kg, run=run)
        assert f"process {os.getpid()}" in message
        assert str(run) in message
        kgaudit("report", run)
    assert kgaudit("audit", kg, "--index", any_index(), "--run", run).out


# 30: Ctrl-C


def _interrupted(
    tmp_path: Path, *, twice: bool = False, number: int = signal.SIGINT, policy: str = "cooccurrence"
) -> tuple[Path, list[object]]:
    case = copy_case("30-ctrl-c", tmp_path)
    run = tmp_path / "run"
    arguments = [case / "kg.nt", "--index", index_of(case / "docs.jsonl"), "--run", run, "--policy", policy, "--judge", quick_judge()]
    process = spawn("audit", *arguments)
    wait_for_part(process, run)
    asked = time.monotonic()
    process.send_signal(number)
    if twice:
        time.sleep(0.5)
        process.send_signal(number)
    result = finish(process, 128 + number)
    assert time.monotonic() - asked < 5
    done = len(keys_of(run))
    assert 0 < done < 3000
    assert f"{done:,} of 3,000" in result.err
    assert "same command" in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert RunReader(run).summary["status"] == "interrupted"
    assert "Not finished" in report_text(run)
    return run, arguments


@pytest.mark.parametrize(("twice", "policy"), [(False, "agentkgv"), (True, "cooccurrence")])
def test_30_ctrl_c(tmp_path: Path, twice: bool, policy: str) -> None:
    run, arguments = _interrupted(tmp_path, twice=twice, policy=policy)
    done = len(keys_of(run))
    result = kgaudit("audit", *arguments)
    assert f"{3000 - done:,} verified ({done:,} were there already)" in result.out
    assert_whole(run, 3000)


def test_30_termination(tmp_path: Path) -> None:
    run, arguments = _interrupted(tmp_path, number=signal.SIGTERM)
    kgaudit("audit", *arguments)
    assert_whole(run, 3000)


def test_30_ctrl_c_on_a_terminal(tmp_path: Path) -> None:
    """Progress is shown, and the terminal is left as it was: no traceback, cursor visible."""
    case = copy_case("30-ctrl-c", tmp_path)
    index = index_of(case / "docs.jsonl")
    run = tmp_path / "run"
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("audit", case / "kg.nt", "--index", index, "--run", run, "--policy", "cooccurrence"),
        stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, **ONE_THREAD, "TERM": "xterm", "COLUMNS": "100"},
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    sent = False
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
        if not sent and list(run.glob("ledger/part-*.parquet")):
            process.send_signal(signal.SIGINT)
            sent = True
    os.close(ours)
    assert process.wait(10) == 130
    text = shown.decode("utf-8", "replace")
    assert "Traceback" not in text
    assert "verifying" in text
    assert re.search(r"[\d,]+ of 3,000 triples", text)
    assert "interrupted: " in text
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l") or "\x1b[?25l" not in text


def test_30_ctrl_c_before_anything_was_verified(tmp_path: Path) -> None:
    """While the graph is still read: the same exit status, one line, and the same command goes on."""
    kg = tmp_path / "kg.nt"
    kg.write_text("".join(f"<{EX}p{i}> <{EX}madeBy> <{EX}m{i % 100}> .\n" for i in range(400_000)))
    process = spawn("audit", kg, "--index", any_index(), "--run", tmp_path / "run", "--max-triples", "10")
    deadline = time.monotonic() + 20
    while not (tmp_path / "run" / "graph").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    result = finish(process, 130)
    assert "interrupted" in result.err
    assert len(result.err.strip().splitlines()) == 1
    kg.write_text("".join(f"<{EX}p{i}> <{EX}madeBy> <{EX}m{i % 100}> .\n" for i in range(20)))
    assert "20 verified" in kgaudit("audit", kg, "--index", any_index(), "--run", tmp_path / "run").out


def test_30_ctrl_c_while_indexing(tmp_path: Path) -> None:
    """No index is better than half an index; the one that was there stays."""
    docs = tmp_path / "docs.jsonl"
    docs.write_text("".join(json.dumps({"id": f"d{i}", "text": f"Maker {i} makes pump {i}. " * 20}) + "\n" for i in range(20_000)))
    old = index_of(FIELD / "any.jsonl", tmp_path / "index")
    before = sorted((path.name, path.read_bytes()) for path in old.iterdir())
    process = spawn("index", docs, "--to", old)
    deadline = time.monotonic() + 20
    while not list(tmp_path.glob(".index.building-*")) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    finish(process, 130)
    assert sorted((path.name, path.read_bytes()) for path in old.iterdir()) == before
    assert list(tmp_path.glob(".index.building-*")) == []


# 31: clocks


def _assert_sane_times(run: Path, took: float) -> None:
    reader = RunReader(run)
    assert 0 <= reader.summary["seconds"] <= took + 1
    for batch in reader.batches(["seconds", "trajectory"]):
        for row in batch.to_pylist():
            assert 0 <= row["seconds"] <= took + 1
            assert all(0 <= step.seconds <= took + 1 for step in steps_of(row))
    text = report_text(run)
    assert not re.search(r"-\d[\d,.]* s\b", text)
    assert all(float(number.replace(",", "")) <= took + 1 for number in re.findall(r"\b([\d,]+\.\d+) s\b", text))


JUMPS = {
    "as in the case": None,
    "at every call": "import time, itertools\n_real, _turn = time.time, itertools.count()\n"
    "time.time = lambda: _real() + (-3600 if next(_turn) % 2 else 86400)\n",
}


@pytest.mark.parametrize(("jumps", "budget"), [("as in the case", ()), ("at every call", ("--max-seconds", "60"))])
def test_31_clock_jump(tmp_path: Path, jumps: str, budget: tuple[str, ...]) -> None:
    case = copy_case("31-clock-jump", tmp_path)
    if JUMPS[jumps]:
        (case / "sitecustomize.py").write_text(JUMPS[jumps] or "")
    arguments = ("audit", case / "kg.nt", "--index", index_of(case / "docs.jsonl"), "--run", tmp_path / "run", *budget)
    env = {"PYTHONPATH": os.pathsep.join(filter(None, (str(case), os.environ.get("PYTHONPATH"))))}
    begun = time.monotonic()
    process = spawn(*arguments, env=env, cwd=case)
    result = finish(process)
    took = time.monotonic() - begun
    assert_whole(tmp_path / "run", 1000)
    _assert_sane_times(tmp_path / "run", took)
    said = re.findall(r"in ([\d,.]+) s", result.text)
    assert said
    assert all(0 <= float(number.replace(",", "")) <= took + 1 for number in said)
    again = spawn(*arguments, env=env, cwd=case)
    assert "0 verified" in finish(again).out


def test_31_sitecustomize_is_really_used(tmp_path: Path) -> None:
    """What the test above relies on: the clock of the process does jump."""
    case = copy_case("31-clock-jump", tmp_path)
    (case / "sitecustomize.py").write_text(JUMPS["at every call"] or "")
    code = "import time; print(abs(time.time() - time.time()) > 80000)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(case)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"


def test_31_budget_of_time_ends_a_run_by_the_monotonic_clock(tmp_path: Path) -> None:
    case = copy_case("31-clock-jump", tmp_path)
    index = index_of(case / "docs.jsonl")
    result = kgaudit("audit", case / "kg.nt", "--index", index, "--run", tmp_path / "run", "--max-seconds", "0.01")
    assert RunReader(tmp_path / "run").summary["status"] == "budget"
    assert result.out.splitlines()[-1].startswith("budget: ")
    kgaudit("audit", case / "kg.nt", "--index", index, "--run", tmp_path / "run")
    assert_whole(tmp_path / "run", 1000)


# 35: nothing to judge


def test_35_nothing_to_judge(tmp_path: Path) -> None:
    case = copy_case("35-nothing-to-judge", tmp_path)
    run = audit(case / "schema-only.ttl", run=tmp_path / "schema")
    assert run.rows == []
    assert sum(run.load["left_out"].values()) == 6
    assert "6 statements read: 0 triples to verify" in run.result.out
    assert "schema" in run.result.out
    assert "label" in run.result.out
    assert "100" not in run.result.out
    assert "pass rate – of 0 judged" in run.result.out
    assert "empty.nt" in refused(case / "empty.nt", run=tmp_path / "empty")
    lacking = audit(case / "no-evidence.nt", run=tmp_path / "lacking")
    assert [row["verdict"] for row in lacking.rows] == ["not_enough_evidence"]
    assert "pass rate – of 0 judged" in lacking.result.out
    assert "100.0%" not in lacking.result.out.replace("not enough evidence 100.0%", "")
    for done in (run, lacking):
        page = report_text(done.path)
        assert not re.search(r"pass rate[^<]{0,20}100", page, re.IGNORECASE)
        assert "–" in page


@pytest.mark.parametrize("text", ["\n\n", "# only a comment\n", "\ufeff", "   \r\n"])
@pytest.mark.parametrize("suffix", ["nt", "ttl", "csv", "jsonl"])
def test_35_files_with_nothing_in_them(tmp_path: Path, suffix: str, text: str) -> None:
    (tmp_path / f"kg.{suffix}").write_text(text, "utf-8")
    assert f"kg.{suffix}" in refused(tmp_path / f"kg.{suffix}", run=tmp_path / "run")
