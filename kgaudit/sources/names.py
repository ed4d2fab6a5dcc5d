"""What things are called, what they are, and which names mean the same thing: one SQLite file beside the candidates."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kgaudit.errors import InputError, StorageError
from kgaudit.sources.rules import RDF
from kgaudit.text import fold_name
from kgaudit.triples import iri_of, is_iri, is_literal, name_of, parse_literal, triple_key

PREFERRED, LABEL, ALIAS = "skos:prefLabel", "rdfs:label", "skos:altLabel"


@dataclass(frozen=True, slots=True)
class Label:
    """A name of a thing. `kind`: `skos:prefLabel`, `rdfs:label` (any name) or `skos:altLabel` (any other name)."""

    value: str
    language: str
    kind: str


_TABLES = """
CREATE TABLE label (term TEXT, value TEXT, language TEXT, kind TEXT, folded TEXT);
CREATE TABLE given (id TEXT, value TEXT, language TEXT, kind TEXT);
CREATE TABLE type (term TEXT, type TEXT);
CREATE TABLE same (term TEXT, other TEXT);
CREATE TABLE said (term TEXT, predicate TEXT, object TEXT);
CREATE TABLE reifier (key TEXT, term TEXT);
"""
_INDEXES = """
CREATE INDEX said_term ON said (term);
CREATE INDEX label_term ON label (term);
CREATE INDEX label_folded ON label (folded);
CREATE INDEX given_id ON given (id);
CREATE INDEX type_term ON type (term);
CREATE INDEX same_term ON same (term);
CREATE INDEX reifier_key ON reifier (key);
CREATE INDEX reifier_term ON reifier (term);
"""
_STATEMENTS = """
INSERT INTO reifier SELECT triple_key(s.object, p.object, o.object), s.term FROM said AS s
JOIN said AS p ON p.term = s.term AND p.predicate = :predicate
JOIN said AS o ON o.term = s.term AND o.predicate = :object
WHERE s.predicate = :subject
"""


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turns SQLite's errors into ours."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        full = "full" in str(error)
        raise StorageError(
            "the disk is full" if full else f"the file of names cannot be used ({error})",
            where=str(path),
            todo="Free some space and run the same command again." if full else "Load the graph again.",
        ) from error


class NamesWriter:
    """Fills the file of names; `finish` builds its indexes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.unlink(missing_ok=True)
        with disk_errors(path):
            self._db = sqlite3.connect(path, isolation_level=None)
            self._db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;" + _TABLES)
            self._db.execute("BEGIN")

    def labels(self, terms: Iterable[str], values: Iterable[str], kind: str) -> None:
        """Labels: `values` are literal terms; what is no literal names nothing and is passed over."""
        rows = []
        for term, value in zip(terms, values, strict=True):
            if is_literal(value):
                literal = parse_literal(value)
                if literal.value.strip():
                    language = (literal.language or "").lower()
                    rows.append((term, literal.value, language, kind, fold_name(literal.value)))
        self._insert("label", 5, rows)

    def given(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Labels from a file of labels: id, label, language."""
        self._insert("given", 4, ((one, value, language, LABEL) for one, value, language in rows))

    def types(self, terms: Iterable[str], types: Iterable[str]) -> None:
        """What things are."""
        self._insert("type", 2, zip(terms, types, strict=True))

    def same(self, terms: Iterable[str], others: Iterable[str]) -> None:
        """Pairs that mean the same thing."""
        pairs = [pair for pair in zip(terms, others, strict=True) if pair[0] != pair[1]]
        self._insert("same", 2, [*pairs, *((other, term) for term, other in pairs)])

    def said(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Provenance statements: subject, predicate, object."""
        self._insert("said", 3, rows)

    def reifiers(self, rows: Iterable[tuple[str, str]]) -> None:
        """Keys of triples, and the terms that stand for them."""
        self._insert("reifier", 2, rows)

    def _insert(self, table: str, width: int, rows: Iterable[tuple[str, ...]]) -> None:
        with disk_errors(self._path):
            self._db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * width)})", rows)

    def finish(self) -> None:
        """Matches up the parts of reified statements, builds the indexes and closes the file."""
        with disk_errors(self._path):
            self._db.execute("COMMIT")
            self._db.executescript(_INDEXES)
            self._db.create_function("triple_key", 3, triple_key, deterministic=True)
            self._db.execute(_STATEMENTS, {"subject": f"<{RDF}subject>", "predicate": f"<{RDF}predicate>", "object": f"<{RDF}object>"})
            self._db.close()

    def close(self) -> None:
        """Closes the file as it is."""
        self._db.close()


class Names:
    """Names, types and equal names of terms; read only, and usable from several threads at once.

    Every method raises `StorageError` where the file is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._has_given = bool(self._all("SELECT 1 FROM given LIMIT 1"))

    def labels(self, term: str) -> list[Label]:
        """The labels of a term, in the order found; where the graph has none, those of the file of labels."""
        found = self._all("SELECT DISTINCT value, language, kind FROM label WHERE term = ?", term)
        if not found and self._has_given and is_iri(term):
            for one in _ids(term):
                found = self._all("SELECT DISTINCT value, language, kind FROM given WHERE id = ?", one)
                if found:
                    break
        return [Label(*row) for row in found]

    def types(self, term: str) -> list[str]:
        """The declared types of a term, as terms."""
        return [row[0] for row in self._all("SELECT DISTINCT type FROM type WHERE term = ?", term)]

    def same_as(self, term: str) -> list[str]:
        """The terms that the graph calls the same thing, over several steps, without the term itself; 1,000 at most."""
        found = {term: None}
        todo = [term]
        while todo and len(found) <= 1000:
            for (other,) in self._all("SELECT DISTINCT other FROM same WHERE term = ? ORDER BY other", todo.pop()):
                if other not in found:
                    found[other] = None
                    todo.append(other)
        return list(found)[1:]

    def named(self, name: str) -> list[str]:
        """The terms one of whose labels is the name, as `kgaudit.text.fold_name` compares names."""
        return [row[0] for row in self._all("SELECT DISTINCT term FROM label WHERE folded = ?", fold_name(name))]

    def shared(self) -> list[tuple[str, str]]:
        """Folded names that several terms bear, each with its terms, in order; 100,000 pairs at most."""
        query = """SELECT DISTINCT folded, term FROM label WHERE folded IN
            (SELECT folded FROM label GROUP BY folded HAVING COUNT(DISTINCT term) > 1) ORDER BY folded, term LIMIT 100000"""
        return [(folded, term) for folded, term in self._all(query)]

    def said(self, term: str) -> list[tuple[str, str]]:
        """What the graph's provenance says of a term: predicate and object terms."""
        return [(p, o) for p, o in self._all("SELECT DISTINCT predicate, object FROM said WHERE term = ?", term)]

    def reifiers(self, key: str) -> list[str]:
        """The terms that stand for the triple with this key (`rdf:reifies`, `rdf:Statement`)."""
        return [row[0] for row in self._all("SELECT DISTINCT term FROM reifier WHERE key = ?", key)]

    def has_reifiers(self) -> bool:
        """Whether any triple is reified."""
        return bool(self._all("SELECT 1 FROM reifier LIMIT 1"))

    def is_reifier(self, term: str) -> bool:
        """Whether a term stands for a triple."""
        return bool(self._all("SELECT 1 FROM reifier WHERE term = ? LIMIT 1", term))

    def close(self) -> None:
        """Closes the connections of all threads."""
        for connection in self._open:
            connection.close()
        self._open.clear()
        self._local = threading.local()

    def _all(self, query: str, *values: str) -> list[tuple[str, ...]]:
        with disk_errors(self._path):
            connection = getattr(self._local, "connection", None)
            if connection is None:
                uri = f"{self._path.resolve().as_uri()}?mode=ro&immutable=1"
                connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
                self._local.connection = connection
                self._open.append(connection)
            return list(connection.execute(query, values))


def _ids(term: str) -> list[str]:
    """Under what a term may stand in a file of labels: its IRI, the name behind it, the last part of the IRI."""
    iri = iri_of(term)
    name = name_of(term)
    return [name] if name is not None else [iri, re.split(r"[/#:]", iri)[-1]]


def read_label_rows(path: Path) -> Iterator[tuple[str, str, str]]:
    """The rows of a file of labels (TSV, CSV or JSONL, with `id` and `label`, optionally `language`; without a header the first two
    columns are taken). Raises `InputError` naming the line that is none."""
    import csv
    import json

    kind = path.suffix.lower()
    with open(path, encoding="utf-8-sig", newline="") as file:
        if kind in (".jsonl", ".ndjson"):
            for number, line in enumerate(file, 1):
                if line.strip():
                    try:
                        row = json.loads(line)
                        yield str(row["id"]), str(row["label"]), str(row.get("language") or "")
                    except (ValueError, KeyError, TypeError, AttributeError):
                        raise InputError(f"line {number} holds no object with id and label", where=str(path)) from None
            return
        reader = csv.reader(file, delimiter="," if kind == ".csv" else "\t")
        positions = (0, 1, 2)
        for number, cells in enumerate(reader, 1):
            if number == 1 and "label" in (low := [cell.strip().lower() for cell in cells]):
                identifier = next((low.index(name) for name in ("id", "iri", "term", "entity") if name in low), 0)
                positions = (identifier, low.index("label"), low.index("language") if "language" in low else len(cells))
                continue
            if not cells:
                continue
            if len(cells) <= max(positions[:2]):
                raise InputError(f"line {reader.line_num} has no id and label", where=str(path))
            yield cells[positions[0]].strip("<> "), cells[positions[1]], cells[positions[2]] if positions[2] < len(cells) else ""
