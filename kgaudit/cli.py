"""The command line.

Exit statuses: 0 done; 1 what `--fail-on` names was found; 2 could not be done; 130 and 143 interrupted, the ledger resumes.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kgaudit.errors import Interrupted, KgauditError, UsageError, storage_error

if TYPE_CHECKING:
    from kgaudit.bench.runner import Result
    from kgaudit.models.chat import ChatModel
    from kgaudit.runs.engine import Stop
    from kgaudit.sources.options import ColumnMapping, SourceOptions

_PATH = click.Path(path_type=Path)


def main() -> NoReturn:
    """Entry point: errors become one message and an exit status, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal or log of another encoding gets escapes for what it cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        status = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except KgauditError as error:
        status = _fail(str(error), error.exit_status)
    except click.exceptions.Exit as error:
        status = error.exit_code
    except click.ClickException as error:
        error.show()
        status = 2
    except (KeyboardInterrupt, click.Abort):
        status = _fail("interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader went away: nothing to say and nobody to say it to
        status = 0
    except MemoryError:
        status = _fail("out of memory. Give the process more memory, or split the input into several files", 2)
    except OSError as error:
        status = _fail(str(storage_error(error, str(error.filename or "this command"))), 2)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str, status: int) -> int:
    from kgaudit.text import visible

    click.echo(f"kgaudit: {visible(message)}", err=True)
    return status


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="kgaudit")
def cli() -> None:
    """Finds false triples in knowledge graphs: verifies each against documents and quotes the evidence."""


@cli.command()
@click.argument("documents", nargs=-1, required=True, type=_PATH)
@click.option("--to", required=True, metavar="FOLDER|URL", help="Folder of the index, or an index on an Elasticsearch cluster "
              "(https://host:9200/name). What is there is replaced when the new one is whole.")  # fmt: skip
@click.option("--strict", is_flag=True, help="Stop at the first document that cannot be read, instead of setting it aside.")
@click.option("--embedder", help="Model of sentence-transformers (name or folder): adds vectors, for the search modes knn and hybrid.")
@click.option("--quarantine", type=_PATH, help="File for what a server index sets aside; default: NAME.quarantine.jsonl.")
def index(documents: tuple[Path, ...], to: str, strict: bool, embedder: str | None, quarantine: Path | None) -> None:
    """Index DOCUMENTS: JSON lines (id, text, title, language, date, url), Parquet, or folders of text, Markdown and HTML."""
    from kgaudit_retrievers.es_connect import is_address

    if is_address(to):
        _index_on_server(documents, to, strict, embedder, quarantine)
    else:
        _index_in_folder(documents, Path(to), strict, embedder)


def _index_in_folder(documents: tuple[Path, ...], to: Path, strict: bool, embedder: str | None) -> None:
    from kgaudit.runs.progress import Progress
    from kgaudit_retrievers.embedded import build_index

    with Progress("indexing", "documents") as progress:
        report = build_index(list(documents), to, strict=strict, progress=progress)
    if embedder:
        from kgaudit_retrievers.dense import SentenceEmbedder, build_vectors

        with Progress("embedding", "passages") as progress:
            build_vectors(to, SentenceEmbedder(embedder), progress)
    click.echo(f"{report.indexed:,} of {report.read:,} documents indexed in {to}: {report.passages:,} passages, "
               f"{report.size_bytes / 1e6:,.1f} MB, {report.seconds:,.1f} s")  # fmt: skip
    _say_documents(report.empty, report.repeats, report.quarantined, to / "quarantine.jsonl", report.long_words, report.snapshot)


def _index_on_server(documents: tuple[Path, ...], to: str, strict: bool, embedder: str | None, quarantine: Path | None) -> None:
    from kgaudit.runs.progress import Progress
    from kgaudit_retrievers.elasticsearch import index_documents
    from kgaudit_retrievers.es_connect import parse_address

    address = parse_address(to)
    aside = quarantine or Path(f"{address.index}.quarantine.jsonl")
    model = None
    if embedder:
        from kgaudit_retrievers.dense import SentenceEmbedder

        model = SentenceEmbedder(embedder)
    with Progress("indexing", "documents") as progress:
        report = index_documents(list(documents), to, embedder=model, strict=strict, quarantine=aside, progress=progress)
    click.echo(f"{report.documents:,} documents, {report.passages:,} passages in {address.where} (version {report.index}), "
               f"{report.seconds:,.1f} s")  # fmt: skip
    click.echo(f"  {report.read:,} read: {report.added:,} added, {report.changed:,} changed, {report.unchanged:,} as they were; "
               f"{report.removed:,} removed that are gone")  # fmt: skip
    for note in report.notes:
        click.echo(f"  {note}")
    _say_documents(report.empty, report.repeats, report.quarantined, aside, report.long_words, report.snapshot)


def _say_documents(
    empty: tuple[str, ...], repeats: tuple[str, ...], quarantined: int, aside: Path, long_words: int, snapshot: str
) -> None:
    _say_ids("empty", empty)
    _say_ids("repeated word for word", repeats)
    if quarantined:
        click.echo(f"  {quarantined:,} set aside: see {aside}")
    if long_words:
        click.echo(f"  {long_words:,} words too long to search for were left out of the search terms")
    click.echo(f"  snapshot {snapshot[:16]}")


def _say_ids(what: str, ids: tuple[str, ...]) -> None:
    from kgaudit.text import one_line

    if ids:
        shown = ", ".join(one_line(one, 60) for one in ids[:5])
        more = f" and {len(ids) - 5:,} more" if len(ids) > 5 else ""
        click.echo(f"  {len(ids):,} {what}: {shown}{more}")


_judge_option = click.option("--judge", type=_PATH, help="Folder of another embedded judge (`kgaudit train judge` makes one).")
_error_cost_option = click.option(
    "--error-cost", type=click.FloatRange(1, min_open=True), default=2.0, show_default=True,
    help="What a wrong verdict costs beside saying that the evidence is not enough: 10 gives fewer and surer verdicts.",
)  # fmt: skip


def _source_options(command: Callable[..., None]) -> Callable[..., None]:
    options = [
        click.option("--format", "format_", help="Format of the graph, where its suffix does not say: nt, nq, ttl, trig, rdf, "
                     "jsonld, jsonl, csv, tsv, parquet, graphrag."),
        click.option("--base", help="IRI against which relative IRIs are resolved."),
        click.option("--map", "mapping", multiple=True, metavar="FIELD=COLUMN",
                     help="Column of a table: subject, predicate, object, statement, document, ... Repeat, or separate by commas."),
        click.option("--rules", type=_PATH, help="YAML file that says which triples are claims (`kgaudit rules` prints the default)."),
        click.option("--labels", type=_PATH, help="File of further labels: TSV, CSV or JSON lines with id and label, or RDF."),
        click.option("--seed", default=0, show_default=True, help="Fixes the random order in which triples are taken."),
        click.option("--strict", is_flag=True, help="Stop at the first bad line or row, instead of setting it aside."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def _make_source_options(
    format_: str | None, base: str | None, mapping: tuple[str, ...], rules: Path | None, labels: Path | None, seed: int, strict: bool
) -> SourceOptions:
    from kgaudit.sources.options import Rules, SourceOptions

    return SourceOptions(
        format=format_,
        base=base,
        mapping=_column_mapping(mapping),
        rules=Rules.from_yaml(rules) if rules else Rules.default(),
        strict=strict,
        labels=labels,
        seed=seed,
    )


def _column_mapping(pairs: tuple[str, ...]) -> ColumnMapping:
    from dataclasses import fields

    from kgaudit.sources.options import ColumnMapping

    known = {field.name for field in fields(ColumnMapping)}
    values: dict[str, str | bool] = {}
    for pair in (piece for one in pairs for piece in one.split(",")):
        name, equals, column = pair.partition("=")
        name = name.strip()
        if not equals or name not in known:
            raise UsageError(f"--map {pair}: no such field", todo=f"Fields are {', '.join(sorted(known))}; write field=column.")
        values[name] = column.strip()
    if values.get("object_is_entity") in ("true", "false", "yes", "no"):
        values["object_is_entity"] = values["object_is_entity"] in ("true", "yes")
    return ColumnMapping(**values)  # type: ignore[arg-type]


@cli.command()
@click.argument("kg", nargs=-1, type=_PATH)
@click.option("--index", "index_", required=True, metavar="FOLDER|URL", help="Index of the documents (`kgaudit index`).")
@click.option("--search", "mode", type=click.Choice(["bm25", "knn", "hybrid"]), default="bm25", show_default=True,
              help="By words, by vectors, or both.")  # fmt: skip
@click.option("--embedder", help="Model of the index's vectors, for --search knn and hybrid.")
@click.option("--rerank", help="Cross-encoder of sentence-transformers that reads what was found again.")
@click.option("--fields", type=_PATH, help="YAML file with the field names of an Elasticsearch index that is not kgaudit's own.")
@click.option("--run", required=True, type=_PATH, help="Folder of the run; where it holds a part of it, the audit goes on.")
@_source_options
@click.option("--cards", type=_PATH, help="YAML file of predicate cards (`kgaudit cards` writes one to edit).")
@click.option("--trusted", multiple=True, type=_PATH, help="Trusted graph: what it holds needs no document. Repeatable.")
@click.option("--policy", default="agentkgv", show_default=True, help="Policy of the agent: agentkgv, single_turn, cooccurrence; with "
              "--model also cascade, direct, ircot.")  # fmt: skip
@click.option("--model", metavar="ADDRESS", help="Language model that verifies: openai:http://host:8000/v1#name (`kgaudit doctor` "
              "checks it). The key comes from KGAUDIT_MODEL_KEY.")  # fmt: skip
@_judge_option
@_error_cost_option
@click.option("--cascade", is_flag=True, help="The embedded judge settles what is clear to it, the language model takes the rest.")
@click.option("--calibration", type=_PATH, help="File of `kgaudit bench ... --calibrate`: makes the model's confidence calibrated.")
@click.option("--language", "languages", multiple=True, default=("en",), show_default=True, help="Preferred languages of labels.")
@click.option("--max-triples", type=click.IntRange(1), help="Budget: verify at most so many (a random sample).")
@click.option("--max-searches", type=click.IntRange(1), help="Budget: searches.")
@click.option("--max-calls", type=click.IntRange(1), help="Budget: calls of the language model.")
@click.option("--max-tokens", type=click.IntRange(1), help="Budget: tokens that the language model reads and writes.")
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Budget: wall time.")
@click.option("--state", type=_PATH, help="State of the graph: verify only what it holds no verdict of, and keep what comes out there.")
@click.option("--new-by", type=click.Choice(["state", "graphs", "time", "sparql"]), default="state", show_default=True,
              help="What is new: all that the state does not know; of that, what stands in named graphs not seen before, is dated "
              "since the last audit, or is given by a query.")  # fmt: skip
@click.option("--endpoint", metavar="URL", help="With --new-by sparql: the endpoint.")
@click.option("--query", type=_PATH, help="With --new-by sparql: file of a SELECT (?s ?p ?o, perhaps ?g) or CONSTRUCT query.")
@click.option("--partial", is_flag=True, help="KG holds only what was added: what it does not hold is not taken for removed.")
@click.option("--removed", type=_PATH, help="With --partial: file of the triples that were removed (`kgaudit difference`).")
@click.option("--again", multiple=True, type=click.Choice(["changed-judge", "changed-documents"]),
              help="Verify known triples again where judge, policy or statement changed, or where their searches now return something "
              "else. Repeatable.")  # fmt: skip
@click.option("--fail-on", type=click.Choice(["refuted"]), help="Exit with status 1 where a triple has this verdict.")
def audit(
    kg: tuple[Path, ...],
    index_: str,
    mode: str,
    embedder: str | None,
    rerank: str | None,
    fields: Path | None,
    run: Path,
    cards: Path | None,
    trusted: tuple[Path, ...],
    policy: str,
    model: str | None,
    judge: Path | None,
    error_cost: float,
    cascade: bool,
    calibration: Path | None,
    languages: tuple[str, ...],
    max_triples: int | None,
    max_searches: int | None,
    max_calls: int | None,
    max_tokens: int | None,
    max_seconds: float | None,
    state: Path | None,
    new_by: str,
    endpoint: str | None,
    query: Path | None,
    partial: bool,
    removed: Path | None,
    again: tuple[str, ...],
    fail_on: str | None,
    **source: Any,
) -> None:
    """Verify the triples of KG (files or folders) against an index of documents."""
    from kgaudit.models.embedded import load_judge
    from kgaudit.models.opening import open_model
    from kgaudit.runs.audit import AuditOptions, Budget
    from kgaudit.runs.audit import audit as run_audit
    from kgaudit.runs.progress import Progress
    from kgaudit.state_commands import make_selection
    from kgaudit_retrievers.opening import open_retriever

    selection = make_selection(kg, state, new_by, endpoint, query, partial, removed, again)
    if cascade and policy != "agentkgv":
        raise UsageError(f"--cascade does not go with --policy {policy}", todo="Leave one of the two out.")
    options = AuditOptions(
        kg=kg,
        run=run,
        source=_make_source_options(**source),
        policy="cascade" if cascade else policy,
        error_cost=error_cost,
        calibration=calibration,
        cards=cards,
        trusted=trusted,
        languages=(*languages, ""),
        budget=Budget(max_triples, max_searches, max_seconds, max_calls, max_tokens),
    )
    chat = open_model(model, run / "calls") if model else None
    retriever = open_retriever(index_, mode=mode, embedder=embedder, fields=fields, rerank=rerank)
    stop = _stop_on_signals()
    try:
        with Progress("reading", "bytes") as loading, Progress("verifying", "triples") as verifying:
            if state and selection:
                from kgaudit.runs.nightly import audit_night

                summary = audit_night(
                    options, state, retriever, load_judge(judge), index=index_, selection=selection, chat=chat, stop=stop,
                    loading=loading, verifying=verifying,
                )  # fmt: skip
            else:
                summary = run_audit(
                    options, retriever, load_judge(judge), index=index_, chat=chat, stop=stop, loading=loading, verifying=verifying
                )
    except (Interrupted, KeyboardInterrupt) as error:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # the rest takes a moment, and a further signal must not change how it ends
        ended = (
            error
            if isinstance(error, Interrupted)
            else Interrupted("interrupted while the graph was read", where=str(run), todo="The same command begins again.")
        )
        ended.exit_status = 128 + (stop.signal or signal.SIGINT)
        raise ended from None
    finally:
        retriever.close()
    _print_summary(run, summary)
    if fail_on and summary["verdicts"][fail_on]:
        raise click.exceptions.Exit(1)


def _stop_on_signals() -> Stop:
    """The first signal lets what is in flight finish; further ones change nothing: that takes a moment only."""
    from kgaudit.runs.engine import Stop

    stop = Stop()

    def handle(number: int, frame: object) -> None:
        if not stop.running:
            stop.signal = number
            raise KeyboardInterrupt
        stop.ask(number)

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
    return stop


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _print_summary(run: Path, summary: dict[str, Any]) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from kgaudit.runs.counts import Counts, count_by
    from kgaudit.text import one_line

    load, counts = summary["load"], Counts(summary["verdicts"])
    if "text" in summary:
        click.echo(summary["text"])
    left_out = ", ".join(f"{number:,} {role}" for role, number in load["left_out"].items() if number)
    parts = [f"{load['statements']:,} statements read: {load['claims']:,} triples to verify"]
    parts += [f"{load['duplicates']:,} repeats merged"] if load["duplicates"] else []
    parts += [f"left out: {left_out}"] if left_out else []
    parts += [f"{load['quarantined']:,} set aside in {run / 'graph' / 'quarantine.jsonl'}"] if load["quarantined"] else []
    click.echo("; ".join(parts))
    for warning in load["notes"]:
        click.echo(f"  {one_line(warning)}")
    if "text" in summary and not counts.total:
        click.echo(f"{summary['status']}: nothing to verify; run {run}")
        return
    table = Table(box=SIMPLE, pad_edge=False)
    for column in ("predicate", "triples", "supported", "refuted", "not enough\nevidence", "not\njudged", "pass rate"):
        table.add_column(column, justify="left" if column == "predicate" else "right")
    groups = sorted(count_by(run, "p_label").items(), key=lambda item: (-item[1].verdicts["refuted"], -item[1].total, item[0]))
    for label, group in [*groups[:20], ("", None), ("all", counts)]:
        if group is None:
            table.add_section()
            continue
        numbers = [f"{group.verdicts[verdict]:,}" for verdict in group.verdicts]
        table.add_row(Text(one_line(label, 48)), f"{group.total:,}", *numbers, _percent(group.pass_rate))
    Console(highlight=False, width=None if sys.stdout.isatty() else 120).print(table)
    if len(groups) > 20:
        click.echo(f"({len(groups) - 20:,} more predicates in the report)")
    click.echo(
        f"pass rate {_percent(counts.pass_rate)} of {counts.judged:,} judged; not enough evidence "
        f"{_percent(counts.share('not_enough_evidence'))}, not judged {_percent(counts.share('not_judged'))} of {counts.total:,}"
    )
    if "model" in summary:
        _print_usage(summary["model"])
    now, before = summary["verified_now"], summary["verified_before"]
    held = f" ({before:,} were there already)" if before else ""
    click.echo(
        f"{summary['status']}: {now:,} verified{held} in {summary['seconds']:,.1f} s, {summary['searches']:,} searches; run {run}"
    )


def _print_usage(usage: dict[str, Any]) -> None:
    parts = [f"model {usage['name']}: {usage['calls']:,} calls"]
    parts += [f"{usage['cached']:,} answered from what this run kept"] if usage["cached"] else []
    parts += [f"{usage['retries']:,} tried again"] if usage["retries"] else []
    parts += [f"{usage['prompt_tokens']:,} tokens read, {usage['completion_tokens']:,} written"]
    parts += [f"cost {usage['cost']:,.2f}"] if usage["cost"] is not None else []
    parts += [f"confidence {usage['confidence']}"]
    click.echo(", ".join(parts))
    for note in usage["notes"]:
        click.echo(f"  {note}")


@cli.command()
@click.argument("run", type=_PATH)
@click.option("--to", type=_PATH, help="File to write; default: report.html in the run folder.")
def report(run: Path, to: Path | None) -> None:
    """Write the HTML report of a RUN or state: one file, no network."""
    from kgaudit.reports.html import write_report
    from kgaudit.runs.progress import Progress

    with Progress("writing the report", "triples") as progress:
        path = write_report(run, to, progress)
    click.echo(f"report: {path.resolve()}")


@cli.command()
@click.argument("run", type=_PATH)
@click.option("--to", required=True, type=_PATH, help="File to write.")
@click.option("--format", "format_", type=click.Choice(["csv", "tsv", "jsonl", "parquet"]), help="Default: by the suffix of the file.")
def export(run: Path, to: Path, format_: str | None) -> None:
    """Write the verdict table of a RUN or state, one row a triple."""
    from kgaudit.reports.export import export_verdicts

    chosen = format_ or to.suffix.lstrip(".").lower()
    if chosen not in ("csv", "tsv", "jsonl", "parquet"):
        raise UsageError(f"{to}: the suffix does not say the format", todo="Give --format csv, tsv, jsonl or parquet.")
    rows = export_verdicts(run, to, chosen)  # type: ignore[arg-type]
    click.echo(f"{rows:,} rows: {to}")


@cli.command()
@click.argument("run", type=_PATH)
@click.argument("triple")
def replay(run: Path, triple: str) -> None:
    """Print each step of how a TRIPLE was verified (key, its first 6 digits or more, or "subject predicate object" by labels)."""
    from kgaudit.runs.replay import replay_lines
    from kgaudit.runs.state import open_reader

    reader = open_reader(run)
    rows = reader.find(triple)
    if not rows:
        raise UsageError(f"the run holds no triple {triple!r}", where=str(run), todo="`kgaudit export` lists keys and labels.")
    for row in rows:
        for line in replay_lines(reader, row):
            click.echo(line)


@cli.command()
@click.argument("kg", nargs=-1, required=True, type=_PATH)
@click.option("--to", type=_PATH, help="File to write; default: standard output.")
@_source_options
def cards(kg: tuple[Path, ...], to: Path | None, **source: Any) -> None:
    """Write the predicate cards learnt from KG as YAML, to edit and give to `audit --cards`."""
    import tempfile

    from kgaudit.predicates import cards_to_yaml, learn_cards
    from kgaudit.runs.files import whole_file
    from kgaudit.runs.progress import Progress
    from kgaudit.sources import load

    with tempfile.TemporaryDirectory() as work, Progress("reading", "bytes") as progress:
        text = cards_to_yaml(learn_cards(load(list(kg), Path(work) / "graph", _make_source_options(**source), progress)))
    if to is None:
        click.echo(text, nl=False)
        return
    with whole_file(to) as stream:
        stream.write(text.encode("utf-8"))
    click.echo(f"cards: {to}")


@cli.command()
def rules() -> None:
    """Print the default rules that say which triples are claims, as YAML to edit and give to `audit --rules`."""
    from importlib.resources import files

    click.echo((files("kgaudit.sources") / "rules.yaml").read_text(encoding="utf-8"), nl=False)


@cli.command()
@click.argument("dataset")
@click.option("--data", required=True, type=_PATH, help="Folder that holds the folder DATASET.")
@click.option("--policy", "policies", multiple=True, default=("agentkgv",), show_default=True, help="Policy to measure. Repeatable.")
@click.option("--split", "splits", multiple=True, default=("test",), show_default=True, help="Split to measure on. Repeatable.")
@click.option("--json", "json_", type=_PATH, help="File for the measures, as JSON.")
@click.option("--items", type=_PATH, help="File for each item with its probability, as JSON lines.")
@click.option("--work", type=_PATH, help="Folder that keeps indexes, and a language model's answers, between calls.")
@click.option("--model", metavar="ADDRESS", help="Language model that steers the policies: openai:http://host:8000/v1#name.")
@_judge_option
@_error_cost_option
@click.option("--sample", type=click.IntRange(1), help="So many items of each split, the same ones every time.")
@click.option("--calibration", type=_PATH, help="File of an earlier --calibrate to use.")
@click.option("--calibrate", type=_PATH, help="File for a calibration of the model, fitted on the one split that is measured.")
def bench(
    dataset: str,
    data: Path,
    policies: tuple[str, ...],
    splits: tuple[str, ...],
    json_: Path | None,
    items: Path | None,
    work: Path | None,
    model: str | None,
    judge: Path | None,
    error_cost: float,
    sample: int | None,
    calibration: Path | None,
    calibrate: Path | None,
) -> None:
    """Measure policies on a DATASET: macro F1, calibration, searches a triple, evidence, speed."""
    from kgaudit.bench.runner import BenchOptions, default_work, run_bench, write_items, write_results
    from kgaudit.bench.table import format_results
    from kgaudit.models.address import parse_model
    from kgaudit.models.embedded import load_judge
    from kgaudit.models.opening import open_model
    from kgaudit.runs.progress import Progress

    if (calibration or calibrate) and not model:
        raise UsageError("a calibration is of a language model", todo="Name it with --model.")
    if calibrate and (calibration or len(splits) > 1):
        raise UsageError("--calibrate fits on one split, from probabilities that are not calibrated yet",
                         todo="Give one --split (dev, never a test split), and no --calibration.")  # fmt: skip
    chat = open_model(model, (work or default_work()) / "calls") if model else None
    address = parse_model(model) if model and not model.startswith("replay:") else None
    priced = address is not None and (address.input_price is not None or address.output_price is not None)
    prices = (address.input_price or 0.0, address.output_price or 0.0) if address and priced else None
    options = BenchOptions(dataset, data, policies, splits, work, sample, calibration, prices, error_cost)
    results = run_bench(options, load_judge(judge), watch=Progress, chat=chat)
    click.echo(format_results(results))
    if chat and calibrate:
        _write_calibration(calibrate, dataset, splits[0], results, chat)
    if json_:
        write_results(json_, dataset, results)
    if items:
        write_items(items, results)


def _write_calibration(path: Path, dataset: str, split: str, results: list[Result], chat: ChatModel) -> None:
    from kgaudit.bench.runner import calibrate
    from kgaudit.runs.files import make_folder, write_json

    made = calibrate(dataset, split, results, chat)
    make_folder(path.parent)
    write_json(path, made.to_json())
    known = f"from a confidence of {made.known_from:.3f}" if made.known_from is not None else "never"
    click.echo(f"calibration: {path} ({made.words}) of {', '.join(made.policies)}; answers without retrieval: {known}")
    left_out = sorted({result.policy for result in results if result.model} - set(made.policies))
    if left_out:
        click.echo(f"not calibrated, for too few items of the model's: {', '.join(left_out)} (raise --sample)")


def _register() -> None:
    from kgaudit.gate.commands import COMMANDS
    from kgaudit.model_commands import COMMANDS as MODEL_COMMANDS
    from kgaudit.state_commands import STATE_COMMANDS
    from kgaudit.training.commands import COMMANDS as TRAINING_COMMANDS
    from kgaudit_expectations.commands import validate

    for command in (*COMMANDS, *MODEL_COMMANDS, *STATE_COMMANDS, *TRAINING_COMMANDS, validate):
        cli.add_command(command)


_register()
