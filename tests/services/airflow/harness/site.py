"""A real Airflow with four graphs: field cases 36 and 37, one that is right, one that is half wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.corpus import write_corpus, write_labels
from harness.deployment import ROOT, Deployment, kg_connection
from harness.processes import wait_until
from harness.rest import Rest, quote

FIELD = ROOT / "tests/field"
SECRET = "not-for-any-log-8d1f"
DAGS = ("release_gate", "after_release", "nightly_audit")
TRIPLES = 80


@dataclass(frozen=True, slots=True)
class Ran:
    """A DAG run that has ended."""

    dag: str
    id: str
    state: str
    folder: Path
    states: dict[str, str | None]


class Site:
    """Folders and connections for a deployment, then what tests do with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        case36 = FIELD / "36-nothing-new-tonight"
        case37 = FIELD / "37-null-logical-date"
        self.graphs = {
            "kgaudit_kg": self._case("case37", case37, case37 / "kg.nt", 0.2, password=SECRET),
            "kgaudit_case36": self._case("case36", case36, case36 / "night1.nt", 0.3),
            "kgaudit_good": self._made("good", wrong=0.0),
            "kgaudit_bad": self._made("bad", wrong=0.5),
        }
        self._deployment: Deployment | None = None

    @property
    def settings(self) -> dict[str, str]:
        """What the deployment has to be told."""
        connections = {f"AIRFLOW_CONN_{name.upper()}": text for name, text in self.graphs.items()}
        return {"AIRFLOW__KGAUDIT__RUNS_FOLDER": str(self.runs), "AIRFLOW__KGAUDIT__RETRY_SECONDS": "5", **connections}

    def _case(self, name: str, case: Path, graph: Path, threshold: float, password: str = "") -> str:
        folder = self.folder / name
        folder.mkdir()
        shutil.copy(graph, folder / "kg.nt")
        return self._connect(folder, case / "docs.jsonl", dict.fromkeys(keys_of(graph), True), threshold, password)

    def _made(self, name: str, wrong: float) -> str:
        folder = self.folder / name
        folder.mkdir()
        corpus = write_corpus(folder, TRIPLES, wrong=wrong)
        return self._connect(folder, corpus.documents, corpus.truth, 0.8)

    def _connect(self, folder: Path, documents: Path, truth: Mapping[str, bool], threshold: float, password: str = "") -> str:
        index = folder / "index"
        subprocess.run([sys.executable, "-m", "kgaudit", "index", documents, "--to", index], check=True, capture_output=True)
        policy = folder / "gate.yaml"
        policy.write_text(f"accuracy:\n  threshold: {threshold}\nlabels:\n  minimum: 1\nverifier_card:\n  required: false\n")
        labels = write_labels(folder / "labels.jsonl", truth)
        connection = json.loads(kg_connection(folder / "kg.nt", index=index, gate_policy=policy, gate_labels=labels))
        return json.dumps({**connection, "login": "auditor", "password": password})

    def attach(self, deployment: Deployment) -> None:
        self._deployment = deployment
        deployment.wait_for_dags(*DAGS)
        # Switched on, nightly_audit makes up for the last night of its schedule: that run is to be there before any other.
        wait_until("the scheduled run is there", lambda: bool(self.scheduled()), 60)

    def scheduled(self) -> list[str]:
        """The runs of nightly_audit on its schedule."""
        return [one["dag_run_id"] for one in self.rest.runs("nightly_audit") if one["run_type"] == "scheduled"]

    @property
    def deployment(self) -> Deployment:
        assert self._deployment is not None
        return self._deployment

    @property
    def rest(self) -> Rest:
        return self.deployment.rest

    def run(self, dag: str, kg: str = "kgaudit_kg", **conf: Any) -> Ran:
        """Triggers a DAG for a graph and waits for its end."""
        return self.wait(dag, self.rest.trigger(dag, {"kg_conn_id": kg, **conf}))

    def wait(self, dag: str, run: str) -> Ran:
        state = self.rest.wait(dag, run)
        return Ran(dag, run, state, self.runs / dag / run, self.rest.states(dag, run))

    def gate_of(self, audit: Ran) -> Ran:
        """The run of release_gate that the audit's event has started."""
        deadline = time.monotonic() + 300
        while True:
            for one in self.rest.runs("release_gate"):
                if one["run_type"] == "asset_triggered" and audit.id in self._heard(one["dag_run_id"]):
                    return self.wait("release_gate", one["dag_run_id"])
            assert time.monotonic() < deadline, f"nothing heard of {audit}"
            time.sleep(0.5)

    def _heard(self, gate: str) -> set[str]:
        events = self.rest.get(f"/dags/release_gate/dagRuns/{quote(gate)}/upstreamAssetEvents")["asset_events"]
        return {str(one["source_run_id"]) for one in events}

    def ask_for_release(self, kg: str) -> str:
        """Lets the gate stop a graph and ask a person; returns the run, which waits."""
        run = self.rest.trigger("release_gate", {"kg_conn_id": kg, "approval": True})

        def waits() -> bool:
            return self.rest.states("release_gate", run).get("ask_for_release") == "awaiting_input"

        def heard() -> bool:
            lines = (line for file in self.deployment.folder.glob("*.log") for line in file.read_text(errors="replace").splitlines())
            return any("Received executor event" in line and "ask_for_release" in line and run in line for line in lines)

        wait_until("release_gate waits for a person", waits, 300)
        # Airflow 3.3.2 fails the task where the answer overtakes the executor's word that the question was put: a person is slower.
        wait_until("the scheduler has heard that the question was put", heard, 120)
        return run

    def question(self, run: str) -> str:
        """The path of the question in the API."""
        return f"/dags/release_gate/dagRuns/{quote(run)}/taskInstances/ask_for_release/-1/hitlDetails"

    def answer(self, run: str, option: str, reason: str) -> None:
        self.rest.ask("PATCH", self.question(run), {"chosen_options": [option], "params_input": {"reason": reason}})

    def log(self, ran: Ran) -> str:
        """What all tasks of a run said."""
        folder = self.deployment.home / "logs" / f"dag_id={ran.dag}" / f"run_id={ran.id}"
        return "".join(file.read_text(errors="replace") for file in sorted(folder.rglob("*.log")))

    def events(self, asset: str, source: Ran | None = None) -> list[dict[str, Any]]:
        """The events of an asset, of all runs or of one."""
        return [one for one in self.rest.events() if one["name"] == asset and (source is None or one["source_run_id"] == source.id)]


def keys_of(graph: Path) -> list[str]:
    """The triple keys of an N-Triples file of names only."""
    from kgaudit.triples import Triple

    lines = graph.read_text().splitlines()
    return [Triple(*line.removesuffix(" .").split(" ")).key for line in lines if line.strip()]
