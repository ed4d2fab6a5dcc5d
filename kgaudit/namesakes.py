"""Things that share a name, and what the graph connects each of them with: how a reader would tell two banks of one name apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kgaudit.triples import Candidate, is_iri

MAX_CONTEXT = 20
"""At most this many neighbours of a thing are kept."""


@dataclass(frozen=True, slots=True)
class Namesakes:
    """`others`: for each thing that shares a name, the others that bear it; `neighbours`: what the graph connects each with."""

    others: Mapping[str, tuple[str, ...]]
    neighbours: Mapping[str, tuple[str, ...]]

    def contexts(self, term: str, claimed: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The neighbours of a thing without `claimed` (the claim must not vouch for itself), and those of its namesakes."""
        others = self.others.get(term)
        if not others:
            return (), ()
        own = tuple(one for one in self.neighbours.get(term, ()) if one != claimed)
        theirs = dict.fromkeys(one for other in others for one in self.neighbours.get(other, ()))
        return own, tuple(one for one in theirs if one not in own)


def find_namesakes(shared: Iterable[tuple[str, str]], candidates: Iterable[Candidate]) -> Namesakes:
    """Namesakes from (folded name, term) pairs and one pass over the candidates, which is left out where no name is shared."""
    groups: dict[str, list[str]] = {}
    for folded, term in shared:
        groups.setdefault(folded, []).append(term)
    others: dict[str, dict[str, None]] = {}
    for terms in groups.values():
        for term in terms:
            others.setdefault(term, {}).update((other, None) for other in terms if other != term)
    neighbours: dict[str, dict[str, None]] = {term: {} for term in others}
    if others:
        for candidate in candidates:
            s, o = candidate.triple.s, candidate.triple.o
            for one, other in ((s, o), (o, s)):
                known = neighbours.get(one)
                if known is not None and is_iri(other) and other not in others.get(one, ()) and len(known) < MAX_CONTEXT:
                    known[other] = None
    return Namesakes({term: tuple(found) for term, found in others.items()}, {term: tuple(found) for term, found in neighbours.items()})
