"""The pages that the plugin serves: the list of runs, a run, and the files of a run.

Reports hold texts of graphs and documents that anybody may have written. They escape them; should that ever fail, the sandbox of the
header below still keeps a script of theirs away from Airflow's cookie and pages. Our own pages hold no script at all.
"""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from kgaudit.airflow import settings
from kgaudit.airflow.served import FILES, find_file, find_run, list_runs, read_object

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.responses import Response

    from kgaudit.reports.nodes import Node

LISTED = 200

_COMMON = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "private, no-store"}
_PAGE_HEADERS = {
    **_COMMON,
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'",
}
_FILE_HEADERS = {
    **_COMMON,
    "Content-Security-Policy": "sandbox allow-scripts allow-popups allow-downloads; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'",
}
_STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0}
th,td{text-align:left;padding:.3rem 1rem .3rem 0;border-bottom:1px solid #8884;vertical-align:top}
td.number{text-align:right;font-variant-numeric:tabular-nums}
.stopped,.failed{color:#b3261e}.passed{color:#1b7f3b}
@media(prefers-color-scheme:dark){.stopped,.failed{color:#ff8a80}.passed{color:#7ddc9a}}
"""


def add_pages(app: FastAPI) -> None:
    """Adds the routes to the plugin's app."""
    from fastapi import HTTPException
    from fastapi.responses import FileResponse, HTMLResponse

    def listing() -> Response:
        return HTMLResponse(_list_page(settings.runs_folder()), headers=_PAGE_HEADERS)

    def below(relative: str) -> Response:
        root = settings.runs_folder()
        file = find_file(root, relative)
        if file is not None:
            return FileResponse(file, media_type=FILES[file.name], headers=_FILE_HEADERS)
        run = find_run(root, relative)
        if run is None:
            raise HTTPException(404, "There is no such run, or no such file in it.")
        return HTMLResponse(_run_page(run, relative), headers=_PAGE_HEADERS)

    app.add_api_route("/", listing, methods=["GET"], response_model=None)
    app.add_api_route("/runs/{relative:path}", below, methods=["GET"], response_model=None)


def _page(title: str, *body: Node) -> str:
    from kgaudit.reports.nodes import to_html

    content = "".join(map(to_html, body))
    head = f'<meta charset="utf-8"><title>{to_html(title)}</title><meta name="viewport" content="width=device-width, initial-scale=1">'
    return f'<!doctype html><html lang="en"><head>{head}<style>{_STYLE}</style></head><body>{content}</body></html>'


def _list_page(root: Path) -> str:
    from kgaudit.reports.nodes import element, isolated

    runs, number = list_runs(root, LISTED)
    head = element("tr", *(element("th", name) for name in ("Run", "Written", "What came of it", "")))
    rows: list[Node] = [head]
    for one in runs:
        folder = root / one.relative
        address = f"runs/{quote(os.fsencode(one.relative))}"
        report = element("a", "report", href=f"{address}/report.html", target="_blank") if (folder / "report.html").is_file() else None
        written = datetime.fromtimestamp(one.written, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        name = element("a", isolated(_text(one.relative)), href=address)
        rows.append(element("tr", element("td", name), element("td", written), element("td", *_outcome(folder)), element("td", report)))
    title = "Knowledge graph audits"
    body = [element("h1", title), element("table", *rows)]
    if number > len(runs):
        body.append(element("p", f"{number - len(runs):,} older ones are not listed."))
    if not runs:
        body.append(element("p", "There is no run yet: trigger nightly_audit."))
    return _page(title, *body)


def _run_page(run: Path, relative: str) -> str:
    from kgaudit.reports.nodes import element, isolated

    name = relative.rpartition("/")[2]
    address = f"./{quote(os.fsencode(name))}"
    links: list[Node] = [
        element("li", element("a", words, href=f"{address}/{file}", target="_blank"))
        for file, words in (
            ("report.html", "Report: each flagged triple with its evidence"),
            ("decision.svg", "Decision as a picture"),
            ("decision.json", "Decision"),
            ("approval.json", "Who let it pass, and why"),
            ("validation.json", "What Great Expectations found"),
            ("summary.json", "Summary"),
            ("spec.json", "What was run"),
        )
        if (run / file).is_file()
    ]
    return _page(
        _text(name),
        element("h1", isolated(_text(name))),
        element("p", *_outcome(run)),
        element("ul", *links),
        *_approval(run),
        *_reasons(run),
        *_checks(run),
    )


def _outcome(run: Path) -> list[Node]:
    """In a line, what came of a run or a gate."""
    from kgaudit.reports.nodes import element, isolated

    decision = read_object(run / "decision.json")
    if decision:
        status = str(decision.get("status"))
        shown = {"passed": "passed", "stopped": "stopped"}.get(status, "failed")
        accuracy = decision.get("accuracy") or {}
        numbers = f": accuracy at least {accuracy['low']:.1%}, threshold {decision['threshold']:.1%}" if "low" in accuracy else ""
        return [element("strong", status.replace("_", " "), cls=shown), numbers]
    summary = read_object(run / "summary.json")
    if not summary:
        return ["not finished"]
    verdicts = summary.get("verdicts") or {}
    counts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in verdicts.items() if number)
    selected = summary.get("selected") or {}
    new = f"{selected['new']:,} of {selected['total']:,} new" if selected else ""
    rests = selected.get("rests_on") if selected.get("new") == 0 else None
    base = [" The state rests on run ", isolated(_text(str(rests))), "."] if rests else []
    return [
        element("strong", str(summary.get("status"))),
        ": ",
        "; ".join(filter(None, (new, counts or "no triple verified"))),
        ".",
        *base,
    ]


def _reasons(run: Path) -> list[Node]:
    from kgaudit.reports.nodes import element, isolated

    reasons = read_object(run / "decision.json").get("reasons") or []
    if not reasons:
        return []
    return [element("h2", "Why"), element("ul", *(element("li", isolated(str(one.get("text")))) for one in reasons))]


def _approval(run: Path) -> list[Node]:
    from kgaudit.reports.nodes import element, isolated

    approval = read_object(run / "approval.json")
    if not approval:
        return []
    words = (" let it pass: ", isolated(str(approval.get("reason"))), f" ({approval.get('answered')})")
    return [element("p", isolated(str(approval.get("author"))), *words)]


def _checks(run: Path) -> list[Node]:
    from kgaudit.reports.nodes import element, isolated

    checks = read_object(run / "validation.json").get("checks") or []
    if not checks:
        return []
    rows = [
        element(
            "tr",
            element("td", "holds" if one.get("success") else "fails", cls="passed" if one.get("success") else "failed"),
            element("td", re.sub("^expect_", "", str(one.get("type"))).replace("_", " ")),
            element("td", isolated(str(one.get("words")))),
        )
        for one in checks
    ]
    return [element("h2", "Expectations"), element("table", *rows)]


def _text(name: str) -> str:
    """A name from the file system, with what is no text replaced."""
    return os.fsencode(name).decode("utf-8", "replace")
