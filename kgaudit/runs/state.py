"""The state of a knowledge graph across runs: which run gave which triple its verdict, and how far the graph was audited.

    state/
      manifest.jsonl         a line for each committed run, in the order in which they were committed
      parts-....parquet      the parts of its ledger, named by content like the other files
      removed-....parquet    keys that a run found to be gone
      graphs-....parquet     named graphs that a run saw for the first time
      lock                   held while a line is written

The verdicts stay in the run folders, which the manifest names relative to itself where it can. The current view is the latest verdict
of each key that was not removed since. A line is written whole and synced; what a kill left of one is set aside (`manifest.torn-...`)
and counts for nothing: the run is committed again.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kgaudit.documents import Passage
from kgaudit.errors import InputError, RunError, RunLockedError, storage_error
from kgaudit.runs.counts import Counts, count_rows, sum_counts
from kgaudit.runs.files import make_folder, remove_leftovers, sync_folder, whole_file
from kgaudit.runs.keys import Words, first_of_each, stacked, words_of
from kgaudit.runs.ledger import open_parts, read_part
from kgaudit.runs.lock import RunLock
from kgaudit.runs.reader import RunReader
from kgaudit.sources.news import Watermark
from kgaudit.verdicts import VERDICT_SCHEMA

FORMAT = 1
MANIFEST = "manifest.jsonl"
WAIT_SECONDS = 60.0
"""How long a commit waits for another one."""


class State:
    """The manifest of a state, read once. A folder that is not there or holds no manifest is a state without entries.

    Raises `InputError` where a line before the last is damaged, `StorageError` where the manifest cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.entries, self._whole_bytes = _read_manifest(self.path / MANIFEST)

    def committed(self, run: Path, parts: str) -> dict[str, Any] | None:
        """The entry of this run with these parts (`parts_digest`), or None."""
        wanted = run.resolve()
        return next((one for one in self.entries if one["parts"] == parts and self.run_path(one).resolve() == wanted), None)

    def run_path(self, entry: Mapping[str, Any]) -> Path:
        """The run folder of an entry."""
        return self.path / str(entry["path"])

    @cached_property
    def rests_on(self) -> str | None:
        """The run that last gave triples a verdict."""
        return next((str(one["run"]) for one in reversed(self.entries) if sum(one["verdicts"].values())), None)

    @cached_property
    def backlog(self) -> int:
        """New triples that budgets left without a verdict, since the graph was last looked at as a whole."""
        left: dict[str, int] = {}
        for entry in self.entries:
            if entry["selection"]["whole"]:
                left.clear()
            left[str(entry["path"])] = int(entry["left"])
        return sum(left.values())

    @cached_property
    def watermark(self) -> Watermark:
        """How far the graph was audited."""
        time = next((str(one["watermark"]) for one in reversed(self.entries) if one["watermark"]), None)
        files = [str(one["graphs_file"]) for one in self.entries if one["graphs_file"]]
        return Watermark(time, frozenset(name for file in files for name in _read_column(self.path / file)))

    @cached_property
    def view(self) -> View:
        """The current view. Raises `RunError` where a run that it rests on is gone or damaged."""
        return View(self)

    def commit(self, run: Path, values: Mapping[str, Any], removed: Sequence[str], graphs: Sequence[str]) -> dict[str, Any]:
        """Appends the entry of a run with what else is known of it (`values`, which name `run` and `parts`), and returns it.

        A run that was committed with the same parts is not committed again. Raises `RunLockedError` where another commit does not end
        within `WAIT_SECONDS`, and `StorageError`.
        """
        parts = part_names(run)
        make_folder(self.path)
        with _locked(self.path):
            remove_leftovers(self.path, "parts-*", "removed-*", "graphs-*", "manifest.torn-*")
            now = State(self.path)
            known = now.committed(run, str(values["parts"]))
            if known is not None:
                return known
            earlier = [entry for entry in now.entries if now.run_path(entry).resolve() == run.resolve()]
            held = {name for entry in earlier for name in now.parts_of(entry)}
            if earlier:  # the run went on: what was gone when it began may have come back since
                removed = ()
            entry = {
                "format": FORMAT,
                "committed": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                "path": _relative(run, self.path),
                **values,
                "parts_file": self._write_column("parts", [name for name in parts if name not in held]),
                "removed": len(removed),
                "removed_file": self._write_column("removed", removed),
                "graphs_file": self._write_column("graphs", graphs),
            }
            now._append(json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
        return entry

    def _append(self, line: str) -> None:
        path = self.path / MANIFEST
        try:
            with open(path, "a+b", buffering=0) as file:
                if file.seek(0, io.SEEK_END) > self._whole_bytes:
                    file.seek(self._whole_bytes)
                    torn = file.read()
                    with whole_file(self.path / f"manifest.torn-{sha256(torn).hexdigest()[:12]}") as aside:
                        aside.write(torn)
                    file.truncate(self._whole_bytes)
                content = (line + "\n").encode("utf-8", "backslashreplace")
                if file.write(content) != len(content):
                    raise OSError(28, "No space left on device")
                os.fsync(file.fileno())
            sync_folder(self.path)
        except OSError as error:
            raise storage_error(error, str(path)) from error

    def _write_column(self, name: str, values: Sequence[str]) -> str | None:
        import pyarrow.parquet as pq

        if not values:
            return None
        buffer = io.BytesIO()
        pq.write_table(pa.table({"value": pa.array(values, pa.string())}), buffer, compression="zstd")
        content = buffer.getvalue()
        file = f"{name}-{sha256(content).hexdigest()[:24]}.parquet"
        with whole_file(self.path / file) as stream:
            stream.write(content)
        return file

    def parts_of(self, entry: Mapping[str, Any]) -> list[str]:
        """The parts that an entry added, relative to the ledger folder of its run."""
        return _read_column(self.path / str(entry["parts_file"])) if entry["parts_file"] else []

    def removed_by(self, entry: Mapping[str, Any]) -> list[str]:
        """The keys that the run of an entry found to be gone."""
        return _read_column(self.path / str(entry["removed_file"])) if entry["removed_file"] else []


def _read_manifest(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The entries, and how many bytes their lines take: what lies behind is a line that was not written to its end."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise storage_error(error, str(path)) from error
    entries: list[dict[str, Any]] = []
    whole = 0
    lines = content.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            entry = json.loads(line)
            known = entry["format"]
        except (ValueError, TypeError, KeyError):
            if number == len(lines) - 1 and not lines[-1]:
                break
            raise InputError(
                f"line {number} is damaged", where=str(path), todo="Restore the file: what was verified stands in the run folders."
            ) from None
        if known != FORMAT:
            raise InputError(f"line {number} was written by another version of kgaudit", where=str(path), todo="Use that version.")
        entries.append(entry)
        whole += len(line) + 1
    return entries, whole


def _read_column(path: Path) -> list[str]:
    values: list[str] = read_part(path, ["value"])["value"].to_pylist()
    return values


def _locked(state: Path) -> RunLock:
    try:
        return RunLock(state, wait=WAIT_SECONDS)
    except RunLockedError as error:
        raise RunLockedError(
            error.happened.replace("the run", "the state"), where=str(state), todo="Run the same command again when it has ended."
        ) from error


def _relative(run: Path, state: Path) -> str:
    """The run folder as seen from the state, so that both can move together; absolute where nothing but the root is common."""
    run, state = run.resolve(), state.resolve()
    common = os.path.commonpath([run, state])
    return str(run) if common == os.path.sep else os.path.relpath(run, state)


def part_names(run: Path) -> list[str]:
    """The parts of a run's ledger, relative to its folder."""
    return [os.path.relpath(part, run / "ledger") for part in open_parts(run / "ledger")]


def parts_digest(run: Path) -> str:
    """Names the verdicts that a run holds: by the names of their parts, which are named by content."""
    return sha256("\n".join(part_names(run)).encode()).hexdigest()


class View:
    """The current verdicts of a state: for each part of each run the rows that count, those of the latest run first."""

    def __init__(self, state: State) -> None:
        parts: list[tuple[int, Path, int]] = []
        words: list[Words] = []
        for number, entry in reversed(list(enumerate(state.entries))):
            for part in _parts_of(state, entry):
                keys = words_of(read_part(part, ["key"])["key"].to_pylist())
                parts.append((number, part, len(keys)))
                words.append(keys)
            gone = words_of(state.removed_by(entry))
            parts.append((number, Path(), len(gone)))
            words.append(gone)
        whole = stacked(words)
        lengths = np.array([count for _, _, count in parts], np.int64)
        ends = np.cumsum(lengths)
        firsts = first_of_each(whole)
        part_of = np.searchsorted(ends, firsts, side="right")
        verdict = np.array([part != Path() for _, part, _ in parts], np.bool_)
        firsts, part_of = firsts[verdict[part_of]], part_of[verdict[part_of]]
        self.words = whole[firsts]
        """The keys, in the order of the rows."""
        self.entry = np.array([number for number, _, _ in parts], np.int64)[part_of]
        """The number of the entry that each row comes from."""
        self.parts: list[tuple[Path, npt.NDArray[np.int64] | None]] = []
        """Parts with the numbers of the rows that count; None: all of them."""
        for index in np.unique(part_of).tolist():
            rows = firsts[part_of == index] - (ends[index] - lengths[index])
            self.parts.append((parts[index][1], None if len(rows) == lengths[index] else rows))

    def __len__(self) -> int:
        return len(self.words)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, part by part."""
        names = list(columns)
        for part, rows in self.parts:
            table = read_part(part, names).select(names)
            if rows is not None:
                table = table.take(pa.array(rows)).combine_chunks()
            yield from table.to_batches()


def _parts_of(state: State, entry: Mapping[str, Any]) -> list[Path]:
    run = state.run_path(entry)
    names = state.parts_of(entry)
    if names and not (run / "spec.json").is_file():
        raise RunError(
            f"the run {entry['run']} is not there ({run}): the state rests on its verdicts",
            where=str(state.path),
            todo="Restore the run folder, or begin a new state.",
        )
    return [run / "ledger" / name for name in names]


class StateReader(RunReader):
    """The current view of a state, read like a run. Raises `RunError` where the folder holds no state, or no run is committed yet.

    Where its verdicts come from several verifiers, `spec` names none of them: a verifier card, which measured one, does not fit.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.state = State(self.path)
        if not self.state.entries:
            raise RunError(
                "no run was committed to this state yet", where=str(self.path), todo="`kgaudit audit ... --state` commits its run."
            )
        self._view = self.state.view
        present = set(np.unique(self._view.entry).tolist())
        self._entries = [entry for number, entry in enumerate(self.state.entries) if number in present] or self.state.entries[-1:]
        self.spec = self._spec()
        self.summary = self._summary()

    @property
    def runs(self) -> list[RunReader]:
        """The runs whose verdicts count, the latest first."""
        paths = dict.fromkeys(self.state.run_path(entry) for entry in reversed(self._entries))
        return [RunReader(path) for path in paths]

    @property
    def graph(self) -> Path:
        """The graph as it was loaded last."""
        return self.state.run_path(self.state.entries[-1]) / "graph"

    def _spec(self) -> dict[str, Any]:
        latest = self._entries[-1]
        values = {name: latest[name] for name in ("started", "kgaudit", "kg", "index")}
        for name in VERIFIER:
            found = [entry[name] for entry in self._entries if entry[name] is not None]
            alike = all(one == found[0] for one in found)
            several = sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
            if name == "snapshot":
                values[name] = found[-1] if found else None
            else:
                values[name] = (found[0] if found else None) if alike else {"name": "several", "digest": several}
        return {"format": FORMAT, **values, "runs": [str(entry["run"]) for entry in self._entries]}

    def _summary(self) -> dict[str, Any]:
        latest = self.state.entries[-1]
        backlog = self.state.backlog
        counts = sum_counts(count_rows(self.batches(["verdict"]), "verdict"))
        return {
            "status": "unverified" if backlog else "complete",
            "verdicts": counts.verdicts,
            "load": {**latest["load"], "claims": counts.total + backlog},
            "searches": sum(int(entry["searches"]) for entry in self._entries),
            "judged_pairs": sum(int(entry["judged_pairs"]) for entry in self._entries),
            "seconds": sum(float(entry["seconds"]) for entry in self._entries),
        }

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The latest verdict of each key, those of the latest run first; `columns` may also name `trajectory`."""
        yield from self._view.batches(list(columns) if columns is not None else VERDICT_SCHEMA.names)

    def passage_tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The passages of all the runs whose verdicts count."""
        for run in self.runs:
            yield from run.passage_tables(columns)

    def passages(self, ids: Iterable[str]) -> dict[str, Passage]:
        """The passages of these ids; an id that no run holds is left out."""
        wanted = list(dict.fromkeys(ids))
        found: dict[str, Passage] = {}
        for run in self.runs:
            found.update(run.passages(key for key in wanted if key not in found))
        return found


VERIFIER = ("judge", "model", "policy", "snapshot")
"""What an entry keeps of the specification of its run: who verified, and on which documents."""


def open_reader(path: Path) -> RunReader:
    """Opens a run folder or a state for reading. Raises `RunError` where the folder is neither."""
    folder = Path(path)
    is_state = (folder / MANIFEST).is_file() and not (folder / "spec.json").is_file()
    return StateReader(folder) if is_state else RunReader(folder)


def current_counts(state: State) -> Counts:
    """The verdicts of the current view."""
    return sum_counts(count_rows(state.view.batches(["verdict"]), "verdict"))
