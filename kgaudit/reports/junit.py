"""A run as JUnit XML for continuous-integration systems: one test case a triple.

    refuted               failure
    not judged            error
    left out by a budget  skipped
    supported             passed
    not enough evidence   passed, and it says so in `system-out`: the format has no word for it

Written as a stream, one triple after the other; the counts in the head come from a first reading of one column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from xml.sax.saxutils import escape, quoteattr

from kgaudit.predicates import learn_cards
from kgaudit.runs.counts import count_rows, sum_counts
from kgaudit.runs.files import make_folder, whole_file
from kgaudit.runs.reader import RunReader
from kgaudit.runs.shards import run_candidates
from kgaudit.runs.state import open_reader
from kgaudit.sources import LoadedGraph
from kgaudit.text import visible
from kgaudit.wording import ClaimBuilder

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COLUMNS = ("key", "s_label", "p_label", "o_label", "verdict", "reason", "seconds", "evidence", "better_object", "places")
_WRITE_EVERY = 500


def xml_text(text: str) -> str:
    """The text with characters that XML 1.0 forbids, controls and direction marks as visible marks (`[U+0007]`)."""
    return _FORBIDDEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", visible(text))


def write_junit(run: Path, to: Path) -> int:
    """Writes the run as JUnit XML and returns the number of test cases.

    The file is whole or not there. Raises `RunError` where `run` is no run folder, `StorageError` where `to` cannot be written.
    """
    reader = open_reader(run)
    counts = sum_counts(count_rows(reader.batches(["verdict"]), "verdict"))
    left_out = _left_out(reader)
    seconds = sum(sum(batch["seconds"].to_pylist()) for batch in reader.batches(["seconds"]))
    numbers = {
        "tests": counts.total + len(left_out),
        "failures": counts.verdicts["refuted"],
        "errors": counts.verdicts["not_judged"],
        "skipped": len(left_out),
        "time": f"{seconds:.3f}",
    }
    attributes = " ".join(f'{name}="{value}"' for name, value in numbers.items())
    started = _local_time(str(reader.spec.get("started", "")))
    make_folder(to.parent)
    with whole_file(to) as stream:
        _write(stream, f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="kgaudit" {attributes}>\n')
        _write(stream, f"<testsuite name={_attribute(f'kgaudit {run.name}')} {attributes}{started}>\n<properties>\n")
        for name, value in (
            ("run status", str(reader.summary.get("status"))),
            ("supported", str(counts.verdicts["supported"])),
            ("not enough evidence", str(counts.verdicts["not_enough_evidence"])),
        ):
            _write(stream, f"<property name={_attribute(name)} value={_attribute(value)}/>\n")
        _write(stream, "</properties>\n")
        _write_in_pieces(stream, _cases(reader))
        _write_in_pieces(stream, _skipped_cases(reader, left_out))
        _write(stream, "</testsuite>\n</testsuites>\n")
    return counts.total + len(left_out)


def _write(stream: IO[bytes], text: str) -> None:
    stream.write(text.encode("utf-8"))


def _write_in_pieces(stream: IO[bytes], cases: Iterator[str]) -> None:
    waiting: list[str] = []
    for case in cases:
        waiting.append(case)
        if len(waiting) >= _WRITE_EVERY:
            _write(stream, "".join(waiting))
            waiting.clear()
    _write(stream, "".join(waiting))


def _local_time(started: str) -> str:
    try:
        return f' timestamp="{datetime.fromisoformat(started).replace(tzinfo=None).isoformat(timespec="seconds")}"'
    except ValueError:
        return ""


def _attribute(text: str) -> str:
    return quoteattr(xml_text(text))


def _cases(reader: RunReader) -> Iterator[str]:
    for batch in reader.batches(_COLUMNS):
        for row in batch.to_pylist():
            name = f"{row['s_label']} | {row['p_label']} | {row['o_label']} [{row['key'][:12]}]"
            places = [place for place in row["places"] if place["file"]]
            where = f" file={_attribute(places[0]['file'])}" if places else ""
            line = f' line="{places[0]["line"]}"' if places and places[0]["line"] else ""
            head = f'<testcase classname={_attribute(row["p_label"])} name={_attribute(name)}{where}{line} time="{row["seconds"]:.3f}"'
            yield f"{head}{_outcome(row)}\n"


def _outcome(row: dict[str, Any]) -> str:
    verdict = row["verdict"]
    if verdict == "supported":
        return "/>"
    message, detail = _attribute(row["reason"]), escape(xml_text(_detail(row)))
    if verdict == "refuted":
        return f'><failure type="refuted" message={message}>{detail}</failure></testcase>'
    if verdict == "not_judged":
        return f'><error type="not_judged" message={message}>{detail}</error></testcase>'
    return f"><system-out>not enough evidence: {escape(xml_text(row['reason']))}</system-out></testcase>"


def _detail(row: dict[str, Any]) -> str:
    lines = [f"key {row['key']}"]
    lines += [f"{span['stance']} ({span['document_id']} {span['start']}-{span['end']}): {span['quote']}" for span in row["evidence"]]
    if row["better_object"]:
        lines.append(f"the evidence names {row['better_object']}")
    return "\n".join(lines)


def _left_out(reader: RunReader) -> set[str]:
    """The keys that the run was to verify and did not come to."""
    if reader.summary.get("status") == "complete" or not (reader.path / "graph" / "load.json").is_file():
        return set()
    held = {key for batch in reader.batches(["key"]) for key in batch["key"].to_pylist()}
    return {candidate.key for candidate in run_candidates(reader.path) if candidate.key not in held}


def _skipped_cases(reader: RunReader, keys: set[str]) -> Iterator[str]:
    if not keys:
        return
    with closing(LoadedGraph.open(reader.path / "graph")) as graph:
        builder = ClaimBuilder(graph.names, learn_cards(graph))
        for candidate in run_candidates(reader.path):
            if candidate.key in keys:
                claim = builder.claim(candidate)
                name = f"{claim.subject.label} | {claim.predicate.label} | {claim.object.label} [{claim.key[:12]}]"
                head = f"<testcase classname={_attribute(claim.predicate.label)} name={_attribute(name)}"
                yield f'{head} time="0"><skipped message="not sampled: left out by the budget"/></testcase>\n'
