"""The commands `state` and `difference`, and what `audit --state` means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgaudit.errors import UsageError, storage_error

if TYPE_CHECKING:
    from kgaudit.runs.state import State
    from kgaudit.sources.news import Selection

_PATH = click.Path(path_type=Path)


def make_selection(
    kg: tuple[Path, ...],
    state: Path | None,
    new_by: str,
    endpoint: str | None,
    query: Path | None,
    partial: bool,
    removed: Path | None,
    again: tuple[str, ...],
) -> Selection | None:
    """What the options of `audit` ask for; None without a state. Raises `UsageError` where they do not go together."""
    asked = {
        "--new-by": new_by != "state",
        "--endpoint": endpoint,
        "--query": query,
        "--partial": partial,
        "--removed": removed,
        "--again": again,
    }
    given = [name for name, value in asked.items() if value]
    if state is None and given:
        raise UsageError(f"{given[0]} needs a state of the graph", todo="Name its folder with --state.")
    by_query = new_by == "sparql"
    if by_query != bool(endpoint) or by_query != bool(query):
        raise UsageError("--new-by sparql, --endpoint and --query belong together", todo="Give all three, or none.")
    if removed and not partial:
        raise UsageError("--removed goes with --partial: a whole graph shows itself what is gone", todo="Give both, or neither.")
    if not kg and not by_query:
        raise UsageError("no graph was named", todo="Name its files, or an endpoint with --new-by sparql.")
    if state is None:
        return None
    from kgaudit.sources.news import Selection

    return Selection(
        by=new_by,  # type: ignore[arg-type]
        endpoint=endpoint,
        query=_read_text(query) if query else None,
        whole=bool(kg) and not partial,
        removed=str(removed) if removed else None,
        again=again,  # type: ignore[arg-type]
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise storage_error(error, str(path)) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"not UTF-8 (byte {error.start:,})", where=str(path)) from error


@click.command()
@click.argument("state", type=_PATH)
def state(state: Path) -> None:
    """Show the history of a STATE: its runs, what holds now, how far the graph was audited."""
    from kgaudit.errors import RunError
    from kgaudit.runs.state import State, current_counts

    known = State(state)
    if not known.entries:
        raise RunError("no run was committed to this state", where=str(state), todo="`kgaudit audit KG --state STATE` commits its run.")
    _print_history(known)
    counts = current_counts(known)
    numbers = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.verdicts.items())
    click.echo(f"now: {counts.total:,} triples: {numbers}")
    if known.backlog:
        click.echo(f"{known.backlog:,} triples that a budget left out have no verdict yet")
    click.echo(f"the verdicts rest last on run {_shown(known.rests_on) if known.rests_on else '–'}")
    time, graphs = known.watermark.time, len(known.watermark.graphs - {""})
    click.echo(f"watermark: {time or 'no triple has a time'}; {graphs:,} named graphs seen")


def _shown(text: str) -> str:
    from kgaudit.text import one_line

    return one_line(text, 80)


def _print_history(known: State) -> None:
    import sys

    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, pad_edge=False)
    for column in ("committed", "run", "new", "of", "removed", "supported", "refuted", "not enough\nevidence", "not\njudged", "status"):
        table.add_column(column, justify="left" if column in ("committed", "run", "status") else "right")
    for entry in known.entries:
        numbers = [entry["new"], entry["total"], entry["removed"], *entry["verdicts"].values()]
        cells: list[Any] = [entry["committed"], Text(_shown(entry["run"]))]
        table.add_row(*cells, *(f"{number:,}" for number in numbers), entry["status"])
    Console(highlight=False, width=None if sys.stdout.isatty() else 140).print(table)


@click.command()
@click.argument("old", type=_PATH)
@click.argument("new", type=_PATH)
@click.option("--added", type=_PATH, help="File for the triples that only NEW holds: .nt or .nq, perhaps with .gz or .zst behind.")
@click.option("--removed", type=_PATH, help="File for the triples that only OLD holds.")
@click.option("--memory", default=512, show_default=True, type=click.IntRange(64), help="MB that are held at a time.")
@click.option("--work", type=_PATH, help="Folder for what does not fit; default: that of the file written. As large as both snapshots.")
@click.option("--format", "format_", help="Format of both, where the suffix does not say: nt, nq, ttl, trig, rdf, jsonld.")
@click.option("--base", help="IRI against which relative IRIs are resolved.")
@click.option("--strict", is_flag=True, help="Stop at the first bad line among those that differ, instead of setting it aside.")
def difference(
    old: Path,
    new: Path,
    added: Path | None,
    removed: Path | None,
    memory: int,
    work: Path | None,
    format_: str | None,
    base: str | None,
    strict: bool,
) -> None:
    """Compare two snapshots of a graph, OLD and NEW (files or folders of RDF), however they are written and ordered."""
    from kgaudit.runs.progress import Progress
    from kgaudit.sources.difference import difference as compare
    from kgaudit.sources.options import SourceOptions

    options = SourceOptions(format=format_, base=base, strict=strict)
    with Progress("comparing", "bytes") as progress:
        found = compare(
            [old], [new], added=added, removed=removed, memory=memory * 1024 * 1024, work=work, options=options, progress=progress
        )
    click.echo(f"{found.added:,} triples added, {found.removed:,} removed")
    if found.quarantined:
        where = f": see {found.quarantine}" if found.quarantine else ""
        click.echo(f"  {found.quarantined:,} lines that differ could not be read{where}")
    for note in found.notes:
        click.echo(f"  {note}")


STATE_COMMANDS: list[click.Command] = [state, difference]
