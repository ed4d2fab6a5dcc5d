"""Validating runs: what turns a validation red, what never passes, and what is an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_run import entry, make_run, passage, span

from gx.here import IGNORED, Validate, need_great_expectations
from kgaudit.errors import InputError, RunError, ServiceError, UsageError

need_great_expectations()
pytestmark = IGNORED

PASSAGE = passage("Norrby Pumps is based in Skagen. It makes pumps.")
QUOTE = span(PASSAGE, "Norrby Pumps is based in Skagen.")
AS_OF = "2026-12-01T00:00:00+00:00"


def quoted(subject: str, verdict: str = "supported", **rest: Any) -> Any:
    return entry(subject, verdict=verdict, passages=(PASSAGE,), evidence=(QUOTE,), **rest)  # type: ignore[arg-type]


def suite_file(folder: Path, *expectations: Any, name: str = "suite.yaml") -> Path:
    path = folder / name
    path.write_text(json.dumps({"name": "nightly", "expectations": list(expectations)}), encoding="utf-8")
    return path


def execute(url: str, statement: str) -> None:
    import sqlalchemy as sa

    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()


def default_suite() -> Any:
    import kgaudit_expectations as ke
    from kgaudit_expectations.suites import default_suite

    suite = default_suite(["https://graph.example/based_in"])
    fresh = next(one for one in suite.expectations if one.expectation_type == "expect_audit_to_be_fresh")
    suite.expectations.remove(fresh)
    suite.expectations.append(ke.ExpectAuditToBeFresh(as_of=AS_OF))
    return suite


def test_planted_false_triples_turn_it_red_and_the_repaired_graph_passes(validate: Validate, tmp_path: Path) -> None:
    good = [quoted(f"S{i}") for i in range(40)]
    planted = [quoted(f"P{i}", "refuted") for i in range(3)]
    red = validate(make_run(tmp_path / "red", [*good, *planted]), default_suite())
    assert not red.success
    assert [check.type for check in red.checks if not check.success] == ["expect_no_refuted_triples"]
    assert red.reasons == ("expect_no_refuted_triples: 3 of 43 triples are refuted",)
    green = validate(make_run(tmp_path / "green", good), default_suite())
    assert green.success, green.reasons
    assert green.reasons == ()
    assert all(check.success for check in green.checks)


@pytest.mark.parametrize("verdict", ["not_enough_evidence", "not_judged", None])
def test_no_suite_passes_where_nothing_was_judged(verdict: Any, validate: Validate, tmp_path: Path) -> None:
    rows = [entry(f"S{i}", verdict=verdict) for i in range(3)] if verdict else []
    run = make_run(tmp_path / "run", rows, load={} if rows else {"claims": 0, "statements": 6, "left_out": {"schema": 5, "label": 1}})
    row_level = suite_file(tmp_path, {"type": "expect_no_refuted_triples", "kwargs": {"mostly": 0.1}})
    others = suite_file(
        tmp_path, {"type": "expect_column_values_to_be_in_set", "kwargs": {"column": "p", "value_set": []}}, name="b.json"
    )
    for suite in (row_level, others):
        outcome = validate(run, suite)
        assert not outcome.success
        assert "judge" in " ".join(outcome.reasons)
    assert rows or any("0 claims in 6 statements; left out: 5 schema, 1 label" in reason for reason in outcome.reasons)


def test_an_interrupted_run_does_not_pass(tmp_path: Path) -> None:
    from kgaudit_expectations import validate_run

    run = make_run(tmp_path / "run", [quoted("S")], status="interrupted")
    outcome = validate_run(run, suite_file(tmp_path, {"type": "expect_no_refuted_triples"}))
    assert all(check.success for check in outcome.checks)
    assert not outcome.success
    assert "interrupted" in outcome.reasons[0]


def test_a_dropped_expectation_is_a_failure(tmp_path: Path) -> None:
    import great_expectations as gx

    from kgaudit_expectations import validate_run

    run = make_run(tmp_path / "run", [quoted("S")])
    stored = [{"type": "expect_no_refuted_triples", "kwargs": {}}, {"type": "expect_what_nobody_imported", "kwargs": {"column": "p"}}]
    outcome = validate_run(run, suite_file(tmp_path, *stored))
    assert all(check.success for check in outcome.checks)
    assert not outcome.success
    assert "expect_what_nobody_imported" in outcome.reasons[0]
    try:  # what it guards against: Great Expectations loads such a suite without the expectation
        loaded = gx.ExpectationSuite("s", expectations=stored)
    except gx.exceptions.ExpectationNotFoundError:
        return
    assert len(loaded.expectations) < len(stored)


def test_any_result_can_be_held_against_what_was_stored(tmp_path: Path) -> None:
    import kgaudit_expectations as ke
    from kgaudit_expectations.runner import outcome_of
    from kgaudit_expectations.suites import stored

    wanted = [stored(ke.ExpectNoRefutedTriples()), stored(ke.ExpectNoRefutedTriples(mostly=0.5))]
    outcome = outcome_of(wanted, [])
    assert not outcome.success
    assert len([reason for reason in outcome.reasons if reason.startswith("not evaluated")]) == 2


def test_an_exception_is_a_failure(tmp_path: Path) -> None:
    from kgaudit_expectations import check_table, validate_sql, write_sql

    url = f"sqlite:///{tmp_path / 'v.db'}"
    write_sql(check_table(make_run(tmp_path / "run", [quoted("S")])), url, "verdicts")
    execute(url, "ALTER TABLE verdicts DROP COLUMN loose_quotes")
    outcome = validate_sql(
        url, "verdicts", suite_file(tmp_path, {"type": "expect_evidence_quotes_to_be_verbatim"}), docs=tmp_path / "docs"
    )
    assert not outcome.success
    (page,) = (tmp_path / "docs" / "validations").rglob("*.html")
    assert "raised an exception" in page.read_text("utf-8")
    assert {check.type: check.raised for check in outcome.checks} == {
        "expect_triples_to_have_been_judged": False,
        "expect_evidence_quotes_to_be_verbatim": True,
    }
    assert "loose_quotes" in outcome.reasons[0]


def test_a_broken_table_does_not_pass(tmp_path: Path) -> None:
    from kgaudit_expectations import check_table, validate_sql, write_sql

    url = f"sqlite:///{tmp_path / 'v.db'}"
    for change, words in [
        ("UPDATE verdicts SET verdict = 'fine' WHERE s_label = 'S1'", "1 rows have no verdict or an unknown one"),
        ("INSERT INTO verdicts SELECT * FROM verdicts WHERE s_label = 'S1'", "1 rows repeat a key"),
        ("DELETE FROM verdicts", "holds no row"),
    ]:
        write_sql(check_table(make_run(tmp_path / words, [quoted(f"S{i}") for i in range(3)])), url, "verdicts")
        execute(url, change)
        outcome = validate_sql(url, "verdicts", suite_file(tmp_path, {"type": "expect_no_refuted_triples"}))
        assert not outcome.success
        assert words in " ".join(outcome.reasons)


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    from kgaudit_expectations import validate_run, validate_sql

    with pytest.raises(RunError):
        validate_run(tmp_path / "nowhere")
    run = make_run(tmp_path / "run", [quoted("S")])
    part = next((run / "ledger").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(RunError):
        validate_run(run)
    with pytest.raises(InputError, match="cannot be read"):
        validate_sql(f"sqlite:///{tmp_path / 'empty.db'}", "verdicts")
    with pytest.raises(InputError, match="cannot be read"):
        validate_sql("postgresql+psycopg2://nobody@127.0.0.1:9/none", "verdicts")


def test_databases_that_cannot_be_written(tmp_path: Path) -> None:
    from kgaudit_expectations import check_table, write_sql

    table = check_table(make_run(tmp_path / "run", [quoted("S")]))
    for url, name, kind in [
        ("sqlite:///x.db", 'v"; DROP', UsageError),
        ("nonsense", "verdicts", UsageError),
        ("mysql+nodriverofthatname://x/y", "verdicts", UsageError),
        ("postgresql+psycopg2://nobody@127.0.0.1:9/none", "verdicts", ServiceError),
        (f"sqlite:///{tmp_path}/no/such/folder/v.db", "verdicts", ServiceError),
    ]:
        with pytest.raises(kind):
            write_sql(table, url, name)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("expectations: [", "neither YAML nor JSON"),
        ("name: x", "no list of `expectations`"),
        ("expectations: []", "no list of `expectations`"),
        ("expectations: [{kwargs: {}}]", "needs a `type`"),
        ("expectations: [{type: expect_no_refuted_triples, mostly: 1}]", "unknown field 'mostly'"),
        ("expectations: [{type: expect_no_refuted_triples, kwargs: {mostly: 7}}]", "mostly"),
        ("expectations: [{type: expect_no_refuted_triples, kwargs: {least: 1}}]", "least"),
        ("expectations: [{type: expect_audit_to_be_fresh, kwargs: {as_of: tomorrow}}]", "tomorrow"),
    ],
)
def test_suite_files_with_mistakes(content: str, words: str, tmp_path: Path) -> None:
    from kgaudit_expectations import read_suite

    path = tmp_path / "suite.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_suite(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def _run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_suite_parameters(tmp_path: Path) -> None:
    from kgaudit_expectations import validate_run

    run = make_run(tmp_path / "run", [quoted(f"S{i}", "refuted" if i < 3 else "supported") for i in range(30)])
    suite = suite_file(tmp_path, {"type": "expect_pass_rate_to_be_at_least", "kwargs": {"min_value": {"$PARAMETER": "least"}}})
    assert validate_run(run, suite, parameters={"least": 0.9}, docs=tmp_path / "docs").success
    (page,) = (tmp_path / "docs" / "validations").rglob("*.html")
    assert "90 %" in page.read_text("utf-8")
    assert not validate_run(run, suite, parameters={"least": 0.91}).success
    with pytest.raises(InputError, match="No value found"):
        validate_run(run, suite)


def test_registration() -> None:
    known = "from great_expectations.expectations.registry import get_expectation_impl as known; known('expect_no_refuted_triples')"
    assert _run_python(f"import great_expectations, kgaudit_expectations; {known}; print('yes')") == "yes"
    assert _run_python(f"from kgaudit_expectations import validate_run; {known}; print('yes')") == "yes"
    slow = "import sys, kgaudit_expectations.commands; print('great_expectations' in sys.modules, 'pandas' in sys.modules)"
    assert _run_python(slow) == "False False"


def test_the_command(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from kgaudit_expectations.commands import validate

    run = make_run(tmp_path / "run", [quoted(f"S{i}", "refuted" if i < 2 else "supported") for i in range(30)])
    strict = suite_file(tmp_path, {"type": "expect_no_refuted_triples"})
    red = CliRunner().invoke(validate, [str(run), "--suite", str(strict), "--docs", str(tmp_path / "docs")])
    assert red.exit_code == 1
    assert "FAIL expect_no_refuted_triples: 2 of 30 triples are refuted" in red.output
    assert (tmp_path / "docs" / "index.html").is_file()
    lenient = suite_file(tmp_path, {"type": "expect_no_refuted_triples", "kwargs": {"mostly": 0.9}}, name="lenient.yaml")
    green = CliRunner().invoke(validate, [str(run), "--suite", str(lenient)])
    assert green.exit_code == 0, green.output
    assert green.output.splitlines()[-1] == "passed: 30 triples, 2 expectations evaluated"
