from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from fake_run import SPEC
from gate_run import Audited, audited, entries, label_sheet, with_verdict, write_labels

from kgaudit.errors import EmptyInputError, InputError
from kgaudit.gate.card import make_card, read_card, verifier_digest
from kgaudit.gate.designs import Design
from kgaudit.gate.picture import calibration_svg
from kgaudit.gate.render import card_html, card_text
from kgaudit.runs.files import write_json
from kgaudit.runs.reader import RunReader


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Audited:
    made = entries(800, wrong=0.3, verifier_errs=0.1)
    for i in range(0, 80):
        made[i * 10] = (with_verdict(made[i * 10][0], "not_judged" if i % 4 == 0 else "not_enough_evidence"), made[i * 10][1])
    return audited(tmp_path_factory.mktemp("card") / "run", made)


def all_labels(to: Path, graph: Audited) -> Path:
    return write_labels(
        to, [{"key": key, "label": true, "annotator": "ada", "time": "2026-11-01"} for key, true in graph.truth.items()]
    )


def test_card_measures_what_the_labels_say(graph: Audited, tmp_path: Path) -> None:
    card = make_card(graph.run, all_labels(tmp_path / "labels.jsonl", graph))
    sensitivity, specificity, youden = card.skill.sensitivity, card.skill.specificity, card.skill.youden
    assert sensitivity is not None
    assert specificity is not None
    assert youden is not None
    assert sensitivity.value == pytest.approx(0.9, abs=0.03)
    assert specificity.value == pytest.approx(0.9, abs=0.04)
    assert youden.value == pytest.approx(sensitivity.value + specificity.value - 1)
    assert youden.low < youden.value < youden.high
    assert sensitivity.labels + specificity.labels == 720
    assert card.abstention.value == pytest.approx(60 / 800)
    assert card.not_judged.value == pytest.approx(20 / 800)
    assert (card.labels, card.true) == (800, sum(graph.truth.values()))
    assert card.measured == "2026-11-01T00:00:00+00:00"
    # The fake verifier says 0.95 and 0.05 and is right nine times in ten: over-confident by 0.05.
    assert card.calibration_error == pytest.approx(0.05, abs=0.03)
    assert sum(one.true.labels for one in card.calibration) == 720
    assert [one.label for one in card.predicates] == ["based in", "makes"]


def test_card_from_a_sample_that_took_more_of_some_verdicts_is_not_bent(graph: Audited, tmp_path: Path) -> None:
    whole = make_card(graph.run, all_labels(tmp_path / "all.jsonl", graph))
    sampled = make_card(graph.run, label_sheet(tmp_path / "some.jsonl", graph, Design("stratified", strata="verdict"), 400))
    assert sampled.labels == 400
    assert whole.skill.sensitivity is not None
    assert sampled.skill.sensitivity is not None
    assert sampled.skill.sensitivity.low < whole.skill.sensitivity.value < sampled.skill.sensitivity.high
    clusters = make_card(graph.run, label_sheet(tmp_path / "clusters.jsonl", graph, Design("cluster"), 300))
    assert clusters.design == "cluster of 3, seed 0"


def test_labels_count_by_their_weights(graph: Audited, tmp_path: Path) -> None:
    whole = make_card(graph.run, all_labels(tmp_path / "all.jsonl", graph)).skill.sensitivity
    verdicts = {row["key"]: row["verdict"] for batch in RunReader(graph.run).batches(["key", "verdict"]) for row in batch.to_pylist()}
    supported = [key for key, verdict in verdicts.items() if verdict == "supported"]
    left_out = set(supported) - set(supported[::5])
    rows = [
        {
            "key": key,
            "label": graph.truth[key],
            "design": "stratified",
            "stratum": verdict,
            "weight": 5 if verdict == "supported" else 1,
        }
        for key, verdict in verdicts.items()
        if key not in left_out
    ]
    found = make_card(graph.run, write_labels(tmp_path / "some.jsonl", rows)).skill.sensitivity
    assert whole is not None
    assert found is not None
    assert found.value == pytest.approx(whole.value, abs=0.02)
    assert found.high - found.low > whole.high - whole.low


def test_predicate_with_few_labels_has_no_figures_of_its_own(tmp_path: Path) -> None:
    made = entries(200, wrong=0.3, predicates=["makes"] * 9 + ["rare"])
    graph = audited(tmp_path / "run", made)
    card = make_card(graph.run, all_labels(tmp_path / "labels.jsonl", graph))
    assert [one.label for one in card.predicates] == ["makes"]


def test_verifier_that_passes_everything_has_no_skill(tmp_path: Path) -> None:
    graph = audited(tmp_path / "run", [(with_verdict(one, "supported"), true) for one, true in entries(300, wrong=0.2)])
    card = make_card(graph.run, all_labels(tmp_path / "labels.jsonl", graph))
    assert card.skill.youden is not None
    assert card.skill.youden.value == 0
    assert card.skill.youden.low < 0
    assert card.calibration == ()
    assert "No labelled triple was given a probability" in card_html(card)


def test_only_true_labels_leave_j_unknown(tmp_path: Path) -> None:
    graph = audited(tmp_path / "run", entries(100, wrong=0.0))
    card = make_card(graph.run, all_labels(tmp_path / "labels.jsonl", graph))
    assert card.skill.specificity is None
    assert card.skill.youden is None
    assert "unknown" in card_text(card)


def test_labels_of_another_graph_make_no_card(graph: Audited, tmp_path: Path) -> None:
    labels = write_labels(tmp_path / "labels.jsonl", [{"key": "f" * 64, "label": "true"}])
    with pytest.raises(EmptyInputError, match="no label"):
        make_card(graph.run, labels)


def test_a_card_belongs_to_the_language_model_too() -> None:
    spec = {"judge": {"name": "cue-1", "digest": "a"}, "policy": {"name": "agentkgv", "settings": {}}}
    steered = spec | {"model": {"name": "big-7b", "digest": "b"}}
    assert verifier_digest(spec | {"model": None}) == verifier_digest(spec)
    assert verifier_digest(steered) != verifier_digest(spec)
    assert verifier_digest(steered | {"model": {"name": "big-7b", "digest": "c"}}) != verifier_digest(steered)
    assert verifier_digest(steered | {"model": {"name": "by another name", "digest": "b"}}) == verifier_digest(steered)


def test_card_survives_the_file_and_shows_when_it_was_changed(graph: Audited, tmp_path: Path) -> None:
    card = make_card(graph.run, all_labels(tmp_path / "labels.jsonl", graph), now=datetime(2026, 11, 30, tzinfo=timezone.utc))
    path = tmp_path / "card.json"
    write_json(path, card.to_json())
    assert read_card(path) == card
    values = json.loads(path.read_text())
    write_json(path, {**values, "judge": {"name": "other", "digest": "e" * 64}})
    with pytest.raises(InputError, match="not the one"):
        read_card(path)
    write_json(path, {**values, "abstention": {"value": 1}})
    with pytest.raises(InputError, match="damaged"):
        read_card(path)
    write_json(path, {"format": 9})
    with pytest.raises(InputError, match="no verifier card"):
        read_card(path)


def test_digest_follows_judge_policy_and_settings_but_not_documents() -> None:
    own = verifier_digest(SPEC)
    assert verifier_digest({**SPEC, "snapshot": "other", "index": "elsewhere"}) == own
    assert verifier_digest({**SPEC, "judge": {"name": "renamed", "digest": "d" * 64}}) == own
    assert verifier_digest({**SPEC, "judge": {"name": "cue-1", "digest": "e" * 64}}) != own
    assert verifier_digest({**SPEC, "judge": {**SPEC["judge"], "prompt": "p" * 64}}) != own
    assert verifier_digest({**SPEC, "policy": {"name": "agentkgv", "settings": {"k": 5}}}) != own


def test_page_and_plot_are_whole_and_hold_no_markup_of_others(graph: Audited, tmp_path: Path) -> None:
    import xml.etree.ElementTree as ElementTree

    card = make_card(graph.run, all_labels(tmp_path / "labels.jsonl", graph))
    bad = "<script>alert(1)</script>\u202e\x07"
    card = replace(card, judge={"name": bad, "digest": "x"}, predicates=(replace(card.predicates[0], label=bad),))
    page = card_html(card)
    assert "<script" not in page
    assert "\x07" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("https://graph.example/", "")
    picture = ElementTree.fromstring(calibration_svg(card))
    assert len(picture.findall("{http://www.w3.org/2000/svg}circle")) == len(card.calibration)
    assert "\x07" not in card_text(card)
