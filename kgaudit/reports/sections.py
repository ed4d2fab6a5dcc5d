"""The parts of a report above its triples: who, when and with what, the figures, the tables, and the controls of the list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

from kgaudit.reports.card import VERDICT_WORDS, address, many, shorten
from kgaudit.reports.nodes import Node, element, isolated
from kgaudit.reports.plot import interval_axis, interval_plot, share_bar
from kgaudit.reports.rows import Ranking, Section
from kgaudit.reports.summary import Figures, Group, SourceKind, interval
from kgaudit.runs.counts import Counts
from kgaudit.runs.reader import RunReader
from kgaudit.triples import name_of
from kgaudit.verdicts import VERDICTS

_SHOWN_GROUPS, _TABLE_LIMIT, _FILTER_SOURCES = 10, 1000, 50
_LABEL_LIMIT = 300
_SOURCE_WORDS: Mapping[SourceKind, str] = {
    "file": "File",
    "graph": "Named graph",
    "extractor": "Extractor",
    "document": "Source document",
}
_NO_SOURCE: Mapping[SourceKind, str] = {
    "file": "no file given",
    "graph": "default graph",
    "extractor": "no extractor given",
    "document": "no document given",
}
_ALL: Node = element("option", "all", value="")
_ORDERS = {"": "most suspicious first", "last": "least suspicious first", "predicate": "by predicate"}
_STATES = {
    "complete": ("Complete: every triple of the graph was taken up.", ""),
    "budget": ("Ended by its budget: the triples taken up are a part of the graph, taken in the order of the run.", "warn"),
    "interrupted": ("Not finished: the same command goes on where this run ended.", "warn"),
    "unverified": ("Some triples of the graph have no verdict yet: the next run takes them up.", "warn"),
}


def per_cent(share: float | None) -> str:
    """A share for reading: a dash where there is none; only a share that is whole reads as such."""
    if share is None:
        return "–"
    if share in (0, 1):
        return f"{share:.0%}".replace("%", "\u00a0%")
    return f"{min(max(100 * share, 0.1), 99.9):.1f}\u00a0%"


def run_name(reader: RunReader) -> str:
    """The name of the run folder."""
    return reader.path.resolve().name.encode("utf-8", "replace").decode("utf-8")


def head(reader: RunReader) -> list[Node]:
    """Title, name of the run and its state."""
    words, kind = _STATES.get(reader.summary.get("status", ""), ("State unknown.", "warn"))
    return [
        element("p", "Knowledge graph audit", cls="eyebrow"),
        element("h1", isolated(run_name(reader))),
        element("p", "Started ", isolated(str(reader.spec.get("started", "at an unknown time"))), cls="quiet"),
        element("p", words, cls=f"state {kind}".strip()),
    ]


def summary_section(reader: RunReader, found: Figures, links: Mapping[str, str]) -> list[Node]:
    """The figures of the whole run, and what it was made with."""
    total = found.total
    nodes: list[Node | None] = [
        element(
            "ul",
            _tile("Pass rate", per_cent(total.pass_rate), _pass_rate_words(total)),
            _tile("Refuted", f"{total.verdicts['refuted']:,}", "the evidence contradicts them"),
            _tile("Not enough evidence", _part(total.verdicts["not_enough_evidence"], total.total), "of all triples"),
            _tile("Not judged", _part(total.verdicts["not_judged"], total.total), "of all triples"),
            cls="tiles",
        ),
        share_bar(total),
        element("ul", *(_legend(total, verdict) for verdict in VERDICTS), cls="legend"),
        _nothing_judged(total),
        element("dl", *_facts(reader, total, links), cls="facts"),
        element(
            "details",
            element("summary", "Everything that a rerun needs"),
            element("pre", json.dumps(reader.spec, ensure_ascii=False, indent=1), dir="auto"),
        ),
    ]
    return [node for node in nodes if node]


def _tile(name: str, figure: str, words: str) -> Node:
    return element("li", element("span", name, cls="name"), element("b", figure), element("span", words, cls="quiet"))


def _pass_rate_words(counts: Counts) -> str:
    bounds = interval(counts)
    if bounds is None:
        return "nothing was judged"
    low, high = bounds
    return f"{counts.verdicts['supported']:,} of {counts.judged:,} judged; 95 % interval {100 * low:.1f} to {100 * high:.1f}"


def _part(count: int, total: int) -> str:
    """A share of all triples. Where it is all of them, words: a bare whole share reads like a pass rate at a glance."""
    return f"all {total:,}" if total and count == total else per_cent(count / total if total else None)


def _legend(counts: Counts, verdict: str) -> Node:
    count = counts.verdicts[verdict]
    return element("li", element("span", VERDICT_WORDS[verdict], cls=f"badge {verdict}"), f" {count:,} · {_part(count, counts.total)}")


def _nothing_judged(counts: Counts) -> Node | None:
    if counts.judged:
        return element(
            "p",
            "The pass rate is the share of supported triples among those that the documents decide. It is what the verifier says, "
            "not the accuracy of the graph.",
            cls="quiet",
        )
    words = "No triple of this run was taken up: there was no claim to verify." if not counts.total else (
        "The documents decide none of these triples: there is no pass rate, and nothing here says that the graph is right."
    )  # fmt: skip
    return element("p", words, cls="state warn")


def _facts(reader: RunReader, total: Counts, links: Mapping[str, str]) -> Iterator[Node]:
    spec, summary = reader.spec, reader.summary
    yield from _load_facts(summary.get("load") or {}, links)
    yield from _selection_facts(summary.get("selected") or {})
    if spec.get("runs"):
        yield from _fact("Verdicts from the runs", isolated(", ".join(map(str, spec["runs"]))))
    yield from _fact("Triples verified", f"{total.total:,}")
    for source in spec.get("kg") or ():
        yield from _fact("Knowledge graph", isolated(str(source.get("path", source)) if isinstance(source, dict) else str(source)))
    yield from _fact("Documents", isolated(str(spec.get("index", "–"))), ", snapshot ", _digest(spec.get("snapshot")))
    policy, judge = spec.get("policy") or {}, spec.get("judge") or {}
    yield from _fact("Policy", isolated(str(policy.get("name", "–"))))
    yield from _fact("Judge", isolated(str(judge.get("name", "–"))), ", digest ", _digest(judge.get("digest")))
    if model := spec.get("model"):
        rests = str((summary.get("model") or {}).get("confidence") or "uncalibrated")
        yield from _fact("Language model", isolated(str(model["name"])), ", digest ", _digest(model["digest"]), f", confidence {rests}")
    yield from _fact(
        "Last call",
        f"{float(summary.get('seconds') or 0):,.1f} s, {many(int(summary.get('searches') or 0), 'search', 'searches')}, "
        f"{many(int(summary.get('judged_pairs') or 0), 'passage judged', 'passages judged')}",
    )
    yield from _fact("kgaudit", isolated(str(spec.get("kgaudit", "–"))))
    own = [element("a", name, href=links[name]) for name in ("spec.json", "summary.json") if name in links]
    if own:
        yield from _fact("Files of the run", *(piece for link in own for piece in (link, " ")))


def _fact(name: str, *value: Node) -> Iterator[Node]:
    yield element("dt", name)
    yield element("dd", *value)


def _digest(digest: object) -> Node:
    return element("code", str(digest)[:16], title=str(digest)) if digest else "–"


def _selection_facts(selected: Mapping[str, Any]) -> Iterator[Node]:
    """What of the graph was new to its state: `summary.json`'s `selected`."""
    if not selected:
        return
    again = f", {selected['again']:,} of them verified again" if selected["again"] else ""
    yield from _fact("New triples", f"{selected['new']:,} of {selected['total']:,}{again}")
    if selected["removed"]:
        yield from _fact("Gone since the last run", f"{selected['removed']:,}")
    if selected["unselected"]:
        yield from _fact("Without a verdict and not chosen", f"{selected['unselected']:,}")
    if selected["rests_on"]:
        yield from _fact("The state rests on run", isolated(str(selected["rests_on"])))


def _load_facts(load: Mapping[str, Any], links: Mapping[str, str]) -> Iterator[Node]:
    """What became of the statements of the graph: `summary.json`'s `load`."""
    yield from _fact("Statements read", f"{load.get('statements', 0):,}")
    left_out = {role: count for role, count in (load.get("left_out") or {}).items() if count}
    if left_out:
        roles = ", ".join(f"{role} {count:,}" for role, count in left_out.items())
        yield from _fact("Left out by role", f"{sum(left_out.values()):,}: ", isolated(roles))
    if load.get("duplicates"):
        yield from _fact("Repeats merged", f"{load['duplicates']:,}")
    yield from _fact("Triples to verify", f"{load.get('claims', 0):,}")
    if load.get("quarantined"):
        name = "quarantine.jsonl"
        where = element("a", name, href=links[name]) if name in links else name
        yield from _fact("Set aside", f"{load['quarantined']:,} that could not be read: ", where)
    for note in load.get("notes") or ():
        yield from _fact("Note", isolated(str(note)))


def predicate_tables(found: Figures) -> list[Node]:
    """Pass rates by predicate, those with the most refuted triples first, with their intervals drawn."""
    if not found.predicates:
        return [element("p", "No triples, no predicates.", cls="quiet")]
    return _tables("Predicate", found.predicates, "predicates", by_predicate=True)


def source_tables(found: Figures) -> list[Node]:
    """Pass rates by file, named graph, extractor and source document."""
    if not found.sources:
        return [element("p", "The graph does not say where its triples come from.", cls="quiet")]
    nodes: list[Node] = []
    for kind, groups in found.sources.items():
        named = tuple(Group(group.name, group.label or _NO_SOURCE[kind], group.counts) for group in groups)
        nodes.append(element("h3", _SOURCE_WORDS[kind]))
        nodes += _tables(_SOURCE_WORDS[kind], named, f"{_SOURCE_WORDS[kind].lower()}s", by_predicate=False)
    nodes.append(element("p", "A triple found in several sources counts in each of them.", cls="quiet"))
    return nodes


def _tables(title: str, groups: tuple[Group, ...], plural: str, *, by_predicate: bool) -> list[Node]:
    shown, more = groups[:_SHOWN_GROUPS], groups[_SHOWN_GROUPS:_TABLE_LIMIT]
    nodes = [_table(title, shown, by_predicate=by_predicate)]
    if more:
        left = len(groups) - _SHOWN_GROUPS - len(more)
        nodes.append(
            element(
                "details",
                element("summary", f"The other {many(len(groups) - len(shown), plural[:-1], plural)}"),
                element("label", "Filter ", element("input", type="search", cls="filter-rows"), hidden=""),
                _table(title, more, by_predicate=by_predicate),
                element("p", f"{many(left, 'more is', 'more are')} not shown here; the exported table has them all.") if left else None,
                cls="more",
            )
        )
    return nodes


def _table(title: str, groups: tuple[Group, ...], *, by_predicate: bool) -> Node:
    first = "Predicate" if by_predicate else "Name"
    plotted = any(group.counts.judged for group in groups)
    header = element(
        "tr",
        *(element("th", name, scope="col") for name in (first, "Triples", "Refuted", "Supported", "Pass rate")),
        element("th", "95 % interval", interval_axis(), scope="col", cls="plot") if plotted else None,
        *(element("th", name, scope="col") for name in ("Not enough evidence", "Not judged")),
    )
    rows = [_row(group, plotted, by_predicate) for group in groups]
    table = element("table", element("thead", header), element("tbody", *rows))
    return element("div", table, cls="scroll", tabindex="0", role="region", aria_label=f"Pass rate by {title.lower()}")


def _row(group: Group, plotted: bool, by_predicate: bool) -> Node:
    counts = group.counts
    iri = group.name[1:-1] if by_predicate and name_of(group.name) is None else ""
    note = element("span", address(iri), cls="note") if iri else None
    return element(
        "tr",
        element("th", isolated(shorten(group.label, _LABEL_LIMIT)), note, scope="row"),
        _cell("Triples", f"{counts.total:,}"),
        _cell("Refuted", f"{counts.verdicts['refuted']:,}"),
        _cell("Supported", f"{counts.verdicts['supported']:,}"),
        _cell("Pass rate", per_cent(counts.pass_rate)),
        element("td", interval_plot(counts), cls="plot", title=_pass_rate_words(counts)) if plotted else None,
        _cell("Not enough evidence", _part(counts.verdicts["not_enough_evidence"], counts.total)),
        _cell("Not judged", _part(counts.verdicts["not_judged"], counts.total)),
    )


def _cell(name: str, text: str) -> Node:
    return element("td", text, data_name=name)


def filter_predicates(found: Figures) -> tuple[Group, ...]:
    """The predicates that the list can be narrowed to."""
    return found.predicates[:_TABLE_LIMIT]


def filter_sources(found: Figures) -> list[tuple[SourceKind, Group]]:
    """The sources that the list can be narrowed to."""
    return [(kind, group) for kind, groups in found.sources.items() for group in groups[:_FILTER_SOURCES]]


def controls(found: Figures, ranking: Ranking) -> list[Node]:
    """Tabs, search and filters of the list. Hidden until the page's script runs, as they do nothing without it."""
    tabs = [
        element("button", VERDICT_WORDS[section.verdict], " ", element("span", f"{section.total:,}", cls="count"), type="button",
                cls=f"tab {section.verdict}", aria_pressed="false", data_section=str(i))
        for i, section in enumerate(ranking.sections)
    ]  # fmt: skip
    predicates = filter_predicates(found)
    options = [element("option", shorten(group.label, 80), value=str(i)) for i, group in enumerate(predicates)]
    if len(found.predicates) > len(predicates):
        options.append(element("option", "another", value=str(len(predicates))))
    sources: dict[SourceKind, list[Node]] = {}
    for i, (kind, group) in enumerate(filter_sources(found)):
        sources.setdefault(kind, []).append(element("option", shorten(group.label or _NO_SOURCE[kind], 80), value=str(i)))
    return [
        element("div", *tabs, cls="tabs", role="group", aria_label="Verdict", hidden=""),
        element(
            "div",
            element("label", "Search names, IRIs or key", element("input", type="search", id="find")),
            _choice("Predicate", "by-predicate", [_ALL, *options]),
            _choice(
                "Source",
                "by-source",
                [_ALL, *(element("optgroup", *each, label=_SOURCE_WORDS[kind]) for kind, each in sources.items())],
            ),
            _choice("Order", "order", [element("option", words, value=value) for value, words in _ORDERS.items()]),
            cls="controls",
            hidden="",
        ),
    ]


def _choice(name: str, identity: str, options: list[Node]) -> Node:
    return element("label", name, element("select", *options, id=identity))


def static_note(opened: Section, shown: int) -> list[Node]:
    """What the list shows where no script runs."""
    if not opened.total:
        return ["There are no triples to show."]
    words = f"{shown} of {opened.total:,} {VERDICT_WORDS[opened.verdict]}, the most suspicious ones. "
    return [words, "The others are shown where scripts may run, and by kgaudit export."]


def foot() -> list[Node]:
    """What made the page, and where the whole table is to be had."""
    return [
        element(
            "p",
            "Written by kgaudit ",
            version("kgaudit"),
            ". This page asks the network for nothing; links lead outside only when they are followed. The whole verdict table: ",
            element("code", "kgaudit export"),
            ".",
        )
    ]
