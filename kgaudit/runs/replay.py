"""Tells a verification again, step by step, from what the run kept: no index and no model is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kgaudit.runs.reader import RunReader, steps_of
from kgaudit.text import one_line


def replay_lines(reader: RunReader, row: dict[str, Any]) -> Iterator[str]:
    """The lines to print for a row that was read with `trajectory`."""
    yield f"{one_line(row['s_label'])} | {one_line(row['p_label'])} | {one_line(row['o_label'])}"
    yield f"  key {row['key']}"
    if row["statement"]:
        yield f"  statement: {one_line(row['statement'])}"
    steps = steps_of(row)
    passages = reader.passages(key for step in steps for key in step.passages)
    for number, step in enumerate(steps, 1):
        if step.action == "search_documents":
            yield f"{number}. search [{step.combination}] {one_line(step.query)}"
        elif step.action == "read_document":
            yield f"{number}. read {one_line(step.query)}" + (f": {step.note}" if step.note else "")
        else:
            yield f"{number}. {step.action}: {one_line(step.note)}"
        for call in step.calls:
            says = "gave no answer" if call.failed else "says"
            requests = ", ".join(digest[:12] for digest in call.digests)
            yield f"     model, {call.task} ({requests}; {call.tokens:,} tokens) {says}: {one_line(call.answer, 300)}"
        stances = dict(step.stances)
        for key in step.passages:
            passage = passages.get(key)
            text = one_line(passage.text, 160) if passage else "(passage not kept)"
            where = f"{one_line(passage.document_id)} {passage.start}-{passage.end}" if passage else key
            yield f"     {where}: {text}"
            stance = stances.get(key)
            if stance is None:
                yield "       seen before"
            else:
                note = f" ({one_line(stance.note)})" if stance.note else ""
                yield f"       supports {stance.supports:.2f}, refutes {stance.refutes:.2f}, neither {stance.neither:.2f}{note}"
    share = "–" if row["confidence"] is None else f"{row['confidence']:.2f}"
    yield f"  verdict {row['verdict']}, confidence {share}, route {row['route']}: {one_line(row['reason'])}"
    for span in row["evidence"]:
        yield f"    {span['stance']} {one_line(span['document_id'])} {span['start']}-{span['end']}: “{one_line(span['quote'])}”"
    if row["better_object"]:
        yield f"    better object: {one_line(row['better_object'])}"
