"""Each expectation, on pandas, SQLite and PostgreSQL: what it accepts and what not."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_run import entry, make_run, passage, span

from gx.here import IGNORED, Validate, need_great_expectations
from kgaudit.triples import Place, Triple

need_great_expectations()
pytestmark = IGNORED

PASSAGE = passage("Norrby Pumps is based in Skagen. It makes pumps.")
QUOTE = span(PASSAGE, "Norrby Pumps is based in Skagen.")


def quoted(subject: str, verdict: str = "supported", **rest: Any) -> Any:
    return entry(subject, verdict=verdict, passages=(PASSAGE,), evidence=(QUOTE,), **rest)  # type: ignore[arg-type]


def suite_of(*expectations: Any) -> Any:
    import great_expectations as gx

    return gx.ExpectationSuite("tried", expectations=list(expectations))


def only(outcome: Any, type_: str) -> Any:
    (check,) = [check for check in outcome.checks if check.type == type_]
    assert not check.raised, check.words
    return check


def test_shares(validate: Validate, tmp_path: Path) -> None:
    import kgaudit_expectations as ke

    verdicts = ["supported"] * 7 + ["refuted"] * 3 + ["not_enough_evidence"] * 8 + ["not_judged"] * 2
    run = make_run(tmp_path / "run", [entry(f"S{i}", verdict=verdict) for i, verdict in enumerate(verdicts)])  # type: ignore[arg-type]
    outcome = validate(
        run,
        suite_of(
            ke.ExpectPassRateToBeAtLeast(min_value=0.7),
            ke.ExpectPassRateToBeAtLeast(min_value=0.71),
            ke.ExpectJudgedShareToBeAtLeast(min_value=0.5),
            ke.ExpectJudgedShareToBeAtLeast(min_value=0.51),
            ke.ExpectAbstentionShareToBeAtMost(max_value=0.4),
            ke.ExpectAbstentionShareToBeAtMost(max_value=0.39),
            ke.ExpectNotJudgedShareToBeAtMost(max_value=0.1),
            ke.ExpectNotJudgedShareToBeAtMost(),
        ),
    )
    assert [check.success for check in outcome.checks[1:]] == [True, False] * 4
    assert outcome.checks[1].words == "pass rate 70 % of 10 judged; not enough evidence 40 %, not judged 10 % of 20"
    assert not outcome.success
    assert outcome.rows == 20


def test_pass_rate_by_group_leaves_nothing_out(validate: Validate, tmp_path: Path) -> None:
    import kgaudit_expectations as ke

    rows = [quoted(f"S{i}", predicate="based in") for i in range(20)]
    rows += [quoted(f"T{i}", "refuted" if i < 5 else "supported", predicate="makes") for i in range(20)]
    rows += [quoted(f"U{i}", "refuted", predicate=f"rare {i}") for i in range(20)]
    rows += [quoted(f"V{i}", "not_enough_evidence", predicate="silent") for i in range(20)]
    run = make_run(tmp_path / "run", rows)
    by_predicate = ke.ExpectPassRateToBeAtLeast(min_value=0.75, by="predicate")
    check = only(validate(run, suite_of(by_predicate)), "expect_pass_rate_to_be_at_least")
    assert not check.success
    assert check.words.startswith("2 of 4 groups reach it"), check.words  # the rare ones are one group, the silent one fails
    assert validate(run, suite_of(by_predicate.copy(update={"mostly": 0.5}))).success


def test_pass_rate_by_source_counts_a_triple_in_each(validate: Validate, tmp_path: Path) -> None:
    import kgaudit_expectations as ke

    both = (Place("a.nt", 1, extractor="x"), Place("b.nt", 1))
    rows = [quoted(f"S{i}", places=(Place("a.nt", i, extractor="x"),)) for i in range(20)]
    rows += [quoted(f"T{i}", "refuted", places=both) for i in range(20)]
    run = make_run(tmp_path / "run", rows)
    expected = {"file": "1 of 2", "extractor": "1 of 2", "graph": "1 of 1"}
    for by, words in expected.items():
        check = only(validate(run, suite_of(ke.ExpectPassRateToBeAtLeast(min_value=0.5, by=by))), "expect_pass_rate_to_be_at_least")
        assert check.words.startswith(f"{words} groups"), (by, check.words)


def test_refuted_triples_are_keyed_and_those_not_judged_do_not_help(validate: Validate, tmp_path: Path) -> None:
    import kgaudit_expectations as ke

    rows = [quoted(f"S{i}", "refuted" if i < 3 else "supported") for i in range(30)]
    run = make_run(tmp_path / "run", [*rows, *(entry(f"N{i}", verdict="not_judged") for i in range(300))])
    check = only(validate(run, suite_of(ke.ExpectNoRefutedTriples())), "expect_no_refuted_triples")
    assert (check.success, check.unexpected) == (False, 3)
    assert check.words == "3 of 30 triples are refuted"
    assert validate(run, suite_of(ke.ExpectNoRefutedTriples(mostly=0.9))).success
    assert not validate(run, suite_of(ke.ExpectNoRefutedTriples(mostly=0.91))).success


def test_quotes_are_checked_against_the_passages(validate: Validate, tmp_path: Path) -> None:
    import kgaudit_expectations as ke

    shifted = replace(QUOTE, start=QUOTE.start + 1, end=QUOTE.end + 1)
    made_up = replace(QUOTE, quote="Norrby Pumps is based in Orvik.")
    elsewhere = replace(QUOTE, document_id="d2")
    unknown = replace(QUOTE, passage_id="0" * 32)
    empty = replace(QUOTE, end=QUOTE.start, quote="")
    bad = [shifted, made_up, elsewhere, unknown, empty]
    rows = [quoted(f"S{i}") for i in range(5)]
    rows += [entry(f"B{i}", verdict="refuted", passages=(PASSAGE,), evidence=(QUOTE, one)) for i, one in enumerate(bad)]
    rows += [entry("Silent", verdict="supported")]  # by retrieval, yet it quotes nothing
    run = make_run(tmp_path / "run", [*rows, entry("None", verdict="not_enough_evidence")])
    check = only(validate(run, suite_of(ke.ExpectEvidenceQuotesToBeVerbatim())), "expect_evidence_quotes_to_be_verbatim")
    assert (check.success, check.unexpected) == (False, 6)
    assert check.words.startswith("6 of 11 triples")
    assert validate(make_run(tmp_path / "good", rows[:5]), suite_of(ke.ExpectEvidenceQuotesToBeVerbatim())).success


def held(subject: str, object: str, start: str | None = None, end: str | None = None, verdict: str = "supported") -> Any:
    made = quoted(subject, verdict, predicate="led by", object=object)
    triple = Triple(made.claim.triple.s, made.claim.triple.p, made.claim.triple.o, start, end)
    return replace(made, claim=replace(made.claim, key=triple.key, triple=triple))


def test_functional_conflicts(validate: Validate, tmp_path: Path) -> None:
    import kgaudit_expectations as ke

    rows = [
        *(held("A", "Ann"), held("A", "Bea")),  # in conflict
        *(held("B", "Ann", "2010", "2015"), held("B", "Bea", "2015")),  # one after the other
        *(held("C", "Ann", "2010", "2016"), held("C", "Bea", "2015")),  # in conflict
        *(held("D", "Ann"), held("D", "Bea", verdict="refuted")),  # found already
        *(held("E", "Ann", "2010"), held("E", "Ann", "2012")),  # the same object
        *(held("F", "Ann", "2011", "2011"), held("F", "Bea", "2011", "2011"), held("F", "Cid", "2012", "2013")),  # the first two
    ]
    run = make_run(tmp_path / "run", rows)
    expectation = ke.ExpectNoFunctionalPredicateConflicts(predicates=["https://graph.example/led_by"])
    check = only(validate(run, suite_of(expectation)), "expect_no_functional_predicate_conflicts")
    assert (check.success, check.unexpected) == (False, 6)
    other = ke.ExpectNoFunctionalPredicateConflicts(predicates=["<https://graph.example/other>"])
    assert validate(run, suite_of(other)).success


def test_conflicts_agree_with_looking_at_every_pair() -> None:
    from kgaudit_expectations.metrics import _in_conflict, _span

    draw = random.Random(7)
    for _ in range(400):
        group = []
        for key in range(draw.randrange(2, 8)):
            start = draw.choice([None, *range(2000, 2008)])
            end = draw.choice([None, *range(start or 2000, 2009)])
            bounds = {"valid_from": start and str(start), "valid_until": end and str(end)}
            group.append({"key": key, "o": draw.choice("abc"), **bounds})
        spans = [_span(row) for row in group]
        expected = {
            row["key"]
            for s, e, row in spans
            if any(other["o"] != row["o"] and s < until and since < e for since, until, other in spans)
        }
        assert {row["key"] for row in _in_conflict(group)} == expected, group


def test_freshness(validate: Validate, tmp_path: Path) -> None:
    import kgaudit_expectations as ke

    run = make_run(tmp_path / "run", [quoted("S")])  # begun 2026-11-30T10:15:07+00:00
    for as_of, success in [
        ("2026-12-01T10:15:07+00:00", True),
        ("2026-12-01T12:15:07+02:00", True),
        ("2026-12-01T10:15:08+00:00", False),
        ("2026-11-29T10:15:08+00:00", False),  # begun in the future
    ]:
        check = only(validate(run, suite_of(ke.ExpectAuditToBeFresh(max_age_days=1, as_of=as_of))), "expect_audit_to_be_fresh")
        assert check.success is success, (as_of, check.words)


def test_accuracy_from_labels(validate: Validate, tmp_path: Path) -> None:
    import kgaudit_expectations as ke

    rows = [quoted(f"S{i}") for i in range(1000)]
    run = make_run(tmp_path / "run", rows)
    labels = tmp_path / "labels.jsonl"
    answers = ["false"] * 10 + ["true"] * 90 + ["unsure"] * 5
    lines = [{"key": row.claim.key, "label": answer, "design": "simple_random"} for row, answer in zip(rows, answers, strict=False)]
    chosen = [{"key": row.claim.key, "label": "true"} for row in rows[200:400]]  # picked by somebody: no random sample
    labels.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *chosen]), encoding="utf-8")

    def check(**values: Any) -> Any:
        expectation = ke.ExpectAccuracyLowerBoundToBeAtLeast(**values)
        return only(validate(run, suite_of(expectation), labels=labels), "expect_accuracy_lower_bound_to_be_at_least")

    # Wilson, 90 of 100: 0.8256 to 0.9448.
    assert check(min_value=0.825).success
    assert not check(min_value=0.8257).success
    assert "accuracy 90 %, interval 82.56 % to 94.48 % from 100 labels" in check().words
    assert not check(min_value=0.5, min_labels=101).success


def test_labels_drawn_by_the_gate_give_its_interval(tmp_path: Path) -> None:
    from kgaudit.gate.designs import Design, draw
    from kgaudit.gate.estimators import estimate
    from kgaudit.gate.labels import read_labels
    from kgaudit.gate.rows import read_rows
    from kgaudit.gate.samples import match
    from kgaudit.runs.reader import RunReader
    from kgaudit_expectations import check_table
    from kgaudit_expectations.accuracy import accuracy_interval
    from kgaudit_expectations.metrics import LabelledRows

    rows = [quoted(f"S{i // 3}", predicate=f"p{i % 5}", object=f"O{i}") for i in range(900)]
    run = make_run(tmp_path / "run", rows)
    found = read_rows(RunReader(run))
    for design in (Design(), Design("stratified", seed=3), Design("cluster", seed=5)):
        drawn = draw(found, design, 120)
        lines = [
            {
                "key": found.keys[one.row].as_py(),
                "label": "false" if i % 6 == 0 else "true",
                "design": design.kind,
                "sample": design.text,
            }
            for i, one in enumerate(drawn)
        ]
        path = tmp_path / "labels.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        labels = read_labels(path)
        answered = match(found, labels).answered
        assert answered is not None
        expected = estimate(answered.sample(found, 1e12), "wilson")
        labelled = LabelledRows.from_frame(check_table(run, labels).to_pandas(), {})
        interval = accuracy_interval(labelled, 900, 0.95)
        assert (interval.design, interval.labels) == (design.kind, expected.labels)
        assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_labels_of_several_designs_are_no_sample() -> None:
    from kgaudit_expectations.accuracy import accuracy_interval
    from kgaudit_expectations.metrics import Labelled

    plain = [Labelled(True, "simple_random", None, None, None)] * 40
    with pytest.raises(ValueError, match="several designs"):
        accuracy_interval([*plain, Labelled(True, "cluster", None, "c", 1.0)], 1000, 0.95)
    with pytest.raises(ValueError, match="unknown design"):
        accuracy_interval([Labelled(True, "by hand", None, None, None)] * 40, 1000, 0.95)
    weighted = [Labelled(i % 2 == 0, "stratified", "ab"[i % 2], None, 22.5 if i % 2 else 2.5) for i in range(80)]
    interval = accuracy_interval(weighted, 1000, 0.95)
    assert interval.value == pytest.approx(0.1)  # b, all false, weighs nine times as much


def test_nothing_holds_where_nothing_was_judged(validate: Validate, tmp_path: Path) -> None:
    import kgaudit_expectations as ke

    everything = [
        ke.ExpectTriplesToHaveBeenJudged(),
        ke.ExpectNoRefutedTriples(mostly=0.0),
        ke.ExpectPassRateToBeAtLeast(min_value=0.0),
        ke.ExpectPassRateToBeAtLeast(min_value=0.0, by="file", mostly=0.0),
        ke.ExpectJudgedShareToBeAtLeast(min_value=0.0),
        ke.ExpectAbstentionShareToBeAtMost(max_value=1.0),
        ke.ExpectNotJudgedShareToBeAtMost(max_value=1.0),
        ke.ExpectEvidenceQuotesToBeVerbatim(mostly=0.0),
        ke.ExpectNoFunctionalPredicateConflicts(predicates=["https://graph.example/led_by"], mostly=0.0),
        ke.ExpectAuditToBeFresh(max_age_days=1e6),
        ke.ExpectAccuracyLowerBoundToBeAtLeast(min_value=0.0, min_labels=1),
    ]
    abstained = make_run(tmp_path / "abstained", [entry(f"S{i}", verdict="not_enough_evidence") for i in range(5)])
    failed = make_run(tmp_path / "failed", [entry(f"S{i}", verdict="not_judged") for i in range(5)])
    empty = make_run(tmp_path / "empty", [])
    for run, words in [(abstained, "none of the 5"), (failed, "none of the 5"), (empty, "nothing to judge")]:
        outcome = validate(run, suite_of(*everything))
        assert len(outcome.checks) == len(everything)
        assert not outcome.success
        assert all(not check.success and words in check.words for check in outcome.checks)


def test_complete_results_hold_every_key(tmp_path: Path) -> None:
    import kgaudit_expectations as ke
    from kgaudit_expectations.contexts import ephemeral_context, frame_batch, validation_definition

    rows = [quoted(f"S{i}", "refuted") for i in range(300)]
    context = ephemeral_context()
    batch = frame_batch(context, ke.check_table(make_run(tmp_path / "run", rows)))
    definition = validation_definition(context, batch, suite_of(ke.ExpectNoRefutedTriples()))
    keys = sorted(row.claim.key for row in rows)
    (complete,) = definition.run(batch_parameters=batch.parameters, result_format="COMPLETE").results
    assert [row["key"] for row in complete.result["unexpected_index_list"]] == keys
    (summary,) = definition.run(batch_parameters=batch.parameters, result_format="SUMMARY").results
    assert summary.result["unexpected_count"] == 300
    assert [row["key"] for row in summary.result["partial_unexpected_index_list"]] == keys[:20]


def test_every_field_is_described_and_every_expectation_is_rendered() -> None:
    from great_expectations.expectations.registry import get_renderer_impl
    from great_expectations.render.renderer.inline_renderer import InlineRenderer

    import kgaudit_expectations as ke

    needed = {"ExpectNoFunctionalPredicateConflicts": {"predicates": ["https://graph.example/led_by"]}}
    classes = [getattr(ke, name) for name in ke.__all__ if name.startswith("Expect")]
    assert len(classes) == 10
    for kind in classes:
        schema = kind.schema()
        for name in kind.success_keys:
            assert schema["properties"][name].get("description"), (kind, name)
        made = kind(**needed.get(kind.__name__, {}))
        _, render = get_renderer_impl(made.expectation_type, "renderer.prescriptive")
        template = render(configuration=made.configuration).pop().string_template
        assert "$" not in template["template"] or template["params"], template
        assert "None" not in template["params"].values()
        (atomic,) = InlineRenderer(render_object=made.configuration).get_rendered_content()
        assert "failed" not in atomic.name, atomic


def test_defaults_are_shown(tmp_path: Path) -> None:
    from great_expectations.expectations.registry import get_renderer_impl

    import kgaudit_expectations as ke

    made = ke.ExpectPassRateToBeAtLeast()
    assert made.configuration.kwargs == {}
    _, render = get_renderer_impl(made.expectation_type, "renderer.prescriptive")
    (block,) = render(configuration=made.configuration)
    assert block.string_template["params"] == {"min_value": "90 %"}


def test_a_database_holds_the_table_letter_for_letter(postgres: str, tmp_path: Path) -> None:
    import sqlalchemy as sa

    from kgaudit_expectations import check_table, write_sql
    from kgaudit_expectations.table import CHECK_SCHEMA

    labels = ['a "quoted", one', "two\nlines\r\n", "", "\\N", "\\.", "’é🜚\u202e", "tab\there", "nul\x00nul"]
    table = check_table(
        make_run(tmp_path / "run", [entry(label, label, label, confidence=None if i else 0.5) for i, label in enumerate(labels)])
    )
    expected = [
        {name: value.replace("\x00", "\\u0000") if isinstance(value, str) else value for name, value in row.items()}
        for row in table.to_pylist()
    ]
    for url in (postgres, f"sqlite:///{tmp_path / 'v.db'}"):
        assert write_sql(table, url, "letters") == len(labels)
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            held = [dict(row._mapping) for row in connection.execute(sa.text(f"SELECT {', '.join(CHECK_SCHEMA.names)} FROM letters"))]
        engine.dispose()
        assert sorted(held, key=lambda row: row["key"]) == sorted(expected, key=lambda row: row["key"])
