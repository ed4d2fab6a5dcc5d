"""Field cases 18 to 22: what the verdict must be, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from field_cli import EX, Run, assert_verbatim, audit, copy_case, index_of, report_text, short

SUPPORTED = ("supported",)
NOT_SUPPORTED = ("refuted", "not_enough_evidence")
LACKING = ("not_enough_evidence",)

GRAPHS = {"18-self-loop": "kg.nt", "19-edge-without-predicate": "rows.jsonl", "20-acronyms": "kg.ttl", "21-grouped-digits": "kg.nt",
          "22-two-banks-one-name": "kg.ttl"}  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A run of each case; every quote is checked on the way."""
    home = tmp_path_factory.mktemp("verdict")
    done = {}
    for name, graph in GRAPHS.items():
        case = copy_case(name, home)
        done[name] = audit(case / graph, index=index_of(case / "docs.jsonl"), run=home / f"{name}-run")
        assert_verbatim(done[name], case / "docs.jsonl")
    return done


CLAIMS = [
    ("18-self-loop", ("Norrby_Pumps", "includes", "Halden_works"), SUPPORTED),
    ("18-self-loop", ("Norrby_Pumps", "includes", "Norrby_Pumps"), NOT_SUPPORTED),
    ("18-self-loop", ("Norrby_Pumps", "subsidiaryOf", "Norrby_Pumps"), NOT_SUPPORTED),
    ("19-edge-without-predicate", ("Ida Sund", "DIRECTED", "Norrby Pumps"), SUPPORTED),
    ("19-edge-without-predicate", ("Peter Holm", "DIRECTED", "Norrby Pumps"), NOT_SUPPORTED),
    ("19-edge-without-predicate", ("Orvik Shipping", "DIRECTED", "Tarn Holdings"), LACKING),
    ("19-edge-without-predicate", ("Orvik Shipping", "related_to", "Tarn Holdings"), LACKING),
    ("20-acronyms", ("nma", "seat", "orvik"), SUPPORTED),
    ("20-acronyms", ("tkb", "seat", "dunmere"), LACKING),
    ("20-acronyms", ("nma", "dissolved", "1998"), NOT_SUPPORTED),
    ("21-grouped-digits", ("Norrby_Pumps", "revenueInEuros", "4523000"), SUPPORTED),
    ("21-grouped-digits", ("Halden", "numberOfValves", "1250000"), SUPPORTED),
    ("21-grouped-digits", ("Orvik", "inhabitants", "12500"), SUPPORTED),
    ("21-grouped-digits", ("Norrby_Pumps", "employees", "4532"), NOT_SUPPORTED),
    ("21-grouped-digits", ("Orvik", "inhabitants", "12"), NOT_SUPPORTED),
    ("22-two-banks-one-name", ("fhb-o", "founded", "1948"), SUPPORTED),
    ("22-two-banks-one-name", ("fhb-d", "founded", "1911"), SUPPORTED),
    ("22-two-banks-one-name", ("fhb-o", "founded", "1911"), NOT_SUPPORTED),
]


@pytest.mark.parametrize(("name", "triple", "wanted"), CLAIMS, ids=[f"{name[:2]}-{'-'.join(triple)}" for name, triple, _ in CLAIMS])
def test_verdict(runs: dict[str, Run], name: str, triple: tuple[str, str, str], wanted: tuple[str, ...]) -> None:
    row = runs[name].one(*triple)
    assert row["verdict"] in wanted, (row["reason"], row["p_supported"], row["evidence"])


def test_18_self_loops_say_so_and_borrow_nothing(runs: dict[str, Run]) -> None:
    run = runs["18-self-loop"]
    for predicate in ("includes", "subsidiaryOf"):
        row = run.one("Norrby_Pumps", predicate, "Norrby_Pumps")
        assert "subject and object are the same" in row["reason"]
    trustee = run.one("Alder_Trust", "trustee", "Alder_Trust")
    assert trustee["verdict"] in ("supported", "not_enough_evidence")
    assert {span["document_id"] for span in trustee["evidence"]} <= {"d2"}


def test_18_self_loops_by_another_name_or_by_the_schema(tmp_path: Path) -> None:
    """Two IRIs of one label are no self-loop of the graph, yet no sentence about one thing says it of two; the schema may forbid it."""
    (tmp_path / "docs.jsonl").write_text(
        json.dumps({"id": "d1", "text": "Norrby Pumps includes three works, at Orvik, Halden and Tarn."}) + "\n"
    )
    (tmp_path / "kg.ttl").write_text(
        f"@prefix ex: <{EX}> .\n@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "ex:partOf a owl:ObjectProperty , owl:IrreflexiveProperty .\n"
        'ex:a rdfs:label "Norrby Pumps" ; ex:includes ex:b ; ex:partOf ex:a .\nex:b rdfs:label "Norrby Pumps" .\n'
    )
    run = audit(tmp_path / "kg.ttl", index=index_of(tmp_path / "docs.jsonl"), run=tmp_path / "run")
    assert run.verdict("a", "includes", "b") in NOT_SUPPORTED
    forbidden = run.one("a", "partOf", "a")
    assert (forbidden["verdict"], forbidden["route"]) == ("refuted", "schema")
    assert "subject and object are the same" in forbidden["reason"]


def test_19_reasons_and_keys(runs: dict[str, Run], tmp_path: Path) -> None:
    run = runs["19-edge-without-predicate"]
    assert len(set(run.keys)) == 4
    for predicate in ("DIRECTED", "related_to"):
        row = run.one("Orvik Shipping", predicate, "Tarn Holdings")
        assert "says nothing" in row["reason"]
        assert "no statement" in row["reason"]
        assert row["evidence"] == []
        assert row["statement"] is None
    for subject in ("Ida Sund", "Peter Holm"):
        row = run.one(subject, "DIRECTED", "Norrby Pumps")
        assert row["route"] == "statement"
        assert row["statement"] == row["places"][0]["statement"]
    bare = [dict(zip(("subject", "predicate", "object"), map(short, (row["s"], row["p"], row["o"])), strict=True)) for row in run.rows]
    (tmp_path / "bare.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bare))
    assert audit(tmp_path / "bare.jsonl", run=tmp_path / "run").keys == run.keys


@pytest.mark.parametrize(
    "predicate",
    ["related to", "RELATED_TO", "isRelatedTo", "associated_with", "linkedTo", "has relationship", "connectedTo", "相关", "관련"],
)
def test_19_other_predicates_that_say_nothing(tmp_path: Path, predicate: str) -> None:
    (tmp_path / "docs.jsonl").write_text(
        json.dumps({"id": "d1", "text": "Orvik Shipping and Tarn Holdings both exhibited at the fair."}) + "\n"
    )
    (tmp_path / "rows.jsonl").write_text(
        json.dumps({"subject": "Orvik Shipping", "predicate": predicate, "object": "Tarn Holdings"}) + "\n"
    )
    (row,) = audit(tmp_path / "rows.jsonl", index=index_of(tmp_path / "docs.jsonl"), run=tmp_path / "run").rows
    assert row["verdict"] == "not_enough_evidence"
    assert "says nothing" in row["reason"]


def test_19_several_statements_of_one_edge(tmp_path: Path) -> None:
    """The best supported statement decides; every one is kept with its place; a statement is never its own evidence."""
    (tmp_path / "docs.jsonl").write_text(json.dumps({"id": "d1", "text": "Ida Sund founded Norrby Pumps in 1974."}) + "\n")
    said = ["Ida Sund sued Norrby Pumps.", "Ida Sund founded Norrby Pumps.", "Ida Sund dislikes Norrby Pumps."]
    rows = [{"subject": "Ida Sund", "predicate": "DIRECTED", "object": "Norrby Pumps", "statement": one} for one in said]
    rows.append({"subject": "Tarn", "predicate": "DIRECTED", "object": "Kestrel", "statement": "Tarn founded Kestrel."})
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = audit(tmp_path / "rows.jsonl", index=index_of(tmp_path / "docs.jsonl"), run=tmp_path / "run")
    row = run.one("Ida Sund", "DIRECTED", "Norrby Pumps")
    assert row["verdict"] == "supported"
    assert row["statement"] == said[1]
    assert [place["statement"] for place in row["places"]] == said
    unheard = run.one("Tarn", "DIRECTED", "Kestrel")
    assert unheard["verdict"] == "not_enough_evidence"
    assert unheard["evidence"] == []


def test_19_pronouns_and_pieces_of_sentences(tmp_path: Path) -> None:
    """What names nothing is not looked for: a document surely holds "This" and "the project"."""
    (tmp_path / "docs.jsonl").write_text(json.dumps({"id": "d1", "text": "This is the project. It has its seat in Orvik."}) + "\n")
    subjects = ["This", "it", "They", "the project", "our company", "Diese", "das Unternehmen", "이것", "本公司", "…"]
    rows = [{"subject": one, "predicate": "seat", "object": "Orvik"} for one in subjects]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run = audit(tmp_path / "rows.jsonl", index=index_of(tmp_path / "docs.jsonl"), run=tmp_path / "run")
    assert {row["verdict"] for row in run.rows} == {"not_enough_evidence"}
    assert len(run.rows) == len(subjects)
    assert all(row["s_label"] in row["reason"] for row in run.rows)
    assert all(row["evidence"] == [] for row in run.rows)


def test_20_acronym_without_expansion_borrows_nothing(runs: dict[str, Run]) -> None:
    run = runs["20-acronyms"]
    row = run.one("tkb", "seat", "dunmere")
    assert row["evidence"] == []
    assert "TKB" in row["reason"]
    quotes = [span["quote"] for span in run.one("nma", "seat", "orvik")["evidence"]]
    assert quotes == [] or any("Norrby Marine Authority" in quote for quote in quotes)


def test_20_acronym_that_is_a_word(tmp_path: Path) -> None:
    """IT, US and WHO are not "it", "us" and "who"."""
    (tmp_path / "docs.jsonl").write_text(
        json.dumps({"id": "d1", "text": "Ask us who it was: it has its seat in Orvik, and so have us."}) + "\n"
    )
    rows = [{"subject": one, "predicate": "seat", "object": "Orvik"} for one in ("IT", "US", "WHO")]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = audit(tmp_path / "rows.jsonl", index=index_of(tmp_path / "docs.jsonl"), run=tmp_path / "run")
    assert {row["verdict"] for row in run.rows} == {"not_enough_evidence"}


XSD = "http://www.w3.org/2001/XMLSchema#"
NUMBERS = [
    ("4523000", "4 523 000", SUPPORTED),
    ("4523000", "4\u00a0523\u00a0000", SUPPORTED),
    ("4523000", "4'523'000", SUPPORTED),
    ("4523000", "4.523 million", SUPPORTED),
    ("4523000", "EUR 4,523,000", SUPPORTED),
    ("4523000", "4523000", SUPPORTED),
    ("4523000", "4,523,001", NOT_SUPPORTED),
    ("4523000", "14,523,000", NOT_SUPPORTED),
    ("4523000", "4,523,000,000", NOT_SUPPORTED),
    ("523", "4,523", NOT_SUPPORTED),
    ("45", "4,523", NOT_SUPPORTED),
]


@pytest.mark.parametrize(("number", "written", "wanted"), NUMBERS)
def test_21_other_ways_to_group(tmp_path: Path, number: str, written: str, wanted: tuple[str, ...]) -> None:
    (tmp_path / "docs.jsonl").write_text(
        json.dumps({"id": "d1", "text": f"Norrby Pumps reported revenue of {written} euros in 2025.", "language": "en"}) + "\n", "utf-8"
    )
    (tmp_path / "kg.nt").write_text(f'<{EX}Norrby_Pumps> <{EX}revenueInEuros> "{number}"^^<{XSD}integer> .\n')
    run = audit(tmp_path / "kg.nt", index=index_of(tmp_path / "docs.jsonl"), run=tmp_path / "run")
    (row,) = run.rows
    assert row["verdict"] in wanted, (row["verdict"], row["reason"], row["p_supported"])
    assert_verbatim(run, tmp_path / "docs.jsonl")


def test_22_keys_differ_and_the_report_tells_them_apart(runs: dict[str, Run]) -> None:
    run = runs["22-two-banks-one-name"]
    founded = [row for row in run.rows if row["p_label"] == "founded"]
    assert len(founded) == 3
    assert len({row["key"] for row in founded}) == 3
    assert {row["s_label"] for row in founded} == {"First Harbour Bank"}
    text = report_text(run.path)
    assert f"{EX}fhb-o" in text
    assert f"{EX}fhb-d" in text


def test_22_borrows_no_sentence_of_the_other_bank(runs: dict[str, Run]) -> None:
    row = runs["22-two-banks-one-name"].one("fhb-o", "founded", "1911")
    assert not any(span["stance"] == "supports" for span in row["evidence"])
