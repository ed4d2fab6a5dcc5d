"""The report of a run as one HTML file: opens from disk, asks the network for nothing, readable without scripts."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from kgaudit.reports.card import card
from kgaudit.reports.nodes import Node, to_html
from kgaudit.reports.rows import Ranking, rank_rows, search_text
from kgaudit.reports.sections import (
    controls,
    filter_predicates,
    filter_sources,
    foot,
    head,
    predicate_tables,
    run_name,
    source_tables,
    static_note,
    summary_section,
)
from kgaudit.reports.spill import Spill
from kgaudit.reports.summary import SOURCE_KINDS, Figures, SourceKind, figures
from kgaudit.runs.files import make_folder, whole_file
from kgaudit.runs.reader import RunReader
from kgaudit.runs.state import open_reader
from kgaudit.verdicts import VerdictName

PAGE_ROWS = 50
CHUNK_ROWS = 200
LISTED_AT_MOST = 10_000
"""So many triples are listed that are supported or lack evidence; refuted and not judged ones are all listed."""

LIMITS: Mapping[VerdictName, int] = {"not_enough_evidence": LISTED_AT_MOST, "supported": LISTED_AT_MOST}

Progress = Callable[[int, int], None]


def write_report(run: Path, to: Path | None = None, progress: Progress | None = None) -> Path:
    """Writes the report of a run or state to `to` (default: `report.html` in its folder) and returns where it lies.

    `progress` is called with the triples written and their number. The file is whole or not there; memory does not grow with the
    texts of the triples.

    Raises `RunError` where `run` is neither or is damaged, `StorageError` where `to` cannot be written.
    """
    reader = open_reader(run)
    target = to or reader.path / "report.html"
    make_folder(target.parent)
    found = figures(reader)
    ranking = rank_rows(reader, LIMITS)
    with Spill(target.parent) as spill, whole_file(target) as stream:
        spill.fill(reader, ranking)
        for piece in _page(reader, found, ranking, spill, _links(reader.path, target.parent), progress):
            stream.write(piece.encode("utf-8", "replace"))
    return target


def _page(
    reader: RunReader, found: Figures, ranking: Ranking, spill: Spill, links: dict[str, str], progress: Progress | None
) -> Iterator[str]:
    style, script = _asset("report.css"), _asset("report.js")
    opened = next((section for section in ranking.sections if section.total), ranking.sections[0])
    first = [spill.row(rank) for rank in range(opened.start, opened.start + min(PAGE_ROWS, opened.listed))]
    passages = spill.passages_of(first)
    slots: dict[str, Iterable[str]] = {
        "style_hash": [_csp_hash(style)],
        "script_hash": [_csp_hash(script)],
        "title": [to_html(f"Audit report: {run_name(reader)}")],
        "style": [style],
        "head": _html(head(reader)),
        "summary": _html(summary_section(reader, found, links)),
        "predicates": _html(predicate_tables(found)),
        "sources": _html(source_tables(found)),
        "controls": _html(controls(found, ranking)),
        "static_note": _html(static_note(opened, len(first))),
        "first_page": _html([card(row, passages) for row in first]),
        "foot": _html(foot()),
        "meta": [_script_json(_meta(ranking))],
        "blocks": _blocks(found, ranking, spill, progress),
        "script": [script],
    }
    for i, piece in enumerate(re.split(r"\{\{(\w+)\}\}", _asset("template.html"))):
        if i % 2:
            yield from slots[piece]
        else:
            yield piece


def _html(nodes: Iterable[Node]) -> Iterator[str]:
    return map(to_html, nodes)


def _asset(name: str) -> str:
    return files("kgaudit.reports").joinpath(name).read_text("utf-8")


def _csp_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _script_json(value: object) -> str:
    # In a script element only "</" and "<!--" could end or change the element.
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _meta(ranking: Ranking) -> dict[str, object]:
    return {
        "page": PAGE_ROWS,
        "chunk": CHUNK_ROWS,
        "sections": [[section.verdict, section.start, section.listed, section.total] for section in ranking.sections],
    }


def _blocks(found: Figures, ranking: Ranking, spill: Spill, progress: Progress | None) -> Iterator[str]:
    """The listed triples in compressed chunks; then, small, what filters, search and order need of each of them."""
    predicates = {group.name: i for i, group in enumerate(filter_predicates(found))}
    sources = {(kind, group.name): i for i, (kind, group) in enumerate(filter_sources(found))}
    predicate_of = np.full(ranking.listed, len(predicates), "<u4")
    source_set_of = np.zeros(ranking.listed, "<u4")
    source_sets: dict[tuple[int, ...], int] = {}
    texts: list[str] = []
    for start in range(0, ranking.listed, CHUNK_ROWS):
        ranks = range(start, min(start + CHUNK_ROWS, ranking.listed))
        rows = [spill.row(rank) for rank in ranks]
        passages = spill.passages_of(rows)
        cards = [card(row, passages) for row in rows]
        yield _block(f"chunk-{start // CHUNK_ROWS}", json.dumps(cards, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))
        for rank, row in zip(ranks, rows, strict=True):
            predicate_of[rank] = predicates.get(row["p"], len(predicates))
            members = tuple(sorted(_sources_of(row, sources)))
            source_set_of[rank] = source_sets.setdefault(members, len(source_sets))
            texts.append(search_text(row))
        if progress:
            progress(ranks.stop, ranking.listed)
    yield _block("predicate-of", predicate_of.tobytes())
    yield _block("source-set-of", source_set_of.tobytes())
    yield _block("source-sets", json.dumps(list(source_sets)).encode("utf-8"))
    yield _block("search", "\n".join(texts).encode("utf-8"))


def _sources_of(row: Mapping[str, Any], sources: Mapping[tuple[SourceKind, str], int]) -> set[int]:
    found: set[int] = set()
    for place in row["places"]:
        for kind in SOURCE_KINDS:
            names = place["documents"] or () if kind == "document" else (place[kind],)
            found.update(sources[kind, name or ""] for name in names if (kind, name or "") in sources)
    return found


def _block(name: str, content: bytes) -> str:
    packed = base64.b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii")
    return f'<script type="application/octet-stream" id="{name}">{packed}</script>\n'


def _links(run: Path, folder: Path) -> dict[str, str]:
    """Addresses, relative to the report, of the files beside it that it names; each part is percent-encoded once."""
    found = {}
    for name in ("spec.json", "summary.json", "quarantine.jsonl", "graph/quarantine.jsonl"):
        path = run / name
        if path.is_file():
            relative = os.path.relpath(os.path.abspath(path), os.path.abspath(folder))
            found[path.name] = quote(os.fsencode(relative.replace(os.sep, "/")), safe="/")
    return found
