"""Airflow's REST API as a person or another system calls it."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ENDED = frozenset({"success", "failed"})


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def call(method: str, url: str, body: Any = None, *, token: str | None = None, seconds: float = 120) -> Answer:
    """One request; an answer of 4xx and 5xx is an answer, too."""
    request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return Answer(answer.status, answer.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read())


class Rest:
    """The API of one deployment for one user."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self.url = url
        answer = call("POST", f"{url}/auth/token", {"username": user, "password": password})
        assert answer.status == 201, answer
        self.token: str = answer.json()["access_token"]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """`path` below /api/v2. What the API refuses fails the test with its answer.

        It is asked again where its database was busy (SQLite allows one writer; nothing was done then), and where it could not read:
        Airflow 3.3.2 fails to list asset events while a run that one of them starts is being made.
        """
        for again in range(5):
            answer = call(method, f"{self.url}/api/v2{path}", body, token=self.token)
            if answer.status != 500 or (method != "GET" and b"Database error" not in answer.body):
                break
            time.sleep(2 + again)
        assert answer.status < 300, (method, path, answer)
        return answer.json() if answer.body else None

    def get(self, path: str, **query: str | int) -> Any:
        return self.ask("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))

    def has_dag(self, dag: str) -> bool:
        return call("GET", f"{self.url}/api/v2/dags/{dag}", token=self.token).status == 200

    def unpause(self, *dags: str) -> None:
        for dag in dags:
            self.ask("PATCH", f"/dags/{dag}", {"is_paused": False})

    def trigger(self, dag: str, conf: Mapping[str, Any] | None = None, **fields: Any) -> str:
        """Returns the id that Airflow gave to the run."""
        run: str = self.ask("POST", f"/dags/{dag}/dagRuns", {"logical_date": None, "conf": dict(conf or {}), **fields})["dag_run_id"]
        return run

    def run(self, dag: str, run: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/dags/{dag}/dagRuns/{quote(run)}")
        return found

    def runs(self, dag: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get(f"/dags/{dag}/dagRuns", limit=100)["dag_runs"]
        return found

    def wait(self, dag: str, run: str, seconds: float = 600) -> str:
        """The state in which the run ended."""
        deadline = time.monotonic() + seconds
        while True:
            state: str = self.run(dag, run)["state"]
            if state in ENDED:
                return state
            if time.monotonic() > deadline:
                said = f"{self.states(dag, run)}\n{self.complaints(dag, run)}"
                raise AssertionError(f"{dag} {run} is still {state} after {seconds:.0f} s: {said}")
            time.sleep(0.5)

    def tasks(self, dag: str, run: str) -> list[dict[str, Any]]:
        """All task instances of a run, the mapped ones too."""
        found: list[dict[str, Any]] = []
        while True:
            page = self.get(f"/dags/{dag}/dagRuns/{quote(run)}/taskInstances", limit=100, offset=len(found))
            found += page["task_instances"]
            if len(found) >= page["total_entries"] or not page["task_instances"]:
                return found

    def states(self, dag: str, run: str) -> dict[str, str | None]:
        """The state of each task, mapped ones as `name[index]`."""
        return {
            one["task_id"] + (f"[{one['map_index']}]" if one["map_index"] >= 0 else ""): one["state"] for one in self.tasks(dag, run)
        }

    def log(self, dag: str, run: str, task: str, index: int = -1, attempt: int = 1) -> str:
        """What the task said, as text."""
        path = f"/dags/{dag}/dagRuns/{quote(run)}/taskInstances/{task}/logs/{attempt}"
        lines = self.get(path, map_index=index, full_content="true")["content"]
        return "\n".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in lines)

    def complaints(self, dag: str, run: str) -> str:
        """What the failed tasks of a run said last."""
        said = []
        for one in self.tasks(dag, run):
            if one["state"] in ("failed", "up_for_retry"):
                log = self.log(dag, run, one["task_id"], one["map_index"], one["try_number"])
                said.append(f"--- {one['task_id']} {one['map_index']}\n{log[-3000:]}")
        return "\n".join(said[:3])

    def links(self, dag: str, run: str, task: str, index: int = -1) -> dict[str, str | None]:
        """The extra links of a task instance."""
        path = f"/dags/{dag}/dagRuns/{quote(run)}/taskInstances/{task}/links"
        found: dict[str, str | None] = self.get(path, map_index=index)["extra_links"]
        return found

    def xcoms(self, dag: str, run: str, task: str, index: int = -1) -> dict[str, Any]:
        path = f"/dags/{dag}/dagRuns/{quote(run)}/taskInstances/{task}/xcomEntries"
        keys = [one["key"] for one in self.get(path, map_index=index, limit=100)["xcom_entries"]]
        return {key: self.get(f"{path}/{quote(key)}", map_index=index, deserialize="true")["value"] for key in keys}

    def events(self, **query: str | int) -> list[dict[str, Any]]:
        """Asset events, the newest last."""
        found: list[dict[str, Any]] = self.get("/assets/events", order_by="timestamp", limit=100, **query)["asset_events"]
        return found


def quote(run: str) -> str:
    return urllib.parse.quote(run, safe="")
