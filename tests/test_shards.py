"""Shards of a run: each triple in one of them, killed and gone on with, joined only when whole, nothing twice."""

from __future__ import annotations

import json
import multiprocessing
import signal
from pathlib import Path

import pytest
from conftest import WordJudge
from field_cli import copy_case, index_of, kgaudit
from nights import Counting, keys_in, killed_night, line, night, objects_of, options, pairs, write_graph

from kgaudit.errors import (
    EmptyInputError,
    InputError,
    Interrupted,
    RunError,
    RunLockedError,
    SpecMismatchError,
    UsageError,
)
from kgaudit.runs.engine import Stop
from kgaudit.runs.lock import RunLock
from kgaudit.runs.nightly import commit, merge, run_folder, select, verify_shard
from kgaudit.runs.reader import RunReader
from kgaudit.runs.shards import run_candidates, shard_candidates
from kgaudit.runs.state import State, open_reader

FIELD = Path(__file__).with_name("field")


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    return write_graph(tmp_path / "kg.nt", [line(number) for number in range(10)])


def test_each_triple_is_in_one_shard_and_all_of_them_make_a_run(tmp_path: Path, kg: Path) -> None:
    plan = select(options(tmp_path / "run", kg), None, shard_triples=4)
    assert (plan.total, plan.new, plan.removed, plan.rests_on) == (10, 10, 0, None)
    shards = json.loads((tmp_path / "run" / "plan.json").read_text())["shards"]
    assert [shard["rows"] for shard in shards] == [4, 4, 2]
    keys = [candidate.key for shard in shards for candidate in shard_candidates(tmp_path / "run", shard)]
    assert keys == [candidate.key for candidate in run_candidates(tmp_path / "run")]
    assert len(set(keys)) == 10
    for shard in reversed(plan.shards):
        summary = verify_shard(tmp_path / "run", shard, Counting(), WordJudge(), index="documents")
        assert summary["status"] == "complete"
    summary = merge(tmp_path / "run")
    assert summary["verdicts"]["supported"] == summary["load"]["claims"] == 10
    assert sorted(keys_in(tmp_path / "run")) == sorted(keys)
    reader = RunReader(tmp_path / "run")
    assert reader.spec["judge"] == {"name": "words", "digest": "0" * 64}
    assert reader.spec["index"] == "documents"
    (row,) = reader.find("thing3 owns part3")
    assert reader.passages([row["evidence"][0]["passage_id"]])


def test_there_are_never_more_shards_than_a_scheduler_maps_over(tmp_path: Path, kg: Path) -> None:
    plan = select(options(tmp_path / "run", kg), None, shard_triples=1, max_shards=3)
    assert len(plan.shards) == 3


def test_steps_may_be_repeated_and_repeat_nothing(tmp_path: Path, kg: Path) -> None:
    asked, state = options(tmp_path / "run", kg), tmp_path / "state"
    plan, entry = night(asked, state)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "shards").rglob("part-*")}
    kg.write_text(line(99) + "\n")  # what was loaded counts, not what the file holds by now
    retriever = Counting()
    again, same = night(asked, state, retriever=retriever)
    assert (again, same) == (plan, entry)
    assert retriever.queries == []
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "shards").rglob("part-*")} == written
    assert len((state / "manifest.jsonl").read_text().splitlines()) == 1


def test_a_run_that_was_begun_otherwise_is_not_mixed_into(tmp_path: Path, kg: Path) -> None:
    asked = options(tmp_path / "run", kg)
    night(asked, tmp_path / "state")
    for other, word in (
        (options(tmp_path / "run", kg, policy="single_turn"), "policy"),
        (options(tmp_path / "run", kg, languages=("de",)), "languages"),
    ):
        with pytest.raises(SpecMismatchError, match=word):
            select(other, tmp_path / "state")
    with pytest.raises(SpecMismatchError, match="telling what is new"):
        night(asked, tmp_path / "state", by="time")
    result = kgaudit("audit", kg, "--index", FIELD, "--run", tmp_path / "run", status=2)
    assert "index" in result.err


def test_a_plain_run_and_one_with_a_state_do_not_share_a_folder(tmp_path: Path) -> None:
    case = copy_case("36-nothing-new-tonight", tmp_path)
    index = index_of(case / "docs.jsonl")
    for name, first, second in (("a", (), ("--state", tmp_path / "state")), ("b", ("--state", tmp_path / "state"), ())):
        arguments = ["audit", case / "night1.nt", "--index", index, "--run", tmp_path / name]
        kgaudit(*arguments, *first)
        assert "state" in kgaudit(*arguments, *second, status=2).err


def test_merge_names_the_shard_that_is_missing_or_not_done(tmp_path: Path, kg: Path) -> None:
    run = tmp_path / "run"
    plan = select(options(run, kg), None, shard_triples=4)
    with pytest.raises(RunError, match="shard 0000 was not begun"):
        merge(run)
    verify_shard(run, "0000", Counting(), WordJudge())
    stop = Stop()
    stop.ask()
    with pytest.raises(Interrupted):
        verify_shard(run, "0001", Counting(), WordJudge(), stop=stop)
    with pytest.raises(RunError, match="shard 0001 was not verified to its end"):
        merge(run)
    for step in (lambda: RunReader(run), lambda: commit(run, tmp_path / "state")):
        with pytest.raises(RunError, match="not joined"):
            step()
    assert not (tmp_path / "state" / "manifest.jsonl").exists()
    for shard in plan.shards:
        verify_shard(run, shard, Counting(), WordJudge())
    merge(run)
    assert objects_of(run) == pairs(*range(10))


def test_a_part_that_got_lost_is_noticed(tmp_path: Path, kg: Path) -> None:
    run = tmp_path / "run"
    for shard in select(options(run, kg), None, shard_triples=5).shards:
        verify_shard(run, shard, Counting(), WordJudge())
    next((run / "shards" / "0001" / "ledger").glob("part-*")).unlink()
    with pytest.raises(RunError, match="5 verdicts of 10"):
        merge(run)


def test_shards_of_different_documents_are_not_joined(tmp_path: Path, kg: Path) -> None:
    run = tmp_path / "run"
    select(options(run, kg), None, shard_triples=5)
    verify_shard(run, "0000", Counting(), WordJudge())
    with pytest.raises(SpecMismatchError, match="documents differ"):
        verify_shard(run, "0001", Counting(snapshot="others"), WordJudge())


def test_one_worker_a_shard_and_many_a_run(tmp_path: Path, kg: Path) -> None:
    run = tmp_path / "run"
    select(options(run, kg), None, shard_triples=5)
    verify_shard(run, "0001", Counting(), WordJudge())
    (run / "shards" / "0000").mkdir()
    with RunLock(run / "shards" / "0000"):
        with pytest.raises(RunLockedError):
            verify_shard(run, "0000", Counting(), WordJudge())
        verify_shard(run, "0001", Counting(), WordJudge())
    with RunLock(run), pytest.raises(RunLockedError):
        select(options(run, kg), None)


def test_unknown_shards_and_runs_without_a_plan(tmp_path: Path, kg: Path) -> None:
    select(options(tmp_path / "run", kg), None)
    with pytest.raises(UsageError, match="no shard '0007'"):
        verify_shard(tmp_path / "run", "0007", Counting(), WordJudge())
    for step in (merge, lambda run: commit(run, tmp_path / "state"), lambda run: verify_shard(run, "0000", Counting(), WordJudge())):
        with pytest.raises(RunError, match="nothing was selected"):
            step(tmp_path / "other")


def test_a_graph_that_cannot_be_read_leaves_no_plan(tmp_path: Path) -> None:
    broken = write_graph(tmp_path / "kg.nt", ["no triple"])
    with pytest.raises(InputError):
        select(options(tmp_path / "run", broken), None)
    assert not (tmp_path / "run" / "plan.json").exists()


def test_a_budget_bounds_what_is_selected_and_the_rest_is_new_the_next_night(tmp_path: Path, kg: Path) -> None:
    state = tmp_path / "state"
    plan, entry = night(options(tmp_path / "one", kg, triples=4), state)
    assert (plan.new, plan.selected, entry["status"], entry["left"]) == (10, 4, "budget", 6)
    assert len(list(run_candidates(tmp_path / "one"))) == 10
    assert open_reader(state).summary["status"] == "unverified"
    assert open_reader(state).summary["load"]["claims"] == 10
    plan, entry = night(options(tmp_path / "two", kg, triples=100), state)
    assert (plan.new, plan.selected, entry["status"], entry["left"]) == (6, 6, "complete", 0)
    assert objects_of(state) == pairs(*range(10))
    assert open_reader(state).summary["status"] == "complete"
    assert 'skipped message="not sampled' in _junit(tmp_path / "one")


def _junit(run: Path) -> str:
    kgaudit("junit", run)
    return (run / "junit.xml").read_text()


def test_run_folders_are_named_by_the_id_as_it_is(tmp_path: Path) -> None:
    for name in [*(FIELD / "28-run-id-in-path" / "names.txt").read_text("utf-8").splitlines(), "a%2Fb", "..hidden", " "]:
        assert run_folder(tmp_path, name).name == name
        assert run_folder(tmp_path, name).parent == tmp_path
    for name in ("", ".", "..", "a/b", "../up", "/etc", "nul\0"):
        with pytest.raises(UsageError, match="cannot name a folder"):
            run_folder(tmp_path, name)


@pytest.mark.parametrize("name", (FIELD / "28-run-id-in-path" / "names.txt").read_text("utf-8").splitlines())
def test_28_run_id_in_path_with_a_state(tmp_path: Path, name: str) -> None:
    case = copy_case("28-run-id-in-path", tmp_path)
    index = index_of(case / "docs.jsonl", case / "idx #1 100%")
    arguments = ("audit", case / "kg.nt", "--index", index, "--run", run_folder(case / "runs", name), "--state", case / "state #1 100%")
    assert "1 verified" in kgaudit(*arguments).out
    assert "0 verified" in kgaudit(*arguments).out
    assert [path.name for path in (case / "runs").iterdir()] == [name]
    for place in (case / "runs" / name, case / "state #1 100%"):
        kgaudit("report", place)
        assert objects_of(place) == ["Norrby_Pumps Halden_Works"]
    assert name in kgaudit("state", case / "state #1 100%").out


# Kills


@pytest.mark.parametrize(
    ("step", "countdown"),
    [
        ("load.json", 1),
        ("new.arrow", 1),
        ("removed.parquet", 1),
        ("plan.json", 1),
        ("spec.json", 1),
        ("0000/passages/part", 1),
        ("0000/ledger/part", 1),
        ("0001/summary.json", 2),
        ("0002/ledger/part", 1),
        ("passages/parts.json", 1),
        ("ledger/parts.json", 1),
        ("run/summary.json", 1),
        ("parts-", 1),
        ("removed-", 1),
        ("graphs-", 1),
        ("manifest.jsonl", 1),
    ],
)
def test_killed_between_any_two_steps_nothing_is_lost_and_nothing_comes_twice(tmp_path: Path, step: str, countdown: int) -> None:
    state, run = tmp_path / "state", tmp_path / "run"
    before = write_graph(tmp_path / "before.nq", [line(number) for number in (0, 1, 20, 21)])
    night(options(tmp_path / "before", before), state)
    kg = write_graph(tmp_path / "kg.nq", [line(number, graph="g") for number in range(10)])
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["nights"])
    process = server.Process(target=killed_night, args=(step, countdown, run, kg, state))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    held = {part.name for part in run.glob("shards/*/ledger/part-*")}
    assert objects_of(state) in (pairs(0, 1, 20, 21), pairs(*range(10))), "the state is that before or after, never one between"
    plan, entry = night(options(run, kg), state)
    assert (plan.new, plan.removed, plan.total) == (8, 2, 10)
    assert held <= {part.name for part in run.glob("shards/*/ledger/part-*")}
    assert len(keys_in(run)) == len(set(keys_in(run))) == 8
    assert objects_of(state) == pairs(*range(10))
    assert [one["run"] for one in State(state).entries] == ["before", "run"]
    assert entry == State(state).entries[-1]
    assert not list(run.rglob(".writing-*"))


def test_whole_graph_without_claims_does_not_empty_a_state(tmp_path: Path, kg: Path) -> None:
    night(options(tmp_path / "one", kg), tmp_path / "state")
    types = write_graph(
        tmp_path / "types.nt", ["<http://example.com/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.com/T> ."]
    )
    with pytest.raises(EmptyInputError, match="10"):
        select(options(tmp_path / "two", types), tmp_path / "state")
