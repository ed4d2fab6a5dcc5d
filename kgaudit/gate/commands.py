"""The commands `gate`, `sample`, `card` and `junit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgaudit.errors import UsageError

if TYPE_CHECKING:
    from kgaudit.gate.sheet import Sheet

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("run", type=_PATH, required=False)
@click.option("--policy", type=_PATH, help="YAML file that says what a version must show (--example prints one).")
@click.option(
    "--labels",
    type=_PATH,
    multiple=True,
    help="Labels of a random sample of the run: sheets of `kgaudit sample`, filled in. Repeatable.",
)
@click.option("--card", type=_PATH, help="Verifier card of the run's judge and policy (`kgaudit card`).")
@click.option("--to", type=_PATH, help="Folder for decision.json and decision.svg; default: the run folder.")
@click.option("--example", is_flag=True, help="Print a policy with every key and stop.")
def gate(run: Path | None, policy: Path | None, labels: tuple[Path, ...], card: Path | None, to: Path | None, example: bool) -> None:
    """Decide whether the knowledge graph that RUN audited may be released.

    Exit status 0: passed. 1: stopped, the policy was evaluated and does not hold. 2: no basis to decide.
    """
    if example:
        from importlib.resources import files

        click.echo((files("kgaudit.gate") / "example.yaml").read_text(encoding="utf-8"), nl=False)
        return
    if run is None or policy is None:
        raise UsageError("the gate needs a run and a policy", todo="kgaudit gate RUN --policy gate.yaml; --example prints a policy.")
    from kgaudit.gate.keep import decide_and_keep
    from kgaudit.gate.render import decision_text

    folder = to or run
    decision = decide_and_keep(folder, run, policy, labels, card)
    click.echo(decision_text(decision), nl=False)
    click.echo(f"written: {folder / 'decision.json'}, {folder / 'decision.svg'}")
    raise click.exceptions.Exit(decision.exit_status)


@click.command()
@click.argument("run", type=_PATH)
@click.option("--to", required=True, type=_PATH, help="Sheet to write: .csv or .jsonl.")
@click.option(
    "--design", "kind", type=click.Choice(["simple_random", "stratified", "cluster"]), default="simple_random", show_default=True
)
@click.option(
    "--strata",
    type=click.Choice(["predicate", "source", "verdict"]),
    default="predicate",
    show_default=True,
    help="What a stratified sample goes by.",
)
@click.option(
    "--per-cluster", type=click.IntRange(1), default=3, show_default=True, help="Triples of each subject in a cluster sample."
)
@click.option("--number", "labels", type=click.IntRange(1), help="Size: so many triples.")
@click.option("--width", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Size: an interval of this width, e.g. 0.08.")
@click.option(
    "--policy", type=_PATH, help="Size: enough to pass this policy's threshold, four times in five, at the expected accuracy."
)
@click.option(
    "--expected",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    help="Accuracy to plan for.",
)
@click.option("--confidence", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Fixes the sample; the same seed on a later run asks for few new labels.")
@click.option("--known", type=_PATH, multiple=True, help="Labels that are there already: they are not asked for again. Repeatable.")
@click.option("--evidence", type=_PATH, help="Also write verdicts and quotes, to open only after labelling: .csv or .jsonl.")
def sample(
    run: Path,
    to: Path,
    kind: str,
    strata: str,
    per_cluster: int,
    policy: Path | None,
    known: tuple[Path, ...],
    evidence: Path | None,
    **size: Any,
) -> None:
    """Draw triples of RUN for people to label: passing ones too, without verdict and evidence."""
    from kgaudit.gate.designs import Design
    from kgaudit.gate.labels import read_labels
    from kgaudit.gate.policy import read_policy
    from kgaudit.gate.sheet import COLUMNS, EVIDENCE_COLUMNS, draw_sample, write_table

    if to.exists():
        raise UsageError(f"{to} is there already, and may hold labels", todo="Name another file; --known leaves out what it holds.")
    design = Design(kind, size.pop("seed"), strata=strata, per_cluster=per_cluster)  # type: ignore[arg-type]
    if policy is not None:
        rules = read_policy(policy)
        size |= {"threshold": rules.threshold, "confidence": rules.confidence}
    sheet = draw_sample(run, design, known=read_labels(*known) if known else None, **size)
    write_table(sheet.rows, COLUMNS, to)
    if evidence is not None:
        write_table(sheet.evidence, EVIDENCE_COLUMNS, evidence)
    click.echo(_sheet_text(sheet, to))


def _sheet_text(sheet: Sheet, to: Path) -> str:
    known = f", {sheet.known:,} of them labelled before" if sheet.known else ""
    return (
        f"{sheet.drawn:,} triples drawn ({sheet.design.text}){known}: {len(sheet.rows):,} to label in {to}\n"
        "Fill in label (true, false or unsure), annotator and time, from the top down; then `kgaudit gate --labels` reads the sheet."
    )


@click.command()
@click.argument("run", type=_PATH)
@click.option("--labels", required=True, multiple=True, type=_PATH, help="Labels of triples of the run. Repeatable.")
@click.option(
    "--to",
    type=_PATH,
    help="File to write, .json; a page of the same name, .html, lies beside it. Default: card.json in the run folder.",
)
def card(run: Path, labels: tuple[Path, ...], to: Path | None) -> None:
    """Measure how far the verdicts of RUN's verifier can be trusted, against people's labels."""
    from kgaudit.gate.card import make_card
    from kgaudit.gate.render import card_html, card_text
    from kgaudit.runs.files import make_folder, whole_file, write_json

    path = to or run / "card.json"
    if path.suffix.lower() != ".json":
        raise UsageError(f"{path}: the card is a .json file", todo="Name it so; the page beside it ends in .html.")
    made = make_card(run, labels)
    make_folder(path.parent)
    write_json(path, made.to_json())
    with whole_file(path.with_suffix(".html")) as stream:
        stream.write(card_html(made).encode("utf-8"))
    click.echo(card_text(made), nl=False)
    click.echo(f"written: {path}, {path.with_suffix('.html')}")


@click.command()
@click.argument("run", type=_PATH)
@click.option("--to", type=_PATH, help="File to write; default: junit.xml in the run folder.")
def junit(run: Path, to: Path | None) -> None:
    """Write RUN as JUnit XML: refuted is a failure, not judged an error, left out by the budget skipped."""
    from kgaudit.reports.junit import write_junit

    path = to or run / "junit.xml"
    cases = write_junit(run, path)
    click.echo(f"{cases:,} test cases: {path}")


COMMANDS: list[click.Command] = [gate, sample, card, junit]
