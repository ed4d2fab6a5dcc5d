"""The judge that ships: the cue model and the encoder read the same places, and a line fitted on dev joins their log-odds.

The cue model (`kgaudit.models.cue`) reads the whole document and counts; the encoder reads the stretch around the names and
understands more of it. The encoder costs most, and is not asked where the cue model is sure: that a passage says nothing; or that it
states the claim, by a predicate that was trained on and in sentences without a word that takes back, puts off or hedges. In languages
whose words were not learnt, only order and nearness of the names count.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgaudit.claims import Claim, Entity
from kgaudit.documents import Passage
from kgaudit.errors import ModelError
from kgaudit.models.contradictions import about_itself, denial, states_itself
from kgaudit.models.cue import Model, mean_raw, read_model
from kgaudit.models.encoder import Encoder
from kgaudit.models.excerpts import Excerpt, excerpts
from kgaudit.models.features import predicate_words, see
from kgaudit.models.judge import Weighing, odds
from kgaudit.models.mentions import PRONOUN, TITLE, Link, Mentions, find_mentions, words_of_predicate
from kgaudit.models.reading import Reading, language_of, read
from kgaudit.models.values import claimed_value
from kgaudit.text import fold_name, fold_text, spread_name
from kgaudit.verdicts import Stance

LINKS = 6
"""So many places of a document where the names may belong together are looked at for an excerpt; the cue model reads the first two."""
CUE_LINKS = 2
FORMAT = 2
_LEARNT = frozenset(("en",))
_TURNED_BELOW, _TURNED_FROM = 0.3, 0.8
_DENIED, _DOUBT, _ITSELF = 0.3, 0.15, 0.05
SYMMETRIC = frozenset(
    "spouse;sibling;partner;married to;shares border with;twinned administrative body;relative;different from".split(";")
)


@dataclass(frozen=True, slots=True)
class Join:
    """How the two log-odds become one: `lines` are (cue, encoder, shift), numbered as the cue model's calibration lines.

    Pairs to which the cue model alone gives less than `skip_below` are left at that, and those to which it gives `skip_from` and more,
    where the predicate is known and nothing hedges. `windows`: excerpts read of a document.
    """

    lines: tuple[tuple[float, float, float], ...]
    skip_below: float
    skip_from: float
    windows: int


@dataclass(frozen=True, slots=True)
class Found:
    """A pair that holds both names."""

    index: int
    claim: Claim
    text: Reading
    mentions: Mentions
    title: str

    @property
    def for_cue(self) -> tuple[Claim, Reading, Mentions]:
        """What the cue model reads."""
        return self.claim, self.text, replace(self.mentions, links=self.mentions.links[:CUE_LINKS])


class EmbeddedJudge:
    """The embedded judge. Deterministic; for one thread at a time. Without `encoder` and `join` the cue model decides alone."""

    def __init__(self, model: Model, encoder: Encoder | None = None, join: Join | None = None, folder: Path | None = None) -> None:
        self._model, self._encoder, self._join, self._folder = model, encoder, join, folder
        self._readings: dict[tuple[str, str], Reading] = {}

    @property
    def name(self) -> str:
        """`cue-1`, or `embedded-1` with the encoder."""
        return "cue-1" if self._encoder is None else "embedded-1"

    @property
    def digest(self) -> str:
        """sha256 of weights and calibration."""
        if self._encoder is None:
            return self._model.digest
        return sha256(f"{self._model.digest} {self._encoder.digest} {self._join}".encode()).hexdigest()

    @property
    def again(self) -> Callable[[], EmbeddedJudge]:
        """Opens the judge's folder in another process, for one thread."""
        return partial(load_judge, self._folder, 1)

    def judge(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        """The stance of each passage on its claim. A passage that lacks a name is `neither` at once."""
        return self._stances(pairs, self._scores)

    def _stances(
        self, pairs: Sequence[tuple[Claim, Passage]], scored: Callable[[Sequence[Found]], NDArray[np.float64]]
    ) -> list[Stance]:
        nothing = float(self._model.settings["p_without_names"])
        stances = [Stance(nothing, 0.0, 1.0 - nothing, 0, 0, "does not hold both names")] * len(pairs)
        found = self.find(pairs)
        english = [one for one in found if one.text.language in _LEARNT]
        scores = dict(zip((one.index for one in english), scored(english).tolist(), strict=True))
        turned = self._turned_round([one for one in english if scores[one.index] < _TURNED_BELOW])
        for one in found:
            p = scores[one.index] if one.index in scores else self._by_position(one)
            stances[one.index] = _stance(one.claim, one.text, one.mentions, p, turned.get(one.index, 0.0))
        return stances

    def glance(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Stance]:
        """As `judge`, by the cue model alone."""
        return self._stances(pairs, self._alone)

    def find(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Found]:
        """The pairs that hold both names, read."""
        found = []
        for i, (claim, passage) in enumerate(pairs):
            if not (_may_name(passage, claim.subject) and _may_name(passage, claim.object)):
                continue  # reading costs more than looking
            text, title = self._read(passage)
            mentions = find_mentions(claim, text, title, LINKS)
            if mentions.links:
                found.append(Found(i, claim, text, mentions, passage.title))
        return found

    def _turned_round(self, found: Sequence[Found]) -> dict[int, float]:
        """How well, to the cue model, the text supports the claim turned round, where that would speak against it."""
        asked = [
            replace(one, claim=_turned(one.claim), mentions=_turned_mentions(one.mentions))
            for one in found
            if not one.claim.object.is_literal and not about_itself(one.claim) and not _is_symmetric(one.claim)
        ]
        return dict(zip((one.index for one in asked), self._alone(asked).tolist(), strict=True))

    def _by_position(self, found: Found) -> float:
        """In a language whose words were not learnt: how often names that stand so are related, by order and way between them and by
        what stands there of the predicate's own label."""
        numbers, link = self._model.settings["plain"], found.mentions.links[0]
        said = numbers["label"] * words_of_predicate(found.text, link, found.claim.predicate.label)
        if TITLE in (link.s.kind, link.o.kind):
            score = numbers["title"] + said
        else:
            gap = link.o.first - link.s.last if link.s.last <= link.o.first else link.s.first - link.o.last
            order = numbers["subject_first"] * (link.s.last <= link.o.first)
            score = numbers["shift"] + numbers["gap"] * math.log1p(max(0, gap)) + order + said
        return float(1.0 / (1.0 + math.exp(-score)))

    def weigh(self, claim: Claim, passages: Sequence[Passage], stances: Sequence[Stance]) -> Weighing:
        """The strongest stances decide; stances are calibrated so that the highest of a claim's is its probability.

        Where passages contradict each other, the odds of each side add up: one that supports does not outweigh several that deny.
        """
        if not stances:
            return Weighing(float(self._model.settings["p_without_names"]), 0.0)
        supported = max(stance.supports for stance in stances)
        refuted = min(max(stance.refutes for stance in stances), 1.0 - supported)
        against = sum(odds(stance.refutes) for stance in stances if stance.refutes >= 0.5)
        if against and supported >= 0.5:
            speaking_for = sum(odds(stance.supports) for stance in stances if stance.supports >= 0.5)
            total = 1.0 + speaking_for + against
            supported, refuted = speaking_for / total, against / total
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

    def _alone(self, found: Sequence[Found]) -> NDArray[np.float64]:
        """Calibrated probabilities by the cue model."""
        return self._calibrated(*self._cues(found))

    def _calibrated(self, raw: NDArray[np.float64], groups: Sequence[int]) -> NDArray[np.float64]:
        lines = np.array(self._model.settings["calibration"]).reshape(-1, 2)[groups]
        return _sigmoid(raw * lines[:, 0] + lines[:, 1])

    def _cues(self, found: Sequence[Found]) -> tuple[NDArray[np.float64], list[int]]:
        """The cue model's log-odds, and the number of the calibration line that holds for each pair."""
        if not found:
            return np.zeros(0), []
        codes = [predicate_words(one.claim.predicate.label).label_code for one in found]
        raw = mean_raw(self._model.members, see([one.for_cue for one in found]), codes)
        return raw, [self._model.line_of(code) for code in codes]

    def _scores(self, found: Sequence[Found]) -> NDArray[np.float64]:
        """Calibrated probabilities of pairs that hold both names."""
        if self._encoder is None or self._join is None or not found:
            return self._alone(found)
        raw, groups = self._cues(found)
        alone = self._calibrated(raw, groups)
        asked = [
            i
            for i, p in enumerate(alone)
            if p >= self._join.skip_below and (p < self._join.skip_from or groups[i] == self._model.unknown_line or _hedged(found[i]))
        ]
        understood = self._understood([found[i] for i in asked])
        joined = np.array(self._join.lines)[groups][asked]
        alone[asked] = _sigmoid(raw[asked] * joined[:, 0] + understood * joined[:, 1] + joined[:, 2])
        return alone

    def _understood(self, found: Sequence[Found]) -> NDArray[np.float64]:
        """The encoder's highest log-odds over the excerpts of each pair."""
        assert self._encoder is not None
        assert self._join is not None
        asked, owners = list[Excerpt](), list[int]()
        for n, one in enumerate(found):
            read_here = excerpts(one.claim, one.text, one.mentions, one.title, self._join.windows)
            asked += read_here
            owners += [n] * len(read_here)
        highest = np.full(len(found), -np.inf)
        if asked:
            np.maximum.at(highest, owners, self._encoder.log_odds(asked)[:, 0])
        return highest


_HEDGES = re.compile(
    r"\b(?:not|no|never|nor|neither|without|former\w*|ex-|previous\w*|until|till|once|would|could|might|may|should|will|if|unless"
    r"|plan\w*|propos\w*|intend\w*|expect\w*|hop\w{1,3}|rumou?r\w*|alleg\w*|claim\w*|report\w*|suppos\w*|suggest\w*|believ\w*|den(?:y|ie)\w*"
    r"|reject\w*|refus\w*|fail\w*|cancel\w*|withdr\w*|resign\w*|sold|left|lost|end(?:ed|s)|clos(?:ed|es)|dissolv\w*|nomin\w*|candidat\w*"
    r"|unlike|instead|rather|despite|although|but|however|almost|nearly)\b|n['’]t\b",
    re.IGNORECASE,
)


def _hedged(found: Found) -> bool:
    """Whether the sentences of the best link hold a word that may take back what they say."""
    start, end = _span(found.text, found.mentions)
    return _HEDGES.search(found.text.text, start, end) is not None


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.0 / (1.0 + np.exp(-np.clip(x, -30, 30)))


@lru_cache(maxsize=8192)
def _plain(text: str) -> str:
    return " ".join(fold_text(text).split())


def _may_name(passage: Passage, entity: Entity) -> bool:
    """Whether a full name of the entity stands anywhere in text or title; dates and numbers may, in words that are not looked for."""
    if entity.is_literal and claimed_value(entity) is not None:
        return True
    text, title = _plain(passage.text), _plain(passage.title)
    if any(name and (name in text or name in title) for name in map(fold_name, entity.names)):
        return True
    return any(parts is not None and all(part in text for part in parts) for parts in map(spread_name, entity.names))


def _turned(claim: Claim) -> Claim:
    return replace(claim, subject=claim.object, object=claim.subject)


def _turned_mentions(mentions: Mentions) -> Mentions:
    links = tuple(Link(link.o, link.s, link.cost) for link in mentions.links)
    return Mentions(mentions.o, mentions.s, mentions.o_in_title, mentions.s_in_title, links)


def _is_symmetric(claim: Claim) -> bool:
    return claim.predicate.symmetric or fold_name(claim.predicate.label) in SYMMETRIC


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
def load_default() -> EmbeddedJudge:
    """The judge that ships with the package. Raises `ModelError` where its files are missing or damaged."""
    return _load(None, None)


def load_judge(folder: Path | None = None, threads: int | None = None) -> EmbeddedJudge:
    """The judge in a folder that `kgaudit train judge` made, or the one that ships: the cue model, and beside it the encoder where
    there is one. `threads`: how many the encoder may use; None: as many as there are processors.

    Raises `ModelError` where files are missing, damaged or of another version.
    """
    return load_default() if folder is None and threads is None else _load(folder, threads)


def _load(folder: Path | None, threads: int | None) -> EmbeddedJudge:
    place = folder or Path(str(files("kgaudit.models") / "data"))
    model = read_model(place)
    if not (place / "judge.json").is_file():
        return EmbeddedJudge(model, folder=folder)
    try:
        numbers = json.loads((place / "judge.json").read_text(encoding="utf-8"))
        if numbers["format"] != FORMAT:
            raise ModelError("the judge is of another version", where=str(place), todo="Install kgaudit again or train it again.")
        lines = tuple((float(cue), float(encoder), float(shift)) for cue, encoder, shift in numbers["lines"])
        join = Join(lines, float(numbers["skip_below"]), float(numbers["skip_from"]), int(numbers["windows"]))
    except (OSError, LookupError, ValueError, TypeError) as error:
        raise ModelError(f"judge.json cannot be read ({error})", where=str(place), todo="Train the judge again.") from error
    if len(join.lines) != len(model.settings["calibration"]):
        raise ModelError("judge.json and cue.json do not belong together", where=str(place), todo="Train the judge again.")
    return EmbeddedJudge(model, Encoder(place, threads), join, folder)
