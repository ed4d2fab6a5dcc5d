"""The state of a graph: the latest verdict of each triple that is still there, whatever happened to the nights in between."""

from __future__ import annotations

import json
import multiprocessing
import re
import shutil
from pathlib import Path

import pytest
from conftest import WordJudge, make_passage
from field_cli import copy_case, index_of, kgaudit, read_jsonl
from nights import EX, PASSAGES, Counting, line, night, objects_of, options, pairs, rows_of, write_graph

from kgaudit.errors import InputError, RunError, RunLockedError, UsageError
from kgaudit.gate.decide import gate
from kgaudit.runs import state as state_module
from kgaudit.runs.keys import among, first_of_each, words_of
from kgaudit.runs.lock import RunLock
from kgaudit.runs.nightly import commit, merge, select, verify_shard
from kgaudit.runs.state import State, StateReader, open_reader
from kgaudit.triples import Triple


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def graph(folder: Path, name: str, *numbers: int) -> Path:
    return write_graph(folder / f"{name}.nt", [line(number) for number in numbers])


def test_keys_as_numbers() -> None:
    keys = [Triple(f"<{EX}{number}>", f"<{EX}p>", f"<{EX}o>").key for number in (1, 2, 1, 3, 2, 1)]
    words = words_of(keys)
    assert first_of_each(words).tolist() == [0, 1, 3]
    assert among(words, words_of([keys[1], "f" * 64])).tolist() == [False, True, False, False, True, False]
    assert among(words, words_of([])).tolist() == [False] * 6
    assert among(words_of([]), words).tolist() == []
    assert first_of_each(words_of([])).tolist() == []


def test_each_night_verifies_what_is_new_and_takes_out_what_is_gone(tmp_path: Path, state: Path) -> None:
    plan, entry = night(options(tmp_path / "one", graph(tmp_path, "one", 1, 2, 3)), state)
    assert (plan.new, plan.total, plan.removed) == (3, 3, 0)
    plan, entry = night(options(tmp_path / "two", graph(tmp_path, "two", 5, 4, 3, 2)), state)
    assert (plan.new, plan.total, plan.removed) == (2, 4, 1)
    assert (entry["new"], entry["total"], entry["removed"]) == (2, 4, 1)
    assert objects_of(state) == pairs(2, 3, 4, 5)
    plan, _ = night(options(tmp_path / "three", graph(tmp_path, "three", 1, 2)), state)
    assert (plan.new, plan.removed) == (1, 3), "what comes again after it was gone is new"
    assert objects_of(state) == pairs(1, 2)
    assert [one["run"] for one in State(state).entries] == ["one", "two", "three"]


def test_a_night_on_which_nothing_is_new(tmp_path: Path, state: Path) -> None:
    night(options(tmp_path / "one", graph(tmp_path, "one", 1, 2)), state)
    retriever = Counting()
    plan, entry = night(options(tmp_path / "two", graph(tmp_path, "two", 2, 1, 2)), state, retriever=retriever)
    assert (plan.new, plan.total, plan.shards, plan.rests_on) == (0, 2, (), "one")
    assert plan.text == "0 of 2 triples are new; the state rests on run one"
    assert retriever.queries == []
    assert entry["verdicts"] == {"supported": 0, "refuted": 0, "not_enough_evidence": 0, "not_judged": 0}
    plan, _ = night(options(tmp_path / "three", graph(tmp_path, "three", 1, 2)), state)
    assert plan.rests_on == "one", "not on a night that verified nothing"
    assert objects_of(state) == pairs(1, 2)


def test_another_spelling_of_a_known_triple_is_not_new(tmp_path: Path, state: Path) -> None:
    first = [f'<{EX}a> <{EX}p> "Halden"@en .', f'<{EX}a> <{EX}q> "1.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .']
    second = [f'<{EX}a>\t<{EX}p> "H\\u0061lden"@EN .', f'<{EX}a> <{EX}q> "+1.50"^^<http://www.w3.org/2001/XMLSchema#decimal> <{EX}g> .']
    night(options(tmp_path / "one", write_graph(tmp_path / "one.nt", first)), state)
    plan, _ = night(options(tmp_path / "two", write_graph(tmp_path / "two.nq", second)), state)
    assert (plan.new, plan.removed, plan.total) == (0, 0, 2)


def test_the_latest_verdict_counts(tmp_path: Path, state: Path) -> None:
    class Strict(WordJudge):
        digest = "1" * 64

        def judge(self, pairs):  # type: ignore[no-untyped-def]
            return [type(stance)(0.0, 0.9, 0.1, stance.start, stance.end) for stance in super().judge(pairs)]

    night(options(tmp_path / "one", graph(tmp_path, "one", 1, 2)), state)
    plan, _ = night(options(tmp_path / "two", graph(tmp_path, "two", 1, 2, 3)), state, judge=Strict(), again=("changed-judge",))
    assert (plan.new, plan.again) == (3, 2)
    assert "2 of them verified again" in plan.text
    assert {row["verdict"] for row in rows_of(state)} == {"refuted"}
    assert objects_of(state) == pairs(1, 2, 3)
    plan, _ = night(options(tmp_path / "three", graph(tmp_path, "three", 1, 2, 3)), state, judge=Strict(), again=("changed-judge",))
    assert (plan.new, plan.again) == (0, 0)


def test_another_statement_of_a_known_triple_is_verified_again_where_asked(tmp_path: Path, state: Path) -> None:
    rows = [{"s": "Norrby", "p": "related_to", "o": "Halden", "sentence": "Norrby sold Halden."}]
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text(json.dumps(rows[0]))
    two.write_text(json.dumps({**rows[0], "sentence": "Norrby bought Halden."}))
    night(options(tmp_path / "one", one), state)
    assert night(options(tmp_path / "same", two), state)[0].new == 0
    assert night(options(tmp_path / "like", one), state, again=("changed-judge",))[0].new == 0
    assert night(options(tmp_path / "two", two), state, again=("changed-judge",))[0].again == 1


def test_only_triples_whose_searches_return_something_else_are_verified_again(tmp_path: Path, state: Path) -> None:
    numbers = (1, 2, 4, 39)
    night(options(tmp_path / "one", graph(tmp_path, "one", *numbers)), state, retriever=Counting(PASSAGES[:30], "old"))
    same = Counting(PASSAGES[:30], "old")
    plan, _ = night(options(tmp_path / "same", graph(tmp_path, "a", *numbers)), state, retriever=same, again=("changed-documents",))
    assert (plan.new, same.queries) == (0, []), "the index is as it was: nothing is searched for"
    moved = Counting(PASSAGES[:30], "rebuilt")
    plan, _ = night(options(tmp_path / "moved", graph(tmp_path, "b", *numbers)), state, retriever=moved, again=("changed-documents",))
    assert plan.new == 0
    assert moved.queries, "the same searches are made again"
    changed = [*PASSAGES[:2], make_passage("d2", "Thing2 does not owns Part2.", document_digest="another"), *PASSAGES[3:]]
    retriever = Counting(changed, "new")
    asked = options(tmp_path / "two", graph(tmp_path, "two", *numbers))
    plan, _ = night(asked, state, retriever=retriever, again=("changed-documents",))
    # The documents behind 2 are others, and for 39 there is one now.
    assert (plan.new, plan.again) == (2, 2)
    assert objects_of(tmp_path / "two") == pairs(2, 39)
    before = {row["o_label"]: row["verdict"] for row in rows_of(tmp_path / "one")}
    assert before["Part39"] == "not_enough_evidence"
    assert {row["verdict"] for row in rows_of(state)} == {"supported"}


def test_verifying_again_needs_to_know_with_what(tmp_path: Path, state: Path) -> None:
    from kgaudit.runs.nightly import Selection

    with pytest.raises(UsageError, match="judge"):
        select(options(tmp_path / "run", graph(tmp_path, "one", 1)), state, selection=Selection(again=("changed-documents",)))


def test_a_state_moves_with_its_runs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    night(options(home / "runs" / "one", graph(tmp_path, "one", 1, 2)), home / "state")
    assert State(home / "state").entries[0]["path"] == "../runs/one"
    shutil.move(home, tmp_path / "elsewhere")
    assert objects_of(tmp_path / "elsewhere" / "state") == pairs(1, 2)
    shutil.rmtree(tmp_path / "elsewhere" / "runs" / "one")
    with pytest.raises(RunError, match="run one is not there"):
        open_reader(tmp_path / "elsewhere" / "state")


def test_a_torn_line_is_set_aside_and_counts_for_nothing(tmp_path: Path, state: Path) -> None:
    night(options(tmp_path / "one", graph(tmp_path, "one", 1)), state)
    manifest = state / "manifest.jsonl"
    whole = manifest.read_bytes()
    for torn in (whole[:40], whole.rstrip(b"\n"), b"\0" * 20 + b"\n"):
        manifest.write_bytes(whole + torn)
        assert len(State(state).entries) == 1
        assert objects_of(state) == pairs(1)
    night(options(tmp_path / "two", graph(tmp_path, "two", 1, 2)), state)
    assert [json.loads(one)["run"] for one in manifest.read_text().splitlines()] == ["one", "two"]
    (aside,) = state.glob("manifest.torn-*")
    assert aside.read_bytes() == b"\0" * 20 + b"\n"


def test_a_damaged_line_in_the_middle_is_an_error(tmp_path: Path, state: Path) -> None:
    for name in ("one", "two"):
        night(options(tmp_path / name, graph(tmp_path, name, 1)), state)
    manifest = state / "manifest.jsonl"
    manifest.write_bytes(b"x" + manifest.read_bytes())
    with pytest.raises(InputError, match="line 1 is damaged"):
        State(state)
    manifest.write_text('{"format": 99}\n{"format": 1}\n')
    with pytest.raises(InputError, match="another version"):
        State(state)


def _commit(run: Path, state: Path, ready: object, go: object) -> None:
    ready.release()  # type: ignore[attr-defined]
    go.wait(30)  # type: ignore[attr-defined]
    commit(run, state)


def test_commits_that_race_all_count_once(tmp_path: Path, state: Path) -> None:
    night(options(tmp_path / "base", graph(tmp_path, "base", 0)), state)
    runs = [tmp_path / f"run{number}" for number in range(4)]
    for number, run in enumerate(runs):
        night(options(run, graph(tmp_path, run.name, 0, number + 1)), tmp_path / f"own{number}")
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["nights"])
    ready, go = server.Semaphore(0), server.Event()
    processes = [server.Process(target=_commit, args=(run, state, ready, go)) for run in (*runs, *runs)]
    for process in processes:
        process.start()
    for _ in processes:
        assert ready.acquire(timeout=60)
    go.set()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    entries = State(state).entries
    assert sorted(one["run"] for one in entries) == ["base", "run0", "run1", "run2", "run3"]
    assert objects_of(state) == pairs(0, 1, 2, 3, 4)


def test_a_commit_that_waits_in_vain_says_who_holds_the_state(tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    night(options(tmp_path / "one", graph(tmp_path, "one", 1)), tmp_path / "other")
    state.mkdir()
    monkeypatch.setattr(state_module, "WAIT_SECONDS", 0.1)
    with RunLock(state), pytest.raises(RunLockedError, match="the state is being worked on by process"):
        commit(tmp_path / "one", state)


def test_parts_of_a_graph_remove_nothing(tmp_path: Path, state: Path) -> None:
    night(options(tmp_path / "one", graph(tmp_path, "one", 1, 2)), state)
    plan, _ = night(options(tmp_path / "two", graph(tmp_path, "two", 3)), state, whole=False)
    assert (plan.new, plan.removed) == (1, 0)
    gone = graph(tmp_path, "gone", 2, 9)
    plan, _ = night(options(tmp_path / "three", graph(tmp_path, "three", 4)), state, whole=False, removed=str(gone))
    assert (plan.new, plan.removed) == (1, 1)
    assert objects_of(state) == pairs(1, 3, 4)


def test_the_backlog_of_a_budget_is_known_until_the_whole_graph_is_looked_at(tmp_path: Path, state: Path) -> None:
    night(options(tmp_path / "one", graph(tmp_path, "one", 1, 2, 3), triples=1), state)
    night(options(tmp_path / "two", graph(tmp_path, "two", 4)), state, whole=False)
    assert State(state).backlog == 2
    assert StateReader(state).summary["status"] == "unverified"
    night(options(tmp_path / "three", graph(tmp_path, "three", 1, 2, 3, 4)), state)
    assert State(state).backlog == 0
    assert objects_of(state) == pairs(1, 2, 3, 4)


def test_a_run_that_goes_on_after_its_commit_adds_only_what_it_verified_since(tmp_path: Path, state: Path) -> None:
    class Denying(WordJudge):
        digest = "1" * 64

        def judge(self, pairs):  # type: ignore[no-untyped-def]
            return [type(stance)(0.0, 0.9, 0.1, stance.start, stance.end) for stance in super().judge(pairs)]

    night(options(tmp_path / "first", graph(tmp_path, "first", 1, 9)), state)
    asked = options(tmp_path / "run", graph(tmp_path, "run", 1, *range(20, 26)))
    plan = select(asked, state, shard_triples=3)
    for shard, budget in zip(plan.shards, (None, 0.0), strict=True):  # the second shard has no time
        values = json.loads((asked.run / "plan.json").read_text())
        values["budget"]["seconds"] = budget
        (asked.run / "plan.json").write_text(json.dumps(values))
        verify_shard(asked.run, shard, Counting(), WordJudge())
    assert merge(asked.run)["status"] == "budget"
    assert commit(asked.run, state)["left"] == 3
    assert len(objects_of(state)) == 4, "9 is gone, 1 is known, three of six are verified"
    night(options(tmp_path / "later", graph(tmp_path, "later", 1, 9, *range(20, 26))), state, judge=Denying(), again=("changed-judge",))
    values["budget"]["seconds"] = None
    (asked.run / "plan.json").write_text(json.dumps(values))
    verify_shard(asked.run, plan.shards[1], Counting(), WordJudge())
    assert merge(asked.run)["status"] == "complete"
    assert commit(asked.run, state)["left"] == 0
    assert commit(asked.run, state) == State(state).entries[-1]
    assert objects_of(state) == pairs(1, 9, *range(20, 26)), "9 came back and stays"
    verdicts = [row["verdict"] for row in rows_of(state)]
    assert (verdicts.count("refuted"), verdicts.count("supported")) == (5, 3), "only what the run verified last is the latest"


def test_run_and_state_are_two_folders(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one folder"):
        select(options(tmp_path / "run", graph(tmp_path, "one", 1)), tmp_path / "run")


def test_without_runs_there_is_nothing_to_read(tmp_path: Path, state: Path) -> None:
    assert State(state).entries == []
    state.mkdir()
    (state / "manifest.jsonl").touch()
    for command in ("report", "state"):
        assert "no run was committed" in kgaudit(command, state, status=2).err
    assert "no run was committed" in kgaudit("state", tmp_path / "gone", status=2).err


# What reads a run reads a state


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state of two nights, with its runs beside it."""
    home = tmp_path_factory.mktemp("audited")
    night(options(home / "one", graph(home, "one", *range(12))), home / "state")
    night(options(home / "two", graph(home, "two", *range(6, 20))), home / "state")
    return home


def test_report_export_replay_and_junit_read_a_state(audited: Path) -> None:
    state = audited / "state"
    kgaudit("report", state)
    page = (state / "report.html").read_text()
    assert "Complete" in page
    assert re.search(r"Verdicts from the runs</dt><dd>(<bdi>)?one, two", page)
    assert re.search(r"Triples verified</dt><dd>14<", page)
    kgaudit("report", audited / "two")
    page = (audited / "two" / "report.html").read_text()
    assert re.search(r"New triples</dt><dd>8 of 14<", page)
    assert re.search(r"Gone since the last run</dt><dd>6<", page)
    kgaudit("export", state, "--to", audited / "table.jsonl")
    rows = read_jsonl(audited / "table.jsonl")
    assert len({row["key"] for row in rows}) == len(rows) == 14
    assert "Thing19 owns Part19." in kgaudit("replay", state, "Thing19 owns Part19").out
    assert "Thing7 owns Part7." in kgaudit("replay", state, "Thing7 owns Part7").out, "its passage lies in the earlier run"
    kgaudit("junit", state)
    assert 'tests="14"' in (state / "junit.xml").read_text()


def test_gate_and_samples_read_a_state(audited: Path, tmp_path: Path) -> None:
    state = audited / "state"
    kgaudit("sample", state, "--number", 14, "--to", tmp_path / "sheet.jsonl")
    rows = read_jsonl(tmp_path / "sheet.jsonl")
    assert len(rows) == 14
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps({**row, "label": "true", "annotator": "a", "time": "2026-11-30"}) + "\n" for row in rows))
    policy = tmp_path / "gate.yaml"
    policy.write_text("accuracy: {threshold: 0.5}\nlabels: {minimum: 10}\nverifier_card: {required: false}\n")
    result = kgaudit("gate", state, "--policy", policy, "--labels", labels, "--to", tmp_path / "decision")
    decision = json.loads((tmp_path / "decision" / "decision.json").read_text())
    assert decision["status"] == "passed", result.out
    assert decision["triples"] == decision["universe"] == 14


def test_a_state_with_triples_that_have_no_verdict_is_no_basis(tmp_path: Path, state: Path) -> None:
    night(options(tmp_path / "one", graph(tmp_path, "one", 1, 2, 3), triples=1), state)
    policy = tmp_path / "gate.yaml"
    policy.write_text("accuracy: {threshold: 0.5}\n")
    decision = gate(state, policy)
    assert decision.status == "no_basis"
    assert "2 triples of the graph have no verdict yet" in decision.reasons[0].text
    assert decision.universe == 3


# On the command line


def test_36_nothing_new_tonight(tmp_path: Path) -> None:
    case = copy_case("36-nothing-new-tonight", tmp_path)
    index = index_of(case / "docs.jsonl")
    state = tmp_path / "state"

    def audit(name: str, graph: str, where: Path = index, status: int = 0) -> str:
        return kgaudit("audit", case / graph, "--index", where, "--run", tmp_path / name, "--state", state, status=status).text

    assert "2 of 2 triples are new" in audit("night1", "night1.nt")
    second = audit("night2", "night2.nt")
    assert "0 of 2 triples are new; the state rests on run night1" in second
    assert "nothing to verify" in second
    assert json.loads((tmp_path / "night2" / "summary.json").read_text())["selected"]["rests_on"] == "night1"
    history = kgaudit("state", state).out
    assert "night1" in history
    assert "night2" in history
    assert "2 triples: 2 supported" in history
    assert "rest last on run night1" in history
    before = (state / "manifest.jsonl").read_bytes()
    for gone in (tmp_path / "gone", tmp_path):
        assert str(gone) in audit("night3", "night2.nt", gone, status=2)
    assert (state / "manifest.jsonl").read_bytes() == before
    policy = tmp_path / "gate.yaml"
    policy.write_text("accuracy: {threshold: 0.5}\n")
    decision = gate(tmp_path / "night2", policy)
    assert decision.status == "no_basis"
    assert "0 of 2 triples were new" in decision.reasons[0].text
    assert gate(state, policy).triples == 2


def test_another_graph_in_the_run_of_a_state_is_refused(tmp_path: Path) -> None:
    case = copy_case("36-nothing-new-tonight", tmp_path)
    index = index_of(case / "docs.jsonl")
    arguments = ["--index", index, "--run", tmp_path / "run", "--state", tmp_path / "state"]
    kgaudit("audit", case / "night1.nt", *arguments)
    assert "another graph" in kgaudit("audit", case / "night2.nt", *arguments, status=2).err


@pytest.mark.parametrize(
    ("extra", "word"),
    [
        (("--partial",), "--state"),
        (("--again", "changed-judge"), "--state"),
        (("--state", "s", "--new-by", "sparql"), "belong together"),
        (("--state", "s", "--endpoint", "http://localhost/"), "belong together"),
        (("--state", "s", "--removed", "gone.nt"), "--partial"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, extra: tuple[str, ...], word: str) -> None:
    kg = graph(tmp_path, "one", 1)
    assert word in kgaudit("audit", kg, "--index", tmp_path, "--run", tmp_path / "run", *extra, status=2).err
    assert not (tmp_path / "run").exists()


def test_audit_without_a_graph(tmp_path: Path) -> None:
    assert "no graph was named" in kgaudit("audit", "--index", tmp_path, "--run", tmp_path / "run", status=2).err
