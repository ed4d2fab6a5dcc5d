"""A real vLLM server on the CPU for the tests below, and an index with claims of ours to audit.

Where the server cannot be had the tests are skipped, aloud; where `CI` is set that is a failure.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgaudit_retrievers.embedded import build_index
from vllm.server import Server, Unavailable, free_port, prepare

FACTS = [
    ("Alder Pumps", "Birk Mills"), ("Cedar Yards", "Drosk Works"), ("Elm Foundry", "Fjord Castings"), ("Gorse Lines", "Hallow Rails"),
    ("Iris Valves", "Juniper Seals"),
]  # fmt: skip
CLAIMS = FACTS + [(subject, FACTS[(i + 3) % len(FACTS)][1]) for i, (subject, _) in enumerate(FACTS)]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The running server. A test that ends it starts it again."""
    one = Server(free_port(), tmp_path_factory.mktemp("vllm") / "log")
    try:
        prepare()
        one.start()
    except Unavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"no vLLM to test with: {error}", pytrace=False)
        print(f"\n*** SKIPPED: the vLLM tests did not run: {error} ***", file=sys.__stderr__, flush=True)
        pytest.skip(str(error))
    yield one
    one.stop()


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `kg.nt` and `index`."""
    folder = tmp_path_factory.mktemp("inputs")
    iri = "<https://graph.example/{}>".format
    lines = [f"{iri(s.replace(' ', '_'))} {iri('acquired')} {iri(o.replace(' ', '_'))} ." for s, o in CLAIMS]
    (folder / "kg.nt").write_text("\n".join(lines), encoding="utf-8")
    documents = [json.dumps({"id": f"d{i}", "text": f"In 2019 {s} acquired {o} after long talks."}) for i, (s, o) in enumerate(FACTS)]
    (folder / "docs.jsonl").write_text("\n".join(documents), encoding="utf-8")
    build_index([folder / "docs.jsonl"], folder / "index")
    return folder
