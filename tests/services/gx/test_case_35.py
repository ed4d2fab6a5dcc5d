"""Field case 35: a graph without a claim must not come out green."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from field_cli import copy_case, index_of, kgaudit

from gx.here import IGNORED, need_great_expectations

need_great_expectations()
pytestmark = IGNORED


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_case("35-nothing-to-judge", tmp_path_factory.mktemp("case"))


ROW_LEVEL = '{"expectations": [{"type": "expect_no_refuted_triples"}, {"type": "expect_evidence_quotes_to_be_verbatim"}]}'


@pytest.mark.parametrize(
    ("graph", "words"),
    [("schema-only.ttl", "0 claims in 6 statements; left out: "), ("no-evidence.nt", "none of the 1 triples was judged")],
)
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
        for page in docs.rglob("*.html"):
            assert not re.search(r"\b100\s?%", shown_text(page)), page


def shown_text(page: Path) -> str:
    bare = re.sub(r"(?s)<(style|script)\b.*?</\1>", " ", page.read_text("utf-8"))
    return html.unescape(re.sub(r"<[^>]*>", " ", bare))
