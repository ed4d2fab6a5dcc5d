"""When the encoder is asked: not where the cue model is sure and nothing may take back what it read."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from conftest import make_claim, make_passage
from numpy.typing import NDArray

from kgaudit.models.cue import read_model
from kgaudit.models.embedded import EmbeddedJudge, Join
from kgaudit.models.excerpts import Excerpt

MODEL = read_model(Path(str(files("kgaudit.models") / "data")))
KNOWN = "place of birth"
SURE = "Ada Quill was born in Orvik."


class Asked:
    """Stands for the encoder, and finds everything very unlikely."""

    digest = "asked"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def log_odds(self, asked: Sequence[Excerpt]) -> NDArray[np.float64]:
        self.texts += [one.text for one in asked]
        return np.full((len(asked), 2), -20.0)


def _judged(predicate: str, text: str, below: float = 0.1, above: float = 0.6) -> tuple[float, bool]:
    asked = Asked()
    join = Join(((0.0, 1.0, 0.0),) * len(MODEL.settings["calibration"]), below, above, 1)
    judge = EmbeddedJudge(MODEL, asked, join)  # type: ignore[arg-type]
    (stance,) = judge.judge([(make_claim("Ada Quill", predicate, "Orvik"), make_passage("d", text))])
    return stance.supports, bool(asked.texts)


def test_a_plain_statement_needs_no_encoder() -> None:
    supports, asked = _judged(KNOWN, SURE)
    assert not asked
    assert supports > 0.6


@pytest.mark.parametrize(
    "text",
    [
        "Ada Quill was not born in Orvik.",
        "It was claimed that Ada Quill was born in Orvik.",
        "Ada Quill was born in Orvik, or so rumours had it.",
        "Ada Quill wasn't born in Orvik.",
        "Ada Quill would have been born in Orvik.",
    ],
)
def test_what_may_be_taken_back_is_read(text: str) -> None:
    supports, asked = _judged(KNOWN, text)
    assert asked
    assert supports < 0.01


def test_a_predicate_that_was_not_trained_on_is_read() -> None:
    assert _judged("place of the first quarrel", SURE, below=0.0, above=0.0)[1]


def test_what_the_cue_model_is_sure_of_to_say_nothing_is_not_read() -> None:
    text = f"Orvik has a harbour. {'It rains there in autumn. ' * 40}Ada Quill likes soup."
    assert not _judged(KNOWN, text, below=0.5)[1]
    assert _judged(KNOWN, text, below=0.0)[1]
