"""Field case 35: a graph without a claim must not come out green."""

from __future__ import annotations

from pathlib import Path

import pytest
from field_cli import copy_case, index_of, kgaudit

from gx.here import IGNORED

pytestmark = IGNORED


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_case("35-nothing-to-judge", tmp_path_factory.mktemp("case"))


ROW_LEVEL = '{"expectations": [{"type": "expect_no_refuted_triples"}, {"type": "expect_evidence_quotes_to_be_verbatim"}]}'


@pytest.mark.parametrize(("graph", "words"), [("schema-only.ttl", "left out"), ("no-evidence.nt", "none of the 1 triples was judged")])
def test_nothing_to_judge(graph: str, words: str, case: Path, tmp_path: Path) -> None:
    from kgaudit_expectations import validate_run

    index = index_of(case / "docs.jsonl" if (case / "docs.jsonl").exists() else Path(__file__).parents[2] / "field" / "any.jsonl")
    run = tmp_path / "run"
    kgaudit("audit", case / graph, "--index", index, "--run", run)
    suite = tmp_path / "suite.json"
    suite.write_text(ROW_LEVEL, encoding="utf-8")
    for each in (None, suite):
        docs = tmp_path / f"docs-{each is None}"
        outcome = validate_run(run, each, docs=docs)
        assert not outcome.success
        assert words in " ".join(outcome.reasons), outcome.reasons
        for page in [*docs.rglob("*.html")]:
            assert "100 %" not in page.read_text("utf-8")
            assert "100%" not in page.read_text("utf-8").partition("</style>")[2].replace("width: 100%", "").replace("100%;", "")
