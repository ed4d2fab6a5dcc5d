"""Field cases, or parts of them, that need what is not built yet: each is skipped aloud, and every case stands in some test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from field_cli import FIELD

LATER = [
    ("02-iri-with-space", "writing SHACL reports and RDF annotations, which must parse again"),
    ("23-thinking-aloud", "the client for model endpoints"),
    ("24-cut-at-length", "the client for model endpoints"),
    ("25-retry-after-date", "the client for model endpoints"),
    ("26-no-logprobs", "the client for model endpoints and `kgaudit doctor`"),
    ("27-refusal", "the client for model endpoints and the gate"),
    ("32-script-in-label", "the review page"),
    ("34-bidi-label", "the review page"),
    ("36-nothing-new-tonight", "the Airflow DAGs"),
    ("37-null-logical-date", "the Airflow DAGs"),
]


@pytest.mark.parametrize(("case", "part"), LATER, ids=[f"{case}-{i}" for i, (case, _) in enumerate(LATER)])
def test_later(case: str, part: str) -> None:
    assert (FIELD / case / "case.json").is_file()
    pytest.skip(f"{case}: needs {part}")


def test_every_case_is_tried_or_named() -> None:
    tried = {
        number for path in Path(__file__).parent.glob("test_field_*.py") for number in re.findall(r"def test_(\d\d)_", path.read_text())
    }
    tried |= {case[:2] for case, _ in LATER}
    cases = {path.parent.name[:2] for path in FIELD.glob("*/case.json")}
    assert len(cases) == 37
    assert cases <= tried
