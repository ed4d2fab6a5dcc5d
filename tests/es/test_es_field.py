"""Field cases 15 and 16 on a real server, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from field_cli import Run, copy_case, kgaudit


@pytest.mark.parametrize(
    ("case", "supported", "others"), [("15-immense-term", 3, 0), ("16-query-syntax-names", 6, 1)], ids=["15", "16"]
)
def test_case(case: str, supported: int, others: int, url: str, alias: str, tmp_path: Path) -> None:
    folder = copy_case(case, tmp_path)
    kgaudit("index", folder / "docs.jsonl", "--to", f"{url}/{alias}")
    kgaudit("audit", folder / "kg.nt", "--index", f"{url}/{alias}", "--run", tmp_path / "run")
    verdicts = [row["verdict"] for row in Run(tmp_path / "run", None).rows]  # type: ignore[arg-type]
    assert verdicts.count("supported") == supported
    assert len(verdicts) == supported + others
    assert "not_judged" not in verdicts
