"""Field cases at the gate: what is not whole, or holds nothing to judge, never comes out green."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from unittest import mock

import pytest
from field_cli import audit, copy_case, index_of, kgaudit, refused

from kgaudit.cli import main

POLICY = "accuracy:\n  threshold: 0.9\nlabels:\n  minimum: 1\nverifier_card:\n  required: false\n"


def gate(run: Path, folder: Path) -> str:
    """What the gate says of a run that it must find no basis to decide on."""
    (folder / "gate.yaml").write_text(POLICY, encoding="utf-8")
    out = io.StringIO()
    arguments = ["kgaudit", "gate", str(run), "--policy", str(folder / "gate.yaml")]
    with (
        mock.patch.object(sys, "argv", arguments),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    assert ended.value.code == 2, out.getvalue()
    assert "Traceback" not in out.getvalue()
    return out.getvalue()


def test_06_file_that_was_cut_off_leaves_no_run_to_pass(tmp_path: Path) -> None:
    case = copy_case("06-truncated-gzip", tmp_path)
    assert "cut.nt.gz" in refused(case / "cut.nt.gz", run=tmp_path / "run")
    assert "run" in gate(tmp_path / "run", tmp_path)


def test_12_run_without_evidence_does_not_pass(tmp_path: Path) -> None:
    case = copy_case("12-empty-documents", tmp_path)
    run = audit(case / "kg.nt", index=index_of(_other(tmp_path)), run=tmp_path / "run")
    assert [row["verdict"] for row in run.rows] == ["not_enough_evidence"]
    assert "no basis" in gate(run.path, tmp_path)


def _other(folder: Path) -> Path:
    path = folder / "other.jsonl"
    path.write_text(json.dumps({"id": "d", "text": "Nothing here speaks of any of them."}) + "\n", encoding="utf-8")
    return path


def test_30_interrupted_run_does_not_pass(tmp_path: Path) -> None:
    case = copy_case("12-empty-documents", tmp_path)
    kgaudit("index", case / "mixed.jsonl", "--to", tmp_path / "index")
    run = audit(case / "kg.nt", index=tmp_path / "index", run=tmp_path / "run")
    summary = json.loads((run.path / "summary.json").read_text(encoding="utf-8"))
    (run.path / "summary.json").write_text(json.dumps(summary | {"status": "interrupted"}), encoding="utf-8")
    assert "interrupted" in gate(run.path, tmp_path)


def test_35_nothing_to_judge_does_not_pass(tmp_path: Path) -> None:
    case = copy_case("35-nothing-to-judge", tmp_path)
    for name in ("schema-only.ttl", "no-evidence.nt"):
        run = audit(case / name, run=tmp_path / name)
        assert "100 %" not in gate(run.path, tmp_path).replace("not enough evidence 100", "")
