"""Reads sources for the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kgaudit.sources import STATEMENT_SCHEMA, LoadedGraph, Quarantine, SourceOptions, load, read_batches
from kgaudit.sources.statements import GIVEN_NAMES

EX = "https://graph.example/"
FIELD = Path(__file__).with_name("field")


def read(path: Path, work: Path | None = None, **options: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The statements of a file as rows, and what went into quarantine."""
    work = work or path.parent
    with Quarantine(work) as quarantine:
        batches = list(read_batches(path, SourceOptions(**options), quarantine))
    assert all(batch.schema.equals(STATEMENT_SCHEMA) for batch in batches)
    rows = [row for batch in batches if batch.schema.metadata != GIVEN_NAMES.metadata for row in batch.to_pylist()]
    bad = quarantined(work)
    assert len(bad) == quarantine.count
    return rows, bad


def read_text(folder: Path, text: str | bytes, name: str, **options: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """`read` for a text."""
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(folder / name, **options)


def quarantined(work: Path) -> list[dict[str, Any]]:
    """What lies in the quarantine file of a folder."""
    path = work / "quarantine.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def loaded(work: Path, *paths: Path, **options: Any) -> LoadedGraph:
    """Loads graphs into a folder."""
    return load(paths, work, SourceOptions(**options))


def short(term: str) -> str:
    """A term without the namespace of the tests."""
    return term.removeprefix(f"<{EX}").rstrip(">") if term.startswith(f"<{EX}") else term
