"""How honest the gate's intervals are, on real human and LLM verdicts of DBpedia triples (dbpedia-verdicts).

Truth is the share of `Correct` among all triples that people judged (9,344, in 2,967 clusters of one subject). An audit draws a sample
with the product's own designs, reads its labels and makes an interval; this is repeated --audits times for each number of labels.
`coverage` is how often the 95 % interval holds the truth, `false_pass` how often a gate at truth + 0.01 passes, `mean_labels` how many
labels an audit really had (a cluster sample ends with a whole cluster).

Verifiers for prediction-powered inference: an LLM of the data, and better ones made by flipping people's labels at a known rate.
`raw pass rate` is the gate that this one replaces: it passes where the verifier's pass rate on the sample reaches the threshold.
"""

import argparse
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from common import fail, progress, write_json

SIZES = (100, 200, 400)
MARGIN = 0.01
LLMS = ("gemma-7b", "llama3-8b", "mistral-7b")
FLIPPED = (0.05, 0.10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data",
                        help="folder that holds dbpedia-verdicts, or that folder")  # fmt: skip
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--audits", type=int, default=1000, help="audits for each design and number of labels (default 1,000)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = options.data / "dbpedia-verdicts" if (options.data / "dbpedia-verdicts").is_dir() else options.data
    if not (folder / "verdicts.jsonl").is_file():
        fail(f"there is no verdicts.jsonl in {folder}: name the folder dbpedia-verdicts with --data")
    data = Verdicts(folder / "verdicts.jsonl", options.seed)
    progress(f"{len(data.truth):,} judged triples in {len(data.rows.subjects):,} clusters, accuracy {data.accuracy:.4f}")
    figures = []
    for size in SIZES:
        for kind in ("simple_random", "stratified", "cluster"):
            progress(f"{size} labels, {kind}: {options.audits:,} audits")
            figures += simulate(data, kind, size, options.audits, options.seed)
    for one in figures:
        print(f"{one['estimator']:<32} {one['design']:<14} {one['n']:>4}  coverage {one['coverage']:.3f}  "
              f"width {one['mean_width']:.4f}  false pass {one['false_pass']:.3f}")  # fmt: skip
    if options.json:
        write_json(
            options.json, {"truth": data.accuracy, "audits": options.audits, "threshold": data.accuracy + MARGIN, "estimators": figures}
        )


class Verdicts:
    """The judged triples as the rows of a run. The data's strata stand in the place of predicates, its clusters in that of subjects."""

    def __init__(self, path: Path, seed: int) -> None:
        import pyarrow as pa

        from kgaudit.gate.rows import Rows

        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        judged = [line for line in lines if line["human"] in ("Correct", "Incorrect")]
        n = len(judged)
        self.truth = np.array([line["human"] == "Correct" for line in judged], float)
        self.accuracy = float(self.truth.mean())
        self.llms = {name: np.array([{"correct": 1.0, "incorrect": 0.0}.get(line[name], 0.5) for line in judged]) for name in LLMS}
        random = np.random.default_rng(seed)
        flipped = {rate: np.where(random.random(n) < rate, 1 - self.truth, self.truth) for rate in FLIPPED}
        self.verifiers = {"mistral-7b": self.llms["mistral-7b"]} | {
            f"{rate:.0%} of labels flipped": score for rate, score in flipped.items()
        }
        clusters, subject = np.unique([line["cluster"] for line in judged], return_inverse=True)
        strata, stratum = np.unique([str(line["stratum"]) for line in judged], return_inverse=True)
        self.rows = Rows(
            keys=pa.array([f"{i:064x}" for i in range(n)]),
            subject=subject,
            predicate=stratum,
            verdict=np.zeros(n, int),
            source=np.full(n, -1),
            score=self.llms["mistral-7b"],
            probability=self.llms["mistral-7b"],
            subjects=tuple(clusters),
            predicates=tuple(strata),
            predicate_labels=tuple(strata),
            sources=(),
            origins=(np.zeros(0, int), np.zeros(0, int)),
        )


def simulate(data: Verdicts, kind: str, size: int, audits: int, seed: int) -> list[dict]:
    """The figures of every estimator for one design and number of labels."""
    from kgaudit.gate.designs import Design, answered, draw
    from kgaudit.gate.estimators import Mean, estimate, wilson

    design = Design(kind)
    random = np.random.default_rng([seed, size, len(kind)])
    ends, passes, labels = defaultdict(list), defaultdict(list), []
    threshold = data.accuracy + MARGIN
    for _ in range(audits):
        order = random.permutation(len(data.truth))
        drawn = [one.row for one in draw(data.rows, design, size, order)]
        found = answered(data.rows, design, {row: data.truth[row] for row in drawn}, order)
        sample = found.sample(data.rows, len(data.truth))
        labels.append(len(sample.truth))
        estimates = {name: estimate(sample, name) for name in ("wilson", "clopper_pearson", "jeffreys")}
        for name, score in data.verifiers.items():
            informed = replace(sample, score=score[found.row], score_mean=float(score.mean()))
            estimates[f"ppi, {name}"] = estimate(informed, "ppi")
        for name, one in estimates.items():
            ends[name].append((one.low, one.high))
            passes[name].append(one.low >= threshold)
        for name, score in data.llms.items() if kind == "simple_random" else ():
            decided = score[found.row][score[found.row] != 0.5]
            rate = float(decided.mean())
            ends[f"raw pass rate, {name}"].append(wilson(Mean(rate, len(decided), np.inf, len(decided), len(decided)), 0.95))
            passes[f"raw pass rate, {name}"].append(rate >= threshold)
    return [
        {
            "estimator": name,
            "design": kind,
            "n": size,
            "coverage": float(np.mean([low <= data.accuracy <= high for low, high in found])),
            "mean_width": float(np.mean([high - low for low, high in found])),
            "false_pass": float(np.mean(passes[name])),
            "mean_labels": float(np.mean(labels)),
        }
        for name, found in ends.items()
    ]


if __name__ == "__main__":
    main()
