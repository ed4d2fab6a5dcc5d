"""The sheet that people fill in: one row a triple to label, in words, without its verdict and evidence, so that they label blind."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgaudit.errors import EmptyInputError, UsageError
from kgaudit.gate.designs import Design, Drawn, draw, planned_labels
from kgaudit.gate.labels import Labels, is_random
from kgaudit.gate.rows import read_rows
from kgaudit.reports.export import text_cell
from kgaudit.runs.files import make_folder, whole_file
from kgaudit.runs.reader import RunReader
from kgaudit.runs.state import open_reader

COLUMNS = (
    "key", "subject", "predicate", "object", "valid", "statement",
    "label", "annotator", "time", "design", "stratum", "cluster", "weight", "sample",
)  # fmt: skip
EVIDENCE_COLUMNS = ("key", "verdict", "confidence", "reason", "evidence")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A drawn sample: `rows` have `COLUMNS`, `evidence` has `EVIDENCE_COLUMNS` (the quotes as one text), in the same order.

    `known` rows were labelled before, and left out.
    """

    design: Design
    rows: tuple[dict[str, Any], ...]
    evidence: tuple[dict[str, Any], ...]
    drawn: int
    known: int


def draw_sample(
    run: Path,
    design: Design,
    *,
    labels: int | None = None,
    width: float | None = None,
    threshold: float | None = None,
    expected: float = 0.9,
    confidence: float = 0.95,
    known: Labels | None = None,
) -> Sheet:
    """Draws what people should label: `labels` triples, or as many as a `width` of the interval or a gate at `threshold` need where the
    accuracy is `expected`. Triples that have a label of a random sample in `known` are part of the sample but not of the sheet.

    Raises `RunError` where `run` is no run folder, `EmptyInputError` where it holds no triple, `UsageError` where not exactly one of
    the three sizes is given, or where `expected` is not above `threshold`.
    """
    if sum(size is not None for size in (labels, width, threshold)) != 1:
        raise UsageError("a sample needs one size", todo="Give the number of labels, a width, or a threshold.")
    reader = open_reader(run)
    rows = read_rows(reader)
    if not len(rows):
        raise EmptyInputError("the run holds no triple to label", where=str(run))
    if labels is None:
        try:
            labels = planned_labels(rows, design, width=width, threshold=threshold, expected=expected, confidence=confidence)
        except ValueError as error:
            raise UsageError(
                f"{error}: {expected:g} is not above {threshold:g}", todo="Expect more, or lower the threshold."
            ) from error
    drawn = draw(rows, design, labels)
    before = {label.key for label in known.labels if is_random(label)} if known else set()
    keys: list[str] = rows.keys.take([one.row for one in drawn]).to_pylist()
    wanted = [(key, one) for key, one in zip(keys, drawn, strict=True) if key not in before]
    told = _told(reader, {key for key, _ in wanted})
    return Sheet(
        design=design,
        rows=tuple(_row(told[key], one, design) for key, one in wanted),
        evidence=tuple(_evidence(told[key]) for key, _ in wanted),
        drawn=len(drawn),
        known=len(drawn) - len(wanted),
    )


def _told(reader: RunReader, keys: set[str]) -> dict[str, dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = ["key", "s_label", "p_label", "o_label", "valid_from", "valid_until", "statement", "verdict", "confidence", "reason",
               "evidence", "places"]  # fmt: skip
    wanted = pa.array(sorted(keys), pa.string())
    return {row["key"]: row for batch in reader.batches(columns)
            for row in batch.filter(pc.is_in(batch["key"], value_set=wanted)).to_pylist()}  # fmt: skip


def _row(row: Mapping[str, Any], drawn: Drawn, design: Design) -> dict[str, Any]:
    valid = " to ".join((row["valid_from"] or "", row["valid_until"] or "")) if row["valid_from"] or row["valid_until"] else ""
    statements = [row["statement"], *(place["statement"] for place in row["places"])]
    return {
        "key": row["key"],
        "subject": row["s_label"],
        "predicate": row["p_label"],
        "object": row["o_label"],
        "valid": valid,
        "statement": next((one for one in statements if one), ""),
        "label": "",
        "annotator": "",
        "time": "",
        "design": design.kind,
        "stratum": drawn.stratum,
        "cluster": drawn.cluster,
        "weight": round(drawn.weight, 6),
        "sample": design.text,
    }


def _evidence(row: Mapping[str, Any]) -> dict[str, Any]:
    quotes = [f"{span['stance']} ({span['document_id']}): {span['quote']}" for span in row["evidence"]]
    return {"key": row["key"], "verdict": row["verdict"], "confidence": row["confidence"], "reason": row["reason"],
            "evidence": "\n".join(quotes)}  # fmt: skip


def write_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], to: Path) -> None:
    """Writes CSV (with a byte-order mark, which spreadsheets need; no cell runs as a formula) or JSON lines, by the suffix of `to`.

    Raises `UsageError` on another suffix, and `StorageError`.
    """
    suffix = to.suffix.lower()
    if suffix not in (".csv", ".jsonl"):
        raise UsageError(f"{to}: the suffix does not say the format", todo="Name a .csv or .jsonl file.")
    make_folder(to.parent)
    with whole_file(to) as stream:
        if suffix == ".jsonl":
            for row in rows:
                stream.write(json.dumps(dict(row), ensure_ascii=False).encode("utf-8") + b"\n")
            return
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(columns)
        writer.writerows([text_cell(one) if isinstance(one := row[name], str) else one for name in columns] for row in rows)
        stream.write(text.getvalue().encode("utf-8-sig"))
