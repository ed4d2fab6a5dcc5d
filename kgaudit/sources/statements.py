"""The statements of a source as Arrow batches: terms, graph, line, role, and what rows say beside the triple."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from kgaudit.sources.rules import Role, Rules
from kgaudit.triples import iri_of

STATEMENT_SCHEMA = pa.schema(
    [
        pa.field("s", pa.string(), nullable=False),
        pa.field("p", pa.string(), nullable=False),
        pa.field("o", pa.string(), nullable=False),
        ("graph", pa.string()),
        pa.field("line", pa.int64(), nullable=False),
        pa.field("role", pa.int8(), nullable=False),
        ("statement", pa.string()),
        ("documents", pa.list_(pa.string())),
        ("extractor", pa.string()),
        ("extracted_at", pa.string()),
        ("valid_from", pa.string()),
        ("valid_until", pa.string()),
    ]
)
"""Terms as N-Triples text; `role` a `Role`; the columns after it are filled by tables only."""

GIVEN_NAMES = STATEMENT_SCHEMA.with_metadata({"kgaudit": "given names"})
"""The schema of batches that hold the labels which rows give beside their triples: names, not statements of their own."""


def statement_batch(s: pa.Array, p: pa.Array, o: pa.Array, *, line: pa.Array, roles: RoleFinder, **said: pa.Array) -> pa.RecordBatch:
    """A batch of `STATEMENT_SCHEMA` with its roles; columns that are not given are null."""
    n = len(s)
    columns = {"s": s, "p": p, "o": o, "line": line, "role": roles(p, o), **said}
    return pa.RecordBatch.from_arrays(
        [pa.nulls(n, field.type) if columns.get(field.name) is None else columns[field.name] for field in STATEMENT_SCHEMA],
        schema=STATEMENT_SCHEMA,
    )


class RoleFinder:
    """Finds the roles of whole columns: each distinct predicate is looked up once."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._by_predicate: dict[str, int] = {}
        self._by_type: dict[str, int] = {}

    def __call__(self, p: pa.Array, o: pa.Array) -> pa.Array:
        """The role of each row as int8."""
        encoded = p.dictionary_encode()
        terms = encoded.dictionary.to_pylist()
        roles = pa.array([_looked_up(self._by_predicate, term, self._rules.role) for term in terms], pa.int8())
        found = roles.take(encoded.indices)
        if Role.TYPE not in set(roles.to_pylist()):
            return found
        is_type = pc.equal(found, pa.scalar(Role.TYPE, pa.int8()))
        types = o.filter(is_type).dictionary_encode()
        by_type = [_looked_up(self._by_type, term, self._rules.type_role) for term in types.dictionary.to_pylist()]
        return pc.replace_with_mask(found, is_type, pa.array(by_type, pa.int8()).take(types.indices))


def _looked_up(known: dict[str, int], term: str, find: Callable[[str], Role]) -> int:
    role = known.get(term)
    if role is None:
        role = int(find(iri_of(term)))
        if len(known) < 100_000:
            known[term] = role
    return role
