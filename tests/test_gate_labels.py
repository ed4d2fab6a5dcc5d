from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest
from gate_run import write_labels

from kgaudit.errors import InputError, StorageError
from kgaudit.gate.labels import is_random, read_labels

A, B, C = "a" * 64, "b" * 64, "c" * 64


def row(key: str, label: object, annotator: str = "ada", time: str = "2026-11-30T10:00:00Z", **rest: object) -> dict[str, object]:
    return {"key": key, "label": label, "annotator": annotator, "time": time, **rest}


def test_labels_hold_what_the_file_says(tmp_path: Path) -> None:
    rows = [row(A, "true", design="cluster", stratum="s", cluster="c", weight=2.5), row(B, False), row(C, "Unsure"), row("d" * 64, "")]
    found = read_labels(write_labels(tmp_path / "labels.jsonl", rows))
    assert [one.label for one in found.labels] == [True, False, None]
    assert found.blank == 1
    first = found.labels[0]
    assert (first.annotators, first.design, first.stratum, first.cluster, first.weight) == (("ada",), "cluster", "s", "c", 2.5)
    assert first.time == found.newest == datetime(2026, 11, 30, 10, tzinfo=timezone.utc)
    assert is_random(first)
    assert not is_random(found.labels[1])


def test_every_wrong_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    lines = [
        json.dumps(row(A, "true")),
        '{"key": "short", "label": "true"}',
        "{",
        json.dumps(row(B, "maybe")),
        "[1]",
        json.dumps(row(B, "true", time="yesterday")),
        json.dumps(row(B, "true", weight=-1)),
        json.dumps(row(B, "true", cluster=[1])),
        json.dumps(row(B, 1)),
    ]
    path.write_text("\n".join(lines))
    with pytest.raises(InputError) as caught:
        read_labels(path)
    text = str(caught.value)
    for line in range(2, 10):
        assert f"line {line}: " in text
    assert "line 1:" not in text
    assert "'maybe'" in text
    assert "true, false or unsure" in text


def test_csv_errors_name_the_line_of_the_sheet(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(f'key,statement,label\n{A},"two\nlines",true\n{B},x,perhaps\n')
    with pytest.raises(InputError, match=r"sheet\.csv: line 4: the label is 'perhaps'"):
        read_labels(path)
    path.write_text("name,label\nx,true\n")
    with pytest.raises(InputError, match="no column 'key'"):
        read_labels(path)
    path.write_bytes(b"key,label\n\xff,true\n")
    with pytest.raises(InputError, match="UTF-8"):
        read_labels(path)
    with pytest.raises(StorageError, match="no such file"):
        read_labels(tmp_path / "none.csv")


def test_latest_judgement_of_one_person_and_the_majority_of_several(tmp_path: Path) -> None:
    rows = [
        row(A, "true", time="2026-11-30T12:00:00Z"),
        row(A, "false", time="2026-11-30T11:00:00Z"),
        row(B, "true", "ada"),
        row(B, "false", "bo"),
        row(B, "false", "cy"),
        row(C, "true", "ada"),
        row(C, "false", "bo"),
        row("e" * 64, "unsure", "ada"),
        row("e" * 64, "true", "bo"),
    ]
    found = read_labels(write_labels(tmp_path / "labels.jsonl", rows))
    assert [one.label for one in found.labels] == [True, False, None, True]
    assert found.labels[1].annotators == ("ada", "bo", "cy")
    assert (found.shared, found.split) == (3, 3)


def test_labels_of_several_files_count_once_a_triple(tmp_path: Path) -> None:
    one = write_labels(tmp_path / "one.jsonl", [row(A, "true"), row(B, "true")])
    two = write_labels(tmp_path / "two.jsonl", [row(B, "false", time="2026-12-01"), row(C, "true")])
    found = read_labels(one, two)
    assert [label.label for label in found.labels] == [True, False, True]
