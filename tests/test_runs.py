from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest
from conftest import WordJudge, WordRetriever, make_claim, make_passage

from kgaudit.agent.policies import make_policy
from kgaudit.claims import Claim
from kgaudit.documents import Passage, Query
from kgaudit.errors import RunError, RunLockedError, ServiceError, StorageError
from kgaudit.runs.counts import count_by, count_verdicts
from kgaudit.runs.engine import Stop, verify_all
from kgaudit.runs.files import TEMPORARY_PREFIX, whole_file, write_json
from kgaudit.runs.ledger import Entry, Ledger, open_parts
from kgaudit.runs.lock import RunLock
from kgaudit.runs.reader import RunReader, steps_of
from kgaudit.runs.replay import replay_lines
from kgaudit.triples import Place
from kgaudit.verdicts import Trajectory

PASSAGES = [make_passage("d1", "Norrby owns Halden."), make_passage("d2", "Tarn does not owns Kestrel.")]
CLAIMS = [make_claim("Norrby", "owns", "Halden"), make_claim("Tarn", "owns", "Kestrel"), make_claim("Sund", "owns", "Orvik")]


def results(claims: list[Claim], retriever: WordRetriever | None = None) -> list[Entry]:
    entries: list[Entry] = []

    def take(claim: Claim, trajectory: Trajectory, passages: tuple[Passage, ...]) -> None:
        entries.append(Entry(claim, (Place("kg.nt", 3),), trajectory, passages))

    verify_all(
        claims, policy=make_policy("agentkgv"), retriever=retriever or WordRetriever(PASSAGES), judge=WordJudge(), on_result=take
    )
    return entries


def test_ledger_keeps_each_triple_once_and_each_passage_once(tmp_path: Path) -> None:
    entries = results(CLAIMS)
    ledger = Ledger(tmp_path)
    ledger.append(entries[:2])
    ledger.append(entries)
    assert len(ledger) == 3
    again = Ledger(tmp_path)
    assert all(claim.key in again for claim in CLAIMS)
    again.append(entries)
    keys = [row["key"] for part in open_parts(tmp_path / "ledger") for row in _rows(part)]
    assert sorted(keys) == sorted(claim.key for claim in CLAIMS)
    ids = [row["id"] for part in open_parts(tmp_path / "passages") for row in _rows(part)]
    assert len(ids) == len(set(ids)) > 0
    assert count_verdicts(tmp_path).verdicts == {"supported": 1, "refuted": 1, "not_enough_evidence": 1, "not_judged": 0}
    assert count_by(tmp_path, "p_label")["owns"].total == 3
    assert count_verdicts(tmp_path).pass_rate == 0.5


def _rows(part: Path) -> list[dict[str, object]]:
    from kgaudit.runs.ledger import read_part

    rows: list[dict[str, object]] = read_part(part).to_pylist()
    return rows


def test_leftovers_of_a_killed_process_do_not_count(tmp_path: Path) -> None:
    Ledger(tmp_path).append(results(CLAIMS)[:1])
    leftover = tmp_path / "ledger" / f"{TEMPORARY_PREFIX}1-part-x.parquet"
    leftover.write_bytes(b"half")
    assert len(Ledger(tmp_path)) == 1
    assert not leftover.exists()


def test_damaged_part_is_named_with_what_to_do(tmp_path: Path) -> None:
    Ledger(tmp_path).append(results(CLAIMS)[:1])
    (part,) = open_parts(tmp_path / "ledger")
    part.write_bytes(part.read_bytes()[:50])
    with pytest.raises(RunError, match=part.name):
        Ledger(tmp_path)


def test_reader_replays_from_what_was_kept(tmp_path: Path) -> None:
    Ledger(tmp_path).append(results(CLAIMS))
    write_json(tmp_path / "spec.json", {"format": 1})
    write_json(tmp_path / "summary.json", {"status": "complete"})
    reader = RunReader(tmp_path)
    (row,) = reader.find(CLAIMS[1].key[:8])
    assert row["verdict"] == "refuted"
    assert steps_of(row)[0].action == "search_documents"
    text = "\n".join(replay_lines(reader, row))
    assert PASSAGES[1].text in text
    assert "refuted" in text
    assert reader.find("norrby owns halden")[0]["key"] == CLAIMS[0].key
    assert reader.find("zzz") == []
    with pytest.raises(RunError, match="not a run folder"):
        RunReader(tmp_path / "ledger")


def test_index_that_is_down_stops_the_run_instead_of_filling_it(tmp_path: Path) -> None:
    class Down(WordRetriever):
        def search(self, queries: object, k: int) -> list[list[Passage]]:
            raise ServiceError("cannot connect", where="es:9200", retry_after=1e9)

    taken: list[Entry] = []
    with pytest.raises(ServiceError, match="es:9200"):
        verify_all(CLAIMS, policy=make_policy("agentkgv"), retriever=Down([]), judge=WordJudge(), on_result=lambda *a: taken.append(a))  # type: ignore[arg-type]
    assert taken == []


def test_claim_that_breaks_the_judge_is_not_judged_and_harms_no_other() -> None:
    class Fragile(WordJudge):
        def judge(self, pairs):  # type: ignore[no-untyped-def]
            if any(claim.subject.label == "Tarn" for claim, _ in pairs):
                raise ValueError("odd claim")
            return super().judge(pairs)

    found: dict[str, Trajectory] = {}
    verify_all(
        CLAIMS,
        policy=make_policy("agentkgv"),
        retriever=WordRetriever(PASSAGES),
        judge=Fragile(),
        on_result=lambda claim, trajectory, _: found.__setitem__(claim.subject.label, trajectory),
    )
    assert found["Tarn"].verdict.verdict == "not_judged"
    assert "odd claim" in found["Tarn"].verdict.reason
    assert found["Norrby"].verdict.verdict == "supported"


def test_stop_finishes_what_is_in_flight_and_begins_nothing_new() -> None:
    stop = Stop()
    claims = [make_claim(f"S{i}", "owns", "Halden") for i in range(2000)]
    done: list[str] = []

    def take(claim: Claim, trajectory: Trajectory, passages: tuple[Passage, ...]) -> None:
        done.append(claim.key)
        if len(done) == 10:
            stop.ask(2)

    verify_all(claims, policy=make_policy("agentkgv"), retriever=WordRetriever(PASSAGES), judge=WordJudge(), on_result=take, stop=stop)
    assert 10 <= len(done) < 1000


def _hold(path: str, ready: object, leave: object) -> None:
    with RunLock(Path(path)):
        ready.set()  # type: ignore[attr-defined]
        leave.wait(30)  # type: ignore[attr-defined]


def test_second_run_on_a_folder_ends_at_once_and_names_the_first(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    ready, leave = context.Event(), context.Event()
    process = context.Process(target=_hold, args=(str(tmp_path), ready, leave))
    process.start()
    assert ready.wait(10)
    with pytest.raises(RunLockedError, match=str(process.pid)):
        RunLock(tmp_path)
    process.kill()
    process.join()
    with RunLock(tmp_path):
        pass


def test_file_is_whole_or_not_there(tmp_path: Path) -> None:
    def half() -> None:
        with whole_file(tmp_path / "x") as stream:
            stream.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError, match="no-such"), whole_file(tmp_path / "no-such" / "x"):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="permission"):
        Ledger(tmp_path / "run")
    tmp_path.chmod(0o700)


def test_queries_reach_the_retriever_as_written() -> None:
    retriever = WordRetriever(PASSAGES)
    results([make_claim("What? Studio*", "seat", "Orvik")], retriever)
    assert Query(retriever.queries[0]).text == "What? Studio* Orvik"
