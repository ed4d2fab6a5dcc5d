"""What a graph says about where its triples come from: of named graphs, and of triples through reifiers."""

from __future__ import annotations

from collections.abc import Iterable

from kgaudit.sources.candidates import Said
from kgaudit.sources.names import Names
from kgaudit.triples import iri_of, is_blank, is_iri, is_literal, name_of, parse_literal, quoted_terms, triple_key

_RDF = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#"
REIFIES, SUBJECT, PREDICATE, OBJECT = (f"{_RDF}{name}>" for name in ("reifies", "subject", "predicate", "object"))

_PROV = "<http://www.w3.org/ns/prov#"
_DCT = "<http://purl.org/dc/terms/"
_PAV = "<http://purl.org/pav/"
_OURS = "<urn:kgaudit:"
_TIMES = (
    f"{_OURS}extractedAt>",
    f"{_PROV}generatedAtTime>",
    f"{_PAV}createdOn>",
    f"{_DCT}created>",
    f"{_DCT}issued>",
    f"{_PROV}endedAtTime>",
)
_EXTRACTORS = (f"{_OURS}extractor>", f"{_PROV}wasAttributedTo>", f"{_PAV}createdBy>", f"{_PROV}wasGeneratedBy>")
_DOCUMENTS = (
    f"{_OURS}document>", f"{_PROV}wasDerivedFrom>", f"{_PROV}hadPrimarySource>", f"{_PROV}wasQuotedFrom>", f"{_DCT}source>",
    "<http://purl.org/dc/elements/1.1/source>", f"{_PAV}derivedFrom>",
)  # fmt: skip
_STATEMENTS = (f"{_OURS}statement>", f"{_PROV}value>")
_ACTIVITY = f"{_PROV}wasGeneratedBy>"


class Provenance:
    """Reads what was said of graphs and triples into `Said`."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def of_graph(self, graph: str) -> Said:
        """What is said of a named graph; where only the activity that made it has a time, that time."""
        return self._said(graph)

    def of_triple(self, key: str) -> list[Said]:
        """What is said of the triple with this key, once for each reifier that says something."""
        found = (self._said(term) for term in self._names.reifiers(key))
        return [said for said in found if said != Said()]

    def _said(self, term: str) -> Said:
        rows = self._names.said(term)
        if not rows:
            return Said()
        time = _first(rows, _TIMES)
        if time is None:
            activities = [o for p, o in rows if p == _ACTIVITY]
            time = next((found for one in activities if (found := _first(self._names.said(one), _TIMES))), None)
        documents = dict.fromkeys(_text(o) for p, o in rows if p in _DOCUMENTS)
        return Said(_first(rows, _STATEMENTS), tuple(documents), _first(rows, _EXTRACTORS), time)


def _first(rows: Iterable[tuple[str, str]], predicates: tuple[str, ...]) -> str | None:
    said = list(rows)
    return next((_text(o) for wanted in predicates for p, o in said if p == wanted and not is_blank(o)), None)


def _text(term: str) -> str:
    if is_literal(term):
        return parse_literal(term).value
    name = name_of(term)
    return name if name is not None else iri_of(term) if is_iri(term) else term


def reified(rows: Iterable[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """(key, reifier) for each `rdf:reifies` with a triple term."""
    return [(triple_key(*quoted_terms(o)), s) for s, p, o in rows if p == REIFIES and o.startswith("<<( ")]
