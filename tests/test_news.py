"""What is new by named graphs, by time, and by a query at a real SPARQL endpoint on loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pyoxigraph
import pytest
from conftest import WordJudge
from field_cli import copy_case, index_of, kgaudit
from nights import EX, Counting, line, night, objects_of, options, pairs, write_graph

from kgaudit.errors import InputError, PermanentError, ServiceError, StorageError, UsageError
from kgaudit.runs.nightly import Selection, merge, select, verify_shard
from kgaudit.runs.state import State
from kgaudit.sources.news import moment
from kgaudit.sources.sparql import fetch_triples, paged_query, query_form

PROV = "http://www.w3.org/ns/prov#"
XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def dated(graph: str, time: str, how: str = f"{PROV}generatedAtTime") -> str:
    return f'<{EX}{graph}> <{how}> "{time}"^^<{XSD}dateTime> .'


# Named graphs


def test_new_named_graphs(tmp_path: Path, state: Path) -> None:
    first = [line(1, graph="monday"), line(2, graph="monday"), line(3)]
    plan, _ = night(options(tmp_path / "one", write_graph(tmp_path / "one.nq", first)), state, by="graphs")
    assert plan.new == 3, "the first night everything is new"
    assert State(state).watermark.graphs == {"", f"<{EX}monday>"}
    second = [*first, line(4, graph="monday"), line(5), line(6, graph="tuesday"), line(1, graph="tuesday")]
    plan, _ = night(options(tmp_path / "two", write_graph(tmp_path / "two.nq", second)), state, by="graphs")
    assert (plan.new, plan.unselected) == (1, 2), "6 alone: 4 and 5 stand in graphs seen before, 1 is known"
    assert objects_of(state) == pairs(1, 2, 3, 6)
    plan, _ = night(options(tmp_path / "three", write_graph(tmp_path / "three.nq", second)), state)
    assert plan.new == 2, "the default takes up what was left"


# Times


def test_new_by_the_time_of_the_named_graph(tmp_path: Path, state: Path) -> None:
    first = [line(1, graph="a"), dated("a", "2026-11-01T08:00:00Z")]
    night(options(tmp_path / "one", write_graph(tmp_path / "one.nq", first)), state, by="time")
    assert State(state).watermark.time == "2026-11-01T08:00:00+00:00"
    second = [
        *first, line(2, graph="early"), dated("early", "2026-10-31T23:00:00Z"), line(3, graph="same"),
        dated("same", "2026-11-01T09:00:00+01:00", "http://purl.org/dc/terms/issued"), line(4, graph="late"),
        dated("late", "2026-11-02T00:00:00"), line(5, graph="undated"),
    ]  # fmt: skip
    plan, _ = night(options(tmp_path / "two", write_graph(tmp_path / "two.nq", second)), state, by="time")
    # What came in the same second, and what says no time, may be new: nothing is missed.
    assert (plan.new, plan.unselected) == (3, 1)
    assert objects_of(state) == pairs(1, 3, 4, 5)
    assert State(state).watermark.time == "2026-11-02T00:00:00+00:00"


def test_new_by_the_time_of_the_triple_and_of_the_row(tmp_path: Path, state: Path) -> None:
    reified = [
        line(1), f"<{EX}r1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( {line(1).removesuffix(' .')} )>> .",
        dated("r1", "2026-11-01T00:00:00Z"),
    ]  # fmt: skip
    night(options(tmp_path / "one", write_graph(tmp_path / "one.nt", reified)), state, by="time")
    assert State(state).watermark.time == "2026-11-01T00:00:00+00:00"
    table = tmp_path / "two.csv"
    table.write_text("s,p,o,extracted_at\nA,owns,B,2026-10-01\nC,owns,D,2026-11-03\nE,owns,F,last week\n")
    plan, _ = night(options(tmp_path / "two", table), state, by="time")
    assert (plan.new, plan.unselected) == (2, 1)


def test_a_time_in_the_future_does_not_hide_the_nights_until_then(tmp_path: Path, state: Path) -> None:
    first = [line(1, graph="a"), dated("a", "2026-11-01T00:00:00Z"), line(2, graph="typo"), dated("typo", "2206-11-01T00:00:00Z")]
    night(options(tmp_path / "one", write_graph(tmp_path / "one.nq", first)), state, by="time")
    assert State(state).watermark.time == "2026-11-01T00:00:00+00:00"


def test_the_watermark_moves_only_when_all_that_was_new_has_its_verdict(tmp_path: Path, state: Path) -> None:
    lines = [line(number, graph=f"g{number}") for number in range(5)] + [
        dated(f"g{i}", f"2026-11-0{i + 1}T00:00:00Z") for i in range(5)
    ]
    kg = write_graph(tmp_path / "kg.nq", lines)
    night(options(tmp_path / "one", kg, triples=2), state, by="time")
    assert State(state).watermark.time is None
    assert State(state).watermark.graphs == frozenset()
    asked = options(tmp_path / "two", kg)
    plan = select(asked, state, selection=Selection(by="time"), shard_triples=2)
    for shard in plan.shards:
        verify_shard(asked.run, shard, Counting(), WordJudge())
    merge(asked.run)
    assert State(state).watermark.time is None, "not before the commit"
    night(asked, state, by="time")
    assert State(state).watermark.time == "2026-11-05T00:00:00+00:00"
    assert len(State(state).watermark.graphs) == 5
    assert objects_of(state) == pairs(*range(5))


def test_moments() -> None:
    day = datetime(2026, 11, 30, tzinfo=timezone.utc)
    for text in ("2026-11-30", "2026-11-30T00:00:00Z", " 2026-11-30T01:00:00+01:00 ", "20261130T000000"):
        assert moment(text) == day
    for text in (None, "", "yesterday", "2026", "2026-13-01", "0001-01-01T00:00:00+14:00", "24:00"):
        assert moment(text) is None, text


# A SPARQL endpoint


class Endpoint(ThreadingHTTPServer):
    """A store behind the SPARQL protocol; `before` may answer in its place with a status and headers."""

    daemon_threads = True

    def __init__(self, lines: list[str], cap: int | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.store = pyoxigraph.Store()
        self.store.load("".join(one + "\n" for one in lines).encode(), format=pyoxigraph.RdfFormat.N_QUADS)
        self.cap = cap
        self.queries: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.before: Callable[[], tuple[int, dict[str, str]] | None] = lambda: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/query"


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        query = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())["query"][0]
        self.server.queries.append(query)
        self.server.headers.append(dict(self.headers))
        instead = self.server.before()
        if instead:
            return self.answer(instead[0], b"as the test wants it", "text/plain", instead[1])
        try:
            found = self.server.store.query(query, use_default_graph_as_union=True)
        except SyntaxError as error:
            return self.answer(400, str(error).encode(), "text/plain", {})
        if isinstance(found, pyoxigraph.QueryTriples):
            return self.answer(200, found.serialize(format=pyoxigraph.RdfFormat.N_TRIPLES), "application/n-triples", {})
        if self.server.cap is not None:  # as endpoints do that never give more rows than so many
            limit = int(query.rpartition("LIMIT ")[2].split()[0])
            capped = query.replace(f"LIMIT {limit}", f"LIMIT {min(limit, self.server.cap)}")
            found = self.server.store.query(capped, use_default_graph_as_union=True)
        content = found.serialize(format=pyoxigraph.QueryResultsFormat.JSON)
        return self.answer(200, content, "application/sparql-results+json", {})

    def answer(self, status: int, content: bytes, media: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": media, "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    lines = [line(number, graph="g" if number % 2 else "h") for number in range(25)]
    lines += [f'<{EX}a> <{EX}says> "two\\nlines \\"quoted\\""@en-GB .', f'_:x <{EX}name> "blank" .', f"<{EX}a> <{EX}knows> _:x ."]
    server = Endpoint(lines)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


SELECT = f"PREFIX ex: <{EX}>  # LIMIT 1 }}\nSELECT ?s ?p ?o ?g WHERE {{ GRAPH ?g {{ ?s ?p ?o }} FILTER(?o != 'LIMIT 3') }}"
CONSTRUCT = f"CONSTRUCT {{ ?a <{EX}owns> ?b }} WHERE {{ ?a <{EX}owns> ?b }}"


@pytest.mark.parametrize("page", [3, 5, 25, 1000])
@pytest.mark.parametrize("query", [SELECT, CONSTRUCT])
def test_answers_come_whole_in_pages(endpoint: Endpoint, tmp_path: Path, query: str, page: int) -> None:
    to = tmp_path / "found.nq"
    assert fetch_triples(endpoint.url, query, to, page=page) == 25
    lines = to.read_text().splitlines()
    assert {one.split(" .")[0].split(f" <{EX}g>")[0].split(f" <{EX}h>")[0] for one in lines} == {
        line(number).removesuffix(" .") for number in range(25)
    }
    assert len(lines) == len(set(lines)) == 25
    assert len(endpoint.queries) == 25 // page + (2 if 25 % page else 1)
    assert all("ORDER BY" in one for one in endpoint.queries)


def test_an_endpoint_that_cuts_answers_short_is_read_to_its_end(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.cap = 4
    assert fetch_triples(endpoint.url, SELECT, tmp_path / "found.nq", page=10) == 25
    assert len(set((tmp_path / "found.nq").read_text().splitlines())) == 25


def test_literals_and_blank_nodes_arrive_as_they_are(endpoint: Endpoint, tmp_path: Path) -> None:
    query = f"SELECT ?subject ?predicate ?object {{ ?subject ?predicate ?object FILTER(?predicate != <{EX}owns>) }} LIMIT 10"
    assert fetch_triples(endpoint.url, query, tmp_path / "found.nq") == 3
    text = (tmp_path / "found.nq").read_text()
    assert f'<{EX}a> <{EX}says> "two\\nlines \\"quoted\\""@en-gb .' in text or "@en-GB ." in text
    (label,) = {word for word in text.split() if word.startswith("_:")}
    assert text.count(label) == 2
    assert len(endpoint.queries) == 1, "a query with a LIMIT of its own is asked for as it is"


def test_forms_of_queries() -> None:
    assert query_form(SELECT) == ("SELECT", True)
    assert query_form(CONSTRUCT) == ("CONSTRUCT", True)
    for tail in ("LIMIT 5", "ORDER BY ?s", "GROUP BY ?s ?p ?o", "VALUES ?s { <http://a/> }"):
        assert query_form(f"{SELECT}\n{tail}")[1] is (tail.startswith("VALUES"))  # its brace is the last one
    for other in ("ASK { ?s ?p ?o }", "INSERT DATA { }", "", "DESCRIBE <http://select.example/>"):
        with pytest.raises(UsageError, match="SELECT or CONSTRUCT"):
            query_form(other)
    assert paged_query("SELECT ?s ?p ?o { ?s ?p ?o . ?x ?y 'a?z' }", "SELECT", 5, 10).endswith("ORDER BY ?s ?p ?o\nLIMIT 5 OFFSET 10")


def test_passing_faults_are_tried_again_and_lasting_ones_said(endpoint: Endpoint, tmp_path: Path) -> None:
    to = tmp_path / "found.nq"
    faults = iter([(503, {"Retry-After": "0"}), (429, {}), (500, {})])
    endpoint.before = lambda: next(faults, None)
    assert fetch_triples(endpoint.url, CONSTRUCT, to) == 25
    to.unlink()
    for status, kind, words in (
        (503, ServiceError, "503"),
        (401, PermanentError, "KGAUDIT_SPARQL_USER"),
        (404, PermanentError, "as the test wants it"),
    ):
        endpoint.before = lambda status=status: (status, {"Retry-After": "1000"})  # type: ignore[misc]
        with pytest.raises(kind, match=words):
            fetch_triples(endpoint.url, CONSTRUCT, to)
    endpoint.before = lambda: (302, {"Location": "http://elsewhere.example/"})
    with pytest.raises(PermanentError, match=r"redirects to http://elsewhere\.example"):
        fetch_triples(endpoint.url, CONSTRUCT, to)
    endpoint.before = lambda: (200, {})
    with pytest.raises(InputError, match="cannot be read"):
        fetch_triples(endpoint.url, SELECT, to)
    endpoint.before = lambda: None
    with pytest.raises(PermanentError, match="400"):
        fetch_triples(endpoint.url, "SELECT ?s { nonsense", to)
    with pytest.raises(InputError, match=r"\?s, \?p and \?o"):
        fetch_triples(endpoint.url, "SELECT ?s ?x { ?s ?x 1 }", to)
    with pytest.raises(InputError, match="no triple"):
        fetch_triples(endpoint.url, "SELECT (1 AS ?s) ?p ?o { ?x ?p ?o }", to)
    with pytest.raises(StorageError, match="no-such"):
        fetch_triples(endpoint.url, CONSTRUCT, tmp_path / "no-such" / "found.nq")
    assert list(tmp_path.iterdir()) == []
    for address in ("ftp://a/", "endpoint", "http://user:secret@127.0.0.1/"):
        with pytest.raises(UsageError) as error:
            fetch_triples(address, CONSTRUCT, to)
        assert "secret" not in str(error.value)


def test_the_password_comes_from_the_environment_and_goes_nowhere_else(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: Path
) -> None:
    monkeypatch.setenv("KGAUDIT_SPARQL_USER", "ada")
    monkeypatch.setenv("KGAUDIT_SPARQL_PASSWORD", "correct horse")
    night(options(tmp_path / "run"), state, by="sparql", endpoint=endpoint.url, query=CONSTRUCT, whole=False)
    assert endpoint.headers[0]["Authorization"] == "Basic YWRhOmNvcnJlY3QgaG9yc2U="
    monkeypatch.setenv("KGAUDIT_SPARQL_TOKEN", "t0ken")
    fetch_triples(endpoint.url, CONSTRUCT, tmp_path / "found.nq")
    assert endpoint.headers[-1]["Authorization"] == "Bearer t0ken"
    for path in tmp_path.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert b"correct horse" not in content
            assert b"YWRhOm" not in content


def test_what_a_query_gives_is_verified_and_known_the_next_night(endpoint: Endpoint, tmp_path: Path, state: Path) -> None:
    how = {"by": "sparql", "endpoint": endpoint.url, "query": CONSTRUCT, "whole": False}
    plan, _ = night(options(tmp_path / "one"), state, **how)
    assert (plan.new, plan.total, plan.removed) == (25, 25, 0)
    endpoint.store.load((line(30) + "\n").encode(), format=pyoxigraph.RdfFormat.N_QUADS)
    plan, _ = night(options(tmp_path / "two"), state, **how)
    assert (plan.new, plan.total, plan.removed) == (1, 26, 0)
    assert objects_of(state) == pairs(*range(25), 30)


def test_a_query_picks_from_a_graph_that_names_things(endpoint: Endpoint, tmp_path: Path, state: Path) -> None:
    """The files give labels and the rest of the graph, the query what is new in it."""
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    kg = write_graph(tmp_path / "kg.nt", [line(1), line(2), line(77), f'<{EX}Thing1> {label} "The first" .'])
    query = f"SELECT ?s ?p ?o {{ VALUES ?s {{ <{EX}Thing1> }} ?s ?p ?o }}"
    plan, _ = night(options(tmp_path / "one", kg), state, by="sparql", endpoint=endpoint.url, query=query)
    assert (plan.new, plan.unselected, plan.total) == (1, 2, 3)
    assert objects_of(state) == pairs(1)


def test_on_the_command_line(endpoint: Endpoint, tmp_path: Path, state: Path) -> None:
    case = copy_case("36-nothing-new-tonight", tmp_path)
    index = index_of(case / "docs.jsonl")
    endpoint.store.load((case / "night1.nt").read_bytes(), format=pyoxigraph.RdfFormat.N_TRIPLES)
    query = tmp_path / "new.rq"
    query.write_text("CONSTRUCT WHERE { ?s <https://graph.example/seat> ?o }")
    how = ("--index", index, "--state", state, "--new-by", "sparql", "--endpoint", endpoint.url, "--query", query)
    assert "1 of 1 triples are new" in kgaudit("audit", *how, "--run", tmp_path / "one").out
    assert "0 of 1 triples are new" in kgaudit("audit", *how, "--run", tmp_path / "two").out
    endpoint.shutdown()
    endpoint.server_close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kgaudit.sources.sparql.RETRY_SECONDS", 0.2)
        message = kgaudit("audit", *how, "--run", tmp_path / "three", status=2).err
    assert "cannot be reached" in message
    assert endpoint.url in message
