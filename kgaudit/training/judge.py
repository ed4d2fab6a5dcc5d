"""Makes a judge from a recipe: data, cue model, teacher and student, export, calibration, model card. Goes on where it was ended.

OUT/
  cue.npz cue.json encoder.onnx tokenizer.json judge.json MODEL_CARD.md      the judge: `--judge OUT`
  work/pairs.jsonl.gz         the labelled pairs
  work/student-NAME/          a stage: checkpoint while it runs, then model/
"""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgaudit.errors import RunError, UsageError, storage_error
from kgaudit.models.cue import read_model
from kgaudit.models.embedded import load_judge
from kgaudit.models.encoder import Encoder
from kgaudit.training import cue
from kgaudit.training.card import encoder_speed, measure_judge, write_card
from kgaudit.training.encoder import Fit, grow, score, train_stage
from kgaudit.training.export import export
from kgaudit.training.join import fit_lines, held_out_items, score_items, write_join
from kgaudit.training.pairs import Pair, annotated_pairs, assemble, made_pairs, unlabelled_pairs
from kgaudit.training.recipe import EncoderRecipe, Recipe, Stage

Say = Callable[[str], None]
_GENERATED_SEED = 1


def train_judge(recipe: Recipe, out: Path, say: Say) -> None:
    """Makes the judge in `out`; the same call goes on after it was ended, and the same recipe gives the same judge on one machine.

    Raises `UsageError`, `InputError`, `ModelError`, `StorageError`, and `RunError` where `out` was begun with another recipe.
    """
    work = out / "work"
    _begin(recipe, out)
    pairs = _pairs(recipe, work, say)
    if not (out / "cue.npz").exists():
        _make_cue(recipe, out, say)
    student = _make_encoder(recipe, recipe.student, "student", pairs, work, say)
    if not (out / "encoder.onnx").exists():
        say("exporting")
        export(student, out)
    if not (out / "judge.json").exists():
        _join(recipe, out, say)
    if not (out / "MODEL_CARD.md").exists():
        judge = load_judge(out)
        speed = encoder_speed(Encoder(out), [pair for name in ("train-pairs", "wiki-triples") for pair in pairs[name]])
        write_card(out, recipe, judge, pairs, measure_judge(recipe, judge, work / "bench", say), speed)


def _begin(recipe: Recipe, out: Path) -> None:
    mark = out / "work" / "recipe.sha256"
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        if not mark.exists():
            mark.write_text(recipe.digest)
        elif mark.read_text() != recipe.digest:
            raise RunError("this folder was begun with another recipe", where=str(out), todo="Give another folder with --out.")
    except OSError as error:
        raise storage_error(error, str(out)) from error


def _pairs(recipe: Recipe, work: Path, say: Say) -> dict[str, list[Pair]]:
    path = work / "pairs.jsonl.gz"
    groups: dict[str, list[Pair]]
    if path.exists():
        groups = {}
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                groups.setdefault(row.pop("in"), []).append(Pair(**row))
        return groups
    groups = assemble(recipe.data, recipe.seed, say)
    if recipe.made:
        from kgaudit.training.phenomena import generate

        groups["made"] = made_pairs(generate(_GENERATED_SEED + recipe.seed, recipe.made))
    if recipe.corpus:
        groups["corpus"] = unlabelled_pairs(recipe.data / "wiki-triples", recipe.corpus, recipe.seed)
    if recipe.reviewed:
        groups["reviewed"] = annotated_pairs("reviewed", cue.read_rows(recipe.reviewed), {})
    partial = path.with_suffix(".partial")
    with gzip.open(partial, "wt", encoding="utf-8") as file:
        for name, group in groups.items():
            file.writelines(json.dumps({"in": name, **asdict(pair)}, ensure_ascii=False) + "\n" for pair in group)
    os.replace(partial, path)
    return groups


def _make_cue(recipe: Recipe, out: Path, say: Say) -> None:
    if recipe.cue == "train":
        cue.train(recipe.data, out, recipe.seed, say)
        return
    shipped = files("kgaudit.models") / "data"
    for name in ("cue.json", "cue.npz"):
        (out / name).write_bytes((shipped / name).read_bytes())


def _make_encoder(
    recipe: Recipe, encoder: EncoderRecipe, name: str, pairs: dict[str, list[Pair]], work: Path, say: Say, base: Path | None = None
) -> Path:
    """Trains the stages of an encoder, its teacher before the first one that is taught."""
    base = base or encoder.base
    teacher: Path | None = None
    for number, stage in enumerate(encoder.stages):
        folder = work / f"{name}-{stage.name}"
        chosen = mixture(pairs, stage, recipe.seed + number)
        say(f"{name}, stage {stage.name}: {len(chosen):,} pairs")
        fit = Fit(base, encoder.layers, stage.learning_rate, stage.batch, recipe.seed + number, stage.keep)
        soft = None
        if stage.taught and not (folder / "model").exists():
            teacher = teacher or _make_teacher(recipe, base, pairs, work, say)
            soft = _taught(teacher, chosen, folder, say)
        base = train_stage(chosen, fit, folder, lambda line, where=f"{name}, {stage.name}: ": say(where + line), soft=soft)  # type: ignore[misc]
    return base


def _make_teacher(recipe: Recipe, student: Path, pairs: dict[str, list[Pair]], work: Path, say: Say) -> Path:
    assert recipe.teacher is not None  # the recipe was checked
    teacher = recipe.teacher
    start = grow(teacher.base, teacher.layers, student, work / "teacher-grown") if teacher.grown else None
    return _make_encoder(recipe, teacher, "teacher", pairs, work, say, start)


def mixture(pairs: dict[str, list[Pair]], stage: Stage, seed: int) -> list[Pair]:
    """The pairs of a stage: of each group its share, a random part where it is not whole. Raises `UsageError`."""
    rng = random.Random(seed)
    chosen: list[Pair] = []
    for name, share in stage.shares:
        group = pairs.get(name)
        if not group:
            raise UsageError(
                f"stage {stage.name}: there are no pairs of {name}", todo="Leave the source out, or set `made`/`corpus`/`reviewed`."
            )
        whole = int(share)
        chosen += group * whole + rng.sample(group, round((share - whole) * len(group)))
    return chosen


def _taught(teacher: Path, pairs: Sequence[Pair], folder: Path, say: Say) -> NDArray[np.float32]:
    """The teacher's probabilities of a stage's pairs, kept beside it."""
    path = folder / "teacher.npy"
    digest = sha256("".join(pair.claim + pair.text for pair in pairs).encode("utf-8", "surrogatepass")).hexdigest()
    if path.exists() and (folder / "teacher.sha256").read_text() == digest:
        taught: NDArray[np.float32] = np.load(path)
        return taught
    folder.mkdir(parents=True, exist_ok=True)
    say(f"asking the teacher about {len(pairs):,} pairs")
    taught = np.exp(score(teacher, [(pair.claim, pair.text) for pair in pairs], say))
    np.save(path, taught)
    (folder / "teacher.sha256").write_text(digest)
    return taught


def _join(recipe: Recipe, out: Path, say: Say) -> None:
    say("joining cue model and encoder on dev")
    model, encoder = read_model(out), Encoder(out)
    dev = [cue.retrieved(recipe.data / name, ("dev",))["dev"] for name in ("wiki-triples", "biomed-triples")]
    parts = [score_items(model, encoder, items, recipe.windows) for items in (*dev, held_out_items(recipe.seed))]
    lines = fit_lines(parts[:-1], parts[-1])
    write_join(out, lines, recipe.windows, {"recipe": recipe.digest})
