"""Runs the command line for the end-to-end tests: in this process for speed, as a process of its own where that is the point."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import kgaudit.models as kgaudit_models
from kgaudit.cli import main
from kgaudit.runs.reader import RunReader
from kgaudit.triples import is_literal, name_of, parse_literal

FIELD = Path(__file__).with_name("field")
EX = "https://graph.example/"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Result:
    """What a command said and how it ended."""

    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


def kgaudit(*arguments: object, status: int = 0) -> Result:
    """Runs a command in this process and checks its exit status; a traceback never passes."""
    out, err = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with (
            mock.patch.object(sys, "argv", ["kgaudit", *map(str, arguments)]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main()
    except SystemExit as end:
        found = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    result = Result(found, out.getvalue(), err.getvalue())
    check(result, status)
    return result


def check(result: Result, status: int) -> None:
    """Exit status as expected, no traceback, and a message on standard error where the command failed."""
    assert "Traceback" not in result.text, result.text
    assert result.status == status, f"exit {result.status}, not {status}: {result.text}"
    if status:
        assert result.err.strip(), "a command that fails says why"


def command(*arguments: object) -> list[str]:
    """The argument list of a process of its own."""
    return [sys.executable, "-m", "kgaudit", *map(str, arguments)]


def spawn(*arguments: object, env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
    """Starts a command as a process of its own."""
    return subprocess.Popen(
        command(*arguments),
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=options.pop("stderr", subprocess.PIPE),
        text=True,
        env={**os.environ, **ONE_THREAD, **(env or {})},
        **options,
    )


def finish(process: subprocess.Popen[str], status: int = 0, timeout: float = 60) -> Result:
    """Waits for a process and checks how it ended."""
    out, err = process.communicate(timeout=timeout)
    result = Result(process.returncode, out or "", err or "")
    check(result, status)
    return result


@dataclass(frozen=True)
class Measured(Result):
    """`seconds` is processor time, `peak_mb` the largest resident size of the process."""

    seconds: float = 0.0
    peak_mb: float = 0.0


_WATCH = """
import json, os, resource, sys
limit = int(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
_, state, usage = os.wait4(os.posix_spawn(sys.argv[3], sys.argv[3:], os.environ), 0)
with open(sys.argv[2], "w") as file:
    json.dump([os.waitstatus_to_exitcode(state), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024], file)
"""


def measured(*arguments: object, status: int = 0, address_space: int | None = None) -> Measured:
    """Runs a command as a process of its own and measures it; `address_space` in bytes limits its memory."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.json"
        # A small process between: a child's largest size begins with that of the process that it was forked from.
        watch = [sys.executable, "-c", _WATCH, str(address_space or 0), str(found), *command(*arguments)]
        done = subprocess.run(watch, capture_output=True, text=True, check=True, env={**os.environ, **ONE_THREAD})
        status_found, seconds, peak_mb = json.loads(found.read_text())
    result = Measured(status_found, done.stdout, done.stderr, seconds, peak_mb)
    check(result, status)
    return result


@functools.cache
def _quick_home() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="kgaudit-quick-judge-")


def quick_judge() -> Path:
    """The judge that ships without its encoder, for tests that are about runs, not about judging."""
    home = Path(_quick_home().name)
    for name in ("cue.npz", "cue.json"):
        if not (home / name).exists():
            (home / name).symlink_to(Path(kgaudit_models.__file__).parent / "data" / name)
    return home


def copy_case(name: str, to: Path) -> Path:
    """A copy of a field case that a test may write into, with what its `make.py` writes."""
    folder = to / name
    shutil.copytree(FIELD / name, folder)
    if (folder / "make.py").exists():
        subprocess.run([sys.executable, "make.py"], cwd=folder, check=True)
    return folder


@functools.cache
def _any_index_home() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="kgaudit-any-index-")


def any_index() -> Path:
    """An index of `any.jsonl`, made once."""
    path = Path(_any_index_home().name) / "index"
    if not path.exists():
        kgaudit("index", FIELD / "any.jsonl", "--to", path)
    return path


def index_of(documents: Path, to: Path | None = None) -> Path:
    """An index of the documents, beside them unless `to` says where."""
    if to is None and documents.parent == FIELD:
        return any_index()  # nothing is written into the cases
    path = to or documents.with_name(documents.name + ".index")
    kgaudit("index", documents, "--to", path)
    return path


def short(term: str) -> str:
    """The part of a term that a test names: the value of a literal, the plain name, the end of an IRI."""
    if is_literal(term):
        return parse_literal(term).value
    name = name_of(term)
    if name is not None:
        return name
    return term[1:-1].removeprefix(EX) if term.startswith("<") else term


@dataclass(frozen=True)
class Run:
    """A run that is done, as its reader gives it."""

    path: Path
    result: Result

    @functools.cached_property
    def reader(self) -> RunReader:
        return RunReader(self.path)

    @functools.cached_property
    def rows(self) -> list[dict[str, Any]]:
        return [row for batch in self.reader.batches() for row in batch.to_pylist()]

    @property
    def keys(self) -> list[str]:
        return sorted(row["key"] for row in self.rows)

    @property
    def objects(self) -> set[str]:
        return {short(row["o"]) for row in self.rows}

    @property
    def subjects(self) -> set[str]:
        return {short(row["s"]) for row in self.rows}

    @property
    def triples(self) -> set[tuple[str, str, str]]:
        return {(short(row["s"]), short(row["p"]), short(row["o"])) for row in self.rows}

    @property
    def load(self) -> dict[str, Any]:
        found: dict[str, Any] = self.reader.summary["load"]
        return found

    @functools.cached_property
    def quarantine(self) -> list[dict[str, Any]]:
        return read_jsonl(self.path / "graph" / "quarantine.jsonl")

    def one(self, subject: str, predicate: str, obj: str) -> dict[str, Any]:
        """The row of a triple by the short forms of its terms."""
        (row,) = [row for row in self.rows if (short(row["s"]), short(row["p"]), short(row["o"])) == (subject, predicate, obj)]
        return row

    def verdict(self, subject: str, predicate: str, obj: str) -> str:
        """The verdict of a triple."""
        found: str = self.one(subject, predicate, obj)["verdict"]
        return found


def audit(*kg: Path, index: Path | None = None, run: Path, options: tuple[object, ...] = ()) -> Run:
    """`kgaudit audit`, which must succeed; quotes are checked against the passages that the run kept."""
    result = kgaudit("audit", *kg, "--index", index or any_index(), "--run", run, *options)
    done = Run(run, result)
    assert len(done.keys) == len(set(done.keys)), "a triple stands in the ledger twice"
    assert done.load["claims"] == len(done.rows)
    assert done.load["quarantined"] == len(done.quarantine)
    assert not any(row["verdict"] == "not_judged" for row in done.rows), [row["reason"] for row in done.rows]
    return done


def refused(*kg: Path, index: Path | None = None, run: Path, options: tuple[object, ...] = ()) -> str:
    """`kgaudit audit`, which must end with exit status 2; gives its message."""
    return kgaudit("audit", *kg, "--index", index or any_index(), "--run", run, *options, status=2).err


def assert_verbatim(run: Run, *documents: Path) -> None:
    """Every quote of every verdict stands in its document, code point for code point, where it says; supported is never bare."""
    texts = {row["id"]: row["text"] for path in documents for row in read_jsonl(path)}
    for row in run.rows:
        assert row["evidence"] or row["verdict"] != "supported", row
        for span in row["evidence"]:
            assert span["quote"], row
            assert texts[span["document_id"]][span["start"] : span["end"]] == span["quote"], row


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON lines file; none where it is missing. Lines that are no JSON are left out."""
    found = []
    for line in path.read_text(encoding="utf-8").split("\n") if path.exists() else []:
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


def report_text(run: Path) -> str:
    """The report of a run as one text: the page as it is, and what its packed blocks hold."""
    import base64
    import gzip
    import re

    kgaudit("report", run)
    page = (run / "report.html").read_text(encoding="utf-8")
    blocks = re.findall(r'<script type="application/octet-stream" id="([^"]+)">([^<]*)</script>', page)
    assert blocks, "the report keeps its triples in packed blocks"
    texts = [
        gzip.decompress(base64.b64decode(packed)).decode("utf-8", "replace") for name, packed in blocks if name.startswith("chunk-")
    ]
    texts += [gzip.decompress(base64.b64decode(packed)).decode("utf-8", "replace") for name, packed in blocks if name == "search"]
    return "\n".join([re.sub(r'<script type="application/octet-stream".*?</script>', "", page, flags=re.DOTALL), *texts])


def report_cards(run: Path) -> list[Any]:
    """The triples of a report as the page's script builds them: nested lists of tag, attributes and children."""
    import base64
    import gzip
    import re

    kgaudit("report", run)
    page = (run / "report.html").read_text(encoding="utf-8")
    packed = re.findall(r'<script type="application/octet-stream" id="chunk-\d+">([^<]*)</script>', page)
    return [card for block in packed for card in json.loads(gzip.decompress(base64.b64decode(block)))]


def files_of(run: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file of a run folder with its bytes."""
    for path in sorted(run.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()
