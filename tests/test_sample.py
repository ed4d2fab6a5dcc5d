"""The demonstration does what it shows."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from kgaudit.cli import main
from kgaudit.runs.reader import RunReader
from kgaudit.sample.compare import expected
from kgaudit_retrievers.embedded import EmbeddedRetriever

SAMPLE = Path(__file__).parent.parent / "kgaudit" / "sample"


def kgaudit(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["kgaudit", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0


def test_sample_is_audited_as_its_makers_expect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    index, run = tmp_path / "index", tmp_path / "run"
    kgaudit(monkeypatch, "index", SAMPLE / "docs", "--to", index)
    kgaudit(monkeypatch, "audit", SAMPLE / "kg.ttl", SAMPLE / "extracted.trig", "--index", index, "--run", run)
    shown = capsys.readouterr().out
    assert "159 triples to verify" in shown
    assert "chief executive of" in shown

    wanted = expected()
    rows = [row for batch in RunReader(run).batches() for row in batch.to_pylist()]
    assert {row["key"] for row in rows} == set(wanted)
    pairs = Counter((wanted[row["key"]]["expected"], row["verdict"]) for row in rows)
    assert pairs["supported", "supported"] >= 90
    passed_faults = [row for row in rows if wanted[row["key"]]["fault"] and row["verdict"] == "supported"]
    assert len(passed_faults) <= 18
    assert sum(row["verdict"] == "not_judged" for row in rows) == 0

    retriever = EmbeddedRetriever(index)
    spans = [span for row in rows for span in row["evidence"]]
    assert spans
    for span in spans:
        document = retriever.document(span["document_id"])
        assert document is not None
        assert document.text[span["start"] : span["end"]] == span["quote"]
    retriever.close()

    kgaudit(monkeypatch, "audit", SAMPLE / "kg.ttl", SAMPLE / "extracted.trig", "--index", index, "--run", run)
    assert "0 verified (159 were there already)" in capsys.readouterr().out
    kgaudit(monkeypatch, "report", run)
    assert "Kelvorn" in (run / "report.html").read_text(encoding="utf-8")
    kgaudit(monkeypatch, "export", run, "--to", tmp_path / "verdicts.jsonl")
    lines = (tmp_path / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    assert len([json.loads(line) for line in lines]) == 159
    kgaudit(monkeypatch, "replay", run, rows[0]["key"])
    assert rows[0]["reason"].split()[0] in capsys.readouterr().out


def test_cards_and_rules_can_be_written_edited_and_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import yaml

    kgaudit(monkeypatch, "cards", SAMPLE / "kg.ttl", "--to", tmp_path / "cards.yaml")
    cards = yaml.safe_load((tmp_path / "cards.yaml").read_text(encoding="utf-8"))
    seat = next(card for card in cards if card["label"] == "headquartered in")
    assert seat["functional"] is True
    seat["label"], seat["paraphrases"] = "has its head office in", ["is based in"]
    (tmp_path / "cards.yaml").write_text(yaml.safe_dump(cards, allow_unicode=True), encoding="utf-8")
    capsys.readouterr()
    kgaudit(monkeypatch, "rules")
    (tmp_path / "rules.yaml").write_text(capsys.readouterr().out, encoding="utf-8")
    kgaudit(monkeypatch, "index", SAMPLE / "docs", "--to", tmp_path / "index")
    kgaudit(
        monkeypatch, "audit", SAMPLE / "kg.ttl", "--index", tmp_path / "index", "--run", tmp_path / "run",
        "--cards", tmp_path / "cards.yaml", "--rules", tmp_path / "rules.yaml", "--max-triples", 20,
    )  # fmt: skip
    labels = {row["p_label"] for batch in RunReader(tmp_path / "run").batches(["p_label"]) for row in batch.to_pylist()}
    assert RunReader(tmp_path / "run").summary["status"] == "budget"
    assert "headquartered in" not in labels
