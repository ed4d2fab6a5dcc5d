"""Data Docs that open from disk and ask the network for nothing, with the table of failing triples and the report beside them.

Great Expectations' pages load styles and scripts from several hosts and a logo from another. Those files lie in `vendor` (with
their licences), and the pages are made to use them; a content security policy keeps the browser from asking anyone else.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType
from typing import Any

from kgaudit.errors import UsageError, storage_error
from kgaudit.reports.html import write_report
from kgaudit.reports.nodes import Node, element, isolated, to_html
from kgaudit.runs.files import make_folder, write_json
from kgaudit_expectations.outcome import Outcome
from kgaudit_expectations.rows import KEY_CLASS
from kgaudit_expectations.triples import write_triples

MARK = "kgaudit-docs.json"
"""The file by which a folder is known to be Data Docs of ours, which may be replaced."""

_POLICY = (
    "default-src 'none'; script-src 'self' file: 'unsafe-inline'; style-src 'self' file: 'unsafe-inline'; "
    "img-src 'self' file: data:; font-src 'self' file: data:; base-uri 'none'; form-action 'none'"
)
_VENDORED = {
    r"bootstrap-table(?:@[^/]+)?/dist/bootstrap-table\.min\.css": "css/bootstrap-table.min.css",
    r"bootstrap/[\d.]+/css/bootstrap\.min\.css": "css/bootstrap.min.css",
    r"bootstrap-table-filter-control(?:\.min)?\.css": "css/bootstrap-table-filter-control.min.css",
    r"bootstrap-datepicker(?:\.min)?\.css": "css/bootstrap-datepicker.min.css",
    r"bootstrap-prefers-dark(?:\.min)?\.css": "css/bootstrap-prefers-dark.min.css",
    r"font-awesome/[\d.]+/css/all\.min\.css": "css/fontawesome.min.css",
    r"jquery-[\d.]+\.min\.js": "js/jquery.min.js",
    r"popper(?:\.min)?\.js": "js/popper.min.js",
    r"bootstrap/[\d.]+/js/bootstrap\.min\.js": "js/bootstrap.min.js",
    r"bootstrap-table(?:@[^/]+)?/dist/bootstrap-table\.min\.js": "js/bootstrap-table.min.js",
    r"bootstrap-table-filter-control(?:\.min)?\.js": "js/bootstrap-table-filter-control.min.js",
    r"bootstrap-datepicker(?:\.min)?\.js": "js/bootstrap-datepicker.min.js",
}
_STYLE = re.compile(r'<link\b[^>]*?\bhref="(https?:[^"]+)"[^>]*>')
_SCRIPT = re.compile(r'<script\b[^>]*?\bsrc="(https?:[^"]+)"[^>]*>\s*</script>')
_LOGO = re.compile(r"https://great-expectations-web-assets\.[^\"')\s]+")
_ICON = re.compile(r'href="[^"]*static/images/favicon\.ico"')
_FOOTER = re.compile(r"<footer>\s*<p>Stay current.*?</footer>", re.DOTALL)
_KEY = re.compile(rf'<code class="{KEY_CLASS} text-nowrap" >\s*([0-9a-f]{{64}})\s*</code>')


@dataclass(slots=True)
class Failures:
    """Why triples fail, by key: the names of the checks. `rows` holds what a table of `CHECK_SCHEMA` says of them."""

    checks: dict[str, list[str]] = field(default_factory=dict)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, check: str, rows: Sequence[dict[str, Any]]) -> None:
        """Takes in the unexpected rows of one check."""
        for row in rows:
            key = str(row["key"])
            named = self.checks.setdefault(key, [])
            if check not in named:
                named.append(check)
            self.rows.setdefault(key, {**row, "key": key})


class DocsFolder:
    """A folder of Data Docs that appears, whole, when `finish` is done.

    Raises `UsageError` where the folder holds something that is not ours, `StorageError` where it cannot be written.
    """

    def __init__(self, target: Path) -> None:
        self._target = Path(os.path.abspath(target))
        if self._target.exists() and not (self._target / MARK).is_file() and (not self._target.is_dir() or any(self._target.iterdir())):
            raise UsageError("this holds other files than Data Docs", where=str(target), todo="Give a new or an empty folder.")

    def __enter__(self) -> DocsFolder:
        make_folder(self._target.parent)
        try:
            self.path = Path(mkdtemp(prefix=".kgaudit-docs-", dir=self._target.parent))
        except OSError as error:
            raise storage_error(error, str(self._target.parent)) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def finish(self, outcome: Outcome, failures: Failures, run: Path | None) -> Outcome:
        """Adds the report and the table of failing triples, makes the pages fit for offline use, and puts the folder in its place."""
        try:
            _copy_vendored(self.path / "kgaudit")
            report = write_report(run, self.path / "report.html") if run is not None else None
            triples = write_triples(self.path / "triples", failures.checks, failures.rows, run, "../report.html" if report else None)
            banner = _Banner(outcome, triples, report is not None)
            for page in _pages(self.path):
                page.write_text(_offline(page, self.path, banner), encoding="utf-8")
            _drop_unused(self.path / "static")
            placed = replace(outcome, docs=self._target / "index.html", table=self._target / "triples", failing_triples=triples)
            write_json(self.path / MARK, placed.to_json())
            self._swap()
        except OSError as error:
            raise storage_error(error, str(error.filename or self._target)) from error
        return placed

    def _swap(self) -> None:
        self.path.chmod(0o755)
        old = self.path.with_name(f"{self.path.name}-old")
        if self._target.exists():
            self._target.rename(old)
        self.path.rename(self._target)
        shutil.rmtree(old, ignore_errors=True)


def _copy_vendored(folder: Path) -> None:
    with as_file(files("kgaudit_expectations") / "vendor") as vendor:
        shutil.copytree(vendor, folder, dirs_exist_ok=True)


def _pages(site: Path) -> Iterator[Path]:
    yield site / "index.html"
    for folder in ("expectations", "validations"):
        yield from sorted((site / folder).rglob("*.html"))


def _drop_unused(static: Path) -> None:
    """Animations of a tutorial that these pages do not show: four fifths of the folder."""
    for animation in (static / "images").glob("*.gif"):
        with suppress(OSError):
            animation.unlink()


@dataclass(frozen=True, slots=True)
class _Banner:
    """What stands at the head of each page: the outcome, which can be worse than what Great Expectations says, and the links."""

    outcome: Outcome
    failing: int
    report: bool

    def html(self, root: str) -> str:
        passed = self.outcome.success
        reasons = self.outcome.reasons
        links: list[Node] = []
        if self.failing:
            said = "The failing triple, with its evidence"
            if self.failing > 1:
                said = f"All {self.failing:,} failing triples, with their evidence"
            links.append(element("a", said, href=f"{root}triples/page-1.html"))
        if self.report:
            links.append(element("a", "Report of the audit", href=f"{root}report.html"))
        shown: list[Node] = [element("li", isolated(reason)) for reason in reasons[:10]]
        if len(reasons) > 10:
            shown.append(element("li", f"and {len(reasons) - 10:,} more"))
        return to_html(
            element(
                "div",
                element("strong", "Validation passed" if passed else "Validation failed"),
                f": {self.outcome.rows:,} triples, {len(self.outcome.checks):,} expectations evaluated.",
                element("ul", *shown) if shown else None,
                *(piece for link in links for piece in (" ", link, ". ")),
                cls=f"alert {'alert-success' if passed else 'alert-danger'} m-3",
                role="status",
                id="kgaudit-outcome",
            )
        )


def _offline(page: Path, site: Path, banner: _Banner) -> str:
    root = "../" * (len(page.relative_to(site).parts) - 1)
    text = page.read_text(encoding="utf-8")
    text = _STYLE.sub(lambda match: _local(match[1], root, '<link rel="stylesheet" href="{}">'), text)
    text = _SCRIPT.sub(lambda match: _local(match[1], root, '<script src="{}"></script>'), text)
    text = _LOGO.sub(f"{root}static/images/logo-long.png", text)
    text = _ICON.sub(f'href="{root}static/images/favicon.ico"', text)  # Great Expectations counts one folder too few for results
    text = _FOOTER.sub("", text)
    if banner.report:
        link = '<a class="text-nowrap" href="{}report.html#{}"><code>{}</code></a>'
        text = _KEY.sub(lambda key: link.format(root, key[1], key[1][:12]), text)
    text = text.replace("<head>", f'<head>\n    <meta http-equiv="Content-Security-Policy" content="{_POLICY}">', 1)
    head, nav, rest = text.partition('<div class="container-fluid')
    return f"{head}{banner.html(root)}{nav}{rest}"


def _local(url: str, root: str, tag: str) -> str:
    """The tag with the vendored file behind a url; nothing where there is none (charts, which pages of verdict tables do not have)."""
    for pattern, name in _VENDORED.items():
        if re.search(f"{pattern}$", url):
            return tag.format(f"{root}kgaudit/{name}")
    return ""
