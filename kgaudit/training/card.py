"""The model card of a judge: what it is made of, whom to credit, how well it does and where it fails."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from kgaudit.bench.metrics import Measures
from kgaudit.bench.runner import BenchOptions, Result, run_bench
from kgaudit.errors import UsageError, storage_error
from kgaudit.models.embedded import EmbeddedJudge
from kgaudit.models.encoder import Encoder
from kgaudit.models.excerpts import Excerpt
from kgaudit.training.pairs import Pair
from kgaudit.training.recipe import EncoderRecipe, Recipe

Say = Callable[[str], None]
MEASURED = (
    ("wiki-triples", ("dev", "test", "test-longtail", "test-unseen")),
    ("biomed-triples", ("dev", "test")),
    ("ko-triples", ("test", "test-human")),
    ("cases", ("test",)),
)


def measure_judge(recipe: Recipe, judge: EmbeddedJudge, work: Path, say: Say) -> list[tuple[str, Result]]:
    """The embedded policy on every data set of the folder that is there."""
    results: list[tuple[str, Result]] = []
    for name, splits in MEASURED:
        there = tuple(split for split in splits if (recipe.data / name / f"triples-{split}.jsonl").is_file())
        if not there:
            continue
        say(f"measuring on {name}: {', '.join(there)}")
        try:
            found = run_bench(BenchOptions(name, recipe.data, splits=there, work=work), judge)
        except UsageError as error:
            say(f"{name} was not measured: {error}")
            continue
        results += [(name, result) for result in found]
    return results


def encoder_speed(encoder: Encoder, pairs: Sequence[Pair], seconds: float = 5.0) -> float:
    """Pairs a second on pairs that it has not read before, for about so many seconds."""
    begun, done = time.monotonic(), 0
    while time.monotonic() - begun < seconds and done < len(pairs):
        part = pairs[done : done + 64]
        encoder.log_odds([Excerpt(pair.claim, pair.text, 0, 0) for pair in part])
        done += len(part)
    return done / (time.monotonic() - begun)


def write_card(
    folder: Path,
    recipe: Recipe,
    judge: EmbeddedJudge,
    pairs: Mapping[str, Sequence[Pair]],
    results: Sequence[tuple[str, Result]],
    speed: float,
) -> None:
    """Writes `MODEL_CARD.md`. Raises `StorageError`."""
    size = sum((folder / name).stat().st_size for name in ("encoder.onnx", "tokenizer.json", "cue.npz")) / 1e6
    encoders = [("Teacher", recipe.teacher), ("Student, which is shipped", recipe.student)]
    counts = [_counts(name, group) for name, group in pairs.items()]
    columns = ["group", "pairs", "supports", "refutes", "neither", "does not support (not known which)", "unlabelled"]
    head = f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}"
    parts = [
        f"# {judge.name}: the embedded judge",
        _text("card_what.md"),
        f"- digest: `{judge.digest}`\n- recipe: `{recipe.path.name}`, sha256 `{recipe.digest}`\n- size: {size:.1f} MB",
        f"The encoder read {speed:.0f} pairs a second on the machine that made it.",
        "## How it was made",
        "\n\n".join(_stages(name, encoder) for name, encoder in encoders if encoder),
        "## Data and credit",
        _text("card_credit.md"),
        "Nothing was fitted on ko-triples, on cases or on any test split. Pairs by group of sources:",
        "\n".join([head, *counts]),
        "## Figures",
        "`kgaudit bench NAME --data DIR --split SPLIT --judge FOLDER`: supported from 0.5 on, all else counts as false.",
        _figures(results),
        "Risk: the share of wrong answers among the surest part of the triples.",
        _risk(results),
        "Accuracy by kind of item (`true`, and how the false ones were made), or by phenomenon:",
        _kinds(results),
        "## Limits",
        _text("card_limits.md"),
    ]
    try:
        (folder / "MODEL_CARD.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    except OSError as error:
        raise storage_error(error, str(folder)) from error


def _text(name: str) -> str:
    return (files("kgaudit.training") / name).read_text(encoding="utf-8").strip()


def _stages(name: str, encoder: EncoderRecipe) -> str:
    grown = ", its lower layers those of the student after the stages that are not taught" if encoder.grown else ""
    lines = [f"{name}: {encoder.base.name}, {encoder.layers} layers{grown}."]
    for stage in encoder.stages:
        shares = ", ".join(f"{source} {share:g}" for source, share in stage.shares)
        how = " (by the teacher)" if stage.taught else ""
        how += f", from layers {', '.join(map(str, stage.keep))} of the stage before" if stage.keep else ""
        lines.append(f"- {stage.name}{how}: learning rate {stage.learning_rate:g}, batches of {stage.batch}; {shares}")
    return "\n".join(lines)


def _counts(name: str, group: Sequence[Pair]) -> str:
    targets = Counter(pair.target for pair in group)
    return (
        f"| {name} | {len(group):,} | "
        + " | ".join(f"{targets[target]:,}" for target in ("supports", "refutes", "neither", "not", "unlabelled"))
        + " |"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _figures(results: Sequence[tuple[str, Result]]) -> str:
    lines = [
        "| split | n | macro F1 | calibration error | macro F1, surest 80 % | true of a pair ranked higher |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, result in results:
        measures: Measures = result.measures
        values = (measures.macro_f1, measures.calibration_error, measures.macro_f1_at_80, measures.pair_ranking)
        lines.append(f"| {name}/{result.split} | {measures.n:,} | " + " | ".join(map(_number, values)) + " |")
    return "\n".join(lines)


def _risk(results: Sequence[tuple[str, Result]]) -> str:
    coverages = [coverage for coverage, _ in results[0][1].measures.risk_coverage] if results else []
    lines = ["| split | " + " | ".join(f"{coverage:.0%}" for coverage in coverages) + " |", "| --- " * (len(coverages) + 1) + "|"]
    for name, result in results:
        lines.append(f"| {name}/{result.split} | " + " | ".join(f"{risk:.3f}" for _, risk in result.measures.risk_coverage) + " |")
    return "\n".join(lines)


def _kinds(results: Sequence[tuple[str, Result]]) -> str:
    lines = []
    for name, result in results:
        measures = result.measures
        kinds = measures.accuracy_by_negative if not measures.accuracy_by_phenomenon else measures.accuracy_by_phenomenon
        lines.append(f"- {name}/{result.split}: " + ", ".join(f"{kind} {value:.2f}" for kind, value in kinds.items()))
    return "\n".join(lines)
