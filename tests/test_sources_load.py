from __future__ import annotations

import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from sources_tools import EX, FIELD, loaded, quarantined, short

from kgaudit.errors import EmptyInputError, InputError, StorageError, UsageError
from kgaudit.literals import STRING, XSD
from kgaudit.sources import Label, LoadedGraph, Role, Rules, SourceOptions, load, names, spill
from kgaudit.triples import Place, name_term, triple_key

PREFIXES = {
    "ex": EX,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "prov": "http://www.w3.org/ns/prov#",
    "dct": "http://purl.org/dc/terms/",
    "xsd": XSD,
    "schema": "http://schema.org/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "k": "urn:kgaudit:",
}
HEAD = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in PREFIXES.items())
S, P = f"<{EX}Norrby>", f"<{EX}owns>"
LINE = f"{S} {P} <{EX}Halden> .\n"


@pytest.fixture
def turtle(tmp_path: Path) -> Callable[..., LoadedGraph]:
    def make(text: str, name: str = "kg.ttl", **options: object) -> LoadedGraph:
        (tmp_path / name).write_text(HEAD + text, "utf-8")
        return loaded(tmp_path / "work", tmp_path / name, **options)

    return make


def triples(graph: LoadedGraph) -> set[tuple[str, str, str]]:
    return {(short(c.triple.s), short(c.triple.p), short(c.triple.o)) for c in graph.candidates()}


def test_claims_are_told_from_what_is_not_and_the_rest_is_counted_by_role(turtle: Callable[..., LoadedGraph]) -> None:
    graph = turtle(
        'ex:Norrby a ex:Company ; rdfs:label "Norrby" ; skos:altLabel "NP" ; rdfs:comment "Makes pumps." ; ex:owns ex:Halden ; '
        "owl:sameAs ex:N2 ; foaf:homepage <https://norrby.example/> ; dct:issued 2020 ; "
        "schema:dateModified 2026 ; ex:owns ex:Halden .\n"
        'ex:Company a owl:Class ; rdfs:subClassOf ex:Agent ; rdfs:label "company" . ex:st a rdf:Statement .'
    )
    assert triples(graph) == {
        ("Norrby", "owns", "Halden"),
        ("Norrby", "<http://xmlns.com/foaf/0.1/homepage>", "<https://norrby.example/>"),
    }
    counts = graph.counts
    assert (counts.statements, counts.claims, counts.duplicates, counts.quarantined) == (14, 2, 1, 0)
    assert counts.left_out == {
        "type": 1, "label": 2, "alias": 1, "description": 1, "same_as": 1, "provenance": 2, "bookkeeping": 1, "schema": 2,
    }  # fmt: skip
    assert counts.statements == counts.claims + counts.duplicates + sum(counts.left_out.values())


def test_a_graph_without_claims_loads_and_says_so(turtle: Callable[..., LoadedGraph]) -> None:
    graph = turtle('ex:Company a owl:Class ; rdfs:label "company" .')
    assert (graph.counts.claims, list(graph.candidates()), graph.uses) == (0, [], {})
    assert graph.counts.left_out == {"schema": 1, "label": 1}


def test_people_can_change_the_rules(tmp_path: Path, turtle: Callable[..., LoadedGraph]) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        f"prefixes: {{ex: '{EX}', rdf: 'http://www.w3.org/1999/02/22-rdf-syntax-ns#'}}\n"
        "roles: {claim: [rdf:type, 'ex:keep*'], bookkeeping: ['ex:*'], label: ['ex:name']}\n"
    )
    graph = turtle('ex:a a ex:B ; ex:keeps "x" ; ex:drops "y" ; ex:name "A" ; rdfs:label "now a claim" .', rules=Rules.from_yaml(rules))
    assert {p for _, p, _ in triples(graph)} == {
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
        "keeps",
        "<http://www.w3.org/2000/01/rdf-schema#label>",
    }
    assert graph.counts.left_out == {"bookkeeping": 1, "label": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a", "mapping"),
        ("rolls: {}", "unknown key 'rolls'"),
        ("roles: {claims: []}", "unknown role 'claims'"),
        ("roles: {claim: ex:a}", "list of names"),
        ("roles: {claim: ['ex:a']}", "prefix"),
        ("roles: [", "no YAML"),
    ],
)
def test_rules_that_are_none_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "rules.yaml").write_text(text)
    with pytest.raises(UsageError, match=f"rules.yaml: .*{message}"):
        Rules.from_yaml(tmp_path / "rules.yaml")


@pytest.mark.parametrize(
    ("predicate", "role"),
    [
        ("http://www.wikidata.org/prop/direct/P31", Role.CLAIM),
        ("http://www.wikidata.org/prop/P31", Role.BOOKKEEPING),
        ("http://wikiba.se/ontology#sitelinks", Role.BOOKKEEPING),
        ("https://schema.org/name", Role.LABEL),
        ("http://www.w3.org/ns/prov#wasDerivedFrom", Role.PROVENANCE),
        ("http://www.w3.org/2002/07/owl#sameAs", Role.SAME_AS),
        ("http://www.w3.org/2002/07/owl#onProperty", Role.SCHEMA),
        ("urn:kgaudit:name:related%20to", Role.CLAIM),
    ],
)
def test_the_rules_that_ship(predicate: str, role: Role) -> None:
    assert Rules.default().role(predicate) is role


def test_equal_triples_are_one_row_with_every_place_and_statement(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text(f'{S} {P} "1.50"^^<{XSD}decimal> .\n{S} {P} "x"@EN .\n{S} {P} "x"@en .\n')
    (tmp_path / "b.nq").write_text(f'{S} {P} "+1.5"^^<{XSD}decimal> <{EX}g> .\n')
    graph = loaded(tmp_path / "work", tmp_path / "a.nt", tmp_path / "b.nq")
    by_key = {candidate.key: candidate for candidate in graph.candidates()}
    number = by_key[triple_key(S, P, f'"1.5"^^<{XSD}decimal>')]
    assert number.places == (Place("a.nt", 1), Place("b.nq", 1, f"<{EX}g>"))
    assert by_key[triple_key(S, P, '"x"@en')].places == (Place("a.nt", 2), Place("a.nt", 3))
    assert (graph.counts.claims, graph.counts.duplicates) == (2, 2)


def test_candidates_come_in_seeded_random_order_that_no_file_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{S} {P} <{EX}o{i}> .\n" for i in range(500)]
    (tmp_path / "kg.nt").write_text("".join(lines))
    (tmp_path / "back.nt").write_text("".join(reversed(lines)))
    keys = [candidate.key for candidate in loaded(tmp_path / "work", tmp_path / "kg.nt").candidates()]
    assert keys == sorted(keys, key=lambda key: sha256(f"0{key}".encode()).hexdigest())
    monkeypatch.setattr(spill, "CHUNK_ROWS", 200)  # in parts on disk
    assert [candidate.key for candidate in loaded(tmp_path / "back", tmp_path / "back.nt").candidates()] == keys
    other = [candidate.key for candidate in loaded(tmp_path / "seeded", tmp_path / "kg.nt", seed=7).candidates()]
    assert other != keys
    assert sorted(other) == sorted(keys)
    assert not (tmp_path / "back" / "spill").exists()


def test_a_loaded_graph_opens_again_as_it_was(tmp_path: Path, turtle: Callable[..., LoadedGraph]) -> None:
    graph = turtle('ex:a ex:b ex:c ; ex:d 5 . ex:b a owl:FunctionalProperty ; rdfs:domain ex:A ; rdfs:label "bee" . ex:x ex:y <a b> .')
    again = LoadedGraph.open(tmp_path / "work")
    assert again.counts == graph.counts
    assert again.counts.quarantined == 1
    assert again.schema == graph.schema
    assert again.uses == graph.uses
    assert list(again.candidates()) == list(graph.candidates())
    assert again.names.labels(f"<{EX}b>") == graph.names.labels(f"<{EX}b>")


def test_what_was_not_loaded_to_its_end_does_not_open(tmp_path: Path) -> None:
    (tmp_path / "kg.nt").write_text(LINE)
    loaded(tmp_path / "work", tmp_path / "kg.nt")
    (tmp_path / "kg.nt").write_text(f"{S} {P} <a b> .\n")
    with pytest.raises(InputError, match="no statement could be read"):
        loaded(tmp_path / "work", tmp_path / "kg.nt")
    with pytest.raises(InputError, match="no graph was loaded here to its end"):
        LoadedGraph.open(tmp_path / "work")
    assert quarantined(tmp_path / "work")[0]["line"] == 1
    (tmp_path / "work" / "load.json").write_text("{}")
    with pytest.raises(InputError, match="another version"):
        LoadedGraph.open(tmp_path / "work")
    (tmp_path / "work" / "load.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        LoadedGraph.open(tmp_path / "work")


def test_nothing_named_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EmptyInputError):
        loaded(tmp_path / "work")


def test_strict_stops(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2"):
        loaded(tmp_path / "work", FIELD / "02-iri-with-space" / "kg.nt", strict=True)
    assert not (tmp_path / "work" / "load.json").exists()


def test_progress_runs_to_the_end_of_all_files(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.nt", "b.nt", "c.csv")]
    for path in paths:
        path.write_text("subject,predicate,object\na,b,c\n" if path.suffix == ".csv" else LINE)
    total = sum(path.stat().st_size for path in paths)
    told: list[tuple[int, int | None]] = []
    load(paths, tmp_path / "work", SourceOptions(), lambda done, of: told.append((done, of)))
    assert told[-1] == (total, total)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_names_types_and_equal_names(turtle: Callable[..., LoadedGraph]) -> None:
    graph = turtle(
        'ex:N rdfs:label "Norrby Pumps"@en, "Norrby Pumpen"@de ; skos:prefLabel "Norrby" ; skos:altLabel "NP" ; '
        'schema:name "  " ; rdfs:label ex:notALabel ; '
        "a ex:Company, ex:Maker ; owl:sameAs ex:N2 ; ex:p ex:o . ex:N2 owl:sameAs ex:N3, ex:N . ex:N3 owl:sameAs ex:N3 ."
    )
    assert graph.names.labels(f"<{EX}N>") == [
        Label("Norrby", "", "skos:prefLabel"),
        Label("Norrby Pumps", "en", "rdfs:label"),
        Label("Norrby Pumpen", "de", "rdfs:label"),
        Label("NP", "", "skos:altLabel"),
    ]
    assert graph.names.labels(f"<{EX}nothing>") == []
    assert sorted(graph.names.types(f"<{EX}N>")) == [f"<{EX}Company>", f"<{EX}Maker>"]
    assert sorted(graph.names.same_as(f"<{EX}N>")) == [f"<{EX}N2>", f"<{EX}N3>"]
    assert sorted(graph.names.same_as(f"<{EX}N3>")) == [f"<{EX}N2>", f"<{EX}N>"]
    assert graph.names.named("NORRBY\u00a0pumps") == [f"<{EX}N>"]
    assert graph.names.named("Norrby Pum") == []


def test_names_answer_several_threads(turtle: Callable[..., LoadedGraph]) -> None:
    graph = turtle("".join(f'ex:n{i} rdfs:label "name {i}" ; ex:p ex:o .\n' for i in range(50)))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: graph.names.labels(f"<{EX}n{i % 50}>")[0].value, range(400)))
    assert found == [f"name {i % 50}" for i in range(400)]
    graph.close()
    assert graph.names.labels(f"<{EX}n1>")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labels.tsv", "id\tlabel\tlanguage\nQ1\tNorrby\ten\nhttps://graph.example/owns\towns\t\n"),
        ("labels.tsv", "Q1\tNorrby\n<https://graph.example/owns>\towns\n"),
        ("labels.csv", "label,id\nNorrby,Q1\nowns,https://graph.example/owns\n"),
        (
            "labels.jsonl",
            '{"id": "Q1", "label": "Norrby", "language": "en"}\n\n{"id": "https://graph.example/owns", "label": "owns"}\n',
        ),
        ("labels.ttl", HEAD + 'ex:Q1 rdfs:label "Norrby"@en . ex:owns skos:prefLabel "owns" .'),
    ],
    ids=["tsv", "tsv-without-header", "csv", "jsonl", "rdf"],
)
def test_a_file_of_labels_names_what_the_graph_does_not(
    tmp_path: Path, turtle: Callable[..., LoadedGraph], name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    graph = turtle('ex:Q1 ex:owns ex:Q2 . ex:Q2 rdfs:label "own label" .', labels=tmp_path / name)
    assert [label.value for label in graph.names.labels(f"<{EX}Q1>")] == ["Norrby"]
    assert [label.value for label in graph.names.labels(f"<{EX}owns>")] == ["owns"]
    assert [label.value for label in graph.names.labels(f"<{EX}Q2>")] == ["own label"]
    if name != "labels.ttl":
        assert [label.value for label in graph.names.labels(name_term("Q1"))] == ["Norrby"]
    assert graph.counts.statements == 2


def test_a_file_of_labels_that_is_none(tmp_path: Path, turtle: Callable[..., LoadedGraph]) -> None:
    for name, text in (("labels.tsv", "Q1\n"), ("labels.jsonl", "[1]\n"), ("labels.jsonl", '{"id": "Q1"}\n')):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=f"{name}: line 1"):
            turtle("ex:a ex:b ex:c .", labels=tmp_path / name)
    (tmp_path / "labels.tsv").write_bytes("Q1\tMühle\n".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        turtle("ex:a ex:b ex:c .", labels=tmp_path / "labels.tsv")
    with pytest.raises(StorageError, match="no such file"):
        turtle("ex:a ex:b ex:c .", labels=tmp_path / "nothing.tsv")


def test_the_schema_is_read(turtle: Callable[..., LoadedGraph]) -> None:
    graph = turtle(
        "ex:owns a owl:ObjectProperty, owl:AsymmetricProperty, owl:IrreflexiveProperty ; rdfs:domain ex:Company ; "
        "rdfs:range ex:Thing, ex:Company ; owl:inverseOf ex:ownedBy ; rdfs:subPropertyOf ex:controls . "
        "ex:seat a owl:FunctionalProperty . ex:near a owl:SymmetricProperty .\n"
        "ex:Company rdfs:subClassOf ex:Agent ; owl:disjointWith ex:Place . ex:Town rdfs:subClassOf ex:Place . "
        "ex:Firm owl:equivalentClass ex:Company . ex:Agent rdfs:subClassOf ex:Company .\n"
        "[] a owl:AllDisjointClasses ; owl:members ( ex:Red ex:Green ex:Blue ) .\n"
        "ex:loc rdfs:domain [ owl:unionOf ( ex:A ex:B ) ] . ex:x ex:owns ex:y ."
    )
    ex = {name: f"<{EX}{name}>" for name in "owns ownedBy controls seat near Company Thing Agent Place Town Firm Red Blue loc".split()}
    facts = graph.schema.predicates
    assert facts[ex["owns"]].domain == (ex["Company"],)
    assert set(facts[ex["owns"]].range) == {ex["Thing"], ex["Company"]}
    assert (facts[ex["owns"]].asymmetric, facts[ex["owns"]].irreflexive, facts[ex["owns"]].functional) == (True, True, False)
    assert facts[ex["owns"]].inverse_of == (ex["ownedBy"],)
    assert facts[ex["ownedBy"]].inverse_of == (ex["owns"],)
    assert facts[ex["owns"]].sub_property_of == (ex["controls"],)
    assert facts[ex["seat"]].functional
    assert facts[ex["near"]].symmetric
    assert ex["loc"] not in facts  # a union is not one class
    assert graph.schema.subclass_of[ex["Town"]] == (ex["Place"],)
    disjoint = graph.schema.are_disjoint
    assert disjoint(ex["Company"], ex["Place"])
    assert disjoint(ex["Town"], ex["Firm"])
    assert disjoint(ex["Red"], ex["Blue"])
    assert not disjoint(ex["Company"], ex["Agent"])  # classes above each other in a circle
    assert not disjoint(ex["Red"], ex["Town"])


def test_how_predicates_are_used(turtle: Callable[..., LoadedGraph]) -> None:
    graph = turtle(
        "".join(f"ex:c{i} ex:seat ex:t{i % 3} ; ex:size {i} ; a ex:Company .\n" for i in range(10))
        + 'ex:c1 ex:seat ex:t9 ; ex:size "big", "groß"@de . ex:c2 ex:seat ex:t2 . ex:t0 a ex:Town .'
    )
    seat, size = graph.uses[f"<{EX}seat>"], graph.uses[f"<{EX}size>"]
    assert (seat.claims, seat.subjects, seat.subjects_with_one_object, seat.datatypes) == (11, 10, 9, {})
    assert seat.subject_types == ((f"<{EX}Company>", 10),)
    assert seat.object_types == ((f"<{EX}Town>", 1),)
    assert (size.claims, size.subjects, size.subjects_with_one_object) == (12, 10, 9)
    assert size.datatypes == {XSD + "integer": 10, STRING: 1, "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString": 1}


def test_provenance_of_named_graphs_fills_places(turtle: Callable[..., LoadedGraph]) -> None:
    graph = turtle(
        "ex:g1 { ex:a ex:b ex:c } ex:g2 { ex:a ex:b ex:c . ex:d ex:b ex:c } { ex:e ex:b ex:c }\n"
        'ex:g1 prov:generatedAtTime "2026-01-05T10:00:00Z"^^xsd:dateTime ; prov:wasAttributedTo ex:llm ; '
        'prov:wasDerivedFrom <https://docs.example/d1>, "d2" .\n'
        'ex:g2 prov:wasGeneratedBy ex:run7 ; dct:source ex:d3 . ex:run7 a prov:Activity ; prov:endedAtTime "2026-02-01" .',
        "kg.trig",
    )
    places = {short(c.triple.s): {short(place.graph or "default"): place for place in c.places} for c in graph.candidates()}
    first = places["a"]["g1"]
    assert (first.extracted_at, first.extractor) == ("2026-01-05T10:00:00Z", f"{EX}llm")
    assert sorted(first.documents) == ["d2", "https://docs.example/d1"]
    assert places["a"]["g2"] == places["d"]["g2"]
    assert (places["d"]["g2"].extracted_at, places["d"]["g2"].extractor, places["d"]["g2"].documents) == (
        "2026-02-01",
        f"{EX}run7",
        (f"{EX}d3",),
    )
    assert places["e"] == {"default": Place("kg.trig")}


def test_what_is_said_of_reified_triples_fills_their_places(turtle: Callable[..., LoadedGraph]) -> None:
    graph = turtle(
        'ex:a ex:b ex:c {| k:statement "A b c." ; k:document "d1" ; ex:confidence 0.5 |} .\n'
        "ex:a ex:b +1.50 . ex:r rdf:reifies <<( ex:a ex:b 1.5 )>> ; prov:wasDerivedFrom <https://docs.example/d2> ; ex:rated 3 .\n"
        "ex:st a rdf:Statement ; rdf:object ex:e ; rdf:subject ex:a ; rdf:predicate ex:b ; dct:issued 2020 ; ex:rated 4 . "
        "ex:a ex:b ex:e .\n"
        "[] rdf:reifies <<( ex:a ex:b ex:never )>> ."
    )
    places = {short(c.triple.o): c.places for c in graph.candidates()}
    assert places == {
        "c": (Place("kg.ttl", statement="A b c.", documents=("d1",)),),
        f'"+1.50"^^<{XSD}decimal>': (Place("kg.ttl", documents=("https://docs.example/d2",)),),
        "e": (Place("kg.ttl", extracted_at="2020"),),
    }
    assert graph.counts.claims == 3
    assert graph.counts.statements == graph.counts.claims + graph.counts.duplicates + sum(graph.counts.left_out.values())


def test_a_triple_said_twice_in_a_format_without_lines_has_one_place(turtle: Callable[..., LoadedGraph]) -> None:
    graph = turtle("ex:a ex:b ex:c . ex:a ex:b ex:c . ex:d ex:b ex:c .")
    assert [len(candidate.places) for candidate in graph.candidates()] == [1, 1]
    assert graph.counts.duplicates == 1


def test_field_01_and_05_and_06(tmp_path: Path) -> None:
    marked = loaded(tmp_path / "w1", FIELD / "01-bom-first-line" / "kg.nt")
    (tmp_path / "plain.nt").write_bytes((FIELD / "01-bom-first-line" / "kg.nt").read_bytes().removeprefix(b"\xef\xbb\xbf"))
    assert [c.key for c in marked.candidates()] == [c.key for c in loaded(tmp_path / "w2", tmp_path / "plain.nt").candidates()]
    assert loaded(tmp_path / "w3", FIELD / "01-bom-first-line" / "kg.ttl").counts.claims == 2
    halves = loaded(tmp_path / "w4", FIELD / "05-surrogate-escapes" / "kg.nt")
    assert (halves.counts.claims, [row["line"] for row in quarantined(tmp_path / "w4")]) == (3, [2, 3])
    assert loaded(tmp_path / "w5", FIELD / "06-truncated-gzip" / "members.nt.gz").counts.claims == 20
    with pytest.raises(InputError, match=r"cut\.nt\.gz: the gzip stream ends early: 235 statements"):
        loaded(tmp_path / "w6", FIELD / "06-truncated-gzip" / "cut.nt.gz")
    with pytest.raises(EmptyInputError, match=r"empty\.nt\.gz: the file is empty"):
        loaded(tmp_path / "w7", FIELD / "06-truncated-gzip" / "empty.nt.gz")


def test_no_local_folder_stands_in_anything_that_is_kept(tmp_path: Path) -> None:
    home = tmp_path / "teal-kiln"
    home.mkdir()
    (home / "kg.ttl").write_text(HEAD + "ex:a ex:b <relative>, ex:c . ex:d ex:e <a b> .")
    loaded(tmp_path / "work", home / "kg.ttl")
    for path in (tmp_path / "work").iterdir():
        assert b"teal-kiln" not in path.read_bytes()


@pytest.fixture
def home_of_nobody() -> Iterator[Path]:
    """A folder of a user who is not root, as whom the test then runs."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        loaded(home / "first", FIELD / "01-bom-first-line" / "kg.ttl")  # whatever is imported late is imported now
        if os.geteuid():
            yield home
            return
        os.chown(home, 65534, 65534)
        os.seteuid(65534)
        try:
            yield home
        finally:
            os.seteuid(0)


def test_without_permission(home_of_nobody: Path) -> None:
    path, closed = home_of_nobody / "kg.nt", home_of_nobody / "closed"
    path.write_text(LINE)
    closed.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(StorageError, match=r"closed/work: no permission"):
        loaded(closed / "work", path)
    path.chmod(0)
    with pytest.raises(StorageError, match=r"kg\.nt: no permission"):
        loaded(home_of_nobody / "work", path)
    (home_of_nobody / "work").chmod(stat.S_IRUSR | stat.S_IXUSR)
    path.chmod(0o600)
    with pytest.raises(StorageError, match=r"work.*: (?:no permission|the file of names cannot be used)"):
        loaded(home_of_nobody / "work", path)


def test_a_full_disk_is_said_wherever_it_is_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kg.nt").write_text(LINE)

    class Full:
        def __init__(self, *arguments: object, **options: object) -> None:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pyarrow.OSFile", Full)
        with pytest.raises(StorageError, match=r"candidates\.arrow: the disk is full"):
            loaded(tmp_path / "work", tmp_path / "kg.nt")
    with pytest.raises(StorageError, match="the disk is full"), names.disk_errors(tmp_path / "names.sqlite"):
        raise sqlite3.OperationalError("database or disk is full")


def test_a_damaged_file_of_names_is_said(tmp_path: Path) -> None:
    (tmp_path / "kg.nt").write_text(LINE)
    loaded(tmp_path / "work", tmp_path / "kg.nt")
    (tmp_path / "work" / "names.sqlite").write_bytes(b"nonsense" * 1000)
    with pytest.raises(StorageError, match=r"names\.sqlite: the file of names cannot be used"):
        LoadedGraph.open(tmp_path / "work")


def test_the_record_of_a_load_is_json_that_others_read(turtle: Callable[..., LoadedGraph], tmp_path: Path) -> None:
    turtle("ex:a ex:b ex:c .")
    counts = json.loads((tmp_path / "work" / "load.json").read_text("utf-8"))["counts"]
    assert counts["files"] == [{"name": "kg.ttl", "statements": 1, "quarantined": 0}]
