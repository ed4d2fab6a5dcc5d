from __future__ import annotations

import tracemalloc
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from fake_run import entry, make_run, passage, span

from kgaudit.errors import RunError, StorageError
from kgaudit.reports.junit import write_junit, xml_text
from kgaudit.runs.files import read_json, write_json
from kgaudit.runs.ledger import Entry
from kgaudit.sources import SourceOptions, load
from kgaudit.triples import iri_term


def written(run: Path, to: Path) -> ElementTree.Element:
    write_junit(run, to)
    root = ElementTree.parse(to).getroot()
    for suite in (root, *root.findall("testsuite")):
        cases = list(root.iter("testcase"))
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == sum(case.find("failure") is not None for case in cases)
        assert int(suite.attrib["errors"]) == sum(case.find("error") is not None for case in cases)
        assert int(suite.attrib["skipped"]) == sum(case.find("skipped") is not None for case in cases)
    return root


def test_each_verdict_has_its_outcome(tmp_path: Path) -> None:
    found = passage("Norrby Pumps is based in Halden.")
    entries = [
        entry(verdict="refuted", passages=(found,), evidence=(span(found, "based in Halden"),), better="Halden"),
        entry("Tarn", verdict="supported"),
        entry("Sund", verdict="not_enough_evidence", reason="No document speaks of Sund."),
        entry("Kest", verdict="not_judged", reason="TimeoutError: too slow"),
    ]
    root = written(make_run(tmp_path / "run", entries), tmp_path / "out" / "junit.xml")
    cases = {case.attrib["name"].split(" |")[0]: case for case in root.iter("testcase")}
    failure = cases["Norrby Pumps"].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "The documents name another place."
    assert "based in Halden" in (failure.text or "")
    assert entries[0].claim.key in (failure.text or "")
    assert "names Halden" in (failure.text or "")
    assert len(cases["Tarn"]) == 0
    assert cases["Kest"].find("error") is not None
    assert cases["Sund"].findtext("system-out") == "not enough evidence: No document speaks of Sund."
    assert cases["Tarn"].attrib["classname"] == "based in"
    assert (cases["Tarn"].attrib["file"], cases["Tarn"].attrib["line"]) == ("kg.nt", "1")


def test_triples_that_a_budget_left_out_are_skipped(tmp_path: Path) -> None:
    run = tmp_path / "run"
    graph = tmp_path / "kg.nt"
    names = ["Halden", "Orvik", "Sund"]
    iri = "https://graph.example/"
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    graph.write_text("".join(f'<{iri}A> <{iri}near> <{iri}{name}> .\n<{iri}{name}> {label} "The {name}" .\n' for name in names))
    load([graph], run / "graph", SourceOptions(), None).close()
    done = entry("A", "near", "Halden", "supported", terms=(iri_term(f"{iri}A"), iri_term(f"{iri}near"), iri_term(f"{iri}Halden")))
    make_run(run, [done], status="budget", load={"claims": 3})
    root = written(run, tmp_path / "junit.xml")
    skipped = {case.attrib["name"].split(" | ")[2].split(" [")[0] for case in root.iter("testcase") if case.find("skipped") is not None}
    assert skipped == {"The Orvik", "The Sund"}
    assert root.attrib["tests"] == "3"


def test_texts_of_others_cannot_break_the_file(tmp_path: Path) -> None:
    bad = 'a"b<c>&]]>\x00\x0b\ufffe\u202e\n\t\x85'
    run = make_run(tmp_path / bad.replace("\x00", "").replace("/", ""), [entry(bad, bad, "x", "refuted", reason=bad, better=bad)])
    root = written(run, tmp_path / "junit.xml")
    (case,) = root.iter("testcase")
    assert "[U+0000][U+000B][U+FFFE][U+202E]" in case.attrib["name"]
    assert xml_text("\ud800x") == "[U+D800]x"


def test_run_without_a_triple_is_a_suite_without_tests(tmp_path: Path) -> None:
    root = written(make_run(tmp_path / "run", []), tmp_path / "junit.xml")
    assert root.attrib["tests"] == "0"


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    def many(number: int) -> list[Entry]:
        return [entry(f"Firm {i}", verdict="refuted") for i in range(number)]

    peaks = []
    for number in (500, 4000):
        run = make_run(tmp_path / f"run {number}", many(number))
        tracemalloc.start()
        assert write_junit(run, tmp_path / "junit.xml") == number
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]


def test_errors_name_the_run_or_the_file(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run folder"):
        write_junit(tmp_path, tmp_path / "junit.xml")
    run = make_run(tmp_path / "run", [])
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        write_junit(run, tmp_path / "file" / "junit.xml")
    write_json(run / "spec.json", {**read_json(run / "spec.json"), "started": "?"})
    assert "timestamp" not in written(run, tmp_path / "junit.xml")[0].attrib
