"""Which files the pages may give out, and which runs there are: only what an audit wrote, only below the runs folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILES = {
    "report.html": "text/html; charset=utf-8",
    "decision.svg": "image/svg+xml",
    "decision.json": "application/json",
    "approval.json": "application/json",
    "spec.json": "application/json",
    "summary.json": "application/json",
    "validation.json": "application/json",
    "quarantine.jsonl": "text/plain; charset=utf-8",
}
"""Names that are served, with their media types."""

RUN_FILES = ("summary.json", "decision.json", "plan.json")
"""A folder that holds one of these is a run, or the decision of a gate."""


def find_inside(root: Path, relative: str) -> Path | None:
    """The file or folder at `relative` below `root`; None where there is none, or it lies elsewhere once links are followed.

    No part may be empty, begin with a dot or hold a zero byte.
    """
    parts = relative.split("/")
    if any(not part or part.startswith(".") or "\0" in part for part in parts):
        return None
    try:
        real_root = root.resolve(strict=True)
        real = root.joinpath(*parts).resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        return None
    return real if real.is_relative_to(real_root) and real != real_root else None


def find_file(root: Path, relative: str) -> Path | None:
    """A file that may be served: in a run folder below `root`, with a name of `FILES`."""
    path = find_inside(root, relative)
    if path is None or path.name not in FILES or relative.rpartition("/")[2] not in FILES or not path.is_file():
        return None
    holds = (path.parent, path.parent.parent) if path.name == "quarantine.jsonl" else (path.parent,)
    return path if any(_is_run(folder) for folder in holds) else None


def find_run(root: Path, relative: str) -> Path | None:
    """A run folder below `root`."""
    path = find_inside(root, relative)
    return path if path is not None and _is_run(path) else None


def _is_run(folder: Path) -> bool:
    return any((folder / name).is_file() for name in RUN_FILES)


@dataclass(frozen=True, slots=True)
class Listed:
    """A run in the list: its path below the runs folder, and when it was last written, as seconds since 1970."""

    relative: str
    written: float


def list_runs(root: Path, most: int) -> tuple[list[Listed], int]:
    """The newest `most` runs of all DAGs below `root`, and how many there are."""
    found = []
    for folder in _folders(root):
        for run in _folders(Path(folder.path)):
            times = [_time_of(Path(run.path) / name) for name in RUN_FILES]
            if any(times):
                found.append(Listed(f"{folder.name}/{run.name}", max(times)))
    found.sort(key=lambda one: (-one.written, one.relative))
    return found[:most], len(found)


def _folders(path: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return [one for one in entries if not one.name.startswith(".") and one.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _time_of(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object of a run; empty where the file is missing or damaged, so that a page can still be shown."""
    from kgaudit.errors import KgauditError
    from kgaudit.runs.files import read_json

    try:
        found = read_json(path)
    except KgauditError:
        return {}
    return found if isinstance(found, dict) else {}
