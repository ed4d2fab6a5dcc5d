"""How the log-odds of cue model and encoder become one: a line fitted on the dev splits, by data set and for unknown predicates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgaudit.claims import Claim
from kgaudit.documents import Passage
from kgaudit.errors import storage_error
from kgaudit.models.cue import Model, mean_raw
from kgaudit.models.embedded import FORMAT, EmbeddedJudge, Found
from kgaudit.models.encoder import Encoder
from kgaudit.models.excerpts import excerpts
from kgaudit.models.features import predicate_words, see
from kgaudit.training.pairs import made_items
from kgaudit.training.phenomena import generate

Items = Sequence[tuple[dict[str, Any], Claim, list[Passage]]]
SKIP_BELOW, SKIP_FROM = 0.1, 0.92
"""Where the cue model alone is surer than this, the encoder changes no verdict on dev (macro F1 is the same to three digits)."""
HELD_OUT = 300
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Scores:
    """Of the pairs of a data set's dev items: the item each belongs to, and its log-odds; of the items: their labels."""

    owner: NDArray[np.int64]
    cue: NDArray[np.float64]
    unknown: NDArray[np.float64]
    encoder: NDArray[np.float64]
    labels: NDArray[np.bool_]


def score_items(model: Model, encoder: Encoder, items: Items, windows: int) -> Scores:
    """Both log-odds of every pair of the items that holds both names; `unknown`: as if the predicate had not been trained on."""
    reader = EmbeddedJudge(model)
    found, owner = list[Found](), list[int]()
    for n, (_, claim, passages) in enumerate(items):
        here = reader.find([(claim, passage) for passage in passages])
        found += here
        owner += [n] * len(here)
    codes = [predicate_words(one.claim.predicate.label).label_code for one in found]
    seen = see([one.for_cue for one in found])
    asked = [excerpts(one.claim, one.text, one.mentions, one.title, windows) for one in found]
    flat = encoder.log_odds([excerpt for group in asked for excerpt in group])[:, 0]
    ends = np.cumsum([len(group) for group in asked])
    return Scores(
        owner=np.array(owner, dtype=np.int64),
        cue=mean_raw(model.members, seen, codes),
        unknown=mean_raw(model.members, seen, codes, as_unknown=True),
        encoder=np.array([flat[end - len(group) : end].max() for end, group in zip(ends, asked, strict=True)]),
        labels=np.array([bool(row["label"]) for row, _, _ in items]),
    )


def fit_line(owner: NDArray[np.int64], x: NDArray[np.float64], labels: NDArray[np.bool_]) -> tuple[float, float, float]:
    """(cue, encoder, shift) by logistic regression on the pair of each item to which the line itself gives most."""
    from sklearn.linear_model import LogisticRegression

    weights, shift = np.array([0.5, 0.5]), 0.0
    for _ in range(_ROUNDS):
        joined = x @ weights + shift
        best: dict[int, int] = {}
        for row in np.argsort(joined):
            best[int(owner[row])] = int(row)
        items = sorted(best)
        model = LogisticRegression(C=100.0).fit(x[[best[item] for item in items]], labels[items])
        weights, shift = model.coef_[0], float(model.intercept_[0])
    return float(weights[0]), float(weights[1]), shift


def held_out_items(seed: int) -> Items:
    """Our own minimal pairs in wordings and with predicates that no training has seen, as items of one passage."""
    made = generate(seed, HELD_OUT, held_out=True)
    return [({"label": one.stance == "supports"}, claim, [passage]) for one, claim, passage in made_items(made)]


def fit_lines(parts: Sequence[Scores], held_out: Scores) -> list[tuple[float, float, float]]:
    """Lines in the order of the cue model's calibration: all dev items, one for each data set, and for unknown predicates.

    The last is fitted on dev as if its predicates were unknown to the cue model, and on `held_out`: the encoder does know dev's.
    """
    starts = np.cumsum([0, *(len(part.labels) for part in parts)])
    owner = np.concatenate([part.owner + start for part, start in zip(parts, starts, strict=False)])
    labels = np.concatenate([part.labels for part in parts])

    def columns(part: Scores, known: bool) -> NDArray[np.float64]:
        return np.stack([part.cue if known else part.unknown, part.encoder], axis=1)

    everything = [np.concatenate([columns(part, known) for part in parts]) for known in (True, False)]
    lines = [fit_line(owner, everything[0], labels)]
    lines += [fit_line(part.owner, columns(part, True), part.labels) for part in parts]
    owner = np.concatenate([owner, held_out.owner + starts[-1]])
    unknown = np.concatenate([everything[1], columns(held_out, False)])
    return [*lines, fit_line(owner, unknown, np.concatenate([labels, held_out.labels]))]


def write_join(folder: Path, lines: Sequence[tuple[float, float, float]], windows: int, more: Mapping[str, Any]) -> None:
    """Writes `judge.json`. Raises `StorageError`."""
    numbers = {"format": FORMAT, "lines": lines, "skip_below": SKIP_BELOW, "skip_from": SKIP_FROM, "windows": windows, **more}
    try:
        (folder / "judge.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise storage_error(error, str(folder)) from error
