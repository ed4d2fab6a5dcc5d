"""The recipe of a judge: one YAML file that says from which data, in which shares, on which base and with which seed it is made.

data: ../data                  folder with wiki-triples, biomed-triples and judge-extra (relative to the recipe)
seed: 0
cue: train                     train the cue model (about ten minutes), or `shipped`: take the one of the installed judge
made: 8000                     pairs of our own material for the phenomena
windows: 1                     excerpts of a document that the encoder reads
student:
  base: models/all-mpnet-base-v2     folder of transformers (type mpnet or bert)
  layers: 6                          kept from below
  stages:
    - {name: reading, learning_rate: 6.0e-5, batch: 32, shares: {relations-en: 0.4, claims-en: 0.4}}
    - {name: taught, learning_rate: 4.0e-5, batch: 32, taught: true, keep: [0, 1, 3, 5], shares: {train-pairs: 0.5, corpus: 1}}
teacher:                       optional, of the same form; `taught` stages of the student learn its probabilities beside the labels
  grown: true                  its lower layers are the student's, as they are before the first `taught` stage
corpus: 4000                   pairs of the documents' own names with a predicate, unlabelled: for `taught` stages
reviewed: labels.jsonl         optional: claims with documents that people judged (fields as in train-pairs.jsonl, with text)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from kgaudit.errors import UsageError, storage_error

SOURCES = (
    "wiki-triples", "biomed-triples", "train-pairs", "swaps", "relations-en", "relations-ko", "claims-en", "claims-ko", "made",
    "corpus", "reviewed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stage:
    """One pass over a mixture. `shares`: how much of each group of sources is taken; 2 takes it twice, 0.5 a random half. `taught`: the
    teacher's probabilities are learnt beside the labels. `keep`: it begins with these layers of the stage before, counted from 0."""

    name: str
    learning_rate: float
    batch: int
    shares: tuple[tuple[str, float], ...]
    taught: bool = False
    keep: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EncoderRecipe:
    """How one encoder is made: stages in order, each from the result of the one before. `grown`: the lower layers are the student's."""

    base: Path
    layers: int
    stages: tuple[Stage, ...]
    grown: bool = False


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides a judge. `digest` is that of the file."""

    path: Path
    data: Path
    seed: int
    cue: str
    made: int
    corpus: int
    windows: int
    student: EncoderRecipe
    teacher: EncoderRecipe | None
    reviewed: Path | None
    digest: str


def read_recipe(path: Path) -> Recipe:
    """Raises `UsageError` naming what is missing or wrong, `StorageError` where the file cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise storage_error(error, str(path)) from error
    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"not YAML ({error})", where=str(path), todo="See the README's section on training a judge.") from error
    reader = _Fields(path, loaded, "")
    known = {"data", "seed", "cue", "made", "corpus", "windows", "student", "teacher", "reviewed"}
    reader.refuse_others(known)
    cue = reader.get("cue", str, "train")
    if cue not in ("train", "shipped"):
        raise UsageError(f"cue: {cue!r} is neither train nor shipped", where=str(path), todo="Write one of the two.")
    reviewed = reader.get("reviewed", str, "")
    student = _encoder(path, reader.get("student", dict), "student")
    teacher = _encoder(path, reader.get("teacher", dict), "teacher") if "teacher" in loaded else None
    _check_teaching(path, student, teacher)
    return Recipe(
        path=path,
        data=_beside(path, reader.get("data", str)),
        seed=reader.get("seed", int, 0),
        cue=cue,
        made=reader.get("made", int, 0),
        corpus=reader.get("corpus", int, 0),
        windows=reader.get("windows", int, 1),
        student=student,
        teacher=teacher,
        reviewed=_beside(path, reviewed) if reviewed else None,
        digest=sha256(text.encode()).hexdigest(),
    )


def _check_teaching(path: Path, student: EncoderRecipe, teacher: EncoderRecipe | None) -> None:
    taught = [stage.name for stage in student.stages if stage.taught]
    if (taught and teacher is None) or (teacher is not None and (not taught or any(stage.taught for stage in teacher.stages))):
        raise UsageError(
            "a teacher and the student's taught stages need one another",
            where=str(path),
            todo="Describe a `teacher`, and write `taught: true` at the stages of the student that learn from it; or leave both out.",
        )
    if student.grown or (teacher is not None and teacher.grown and student.stages[0].taught):
        raise UsageError(
            "grown: there is nothing of the student yet to grow from",
            where=str(path),
            todo="Only a teacher is grown, after a stage of the student that is not taught.",
        )


def _encoder(path: Path, fields: Mapping[str, Any], name: str) -> EncoderRecipe:
    reader = _Fields(path, fields, f"{name}.")
    reader.refuse_others({"base", "layers", "stages", "grown"})
    stages = tuple(_stage(path, one, f"{name}.stages[{n}].") for n, one in enumerate(reader.get("stages", list)))
    if not stages or len({stage.name for stage in stages}) < len(stages):
        raise UsageError(f"{name}.stages must hold at least one, each with a name of its own", where=str(path), todo="Name the stages.")
    base = _beside(path, reader.get("base", str))
    return EncoderRecipe(base, reader.get("layers", int), stages, reader.get("grown", bool, False))


def _stage(path: Path, fields: object, place: str) -> Stage:
    reader = _Fields(path, fields, place)
    reader.refuse_others({"name", "learning_rate", "batch", "shares", "taught", "keep"})
    shares = reader.get("shares", dict)
    unknown = sorted(set(shares) - set(SOURCES))
    if unknown or any(not isinstance(share, int | float) or share <= 0 for share in shares.values()):
        what = f"no such source: {', '.join(unknown)}" if unknown else "a share is not a number above 0"
        raise UsageError(f"{place}shares: {what}", where=str(path), todo=f"Sources are {', '.join(SOURCES)}.")
    keep = reader.get("keep", list, [])
    if any(not isinstance(layer, int) or layer < 0 for layer in keep) or sorted(set(keep)) != keep:
        raise UsageError(f"{place}keep: not the numbers of layers, from below", where=str(path), todo="Write such as [0, 1, 3, 5].")
    return Stage(
        reader.get("name", str),
        float(reader.get("learning_rate", float)),
        reader.get("batch", int, 32),
        tuple(sorted((name, float(share)) for name, share in shares.items())),
        reader.get("taught", bool, False),
        tuple(keep),
    )


class _Fields:
    """Fields of a mapping with their types checked."""

    def __init__(self, path: Path, fields: object, place: str) -> None:
        if not isinstance(fields, dict):
            raise UsageError(f"{place or 'the recipe'}: not a mapping", where=str(path), todo="Write `name: value` lines.")
        self._path, self._fields, self._place = path, fields, place

    def refuse_others(self, known: set[str]) -> None:
        """Raises `UsageError` where there is a field that nobody reads."""
        others = sorted(str(name) for name in self._fields if name not in known)
        if others:
            todo = f"Fields are {', '.join(sorted(known))}."
            raise UsageError(f"{self._place}{others[0]}: no such field", where=str(self._path), todo=todo)

    def get(self, name: str, kind: type[Any], default: Any = None) -> Any:
        """The field, or the default where it is not there. Raises `UsageError`."""
        value = self._fields.get(name, default)
        if value is None:
            raise UsageError(f"{self._place}{name} is missing", where=str(self._path), todo=f"Add `{name}:`.")
        if not isinstance(value, kind) and not (kind is float and isinstance(value, int)):
            raise UsageError(f"{self._place}{name}: {value!r} is not a {kind.__name__}", where=str(self._path), todo="Correct it.")
        return value


def _beside(path: Path, name: str) -> Path:
    return (path.parent / name).resolve()
