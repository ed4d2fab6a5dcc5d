from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from fake_run import entry
from gate_run import POLICY, Audited, audited, card_file, entries, label_sheet, with_verdict, write_labels

from kgaudit.errors import InputError, KgauditError, RunError, UsageError
from kgaudit.gate.commands import COMMANDS
from kgaudit.gate.decide import Decision, gate
from kgaudit.gate.designs import Design
from kgaudit.gate.picture import decision_svg
from kgaudit.gate.render import LINE, decision_text
from kgaudit.runs.files import read_json, write_json
from kgaudit.sources import SourceOptions, load

NOW = dt.datetime(2026, 12, 1, tzinfo=dt.timezone.utc)
GOOD = entries(1000, wrong=0.04)


@dataclass(frozen=True)
class Case:
    """All that a decision needs, in files."""

    graph: Audited
    policy: Path
    labels: Path
    card: Path

    def decide(self, policy: str | None = None, *, now: dt.datetime = NOW, **changes: Path | None) -> Decision:
        if policy is not None:
            self.policy.write_text(policy)
        given = {"labels": self.labels, "card": self.card, "run": self.graph.run} | changes
        assert given["run"] is not None
        return gate(given["run"], self.policy, given["labels"], given["card"], now=now)


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("card")
    gold = audited(folder / "gold", entries(400, wrong=0.4, seed=9))
    return card_file(folder / "card.json", gold, label_sheet(folder / "gold.jsonl", gold, number=400))


@pytest.fixture
def case(tmp_path: Path, card: Path) -> Case:
    return make_case(tmp_path, card, GOOD)


def make_case(folder: Path, card: Path, made: list, number: int = 400, **options: object) -> Case:  # type: ignore[type-arg]
    graph = audited(folder / "run", made, **options)
    labels = label_sheet(folder / "labels.jsonl", graph, number=number)
    policy = folder / "gate.yaml"
    policy.write_text(POLICY)
    return Case(graph, policy, labels, card)


def why(decision: Decision) -> str:
    return " | ".join(f"{reason.status}: {reason.text}" for reason in decision.reasons)


def test_planted_false_triples_stop_the_release_and_the_repaired_graph_passes(tmp_path: Path, card: Path) -> None:
    planted = [(one, i % 4 != 0 and true) for i, (one, true) in enumerate(GOOD)]
    planted = [(with_verdict(one, "refuted") if i % 4 == 0 else one, true) for i, (one, true) in enumerate(planted)]
    bad = make_case(tmp_path / "bad", card, planted)
    stopped = bad.decide()
    assert (stopped.status, stopped.exit_status) == ("stopped", 1), why(stopped)
    assert "under the threshold 85.00 %" in why(stopped)
    repaired = audited(tmp_path / "repaired", [(one, true) for one, true in planted if true])
    labels = label_sheet(tmp_path / "labels.jsonl", repaired, number=400)
    passed = bad.decide(run=repaired.run, labels=labels)
    assert (passed.status, passed.exit_status, passed.reasons) == ("passed", 0, ())


def test_decision_rests_on_labels_and_never_on_the_pass_rate(tmp_path: Path, card: Path) -> None:
    praised = [(with_verdict(one, "supported"), true) for one, true in entries(1000, wrong=0.3)]
    decision = make_case(tmp_path, card, praised).decide()
    assert decision.pass_rate == 1.0
    assert decision.exit_status == 1
    assert decision.accuracy is not None
    assert decision.accuracy.high < 0.85
    assert "pass rate 100.0 % of 1,000 judged (decides nothing); not enough evidence 0.0 %, not judged 0.0 %" in squeezed(decision)


def test_lower_end_decides_and_not_the_estimate(case: Case) -> None:
    found = case.decide().accuracy
    assert found is not None
    assert case.decide(f"accuracy: {{threshold: {found.low - 1e-6:.6f}}}").exit_status == 0
    between = case.decide(f"accuracy: {{threshold: {(found.low + found.value) / 2:.6f}}}")
    assert between.exit_status == 1
    assert "the lower end of the accuracy's 95 % interval" in why(between)


def squeezed(decision: Decision) -> str:
    return " ".join(decision_text(decision).split())


def test_numbers_behind_the_decision_are_all_there(case: Case) -> None:
    decision = case.decide()
    found = decision.accuracy
    assert found is not None
    assert (found.estimator, found.design, found.labels, found.confidence) == ("ppi", "simple_random", 400, 0.95)
    assert {one.estimator for one in decision.beside} == {"wilson", "clopper_pearson", "jeffreys"}
    assert found.width < next(one.width for one in decision.beside if one.estimator == "wilson")
    values = json.loads(json.dumps(decision.to_json(), allow_nan=False))
    assert values["exit_status"] == 0
    assert values["accuracy"]["low"] == found.low
    assert values["labels"]["sample"] == "simple_random, seed 0"
    assert values["card"]["youden_low"] > 0.5


@pytest.mark.parametrize("design", [Design("stratified"), Design("cluster")], ids=["stratified", "cluster"])
def test_every_design_can_be_decided_on(case: Case, tmp_path: Path, design: Design) -> None:
    decision = case.decide(labels=label_sheet(tmp_path / "other.jsonl", case.graph, design, 400))
    assert decision.exit_status == 0, why(decision)
    assert decision.accuracy is not None
    assert decision.accuracy.design == design.kind


@pytest.mark.parametrize("estimator", ["wilson", "clopper_pearson", "jeffreys", "ppi"])
def test_policy_chooses_the_estimator_and_the_confidence(case: Case, estimator: str) -> None:
    decision = case.decide(f"accuracy: {{threshold: 0.85, estimator: {estimator}, confidence: 0.8}}")
    assert decision.accuracy is not None
    assert (decision.accuracy.estimator, decision.accuracy.confidence) == (estimator, 0.8)


def test_labels_of_everything_leave_no_interval_and_json_can_say_so(tmp_path: Path, card: Path) -> None:
    decision = make_case(tmp_path, card, entries(200, wrong=0.05), number=200).decide("accuracy: {threshold: 0.85, estimator: wilson}")
    assert decision.accuracy is not None
    assert decision.accuracy.width == 0
    json.dumps(decision.to_json(), allow_nan=False)
    assert "worth" not in decision_text(decision)


def test_listed_predicate_and_source_have_their_own_limit(tmp_path: Path, card: Path) -> None:
    made = [(one, true and (i % 2 == 0 or i % 10 != 1)) for i, (one, true) in enumerate(GOOD)]
    case = make_case(tmp_path, card, made)
    policy = "accuracy: {threshold: 0.8, predicates: {makes: 0.9, based in: 0.85}, sources: {old: 0.7}}"
    decision = case.decide(policy)
    assert decision.exit_status == 1
    assert [(group.name, group.status) for group in decision.groups] == [
        ("makes", "stopped"),
        ("based in", "passed"),
        ("old", "passed"),
    ]
    assert why(decision).startswith("stopped: predicate makes: the lower end of its interval")
    makes = decision.groups[0].estimate
    assert makes is not None
    between = (makes.low + makes.value) / 2
    assert case.decide(f"accuracy: {{threshold: 0.8, predicates: {{makes: {between:.6f}}}}}").groups[0].status == "stopped"
    few = case.decide(policy + "\nlabels: {minimum_by_group: 250}")
    assert few.exit_status == 2
    assert "the policy asks for 250" in why(few)
    absent = case.decide("accuracy: {threshold: 0.8, predicates: {mkaes: 0.9}}")
    assert absent.exit_status == 2
    assert "holds no triple of predicate mkaes" in why(absent)


@pytest.mark.parametrize(
    ("verdict", "policy", "words"),
    [
        ("not_judged", POLICY, "20.0 % of the triples are not judged; the policy allows 5.0 %"),
        ("not_enough_evidence", POLICY + "limits: {not_enough_evidence: 0.1}", "20.0 % of the triples are without enough evidence"),
        ("refuted", POLICY + "limits: {refuted: 0.1}", "of the triples are refuted and not overridden"),
    ],
)
def test_too_many_of_a_verdict_stop(tmp_path: Path, card: Path, verdict: str, policy: str, words: str) -> None:
    made = [(with_verdict(one, verdict) if i % 5 == 0 else one, true) for i, (one, true) in enumerate(GOOD)]
    if verdict != "refuted":
        made = [(one if i % 5 == 0 else with_verdict(one, "supported"), true) for i, (one, true) in enumerate(made)]
    decision = make_case(tmp_path, card, made).decide(policy)
    assert decision.exit_status == 1, why(decision)
    assert words in why(decision)


def test_nothing_to_judge_never_passes(tmp_path: Path, card: Path) -> None:
    load = {"claims": 0, "left_out": {"schema": 5, "label": 1}}
    empty = make_case_without_labels(tmp_path / "empty", card, [], load=load)
    assert empty.exit_status == 2
    assert "holds no triple to judge (6 were left out" in why(empty)
    assert "100" not in decision_text(empty).replace("at least 100", "").replace("asks for 100", "")
    abstained = [(with_verdict(one, "not_enough_evidence"), true) for one, true in GOOD]
    decision = make_case(tmp_path / "abstained", card, abstained).decide()
    assert decision.exit_status == 2
    assert "none of the 1,000 triples was judged" in why(decision)
    assert decision.pass_rate is None
    broken = [(with_verdict(one, "not_judged"), true) for one, true in GOOD]
    assert make_case(tmp_path / "broken", card, broken).decide().exit_status == 2


def make_case_without_labels(folder: Path, card: Path, made: list, **options: object) -> Decision:  # type: ignore[type-arg]
    folder.mkdir()
    graph = audited(folder / "run", made, **options)
    (folder / "gate.yaml").write_text("accuracy: {threshold: 0.9}")
    return gate(graph.run, folder / "gate.yaml", None, card, now=NOW)


def test_graph_without_a_claim_and_claim_without_evidence_do_not_come_out_green(tmp_path: Path, card: Path) -> None:
    # tests/field/35-nothing-to-judge
    folder = Path(__file__).parent / "field" / "35-nothing-to-judge"
    assert (folder / "schema-only.ttl").is_file()
    (tmp_path / "schema").mkdir()
    graph = load([folder / "schema-only.ttl"], tmp_path / "graph", SourceOptions(), None)
    left_out = dict(graph.counts.left_out)
    assert (graph.counts.claims, sum(left_out.values())) == (0, 6)
    graph.close()
    schema = make_case_without_labels(tmp_path / "schema only", card, [], load={"claims": 0, "left_out": left_out})
    assert schema.exit_status == 2
    lone = with_verdict(entry("Kestrel", "made by", "Norrby", "supported"), "not_enough_evidence")
    evidence = make_case_without_labels(tmp_path / "no evidence", card, [(lone, True)])
    assert evidence.exit_status == 2
    for decision in (schema, evidence):
        assert decision.pass_rate is None
        page = decision_text(decision) + decision_svg(decision)
        assert "pass rate –" in decision_text(decision)
        assert "100.0 % of" not in page


def test_missing_labels_and_card_are_no_basis(case: Case) -> None:
    decision = case.decide(labels=None, card=None)
    assert decision.exit_status == 2
    assert "no labels were given" in why(decision)
    assert "no verifier card was given" in why(decision)
    assert case.decide(POLICY + "verifier_card: {required: false}", card=None).exit_status == 0
    assert case.decide(POLICY + "labels: {minimum: 500}").exit_status == 2


def test_labels_that_are_no_random_sample_of_this_run_do_not_count(case: Case, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in case.labels.read_text().splitlines()]
    chosen = write_labels(tmp_path / "review.jsonl", [{**line, "design": "review", "sample": ""} for line in lines])
    decision = case.decide(labels=chosen)
    assert decision.exit_status == 2
    assert "0 labels of a random sample can be used (beside them 400 not drawn at random)" in why(decision)
    half = [{**line, "design": "review", "sample": ""} if i % 2 else line for i, line in enumerate(lines)]
    mixed = case.decide(labels=write_labels(tmp_path / "half.jsonl", half))
    assert mixed.exit_status == 2
    assert mixed.labels is not None
    assert mixed.labels.chosen == 200
    assert mixed.labels.used < 10  # what was chosen for another reason does not fill the gaps
    absent = write_labels(tmp_path / "absent.jsonl", [{**line, "key": line["key"][::-1]} for line in lines])
    assert "400 of triples that this run does not hold" in why(case.decide(labels=absent))
    unsure = write_labels(
        tmp_path / "unsure.jsonl", [{**line, "label": "unsure"} if i % 3 == 0 else line for i, line in enumerate(lines)]
    )
    found = case.decide(labels=unsure)
    assert found.exit_status == 2
    assert "people are unsure of 33.5 %" in why(found)


def test_new_triples_that_nobody_labelled_leave_no_basis(tmp_path: Path, card: Path) -> None:
    case = make_case(tmp_path, card, GOOD)
    grown = audited(tmp_path / "grown", [*GOOD, *((entry(f"New {i}", "makes", f"Part {i}", "supported"), False) for i in range(1000))])
    decision = case.decide(run=grown.run)
    assert decision.exit_status == 2
    assert decision.labels is not None
    assert decision.labels.used < 50
    assert "after the first triples of the sample without a label" in why(decision)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"judge": {"name": "cue-2", "digest": "e" * 64}}, "it measured the judge cue-1, the run used cue-2"),
        ({"model": {"name": "big-7b", "digest": "f" * 64}}, "it measured the language model none, the run used big-7b"),
        ({"policy": {"name": "single_turn", "settings": {}}}, "it measured the policy agentkgv, the run used single_turn"),
        ({"policy": {"name": "agentkgv", "settings": {"k": 3}}}, "the settings of the policy or the judge's prompt differ"),
    ],
)
def test_card_of_another_verifier_is_no_basis(case: Case, change: dict[str, object], words: str) -> None:
    path = case.graph.run / "spec.json"
    write_json(path, {**read_json(path), **change})
    decision = case.decide()
    assert decision.exit_status == 2
    assert words in why(decision)


def test_stale_and_uninformative_cards_are_no_basis(case: Case, tmp_path: Path) -> None:
    stale = case.decide(now=NOW + dt.timedelta(days=400))
    assert stale.exit_status == 2
    assert "its newest label is 400 days old, the policy allows 180" in why(stale)
    assert case.decide(POLICY + "verifier_card: {maximum_age_days: 500}", now=NOW + dt.timedelta(days=400)).exit_status == 0
    coin = audited(tmp_path / "coin", entries(400, wrong=0.4, verifier_errs=0.5))
    useless = card_file(tmp_path / "useless.json", coin, label_sheet(tmp_path / "coin.jsonl", coin, number=400))
    decision = case.decide(POLICY, card=useless)
    assert decision.exit_status == 2
    assert "uninformative: Youden's J is" in why(decision)
    assert case.decide(POLICY + "verifier_card: {minimum_youden_j: 0.99}").exit_status == 2
    sure = audited(tmp_path / "sure", entries(200, wrong=0.0))
    one_sided = card_file(tmp_path / "sure.json", sure, label_sheet(tmp_path / "sure.jsonl", sure, number=200))
    assert "J is unknown" in why(case.decide(POLICY, card=one_sided))


def test_interrupted_run_is_no_basis_and_one_ended_by_its_budget_is_a_sample(tmp_path: Path, card: Path) -> None:
    interrupted = make_case(tmp_path / "a", card, GOOD, status="interrupted").decide()
    assert interrupted.exit_status == 2
    assert "the run is interrupted" in why(interrupted)
    complete = make_case(tmp_path / "b", card, GOOD).decide()
    budget = make_case(tmp_path / "c", card, GOOD, status="budget", load={"claims": 50_000}).decide()
    assert budget.exit_status == 0, why(budget)
    assert budget.universe == 50_000
    assert budget.accuracy is not None
    assert complete.accuracy is not None
    assert budget.accuracy.width > complete.accuracy.width
    assert "1,000 triples of the 50,000 in the graph, run budget" in squeezed(budget)


def test_something_missing_wins_over_stopped(tmp_path: Path, card: Path) -> None:
    decision = make_case(tmp_path, card, entries(1000, wrong=0.4)).decide(card=None)
    assert decision.exit_status == 2
    assert {reason.status for reason in decision.reasons} == {"stopped", "no_basis"}


def test_override_counts_until_it_expires_and_only_where_it_fits(case: Case) -> None:
    refuted = [one.claim.key for one, _ in GOOD if one.trajectory.verdict.verdict == "refuted"]
    supported = next(one.claim.key for one, _ in GOOD if one.trajectory.verdict.verdict == "supported")
    keys = [(refuted[0], "2026-12-01"), (refuted[1], "2026-11-30"), (supported, "2027-01-01"), ("f" * 64, "2027-01-01")]
    lines = "".join(f"  - {{key: {key}, author: Ada, reason: newer register, expires: {expires}}}\n" for key, expires in keys)
    decision = case.decide(POLICY + "overrides:\n" + lines)
    assert [one.counts for one in decision.overrides] == [True, False, False, False]
    assert [one.note for one in decision.overrides] == ["", "expired", "the triple is supported", "the run does not hold the triple"]
    assert decision.refuted_without_overridden == pytest.approx((len(refuted) - 1) / 1000)
    text = squeezed(decision)
    assert "1 in force, 3 that do not count" in text
    assert "expired on 2026-11-30: Ada, “newer register”" in text
    plain = case.decide(POLICY)
    assert decision.accuracy == plain.accuracy


def test_text_is_one_screen_and_picture_is_whole_whatever_the_names(case: Case) -> None:
    bad = "<b>x</b>\u202e\x07 " + "long " * 40
    policy = "accuracy:\n  threshold: 0.85\n  predicates:\n" + "".join(f"    'predicate {i}': 0.9\n" for i in range(60))
    decision = replace(case.decide(policy), run=bad)
    lines = decision_text(decision).splitlines()
    assert len(lines) < 45
    assert max(map(len, lines[1:])) <= LINE
    picture = ElementTree.fromstring(decision_svg(decision))
    assert "http" not in decision_svg(decision).replace("http://www.w3.org/2000/svg", "")
    assert picture.find("{http://www.w3.org/2000/svg}b") is None
    assert "\x07" not in decision_text(decision)


def test_what_is_no_run_no_policy_or_no_labels_is_an_error_with_status_2(case: Case, tmp_path: Path) -> None:
    with pytest.raises(RunError):
        case.decide(run=tmp_path / "nowhere")
    with pytest.raises(UsageError):
        case.decide("accuracy: {}")
    (tmp_path / "bad.jsonl").write_text("{\n")
    with pytest.raises(InputError, match="line 1"):
        case.decide(POLICY, labels=tmp_path / "bad.jsonl")
    with pytest.raises(InputError):
        case.decide(POLICY, card=case.policy)
    assert KgauditError.exit_status == 2


cli = click.Group(commands=COMMANDS)


def invoke(*arguments: object, status: int = 0) -> str:
    result = CliRunner().invoke(cli, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == status, result.output
    return result.output


def test_commands_from_sample_to_release(tmp_path: Path) -> None:
    graph = audited(tmp_path / "run", entries(600, wrong=0.04))
    told = invoke("sample", graph.run, "--to", tmp_path / "sheet.jsonl", "--number", 300, "--evidence", tmp_path / "evidence.csv")
    assert "300 triples drawn (simple_random, seed 0): 300 to label" in told
    rows = [json.loads(line) for line in (tmp_path / "sheet.jsonl").read_text().splitlines()]
    filled = write_labels(tmp_path / "labels.jsonl", [{**row, "label": graph.truth[row["key"]], "annotator": "ada"} for row in rows])
    assert "Youden's J" in invoke("card", graph.run, "--labels", filled, "--to", tmp_path / "card.json")
    assert (tmp_path / "card.html").is_file()
    (tmp_path / "gate.yaml").write_text(POLICY)
    files = ("--policy", tmp_path / "gate.yaml", "--labels", filled, "--card", tmp_path / "card.json")
    assert invoke("gate", graph.run, *files).startswith("passed (exit status 0)")
    assert read_json(graph.run / "decision.json")["status"] == "passed"
    assert (graph.run / "decision.svg").is_file()
    (tmp_path / "gate.yaml").write_text("accuracy: {threshold: 0.99}")
    assert invoke("gate", graph.run, *files, status=1).startswith("stopped")
    assert invoke("gate", graph.run, *files[:4], "--to", tmp_path / "out", status=2).startswith("no basis to decide")
    assert read_json(tmp_path / "out" / "decision.json")["exit_status"] == 2
    assert "test cases" in invoke("junit", graph.run)
    with pytest.raises(UsageError, match="may hold labels"):
        invoke("sample", graph.run, "--to", filled, "--number", 10)
    by_policy = invoke("sample", graph.run, "--to", tmp_path / "more.csv", "--policy", tmp_path / "gate.yaml", "--expected", 0.999)
    assert "to label" in by_policy


def test_old_decision_does_not_outlive_a_call_that_fails(case: Case) -> None:
    (case.graph.run / "decision.json").write_text('{"status": "passed"}')
    case.policy.write_text("accuracy: {}")
    with pytest.raises(UsageError):
        invoke("gate", case.graph.run, "--policy", case.policy)
    assert not (case.graph.run / "decision.json").exists()


def test_example_policy_is_printed_and_a_call_without_run_says_what_to_do() -> None:
    assert "accuracy:" in invoke("gate", "--example")
    with pytest.raises(UsageError, match="needs a run"):
        invoke("gate")


def test_commands_are_cheap_to_import() -> None:
    program = "import sys, kgaudit.gate.commands; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "pyarrow", "yaml"} & set(loaded)
