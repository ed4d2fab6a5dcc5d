"""Links from a task to its pages. Airflow asks for them on the worker, when the task ends, and stores what they give."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import attrs
from airflow.sdk import BaseOperatorLink

from kgaudit.airflow import settings

PREFIX = "/kgaudit"
"""Below it the plugin serves its pages."""


def page_url(path: Path) -> str:
    """The address of a run folder or a file in one; "" where it does not lie below the runs folder, which is all that is served."""
    relative = os.path.relpath(path, settings.runs_folder())
    if relative == ".." or relative.startswith("../"):
        return ""
    return f"{settings.base_url()}{PREFIX}/runs/{quote(os.fsencode(relative))}"


@attrs.define()
class _PathLink(BaseOperatorLink):
    """Leads to the path that the operator kept under `name` of its attribute `pages` while it ran."""

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The address, "" where the task ended before there was such a page."""
        path = getattr(operator, "pages", {}).get(self.name)
        return page_url(path) if path else ""


@attrs.define()
class ReportLink(_PathLink):
    """Leads to the report of the run."""

    name: str = "Report"


@attrs.define()
class RunLink(_PathLink):
    """Leads to the page of the run: counts, and what else there is of it."""

    name: str = "Run"


@attrs.define()
class DecisionLink(_PathLink):
    """Leads to what the gate decided."""

    name: str = "Decision"
