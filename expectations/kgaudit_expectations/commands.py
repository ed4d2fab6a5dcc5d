"""`kgaudit validate`."""

from __future__ import annotations

from pathlib import Path

import click

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("run", type=_PATH)
@click.option("--docs", type=_PATH, help="Folder for Data Docs that open offline, with the table of failing triples and the report.")
@click.option("--suite", type=_PATH, help="Suite of expectations, YAML or JSON; default: all of ours with their defaults.")
@click.option("--labels", type=_PATH, help="People's labels (`kgaudit sample`), for the expectation on accuracy.")
def validate(run: Path, docs: Path | None, suite: Path | None, labels: Path | None) -> None:
    """Check a RUN against Great Expectations; exit with status 1 where one does not hold or nothing was judged."""
    from kgaudit.text import one_line
    from kgaudit_expectations import register

    register()
    from kgaudit_expectations.runner import validate_run

    outcome = validate_run(run, suite, labels=labels, docs=docs)
    for check in outcome.checks:
        mark = "ok  " if check.success else "FAIL"
        click.echo(f"{mark} {check.type}: {one_line(check.words, 160)}")
    told = {f"{check.type}: {check.words}" for check in outcome.checks}
    for reason in outcome.reasons:
        if reason not in told:
            click.echo(f"FAIL {one_line(reason, 300)}")
    click.echo(f"{'passed' if outcome.success else 'failed'}: {outcome.rows:,} triples, {len(outcome.checks):,} expectations evaluated")
    if outcome.docs:
        click.echo(f"Data Docs: {outcome.docs}")
    if not outcome.success:
        raise click.exceptions.Exit(1)
