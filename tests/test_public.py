from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import kgaudit

ROOT = Path(__file__).parent.parent

PUBLIC = [
    "AuditOptions", "Budget", "ChatModel", "Claim", "ColumnMapping", "Document", "Judge", "KgauditError", "Passage", "Policy", "Query",
    "Retriever", "Rules", "RunReader", "SourceOptions", "Stance", "Trajectory", "Triple", "Verdict", "audit", "export_verdicts",
    "load_judge", "open_model", "write_report",
]  # fmt: skip


def test_public_names_are_these_and_all_can_be_had() -> None:
    assert sorted(kgaudit.__all__) == PUBLIC
    assert all(getattr(kgaudit, name) is not None for name in PUBLIC)


def _modules_after(code: str) -> set[str]:
    program = f"import sys; {code}; print(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_and_its_command_line_loads_nothing_heavy() -> None:
    loaded = _modules_after("import kgaudit, kgaudit.cli")
    assert not loaded & {"pyarrow", "numpy", "tantivy", "selectolax", "pyoxigraph", "rich", "torch", "airflow", "great_expectations"}


def test_using_the_library_loads_no_server_client_and_no_training_library() -> None:
    loaded = _modules_after("import kgaudit; kgaudit.audit, kgaudit.load_judge(), kgaudit.write_report")
    assert not loaded & {"sklearn", "scipy", "torch", "airflow", "great_expectations", "elasticsearch", "pandas"}


def test_records_import_nothing_of_ours_but_records() -> None:
    records = {"literals", "triples", "claims", "documents", "verdicts", "text", "errors"}
    for name in records:
        text = (ROOT / "kgaudit" / f"{name}.py").read_text(encoding="utf-8")
        imported = {line.split()[1] for line in text.splitlines() if line.startswith("from kgaudit")}
        assert imported <= {f"kgaudit.{record}" for record in records}, name


def test_no_layer_knows_the_one_above_it() -> None:
    forbidden = {
        "agent": ("kgaudit.runs", "kgaudit.reports", "kgaudit.cli", "kgaudit.bench", "kgaudit.sources", "kgaudit_retrievers"),
        "models": ("kgaudit.agent", "kgaudit.runs", "kgaudit.reports", "kgaudit.cli", "kgaudit.bench", "kgaudit_retrievers"),
        "sources": ("kgaudit.agent", "kgaudit.runs.audit", "kgaudit.reports", "kgaudit.cli", "kgaudit.models", "kgaudit_retrievers"),
        "runs": ("kgaudit.reports", "kgaudit.cli", "kgaudit.bench", "kgaudit_retrievers"),
        "reports": ("kgaudit.agent", "kgaudit.cli", "kgaudit.bench", "kgaudit_retrievers"),
    }
    for layer, names in forbidden.items():
        for path in (ROOT / "kgaudit" / layer).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            found = [name for name in names if f"from {name}" in text or f"import {name}" in text]
            assert not found, (path.name, found)


def test_help_answers_at_once() -> None:
    begun = time.monotonic()
    result = subprocess.run([sys.executable, "-m", "kgaudit", "--help"], capture_output=True, text=True, check=True)
    assert "audit" in result.stdout
    assert time.monotonic() - begun < 5  # a loaded machine is no reason to fail; the figure is in the benchmark


def test_every_command_is_in_the_readme() -> None:
    from kgaudit.cli import cli

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [name for name in cli.commands if f"kgaudit {name}" not in readme]
    assert not missing
