"""One triple as people read it: what was claimed, what was found, the quotes in their passages, and how it was decided."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kgaudit.documents import Passage
from kgaudit.literals import XSD
from kgaudit.reports.nodes import Node, element, isolated
from kgaudit.triples import is_iri, is_literal, name_of

VERDICT_WORDS = {
    "refuted": "refuted",
    "not_enough_evidence": "not enough evidence",
    "not_judged": "not judged",
    "supported": "supported",
}
STANCE_WORDS = {"supports": "supports the triple", "refutes": "contradicts the triple", "neither": "says neither"}

_LABEL_LIMIT, _TEXT_LIMIT = 500, 1500
_PASSAGE_LIMIT, _PASSAGE_MARGIN = 3000, 700
_PLACES_LIMIT, _RESULTS_LIMIT, _SENTENCE_LIMIT = 20, 10, 240
_WEB = re.compile(r"https?://[^\s\x00-\x20\x7f]+\Z", re.IGNORECASE)


def passage_ids(row: Mapping[str, Any]) -> Iterator[str]:
    """The ids of the passages that a row speaks of."""
    for span in row["evidence"]:
        yield span["passage_id"]
    for step in row["steps"]:
        yield from step["passages"]


def card(row: Mapping[str, Any], passages: Mapping[str, Passage]) -> Node:
    """A row (`VERDICT_SCHEMA` as Python values, `steps` as of `steps_to_json`) as a list item."""
    verdict = row["verdict"]
    sure = f"confidence {row['confidence']:.2f}" if row["confidence"] is not None else ""
    key = element("code", row["key"][:12], cls="key", data_key=row["key"], title="The triple's key")
    return element(
        "li",
        element(
            "div",
            element("span", VERDICT_WORDS[verdict], cls=f"badge {verdict}"),
            element("span", sure) if sure else None,
            key,
            cls="top",
        ),
        element(
            "div",
            _term("subject", row["s_label"], row["s"]),
            _term("predicate", row["p_label"], row["p"]),
            _term("object", row["o_label"], row["o"]),
            cls="terms",
        ),
        _validity(row["valid_from"], row["valid_until"]),
        element("p", shorten(row["reason"], _TEXT_LIMIT), cls="reason", dir="auto"),
        _better(row["better_object"]),
        _statement(row["statement"]),
        *_evidence(row["evidence"], passages),
        _trajectory(row, passages),
        _places(row["places"], row["statement"]),
        cls=f"triple {verdict}",
    )


def shorten(text: str, limit: int) -> str:
    """The text, or its beginning and how long it is."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def address(url: str) -> Node:
    """A url or IRI: a link where it is plain http or https, else its text alone."""
    shown = isolated(shorten(url, _LABEL_LIMIT))
    if not _WEB.match(url):
        return shown
    return ["a", {"href": url, "rel": "noopener noreferrer", "target": "_blank"}, shown]


def _term(role: str, label: str, term: str) -> Node:
    note: Node | None = None
    if is_iri(term):
        note = address(term[1:-1]) if name_of(term) is None else None
    elif not is_literal(term) or term != f'"{label}"':
        note = isolated(shorten(term.replace(f"^^<{XSD}", "^^<xsd:"), _LABEL_LIMIT))
    return element(
        "div",
        element("small", role),
        isolated(shorten(label, _LABEL_LIMIT), cls="label"),
        element("span", note, cls="note") if note else None,
    )


def _validity(start: str | None, end: str | None) -> Node | None:
    if not start and not end:
        return None
    return element(
        "p", "Said to hold ", *(["from ", isolated(start), " "] if start else []), *(["until ", isolated(end)] if end else [])
    )


def _better(better: str | None) -> Node | None:
    return element("p", "The evidence names instead: ", isolated(shorten(better, _LABEL_LIMIT)), cls="better") if better else None


def _statement(statement: str | None) -> Node | None:
    return element("p", "Checked as stated: ", element("q", isolated(shorten(statement, _TEXT_LIMIT)))) if statement else None


def _evidence(spans: list[dict[str, Any]], passages: Mapping[str, Passage]) -> list[Node]:
    blocks: dict[str, list[dict[str, Any]]] = {}
    for span in spans:
        blocks.setdefault(span["passage_id"] or f"document {span['document_id']}", []).append(span)
    return [_block(block, passages.get(passage_id)) for passage_id, block in blocks.items()]


def _block(spans: list[dict[str, Any]], passage: Passage | None) -> Node:
    said = ", ".join(dict.fromkeys(STANCE_WORDS[span["stance"]] for span in spans))
    marks, outside = [], []
    for span in spans:
        start, end = (span["start"] - passage.start, span["end"] - passage.start) if passage else (0, 0)
        if passage and start >= 0 and passage.text[start:end] == span["quote"]:
            marks.append((start, end, span["stance"]))
        else:
            outside.append(element("p", element("mark", span["quote"], cls=span["stance"]), dir="auto"))
    return element(
        "figure",
        element("figcaption", f"{said[0].upper()}{said[1:]} · ", *_document(spans[0]["document_id"], passage)),
        element("p", *_marked(passage, sorted(marks)), dir="auto") if passage and marks else None,
        *outside,
    )


def _document(document_id: str, passage: Passage | None) -> list[Node]:
    parts: list[Node] = []
    if passage and passage.title:
        parts += [isolated(shorten(passage.title, _LABEL_LIMIT)), " · "]
    parts += ["document ", isolated(shorten(document_id, _LABEL_LIMIT))]
    if passage and passage.date:
        parts += [" · ", isolated(passage.date)]
    if passage and passage.url:
        parts += [" · ", address(passage.url)]
    return parts


def _marked(passage: Passage, marks: list[tuple[int, int, str]]) -> Iterator[Node]:
    """The passage with its marks; only what is around them where it is long. A mark that overlaps begins where the one before ends."""
    text, low, high = passage.text, 0, len(passage.text)
    if high > _PASSAGE_LIMIT:
        low = max(0, marks[0][0] - _PASSAGE_MARGIN)
        high = min(high, max(end for _, end, _ in marks) + _PASSAGE_MARGIN)
    if low or passage.start:
        yield "… "
    at = low
    for start, end, stance in marks:
        begin = max(at, start)
        yield text[at:begin]
        if end > begin:
            yield element("mark", text[begin:end], cls=stance)
            at = end
    yield text[at:high]
    if high < len(text):
        yield " …"


def _trajectory(row: Mapping[str, Any], passages: Mapping[str, Passage]) -> Node:
    steps = [_step(step, passages) for step in row["steps"]]
    costs = [
        f"route {row['route'].replace('_', ' ')}",
        f"policy {row['policy']}",
        f"supported with probability {row['p_supported']:.2f}" if row["p_supported"] is not None else "",
        many(row["judged_pairs"], "passage judged", "passages judged"),
        many(row["model_calls"], "model call", "model calls") if row["model_calls"] else "",
        many(row["tokens"], "token", "tokens") if row["tokens"] else "",
        f"{row['seconds']:.2f} s",
    ]
    return element(
        "details",
        element("summary", f"How it was decided: {many(row['searches'], 'search', 'searches')}"),
        element("ol", *steps) if steps else None,
        element("p", ", ".join(filter(None, costs)), cls="quiet"),
        cls="steps",
    )


def _step(step: dict[str, Any], passages: Mapping[str, Passage]) -> Node:
    stances = {passage_id: rest for passage_id, *rest in step["stances"]}
    found = step["passages"]
    results = [_result(each, passages.get(each), stances.get(each)) for each in found[:_RESULTS_LIMIT]]
    more = len(found) - len(results)
    head: list[Node] = [step["action"].replace("_", " ")]
    if step["query"]:
        head += [" ", element("q", isolated(shorten(step["query"], _TEXT_LIMIT)))]
    if step["combination"]:
        head += [" from ", isolated(step["combination"])]
    if step["action"].startswith("search"):
        head.append(f": {many(len(found), 'passage', 'passages')}")
    return element(
        "li",
        element("p", *head),
        element("p", shorten(step["note"], _TEXT_LIMIT), dir="auto") if step["note"] else None,
        *(_call(*call[:2], failed=call[5]) for call in step.get("calls", ())),
        element("ul", *results, element("li", f"{more} more") if more > 0 else None) if results else None,
    )


def _call(task: str, answer: str, *, failed: bool) -> Node:
    head = f"the model gave no answer ({task}): " if failed else f"the model ({task}): "
    return element("p", head, isolated(shorten(answer, _TEXT_LIMIT)), cls="quiet")


def _result(passage_id: str, passage: Passage | None, stance: list[Any] | None) -> Node:
    name = f"passage {passage_id[:12]}" if passage is None else passage.title or passage.document_id
    if stance is None:
        return element("li", isolated(shorten(name, _LABEL_LIMIT)), ": not judged")
    supports, refutes, neither, start, end, note = stance
    sentence = passage.text[start:end] if passage else ""
    return element(
        "li",
        isolated(shorten(name, _LABEL_LIMIT)),
        f": supports {supports:.2f}, contradicts {refutes:.2f}, neither {neither:.2f}",
        *([" (", isolated(shorten(note, _TEXT_LIMIT)), ")"] if note else []),
        element("p", shorten(sentence, _SENTENCE_LIMIT), cls="sentence quiet", dir="auto") if sentence else None,
    )


def _places(places: list[dict[str, Any]], checked: str | None) -> Node | None:
    if not places:
        return None
    shown = [_place(place, checked) for place in places[:_PLACES_LIMIT]]
    more = len(places) - len(shown)
    return element(
        "details",
        element("summary", f"Found in {many(len(places), 'place', 'places')}"),
        element("ul", *shown, element("li", f"{more:,} more") if more else None),
    )


def _place(place: dict[str, Any], checked: str | None) -> Node:
    parts: list[Node] = [isolated(place["file"] or "")]
    if place["line"]:
        parts.append(f", line {place['line']}")
    for name, value in (
        ("graph", place["graph"]),
        ("documents" if len(place["documents"] or ()) > 1 else "document", ", ".join(place["documents"] or ())),
        ("extractor", place["extractor"]),
        ("extracted", place["extracted_at"]),
    ):
        if value:
            parts += [f" · {name} ", isolated(shorten(value, _LABEL_LIMIT))]
    statement = place["statement"]
    return element(
        "li",
        *parts,
        element("p", "stated as ", element("q", isolated(shorten(statement, _TEXT_LIMIT))))
        if statement and statement != checked
        else None,
    )


def many(count: int, one: str, more: str) -> str:
    """A count with its word."""
    return f"{count:,} {one if count == 1 else more}"
