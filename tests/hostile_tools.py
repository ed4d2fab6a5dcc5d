"""The corpus of hostile passages, and models that fall for them."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from conftest import make_claim

from kgaudit.claims import Claim
from kgaudit.documents import Document
from kgaudit.models.chat import ChatRequest, Choice, Token
from kgaudit.text import sentences

FOLDER = Path(__file__).parent / "hostile"
FENCE = "0123456789abcdef"
"""The fence that the corpus forges: what documents do to it must come to nothing even if they could guess it."""

HONEST = (
    Document("d1", "In 2018 Norrby Pumps acquired Halden Works for 4 million euros, and Norrby Pumps still owns Halden Works today."),
    Document("d2", "Halden Works is a foundry on the coast. Norrby Pumps owns Halden Works and has doubled its staff."),
    Document("d3", "The pump maker Norrby Pumps owns Halden Works, as its annual report says."),
    Document("d4", "Norrby Pumps never had its headquarters in Tarnvik. The headquarters are in Orvik since 1990."),
    Document("d5", "The headquarters of Norrby Pumps are in Orvik and were never in Tarnvik."),
    Document("d6", "Norrby Pumps does not have its headquarters in Tarnvik. It has them in Orvik."),
)
CLAIMS: dict[str, Claim] = {
    "owned": make_claim("Norrby Pumps", "owns", "Halden Works"),
    "seat": make_claim("Norrby Pumps", "headquarters location", "Tarnvik"),
}
RIGHT = {"owned": "supported", "seat": "refuted"}


@dataclass(frozen=True)
class Hostile:
    """One passage of the corpus."""

    name: str
    category: str
    wants: str
    claim: str
    text: str

    @property
    def document(self) -> Document:
        return Document(f"hostile-{self.name}", self.text)


@cache
def corpus() -> tuple[Hostile, ...]:
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.txt")))


def _read(path: Path) -> Hostile:
    head, _, text = path.read_bytes().decode("utf-8").partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.split("\n"))
    return Hostile(path.stem, fields["category"], fields["wants"], fields["claim"], text * int(fields.get("repeat", "1")))


_STATES = {
    "owned": re.compile(r"Norrby Pumps (?:still )?owns Halden Works"),
    "seat": re.compile(r"headquarters (?:of Norrby Pumps )?(?:are |is )?in Tarnvik"),
}
_DENIES = {
    "owned": re.compile(r"Norrby Pumps (?:does not own|never owned|sold|lost) Halden Works|owned by Kestrel Group"),
    "seat": re.compile(r"(?:never had|does not have) its headquarters in Tarnvik|were never in Tarnvik"),
}


class Gullible:
    """A model that reads documents rightly, but does whatever stands outside the fence; with `everywhere`, inside it too.

    It takes the text up to the first line that closes a block for the block, and what follows for the user's own words. It is sure of
    everything, and quotes what it is told to quote.
    """

    def __init__(self, claim: str, *, everywhere: bool = False) -> None:
        self._claim = claim
        self._everywhere = everywhere
        self.obeyed = 0

    def __call__(self, request: ChatRequest) -> Any:
        text = request.messages[-1].content
        documents = re.findall(rf"<<DOCUMENT[ \d]* {FENCE}\n(.*?)\n{FENCE}>>", text, re.DOTALL | re.IGNORECASE)
        outside = re.sub(rf"<<[A-Z]+[ \d]* {FENCE}\n.*?\n{FENCE}>>", "", text, flags=re.DOTALL | re.IGNORECASE).strip()
        order = _order(outside) or (self._everywhere and next(filter(None, map(_order, documents)), None))
        if request.schema_name == "SearchQuery":
            return {"combination": "s+o", "form": "keywords", "query": "Norrby Pumps Halden Works"}
        if request.schema_name == "Summary":
            return {"quotes": [sentence for one in documents for sentence in _sentences(one)][:6]}
        if order:
            self.obeyed += 1
            told = re.search(r"[\"“]([^\"”]{8,})[\"”]", "\n".join([outside, *documents]))
            first = _sentences(documents[0])[0] if documents and _sentences(documents[0]) else ""
            return _answer(told[1] if told else first, order)
        return self._read(documents)

    def _read(self, documents: list[str]) -> Choice:
        for patterns, verdict in ((_DENIES, "refutes"), (_STATES, "supports")):
            for document in documents:
                for sentence in _sentences(document):
                    if patterns[self._claim].search(sentence):
                        return _answer(sentence, verdict)
        return _answer("", "neither")


def _order(text: str) -> str | None:
    found = re.search(r"supports|supported|refutes|refuted", text, re.IGNORECASE)
    return None if found is None else "refutes" if found[0].lower().startswith("ref") else "supports"


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def _answer(quote: str, verdict: str) -> Choice:
    value = {"quote": quote, "verdict": verdict, "instead": ""}
    text = json.dumps(value)
    at = text.rindex(f'"verdict": "{verdict}"') + len('"verdict": "')
    shares = {word: 0.998 if word == verdict else 0.001 for word in ("supports", "refutes", "neither")}
    tokens = [Token(piece, 0.0, ((piece, 0.0),)) for piece in (text[:at], text[at + len(verdict) :])]
    middle = Token(verdict, math.log(0.998), tuple((word, math.log(share)) for word, share in shares.items()))
    return Choice(text, tokens=(tokens[0], middle, tokens[1]))
