"""Triples, the places they were found in, and the key that identifies a triple everywhere.

A term is held as its N-Triples text: `<https://graph.example/Norrby>`, `"1.5"^^<http://...#decimal>`, `"Werk"@de`, `_:b0`,
`<<( s p o )>>`. That is lossless, cheap to store in Arrow columns, and what every standard tool reads back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote, unquote

import pyarrow as pa

from kgaudit.literals import STRING, canonical_lexical

NAME_PREFIX = "urn:kgaudit:name:"
"""Names from plain rows become IRIs below this prefix, percent-encoded."""

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f", "\x7f": "\\u007F"}
_ESCAPABLE = re.compile(r'[\\"\x00-\x1f\x7f]')
_UNESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_UNESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


def escape(text: str) -> str:
    """Escapes a literal's text as canonical N-Triples does (https://www.w3.org/TR/rdf12-n-triples/#canonical-ntriples)."""
    return _ESCAPABLE.sub(lambda match: _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04X}", text)


def unescape(text: str) -> str:
    """The text behind N-Triples escapes. Raises `ValueError` on an escape that is half a character or none."""
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        if code is None:
            try:
                return _UNESCAPED[match[3]]
            except KeyError:
                raise ValueError(f"\\{match[3]} is no escape") from None
        point = int(code, 16)
        if 0xD800 <= point <= 0xDFFF or point > 0x10FFFF:
            raise ValueError(f"the escape {match[0]} is not a character")
        return chr(point)

    return _UNESCAPE.sub(replace, text)


@dataclass(frozen=True, slots=True)
class Literal:
    """The parts of a literal term; `datatype` is an IRI without brackets."""

    value: str
    datatype: str = STRING
    language: str | None = None


def iri_term(iri: str) -> str:
    """The term of an IRI."""
    return f"<{iri}>"


def name_term(name: str) -> str:
    """The term of a plain name: `Norrby Pumps` becomes `<urn:kgaudit:name:Norrby%20Pumps>`."""
    return f"<{NAME_PREFIX}{quote(name, safe='')}>"


def literal_term(value: str, datatype: str = STRING, language: str | None = None) -> str:
    """The term of a literal, as written (not canonical)."""
    if language:
        return f'"{escape(value)}"@{language}'
    return f'"{escape(value)}"' if datatype == STRING else f'"{escape(value)}"^^<{datatype}>'


def is_iri(term: str) -> bool:
    """Whether the term is an IRI."""
    return term.startswith("<") and not term.startswith("<<")


def is_blank(term: str) -> bool:
    """Whether the term is a blank node."""
    return term.startswith("_:")


def is_literal(term: str) -> bool:
    """Whether the term is a literal."""
    return term.startswith('"')


def iri_of(term: str) -> str:
    """The IRI of an IRI term."""
    return term[1:-1]


def name_of(term: str) -> str | None:
    """The plain name behind a term made by `name_term`, or None."""
    if term.startswith("<" + NAME_PREFIX):
        return unquote(term[len(NAME_PREFIX) + 1 : -1])
    return None


def parse_literal(term: str) -> Literal:
    """The parts of a literal term. Raises `ValueError` where it is none."""
    end = term.rfind('"')
    if end <= 0 or not term.startswith('"'):
        raise ValueError(f"not a literal: {term}")
    value, tail = unescape(term[1:end]), term[end + 1 :]
    if tail.startswith("@"):
        return Literal(value, "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", tail[1:])
    return Literal(value, tail[3:-1] if tail.startswith("^^") else STRING)


def quoted_terms(term: str) -> tuple[str, str, str]:
    """Subject, predicate and object of a triple term `<<( s p o )>>`."""
    s, p, o = term[4:-4].split(" ", 2)
    return s, p, o


def canonical_term(term: str) -> str:
    """The term with canonical lexical form, lower-case language tag and canonical escapes."""
    if term.startswith("<<( "):
        s, p, o = quoted_terms(term)
        return f"<<( {s} {p} {canonical_term(o)} )>>"
    if not term.startswith('"'):
        return term
    literal = parse_literal(term)
    if literal.language is not None:
        return f'"{escape(literal.value)}"@{literal.language.lower()}'
    return literal_term(canonical_lexical(literal.value, literal.datatype), literal.datatype)


@dataclass(frozen=True, slots=True)
class Triple:
    """Subject, predicate and object as N-Triples terms, with the interval in which the fact is said to hold."""

    s: str
    p: str
    o: str
    valid_from: str | None = None
    valid_until: str | None = None

    @property
    def key(self) -> str:
        """The triple key, 64 hexadecimal digits."""
        return triple_key(self.s, self.p, self.o, self.valid_from, self.valid_until)


def triple_key(s: str, p: str, o: str, valid_from: str | None = None, valid_until: str | None = None) -> str:
    """sha256 of the canonical N-Quads line of (s, p, o), followed by the validity interval where one is given.

    Blank nodes must already carry canonical labels (`kgaudit.sources`).
    """
    line = f"{canonical_term(s)} {p} {canonical_term(o)} .\n"
    if valid_from or valid_until:
        line += f"{valid_from or ''}/{valid_until or ''}\n"
    return sha256(line.encode("utf-8")).hexdigest()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a triple was found, and what was said of it there.

    `line` counts from 1 (0: the format has none); `documents` are the ids of the documents it was extracted from; `extracted_at` is
    ISO 8601 as given.
    """

    file: str
    line: int = 0
    graph: str | None = None
    statement: str | None = None
    documents: tuple[str, ...] = ()
    extractor: str | None = None
    extracted_at: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A triple taken for verification, with every place it came with: one row a key."""

    key: str
    triple: Triple
    places: tuple[Place, ...]

    @property
    def statements(self) -> tuple[str, ...]:
        """The different statements, in the order in which they were found."""
        return tuple(dict.fromkeys(place.statement for place in self.places if place.statement))


PLACE_TYPE = pa.struct(
    [
        ("file", pa.string()),
        ("line", pa.int64()),
        ("graph", pa.string()),
        ("statement", pa.string()),
        ("documents", pa.list_(pa.string())),
        ("extractor", pa.string()),
        ("extracted_at", pa.string()),
    ]
)

CANDIDATE_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("s", pa.string(), nullable=False),
        pa.field("p", pa.string(), nullable=False),
        pa.field("o", pa.string(), nullable=False),
        ("valid_from", pa.string()),
        ("valid_until", pa.string()),
        pa.field("places", pa.list_(PLACE_TYPE), nullable=False),
    ]
)
"""One row a candidate triple, terms as N-Triples text."""


def place_to_dict(place: Place) -> dict[str, object]:
    """A `PLACE_TYPE` value."""
    return {
        "file": place.file,
        "line": place.line,
        "graph": place.graph,
        "statement": place.statement,
        "documents": list(place.documents),
        "extractor": place.extractor,
        "extracted_at": place.extracted_at,
    }


def place_from_dict(row: dict[str, object]) -> Place:
    """The place of a `PLACE_TYPE` value."""
    values = dict(row)
    documents = values.pop("documents") or ()
    assert isinstance(documents, Iterable)
    return Place(documents=tuple(map(str, documents)), **values)  # type: ignore[arg-type]
