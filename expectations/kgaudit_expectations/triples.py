"""The table of failing triples: one row a triple, never cut, as CSV and as pages of some hundred rows that a browser opens at once."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from kgaudit.reports.card import VERDICT_WORDS, shorten
from kgaudit.reports.export import text_cell
from kgaudit.reports.nodes import Node, element, isolated, to_html
from kgaudit.runs.files import make_folder
from kgaudit.runs.state import open_reader

PAGE_ROWS = 500
CHECK_WORDS = {
    "refuted": "refuted",
    "loose_quotes": "evidence not quoted word for word",
    "conflicts": "contradicts another triple of a functional predicate",
}
_COLUMNS = ("key", "s", "p", "o", "s_label", "p_label", "o_label", "verdict", "fails", "quote", "document_id", "reason")
_READ = ("key", "s", "p", "o", "s_label", "p_label", "o_label", "verdict", "evidence", "reason")
_LABEL, _QUOTE = 300, 1000
_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self' file:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Failing triples</title>
<link rel="stylesheet" href="../kgaudit/css/bootstrap.min.css">
<link rel="stylesheet" href="../kgaudit/css/bootstrap-prefers-dark.min.css">
</head><body class="p-4">
"""


def write_triples(
    folder: Path, checks: Mapping[str, Sequence[str]], rows: Mapping[str, Mapping[str, Any]], run: Path | None, report: str | None
) -> int:
    """Writes `triples.csv` and `page-1.html`, `page-2.html`, ... into `folder`; returns the number of triples.

    `checks` says by key what each fails, `rows` holds its terms and labels. With `run`, the evidence and the reason are added from
    there. `report` is the address of the report, whose anchors are triple keys.
    """
    make_folder(folder)
    pages = max(1, -(-len(checks) // PAGE_ROWS))
    found = _from_run(run, rows) if run is not None else iter(rows.values())
    count = 0
    page: IO[str] | None = None
    with open(folder / "triples.csv", "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
        writer.writerow(_COLUMNS)
        for row in found:
            if count % PAGE_ROWS == 0:
                page = _next_page(folder, page, count, len(checks), pages)
            assert page is not None
            values = _values(row, checks[row["key"]])
            writer.writerow([text_cell(values[name]) for name in _COLUMNS])
            page.write(to_html(_row(values, checks[row["key"]], report)) + "\n")
            count += 1
    _end(page or _next_page(folder, None, 0, 0, pages), pages, -(-count // PAGE_ROWS) or 1)
    return count


def _from_run(run: Path, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The rows with what the run knows of them, in its order; then those that a table in a database holds and the run does not."""
    missing = dict.fromkeys(rows)
    for batch in open_reader(run).batches(_READ):
        chosen = [i for i, key in enumerate(batch["key"].to_pylist()) if key in missing]
        if chosen:
            found = batch.take(chosen).to_pylist()
            yield from found
            for row in found:
                del missing[row["key"]]
    yield from (rows[key] for key in missing)


def _values(row: Mapping[str, Any], checks: Sequence[str]) -> dict[str, str]:
    span: Mapping[str, Any] = next(iter(row.get("evidence") or ()), {})
    values = {name: str(row.get(name) or "") for name in _COLUMNS}
    return {
        **values,
        "fails": "; ".join(CHECK_WORDS[check] for check in checks),
        "quote": str(span.get("quote") or ""),
        "document_id": str(span.get("document_id") or ""),
    }


def _row(values: Mapping[str, str], checks: Sequence[str], report: str | None) -> Node:
    key: Node = element("code", values["key"][:12], cls="text-nowrap")
    others = "; ".join(CHECK_WORDS[check] for check in checks if check != "refuted")  # that a triple is refuted says its verdict
    source = element("small", "document ", isolated(shorten(values["document_id"], _LABEL)), cls="text-muted")
    return element(
        "tr",
        *(element("td", isolated(shorten(values[name], _LABEL))) for name in ("s_label", "p_label", "o_label")),
        element(
            "td", VERDICT_WORDS.get(values["verdict"], values["verdict"]), element("br"), element("small", others) if others else None
        ),
        element("td", element("q", isolated(shorten(values["quote"], _QUOTE))), element("br"), source)
        if values["quote"]
        else element("td", isolated(shorten(values["reason"], _QUOTE))),
        element("td", element("a", key, href=f"{report}#{values['key']}") if report else key),
        id=values["key"],
    )


def _next_page(folder: Path, before: IO[str] | None, first: int, total: int, pages: int) -> IO[str]:
    number = first // PAGE_ROWS + 1
    if before is not None:
        _end(before, pages, number - 1)
    page = open(folder / f"page-{number}.html", "w", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed by `_end`
    last = min(first + PAGE_ROWS, total)
    said = f"{first + 1:,} to {last:,} of {total:,}; " if total else "None. "
    page.write(_HEAD + to_html(element("p", element("a", "Data Docs", href="../index.html"))) + "<h1>Failing triples</h1>\n")
    page.write(to_html(element("p", said, element("a", "all as CSV", href="triples.csv"))) + to_html(_pager(number, pages)))
    page.write('<table class="table table-sm table-bordered"><thead><tr>')
    page.write("".join(f"<th>{name}</th>" for name in ("Subject", "Predicate", "Object", "Verdict", "Evidence", "In the report")))
    page.write("</tr></thead><tbody>\n")
    return page


def _end(page: IO[str], pages: int, number: int) -> None:
    page.write("</tbody></table>" + to_html(_pager(number, pages)) + "</body></html>\n")
    page.close()


def _pager(number: int, pages: int) -> Node:
    shown = sorted({1, pages, *range(max(1, number - 3), min(pages, number + 3) + 1)})
    pieces: list[Node] = ["Page "]
    for before, one in zip([0, *shown], shown, strict=False):
        pieces += ["… "] if one > before + 1 else []
        pieces += [element("strong", str(one)) if one == number else element("a", str(one), href=f"page-{one}.html"), " "]
    return element("p", *pieces)
