"""What happens to a run when its process is killed, the disk is full or the folder may not be written."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from field_cli import FIELD, ONE_THREAD, Result, any_index, audit, check, command, copy_case, index_of, kgaudit, spawn

from kgaudit.runs.files import TEMPORARY_PREFIX
from kgaudit.runs.reader import RunReader

KILLS = int(os.environ.get("KGAUDIT_KILLS", "3"))
TRIPLES = 3000


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_case("29-two-runs-one-folder", tmp_path_factory.mktemp("kill"))
    index_of(folder / "docs.jsonl", folder / "index")
    return folder


def audit_of(case: Path, run: Path) -> list[object]:
    """The arguments of an audit of the case; without the judge, which takes no part in what is tried here."""
    return ["audit", case / "kg.nt", "--index", case / "index", "--run", run, "--policy", "cooccurrence"]


@pytest.fixture(scope="module")
def whole_seconds(case: Path, tmp_path_factory: pytest.TempPathFactory) -> float:
    """How long a run of the case takes from start to end, as a process of its own."""
    begun = time.monotonic()
    process = spawn(*audit_of(case, tmp_path_factory.mktemp("whole") / "run"))
    out, err = process.communicate(timeout=60)
    check(Result(process.returncode, out, err), 0)
    return time.monotonic() - begun


def keys_in(run: Path) -> list[str]:
    from kgaudit.runs.ledger import open_parts, read_part

    return [key for part in open_parts(run / "ledger") for key in read_part(part, ["key"])["key"].to_pylist()]


def leftovers(run: Path) -> list[Path]:
    return [path for path in run.rglob("*") if path.name.startswith(TEMPORARY_PREFIX) or path.suffix == ".tmp" or path.name == "spill"]


@pytest.mark.parametrize("kill", range(KILLS))
def test_killed_run_goes_on_and_holds_every_triple_once(case: Path, whole_seconds: float, tmp_path: Path, kill: int) -> None:
    run = tmp_path / "run"
    after = random.Random(f"kill {kill}").uniform(0.1, 1.0) * whole_seconds
    process = spawn(*audit_of(case, run))
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(after)
    process.kill()
    process.communicate()
    held = keys_in(run)
    assert len(held) == len(set(held))
    result = kgaudit(*audit_of(case, run))
    assert f"{TRIPLES - len(held):,} verified" in result.out
    keys = keys_in(run)
    assert len(keys) == len(set(keys)) == TRIPLES
    assert set(held) <= set(keys)
    assert leftovers(run) == []
    assert RunReader(run).summary["status"] == "complete"
    assert "0 verified" in kgaudit(*audit_of(case, run)).out


def test_killed_three_times_in_a_row(case: Path, whole_seconds: float, tmp_path: Path) -> None:
    run = tmp_path / "run"
    for share in (0.5, 0.6, 0.7):
        process = spawn(*audit_of(case, run))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(share * whole_seconds)
        process.kill()
        process.communicate()
    kgaudit(*audit_of(case, run))
    keys = keys_in(run)
    assert len(keys) == len(set(keys)) == TRIPLES
    assert leftovers(run) == []


def test_killed_between_the_passages_and_the_verdicts(case: Path, tmp_path: Path) -> None:
    """The one moment at which a part has passages and no verdicts: a killed process is stopped right there."""
    run = tmp_path / "run"
    code = (
        "import os, sys, kgaudit.runs.ledger as ledger\n"
        "write, calls = ledger._write_part, []\n"
        "def killing(folder, table):\n"
        "    calls.append(folder)\n"
        "    if len(calls) == 4: os.kill(os.getpid(), 9)\n"
        "    write(folder, table)\n"
        "ledger._write_part = killing\n"
        "from kgaudit.cli import main\n"
        f"sys.argv = ['kgaudit', *{command(*audit_of(case, run))[3:]!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **ONE_THREAD}, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    held = keys_in(run)
    assert 0 < len(held) < TRIPLES
    kgaudit(*audit_of(case, run))
    keys = keys_in(run)
    assert len(keys) == len(set(keys)) == TRIPLES
    ids = [key for part in sorted((run / "passages").glob("part-*")) for key in _ids(part)]
    assert len(ids) == len(set(ids))


def _ids(part: Path) -> list[str]:
    from kgaudit.runs.ledger import read_part

    ids: list[str] = read_part(part, ["id"])["id"].to_pylist()
    return ids


def test_killed_while_indexing_leaves_the_old_index(case: Path, tmp_path: Path) -> None:
    index = index_of(FIELD / "any.jsonl", tmp_path / "index")
    docs = tmp_path / "docs.jsonl"
    docs.write_text("".join(json.dumps({"id": f"d{i}", "text": f"Maker {i} makes pump {i}. " * 20}) + "\n" for i in range(20_000)))
    process = spawn("index", docs, "--to", index)
    deadline = time.monotonic() + 20
    while not list(tmp_path.glob(".index.building-*")) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.2)
    process.kill()
    process.communicate()
    assert [row["verdict"] for row in audit(FIELD / "28-run-id-in-path" / "kg.nt", index=index, run=tmp_path / "run").rows]
    kgaudit("index", FIELD / "any.jsonl", "--to", index)
    assert list(tmp_path.glob(".index.building-*")) == []


# A full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MB."""
    if os.geteuid() != 0:
        pytest.skip("a full disk: mounting a small tmpfs needs root")
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a full disk: a tmpfs cannot be mounted here ({mounted.stderr.strip()})")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, leave: int) -> Path:
    """A file that takes all but `leave` bytes of a disk."""
    status = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(b"\0" * max(0, status.f_bavail * status.f_frsize - leave))
    return filler


@pytest.fixture(scope="module")
def whole_bytes(case: Path, tmp_path_factory: pytest.TempPathFactory) -> int:
    """What a run of the case takes on disk when it is done."""
    run = tmp_path_factory.mktemp("bytes") / "run"
    kgaudit(*audit_of(case, run))
    return sum(path.stat().st_blocks * 512 for path in run.rglob("*"))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_full_disk(case: Path, small_disk: Path, whole_bytes: int, share: float) -> None:
    filler = fill(small_disk, int(share * whole_bytes))
    run = small_disk / "run"
    arguments = audit_of(case, run)
    result = kgaudit(*arguments, status=2)
    assert "the disk is full" in result.err
    assert str(small_disk) in result.err
    assert "same command" in result.err
    held = keys_in(run)
    filler.unlink()
    assert f"{TRIPLES - len(held):,} verified" in kgaudit(*arguments).out
    keys = keys_in(run)
    assert len(keys) == len(set(keys)) == TRIPLES
    assert leftovers(run) == []


def test_full_disk_while_indexing_reporting_and_exporting(case: Path, small_disk: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    kgaudit(*audit_of(case, run))
    filler = fill(small_disk, 50_000)
    for arguments in (
        ("index", case / "docs.jsonl", "--to", small_disk / "index"),
        ("report", run, "--to", small_disk / "report.html"),
        ("export", run, "--to", small_disk / "table.csv"),
        ("export", run, "--to", small_disk / "table.parquet"),
        ("cards", case / "kg.nt", "--to", small_disk / "cards" / "cards.yaml"),
    ):
        if arguments[0] == "cards":
            (small_disk / "cards").mkdir(exist_ok=True)
            fill(small_disk / "cards", 0)
        result = kgaudit(*arguments, status=2)
        assert "the disk is full" in result.err, arguments
        assert str(small_disk) in result.err, arguments
    left = set(small_disk.iterdir()) - {filler, small_disk / "cards"}
    assert left == set(), "what could not be written whole is not there"


# A folder that may not be written


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that everybody may read (pytest's own are closed to other users)."""
    with tempfile.TemporaryDirectory(prefix="kgaudit-nobody-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


NOBODY = 65534
AS_NOBODY = """
import os, sys, tempfile
from kgaudit.cli import main
# Once as the user who started: afterwards everything that is imported late is there, also where another user cannot read Python.
for argv in WARM_UP:
    sys.argv = ["kgaudit", *argv]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
print("ready", file=sys.stderr, flush=True)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
sys.argv = ["kgaudit", *ARGV]
main()
"""


def as_nobody(warm_up: list[list[str]], *arguments: object, status: int = 2) -> Result:
    """Runs a command as a user who is not root."""
    head = f"WARM_UP = {warm_up!r}\nARGV = {[str(one) for one in arguments]!r}\nNOBODY = {NOBODY}\n"
    done = subprocess.run(
        [sys.executable, "-c", head + AS_NOBODY], env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=False
    )
    assert "ready" in done.stderr, done.stderr
    result = Result(done.returncode, "", done.stderr.split("ready\n", 1)[1])
    check(result, status)
    return result


@pytest.mark.parametrize("what", ["run", "part of the run", "index", "report", "export", "graph", "documents"])
def test_no_permission(readable: Path, what: str) -> None:
    kg = readable / "kg.nt"
    kg.write_bytes((FIELD / "28-run-id-in-path" / "kg.nt").read_bytes())
    docs = readable / "any.jsonl"
    docs.write_bytes((FIELD / "any.jsonl").read_bytes())
    index = index_of(docs, readable / "index")
    run = audit(kg, index=index, run=readable / "run").path
    for path in (readable, *readable.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    closed = readable / "closed"
    closed.mkdir(mode=0o755)
    if os.geteuid() != 0:
        for path in (closed, run, *run.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
    secret = {"graph": kg, "documents": docs}.get(what)
    if secret:
        secret.chmod(0o000)
    tasks: dict[str, tuple[tuple[object, ...], Path]] = {
        "run": (("audit", kg, "--index", index, "--run", closed / "run"), closed),
        "part of the run": (("audit", kg, "--index", index, "--run", run), run),
        "index": (("index", docs, "--to", closed / "index"), closed),
        "report": (("report", run, "--to", closed / "report.html"), closed),
        "export": (("export", run, "--to", closed / "table.csv"), closed),
        "graph": (("audit", kg, "--index", index, "--run", readable / "closed" / "run"), kg),
        "documents": (("index", docs, "--to", closed / "index"), docs),
    }
    arguments, named = tasks[what]
    home = readable / "warm"
    warm_kg, warm_docs = FIELD / "28-run-id-in-path" / "kg.nt", FIELD / "any.jsonl"
    warm_up = [
        ["index", str(warm_docs), "--to", str(home / "index")],
        ["audit", str(warm_kg), "--index", str(any_index()), "--run", str(home / "run")],
        ["report", str(home / "run")],
        ["export", str(home / "run"), "--to", str(home / "table.csv")],
    ]
    result = as_nobody(warm_up, *arguments)
    assert "permission" in result.err or "not readable" in result.err
    assert str(named) in result.err
    assert list(closed.iterdir()) == []
