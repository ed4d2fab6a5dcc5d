"""What the tests of real deployments share; conftest.py names them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from in_process import give_up

from harness.deployment import Missing, Standalone
from harness.site import Site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """`airflow standalone` with the graphs of `Site`; its DAGs are switched on."""
    made = Site(tmp_path_factory.mktemp("site"))
    try:
        deployment = Standalone(settings=made.settings)
    except Missing as why:
        give_up(str(why))
    with deployment:
        made.attach(deployment)
        yield made


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where pictures of pages are kept for people to look at."""
    return Path(__file__).parents[4] / "build/airflow-pictures"
