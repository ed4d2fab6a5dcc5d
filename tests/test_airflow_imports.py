"""Nothing of the library needs Airflow, and what of `kgaudit.airflow` runs outside it does not load it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
OURS = ROOT / "kgaudit/airflow"


def test_nothing_outside_the_provider_imports_airflow_or_the_provider() -> None:
    pattern = re.compile(r"^\s*(from|import) (airflow|kgaudit\.airflow)\b", re.MULTILINE)
    for root in (ROOT / "kgaudit", ROOT / "retrievers", ROOT / "expectations"):
        for path in root.rglob("*.py"):
            if OURS not in path.parents:
                assert not pattern.search(path.read_text(encoding="utf-8")), path


def test_what_runs_beside_airflow_loads_nothing_of_it() -> None:
    modules = ("environment", "progress", "provider", "served", "shard_process", "shards")
    code = "import sys; sys.modules['airflow'] = None; " + "; ".join(f"import kgaudit.airflow.{name}" for name in modules)
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_provider_names_what_is_there() -> None:
    from kgaudit.airflow.provider import get_provider_info

    info = get_provider_info()
    named = [one["hook-class-name"] for one in info["connection-types"]] + info["extra-links"]
    for dotted in named:
        module, _, name = dotted.rpartition(".")
        assert f"class {name}(" in (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    for part in ("operators", "hooks", "triggers"):
        for module in info[part][0]["python-modules"]:
            path = ROOT / module.replace(".", "/")
            assert path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_dags_lie_where_the_checkout_and_the_package_have_them() -> None:
    names = {path.name for path in (OURS / "dags").glob("*.py")} - {"__init__.py"}
    assert names == {"index_documents.py", "nightly_audit.py", "release_gate.py"}
    assert {path.name for path in (ROOT / "dags").glob("*.py")} - {"__init__.py"} == names
