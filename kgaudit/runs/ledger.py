"""The ledger of a run: Parquet parts, each whole or not there, each triple in one of them.

    run/
      spec.json       everything a rerun needs
      summary.json    counts and status; `interrupted` until the run is complete
      lock            held by the process that writes
      quarantine.jsonl
      graph/          the loaded graph: candidates, names, schema
      ledger/         verdict parts, named by their content
      passages/       the passages that the run saw, each once

Passages are written before the verdicts that quote them: a kill between the two leaves passages that nothing points to, never a
verdict without its evidence.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from kgaudit.claims import Claim
from kgaudit.documents import PASSAGE_SCHEMA, Passage
from kgaudit.errors import RunError
from kgaudit.runs.files import make_folder, read_json, remove_leftovers, whole_file
from kgaudit.triples import Place, place_to_dict
from kgaudit.verdicts import LEDGER_SCHEMA, Trajectory, steps_to_json


@dataclass(frozen=True, slots=True)
class Entry:
    """One verified claim on its way into the ledger."""

    claim: Claim
    places: tuple[Place, ...]
    trajectory: Trajectory
    passages: tuple[Passage, ...]


PARTS = "parts.json"
"""Names the parts of a joined ledger, relative to its folder: they stay where the shards wrote them."""


def open_parts(folder: Path) -> list[Path]:
    """The parts of a ledger or passage folder, in a fixed order."""
    if (folder / PARTS).is_file():
        return [folder / name for name in read_json(folder / PARTS)["parts"]]
    return sorted(folder.glob("part-*.parquet"))


def read_part(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """One part. Raises `RunError` where it is damaged."""
    import pyarrow.parquet as pq

    try:
        # Given a path, Arrow would take a name like ~ or s3: for something else; given a Python file, its threads may outlive Python.
        with pa.OSFile(os.fsencode(path)) as file:
            return pq.read_table(file, columns=list(columns) if columns is not None else None)
    except (OSError, pa.ArrowException) as error:
        raise RunError(
            f"this part of the ledger cannot be read ({error})",
            where=str(path),
            todo="Move the file away and run the same command again: its triples are verified once more.",
        ) from error


class Ledger:
    """Appends entries to the ledger of a run. Only one at a time may be open (`RunLock`)."""

    def __init__(self, run: Path) -> None:
        self._ledger, self._passages = run / "ledger", run / "passages"
        for folder in (run, self._ledger, self._passages):
            make_folder(folder)
            remove_leftovers(folder)
        self._keys: set[bytes] = set()
        for part in open_parts(self._ledger):
            self._keys.update(bytes.fromhex(key) for key in read_part(part, ["key"])["key"].to_pylist())
        self._seen: set[bytes] = set()
        for part in open_parts(self._passages):
            self._seen.update(bytes.fromhex(key) for key in read_part(part, ["id"])["id"].to_pylist())

    def __contains__(self, key: str) -> bool:
        return bytes.fromhex(key) in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def append(self, entries: Sequence[Entry]) -> None:
        """Writes the entries as one part. Raises `StorageError`; nothing is half-written."""
        entries = [entry for entry in entries if bytes.fromhex(entry.claim.key) not in self._keys]
        if not entries:
            return
        passages = {passage.id: passage for entry in entries for passage in entry.passages}
        new = [(key, passage) for key, passage in passages.items() if bytes.fromhex(key) not in self._seen]
        if new:
            _write_part(self._passages, pa.Table.from_pylist([_passage_row(key, p) for key, p in new], PASSAGE_SCHEMA))
            self._seen.update(bytes.fromhex(key) for key, _ in new)
        _write_part(self._ledger, pa.Table.from_pylist([_entry_row(entry) for entry in entries], LEDGER_SCHEMA))
        self._keys.update(bytes.fromhex(entry.claim.key) for entry in entries)


def _write_part(folder: Path, table: pa.Table) -> None:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    content = buffer.getvalue()
    with whole_file(folder / f"part-{sha256(content).hexdigest()[:24]}.parquet") as stream:
        stream.write(content)


def _passage_row(key: str, passage: Passage) -> dict[str, object]:
    return {
        "id": key,
        "document_id": passage.document_id,
        "start": passage.start,
        "end": passage.end,
        "text": passage.text,
        "title": passage.title,
        "language": passage.language,
        "date": passage.date,
        "url": passage.url,
        "document_digest": passage.document_digest,
    }


def _entry_row(entry: Entry) -> dict[str, object]:
    claim, trajectory, verdict = entry.claim, entry.trajectory, entry.trajectory.verdict
    return {
        "key": claim.key,
        "s": claim.triple.s,
        "p": claim.triple.p,
        "o": claim.triple.o,
        "valid_from": claim.triple.valid_from,
        "valid_until": claim.triple.valid_until,
        "s_label": claim.subject.label,
        "p_label": claim.predicate.label,
        "o_label": claim.object.label,
        "verdict": verdict.verdict,
        "confidence": verdict.confidence,
        "p_supported": verdict.p_supported,
        "route": verdict.route,
        "reason": verdict.reason,
        "statement": verdict.statement,
        "better_object": verdict.better_object,
        "evidence": [
            {
                "document_id": span.document_id,
                "start": span.start,
                "end": span.end,
                "quote": span.quote,
                "stance": span.stance,
                "score": span.score,
                "passage_id": span.passage_id,
            }
            for span in verdict.evidence
        ],
        "places": [place_to_dict(place) for place in entry.places],
        "policy": trajectory.policy,
        "searches": trajectory.searches,
        "judged_pairs": trajectory.judged_pairs,
        "model_calls": trajectory.model_calls,
        "tokens": trajectory.tokens,
        "seconds": trajectory.seconds,
        "trajectory": json.dumps(steps_to_json(trajectory.steps), ensure_ascii=False, separators=(",", ":")),
    }


def passages_from_rows(rows: Iterable[dict[str, object]]) -> list[Passage]:
    """The passages of `PASSAGE_SCHEMA` rows."""
    return [Passage(**{name: value for name, value in row.items() if name != "id"}) for row in rows]  # type: ignore[arg-type]
