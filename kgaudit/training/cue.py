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
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgaudit.claims import Claim, Entity, PredicateCard
from kgaudit.documents import Document, Passage, Query, Retriever, reading_of
from kgaudit.errors import InputError, ModelError, storage_error
from kgaudit.models.cue import FORMAT, Member, mean_raw
from kgaudit.models.features import BEST, HASH_BITS, Hashed, Seen, predicate_words, see, tree_features
from kgaudit.models.mentions import TITLE, Mentions, find_mentions, words_of_predicate
from kgaudit.models.reading import Reading, language_of, read
from kgaudit.models.trees import Trees
from kgaudit.triples import Triple

FOLDS = 5
C_LINEAR = 4.0
MIXES: tuple[dict[str, float], ...] = ({"extra": 0.5}, {"extra": 0.0}, {"extra": 0.25, "biomed-triples": 2.0})
"""How much the examples of each source count (1 where it is not named) in each of the fits that are averaged."""
DOUBTFUL_WEIGHT = 0.5
Progress = Callable[[str], None]
Items = Sequence[tuple[dict[str, Any], Claim, list[Passage]]]


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


def read_rows(path: Path) -> list[dict[str, Any]]:
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
            rows = read_rows(folder / f"triples-{split}.jsonl")
            claims = [claim_of(row) for row in rows]
            queries = [
                Query(f"{claim.subject.label} {claim.object.label}", (claim.subject.names[:8], claim.object.names[:8]))
                for claim in claims
            ]
            found = [_readings(retriever, passages) for passages in retriever.search(queries, k)]
            out[split] = list(zip(rows, claims, found, strict=True))
        retriever.close()
    return out


def _states(row: dict[str, Any], passage: Passage) -> bool:
    """Whether the passage holds the beginning or the end of a piece of evidence."""
    return any(
        piece["doc_id"] == passage.document_id and (piece["text"][:60] in passage.text or piece["text"][-60:] in passage.text)
        for piece in row["evidence"]
    )


def _readings(retriever: Retriever, passages: Sequence[Passage]) -> list[Passage]:
    """What the agent reads of the documents that a search found, each document once."""
    first = {passage.document_id: passage for passage in reversed(passages)}
    ordered = dict.fromkeys(passage.document_id for passage in passages)
    documents = {identity: retriever.document(identity) for identity in ordered}
    return [reading_of(document, first[identity]) for identity, document in documents.items() if document is not None]


def examples_of(source: str, items: Sequence[tuple[dict[str, Any], Claim, list[Passage]]], reader: _Reader) -> list[Example]:
    """The pairs of retrieved items that hold both names, labelled by the triple; of a true item those with its evidence, if any."""
    out = []
    for n, (row, claim, passages) in enumerate(items):
        pairs = []
        for passage in passages:
            text, title = reader(passage)
            mentions = find_mentions(claim, text, title)
            if mentions.links:
                example = Example(claim, text, mentions, bool(row["label"]), (source, n), passage.document_id, weight_of(row))
                pairs.append((passage, example))
        stating = [example for passage, example in pairs if row["label"] and _states(row, passage)]
        out += stating or [example for _, example in pairs]
    return out


def weight_of(row: dict[str, Any]) -> float:
    """How much a triple counts: about a third of what only one of the two annotations has is wrong or far-fetched."""
    return DOUBTFUL_WEIGHT if row["label"] and row.get("annotated_twice") is False else 1.0


def annotated_passage(row: dict[str, Any], documents: dict[str, dict[str, Any]]) -> Passage:
    """What the agent reads of the document of an annotated row; its text is in `documents`, or in the row itself."""
    content = documents[row["doc_id"]] if "text" not in row else row
    document = Document(row["doc_id"], content["text"], content.get("title") or "", content.get("lang") or "")
    whole = Passage(document.id, 0, len(document.text), document.text, document.title, document.language)
    return reading_of(document, whole)


def annotated(
    source: str, rows: Sequence[dict[str, Any]], documents: dict[str, dict[str, Any]], reader: _Reader, weight: float
) -> list[Example]:
    """The annotated (triple, document) rows whose document, read as the agent reads it, names both."""
    out = []
    for n, row in enumerate(rows):
        claim = claim_of(row)
        text, title = reader(annotated_passage(row, documents))
        mentions = find_mentions(claim, text, title)
        if mentions.links:
            out.append(Example(claim, text, mentions, row["stated"] == "supports", (source, n), row["doc_id"], weight))
    return out


def _columns(part: Hashed, counted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The features that at least two of the `counted` rows have: what is seen once teaches nothing."""
    row = np.repeat(np.arange(len(part.offsets) - 1), np.diff(part.offsets))
    chosen = np.zeros(len(part.offsets) - 1, dtype=bool)
    chosen[counted] = True
    return np.flatnonzero(np.bincount(part.indices[chosen[row]], minlength=1 << HASH_BITS) >= 2)


def _sparse(part: Hashed, columns: NDArray[np.int64]) -> Any:
    """The chosen columns of hashed rows as a matrix."""
    import scipy.sparse as sp

    place = np.full(1 << HASH_BITS, -1, dtype=np.int32)
    place[columns] = np.arange(len(columns), dtype=np.int32)
    indices = place[part.indices]
    kept = indices >= 0
    offsets = np.concatenate(([0], np.cumsum(kept)))[part.offsets]
    return sp.csr_matrix((part.values[kept], indices[kept], offsets), shape=(len(part.offsets) - 1, len(columns)), dtype=np.float32)


def _dense(coefficients: NDArray[np.float64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
    weights = np.zeros(1 << HASH_BITS, dtype=np.float32)
    weights[columns] = coefficients
    return weights


def _fit_linear(rows: Any, labels: NDArray[np.bool_], weights: NDArray[np.float64], seed: int) -> Any:
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C_LINEAR, solver="liblinear", dual=True, max_iter=25, tol=1e-2, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopped early on purpose
        return model.fit(rows.astype(np.float64), labels, sample_weight=weights)


def _folds(keys: Sequence[str], seed: int) -> NDArray[np.int64]:
    names = sorted(set(keys))
    number = dict(zip(names, (np.random.RandomState(seed).permutation(len(names)) % FOLDS).tolist(), strict=True))
    return np.array([number[key] for key in keys], dtype=np.int64)


def _out_of_fold(
    rows: Any, seen: Seen, labels: NDArray[np.bool_], weights: NDArray[np.float64], folds: NDArray[np.int64], seed: int
) -> NDArray[np.float64]:
    """Scores of every variant by models that saw nothing of its fold."""
    best = np.flatnonzero(seen.variant == BEST)
    scores = np.zeros(len(seen.owner))
    for fold in np.unique(folds):
        inside = folds != fold
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
    arrays: dict[str, NDArray[Any]] = {
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


def _quantised(weights: NDArray[np.float32]) -> tuple[dict[str, NDArray[Any]], float]:
    """Non-zero weights as int8 and the steps between their places."""
    scale = float(np.abs(weights).max()) / 127
    small = np.rint(weights / scale).astype(np.int8)
    places = np.flatnonzero(small)
    return {"steps": np.diff(places, prepend=0).astype(np.uint32), "weights": small[places]}, scale


def fit(examples: Sequence[Example], seed: int, say: Progress = lambda line: None) -> Member:
    """Linear models and trees from examples."""
    import scipy.sparse as sp

    labels = np.array([example.label for example in examples])
    weights = np.array([example.weight for example in examples])
    seen = see([(example.claim, example.reading, example.mentions) for example in examples])
    say(f"{len(examples)} pairs, {len(seen.owner)} variants")
    best = np.flatnonzero(seen.variant == BEST)
    crossed_columns, alone_columns = _columns(seen.crossed, best), _columns(seen.uncrossed, best)
    alone = _sparse(seen.uncrossed, alone_columns)
    both = sp.hstack([_sparse(seen.crossed, crossed_columns), alone]).tocsr()
    by_document = _folds([example.group for example in examples], seed)
    by_predicate = _folds([example.claim.predicate.label for example in examples], seed)
    known = Counter(predicate_words(example.claim.predicate.label).label_code for example in examples)
    counts = np.log1p([known[predicate_words(example.claim.predicate.label).label_code] for example in examples])
    inputs = []
    for folds, how_known in ((by_document, counts), (by_predicate, np.zeros(len(examples)))):
        full = _out_of_fold(both, seen, labels, weights, folds, seed)
        general = _out_of_fold(alone, seen, labels, weights, folds, seed)
        inputs.append(tree_features(seen, full, general, how_known))
        say("out-of-fold scores")
    trees = _fit_trees(np.concatenate(inputs), np.tile(labels, 2), np.tile(weights, 2), seed)
    say("trees")
    full_model, general_model = _fit_linear(both[best], labels, weights, seed), _fit_linear(alone[best], labels, weights, seed)
    coefficients = full_model.coef_[0]
    arrays, numbers = export_trees(trees)
    return Member(
        linear={
            "crossed": _dense(coefficients[: len(crossed_columns)], crossed_columns),
            "uncrossed": _dense(coefficients[len(crossed_columns) :], alone_columns),
            "general": _dense(general_model.coef_[0], alone_columns),
        },
        trees=Trees(base=numbers["base"], depth=numbers["depth"], **arrays),
        known=dict(known),
        intercept=float(full_model.intercept_[0]),
        general_intercept=float(general_model.intercept_[0]),
    )


def _dev_scores(
    members: Sequence[Member], items: Items, reader: _Reader
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Highest raw score of each item (-inf: no pair), the same as if its predicate were unknown, and its label."""
    pairs, owners = [], []
    for n, (_, claim, passages) in enumerate(items):
        for passage in passages:
            text, title = reader(passage)
            mentions = find_mentions(claim, text, title)
            if mentions.links:
                pairs.append((claim, text, mentions))
                owners.append(n)
    seen = see(pairs)
    codes = [predicate_words(claim.predicate.label).label_code for claim, _, _ in pairs]
    highest = np.full((2, len(items)), -np.inf)
    for row, as_unknown in zip(highest, (False, True), strict=True):
        np.maximum.at(row, owners, mean_raw(members, seen, codes, as_unknown=as_unknown))
    return highest[0], highest[1], np.array([bool(row["label"]) for row, _, _ in items])


@dataclass(frozen=True, slots=True)
class Calibration:
    """From raw scores to probabilities.

    `lines` are (scale, shift) to log-odds: first that of all dev items, then one a data set, last that of predicates that were not
    trained on (dev scored as if its predicates were not). `group_of` says by predicate code which line holds (those of one data set
    alone). `nothing` is the share of true items without any pair, `something` of those with one. `plain` are the numbers of the rule
    for other languages.
    """

    lines: tuple[tuple[float, float], ...]
    group_of: dict[int, int]
    nothing: float
    something: float
    plain: dict[str, float]


def _plain(foreign: Sequence[Example], share: float) -> dict[str, float]:
    """The rule for languages whose words are not learnt.

    What the order of the names, the way between them and the predicate's own letters say is learnt from Korean pairs that people
    annotated; how often names in a found passage are related at all, `share`, from the dev items.
    """
    from sklearn.linear_model import LogisticRegression

    rows, labels = [], []
    for example in foreign:
        link = example.mentions.links[0]
        if TITLE not in (link.s.kind, link.o.kind):
            gap = link.o.first - link.s.last if link.s.last <= link.o.first else link.s.first - link.o.last
            said = words_of_predicate(example.reading, link, example.claim.predicate.label)
            rows.append((float(np.log1p(max(0, gap))), float(link.s.last <= link.o.first), said))
            labels.append(example.label)
    x = np.array(rows)
    weights = LogisticRegression(C=10.0).fit(x, labels).coef_[0]
    odds = float(np.log(share / (1 - share)))
    near, order, label = map(float, weights)
    means = x.mean(axis=0)
    shift, title = odds - float(means @ weights), odds - float(means[2] * label)
    return {"gap": near, "subject_first": order, "label": label, "shift": shift, "title": title}


def calibrate(members: Sequence[Member], dev: Sequence[Items], foreign: Sequence[Example], reader: _Reader) -> Calibration:
    """Logistic regression of the label on an item's highest raw score."""
    from sklearn.linear_model import LogisticRegression

    def line(highest: NDArray[np.float64], labels: NDArray[np.bool_]) -> tuple[float, float]:
        model = LogisticRegression(C=100.0).fit(highest[:, None], labels)
        return float(model.coef_[0, 0]), float(model.intercept_[0])

    parts = [_dev_scores(members, items, reader) for items in dev]
    highest, unknown, labels = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    some = np.isfinite(highest)
    lines = [line(highest[some], labels[some])]
    group_of: dict[int, int] = {}
    for number, (items, (own, _, truth)) in enumerate(zip(dev, parts, strict=True), start=1):
        lines.append(line(own[np.isfinite(own)], truth[np.isfinite(own)]))
        for _, claim, _ in items:
            code = predicate_words(claim.predicate.label).label_code
            group_of[code] = number if group_of.get(code, number) == number else 0
    lines.append(line(unknown[some], labels[some]))
    share = float(labels[some].mean())
    return Calibration(tuple(lines), group_of, float(labels[~some].mean()), share, _plain(foreign, share))


def save(members: Sequence[Member], calibration: Calibration, out_dir: Path) -> None:
    """Writes `cue.npz` and `cue.json`."""
    arrays: dict[str, NDArray[Any]] = {}
    numbers = []
    for number, member in enumerate(members):
        scales: dict[str, float] = {}
        for name, weights in member.linear.items():
            parts, scales[name] = _quantised(weights)
            arrays |= {f"{number}_{name}_{part}": values for part, values in parts.items()}
        trees = member.trees
        for part in ("feature", "threshold", "left", "right", "value"):
            arrays[f"{number}_trees_{part}"] = getattr(trees, part)
        arrays[f"{number}_known_codes"] = np.array(sorted(member.known), dtype=np.int64)
        arrays[f"{number}_known_counts"] = np.array([member.known[code] for code in sorted(member.known)], dtype=np.int64)
        numbers.append(
            {
                "scales": scales,
                "intercept": member.intercept,
                "general_intercept": member.general_intercept,
                "trees": {"base": trees.base, "depth": trees.depth},
            }
        )
    arrays["group_codes"] = np.array(sorted(calibration.group_of), dtype=np.int64)
    arrays["groups"] = np.array([calibration.group_of[code] for code in sorted(calibration.group_of)], dtype=np.int8)
    settings = {
        "format": FORMAT,
        "hash_bits": HASH_BITS,
        "members": numbers,
        "calibration": calibration.lines,
        "p_without_names": calibration.nothing,
        "p_with_names": calibration.something,
        "plain": calibration.plain,
    }
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(out_dir / "cue.npz", allow_pickle=False, **arrays)
        (out_dir / "cue.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise storage_error(error, str(out_dir)) from error


def examples(data_dir: Path, say: Progress = lambda line: None) -> tuple[list[Example], list[Items], list[Example], _Reader]:
    """Every English training pair, the dev items of both data sets, and the Korean annotated pairs."""
    reader = _Reader()
    found: list[Example] = []
    dev: list[Items] = []
    for name in ("wiki-triples", "biomed-triples"):
        splits = retrieved(data_dir / name, ("train", "dev"))
        found += examples_of(name, splits["train"], reader)
        dev.append(splits["dev"])
    wiki = data_dir / "wiki-triples"
    documents = {row["doc_id"]: row for row in read_rows(wiki / "corpus.jsonl")}
    found += annotated("pairs", read_rows(wiki / "train-pairs.jsonl"), documents, reader, 1.0)
    say(f"{len(found)} pairs of the triple sets")
    extra = read_rows(data_dir / "judge-extra" / "relations.jsonl")
    found += annotated("extra", [row for row in extra if row["lang"] == "en"], {}, reader, 1.0)
    foreign = annotated("foreign", [row for row in extra if row["lang"] == "ko"], {}, reader, 1.0)
    return found, dev, foreign, reader


def train(data_dir: Path, out_dir: Path, seed: int = 0, say: Progress = lambda line: None) -> None:
    """Trains the judge from `data_dir` (which holds wiki-triples, biomed-triples and judge-extra) and writes its files to `out_dir`.

    The same data and seed give the same files. Raises `InputError` or `StorageError` where a file cannot be read or written, and
    `ModelError` where scikit-learn or the embedded retriever is missing.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ModelError("training needs scikit-learn", todo="Install kgaudit[train].") from error
    found, dev, foreign, reader = examples(data_dir, say)
    members = []
    for mix in MIXES:
        say(f"fit with {mix}")
        mixed = [replace(example, weight=example.weight * mix.get(example.item[0], 1.0)) for example in found]
        members.append(fit([example for example in mixed if example.weight], seed, say))
    save(members, calibrate(members, dev, foreign, reader), out_dir)
    say(f"written to {out_dir}")
