"""Makes the embedded judge's files again from the data folder: `train(data_dir, out_dir)`. Needs scikit-learn (extra `train`).

What it reads: the train and dev splits and corpora of wiki-triples and biomed-triples, `wiki-triples/train-pairs.jsonl`, and
`judge-extra/relations.jsonl`. Test splits, ko-triples and cases are never opened.

1. Passages: what the embedded retriever returns for each train triple (as the agent asks), those that hold both names; for
   annotated pairs, the passage of the document in which the names stand nearest.
2. Two hashed linear models over n-grams: `full` (crossed with the predicate) and `general` (knows no predicate).
3. Trees over positions and the scores of the linear models, which are out-of-fold: once by document (the predicate is known), once by
   predicate (it is not), so that the trees learn how far to trust them in either case.
4. Calibration by logistic regression on the dev splits: the highest score of a triple's passages against its label.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgaudit.claims import Claim, Entity, PredicateCard
from kgaudit.documents import Passage, Query
from kgaudit.errors import InputError, ModelError, storage_error
from kgaudit.models.cue import FORMAT
from kgaudit.models.features import HASH_BITS, POSITION_NAMES, Hashed, Seen, predicate_words, see, tree_features
from kgaudit.models.mentions import Mentions, find_mentions
from kgaudit.models.reading import Reading, language_of, read
from kgaudit.text import sentences
from kgaudit.triples import Triple

FOLDS = 5
C_LINEAR = 4.0
EXTRA_WEIGHT = 0.5
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Example:
    """A (claim, passage) pair that holds both names. `item` is the triple it belongs to, `group` the document, `weight` its share."""

    claim: Claim
    reading: Reading
    mentions: Mentions
    label: bool
    item: tuple[str, int]
    group: str
    weight: float = 1.0


def claim_of(row: dict[str, Any]) -> Claim:
    """The claim of a data row, as the agent would build it from the graph."""
    o = row.get("o")
    literal = o if isinstance(o, dict) else None
    return Claim(
        key="",
        triple=Triple("", "", ""),
        subject=Entity("", row["s_label"], tuple(row["s_aliases"])),
        predicate=PredicateCard(row["p"], row["p_label"]),
        object=Entity(
            "",
            row["o_label"],
            () if literal else tuple(row["o_aliases"]),
            datatype=literal["datatype"] if literal else None,
            value=literal["value"] if literal else None,
        ),
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except OSError as error:
        raise storage_error(error, str(path)) from error
    except ValueError as error:
        raise InputError(
            f"a line is not JSON ({error})", where=str(path), todo="Name the data folder that holds the training sets."
        ) from error


class _Reader:
    """Readings by text, each made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Reading] = {}

    def __call__(self, passage: Passage) -> tuple[Reading, Reading | None]:
        language = language_of(passage)
        return self._one(passage.text, language), self._one(passage.title, language) if passage.title else None

    def _one(self, text: str, language: str) -> Reading:
        key = (text, language)
        if key not in self._known:
            self._known[key] = read(text, language)
        return self._known[key]


def retrieved(folder: Path, splits: Sequence[str], k: int = 5) -> dict[str, list[tuple[dict[str, Any], Claim, list[Passage]]]]:
    """For each split its rows with claim and the passages that the agent's first query finds (`s o`, names given)."""
    plugin = {entry.name: entry for entry in entry_points(group="kgaudit.retrievers")}.get("embedded")
    if plugin is None:
        raise ModelError("the embedded retriever is not installed", todo="Install kgaudit with its retrievers.")
    import importlib

    embedded = importlib.import_module(plugin.module)
    out: dict[str, list[tuple[dict[str, Any], Claim, list[Passage]]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        embedded.build_index([folder / "corpus.jsonl"], to=Path(scratch) / "index")
        retriever = embedded.EmbeddedRetriever(Path(scratch) / "index")
        for split in splits:
            rows = _rows(folder / f"triples-{split}.jsonl")
            claims = [claim_of(row) for row in rows]
            queries = [
                Query(f"{claim.subject.label} {claim.object.label}", (claim.subject.names[:8], claim.object.names[:8]))
                for claim in claims
            ]
            out[split] = list(zip(rows, claims, retriever.search(queries, k), strict=True))
        retriever.close()
    return out


def examples_of(source: str, items: Sequence[tuple[dict[str, Any], Claim, list[Passage]]], reader: _Reader) -> list[Example]:
    """The pairs of retrieved items that hold both names, labelled by the triple."""
    out = []
    for n, (row, claim, passages) in enumerate(items):
        for passage in passages:
            text, title = reader(passage)
            mentions = find_mentions(claim, text, title)
            if mentions.links:
                out.append(Example(claim, text, mentions, bool(row["label"]), (source, n), passage.document_id))
    return out


def _windows(identity: str, title: str, text: str, language: str) -> list[Passage]:
    spans = sentences(text)
    out = []
    for first in range(0, max(1, len(spans) - 1), 2):
        window = spans[first : first + 3]
        if window:
            out.append(Passage(identity, window[0][0], window[-1][1], text[window[0][0] : window[-1][1]], title, language))
    return out


def annotated(
    source: str, rows: Sequence[dict[str, Any]], documents: dict[str, dict[str, Any]], reader: _Reader, weight: float
) -> list[Example]:
    """For each annotated (triple, document) row the passage in which the names stand nearest."""
    out = []
    for n, row in enumerate(rows):
        claim = claim_of(row)
        document = documents[row["doc_id"]] if "text" not in row else row
        best: tuple[Reading, Mentions] | None = None
        for passage in _windows(row["doc_id"], document.get("title") or "", document["text"], document.get("lang") or ""):
            text, title = reader(passage)
            mentions = find_mentions(claim, text, title)
            if mentions.links and (best is None or mentions.links[0].cost < best[1].links[0].cost):
                best = text, mentions
        if best is not None:
            out.append(Example(claim, *best, row["stated"] == "supports", (source, n), row["doc_id"], weight))
    return out


def _sparse(*parts: Hashed) -> Any:
    import scipy.sparse as sp

    blocks = [
        sp.csr_matrix(
            (part.values, part.indices.astype(np.int32), part.offsets), shape=(len(part.offsets) - 1, 1 << HASH_BITS), dtype=np.float32
        )
        for part in parts
    ]
    return sp.hstack(blocks).tocsr() if len(blocks) > 1 else blocks[0]


def _fit_linear(rows: Any, labels: NDArray[np.bool_], weights: NDArray[np.float64], seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C_LINEAR, solver="liblinear", dual=True, max_iter=40, tol=1e-3, random_state=seed)
    return model.fit(rows.astype(np.float64), labels, sample_weight=weights)


def _folds(keys: Sequence[str], seed: int) -> NDArray[np.int64]:
    names = sorted(set(keys))
    number = dict(zip(names, (np.random.RandomState(seed).permutation(len(names)) % FOLDS).tolist(), strict=True))
    return np.array([number[key] for key in keys], dtype=np.int64)


def _out_of_fold(
    rows: Any, seen: Seen, labels: NDArray[np.bool_], weights: NDArray[np.float64], folds: NDArray[np.int64], seed: int
) -> NDArray[np.float64]:
    """Scores of every variant by models that saw nothing of its fold."""
    import warnings

    best = np.flatnonzero(seen.variant == 0)
    scores = np.zeros(len(seen.owner))
    for fold in range(FOLDS):
        inside = folds != fold
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = _fit_linear(rows[best[inside]], labels[inside], weights[inside], seed)
        held = folds[seen.owner] == fold
        scores[held] = model.decision_function(rows[held])
    return scores


def _fit_trees(x: NDArray[np.float64], labels: NDArray[np.bool_], weights: NDArray[np.float64], seed: int, **options: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    settings = {
        "max_iter": 250,
        "learning_rate": 0.05,
        "max_leaf_nodes": 12,
        "min_samples_leaf": 40,
        "l2_regularization": 5.0,
    } | options
    return HistGradientBoostingClassifier(random_state=seed, early_stopping=False, **settings).fit(x, labels, sample_weight=weights)


def export_trees(model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and numbers of `kgaudit.models.trees.Trees` from a fitted HistGradientBoostingClassifier."""
    trees = [stage[0].nodes for stage in model._predictors]
    most = max(len(nodes) for nodes in trees)
    shape = (len(trees), most)
    arrays = {
        "feature": np.zeros(shape, np.int16),
        "threshold": np.zeros(shape, np.float32),
        "left": np.zeros(shape, np.int16),
        "right": np.zeros(shape, np.int16),
        "value": np.zeros(shape, np.float32),
    }
    depth = 0
    for t, nodes in enumerate(trees):
        for i, node in enumerate(nodes):
            leaf = bool(node["is_leaf"])
            arrays["feature"][t, i] = 0 if leaf else node["feature_idx"]
            # float32 comparisons must fall the same way: round the threshold up to the next float32
            threshold = np.float32(node["num_threshold"])
            if not leaf and float(threshold) < float(node["num_threshold"]):
                threshold = np.nextafter(threshold, np.float32(np.inf))
            arrays["threshold"][t, i] = 0 if leaf else threshold
            arrays["left"][t, i] = i if leaf else node["left"]
            arrays["right"][t, i] = i if leaf else node["right"]
            arrays["value"][t, i] = node["value"] if leaf else 0
            depth = max(depth, int(node["depth"]))
    return arrays, {"base": float(np.ravel(model._baseline_prediction)[0]), "depth": depth}


def _quantised(weights: NDArray[np.float64]) -> tuple[dict[str, NDArray[Any]], float]:
    """Non-zero weights as int8 and the steps between their places."""
    scale = float(np.abs(weights).max()) / 127
    small = np.rint(weights / scale).astype(np.int8)
    places = np.flatnonzero(small)
    return {"steps": np.diff(places, prepend=0).astype(np.uint32), "weights": small[places]}, scale


@dataclass(frozen=True, slots=True)
class Fitted:
    """What training learnt, before calibration."""

    full: Any
    general: Any
    trees: Any
    known: dict[int, int]

    def raw(self, pairs: Sequence[tuple[Claim, Reading, Mentions]]) -> NDArray[np.float64]:
        """Log-odds of pairs that hold both names, not calibrated."""
        seen = see(pairs)
        rows = _sparse(seen.crossed, seen.uncrossed)
        known = np.log1p([self.known.get(predicate_words(claim.predicate.label).label_code, 0) for claim, _, _ in pairs])
        x = tree_features(seen, self.full.decision_function(rows), self.general.decision_function(_sparse(seen.uncrossed)), known)
        return np.asarray(self.trees.decision_function(x))


def fit(examples: Sequence[Example], seed: int, say: Progress = lambda line: None) -> Fitted:
    """Linear models and trees from examples."""
    labels = np.array([example.label for example in examples])
    weights = np.array([example.weight for example in examples])
    seen = see([(example.claim, example.reading, example.mentions) for example in examples])
    say(f"{len(examples)} pairs, {len(seen.owner)} variants")
    best = np.flatnonzero(seen.variant == 0)
    both, alone = _sparse(seen.crossed, seen.uncrossed), _sparse(seen.uncrossed)
    by_document = _folds([example.group for example in examples], seed)
    by_predicate = _folds([example.claim.predicate.label for example in examples], seed)
    codes = [predicate_words(example.claim.predicate.label).label_code for example in examples]
    known = Counter(codes)
    counts = np.log1p([known[code] for code in codes])
    inputs = []
    for folds, how_known in ((by_document, counts), (by_predicate, np.zeros(len(examples)))):
        full = _out_of_fold(both, seen, labels, weights, folds, seed)
        general = _out_of_fold(alone, seen, labels, weights, folds, seed)
        inputs.append(tree_features(seen, full, general, how_known))
        say("out-of-fold scores")
    trees = _fit_trees(np.concatenate(inputs), np.tile(labels, 2), np.tile(weights, 2), seed)
    return Fitted(
        _fit_linear(both[best], labels, weights, seed), _fit_linear(alone[best], labels, weights, seed), trees, dict(known)
    )


def _dev_scores(fitted: Fitted, items: Sequence[tuple[dict[str, Any], Claim, list[Passage]]], reader: _Reader) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Highest raw score of each item, whether it has any pair, and its label."""
    pairs, owners = [], []
    for n, (_, claim, passages) in enumerate(items):
        for passage in passages:
            text, title = reader(passage)
            mentions = find_mentions(claim, text, title)
            if mentions.links:
                pairs.append((claim, text, mentions))
                owners.append(n)
    highest = np.full(len(items), -np.inf)
    np.maximum.at(highest, owners, fitted.raw(pairs))
    return highest, np.isfinite(highest), np.array([bool(row["label"]) for row, _, _ in items])


def calibrate(fitted: Fitted, dev: Sequence[Sequence[tuple[dict[str, Any], Claim, list[Passage]]]], reader: _Reader) -> tuple[tuple[float, float], float]:
    """Scale and shift from raw score to probability, and the share of true items without any pair."""
    from sklearn.linear_model import LogisticRegression

    parts = [_dev_scores(fitted, items, reader) for items in dev]
    highest, some, labels = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    model = LogisticRegression(C=100.0).fit(highest[some][:, None], labels[some])
    return (float(model.coef_[0, 0]), float(model.intercept_[0])), float(labels[~some].mean())


def save(fitted: Fitted, calibration: tuple[float, float], nothing: float, out_dir: Path) -> None:
    """Writes `cue.npz` and `cue.json`."""
    arrays: dict[str, NDArray[Any]] = {}
    scales: dict[str, float] = {}
    coefficients = fitted.full.coef_[0]
    size = 1 << HASH_BITS
    for name, weights in (("crossed", coefficients[:size]), ("uncrossed", coefficients[size:]), ("general", fitted.general.coef_[0])):
        parts, scales[name] = _quantised(weights)
        arrays |= {f"{name}_{part}": values for part, values in parts.items()}
    tree_arrays, numbers = export_trees(fitted.trees)
    arrays |= {f"trees_{part}": values for part, values in tree_arrays.items()}
    arrays["known_codes"] = np.array(sorted(fitted.known), dtype=np.int64)
    arrays["known_counts"] = np.array([fitted.known[code] for code in sorted(fitted.known)], dtype=np.int64)
    settings = {
        "format": FORMAT,
        "hash_bits": HASH_BITS,
        "scales": scales,
        "intercept": float(fitted.full.intercept_[0]),
        "general_intercept": float(fitted.general.intercept_[0]),
        "trees": numbers,
        "calibration": calibration,
        "p_without_names": nothing,
    }
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(out_dir / "cue.npz", **arrays)
        (out_dir / "cue.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise storage_error(error, str(out_dir)) from error
