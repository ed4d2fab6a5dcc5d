"""How predicates are used: what predicate cards are learnt from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgaudit.literals import STRING
from kgaudit.triples import parse_literal

LEARNT_FROM = 1_000_000
"""Claims that uses are learnt from: the first that come."""
EXAMPLES = 200
"""Subjects and objects of each predicate whose types are looked at."""
TOP_TYPES = 5


@dataclass(frozen=True, slots=True)
class PredicateUse:
    """How a predicate is used.

    `claims`: candidates of the whole graph. The rest is learnt from the first million claims: `subjects`, how many of them have one
    object, `datatypes` (datatype IRI: literals) and the most frequent types of subjects and objects among some examples, as
    (type term, examples).
    """

    claims: int = 0
    subjects: int = 0
    subjects_with_one_object: int = 0
    datatypes: dict[str, int] = field(default_factory=dict)
    subject_types: tuple[tuple[str, int], ...] = ()
    object_types: tuple[tuple[str, int], ...] = ()


class UseLearner:
    """Learns from claims as they pass by; 20 bytes a claim."""

    def __init__(self) -> None:
        self._seen = 0
        self._numbers: dict[str, int] = {}
        self._predicate: list[np.ndarray] = []
        self._subject: list[np.ndarray] = []
        self._key: list[np.ndarray] = []
        self._datatypes: dict[str, Counter[str]] = {}
        self._subjects: dict[str, dict[str, None]] = {}
        self._objects: dict[str, dict[str, None]] = {}

    def add(self, batch: pa.RecordBatch, keys: Sequence[str]) -> None:
        """Takes a batch of `STATEMENT_SCHEMA` and the keys of its rows."""
        if self._seen >= LEARNT_FROM:
            return
        self._seen += len(keys)
        encoded = batch.column("p").dictionary_encode()
        predicates = encoded.dictionary.to_pylist()
        numbers = np.array([self._numbers.setdefault(term, len(self._numbers)) for term in predicates], np.int32)
        self._predicate.append(numbers[encoded.indices.to_numpy()])
        subjects = batch.column("s").to_pylist()
        self._subject.append(np.fromiter(map(hash, subjects), np.int64, len(subjects)))
        self._key.append(np.fromiter((int(key[:15], 16) for key in keys), np.int64, len(keys)))
        objects = batch.column("o")
        for i, term in enumerate(predicates):
            known_subjects, known_objects = self._subjects.setdefault(term, {}), self._objects.setdefault(term, {})
            if len(known_subjects) < EXAMPLES or len(known_objects) < EXAMPLES:
                rows = pc.indices_nonzero(pc.equal(encoded.indices, i)).slice(0, EXAMPLES)
                known_subjects.update(dict.fromkeys(subjects[row] for row in rows.to_pylist()))
                known_objects.update(dict.fromkeys(one for one in objects.take(rows).to_pylist() if not one.startswith('"')))
        self._count_datatypes(batch.column("p"), objects)

    def _count_datatypes(self, p: pa.Array, o: pa.Array) -> None:
        literal = pc.starts_with(o, '"')
        # What follows the last quotation mark: nothing, @language or ^^<datatype>.
        tails = pc.replace_substring_regex(o.filter(literal), r'(?s)^".*"', '""')
        for pair, count in Counter(zip(p.filter(literal).to_pylist(), tails.to_pylist(), strict=True)).items():
            predicate, tail = pair
            self._datatypes.setdefault(predicate, Counter())[parse_literal(tail).datatype if tail else STRING] += count

    def uses(self, claims: Counter[str], types: Callable[[str], Sequence[str]]) -> dict[str, PredicateUse]:
        """The use of each predicate of `claims` (candidates by predicate term); `types` gives the types of a term."""
        subjects: dict[int, tuple[int, int]] = {}
        if self._predicate:
            _, firsts = np.unique(np.concatenate(self._key), return_index=True)
            pairs = np.stack([np.concatenate(self._predicate)[firsts].astype(np.int64), np.concatenate(self._subject)[firsts]])
            pairs = pairs[:, np.lexsort(pairs[::-1])]
            begins = np.flatnonzero(np.append(True, (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)))
            alone = np.diff(np.append(begins, pairs.shape[1])) == 1
            numbers = pairs[0, begins]
            for number in np.unique(numbers).tolist():
                mine = numbers == number
                subjects[number] = int(mine.sum()), int(alone[mine].sum())
        return {
            term: PredicateUse(
                count,
                *subjects.get(self._numbers.get(term, -1), (0, 0)),
                datatypes=dict(self._datatypes.get(term, Counter()).most_common()),
                subject_types=_top(self._subjects.get(term, {}), types),
                object_types=_top(self._objects.get(term, {}), types),
            )
            for term, count in sorted(claims.items())
        }


def _top(terms: dict[str, None], types: Callable[[str], Sequence[str]]) -> tuple[tuple[str, int], ...]:
    counts = Counter(one for term in list(terms)[:EXAMPLES] for one in types(term))
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:TOP_TYPES])
