"""Airflow on loopback with the bundled sample, to try: `make airflow`, `make airflow-stop`.

python try_it.py start FOLDER    starts it, fills in the connection kgaudit_kg and says where it is
python try_it.py stop FOLDER     stops it and removes FOLDER
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import shutil
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness.corpus import write_labels
from harness.deployment import DAGS, ROOT, USER, Missing, Standalone, kg_connection
from harness.processes import DeploymentError
from kgaudit.sample.compare import expected

SAMPLE = ROOT / "kgaudit/sample"


def start(folder: Path) -> None:
    graph = folder / "graph"
    graph.mkdir(parents=True)
    for name in ("kg.ttl", "extracted.trig"):
        shutil.copy(SAMPLE / name, graph)
    policy = folder / "gate.yaml"
    policy.write_text("accuracy:\n  threshold: 0.9\nlabels:\n  minimum: 30\nverifier_card:\n  required: false\n")
    write_labels(folder / "labels.jsonl", {key: not row["fault"] for key, row in expected().items()})
    password = secrets.token_urlsafe(9)
    deployment = Standalone(
        dags=[DAGS],
        folder=folder,
        password=password,
        settings={
            "AIRFLOW__KGAUDIT__RUNS_FOLDER": str(folder / "runs"),
            "AIRFLOW_CONN_KGAUDIT_KG": kg_connection(
                graph, index=folder / "index", documents=SAMPLE / "docs", gate_policy=policy, gate_labels=folder / "labels.jsonl"
            ),
        },
    )
    deployment.__enter__()
    try:
        (folder / "pid").write_text(str(deployment.parts["standalone"].keeper))
        deployment.wait_for_dags("index_documents")
        deployment.rest.wait("index_documents", deployment.rest.trigger("index_documents"))
        deployment.wait_for_dags("release_gate", "nightly_audit")
    except BaseException:
        deployment.stop()
        raise
    print(f"{deployment.url}   user {USER}, password {password}")
    print("The documents are indexed; nightly_audit makes up for last night, and release_gate decides on what it finds.")
    print(f"Everything lies in {folder}")


def stop(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        pid = int((folder / "pid").read_text())
        os.kill(pid, signal.SIGTERM)
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.2)
    shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["start", "stop"])
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    if arguments.do == "stop":
        stop(folder)
        return
    if (folder / "pid").exists():
        parser.exit(2, f"it is running already, in {folder}. Stop it first: make airflow-stop\n")
    stop(folder)
    try:
        start(folder)
    except (Missing, DeploymentError) as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
