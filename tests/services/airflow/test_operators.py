"""Operators, hooks, the trigger and its process, one by one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from in_process import FIELD, Airflow, chat_model

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::kgaudit")]

NIGHTS = FIELD / "36-nothing-new-tonight"


def a_connection(**fields: Any) -> Any:
    extra = fields.pop("extra", {})
    values = {"conn_id": "kgaudit_kg", "host": "/data/kg.nt", "login": None, "password": None, **fields}
    return SimpleNamespace(**values, extra_dejson=extra)


def test_a_connection_says_which_field_cannot_be_used(airflow: Airflow) -> None:
    from kgaudit.airflow.connections import KgConnection, ModelConnection
    from kgaudit.errors import UsageError

    good = KgConnection.read(
        a_connection(extra={"index": "/index", "documents": "/a\n\n /b \n", "mapping": "subject=head, object=tail"})
    )
    assert good.documents == (Path("/a"), Path("/b"))
    assert good.mapping == {"subject": "head", "object": "tail"}
    assert good.state.name == "kgaudit_kg"
    for fields, words in (
        ({"host": ""}, "names no graph"),
        ({"host": "kg.nt"}, "relative path"),
        ({"extra": {"index": "index"}}, "relative path"),
        ({"extra": {"cards": 3}}, "no text but int"),
        ({"extra": {"mapping": "subject"}}, "FIELD=COLUMN"),
    ):
        with pytest.raises(UsageError, match=words):
            KgConnection.read(a_connection(**fields))
    model = ModelConnection.read(a_connection(host="http://a/v1,http://b/v1", password="geheim", extra={"model": "org/name#7"}))
    assert model.address.urls == ("http://a/v1", "http://b/v1")
    assert model.address.name == "org/name#7"
    for fields, words in (({"host": ""}, "names no address"), ({"host": "http://a/v1"}, "names no model")):
        with pytest.raises(UsageError, match=words):
            ModelConnection.read(a_connection(**fields))
    with pytest.raises(UsageError) as caught:
        ModelConnection.read(a_connection(host="http://user:geheim@a/v1", extra={"model": "m"}))
    assert "geheim" not in str(caught.value)


def test_no_secret_of_a_connection_is_shown(airflow: Airflow) -> None:
    from kgaudit.airflow.connections import KgConnection, ModelConnection
    from kgaudit.airflow.shards import ShardJob
    from kgaudit_retrievers.es_connect import Access

    kg = KgConnection.read(a_connection(host="https://host/sparql", login="ada", password="geheim"))
    model = ModelConnection.read(a_connection(host="http://a/v1", password="geheim", extra={"model": "m"}))
    job = ShardJob("/run", "0000", "https://es:9200/kb", Access(api_key="geheim"), "", model.spec, model.key)
    assert "geheim" not in f"{kg!r} {model!r} {job!r} {model.spec}"
    assert ShardJob.from_json(json.loads(json.dumps(job.to_json()))) == job


def test_the_index_may_lie_on_the_cluster_of_an_elasticsearch_connection(airflow: Airflow) -> None:
    from kgaudit.airflow.connections import KgConnection
    from kgaudit.airflow.search import index_address
    from kgaudit.errors import UsageError

    airflow.connect("es", conn_type="elasticsearch", host="search.example", schema="https", login="ada", password="geheim",
                    extra={"ca_certs": "/ca.pem"})  # fmt: skip
    kg = KgConnection.read(a_connection(extra={"index": "kb", "elasticsearch_conn_id": "es"}))
    address, access = index_address(kg)
    assert address == "https://search.example:9200/kb"
    assert access is not None
    assert (access.user, access.password, access.authority) == ("ada", "geheim", "/ca.pem")
    assert index_address(KgConnection.read(a_connection(extra={"index": "/index"}))) == ("/index", None)
    with pytest.raises(UsageError, match="names no index"):
        index_address(KgConnection.read(a_connection()))


@contextmanager
def a_server(answers: dict[str, Any], key: str = "") -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            wanted = f"Bearer {key}" if key else None
            status = 401 if wanted and self.headers.get("Authorization") != wanted else 200 if path in answers else 404
            self.send_response(status)
            self.end_headers()
            if status == 200:
                self.wfile.write(json.dumps(answers[path]).encode())

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_connections_are_tested(airflow: Airflow, tmp_path: Path, make_index: Callable[[Path], Path]) -> None:
    from kgaudit.airflow.hooks import KgHook, ModelHook

    index = make_index(NIGHTS / "docs.jsonl")
    policy = tmp_path / "gate.yaml"
    policy.write_text("accuracy: {threshold: 0.9}\n")
    kg = {"conn_type": "kgaudit_kg", "host": str(NIGHTS / "night1.nt"), "extra": {"index": str(index), "gate_policy": str(policy)}}

    def tested(**changes: Any) -> tuple[bool, str]:
        airflow.connect("kgaudit_kg", **{**kg, **changes})
        return KgHook().test_connection()

    assert tested()[0], tested()[1]
    assert tested(host="/nowhere/kg.nt") == (False, "/nowhere/kg.nt: there is no such file or folder. Check the path.")
    assert "there is no index here" in tested(extra={"index": "/nowhere"})[1]
    policy.write_text("accuracy: {threshold: 9}\n")
    assert not tested()[0]
    with a_server({"/sparql": {"head": {}, "boolean": True}, "/other": {"x": 1}}) as url:
        assert tested(host=f"{url}/sparql", extra={}) == (True, f"{url}/sparql answers")
        assert "not what a SPARQL endpoint answers" in tested(host=f"{url}/other", extra={})[1]
    assert "cannot connect" in tested(host=f"{url}/sparql", extra={})[1]

    with a_server({"/v1/models": {"data": [{"id": "small"}]}}, key="geheim") as url:
        for password, model, words in (
            ("geheim", "small", "lists small"),
            ("geheim", "big", "lists no model big. It lists: small"),
            ("x", "small", "401"),
        ):
            airflow.connect("kgaudit_model", conn_type="kgaudit_model", host=f"{url}/v1", password=password, extra={"model": model})
            worked, said = ModelHook().test_connection()
            assert worked is (words == "lists small")
            assert words in said
            assert "geheim" not in said


def test_errors_that_a_later_try_cannot_mend_are_not_retried(airflow: Airflow) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    from kgaudit.airflow.failures import airflow_failures
    from kgaudit.errors import InputError, Interrupted, RunLockedError, ServiceError

    for error, again in (
        (InputError("bad"), False),
        (ServiceError("down"), True),
        (RunLockedError("held"), True),
        (Interrupted("so"), True),
    ):
        with pytest.raises(AirflowException) as caught, airflow_failures():
            raise error
        assert isinstance(caught.value, AirflowFailException) is not again
        assert str(caught.value) == str(error)
    with pytest.raises(AirflowFailException, match="disk is full"), airflow_failures():
        raise OSError(28, "No space left on device", "/x")


@pytest.fixture
def planned(airflow: Airflow, tmp_path: Path, make_index: Callable[[Path], Path]) -> tuple[Path, Path]:
    """A run of two shards that are not verified yet, and the index."""
    from kgaudit.runs.audit import AuditOptions
    from kgaudit.runs.nightly import select

    run = tmp_path / "runs/nightly_audit/one"
    plan = select(AuditOptions(kg=(NIGHTS / "night1.nt",), run=run), tmp_path / "state", shard_triples=1)
    assert plan.shards == ("0000", "0001")
    return run, make_index(NIGHTS / "docs.jsonl")


def test_the_trigger_lets_a_process_verify_a_shard(airflow: Airflow, planned: tuple[Path, Path]) -> None:
    from airflow.sdk.module_loading import import_string

    from kgaudit.airflow.triggers import ShardTrigger

    run, index = planned
    path, arguments = ShardTrigger(str(run), "0000", str(index), "", "", "").serialize()
    json.dumps(arguments)
    event = asyncio.run(_first_event(import_string(path)(**arguments)))
    assert event["summary"]["verdicts"]["supported"] == 1
    assert (run / "shards/0000/summary.json").is_file()
    wrong = asyncio.run(_first_event(ShardTrigger(str(run), "0007", str(index), "", "", "")))
    assert "no shard" in wrong["error"]
    assert wrong["passing"] is False


async def _first_event(trigger: Any) -> dict[str, Any]:
    async for event in trigger.run():
        payload: dict[str, Any] = event.payload
        return payload
    raise AssertionError("no event")


def test_the_process_ends_when_nobody_waits_any_more(airflow: Airflow, planned: tuple[Path, Path]) -> None:
    """As after the triggerer was killed: its end of the pipe is closed by the system."""
    from kgaudit.airflow.shards import ShardJob

    run, index = planned
    program = """
import kgaudit.airflow.shards as shards, kgaudit.airflow.shard_process as process, time
def slow(job, stop, progress):
    print('{"done": 0, "total": 1}', flush=True)
    while not stop.asked:
        time.sleep(0.05)
    raise shards_error("asked to stop")
from kgaudit.errors import Interrupted as shards_error
process.verify = slow
process.main()
"""
    job = json.dumps(ShardJob(str(run), "0000", str(index)).to_json())
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(job + "\n")
    process.stdin.flush()
    assert "done" in process.stdout.readline()
    process.stdin.close()
    assert json.loads(process.stdout.readline()) == {"error": "asked to stop", "passing": True, "locked": False}
    assert process.wait(timeout=20) == 0
    process.stdout.close()


def test_after_the_triggerer_was_killed_the_next_one_goes_on(airflow: Airflow, planned: tuple[Path, Path]) -> None:
    from kgaudit.airflow.triggers import ShardTrigger

    run, index = planned
    program = f"""
import asyncio
from kgaudit.airflow.triggers import ShardTrigger
async def triggerer():
    async for event in ShardTrigger({str(run)!r}, "0000", {str(index)!r}, "", "", "kgaudit_model").run():
        print(event)
asyncio.run(triggerer())
"""
    with chat_model() as model:
        airflow.connect("kgaudit_model", conn_type="kgaudit_model", host=model.url, password="key", extra={"model": "small"})
        triggerer = subprocess.Popen([sys.executable, "-c", program])
        assert model.asked.wait(120)
        triggerer.send_signal(signal.SIGKILL)
        triggerer.wait()
        model.answers.set()
        event = asyncio.run(_first_event(ShardTrigger(str(run), "0000", str(index), "", "", "kgaudit_model")))
    summary = event["summary"]
    assert summary["status"] == "complete"
    # What was in flight was finished by the process that had lost its triggerer, and is not verified twice.
    assert sum(summary["verdicts"].values()) == 1
    assert json.loads((run / "shards/0000/summary.json").read_text())["status"] == "complete"


def test_a_trigger_that_is_cancelled_ends_its_process(
    airflow: Airflow, planned: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgaudit.airflow import triggers

    run, index = planned
    begun: list[int] = []
    real = asyncio.create_subprocess_exec

    async def sleeper(*arguments: Any, **options: Any) -> Any:
        process = await real(sys.executable, "-c", "import time; time.sleep(60)", **options)
        begun.append(process.pid)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", sleeper)

    async def cancel() -> None:
        task = asyncio.create_task(_first_event(triggers.ShardTrigger(str(run), "0000", str(index), "", "", "")))
        while not begun:
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    with pytest.raises(ProcessLookupError):
        os.kill(begun[0], 0)


def test_a_worker_that_is_told_to_stop_leaves_a_shard_that_goes_on(
    airflow: Airflow, planned: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    from kgaudit.airflow.operators import VerifyShard

    run, index = planned
    airflow.connect("kgaudit_kg", conn_type="kgaudit_kg", host=str(NIGHTS / "night1.nt"), extra={"index": str(index)})
    task = VerifyShard(task_id="verify", run=str(run), shard="0000")
    real = threading.Timer(0, task.on_kill)

    def verify(job: Any, stop: Any, progress: Any) -> dict[str, Any]:
        from kgaudit.errors import Interrupted

        real.start()
        while not stop.asked:
            time.sleep(0.01)
        raise Interrupted("stopped")

    monkeypatch.setattr("kgaudit.airflow.shards.verify", verify)
    with pytest.raises(AirflowException, match="stopped") as caught:
        task.execute({})
    assert not isinstance(caught.value, AirflowFailException)
    monkeypatch.undo()
    airflow.connect("kgaudit_kg", conn_type="kgaudit_kg", host=str(NIGHTS / "night1.nt"), extra={"index": str(index)})
    assert VerifyShard(task_id="again", run=str(run), shard="0000").execute({})["verdicts"]["supported"] == 1


def test_with_a_model_the_shard_waits_outside_the_worker(airflow: Airflow, planned: tuple[Path, Path]) -> None:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException, TaskDeferred

    from kgaudit.airflow.operators import VerifyShard

    run, index = planned
    airflow.connect("kgaudit_kg", conn_type="kgaudit_kg", host=str(NIGHTS / "night1.nt"), extra={"index": str(index)})
    task = VerifyShard(task_id="verify", run=str(run), shard="0000", model_conn_id="kgaudit_model", deferrable=True)
    with pytest.raises(TaskDeferred) as deferred:
        task.execute({})
    assert deferred.value.trigger.model_conn_id == "kgaudit_model"
    assert task.execute_complete({}, {"summary": {"verdicts": {"supported": 1}, "verified_now": 1}})["verified_now"] == 1
    with pytest.raises(AirflowFailException, match="no key"):
        task.execute_complete({}, {"error": "no key", "passing": False})
    with pytest.raises(AirflowException, match="down") as caught:
        task.execute_complete({}, {"error": "down", "passing": True})
    assert not isinstance(caught.value, AirflowFailException)


def test_shards_that_were_skipped_are_not_taken_for_a_night_without_news(airflow: Airflow, planned: tuple[Path, Path]) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    from kgaudit.airflow.operators import MergeVerdicts

    run, index = planned
    airflow.connect("kgaudit_kg", conn_type="kgaudit_kg", host=str(NIGHTS / "night1.nt"), extra={"index": str(index)})
    with pytest.raises(AirflowFailException, match="shard 0000 was not begun"):
        MergeVerdicts(task_id="merge", run=str(run)).execute({})


@pytest.mark.parametrize(
    ("decision", "approval"),
    [
        (None, None),
        ({"status": "stopped"}, None),
        ({"status": "stopped"}, {"approved": False, "decided": "now"}),
        ({"status": "stopped"}, {"approved": True, "decided": "before"}),
        ({"status": "no_basis"}, {"approved": True, "decided": "now"}),
    ],
)
def test_nothing_is_released_without_a_decision(airflow: Airflow, tmp_path: Path, decision: Any, approval: Any) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    from kgaudit.airflow.operators import AnnounceRelease

    for name, values in (("decision.json", decision), ("approval.json", approval)):
        if values is not None:
            filled = {
                "decided": "now",
                "accuracy": None,
                "run": "r",
                "threshold": 0.9,
                "triples": 1,
                "verdicts": {},
                "author": "a",
                "reason": "b",
            }
            (tmp_path / name).write_text(json.dumps({**filled, **values}))
    with pytest.raises(AirflowFailException):
        AnnounceRelease(task_id="release", run=str(tmp_path)).execute({})


def test_lineage_tells_what_was_found(airflow: Airflow, planned: tuple[Path, Path]) -> None:
    from kgaudit.airflow.connections import KgConnection
    from kgaudit.airflow.openlineage import dataset_name, lineage

    run, _ = planned
    (run / "summary.json").write_text(json.dumps({"verdicts": {"supported": 3, "refuted": 1}}))
    outcome = SimpleNamespace(checks=[SimpleNamespace(type="expect_no_refuted_triples", success=False, words="1 of 4")])
    kg = KgConnection.read(a_connection())
    (graph,) = lineage(kg, run, outcome).inputs
    assert (graph.namespace, graph.name) == ("file", "/data/kg.nt")
    assert graph.inputFacets["dataQualityMetrics"].rowCount == 4
    (assertion,) = graph.inputFacets["dataQualityAssertions"].assertions
    assert (assertion.assertion, assertion.success, assertion.actual) == ("expect_no_refuted_triples", False, "1 of 4")
    endpoint = KgConnection.read(a_connection(host="https://ada@host/sparql"))
    assert dataset_name(endpoint) == ("https://host", "/sparql")


def test_a_late_run_is_told_with_how_far_it_has_come(
    airflow: Airflow, planned: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    from kgaudit.airflow.deadlines import progress_of, say_late

    assert progress_of("nightly_audit", "one") == "0 of 2 shards are done"
    assert progress_of("nightly_audit", "other") == "its triples are not yet selected"
    asyncio.run(say_late(context={"dag_run": {"dag_id": "nightly_audit", "dag_run_id": "one"}}))
    assert "0 of 2 shards are done" in caplog.text


def test_a_person_answers_for_a_stopped_version(airflow: Airflow, tmp_path: Path) -> None:
    from datetime import datetime, timedelta, timezone

    from airflow.sdk.exceptions import AirflowFailException

    from kgaudit.airflow.operators import AskForRelease
    from kgaudit.airflow.operators.approval import REJECT, RELEASE, _body

    decision = {"decided": "now", "status": "stopped", "threshold": 0.9, "triples": 7, "accuracy": None,
                "reasons": [{"status": "stopped", "text": "predicate ```<script>: too low\n# not a heading"}]}  # fmt: skip
    (tmp_path / "decision.json").write_text(json.dumps(decision))
    lines = _body(decision).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("- `") and line.endswith("`") and line.count("`") == 2 for line in lines)

    def answer(option: str, reason: str) -> None:
        task = AskForRelease(task_id="ask", run=str(tmp_path), response_timeout=timedelta(hours=1))
        assert task.serialized_params["reason"]["schema"]["minLength"] == 3
        user = {"id": "7", "name": "ada"}
        given = {"chosen_options": [option], "params_input": {"reason": reason}, "responded_by_user": user,
                 "responded_at": datetime(2026, 11, 30, tzinfo=timezone.utc)}  # fmt: skip
        task.execute_complete({}, given)

    answer(RELEASE, "the register is late")
    kept = json.loads((tmp_path / "approval.json").read_text())
    assert (kept["approved"], kept["author"], kept["reason"], kept["decided"]) == (True, "ada", "the register is late", "now")
    with pytest.raises(AirflowFailException, match="ada rejected the version: wrong owner"):
        answer(REJECT, "wrong owner")
    assert json.loads((tmp_path / "approval.json").read_text())["approved"] is False
    with pytest.raises(AirflowFailException, match="gave no reason"):
        answer(RELEASE, " ")
    assert json.loads((tmp_path / "approval.json").read_text())["approved"] is False
    late = AskForRelease(task_id="late", run=str(tmp_path), response_timeout=timedelta(hours=1))
    with pytest.raises(AirflowFailException, match="nobody answered within 1:00:00"):
        late.execute_complete({}, {"error": "late", "error_type": "timeout"})


def test_links_lead_to_pages_below_the_runs_folder_only(airflow: Airflow, tmp_path: Path) -> None:
    from kgaudit.airflow.links import ReportLink, page_url

    run = tmp_path / "runs/nightly_audit/manual__2026-11-30T00:00:00+00:00 #1"
    assert page_url(run / "report.html") == "/kgaudit/runs/nightly_audit/manual__2026-11-30T00%3A00%3A00%2B00%3A00%20%231/report.html"
    assert page_url(tmp_path / "elsewhere/report.html") == ""
    assert ReportLink().get_link(SimpleNamespace(pages={"Report": run}), ti_key=None).startswith("/kgaudit/runs/")
    assert ReportLink().get_link(SimpleNamespace(pages={}), ti_key=None) == ""


def test_airflow_knows_the_provider(airflow: Airflow) -> None:
    """Connection types with their forms, links, settings."""
    program = """
import json
from airflow.providers_manager import ProvidersManager
from airflow.configuration import conf
manager = ProvidersManager()
manager.initialize_providers_hooks()
manager.initialize_providers_extra_links()
print(json.dumps({
    "hooks": [name for name in manager.hooks if name.startswith("kgaudit")],
    "fields": sorted(name for name in manager.connection_form_widgets if "kgaudit" in name),
    "links": [name for name in manager.extra_links_class_names if "kgaudit" in name],
    "setting": conf.get("kgaudit", "nightly_schedule"),
}))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout.splitlines()[-1])
    assert sorted(found["hooks"]) == ["kgaudit_kg", "kgaudit_model"]
    assert "extra__kgaudit_kg__gate_policy" in found["fields"]
    assert len(found["links"]) == 3
    assert found["setting"] == "0 2 * * *"
