"""A real Elasticsearch for the tests below: that of `KGAUDIT_ES_URL`, or one that is started here.

Without a JDK, Maven or the client the tests are skipped, aloud; where `CI` is set that is a failure.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

from kgaudit.documents import Document

SERVER = Path(__file__).parents[1] / "services/elasticsearch/server.py"


def load_server() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kgaudit_test_server", SERVER)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


def give_up(why: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(f"no Elasticsearch to test with: {why}", pytrace=False)
    print(f"\n*** SKIPPED: the Elasticsearch tests did not run: {why} ***", file=sys.__stderr__, flush=True)
    pytest.skip(why)


@pytest.fixture(scope="session")
def servers() -> ModuleType:
    """The module that starts servers."""
    if importlib.util.find_spec("elastic_transport") is None:
        give_up("the client is not installed (pip install 'kgaudit[elasticsearch]')")
    module = load_server()
    try:
        module.prepare()
    except module.Unavailable as error:
        give_up(str(error))
    return module


@pytest.fixture(scope="session")
def own_server(servers: ModuleType) -> Iterator[Any]:
    """A server of our own, for tests that need its administrator."""
    server = servers.start(os.environ.get("KGAUDIT_ES_VERSION", servers.VERSION))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def url(request: pytest.FixtureRequest) -> str:
    """The address of the cluster, without an index."""
    given = os.environ.get("KGAUDIT_ES_URL")
    if given:
        return given.rstrip("/")
    address: str = request.getfixturevalue("own_server").url
    return address


@pytest.fixture
def alias(url: str) -> Iterator[str]:
    """A name for an index that nothing else uses; what bears it is deleted afterwards."""
    from kgaudit_retrievers.es_connect import Cluster, parse_address

    name = f"kgaudit-test-{secrets.token_hex(4)}"
    yield name
    cluster = Cluster(parse_address(f"{url}/{name}"))
    found = cluster.run(cluster.ask("indices.get", index=f"{name}*", expand_wildcards="open,closed"))
    for index in found.body:
        cluster.run(cluster.ask("indices.delete", index=index))
    cluster.close()


Write = Callable[[Sequence[Document]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes documents as JSON lines."""

    def write_documents(documents: Sequence[Document]) -> Path:
        path = tmp_path / "docs.jsonl"
        path.write_text("".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in documents), encoding="utf-8")
        return path

    return write_documents
