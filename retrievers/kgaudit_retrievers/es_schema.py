"""What an index of ours looks like: its fields, how each language is analysed, and the entries that are written to it.

One index holds two kinds of entries. A passage is what is searched: `content` has its title, headings and text, folded as names are
compared (`kgaudit.text.fold_text`) and analysed as English, whatever the language, so that names meet; `lang_xx` has the same in the
analysis of its own language. A document holds the whole text and says which passages are its own; it is written once they all are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgaudit.documents import Document, Passage
from kgaudit.text import fold_text, guess_language
from kgaudit_retrievers.corpus import Found
from kgaudit_retrievers.indexing import headings_above
from kgaudit_retrievers.passages import pieces, windows
from kgaudit_retrievers.terms import ungrouped

FORMAT = "kgaudit elasticsearch 1"
"""Changes whenever fields, passages or analysis change: indexes of another format are built anew."""

_CHAINS: dict[str, tuple[str, ...]] = {
    "ar": ("arabic",), "bg": ("bulgarian",), "bn": ("bengali",), "ca": ("catalan",), "cs": ("czech",),
    "da": ("danish",), "de": ("german",), "el": ("greek",), "en": ("english",), "es": ("spanish",), "et": ("estonian",),
    "eu": ("basque",), "fa": ("persian",),
    "fi": ("finnish",), "fr": ("french",), "ga": ("irish",), "gl": ("galician",), "he": ("icu_analyzer", "standard"),
    "hi": ("hindi",), "hu": ("hungarian",), "hy": ("armenian",), "id": ("indonesian",), "it": ("italian",),
    "ja": ("kuromoji", "cjk"), "ko": ("nori", "cjk"), "lt": ("lithuanian",), "lv": ("latvian",), "nl": ("dutch",),
    "no": ("norwegian",), "pl": ("polish", "icu_analyzer", "standard"), "pt": ("portuguese",), "ro": ("romanian",), "ru": ("russian",),
    "sr": ("serbian",), "sv": ("swedish",), "th": ("thai",), "tr": ("turkish",), "uk": ("ukrainian", "icu_analyzer", "standard"),
    "zh": ("smartcn", "cjk"),
}  # fmt: skip
LANGUAGES = tuple(code for code in _CHAINS if code != "en")
"""Those that have a field of their own."""

_SAME = {"nb": "no", "nn": "no"}
_WITHOUT_STOPWORDS = frozenset(["nori", "kuromoji", "smartcn", "icu_analyzer", "standard", "ukrainian", "polish"])

# Of Lucene's BM25, with the settings of the embedded index: passages are short and of like length.
_SIMILARITY = {"kgaudit": {"type": "BM25", "k1": 0.9, "b": 0.4}}


def analysed_language(code: str) -> str:
    """The two letters of a language that has a field of its own, "" for English and for those that have none."""
    short = code.strip().casefold().replace("_", "-").split("-", 1)[0]
    short = _SAME.get(short, short)
    return short if short in LANGUAGES else ""


@dataclass(frozen=True, slots=True)
class Analysers:
    """For each language the kinds of analysers that are left to try, best first."""

    chains: Mapping[str, tuple[str, ...]]

    @classmethod
    def best(cls) -> Analysers:
        """What one would use where every plugin is installed."""
        return cls(_CHAINS)

    def without(self, language: str) -> Analysers:
        """The next best for a language whose analyser the server does not have."""
        rest = self.chains[language][1:] or ("standard",)
        return Analysers({**self.chains, language: rest})

    def note(self, language: str) -> str:
        """What is said of a language that is not analysed by the best that there is, or ""."""
        best, used = _CHAINS[language][0], self.chains[language][0]
        if best == used:
            return ""
        return f"{language}: the analyser {best} is not installed on the server, {used} takes its place"


def index_body(analysers: Analysers, meta: Mapping[str, Any], dimensions: int, shards: int, replicas: int | None) -> dict[str, Any]:
    """Settings and mapping of a new index. `dimensions` of the vectors, 0 for none."""
    used = {}
    for language, chain in analysers.chains.items():
        used[f"kg_{language}"] = {"type": chain[0]} if chain[0] in _WITHOUT_STOPWORDS else {"type": chain[0], "stopwords": "_none_"}
    text = {"type": "text", "similarity": "kgaudit"}
    unsearched = {"type": "object", "enabled": False}
    properties: dict[str, Any] = {
        "kind": {"type": "keyword"},
        "document_id": {"type": "keyword"},
        "state": {"type": "keyword"},
        "language": {"type": "keyword"},
        "start": {"type": "integer"},
        "end": {"type": "integer", "index": False},
        "generation": {"type": "integer"},
        "passages": {"type": "integer"},
        "content": text | {"analyzer": "kg_en"},
        **{f"lang_{language}": text | {"analyzer": f"kg_{language}"} for language in LANGUAGES},
        **dict.fromkeys(("title", "text", "date", "url", "digest", "spans", "owner", "beat"), unsearched),
    }
    if dimensions:
        properties["vector"] = {"type": "dense_vector", "dims": dimensions, "index": True, "similarity": "cosine"}
    settings: dict[str, Any] = {
        "number_of_shards": shards,
        "refresh_interval": "-1",  # nobody searches it before it is whole
        "similarity": _SIMILARITY,
        "analysis": {"analyzer": used},
        "merge.policy.expunge_deletes_allowed": 0,
    }
    if replicas is not None:
        settings["number_of_replicas"] = replicas
    excluded = ["content", "lang_*", "vector"]  # what is searched is kept once, as text
    return {
        "settings": {"index": settings},
        "mappings": {"dynamic": False, "_meta": {"kgaudit": dict(meta)}, "_source": {"excludes": excluded}, "properties": properties},
    }


@dataclass(frozen=True, slots=True)
class Cut:
    """A document and its passages: spans of its text, and what each is searched by."""

    document: Document
    language: str
    spans: tuple[tuple[int, int], ...]
    contents: tuple[list[str], ...]

    def text(self, i: int) -> str:
        """The text of passage `i`."""
        start, end = self.spans[i]
        return self.document.text[start:end]


def cut(found: Found) -> Cut:
    """The passages of a document, as the embedded index has them."""
    document = found.document
    text = document.text
    spans = pieces(text)
    runs = windows(spans, {heading.start for heading in found.headings})
    passages = tuple((spans[first][0], spans[last - 1][1]) for first, last in runs)
    title = fold_text(document.title)
    headings = [fold_text(heading.text) for heading in found.headings]
    contents = []
    for (start, end), above in zip(passages, headings_above(list(found.headings), [start for start, _ in passages]), strict=True):
        folded = fold_text(text[start:end])
        numbers = " ".join(ungrouped(folded))
        contents.append([part for part in (title, *(headings[i] for i in above), folded, numbers) if part])
    return Cut(document, analysed_language(document.language or guess_language(text)), passages, tuple(contents))


def document_key(identity: str) -> str:
    """The `_id` of a document's entry."""
    return "d" + sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def passage_key(identity: str, state: str, span: Sequence[int]) -> str:
    """The `_id` of a passage's entry: it names document, state and place, so that writing it twice changes nothing."""
    return "p" + sha256(f"{identity}\x00{state}\x00{span[0]}\x00{span[1]}".encode()).hexdigest()[:40]


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def put_line(key: str, entry: object) -> bytes:
    """Two lines of a bulk request: write this entry."""
    return b'{"index":{"_id":"%s"}}\n%s' % (key.encode(), _line(entry))


def delete_line(key: str) -> bytes:
    """A line of a bulk request: delete this entry."""
    return b'{"delete":{"_id":"%s"}}' % key.encode()


def passage_entries(one: Cut, state: str, vectors: NDArray[np.float32] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Key and entry of each passage."""
    document = one.document
    known = {"kind": "passage", "document_id": document.id, "state": state, "digest": document.digest, "title": document.title,
             "language": document.language, "date": document.date, "url": document.url}  # fmt: skip
    for i, span in enumerate(one.spans):
        entry: dict[str, Any] = {**known, "start": span[0], "end": span[1], "text": one.text(i), "content": one.contents[i]}
        if one.language:
            entry[f"lang_{one.language}"] = one.contents[i]
        if vectors is not None:
            entry["vector"] = vectors[i].tolist()
        yield passage_key(document.id, state, span), entry


def document_entry(one: Cut, state: str, generation: int) -> dict[str, Any]:
    """The entry of the document itself."""
    document = one.document
    return {
        "kind": "document", "document_id": document.id, "state": state, "generation": generation, "passages": len(one.spans),
        "spans": [list(span) for span in one.spans], "title": document.title, "language": document.language, "date": document.date,
        "url": document.url, "text": document.text,
    }  # fmt: skip


def passage_of(source: Mapping[str, Any], score: float) -> Passage:
    """The passage of an entry."""
    return Passage(
        source["document_id"], source["start"], source["end"], source["text"], source["title"], source["language"], source["date"],
        source["url"], source["digest"], score,
    )  # fmt: skip
