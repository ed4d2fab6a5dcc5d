"""A trusted knowledge graph: what it holds is supported, what it holds otherwise for a functional predicate is refuted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from kgaudit.claims import Claim
from kgaudit.triples import Candidate, Triple
from kgaudit.verdicts import Verdict


class TrustedKG:
    """The triples of a trusted graph, in memory: keys, and the objects of each subject and predicate."""

    def __init__(self, candidates: Iterable[Candidate], label: Callable[[str], str], *, digest: str, name: str | Path) -> None:
        self._label = label
        self.digest = digest
        self.name = Path(name).name
        self._keys: set[str] = set()
        self._objects: dict[tuple[str, str], list[str]] = {}
        for candidate in candidates:
            self._keys.add(candidate.key)
            self._objects.setdefault((candidate.triple.s, candidate.triple.p), []).append(candidate.triple.o)

    def __call__(self, claim: Claim) -> Verdict | None:
        """A verdict where the trusted graph decides, else None. Validity intervals must agree, since they belong to the key."""
        triple = claim.triple
        if claim.key in self._keys or Triple(triple.s, triple.p, triple.o).key in self._keys:
            return Verdict("supported", f"the trusted graph {self.name} holds it", "trusted_kg", 1.0, 1.0)
        known = self._objects.get((triple.s, triple.p))
        if known and claim.predicate.functional and not (triple.valid_from or triple.valid_until):
            reason = f"the trusted graph {self.name} holds another object for “{claim.predicate.label}”, of which there is one"
            return Verdict("refuted", reason, "trusted_kg", 0.0, 1.0, better_object=self._label(known[0]))
        return None
