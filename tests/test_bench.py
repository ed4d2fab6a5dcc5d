"""Measures against hand-computed values and scikit-learn; datasets and their errors; a whole benchmark over a stand-in verifier."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kgaudit.bench import metrics
from kgaudit.bench.datasets import open_dataset, read_split, read_texts
from kgaudit.bench.metrics import Scored, measure
from kgaudit.bench.runner import BenchOptions, Result, run_bench, write_items, write_results
from kgaudit.bench.table import format_results
from kgaudit.claims import Claim
from kgaudit.documents import Passage
from kgaudit.errors import EmptyInputError, InputError, UsageError
from kgaudit.models.judge import Weighing
from kgaudit.triples import triple_key
from kgaudit.verdicts import EvidenceSpan, Stance, Trajectory, Verdict, VerdictName

XSD_DATE = "http://www.w3.org/2001/XMLSchema#date"


def scored(
    id: str,
    gold: bool,
    verdict: VerdictName,
    p: float | None = None,
    *,
    neg_type: str | None = None,
    phenomenon: str | None = None,
    evidence: tuple[EvidenceSpan, ...] = (),
    gold_evidence: tuple[tuple[str, str], ...] = (),
    searches: int = 1,
) -> Scored:
    outcome = Verdict(verdict, "because", "retrieval", p_supported=p, evidence=evidence)
    trajectory = Trajectory(id, "scripted", (), outcome, searches=searches, judged_pairs=2 * searches)
    return Scored(id, id, gold, neg_type, phenomenon, gold_evidence, trajectory)


def test_two_way_measures_by_hand() -> None:
    gold = [True, True, True, False, False]
    predicted = [True, True, False, True, False]
    # true: 2 hits, 1 missed, 1 wrong; false: 1 hit, 1 missed, 1 wrong.
    assert metrics.f1(gold, predicted, True) == pytest.approx(4 / 6)
    assert metrics.f1(gold, predicted, False) == pytest.approx(2 / 4)
    assert metrics.macro_f1(gold, predicted) == pytest.approx((4 / 6 + 2 / 4) / 2)
    assert metrics.balanced_accuracy(gold, predicted) == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_a_class_that_is_not_there_has_no_measure() -> None:
    assert metrics.f1([True], [True], False) is None
    assert metrics.macro_f1([True], [True]) is None
    assert metrics.balanced_accuracy([True, True], [True, False]) is None
    assert metrics.f1([True], [False], True) == 0.0


def test_two_way_measures_agree_with_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    source = random.Random(5)
    gold = [source.random() < 0.4 for _ in range(200)]
    predicted = [source.random() < 0.6 for _ in range(200)]
    assert metrics.macro_f1(gold, predicted) == pytest.approx(sklearn.f1_score(gold, predicted, average="macro"))
    assert metrics.f1(gold, predicted, False) == pytest.approx(sklearn.f1_score(gold, predicted, pos_label=False))
    assert metrics.balanced_accuracy(gold, predicted) == pytest.approx(sklearn.balanced_accuracy_score(gold, predicted))


def test_calibration_error_by_hand() -> None:
    # Two bins of two: |mean(.1, .3) - 0| and |mean(.6, 1.0) - 1/2|, each half of the items.
    assert metrics.calibration_error([0.6, 0.1, 1.0, 0.3], [True, False, False, False], bins=2) == pytest.approx((0.2 + 0.3) / 2)
    # Three items in two bins: two and one.
    assert metrics.calibration_error([0.2, 0.4, 0.9], [False, True, True], bins=2) == pytest.approx((2 * 0.2 + 0.1) / 3)
    assert metrics.calibration_error([0.75], [True]) == pytest.approx(0.25)
    assert metrics.calibration_error([], []) is None


def test_calibration_error_of_equal_mass_agrees_with_numpy() -> None:
    import numpy as np

    source = random.Random(7)
    p = [source.random() for _ in range(137)]
    gold = [source.random() < value for value in p]
    order = np.argsort(p)
    bins = np.array_split(order, 10)
    expected = sum(len(part) * abs(np.mean(np.array(p)[part]) - np.mean(np.array(gold)[part])) for part in bins) / len(p)
    assert metrics.calibration_error(p, gold) == pytest.approx(expected)


def test_surest_are_those_farthest_from_one_half() -> None:
    items = [scored(str(p), True, "supported", p) for p in (0.5, 0.95, 0.1, 0.6, None)]
    assert [item.id for item in metrics.surest(items, 0.8)] == ["0.95", "0.1", "0.6", "0.5"]
    assert [item.id for item in metrics.surest(items, 0.4)] == ["0.95", "0.1"]


def test_risk_coverage_counts_wrong_answers_among_the_surest() -> None:
    items = [scored("a", True, "supported", 0.99), scored("b", False, "supported", 0.9), scored("c", False, "refuted", 0.2)]
    items += [scored("d", True, "not_enough_evidence", 0.4), scored("e", True, "supported", 0.55)]
    assert metrics.risk_coverage(items) == [(0.2, 0.0), (0.4, 0.5), (0.6, pytest.approx(1 / 3)), (0.8, 0.5), (1.0, 0.4)]


def test_pair_ranking_by_hand() -> None:
    pairs = {"a-t": 0.9, "a-f": 0.1, "b-t": 0.2, "b-f": 0.3, "c-t": 0.5, "c-f": 0.5, "d-t": None, "d-f": 0.1, "e-t": 0.9}
    assert metrics.pair_ranking(pairs) == pytest.approx((1 + 0 + 0.5 + 0.5) / 4)
    assert metrics.pair_ranking({"test-00000": 0.9, "e-t": 0.2}) is None


def test_abstentions_and_errors_count_as_false_and_stay_in_the_denominator() -> None:
    items = [
        scored("1", True, "supported", 0.9),
        scored("2", True, "not_judged"),
        scored("3", False, "not_enough_evidence", 0.3, neg_type="reversed"),
        scored("4", False, "supported", 0.8, neg_type="nearest_object"),
        scored("5", False, "refuted", 0.1, neg_type="nearest_object", searches=3),
    ]
    result = measure(items, {}, seconds=2.0)
    assert result.n == 5
    assert result.accuracy_by_negative == {"true": 0.5, "reversed": 1.0, "nearest_object": 0.5}
    assert result.abstained == pytest.approx(0.4)
    assert result.f1_true == pytest.approx(2 / 4)
    assert result.f1_false == pytest.approx(4 / 6)
    assert result.searches_per_triple == pytest.approx(7 / 5)
    assert result.judged_pairs_per_triple == pytest.approx(14 / 5)
    assert result.triples_per_second == pytest.approx(2.5)
    assert result.verdicts == {"not_enough_evidence": 1, "not_judged": 1, "refuted": 1, "supported": 2}
    # The surest four leave out the one without a probability.
    assert result.macro_f1_at_80 == metrics.macro_f1([True, False, False, False], [True, False, True, False])
    assert result.pair_ranking is None
    assert result.evidence_verbatim is None


def test_measures_do_not_follow_the_order_of_the_file() -> None:
    items = [scored(f"t{n}", True, "supported", 0.7) for n in range(20)] + [scored(f"f{n}", False, "supported", 0.7) for n in range(20)]
    assert measure(items, {}, 1.0) == measure(items[::-1], {}, 1.0)


def test_phenomena_are_counted_apart() -> None:
    items = [
        scored("a-t", True, "supported", 0.9, phenomenon="negation"),
        scored("a-f", False, "supported", 0.6, phenomenon="negation"),
        scored("b-t", True, "supported", 0.9, phenomenon="dates"),
        scored("c", True, "refuted", 0.2),
    ]
    result = measure(items, {}, 1.0)
    assert result.accuracy_by_phenomenon == {"dates": 1.0, "negation": 0.5}
    assert result.pair_ranking == 1.0


def test_quotes_are_checked_letter_for_letter_at_their_offsets() -> None:
    documents = {"d": "Norrby Pumps sits in Västerås. It makes valves."}
    right = EvidenceSpan("d", 0, 30, "Norrby Pumps sits in Västerås.", "supports", 0.9)
    moved = EvidenceSpan("d", 1, 31, "Norrby Pumps sits in Västerås.", "supports", 0.9)
    decomposed = EvidenceSpan("d", 0, 30, "Norrby Pumps sits in Va\u0308stera\u030as.", "supports", 0.9)
    elsewhere = EvidenceSpan("e", 0, 30, "Norrby Pumps sits in Västerås.", "supports", 0.9)
    empty = EvidenceSpan("d", 3, 3, "", "supports", 0.9)
    items = [scored("1", True, "supported", 0.9, evidence=(right, moved)), scored("2", False, "refuted", 0.1, evidence=(decomposed,))]
    assert metrics.evidence_verbatim(items, documents) == pytest.approx(1 / 3)
    assert not metrics.is_verbatim(elsewhere, documents)
    assert not metrics.is_verbatim(empty, documents)


def test_evidence_precision_looks_at_supporting_quotes_of_true_triples() -> None:
    documents = {"d": "Norrby Pumps sits in Västerås. It makes valves."}
    seat = EvidenceSpan("d", 0, 30, documents["d"][0:30], "supports", 0.9)
    valves = EvidenceSpan("d", 31, 47, documents["d"][31:47], "supports", 0.9)
    against = EvidenceSpan("d", 31, 47, documents["d"][31:47], "refutes", 0.9)
    gold = (("d", "Norrby Pumps sits in Västerås."),)
    items = [
        scored("1", True, "supported", 0.9, evidence=(seat, valves, against), gold_evidence=gold),
        scored("2", True, "refuted", 0.9, evidence=(valves,), gold_evidence=gold),
        scored("3", False, "supported", 0.9, evidence=(valves,), gold_evidence=gold),
    ]
    assert metrics.evidence_precision(items, documents) == pytest.approx(0.5)


def write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


FACTS = [
    ("t1", "Norrby", "seat", "Vasteras", True, None),
    ("f1", "Norrby", "seat", "Ostrava", False, "nearest_object"),
    ("t2", "Halden", "maker", "Norrby", True, None),
    ("f2", "Halden", "maker", "Ostrava", False, "in_document"),
]


def iri(name: str) -> str:
    return f"https://graph.example/{name}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one small dataset, `plant`."""
    folder = tmp_path / "data" / "plant"
    folder.mkdir(parents=True)
    write_lines(
        folder / "triples-test.jsonl",
        [
            {"id": id, "s": iri(s), "p": iri(p), "o": iri(o), "label": label, "neg_type": kind, "evidence": []}
            for id, s, p, o, label, kind in FACTS
        ],
    )
    founded = {"value": "1931-03-05", "datatype": XSD_DATE}
    write_lines(
        folder / "triples-dev.jsonl",
        [{"id": "d1", "s": iri("Norrby"), "p": iri("founded"), "o": founded, "label": True}],
    )
    write_lines(
        folder / "corpus.jsonl",
        [
            {
                "doc_id": "a",
                "title": "Norrby",
                "text": "Norrby has its seat in Vasteras. It was founded on 5 March 1931.",
                "lang": "en",
            },
            {"doc_id": "b", "title": "Halden", "text": "The Halden valve is made by Norrby.", "lang": "en"},
            {"doc_id": "c", "title": "", "text": "Ostrava buys Halden valves.", "lang": "en"},
        ],
    )
    lines = [f"<{iri(s)}> <{iri(p)}> <{iri(o)}> ." for _, s, p, o, _, _ in FACTS]
    lines.append(f'<{iri("Norrby")}> <{iri("founded")}> "1931-03-05"^^<{XSD_DATE}> .')
    (folder / "kg-eval.nt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "data"


def test_a_dataset_is_read_as_it_stands(data: Path) -> None:
    dataset = open_dataset(data, "plant")
    assert dataset.splits == ("dev", "test")
    assert dataset.graph("test").name == "kg-eval.nt"
    items = read_split(dataset, "test")
    assert [item.id for item in items] == ["t1", "f1", "t2", "f2"]
    assert items[1].key == triple_key(f"<{iri('Norrby')}>", f"<{iri('seat')}>", f"<{iri('Ostrava')}>")
    assert (items[1].gold, items[1].neg_type) == (False, "nearest_object")
    [founded] = read_split(dataset, "dev")
    assert founded.key == triple_key(f"<{iri('Norrby')}>", f"<{iri('founded')}>", f'"1931-03-05"^^<{XSD_DATE}>')
    assert read_texts(dataset)["b"] == "The Halden valve is made by Norrby."


def test_what_is_not_a_dataset_is_said_with_what_there_is(data: Path) -> None:
    (data / "claims").mkdir()
    with pytest.raises(UsageError, match=r"there is no dataset nope\. Datasets there: plant"):
        open_dataset(data, "nope")
    with pytest.raises(UsageError, match=r"claims is not a dataset of triples: it has no triples-SPLIT\.jsonl and no corpus\.jsonl"):
        open_dataset(data, "claims")
    with pytest.raises(UsageError, match="no such folder"):
        open_dataset(data / "nowhere", "plant")
    with pytest.raises(UsageError, match=r"there is no split train\. Splits there: dev, test"):
        read_split(open_dataset(data, "plant"), "train")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "x"', "this is no JSON"),
        ("[1]", "this is no item"),
        ('{"id": "x", "s": "a", "p": "b", "o": "c"}', "label"),
        ('{"id": "x", "s": "a", "p": "b", "o": "c", "label": "yes"}', "label must be true or false"),
        ('{"id": "x", "s": "a", "p": "b", "o": {"datatype": "c"}, "label": true}', "value"),
        ('{"id": "t1", "s": "a", "p": "b", "o": "c", "label": true}', "the id t1 comes twice"),
        ('{"id": "x", "s": "\\ud800", "p": "b", "o": "c", "label": true}', "this is no item"),
    ],
)
def test_a_bad_item_is_named_by_its_line(data: Path, line: str, message: str) -> None:
    path = data / "plant" / "triples-test.jsonl"
    path.write_text(path.read_text(encoding="utf-8") + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        read_split(open_dataset(data, "plant"), "test")
    assert str(caught.value).startswith(f"{path}:6: ")


def test_an_empty_split_and_broken_utf8_are_errors(data: Path) -> None:
    dataset = open_dataset(data, "plant")
    path = data / "plant" / "triples-test.jsonl"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(EmptyInputError):
        read_split(dataset, "test")
    path.write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(InputError, match="not UTF-8"):
        read_split(dataset, "test")


def test_two_graph_files_are_ambiguous(data: Path) -> None:
    (data / "plant" / "kg-eval.ttl").write_text("")
    with pytest.raises(InputError, match=r"several graph files kg-eval\.nt, kg-eval\.ttl"):
        open_dataset(data, "plant").graph("test")


class NamesJudge:
    """A stand-in: a passage supports a claim as much as it holds of the two names."""

    name = "names"
    digest = "0" * 64

    def judge(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        shares = [sum(name.casefold() in p.text.casefold() for name in (c.subject.label, c.object.label)) / 2 for c, p in pairs]
        return [
            Stance(0.9, 0.0, 0.1, 0, len(p.text)) if s == 1 else Stance(0.2, 0.0, 0.8) for s, (_, p) in zip(shares, pairs, strict=True)
        ]

    def weigh(self, claim: Claim, passages: Sequence[Passage], stances: Sequence[Stance]) -> Weighing:
        order = sorted(range(len(stances)), key=lambda index: -stances[index].supports)
        best = max((stance.supports for stance in stances), default=0.0)
        return Weighing(best, 0.0, tuple(index for index in order if stances[index].supports > 0.5))


def bench(data: Path, **options: Any) -> list[Result]:
    work = data.parent / "work"
    return run_bench(BenchOptions("plant", data, work=work, **options), judge=NamesJudge())


def test_a_benchmark_from_files_to_measures(data: Path) -> None:
    agent, single, dev_agent, _ = bench(data, policies=("agentkgv", "single_turn"), splits=("test", "dev"))
    assert (agent.policy, agent.split, dev_agent.split) == ("agentkgv", "test", "dev")
    assert [item.id for item in agent.items] == ["t1", "f1", "t2", "f2"]
    assert [item.trajectory.verdict.verdict for item in agent.items] == ["supported", "not_enough_evidence", "supported", "supported"]
    assert agent.measures.accuracy_by_negative == {"in_document": 0.0, "nearest_object": 1.0, "true": 1.0}
    assert agent.measures.evidence_verbatim == 1.0
    assert agent.measures.triples_per_second > 0
    # Only for (Norrby, seat, Ostrava) does no passage hold both names.
    for result in (agent, single):
        assert result.where_first_search_failed is not None
        assert result.where_first_search_failed.n == 1
        assert result.where_first_search_failed.searches_per_triple == result.items[1].trajectory.searches


def test_nothing_of_the_answers_reaches_what_is_measured(data: Path) -> None:
    path = data / "plant" / "triples-test.jsonl"
    before = bench(data)[0]
    turned = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in turned:
        row |= {"label": not row["label"], "neg_type": None, "evidence": [{"doc_id": "a", "text": "It"}]}
    write_lines(path, turned)
    after = bench(data)[0]
    assert [item.trajectory.verdict for item in after.items] == [item.trajectory.verdict for item in before.items]
    assert [item.gold for item in after.items] == [not item.gold for item in before.items]


def test_an_item_that_the_graph_does_not_hold_is_named(data: Path) -> None:
    graph = data / "plant" / "kg-eval.nt"
    lines = graph.read_text(encoding="utf-8").splitlines()
    graph.write_text("\n".join(lines[1:]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="the triple of item t1 is not among the triples to verify"):
        bench(data)


def test_a_wrong_policy_is_said_before_anything_is_indexed(data: Path) -> None:
    with pytest.raises(UsageError, match="there is no policy 'oracle'"):
        bench(data, policies=("agentkgv", "oracle"))
    assert not (data.parent / "work").exists()


def test_the_index_is_kept_for_the_same_corpus_and_made_again_for_another(data: Path) -> None:
    bench(data)
    [first] = (data.parent / "work" / "indexes").iterdir()
    made = (first / "meta.json").stat().st_mtime_ns
    bench(data)
    assert (first / "meta.json").stat().st_mtime_ns == made
    meta = json.loads((first / "meta.json").read_text(encoding="utf-8"))
    (first / "meta.json").write_text(json.dumps(meta | {"version": 0}), encoding="utf-8")
    assert bench(data)[0].measures.n == 4
    corpus = data / "plant" / "corpus.jsonl"
    corpus.write_text(corpus.read_text(encoding="utf-8").replace("buys Halden valves", "buys valves"), encoding="utf-8")
    assert bench(data)[0].items[3].trajectory.verdict.verdict == "not_enough_evidence"
    assert len(list((data.parent / "work" / "indexes").iterdir())) == 2


def test_results_as_json_items_and_tables(data: Path, tmp_path: Path) -> None:
    results = bench(data, policies=("cooccurrence", "single_turn"))
    write_results(tmp_path / "new" / "results.json", "plant", results)
    written = json.loads((tmp_path / "new" / "results.json").read_text(encoding="utf-8"))
    assert written["dataset"] == "plant"
    assert [row["policy"] for row in written["results"]] == ["cooccurrence", "single_turn"]
    fields = (
        "policy split n macro_f1 f1_true f1_false balanced_accuracy accuracy_by_negative searches_per_triple abstained macro_f1_at_80"
    )
    fields += " pair_ranking accuracy_by_phenomenon calibration_error evidence_verbatim triples_per_second"
    assert set(fields.split()) <= set(written["results"][0])
    assert written["results"][0]["macro_f1"] == results[0].measures.macro_f1
    assert written["results"][0]["pair_ranking"] is None

    write_items(tmp_path / "items.jsonl", results)
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["policy"], row["id"]) for row in items[3:5]] == [("cooccurrence", "f2"), ("single_turn", "t1")]
    assert {"id", "key", "gold", "verdict", "p_supported", "confidence", "neg_type", "searches"} <= set(items[0])

    table = format_results(results)
    head, first, second = table.splitlines()[:3]
    assert head.split()[:3] == ["split", "policy", "n"]
    assert first.split()[:3] == ["test", "cooccurrence", "4"]
    assert second.split()[:3] == ["test", "single_turn", "4"]
    assert f"{results[0].measures.macro_f1:.3f}" in first
    assert "nearest_object" in table
    assert "Accuracy by phenomenon" not in table
    assert "brought no passage with both names" in table


def test_the_loading_benchmark_reads_one_graph_in_three_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdflib")
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks"))
    import loading  # type: ignore[import-not-found]

    loading.generate(tmp_path / "graph.nt", 500)
    loading.generate(tmp_path / "part.nt", 50)
    whole = (tmp_path / "graph.nt").read_text(encoding="utf-8")
    assert whole.startswith((tmp_path / "part.nt").read_text(encoding="utf-8"))
    counts = {reader: read(tmp_path / "graph.nt")[1] for reader, read in loading.READERS.items()}
    # Of ten lines one is a label and one a type: the other eight are claims.
    assert counts == {"kgaudit": 400, "pyoxigraph": 500, "rdflib": len(set(whole.splitlines()))}
