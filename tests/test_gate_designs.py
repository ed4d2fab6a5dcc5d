from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from gate_run import Audited, audited, entries, label_sheet, write_labels

from kgaudit.errors import EmptyInputError, UsageError
from kgaudit.gate.designs import Design, allocate, answered, draw, planned_labels, strata_of
from kgaudit.gate.estimators import estimate, labels_mean
from kgaudit.gate.labels import read_labels
from kgaudit.gate.rows import Rows, read_rows
from kgaudit.gate.samples import match
from kgaudit.gate.sheet import COLUMNS, EVIDENCE_COLUMNS, draw_sample, write_table
from kgaudit.runs.reader import RunReader

DESIGNS = [
    Design(),
    Design("stratified"),
    Design("stratified", strata="verdict"),
    Design("stratified", strata="source"),
    Design("cluster"),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Audited:
    return audited(
        tmp_path_factory.mktemp("gate") / "run", entries(1200, wrong=0.15, predicates=("based in", "makes", "makes", "owns"))
    )


@pytest.fixture(scope="module")
def rows(graph: Audited) -> Rows:
    return read_rows(RunReader(graph.run))


def test_rows_know_predicates_sources_and_probabilities(rows: Rows) -> None:
    assert len(rows) == 1200
    assert rows.in_predicate("makes").sum() == 600
    assert rows.in_predicate("https://graph.example/owns").sum() == 300
    assert rows.in_source("new").sum() == 400
    assert not rows.in_source("kg.nt").any()  # a place that names its extractor is not counted by its file too
    assert set(rows.score.tolist()) == {0.05, 0.95}
    keys = rows.keys.take([3, 7]).to_pylist()
    assert rows.positions([keys[1], "0" * 64, keys[0]]).tolist() == [7, -1, 3]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.text)
def test_design_is_read_back_from_its_text_and_draws_the_same(design: Design, rows: Rows) -> None:
    assert Design.parse(design.text) == design
    drawn = draw(rows, design, 90)
    assert draw(rows, design, 90) == drawn
    assert 90 <= len(drawn) < 90 + design.per_cluster
    assert len({one.row for one in drawn}) == len(drawn)
    assert sum(one.weight for one in drawn) == pytest.approx(len(rows), rel=1e-9)


@pytest.mark.parametrize("text", ["", "simple_random", "cluster of 0, seed 1", "stratified by colour, seed 0", "simple_random, seed x"])
def test_what_is_no_design_is_none(text: str) -> None:
    assert Design.parse(text) is None


def test_longer_sample_begins_with_the_shorter_one_and_another_seed_is_another_sample(rows: Rows) -> None:
    short, long = draw(rows, Design(), 50), draw(rows, Design(), 200)
    assert [one.row for one in long[:50]] == [one.row for one in short]
    assert {one.row for one in draw(rows, Design(seed=1), 50)} != {one.row for one in short}


def test_sample_takes_passing_triples_as_often_as_flagged_ones(rows: Rows) -> None:
    drawn = [one.row for one in draw(rows, Design(), 600)]
    assert np.mean(rows.verdict[drawn]) == pytest.approx(np.mean(rows.verdict), abs=0.04)


def test_clusters_are_whole_and_drawn_by_size(rows: Rows) -> None:
    drawn = draw(rows, Design("cluster", per_cluster=3), 90)
    taken = {name: [one for one in drawn if one.cluster == name] for name in {one.cluster for one in drawn}}
    assert all(len(found) in (3, 4) for found in taken.values())  # four where a subject was drawn twice: it has no more
    assert all(rows.subjects[rows.subject[one.row]] == one.cluster for one in drawn)


def test_allocation_is_proportional_with_a_floor_and_never_beyond_a_stratum() -> None:
    assert allocate(np.array([900.0, 90.0, 9.0, 1.0]), 100).tolist() == [89, 8, 2, 1]
    assert allocate(np.array([3.0, 3.0]), 6).tolist() == [3, 3]
    assert allocate(np.array([500.0, 300.0, 200.0]), 3).sum() == 3


def test_small_predicates_share_a_stratum_and_verdict_strata_give_nothing_away(tmp_path: Path) -> None:
    made = entries(400, wrong=0.1, predicates=["based in"] * 20 + [f"rare {i}" for i in range(20)])
    found = read_rows(RunReader(audited(tmp_path / "run", made).run))
    codes, names = strata_of(found, Design("stratified"))
    assert [name.rpartition("/")[2] for name in names[:-1]] == ["based_in>", *(f"rare_{i}>" for i in range(20))]
    many = entries(400, wrong=0.1, predicates=["based in"] * 60 + [f"rare {i}" for i in range(40)])
    found = read_rows(RunReader(audited(tmp_path / "many", many).run))
    codes, names = strata_of(found, Design("stratified"))
    assert names[-1] == "(other)"
    assert np.bincount(codes).tolist() == [240, 160]
    _, blind = strata_of(found, Design("stratified", strata="verdict"))
    assert not any(word in " ".join(blind) for word in ("supported", "refuted", "judged", "evidence"))


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.text)
def test_labels_that_come_back_are_the_sample_that_was_drawn(design: Design, graph: Audited, rows: Rows, tmp_path: Path) -> None:
    labels = read_labels(label_sheet(tmp_path / "labels.jsonl", graph, design, 200))
    found = match(rows, labels)
    assert found.answered is not None
    assert (found.absent, found.chosen, found.other, found.answered.missing, found.answered.left) == (0, 0, 0, 0, 0)
    assert found.answered.decided == len(labels.labels)
    accuracy = np.mean(list(graph.truth.values()))
    result = estimate(found.answered.sample(rows, len(rows)), "wilson")
    assert result.low < accuracy < result.high
    assert result.design == design.kind


def test_labels_as_declared_elsewhere_give_the_same_estimate(graph: Audited, rows: Rows, tmp_path: Path) -> None:
    for design in (Design("stratified", strata="verdict"), Design("cluster")):
        path = label_sheet(tmp_path / "labels.jsonl", graph, design, 200)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        plain = write_labels(tmp_path / "plain.jsonl", [{**line, "sample": None, "weight": line["weight"] / 7} for line in lines])
        ours, declared = (match(rows, read_labels(one)).answered for one in (path, plain))
        assert ours is not None
        assert declared is not None
        assert declared.text == f"{design.kind}, as declared"
        one, other = labels_mean(ours.sample(rows, 5000)), labels_mean(declared.sample(rows, 5000))
        assert other.value == pytest.approx(one.value)
        assert other.effective == pytest.approx(one.effective, rel=0.01)


def test_unanswered_beginning_ends_the_sample(rows: Rows) -> None:
    design = Design()
    drawn = [one.row for one in draw(rows, design, 200)]
    gaps = answered(rows, design, {row: 1.0 for i, row in enumerate(drawn) if i % 20})
    assert (gaps.decided, gaps.missing, gaps.left) == (190, 10, 0)
    picked = answered(rows, design, dict.fromkeys((*drawn[:50], *drawn[150:]), 1.0))
    assert picked.decided == 50
    assert picked.left == 50
    assert answered(rows, design, dict.fromkeys(drawn[100:], 1.0)).decided == 0
    clusters = [one.row for one in draw(rows, Design("cluster"), 200)]
    held = answered(rows, Design("cluster"), dict.fromkeys((*clusters[:60], *clusters[150:]), 1.0))
    assert 55 <= held.decided <= 62
    assert held.left > 40


def test_repaired_graph_keeps_most_of_the_sample(graph: Audited, tmp_path: Path) -> None:
    made = entries(1200, wrong=0.15, predicates=("based in", "makes", "makes", "owns"))
    repaired = audited(tmp_path / "run", [(one, true) for one, true in made if true])
    labels = label_sheet(tmp_path / "labels.jsonl", graph, number=300)
    found = match(read_rows(RunReader(repaired.run)), read_labels(labels))
    assert found.answered is not None
    assert found.answered.decided == found.answered.truth.sum() == 300 - found.absent
    assert 25 < found.absent < 65
    more = draw_sample(repaired.run, Design(), labels=300, known=read_labels(labels))
    assert more.drawn == 300
    assert len(more.rows) == found.absent


def test_label_of_one_random_sample_serves_another(graph: Audited, rows: Rows, tmp_path: Path) -> None:
    first = label_sheet(tmp_path / "first.jsonl", graph, Design(seed=1), 400)
    second = label_sheet(tmp_path / "second.jsonl", graph, Design(seed=2), 450, known=read_labels(first))
    asked = len(second.read_text().splitlines())
    assert 270 < asked < 330
    found = match(rows, read_labels(second))
    assert found.answered is not None
    assert found.answered.decided < asked
    both = match(rows, read_labels(first, second))
    assert both.answered is not None
    assert both.answered.text == "simple_random, seed 1"
    assert both.answered.decided >= 400
    assert both.answered.decided + both.answered.left + both.other == 400 + asked
    cluster = label_sheet(tmp_path / "third.jsonl", graph, Design("cluster"), 900, known=read_labels(first, second))
    whole = match(rows, read_labels(first, second, cluster)).answered
    assert whole is not None


def test_groups_are_estimated_within_their_strata(rows: Rows, graph: Audited, tmp_path: Path) -> None:
    found = match(rows, read_labels(label_sheet(tmp_path / "labels.jsonl", graph, Design("stratified"), 300))).answered
    assert found is not None
    part = found.sample(rows, len(rows), rows.in_predicate("owns"))
    assert part.population == 300
    assert len(part.truth) == 75
    assert part.score_mean == pytest.approx(rows.score[rows.in_predicate("owns")].mean())


def test_size_follows_from_width_design_and_threshold(rows: Rows, graph: Audited) -> None:
    plain = planned_labels(rows, Design(), width=0.1)
    assert planned_labels(rows, Design("cluster"), width=0.1) > 1.3 * plain
    assert draw_sample(graph.run, Design(), threshold=0.85, expected=0.95).drawn == planned_labels(
        rows, Design(), threshold=0.85, expected=0.95
    )
    with pytest.raises(UsageError, match="not above"):
        draw_sample(graph.run, Design(), threshold=0.95, expected=0.9)
    with pytest.raises(UsageError, match="one size"):
        draw_sample(graph.run, Design())


def test_sheet_is_blind_and_can_be_filled_in_as_csv(graph: Audited, tmp_path: Path) -> None:
    sheet = draw_sample(graph.run, Design(), labels=40)
    path = tmp_path / "sheet.csv"
    write_table(sheet.rows, COLUMNS, path)
    text = path.read_text(encoding="utf-8-sig")
    assert not any(word in text for word in ("supported", "refuted", "0.95"))
    filled = list(csv.DictReader(text.splitlines()))
    assert tuple(filled[0]) == COLUMNS
    for row in filled[:30]:
        row |= {"label": "TRUE" if graph.truth[row["key"]] else "FALSE", "annotator": "ada", "time": "2026-11-30"}
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, delimiter=";")  # what a spreadsheet in another country saves
        writer.writeheader()
        writer.writerows(filled)
    labels = read_labels(path)
    assert len(labels.labels) == 30
    assert labels.blank == 10
    write_table(sheet.evidence, EVIDENCE_COLUMNS, tmp_path / "evidence.jsonl")
    evidence = [json.loads(line) for line in (tmp_path / "evidence.jsonl").read_text().splitlines()]
    assert [row["key"] for row in evidence] == [row["key"] for row in sheet.rows]
    with pytest.raises(UsageError, match="suffix"):
        write_table(sheet.rows, COLUMNS, tmp_path / "sheet.xlsx")


def test_run_without_triples_has_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(EmptyInputError, match="no triple"):
        draw_sample(audited(tmp_path / "run", []).run, Design(), labels=10)
