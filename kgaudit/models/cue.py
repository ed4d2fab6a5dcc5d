"""The cue judge: reads the words around and between the two names, where they stand, and what else could stand there. numpy only.

A hashed linear model scores the n-grams of the claim's best link and of its rivals (other names in the object's or subject's place,
the names swapped); boosted trees join these scores with positions; the mean of several such fits is calibrated to a probability.
In languages that the words were not learnt in, only order and nearness of the names count. Weights: `kgaudit/models/data` with
MODEL_CARD.md, made by `kgaudit.training.cue`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from kgaudit.claims import Claim, Entity
from kgaudit.documents import Passage
from kgaudit.errors import ModelError
from kgaudit.models.contradictions import about_itself, denial, states_itself
from kgaudit.models.features import HASH_BITS, Seen, dot, predicate_words, see, tree_features
from kgaudit.models.judge import Weighing
from kgaudit.models.mentions import PRONOUN, TITLE, Link, Mentions, find_mentions
from kgaudit.models.reading import Reading, language_of, read
from kgaudit.models.trees import Trees
from kgaudit.models.values import claimed_value
from kgaudit.text import fold_name, fold_text
from kgaudit.verdicts import Stance

FORMAT = 2
_TREE_PARTS = ("feature", "threshold", "left", "right", "value")
_LEARNT = frozenset(("en",))
_TURNED_BELOW, _TURNED_FROM = 0.3, 0.8
_DENIED, _DOUBT, _ITSELF = 0.3, 0.15, 0.05
_SYMMETRIC = frozenset(
    "spouse;sibling;partner;married to;shares border with;twinned administrative body;relative;different from".split(";")
)


@dataclass(frozen=True, slots=True)
class Member:
    """One fit: linear models, trees over them, and how many training rows each predicate had, by label code.

    `linear` holds dense weights of length 2**HASH_BITS: `crossed` and `uncrossed` of the full score, `general` of that which knows no
    predicate.
    """

    linear: dict[str, NDArray[np.float32]]
    trees: Trees
    known: dict[int, int]
    intercept: float
    general_intercept: float

    def raw(self, seen: Seen, codes: Sequence[int], *, as_unknown: bool = False) -> NDArray[np.float64]:
        """Log-odds of pairs, not calibrated; `as_unknown`: as if their predicates had not been trained on."""
        general = dot(seen.uncrossed, self.linear["general"]) + self.general_intercept
        full = dot(seen.uncrossed, self.linear["uncrossed"]) + self.intercept
        if not as_unknown:
            full = full + dot(seen.crossed, self.linear["crossed"])
        counts = [0 if as_unknown else self.known.get(code, 0) for code in codes]
        return self.trees.score(tree_features(seen, full, general, np.log1p(np.array(counts, dtype=np.float64))))


@dataclass(frozen=True, slots=True)
class Model:
    """Everything that decides a stance: members whose log-odds are averaged, and the calibration of their mean.

    `groups` says which calibration line holds for a predicate, by label code; those of predicates that no member was trained on
    have a line of their own.
    """

    members: tuple[Member, ...]
    groups: dict[int, int]
    settings: dict[str, Any]
    digest: str

    def line_of(self, code: int) -> int:
        """The number of the calibration line of a predicate."""
        if not any(code in member.known for member in self.members):
            return len(self.settings["calibration"]) - 1
        return self.groups.get(code, 0)


def mean_raw(members: Sequence[Member], seen: Seen, codes: Sequence[int], *, as_unknown: bool = False) -> NDArray[np.float64]:
    """The mean of the members' log-odds."""
    mean: NDArray[np.float64] = np.mean([member.raw(seen, codes, as_unknown=as_unknown) for member in members], axis=0)
    return mean


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
        return Model(
            members=tuple(_member(arrays, f"{number}_", numbers) for number, numbers in enumerate(settings["members"])),
            groups=dict(zip(arrays["group_codes"].tolist(), arrays["groups"].tolist(), strict=True)),
            settings=settings,
            digest=sha256(raw + text).hexdigest(),
        )
    except (OSError, LookupError, ValueError, TypeError, BadZipFile) as error:
        raise ModelError(
            f"the judge's weights cannot be read ({error})", where=str(folder), todo="Install kgaudit again or train the judge again."
        ) from error


def _trees(parts: dict[str, NDArray[Any]], numbers: dict[str, Any]) -> Trees:
    return Trees(base=numbers["base"], depth=numbers["depth"], **parts)


def _member(arrays: dict[str, NDArray[Any]], prefix: str, numbers: dict[str, Any]) -> Member:
    linear = {}
    for name in ("crossed", "uncrossed", "general"):
        dense = np.zeros(1 << HASH_BITS, dtype=np.float32)
        places = np.cumsum(arrays[f"{prefix}{name}_steps"].astype(np.int64))
        dense[places] = arrays[f"{prefix}{name}_weights"].astype(np.float32) * numbers["scales"][name]
        linear[name] = dense
    return Member(
        linear=linear,
        trees=_trees({part: arrays[f"{prefix}trees_{part}"] for part in _TREE_PARTS}, numbers["trees"]),
        known=dict(zip(arrays[f"{prefix}known_codes"].tolist(), arrays[f"{prefix}known_counts"].tolist(), strict=True)),
        intercept=numbers["intercept"],
        general_intercept=numbers["general_intercept"],
    )


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
        nothing = float(self._model.settings["p_without_names"])
        stances = [Stance(nothing, 0.0, 1.0 - nothing, 0, 0, "does not hold both names")] * len(pairs)
        found: list[tuple[int, Claim, Reading, Mentions]] = []
        for i, (claim, passage) in enumerate(pairs):
            if not (_may_name(passage, claim.subject) and _may_name(passage, claim.object)):
                continue  # reading costs more than looking
            text, title = self._read(passage)
            mentions = find_mentions(claim, text, title)
            if mentions.links:
                found.append((i, claim, text, mentions))
        english = [one for one in found if one[2].language in _LEARNT]
        scores = dict(zip((one[0] for one in english), self._scores([one[1:] for one in english]).tolist(), strict=True))
        turned = self._turned_round([one for one in english if scores[one[0]] < _TURNED_BELOW])
        for i, claim, text, mentions in found:
            p = scores[i] if i in scores else self._by_position(text, mentions)
            stances[i] = _stance(claim, text, mentions, p, turned.get(i, 0.0))
        return stances

    def _turned_round(self, pairs: list[tuple[int, Claim, Reading, Mentions]]) -> dict[int, float]:
        """How well the text supports the claim with subject and object exchanged, where that would speak against it."""
        asked = [
            (i, _turned(claim), text, _turned_mentions(mentions))
            for i, claim, text, mentions in pairs
            if not claim.object.is_literal and not about_itself(claim) and not _is_symmetric(claim)
        ]
        return dict(zip((one[0] for one in asked), self._scores([one[1:] for one in asked]).tolist(), strict=True))

    def _by_position(self, text: Reading, mentions: Mentions) -> float:
        """In a language whose words were not learnt: how often names that stand so are related, never more than `plain_most`."""
        numbers = self._model.settings["plain"]
        link = mentions.links[0]
        if TITLE in (link.s.kind, link.o.kind):
            return float(numbers["with_title"])
        gap = link.o.first - link.s.last if link.s.last <= link.o.first else link.s.first - link.o.last
        score = numbers["shift"] + numbers["gap"] * math.log1p(max(0, gap)) + numbers["subject_first"] * (link.s.last <= link.o.first)
        return 1.0 / (1.0 + math.exp(-score))

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
        model, seen = self._model, see(pairs)
        codes = [predicate_words(claim.predicate.label).label_code for claim, _, _ in pairs]
        raw = mean_raw(model.members, seen, codes)
        lines = np.array(model.settings["calibration"])[[model.line_of(code) for code in codes]]
        return _sigmoid(raw * lines[:, 0] + lines[:, 1])


@lru_cache(maxsize=8192)
def _plain(text: str) -> str:
    return " ".join(fold_text(text).split())


def _may_name(passage: Passage, entity: Entity) -> bool:
    """Whether a full name of the entity stands anywhere in text or title; dates and numbers may, in words that are not looked for."""
    if entity.is_literal and claimed_value(entity) is not None:
        return True
    text, title = _plain(passage.text), _plain(passage.title)
    return any(name and (name in text or name in title) for name in map(fold_name, entity.names))


def _turned(claim: Claim) -> Claim:
    return replace(claim, subject=claim.object, object=claim.subject)


def _turned_mentions(mentions: Mentions) -> Mentions:
    links = tuple(Link(link.o, link.s, link.cost) for link in mentions.links)
    return Mentions(mentions.o, mentions.s, mentions.o_in_title, mentions.s_in_title, links)


def _is_symmetric(claim: Claim) -> bool:
    return claim.predicate.symmetric or fold_name(claim.predicate.label) in _SYMMETRIC


def _stance(claim: Claim, text: Reading, mentions: Mentions, p: float, turned: float) -> Stance:
    """Puts together the model's probability and the positive reasons to refute."""
    start, end = _span(text, mentions)
    note = _note(text, mentions)
    refutes = 0.0
    if about_itself(claim):
        if not states_itself(claim, text, mentions):
            p, note = min(p, _ITSELF), "subject and object are the same, and the text does not relate it to itself"
    elif text.language in _LEARNT and (denied := denial(claim, text, mentions)):
        p, refutes, note = p * _DENIED, 1.0 - p * _DENIED - _DOUBT, f"denied: {denied}"
    elif turned >= _TURNED_FROM:
        refutes, note = min(turned, 1.0 - p), "states the other direction"
    return Stance(p, refutes, max(0.0, 1.0 - p - refutes), start, end, note)


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
