"""Which triples that have a verdict are to be verified once more: their verifier changed, or what their searches return."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kgaudit.agent.environment import BatchingEnvironment
from kgaudit.agent.loop import TOP_K
from kgaudit.agent.queries import MAX_NAMES
from kgaudit.claims import Claim
from kgaudit.documents import Query, Retriever
from kgaudit.models.judge import Judge
from kgaudit.runs.keys import Words, stacked, words_of
from kgaudit.runs.state import State
from kgaudit.sources.candidates import candidate_batches
from kgaudit.triples import Candidate, Triple, place_from_dict
from kgaudit.verdicts import Step, steps_from_json
from kgaudit.wording import ClaimBuilder

CHUNK_ROWS = 512

Report = Callable[[int, int | None], None]


def changed_judge(state: State, verifier: Mapping[str, Any], candidates: Path) -> Words:
    """Keys whose verdict came from another judge, model or policy than `verifier` names, or on other statements than the graph's."""
    verifier = json.loads(json.dumps(verifier))
    others = [number for number, entry in enumerate(state.entries) if any(entry[name] != one for name, one in verifier.items())]
    by_others = state.view.words[np.isin(state.view.entry, others)]
    return stacked([by_others, words_of(_other_statements(state, candidates))])


def _other_statements(state: State, candidates: Path) -> Iterator[str]:
    now: dict[str, frozenset[str]] = {}
    for batch in candidate_batches(candidates):
        now.update(_statements(batch))
    for batch in state.view.batches(["key", "places"]) if now else ():
        before = _statements(batch)
        for key in batch["key"].to_pylist():
            if key in now and now[key] != before.get(key, frozenset()):
                yield key


def _statements(batch: pa.RecordBatch) -> dict[str, frozenset[str]]:
    """The statements of the keys that have any."""
    rows = pc.list_parent_indices(batch["places"])
    texts = pc.struct_field(pc.list_flatten(batch["places"]), "statement")
    there = pc.is_valid(texts)
    found: dict[str, set[str]] = {}
    for key, text in zip(batch["key"].take(rows.filter(there)).to_pylist(), texts.filter(there).to_pylist(), strict=True):
        found.setdefault(key, set()).add(text)
    return {key: frozenset(several) for key, several in found.items()}


def changed_documents(state: State, retriever: Retriever, judge: Judge, builder: ClaimBuilder, progress: Report | None = None) -> Words:
    """Keys whose recorded searches return other passages now; a passage is another where its document's content is.

    Verdicts of the index as it stands are left out, and so are those for which nothing was searched. Nothing is judged. Raises what
    searching raises.
    """
    stale = np.array([entry["snapshot"] not in (None, retriever.snapshot) for entry in state.entries], np.bool_)[state.view.entry]
    environment = BatchingEnvironment(retriever, judge)
    changed: list[str] = []
    done = 0
    try:
        rows = _rows(state, stale)
        while chunk := list(islice(rows, CHUNK_ROWS)):
            changed += asyncio.run(_changed(chunk, environment, builder))
            done += len(chunk)
            if progress:
                progress(done, int(stale.sum()))
    finally:
        environment.close()
    return words_of(changed)


_COLUMNS = ("key", "s", "p", "o", "valid_from", "valid_until", "places", "trajectory")


def _rows(state: State, wanted: npt.NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    begin = 0
    for batch in state.view.batches(_COLUMNS):
        mine = wanted[begin : begin + batch.num_rows]
        begin += batch.num_rows
        yield from batch.filter(pa.array(mine)).to_pylist()


async def _changed(rows: list[dict[str, Any]], environment: BatchingEnvironment, builder: ClaimBuilder) -> list[str]:
    async def is_changed(row: dict[str, Any]) -> bool:
        triple = Triple(*(row[name] for name in _COLUMNS[1:6]))
        claim = builder.claim(Candidate(row["key"], triple, tuple(map(place_from_dict, row["places"]))))
        searches = [step for step in steps_from_json(json.loads(row["trajectory"])) if step.action == "search_documents"]
        return any([await _returns_others(step, claim, environment) for step in searches])

    found = await asyncio.gather(*map(is_changed, rows))
    return [row["key"] for row, changed in zip(rows, found, strict=True) if changed]


async def _returns_others(step: Step, claim: Claim, environment: BatchingEnvironment) -> bool:
    names = (claim.subject.names[:MAX_NAMES], claim.object.names[:MAX_NAMES])
    query = Query(step.query, names, claim.subject.language or claim.object.language)
    return tuple(passage.id for passage in await environment.search(query, TOP_K)) != step.passages
