"""An invented graph of any size, and documents that speak of it: for runs large enough to be killed in the middle."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kgaudit.triples import Triple

EX = "https://graph.example/"
_FIRST = "Nor Hal Or Lin Bre Tor Kas Vel Mar Ost Gru Sel Ald Fen Rik Dun Ers Ulv Ham Ske".split()
_SECOND = "rby den vik dal mark holm stad berg fors ness lund by heim gard vale tun borg sund ridge moor".split()
_TRADES = "Pumps Works Castings Timber Optics Mills Tools Cables Glass Marine".split()
_TEXT = {
    "owns": "{s} owns {o}.",
    "seat": "The company has its seat in {o}.",
    "founded": "{s} was founded in {o}.",
    "chairedBy": "{s} is chaired by {o}.",
}


@dataclass(frozen=True, slots=True)
class Corpus:
    """`truth` says of each triple, by its key, whether the documents say the same."""

    graph: Path
    documents: Path
    truth: dict[str, bool]


def write_corpus(folder: Path, triples: int, *, wrong: float = 0.1, seed: int = 1) -> Corpus:
    """Four triples and one document a company, the share `wrong` of the triples with another object than the documents say.

    The same bytes for the same arguments.
    """
    chance = random.Random(seed)
    graph, documents = folder / "kg.nt", folder / "docs.jsonl"
    truth: dict[str, bool] = {}
    with open(graph, "w", encoding="utf-8") as kg, open(documents, "w", encoding="utf-8") as docs:
        for number in range(-(-triples // len(_TEXT))):
            company = _name(number, _TRADES[number % len(_TRADES)])
            sentences = []
            for predicate, text in _TEXT.items():
                said = _object(predicate, chance)
                sentences.append(text.format(s=company, o=said))
                held = _object(predicate, chance) if chance.random() < wrong else said
                if len(truth) < triples:
                    triple = Triple(_iri(company), f"<{EX}{predicate}>", _term(predicate, held))
                    truth[triple.key] = held == said
                    kg.write(f"{triple.s} {triple.p} {triple.o} .\n")
            docs.write(json.dumps({"id": f"d{number}", "title": company, "text": " ".join(sentences)}) + "\n")
    return Corpus(graph, documents, truth)


def _name(number: int, trade: str) -> str:
    return f"{_place(number)} {trade} {number}"


def _place(number: int) -> str:
    return _FIRST[number % len(_FIRST)] + _SECOND[number // len(_FIRST) % len(_SECOND)]


def _object(predicate: str, chance: random.Random) -> str:
    number = chance.randrange(100_000)
    if predicate == "founded":
        return str(1850 + number % 170)
    if predicate == "chairedBy":
        return f"{_FIRST[number % 20]}a {_place(number // 20)}sen"
    if predicate == "seat":
        return _place(number)
    return _name(number, _TRADES[number % len(_TRADES)])


def _iri(name: str) -> str:
    return f"<{EX}{name.replace(' ', '_')}>"


def _term(predicate: str, value: str) -> str:
    return f'"{value}"^^<http://www.w3.org/2001/XMLSchema#gYear>' if predicate == "founded" else _iri(value)


def write_labels(to: Path, truth: Mapping[str, bool]) -> Path:
    """What a person who knows the truth would answer, asked for every triple."""
    fixed = {"annotator": "ada", "time": "2026-11-30T09:00:00+00:00", "design": "simple_random", "weight": 1.0}
    with open(to, "w", encoding="utf-8") as file:
        for key, true in truth.items():
            label = {"key": key, "label": "true" if true else "false", **fixed, "sample": "simple_random, seed 0"}
            file.write(json.dumps(label) + "\n")
    return to
