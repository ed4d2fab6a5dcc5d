"""People's labels: `labels.jsonl`, or the filled-in CSV sheet that `kgaudit sample` wrote.

A row holds `key`, `label` (true, false, unsure; empty: not labelled yet), `annotator`, `time` (ISO 8601), `design`, `stratum`,
`cluster`, `weight`, and `sample`, which says how to draw the sample again.

Where a triple was labelled more than once:

- by one annotator: the latest counts (by time, then by place in the file);
- by several: the majority of those who decided; a tie is `unsure`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from kgaudit.errors import InputError, storage_error
from kgaudit.gate.estimators import DESIGNS

_LABELS = {"true": True, "false": False, "unsure": None}
_KEY = re.compile(r"[0-9a-f]{64}")
_SHOWN_ERRORS = 10


@dataclass(frozen=True, slots=True)
class Label:
    """What people say of one triple: `label` is None where they are unsure or split. `time` is that of the latest judgement."""

    key: str
    label: bool | None
    annotators: tuple[str, ...] = ()
    time: datetime | None = None
    design: str = ""
    stratum: str = ""
    cluster: str = ""
    weight: float | None = None
    sample: str = ""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of some files, one `Label` a triple.

    `blank` rows were not filled in; `shared` triples have several annotators, of which `split` are those who did not all say the same.
    """

    paths: tuple[Path, ...]
    labels: tuple[Label, ...]
    blank: int = 0
    shared: int = 0
    split: int = 0

    @property
    def newest(self) -> datetime | None:
        """When the latest label was given; None where no row says when."""
        return max((label.time for label in self.labels if label.time), default=None)


class _RowError(ValueError):
    pass


def read_labels(*paths: Path) -> Labels:
    """The labels of one or more files together, JSON lines or CSV by suffix.

    Raises `InputError` that names the lines that are wrong (the first ten) and what is expected, `StorageError` where a file cannot be
    read.
    """
    rows: list[Label] = []
    blank = 0
    for path in paths:
        found, unfilled = _read(path)
        rows += found
        blank += unfilled
    return _joined(paths, rows, blank)


def _read(path: Path) -> tuple[list[Label], int]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise storage_error(error, str(path)) from error
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 (byte {error.start:,})", where=str(path), todo="Save the file as UTF-8.") from error
    labels: list[Label] = []
    wrong: list[str] = []
    blank = 0
    for line, values in _csv_rows(text, path) if path.suffix.lower() in (".csv", ".tsv") else _json_rows(text):
        try:
            label = _label(values)
        except _RowError as error:
            wrong.append(f"line {line}: {error}")
            continue
        if label is None:
            blank += 1
        else:
            labels.append(label)
    if wrong:
        more = f"; and {len(wrong) - _SHOWN_ERRORS:,} more" if len(wrong) > _SHOWN_ERRORS else ""
        todo = "Mend these lines: a label is true, false or unsure."
        raise InputError("; ".join(wrong[:_SHOWN_ERRORS]) + more, where=str(path), todo=todo)
    return labels, blank


def _json_rows(text: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    for line, one in enumerate(text.split("\n"), 1):
        if not one.strip():
            continue
        try:
            values = json.loads(one)
        except ValueError as error:
            yield line, f"this is no JSON ({error})"
            continue
        yield line, values if isinstance(values, dict) else "a JSON object is expected"


def _csv_rows(text: str, path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        names = [name.strip() for name in next(reader, [])]
        if missing := [name for name in ("key", "label") if name not in names]:
            raise InputError(
                f"line 1: there is no column {missing[0]!r}",
                where=str(path),
                todo="Keep the columns of the sheet that `kgaudit sample` wrote.",
            )
        line = reader.line_num
        for cells in reader:
            first, line = line + 1, reader.line_num
            if any(cell.strip() for cell in cells):
                yield first, dict(zip(names, cells, strict=False))
    except csv.Error as error:
        yield reader.line_num, f"this is no CSV ({error})"


def _label(values: Mapping[str, Any] | str) -> Label | None:
    """The label of a row, None where it was not filled in. Raises `_RowError`, with the text of a row that could not be read."""
    if isinstance(values, str):
        raise _RowError(values)
    key = _text(values, "key").lower()
    if not _KEY.fullmatch(key):
        raise _RowError(f"the key is {key!r}, and not 64 hexadecimal digits")
    given = values.get("label")
    word = str(given).strip().casefold() if isinstance(given, (str, bool)) else given
    if word is None or word == "":
        return None
    if word not in _LABELS:
        raise _RowError(f"the label is {given!r}, and not true, false or unsure")
    return Label(
        key=key,
        label=_LABELS[word],
        annotators=(_text(values, "annotator"),),
        time=_time(_text(values, "time")),
        design=_text(values, "design"),
        stratum=_text(values, "stratum"),
        cluster=_text(values, "cluster"),
        weight=_weight(values.get("weight")),
        sample=_text(values, "sample"),
    )


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _RowError(f"{name} is {value!r}, and not a text")
    return str(value).strip()


def _time(text: str) -> datetime | None:
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise _RowError(f"the time is {text!r}, and not like 2026-11-30T14:05:00+01:00") from None
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _weight(value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        weight = float(value)
    except (TypeError, ValueError):
        weight = 0.0
    if isinstance(value, bool) or not 0 < weight < float("inf"):
        raise _RowError(f"the weight is {value!r}, and not a number above 0")
    return weight


def _joined(paths: tuple[Path, ...], rows: Sequence[Label], blank: int) -> Labels:
    by_key: dict[str, list[Label]] = {}
    for row in rows:
        by_key.setdefault(row.key, []).append(row)
    labels: list[Label] = []
    shared = split = 0
    for found in by_key.values():
        # Sorting keeps the order of the file where times are equal or missing.
        latest = {row.annotators[0]: row for row in sorted(found, key=lambda row: row.time or _LONG_AGO)}
        votes = [row.label for row in latest.values()]
        shared += len(votes) > 1
        split += len(set(votes)) > 1
        origin = next((row for row in found if is_random(row)), found[0])
        labels.append(
            replace(
                origin,
                label=_majority(votes),
                annotators=tuple(sorted(name for name in latest if name)),
                time=max((row.time for row in latest.values() if row.time), default=None),
            )
        )
    return Labels(paths, tuple(labels), blank, shared, split)


_LONG_AGO = datetime.min.replace(tzinfo=timezone.utc)


def _majority(votes: Sequence[bool | None]) -> bool | None:
    ahead = votes.count(True) - votes.count(False)
    return None if ahead == 0 else ahead > 0


def is_random(label: Label) -> bool:
    """Whether the label comes from a random sample, and not from a list that somebody chose (review of flagged triples, a gold set)."""
    return bool(label.sample) or label.design in DESIGNS
