"""The report as a file: figures, order, what is quoted, what may be a link, and that nothing of others becomes markup."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from fake_run import GRAPH, entry, make_run, passage, span

from kgaudit.documents import Passage
from kgaudit.errors import RunError, StorageError
from kgaudit.reports import html as html_module
from kgaudit.reports.card import card
from kgaudit.reports.html import write_report
from kgaudit.reports.nodes import element, to_html
from kgaudit.reports.rows import rank_rows
from kgaudit.reports.sections import per_cent
from kgaudit.reports.summary import figures, interval, wilson
from kgaudit.runs.counts import Counts
from kgaudit.runs.reader import RunReader
from kgaudit.triples import Place, literal_term, name_term
from kgaudit.verdicts import EvidenceSpan


def page_of(run: Path) -> str:
    return write_report(run).read_text("utf-8")


def block(page: str, name: str) -> bytes:
    found = re.search(rf'<script type="application/octet-stream" id="{name}">([^<]*)</script>', page)
    assert found, name
    return gzip.decompress(base64.b64decode(found[1]))


def cards(page: str) -> list[Any]:
    count = len(re.findall(r'id="chunk-\d+"', page))
    return [node for i in range(count) for node in json.loads(block(page, f"chunk-{i}"))]


def words(node: Any) -> str:
    return node if isinstance(node, str) else "".join(map(words, node[2:]))


def elements(node: Any) -> Iterator[tuple[str, dict[str, str], list[Any]]]:
    if not isinstance(node, str):
        yield node[0], node[1], node[2:]
        for child in node[2:]:
            yield from elements(child)


def static(page: str) -> str:
    """The page as it is read without scripts, without its packed blocks."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


def text(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", static(page)).split())


def tile(page: str, name: str) -> str:
    found = re.search(rf'<span class="name">{name}</span><b>(.*?)</b>', page)
    assert found
    return found[1].replace("\u00a0", " ")


# figures


def test_wilson_agrees_with_the_published_example() -> None:
    # Newcombe (1998), Statistics in Medicine 17:857, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    expected = {(81, 263): (0.2553, 0.3662), (15, 148): (0.0624, 0.1605), (0, 20): (0.0, 0.1611), (1, 29): (0.0061, 0.1718)}
    for (successes, trials), bounds in expected.items():
        assert [round(bound, 4) for bound in wilson(successes, trials)] == list(bounds)
    assert wilson(20, 20)[1] == 1.0
    with pytest.raises(ValueError, match="no trials"):
        wilson(0, 0)


def test_per_cent_is_whole_only_where_it_is() -> None:
    shares = (None, 0.0, 1.0, 0.99999, 0.00001, 0.5)
    assert [per_cent(share).replace("\u00a0", " ") for share in shares] == ["–", "0 %", "100 %", "99.9 %", "0.1 %", "50.0 %"]


def test_figures_count_by_predicate_and_by_each_source_once(tmp_path: Path) -> None:
    places = (
        Place("a.nt", 1, graph=GRAPH + "g", documents=("d1", "d2"), extractor="x"),
        Place("a.nt", 2, documents=("d1",)),
        Place("b.nt", 3),
    )
    run = make_run(
        tmp_path / "run",
        [
            entry("A", verdict="supported", places=places),
            entry("B", verdict="refuted"),
            entry("C", "owns", verdict="refuted"),
            entry("D", "owns", verdict="not_judged", places=()),
            entry("E", "owns", verdict="not_enough_evidence"),
        ],
        part=2,
    )
    found = figures(RunReader(run))
    assert found.total.verdicts == {"supported": 1, "refuted": 2, "not_enough_evidence": 1, "not_judged": 1}
    assert found.total.pass_rate == 1 / 3
    assert [(group.label, group.counts.total) for group in found.predicates] == [("owns", 3), ("based in", 2)]
    files = {group.name: group.counts for group in found.sources["file"]}
    assert files["a.nt"].total == 1
    assert files["kg.nt"].verdicts["refuted"] == 2
    assert {group.name: group.counts.total for group in found.sources["document"]} == {"d1": 1, "d2": 1}
    assert {group.name: group.counts.total for group in found.sources["graph"]} == {GRAPH + "g": 1, "": 4}
    assert "extractor" in found.sources
    assert interval(Counts()) is None


def test_refuted_come_first_the_surest_of_them_before_the_others(tmp_path: Path) -> None:
    run = make_run(
        tmp_path / "run",
        [
            entry("A", verdict="supported"),
            entry("B", confidence=0.6),
            entry("C", verdict="not_judged", confidence=None),
            entry("D", confidence=0.99),
            entry("E", confidence=None),
            entry("F", verdict="not_enough_evidence"),
        ],
        part=1,
    )
    page = page_of(run)
    labels = [re.search(r"object|subject([A-F])", words(node)) for node in cards(page)]
    assert [label and label[1] for label in labels] == ["D", "B", "E", "F", "C", "A"]
    ranking = rank_rows(RunReader(run), {"supported": 0})
    assert [(section.verdict, section.listed, section.total) for section in ranking.sections] == [
        ("refuted", 3, 3), ("not_enough_evidence", 1, 1), ("not_judged", 1, 1), ("supported", 0, 1),
    ]  # fmt: skip


# what the page says


def test_summary_shows_the_pass_rate_beside_the_shares_of_what_was_not_decided(tmp_path: Path) -> None:
    verdicts = ["supported"] * 6 + ["refuted"] * 2 + ["not_enough_evidence"] * 1 + ["not_judged"] * 1
    load = {"statements": 30, "claims": 10, "duplicates": 0, "left_out": {"label": 12, "schema": 8, "type": 0}, "quarantined": 3}
    run = make_run(tmp_path / "run", [entry(f"S{i}", verdict=verdict) for i, verdict in enumerate(verdicts)], load=load)  # type: ignore[arg-type]
    page = page_of(run)
    assert tile(page, "Pass rate") == "75.0 %"
    assert tile(page, "Not enough evidence") == "10.0 %"
    assert tile(page, "Not judged") == "10.0 %"
    said = text(page)
    assert "6 of 8 judged" in said
    assert "20: label 12, schema 8" in said.replace(" 20: ", " 20: ")
    assert "3 that could not be read" in said
    for part in ("cue-1", "d" * 16, "5" * 16, "agentkgv", "kg.nt", "Complete"):
        assert part in said


@pytest.mark.parametrize("verdicts", [[], ["not_enough_evidence"], ["not_judged", "not_judged"]])
def test_where_nothing_was_judged_there_is_a_dash_and_nothing_reads_like_success(tmp_path: Path, verdicts: list[Any]) -> None:
    page = page_of(make_run(tmp_path / "run", [entry(f"S{i}", verdict=verdict) for i, verdict in enumerate(verdicts)]))
    assert tile(page, "Pass rate") == "–"
    assert not re.search(r"100(\.0)?\s*%", text(page).replace("\u00a0", " "))
    assert "<circle" not in page


@pytest.mark.parametrize(
    ("status", "said"), [("complete", "Complete"), ("budget", "Ended by its budget"), ("interrupted", "Not finished")]
)
def test_the_state_of_the_run_is_said(tmp_path: Path, status: str, said: str) -> None:
    assert said in text(page_of(make_run(tmp_path / "run", [entry()], status=status)))


def test_a_triple_shows_claim_reason_quote_and_how_it_was_decided(tmp_path: Path) -> None:
    found = passage(
        "It is old. Norrby Pumps moved to Halden. So it goes.",
        start=40,
        title="Minutes",
        date="2026-03-04",
        url="https://docs.example/1",
    )
    made = entry(
        passages=(found,),
        evidence=(span(found, "Norrby Pumps moved to Halden."),),
        better="Halden",
        places=(Place("kg.nt", 7, statement="Norrby sits in Orvik.", documents=("d9",), extractor="llm-v1"), Place("erp.nt", 8)),
        statement="Norrby Pumps is in Orvik.",
    )
    page = page_of(make_run(tmp_path / "run", [made]))
    (node,) = cards(page)
    said = words(node)
    for part in (
        "refuted", "confidence 0.90", "Norrby Pumps", "based in", "Orvik", f"{GRAPH}Norrby_Pumps", "The evidence names instead: Halden",
        "… It is old.", "Contradicts the triple", "Minutes", "document d1", "2026-03-04", "1 search", "search documents",
        "s+p+o", "contradicts 0.90", "names 3 words apart", "2 places", "kg.nt, line 7", "d9", "llm-v1", "Norrby sits in Orvik.",
        "Norrby Pumps is in Orvik.", made.claim.key[:12],
    ):  # fmt: skip
        assert part in said, part
    marks = [(attributes["class"], words(["mark", {}, *children])) for tag, attributes, children in elements(node) if tag == "mark"]
    assert marks == [("refutes", "Norrby Pumps moved to Halden.")]
    assert any(attributes.get("data-key") == made.claim.key for _, attributes, _ in elements(node))
    assert to_html(node) in page, "the first page stands in the file as it is"


def row_of(*evidence: EvidenceSpan, **changes: Any) -> dict[str, Any]:
    from kgaudit.runs.ledger import _entry_row

    row = {**_entry_row(entry(evidence=evidence)), **changes}
    return {**row, "steps": json.loads(str(row["trajectory"]))}


def marks_in(node: Any) -> list[str]:
    return [words(["mark", {}, *children]) for tag, _, children in elements(node) if tag == "mark"]


def test_overlapping_and_foreign_quotes_are_all_marked_and_nothing_of_the_passage_is_lost() -> None:
    found = passage("abc def ghi 🚢 jkl mno")
    spans = [
        span(found, "def ghi"),
        span(found, "ghi 🚢 jkl"),
        span(found, "def"),
        EvidenceSpan("d1", 0, 4, "gone", "refutes", 0.5, found.id),
    ]
    node = card(row_of(*spans), {found.id: found})
    assert "".join(marks_in(node)) == "def ghi 🚢 jklgone"
    assert "abc def ghi 🚢 jkl mno" in words(node)
    bare = card(row_of(EvidenceSpan("d7", 3, 9, "quoted", "refutes", 0.5)), {})
    assert marks_in(bare) == ["quoted"]
    assert "document d7" in words(bare)


def test_a_long_passage_is_cut_around_its_quote() -> None:
    found = passage("x" * 50_000 + " Norrby moved. " + "y" * 50_000)
    said = words(card(row_of(span(found, "Norrby moved.")), {found.id: found}))
    assert len(said) < 4000
    assert "… x" in said
    assert "y …" in said


def test_huge_texts_are_cut_with_their_length() -> None:
    said = words(card(row_of(o=literal_term("z" * 2_000_000), o_label="z" * 2_000_000, reason="r" * 10_000), {}))
    assert len(said) < 5000
    assert "(2,000,000 characters)" in said


def test_terms_that_say_no_more_than_their_label_are_not_repeated() -> None:
    row = row_of(s=name_term("Norrby Pumps"), o=literal_term("Orvik"), p=name_term("based in"))
    said = words(card(row, {}))
    assert said.count("Orvik") == said.split("How it was")[0].count("Orvik") + 1
    assert "urn:kgaudit:name" not in said
    typed = row_of(o=literal_term("12", "http://www.w3.org/2001/XMLSchema#integer"), o_label="12")
    assert '"12"^^<xsd:integer>' in words(card(typed, {}))


@pytest.mark.parametrize(
    ("url", "is_link"),
    [
        ("https://docs.example/a?b=c#d", True),
        ("HTTP://docs.example/", True),
        ("javascript:document.title=7", False),
        (" javascript:alert(1)", False),
        ("java\nscript:alert(1)", False),
        ("data:text/html,<script>alert(1)</script>", False),
        ("https://docs.example/a b", False),
        ("https://docs.example/\njavascript:x", False),
        ("//docs.example/x", False),
        ("file:///etc/passwd", False),
        ("vbscript:x", False),
        ("", False),
    ],
)
def test_only_web_addresses_become_links(url: str, is_link: bool) -> None:
    found = passage("Norrby moved.", url=url)
    node = card(row_of(span(found, "Norrby moved."), s="_:b0", p="_:b1", o=f"<{url}>"), {found.id: found})
    links = [attributes["href"] for tag, attributes, _ in elements(node) if tag == "a"]
    assert links == ([url] * 2 if is_link else [])
    assert " ".join(url.split()) in " ".join(words(node).split())


OUR_ELEMENTS = set(
    "html head meta title body header main footer section nav h1 h2 h3 p a ul ol li dl dt dd div span b bdi q code small mark figure "
    "figcaption details summary pre table thead tbody tr th td svg line circle rect text button label input select "
    "option optgroup".split()
)
HOSTILE = [
    "<script>document.title=1</script>",
    '"><img src=x onerror=document.title=2>',
    "</title></textarea></script><svg onload=document.title=3>",
    "<!-- open comment",
    "' onmouseover='document.title=5",
    "{{title}} {{blocks}}",
    "</script",
    "]]>",
    "&lt;b&gt;&amp;",
]


def test_nothing_of_others_becomes_markup(tmp_path: Path) -> None:
    entries = []
    for one in HOSTILE:
        found = passage(f"a {one} b", document=one, title=one, date=one, url="javascript:" + one)
        entries.append(
            entry(one, one, one, passages=(found,), evidence=(span(found, one),), reason=one, better=one, statement=one,
                  places=(Place(one, 1, graph=one, statement=one + one, documents=(one,), extractor=one, extracted_at=one),))
        )  # fmt: skip
    page = page_of(make_run(tmp_path / HOSTILE[1].replace("/", "|"), entries))
    names = set(re.findall(r"<([a-zA-Z][^\s/>]*)", re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)))
    assert names.isdisjoint({"img", "textarea", "iframe", "b\\"})
    assert names <= OUR_ELEMENTS
    assert page.count("<!--") == 0
    assert page.rstrip().endswith("</html>")
    assert len(re.findall(r"<script>", page)) == 1
    shown = "\n".join(words(node) for node in cards(page))
    for one in HOSTILE:
        assert one in shown
    for node in cards(page):
        for _, attributes, _ in elements(node):
            assert set(attributes) <= {"class", "dir", "title", "data-key", "href", "rel", "target"}


def test_controls_and_direction_marks_are_shown_as_marks(tmp_path: Path) -> None:
    label = "invoice\u202etnuoc-doog\u2069\u200f\x07"
    found = passage(f"So {label} it is.", title=label, document=label)
    page = page_of(
        make_run(tmp_path / f"run {label[:-1]}", [entry(label, label, label, passages=(found,), evidence=(span(found, label),))])
    )
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\x07]", page + json.dumps(cards(page), ensure_ascii=False))
    (node,) = cards(page)
    isolated = [
        words([tag, attributes, *children]) for tag, attributes, children in elements(node) if tag == "bdi" or "dir" in attributes
    ]
    assert isolated.count("invoice[U+202E]tnuoc-doog[U+2069][U+200F][U+0007]") >= 4


def test_the_policy_names_the_only_style_and_script_by_their_hashes(tmp_path: Path) -> None:
    page = page_of(make_run(tmp_path / "run", [entry()]))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert f"{tag}-src 'sha256-{base64.b64encode(sha256(content.encode()).digest()).decode()}'" in policy[1]
    assert " style=" not in static(page)
    assert not re.search(r"\son[a-z]+=", static(page))


@pytest.mark.parametrize(
    "name", ["scheduled__2026-03-29T02:00:00+00:00", "run#7%20final", "nightly run (second try)", "sønnesiden é", "a?b&c"]
)
def test_links_to_the_files_of_the_run_are_encoded_once(tmp_path: Path, name: str) -> None:
    run = make_run(tmp_path / "runs" / name, [entry()], load={"quarantined": 1})
    (run / "graph").mkdir()
    (run / "graph" / "quarantine.jsonl").write_text("{}\n")
    for target in (None, tmp_path / "reports #1" / "x.html"):
        path = write_report(run, target)
        links = [
            link for link in re.findall(r'href="([^"]*)"', static(path.read_text("utf-8"))) if not link.startswith(("#", "https:"))
        ]
        assert len(links) == 3
        for link in links:
            assert not re.search(r"[:#? ]", link)
            assert (path.parent / unquote(link)).is_file(), link


def test_chunks_filters_and_search_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_module, "CHUNK_ROWS", 3)
    monkeypatch.setattr(html_module, "LIMITS", {"supported": 2})
    entries = [entry(f"S{i}", f"p{i % 3}", places=(Place(f"f{i % 2}.nt"), Place("all.nt"))) for i in range(8)]
    entries += [entry(f"T{i}", "p0", verdict="supported") for i in range(4)]
    run = make_run(tmp_path / "run", entries)
    seen: list[tuple[int, int]] = []
    page = write_report(run, progress=lambda done, total: seen.append((done, total))).read_text("utf-8")
    assert seen == [(3, 10), (6, 10), (9, 10), (10, 10)]
    nodes = cards(page)
    assert len(nodes) == 10
    lines = block(page, "search").decode().split("\n")
    assert len(lines) == 10
    predicate_of = memoryview(block(page, "predicate-of")).cast("I").tolist()
    set_of = memoryview(block(page, "source-set-of")).cast("I").tolist()
    sets = json.loads(block(page, "source-sets"))
    options = re.findall(r'<option value="(\d+)">([^<]*)</option>', page)
    predicates = [label for value, label in options if label.startswith("p")]
    sources = [label for value, label in options if label.endswith(".nt")]
    for i, node in enumerate(nodes):
        subject = re.search(r"subject([ST]\d)", words(node))
        assert subject
        assert subject[1].lower() in lines[i]
        assert f"predicate{predicates[predicate_of[i]]}" in words(node)
        for source in sets[set_of[i]]:
            assert f"{sources[source]}" in words(node)
    meta = re.search(r'id="meta">([^<]*)<', page)
    assert meta
    assert json.loads(meta[1])["sections"] == [
        ["refuted", 0, 8, 8],
        ["not_enough_evidence", 8, 0, 0],
        ["not_judged", 8, 0, 0],
        ["supported", 8, 2, 4],
    ]


def test_many_predicates_the_worst_first_and_the_rest_folded(tmp_path: Path) -> None:
    entries = [entry(f"S{i}", f"predicate {i:02}", verdict="refuted" if i == 29 else "supported") for i in range(30)]
    page = static(page_of(make_run(tmp_path / "run", entries)))
    assert page.index("predicate 29") < page.index("predicate 00")
    assert "The other 20 predicates" in page


def test_the_report_is_deterministic(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [entry(f"S{i}") for i in range(20)])
    assert page_of(run) == page_of(run)


def test_what_cannot_be_written_is_said_and_the_old_report_stays(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run folder"):
        write_report(tmp_path / "none")
    run = make_run(tmp_path / "run", [entry()])
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="file"):
        write_report(run, tmp_path / "file" / "report.html")
    page = page_of(run)
    next((run / "passages").parent.glob("ledger/part-*")).write_bytes(b"damaged")
    with pytest.raises(RunError, match="cannot be read"):
        write_report(run)
    assert (run / "report.html").read_text("utf-8") == page
    assert sorted(path.name for path in run.iterdir()) == ["ledger", "passages", "report.html", "spec.json", "summary.json"]


def test_passages_are_shown_once_though_many_triples_quote_them(tmp_path: Path) -> None:
    shared: Passage = passage("Norrby Pumps moved to Halden.")
    run = make_run(tmp_path / "run", [entry(f"S{i}", passages=(shared,), evidence=(span(shared, "Norrby"),)) for i in range(5)], part=1)
    assert [marks_in(node) for node in cards(page_of(run))] == [["Norrby"]] * 5


def test_nodes_escape_texts_and_attributes() -> None:
    node = element("p", "a<b>&\u202e", None, "", element("span", cls='x"y'), title="<'>")
    assert to_html(node) == '<p title="&lt;&#x27;&gt;">a&lt;b&gt;&amp;[U+202E]<span class="x&quot;y"></span></p>'


def test_interval_plot_spans_its_scale() -> None:
    from kgaudit.reports.plot import PLOT_WIDTH, interval_plot, share_bar

    counts = Counts({"supported": 3, "refuted": 1, "not_enough_evidence": 4, "not_judged": 0})
    drawn = to_html(interval_plot(counts))
    xs = [float(x) for x in re.findall(r'x[12]="([\d.]+)"', drawn)]
    assert min(xs) >= 0
    assert max(xs) <= PLOT_WIDTH
    (dot,) = (float(x) for x in re.findall(r'cx="([\d.]+)"', drawn))
    assert math.isclose(dot, 10 + 0.75 * (PLOT_WIDTH - 20))
    bar = share_bar(counts)
    assert bar
    widths = [float(width) for width in re.findall(r' width="([\d.]+)"', to_html(bar))]
    assert widths == [300.0, 100.0, 400.0]
