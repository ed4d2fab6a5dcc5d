"""BM25 over passages as plain arrays on disk: for each term the passages that hold it and what it adds to their score.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, with the idf of Lucene.
A term is known by 64 bits of its hash, so that opening an index reads no vocabulary and searching costs a binary search a term.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

K1 = 0.9
B = 0.4
_BLOCK = 4_000_000  # postings held in memory before they are sorted and written: about 150 MB

_HASHES, _OFFSETS, _PASSAGES, _WEIGHTS = "terms.u64", "offsets.i64", "passages.u32", "weights.f32"
FILES = (_HASHES, _OFFSETS, _PASSAGES, _WEIGHTS)


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
        block[np.argsort(block["term"], kind="stable")].tofile(path)
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
        offsets = np.concatenate([[0], np.cumsum(frequency[order])]).astype(np.int64)
        hashes[order].tofile(self._folder / _HASHES)
        offsets.tofile(self._folder / _OFFSETS)

        total = int(offsets[-1])
        passages = np.memmap(self._folder / _PASSAGES, np.uint32, "w+", shape=(total,))
        weights = np.memmap(self._folder / _WEIGHTS, np.float32, "w+", shape=(total,))
        cursor = np.empty(len(self._ids), np.int64)
        cursor[order] = offsets[:-1]
        lengths = np.frombuffer(self._lengths, np.uint32).astype(np.float64)
        norm = K1 * (1 - B + B * lengths / max(1.0, float(lengths.mean())))
        idf = np.log1p((len(lengths) - frequency + 0.5) / (frequency + 0.5))
        for block in blocks:
            terms = np.asarray(block["term"])
            starts = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]]))
            runs = np.diff(np.concatenate([starts, [len(terms)]]))
            places = np.arange(len(terms)) + np.repeat(cursor[terms[starts]] - starts, runs)
            cursor[terms[starts]] += runs
            passages[places] = block["passage"]
            count = block["count"].astype(np.float64)
            weights[places] = idf[terms] * count / (count + norm[block["passage"]])
        passages.flush()
        weights.flush()
        for path in self._blocks:
            path.unlink()


_POSTING = np.dtype([("term", np.uint32), ("passage", np.uint32), ("count", np.uint16)])


@dataclass(frozen=True, slots=True)
class Postings:
    """The arrays of a finished index, mapped into memory; may be read from any number of threads."""

    hashes: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    passages: NDArray[np.uint32]
    weights: NDArray[np.float32]
    size: int

    @classmethod
    def open(cls, folder: Path, size: int) -> Postings:
        """The postings in `folder` over `size` passages."""
        return cls(
            np.fromfile(folder / _HASHES, np.uint64),
            np.fromfile(folder / _OFFSETS, np.int64),
            np.memmap(folder / _PASSAGES, np.uint32, "r"),
            np.memmap(folder / _WEIGHTS, np.float32, "r"),
            size,
        )

    def _find(self, terms: Sequence[str]) -> list[tuple[int, int]]:
        """Where the postings of each term begin and end; nothing for terms that no passage holds."""
        wanted = np.fromiter(map(_hash, terms), np.uint64, len(terms))
        places = np.searchsorted(self.hashes, wanted)
        return [
            (int(self.offsets[place]), int(self.offsets[place + 1]))
            for place, hashed in zip(places, wanted, strict=True)
            if place < len(self.hashes) and self.hashes[place] == hashed
        ]

    def top(self, terms: Sequence[str], k: int) -> list[tuple[int, float]]:
        """The best `k` passages for the terms, each counted once, with their scores; ties in the order of the passages."""
        scores = np.zeros(self.size, np.float32)
        for begin, end in self._find(terms):
            scores[self.passages[begin:end]] += self.weights[begin:end]
        return _best(scores, k)


def _best(scores: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
    size = len(scores)
    limit = np.partition(scores, size - k)[size - k] if k < size else np.float32(0)
    near = np.flatnonzero(scores >= max(limit, np.finfo(np.float32).tiny))
    order = np.argsort(-scores[near], kind="stable")[:k]
    return [(int(near[i]), float(scores[near[i]])) for i in order]
