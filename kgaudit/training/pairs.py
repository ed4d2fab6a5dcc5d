"""The pairs that the encoder learns from: (claim, excerpt) with what the excerpt says of the claim, by source.

Train splits of wiki-triples and biomed-triples, `train-pairs.jsonl`, judge-extra, and material of our own for the phenomena. From what
people annotated follow more pairs: a relation that the document does not state of two names that it relates otherwise
(`predicate_swap`), and the relation turned round (`reversed`).
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kgaudit.claims import Claim
from kgaudit.documents import Passage
from kgaudit.models.embedded import LINKS, SYMMETRIC
from kgaudit.models.excerpts import Excerpt, excerpts, plain_excerpt
from kgaudit.models.mentions import find_mentions
from kgaudit.models.reading import language_of, read
from kgaudit.training.cue import annotated_passage, claim_of, read_rows, retrieved, weight_of
from kgaudit.training.phenomena import Made

Target = Literal["supports", "refutes", "neither", "not", "unlabelled"]
"""`not`: it does not support; whether it refutes or says nothing is not known. `unlabelled`: for a teacher to say."""
Say = Callable[[str], None]
_WINDOWS = 2
_TOO_CLOSE = 0.03
"""Two predicates that hold of the same pair more often than this may follow from one another: they make no negatives."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One training pair. `group` is its document or passage: pairs of a group stay on one side of any split."""

    claim: str
    text: str
    target: Target
    weight: float
    source: str
    kind: str
    group: str


def found_pairs(source: str, items: Iterable[tuple[dict[str, Any], Claim, list[Passage]]]) -> list[Pair]:
    """Pairs of triples with the documents that a search brought: of true ones where the evidence stands."""
    pairs = []
    for row, claim, passages in items:
        true = bool(row["label"])
        stating = list[Pair]()
        others = list[Pair]()
        for passage in passages:
            for excerpt in excerpts_of(claim, passage):
                pair = Pair(
                    excerpt.claim,
                    excerpt.text,
                    "supports" if true else "not",
                    weight_of(row),
                    source,
                    str(row.get("neg_type") or "true"),
                    passage.document_id,
                )
                (stating if true and _holds_evidence(row, passage, excerpt) else others).append(pair)
        pairs += stating[:1] if stating else others[:1] if true else others[:3]
    return pairs


def excerpts_of(claim: Claim, passage: Passage, most: int = _WINDOWS) -> list[Excerpt]:
    """What the encoder reads of a passage for a claim; none where a name is not there."""
    language = language_of(passage)
    text = read(passage.text, language)
    title = read(passage.title, language) if passage.title else None
    return excerpts(claim, text, find_mentions(claim, text, title, LINKS), passage.title, most)


def _holds_evidence(row: dict[str, Any], passage: Passage, excerpt: Excerpt) -> bool:
    for piece in row["evidence"]:
        if piece["doc_id"] == passage.document_id:
            start = passage.text.find(piece["text"][:60])
            if start >= 0 and start < excerpt.end and excerpt.start < start + len(piece["text"]):
                return True
    return False


def annotated_pairs(source: str, rows: Sequence[dict[str, Any]], documents: dict[str, dict[str, Any]]) -> list[Pair]:
    """Pairs of annotated (triple, document) rows. A document's text is in `documents`, or in the row itself."""
    pairs = []
    for row in rows:
        target: Target = {"supports": "supports", "reversed": "not", "neither": "not"}[row["stated"]]  # type: ignore[assignment]
        kind = row["stated"] if row["stated"] != "neither" else str(row.get("neg_type") or "neither")
        pairs += [
            Pair(excerpt.claim, excerpt.text, target, 1.0, source, kind, row["doc_id"])
            for excerpt in excerpts_of(claim_of(row), annotated_passage(row, documents), 1)
        ]
    return pairs


def swapped_rows(rows: Sequence[dict[str, Any]], seed: int, share: float) -> list[dict[str, Any]]:
    """Rows that follow from annotated ones: another predicate for the same names, or the names exchanged.

    Only documents whose pairs are annotated exhaustively allow it. Predicates that often hold of the same names are left alone.
    """
    rng = random.Random(seed)
    holds: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    kinds: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    stated = [row for row in rows if row["stated"] == "supports"]
    for row in stated:
        holds[row["doc_id"], row["s_label"], row["o_label"]].add(row["p_label"])
        kinds[row["s_type"], row["o_type"]][row["p_label"]] += 1
    alone: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    for labels in holds.values():
        alone.update(labels)
        together.update((a, b) for a in labels for b in labels if a != b)
    iri_of = {row["p_label"]: row["p"] for row in rows}
    out = []
    for row in stated:
        if rng.random() >= share:
            continue
        p, s, o = row["p_label"], row["s_label"], row["o_label"]
        backward = holds.get((row["doc_id"], o, s), set())
        if row["s_type"] == row["o_type"] and p not in SYMMETRIC and p not in backward and rng.random() < 0.5:
            turned = {"s_label": o, "o_label": s, "s_aliases": row["o_aliases"], "o_aliases": row["s_aliases"]}
            out.append({**row, **turned, "stated": "reversed"})
            continue
        possible = [
            (label, count)
            for label, count in sorted(kinds[row["s_type"], row["o_type"]].items())
            if count >= 5
            and label not in holds[row["doc_id"], s, o]
            and together[p, label] <= _TOO_CLOSE * alone[p]
            and together[p, label] <= _TOO_CLOSE * alone[label]
        ]
        if possible:
            # As often as it is stated: drawn evenly, a rare predicate would be met mostly where it does not hold.
            label = rng.choices([label for label, _ in possible], [count for _, count in possible])[0]
            out.append({**row, "p_label": label, "p": iri_of[label], "stated": "neither", "neg_type": "predicate_swap"})
    return out


def claim_pairs(source_rows: Sequence[dict[str, Any]]) -> list[Pair]:
    """Pairs of claims in sentences, with their passages."""
    pairs = []
    for n, row in enumerate(source_rows):
        excerpt = plain_excerpt(row["claim"], row["passage"][:600])
        pairs.append(Pair(excerpt.claim, excerpt.text, row["label"], 1.0, f"claims/{row['source']}", row["label"], f"claim-{n}"))
    return pairs


def made_items(made: Iterable[Made]) -> list[tuple[Made, Claim, Passage]]:
    """Our own material for the phenomena with its claims and passages."""
    items = []
    for one in made:
        row = {
            "p": f"urn:kgaudit:made:{one.p_label}",
            "p_label": one.p_label,
            "s_label": one.s,
            "s_aliases": list(one.s_aliases),
            "o_label": one.o,
            "o_aliases": list(one.o_aliases),
            **({"o": {"datatype": one.o_datatype, "value": one.o_value}} if one.o_datatype else {}),
        }
        items.append((one, claim_of(row), Passage(f"made-{one.pair}", 0, len(one.text), one.text, one.title, "en")))
    return items


def made_pairs(made: Iterable[Made]) -> list[Pair]:
    """Pairs of our own material for the phenomena (`kgaudit.training.phenomena`)."""
    return [
        Pair(excerpt.claim, excerpt.text, one.stance, 1.0, "made", one.phenomenon, str(one.pair))
        for one, claim, passage in made_items(made)
        for excerpt in excerpts_of(claim, passage, 1)
    ]


def unlabelled_pairs(folder: Path, count: int, seed: int) -> list[Pair]:
    """Two names of a document with a predicate of the training triples, drawn as often as it is stated: what a teacher may say of cost
    nobody a label. Documents that bear on dev or test triples stay out."""
    rng = random.Random(seed)
    held_out = {
        piece["doc_id"]
        for path in sorted(folder.glob("triples-*.jsonl"))
        if path.stem != "triples-train"
        for row in read_rows(path)
        for piece in row["evidence"]
    }
    predicates = [(row["p"], row["p_label"]) for row in read_rows(folder / "triples-train.jsonl") if row["label"]]
    documents = [row for row in read_rows(folder / "corpus.jsonl") if row["lang"] == "en" and row["doc_id"] not in held_out]
    pairs = list[Pair]()
    for document in rng.sample(documents, len(documents)):
        text = read(document["text"], "en")
        spans = [text.place(first, last) for first, last in text.names]
        names = list(dict.fromkeys(document["text"][start:end] for start, end in spans))
        if len(names) < 2:
            continue
        p, p_label = rng.choice(predicates)
        at = rng.randrange(len(names) - 1)
        s, o = rng.sample(names[at : at + 3], 2)  # near one another, as true pairs are
        row = {"doc_id": document["doc_id"], "p": p, "p_label": p_label, "s_label": s, "s_aliases": [], "o_label": o, "o_aliases": []}
        pairs += [
            Pair(excerpt.claim, excerpt.text, "unlabelled", 1.0, "corpus", "unlabelled", document["doc_id"])
            for excerpt in excerpts_of(claim_of(row), annotated_passage(row, {document["doc_id"]: document}), 1)
        ]
        if len(pairs) >= count:
            break
    return pairs


def assemble(data_dir: Path, seed: int, say: Say) -> dict[str, list[Pair]]:
    """All labelled pairs of the data folder by group of sources (`kgaudit.training.recipe.SOURCES`)."""
    groups: dict[str, list[Pair]] = {}
    for name in ("wiki-triples", "biomed-triples"):
        groups[name] = found_pairs(name, retrieved(data_dir / name, ("train",))["train"])
        say(f"{name}: {len(groups[name]):,} pairs")
    wiki = data_dir / "wiki-triples"
    documents = {row["doc_id"]: row for row in read_rows(wiki / "corpus.jsonl")}
    rows = read_rows(wiki / "train-pairs.jsonl")
    groups["train-pairs"] = annotated_pairs("train-pairs", rows, documents)
    groups["swaps"] = annotated_pairs("swaps", swapped_rows(rows, seed, 0.7), documents)
    extra = read_rows(data_dir / "judge-extra" / "relations.jsonl")
    claims = read_rows(data_dir / "judge-extra" / "claims.jsonl")
    sources = sorted({row["source"] for row in extra})
    for language in ("en", "ko"):
        of_source = {source: [row for row in extra if row["source"] == source and row["lang"] == language] for source in sources}
        groups[f"relations-{language}"] = [
            pair for source, part in of_source.items() for pair in annotated_pairs(f"relations/{source}", part, {})
        ]
        groups[f"claims-{language}"] = claim_pairs([row for row in claims if row["lang"] == language])
    for name in ("train-pairs", "swaps", "relations-en", "relations-ko", "claims-en", "claims-ko"):
        say(f"{name}: {len(groups[name]):,} pairs")
    return groups
