"""The cue judge: reads the words around and between the two names, where they stand, and what else could stand there. numpy only.

A hashed linear model scores the n-grams of the claim's best link and of its rivals (other names in the object's or subject's place,
the names swapped); boosted trees join these scores with positions; a calibration makes their output a probability. In languages that
the words were not learnt in, a smaller set of trees sees positions alone. Weights: `kgaudit/models/data` with MODEL_CARD.md, made by
`kgaudit.training.cue`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgaudit.claims import Claim
from kgaudit.documents import Passage
from kgaudit.errors import ModelError
from kgaudit.models.features import HASH_BITS, dot, predicate_words, see, tree_features
from kgaudit.models.judge import Weighing
from kgaudit.models.mentions import PRONOUN, TITLE, Mentions, find_mentions
from kgaudit.models.reading import Reading, language_of, read
from kgaudit.models.trees import Trees
from kgaudit.verdicts import Stance

FORMAT = 1
_TREE_PARTS = ("feature", "threshold", "left", "right", "value")
_SYMMETRIC = frozenset(
    "spouse;sibling;partner;married to;shares border with;twinned administrative body;relative;different from".split(";")
)


@dataclass(frozen=True, slots=True)
class Model:
    """Everything that decides a stance. `linear` holds dense weights of length 2**HASH_BITS: `crossed` and `uncrossed` of the full score,
    `general` of the score that knows no predicate. `known` counts training rows by predicate label code. `settings` are calibration numbers."""

    linear: dict[str, NDArray[np.float32]]
    trees: Trees
    known: dict[int, int]
    settings: dict[str, Any]
    digest: str


def read_model(folder: Path | Any) -> Model:
    """The model in `folder` (`cue.npz`, `cue.json`). Raises `ModelError` where it is missing, damaged or of another format."""
    weights, meta = folder / "cue.npz", folder / "cue.json"
    try:
        raw = weights.read_bytes()
        text = meta.read_bytes()
        settings = json.loads(text)
        if settings["format"] != FORMAT or settings["hash_bits"] != HASH_BITS:
            raise ModelError(
                "the judge's weights are of another version", where=str(folder), todo="Install kgaudit again or train the judge again."
            )
        with weights.open("rb") as file, np.load(file, allow_pickle=False) as parts:
            arrays = {name: parts[name] for name in parts.files}
        linear = {}
        for name in ("crossed", "uncrossed", "general"):
            dense = np.zeros(1 << HASH_BITS, dtype=np.float32)
            dense[np.cumsum(arrays[f"{name}_steps"].astype(np.int64))] = (
                arrays[f"{name}_weights"].astype(np.float32) * settings["scales"][name]
            )
            linear[name] = dense
        known = dict(zip(arrays["known_codes"].tolist(), arrays["known_counts"].tolist(), strict=True))
        return Model(
            linear=linear,
            trees=_trees(arrays, "trees", settings),
            known=known,
            settings=settings,
            digest=sha256(raw + text).hexdigest(),
        )
    except (OSError, KeyError, ValueError) as error:
        raise ModelError(
            f"the judge's weights cannot be read ({error})", where=str(folder), todo="Install kgaudit again or train the judge again."
        ) from error


def _trees(arrays: dict[str, NDArray[Any]], name: str, settings: dict[str, Any]) -> Trees:
    parts = {part: arrays[f"{name}_{part}"] for part in _TREE_PARTS}
    return Trees(**parts, base=settings[name]["base"], depth=settings[name]["depth"])


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.0 / (1.0 + np.exp(-np.clip(x, -30, 30)))


class CueJudge:
    """The embedded judge. Deterministic; for one thread at a time."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._readings: dict[tuple[str, str], Reading] = {}

    @property
    def name(self) -> str:
        """`cue-1`."""
        return "cue-1"

    @property
    def digest(self) -> str:
        """sha256 of weights and calibration."""
        return self._model.digest

    def judge(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        """The stance of each passage on its claim. A passage that lacks a name is `neither` at once."""
        read_pairs = [(claim, *self._read(passage)) for claim, passage in pairs]
        mentions = [find_mentions(claim, text, title) for claim, text, title in read_pairs]
        scored = [i for i, found in enumerate(mentions) if found.links]
        scores = self._scores([(read_pairs[i][0], read_pairs[i][1], mentions[i]) for i in scored])
        nothing = float(self._model.settings["p_without_names"])
        stances = [Stance(nothing, 0.0, 1.0 - nothing, 0, 0, "does not hold both names")] * len(pairs)
        for i, p in zip(scored, scores.tolist(), strict=True):
            claim, text, _ = read_pairs[i]
            start, end = _span(text, mentions[i])
            stances[i] = Stance(p, 0.0, 1.0 - p, start, end, _note(text, mentions[i]))
        return stances

    def weigh(self, claim: Claim, passages: Sequence[Passage], stances: Sequence[Stance]) -> Weighing:
        """The strongest stances decide; stances are calibrated so that the highest of a claim's is its probability."""
        if not stances:
            return Weighing(float(self._model.settings["p_without_names"]), 0.0)
        supported = max(stance.supports for stance in stances)
        refuted = min(max(stance.refutes for stance in stances), 1.0 - supported)
        strength = [max(stance.supports, stance.refutes) for stance in stances]
        order = sorted((i for i, stance in enumerate(stances) if stance.end > stance.start), key=lambda i: (-strength[i], i))
        return Weighing(supported, refuted, tuple(order[:3]))

    def _read(self, passage: Passage) -> tuple[Reading, Reading | None]:
        language = language_of(passage)
        text = self._reading(passage.text, language)
        return text, self._reading(passage.title, language) if passage.title else None

    def _reading(self, text: str, language: str) -> Reading:
        key = (text, language)
        found = self._readings.get(key)
        if found is None:
            if len(self._readings) >= 8192:
                self._readings.clear()
            found = self._readings[key] = read(text, language)
        return found

    def _scores(self, pairs: list[tuple[Claim, Reading, Mentions]]) -> NDArray[np.float64]:
        """Calibrated probabilities of pairs that hold both names."""
        if not pairs:
            return np.zeros(0)
        model = self._model
        seen = see(pairs)
        general = dot(seen.uncrossed, model.linear["general"])
        full = dot(seen.crossed, model.linear["crossed"]) + dot(seen.uncrossed, model.linear["uncrossed"]) + model.settings["intercept"]
        codes = [predicate_words(claim.predicate.label).label_code for claim, _, _ in pairs]
        known = np.log1p(np.array([model.known.get(code, 0) for code in codes], dtype=np.float64))
        x = tree_features(seen, full, general + model.settings["general_intercept"], known)
        raw = model.trees.score(x)
        scale, shift = model.settings["calibration"]
        return _sigmoid(raw * scale + shift)


def _span(text: Reading, mentions: Mentions) -> tuple[int, int]:
    """From the first to the last of the sentences in which the best link stands."""
    link = mentions.links[0]
    numbers = [text.sentence_of[place.first] for place in (link.s, link.o) if place.kind != TITLE]
    return text.sentence_spans[min(numbers)][0], text.sentence_spans[max(numbers)][1]


def _note(text: Reading, mentions: Mentions) -> str:
    link = mentions.links[0]
    s, o = link.s, link.o
    if TITLE in (s.kind, o.kind):
        which = "subject" if s.kind == TITLE else "object"
        return f"{which} named by the title"
    if text.sentence_of[s.first] != text.sentence_of[o.first]:
        return "names in different sentences"
    apart = max(0, o.first - s.last if s.last <= o.first else s.first - o.last)
    how = " (by a pronoun)" if PRONOUN in (s.kind, o.kind) else ""
    return "names side by side" + how if apart == 0 else f"names {apart} word{'s' * (apart != 1)} apart{how}"


@lru_cache(maxsize=1)
def load_default() -> CueJudge:
    """The judge that ships with the package. Raises `ModelError` where its files are missing or damaged."""
    return CueJudge(read_model(files("kgaudit.models") / "data"))
