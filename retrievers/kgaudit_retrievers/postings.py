"""BM25 over passages as plain arrays on disk: for each term the passages that hold it and what it adds to their score.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, with the idf of Lucene.
A term is known by 64 bits of its hash, so that opening an index reads no vocabulary and searching costs a binary search a term.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

K1 = 0.9
B = 0.4
_BLOCK = 4_000_000  # postings held in memory before they are sorted and written: about 150 MB

_LEVELS = 255  # what a term adds is kept in 8 bits, as a share of its idf

_POSTING = np.dtype([("term", np.uint32), ("passage", np.uint32), ("count", np.uint16)])
_TERMS, _PASSAGES, _WEIGHTS = "terms.bin", "postings.u32", "weights.u8"
_TERM = np.dtype([("hash", np.uint64), ("begin", np.int64), ("end", np.int64), ("unit", np.float32), ("most", np.float32)])
FILES = (_TERMS, _PASSAGES, _WEIGHTS)


def _hash(term: str) -> int:
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class PostingsWriter:
    """Takes passages in order, then writes the arrays. Memory grows with the vocabulary and the passages, not with the text."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ids: dict[str, int] = {}
        self._terms, self._passages, self._counts = array("I"), array("I"), array("H")
        self._lengths = array("I")
        self._blocks: list[Path] = []

    @property
    def vocabulary(self) -> int:
        """How many terms there are so far."""
        return len(self._ids)

    def term_ids(self, terms: Iterable[str]) -> list[int]:
        """A number for each term."""
        ids = self._ids
        return [ids.setdefault(term, len(ids)) for term in terms]

    def add(self, term_ids: Iterable[int]) -> None:
        """The next passage, as the numbers of its terms with repeats."""
        passage = len(self._lengths)
        counts: dict[int, int] = {}
        length = 0
        for term in term_ids:
            counts[term] = counts.get(term, 0) + 1
            length += 1
        self._lengths.append(length)
        self._terms.extend(counts)
        self._passages.extend([passage] * len(counts))
        self._counts.extend(min(count, 65535) for count in counts.values())
        if len(self._terms) >= _BLOCK:
            self._spill()

    def _spill(self) -> None:
        block = np.empty(len(self._terms), _POSTING)
        block["term"], block["passage"], block["count"] = self._terms, self._passages, self._counts
        path = self._folder / f"block-{len(self._blocks)}.tmp"
        path.write_bytes(block[np.argsort(block["term"], kind="stable")].tobytes())  # tofile does not say that the disk is full
        self._blocks.append(path)
        self._terms, self._passages, self._counts = array("I"), array("I"), array("H")

    def finish(self) -> None:
        """Writes the arrays into the folder."""
        if len(self._terms):
            self._spill()
        blocks = [np.memmap(path, _POSTING, "r") for path in self._blocks]
        frequency = np.zeros(len(self._ids), np.int64)
        for block in blocks:
            frequency += np.bincount(block["term"], minlength=len(frequency))
        hashes = np.fromiter(map(_hash, self._ids), np.uint64, len(self._ids))
        order = np.argsort(hashes, kind="stable")
        table = np.empty(len(order), _TERM)
        table["hash"] = hashes[order]
        table["end"] = np.cumsum(frequency[order])
        table["begin"] = table["end"] - frequency[order]
        idf = np.log1p((len(self._lengths) - frequency + 0.5) / (frequency + 0.5))
        table["unit"] = idf[order] / _LEVELS

        total = int(frequency.sum())
        passages = _new_array(self._folder / _PASSAGES, np.dtype(np.uint32), total)
        weights = _new_array(self._folder / _WEIGHTS, np.dtype(np.uint8), total)
        cursor = np.empty(len(order), np.int64)
        cursor[order] = table["begin"]
        lengths = np.frombuffer(self._lengths, np.uint32).astype(np.float64)
        norm = K1 * (1 - B + B * lengths / max(1.0, float(lengths.mean())))
        for block in blocks:
            terms = np.asarray(block["term"])
            starts = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]]))
            runs = np.diff(np.concatenate([starts, [len(terms)]]))
            places = np.arange(len(terms)) + np.repeat(cursor[terms[starts]] - starts, runs)
            cursor[terms[starts]] += runs
            passages[places] = block["passage"]
            count = block["count"].astype(np.float64)
            weights[places] = np.rint(_LEVELS * count / (count + norm[block["passage"]]))
        table["most"] = table["unit"] * np.maximum.reduceat(weights, table["begin"])
        (self._folder / _TERMS).write_bytes(table.tobytes())
        for path in self._blocks:
            path.unlink()


def _new_array(path: Path, dtype: np.dtype[Any], size: int) -> NDArray[Any]:
    """An array in a new file. The space is taken first: writing to a mapped page that a full disk cannot hold kills the process."""
    with open(path, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, size * dtype.itemsize)
    return np.memmap(path, dtype, "r+", shape=(size,))


@dataclass(frozen=True, slots=True)
class _Found:
    """The postings of one term: the passages that hold it, in order, and what it adds to each at most."""

    passages: NDArray[np.uint32]
    weights: NDArray[np.uint8]
    unit: np.float32
    most: float

    def _places(self, numbers: NDArray[np.integer[Any]]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        places = np.minimum(np.searchsorted(self.passages, numbers), len(self.passages) - 1)
        return places, self.passages[places] == numbers

    def holds(self, numbers: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Which of the passages hold the term."""
        return self._places(numbers)[1]

    def added(self, numbers: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """What the term adds to each of the passages."""
        places, there = self._places(numbers)
        return np.where(there, self.weights[places] * self.unit, np.float32(0))


@dataclass(frozen=True, slots=True)
class Postings:
    """The arrays of a finished index, mapped into memory; may be read from any number of threads."""

    table: NDArray[np.void]
    hashes: NDArray[np.uint64]
    passages: NDArray[np.uint32]
    weights: NDArray[np.uint8]
    size: int

    @classmethod
    def open(cls, folder: Path, size: int) -> Postings:
        """The postings in `folder` over `size` passages."""
        table = np.fromfile(folder / _TERMS, _TERM)
        return cls(
            table,
            np.ascontiguousarray(table["hash"]),
            np.asarray(np.memmap(folder / _PASSAGES, np.uint32, "r")),
            np.asarray(np.memmap(folder / _WEIGHTS, np.uint8, "r")),
            size,
        )

    def _find(self, terms: Iterable[str]) -> dict[str, _Found]:
        """The postings of each term that some passage holds."""
        asked = list(dict.fromkeys(terms))
        wanted = np.fromiter(map(_hash, asked), np.uint64, len(asked))
        places = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        there = np.flatnonzero(self.hashes[places] == wanted)
        found = {}
        for i, (_, begin, end, unit, most) in zip(there.tolist(), self.table[places[there]].tolist(), strict=True):
            found[asked[i]] = _Found(self.passages[begin:end], self.weights[begin:end], np.float32(unit), most)
        return found

    def search(self, terms: Sequence[str], names: Sequence[Sequence[Sequence[str]]], k: int) -> list[tuple[int, float]]:
        """The best `k` passages for the terms, each term counted once, with their scores; ties in the order of the passages.

        `names` are groups of alternative names as their terms: passages that hold all words of a name of every group come first.
        """
        known = self._find(chain(terms, *chain.from_iterable(names)))
        found = sorted((known[term] for term in dict.fromkeys(terms) if term in known), key=lambda one: -one.most)
        holders = _holders(names, known)
        scores = np.zeros(len(holders), np.float32)
        for one in found:
            scores += one.added(holders)
        first = _best(holders, scores, k)
        if len(first) == k:
            return first
        held = {number for number, _ in first}
        others = [(number, score) for number, score in self._top(found, k) if number not in held]
        return (first + others)[:k]

    def _top(self, found: list[_Found], k: int) -> list[tuple[int, float]]:
        """The best passages for the terms, those that can add most first.

        As soon as the `k`-th best passage has more than all the terms left can add, no passage without a term seen so far can be
        among the best: the long lists of common words need only be looked into (Turtle and Flood, Query Evaluation: Strategies
        and Optimizations, 1995).
        """
        scores = np.zeros(self.size, np.float32)
        left = sum(one.most for one in found)
        limit, seen = 0.0, 0
        for one in found:
            if limit > left * 1.0001:
                break
            scores[one.passages] += one.weights * one.unit
            left -= one.most
            seen += 1
            if len(one.passages) >= k:
                here = scores[one.passages]
                limit = max(limit, float(np.partition(here, len(here) - k)[len(here) - k]))
        if not seen:
            return []
        size = sum(len(one.passages) for one in found[:seen])
        few = size < self.size // 8
        numbers = np.unique(np.concatenate([one.passages for one in found[:seen]])) if few else np.flatnonzero(scores)
        values = scores[numbers]
        if limit:
            near = values + np.float32(max(0.0, left) * 1.0001) >= np.float32(limit)
            numbers, values = numbers[near], values[near]
        for one in found[seen:]:
            values += one.added(numbers)
        return _best(numbers, values, k)


def _holders(names: Sequence[Sequence[Sequence[str]]], known: Mapping[str, _Found]) -> NDArray[np.uint32]:
    """The passages that hold all terms of a name of every group, in order."""
    none = np.empty(0, np.uint32)
    groups: list[list[list[_Found]]] = []
    for alternatives in names:
        whole = [[known[term] for term in terms] for terms in alternatives if terms and all(term in known for term in terms)]
        if not whole:
            return none
        groups.append([sorted(name, key=lambda one: len(one.passages)) for name in whole])
    # The group that leaves fewest first: the long lists are then only looked into.
    groups.sort(key=lambda group: sum(len(name[0].passages) for name in group))
    holders: NDArray[np.uint32] | None = None
    for group in groups:
        held = []
        for name in group:
            numbers, rest = (name[0].passages, name[1:]) if holders is None else (holders, name)
            for one in rest:
                numbers = numbers[one.holds(numbers)]
            held.append(numbers)
        holders = held[0] if len(held) == 1 else np.unique(np.concatenate(held))
    return none if holders is None else holders


def _best(numbers: NDArray[np.integer[Any]], scores: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
    """The best `k` of the numbers (in order) by score, then number."""
    size = len(scores)
    if k < size:
        near = np.flatnonzero(scores >= np.partition(scores, size - k)[size - k])
        numbers, scores = numbers[near], scores[near]
    order = np.argsort(-scores, kind="stable")[:k]
    return list(zip(numbers[order].tolist(), scores[order].tolist(), strict=True))
