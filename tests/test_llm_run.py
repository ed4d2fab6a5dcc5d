"""A language model in whole runs and benchmarks: fence, calibration, resumption, replay, report, command line."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import WordJudge, WordRetriever
from test_llm_policy import PASSAGES, Reader, blocks, judgement, owns, spoken

from kgaudit.agent.policies.llm.use import ModelUse
from kgaudit.agent.prompts import load_prompt, prompt_digests
from kgaudit.bench.datasets import Item
from kgaudit.bench.metrics import calibration_error
from kgaudit.bench.runner import BenchOptions, calibrate, run_bench, sample_items
from kgaudit.bench.table import format_results
from kgaudit.errors import InputError, RunError, SpecMismatchError, UsageError
from kgaudit.models.chat import ChatRequest, Choice, ScriptedChat
from kgaudit.models.chat_calibration import (
    ChatCalibration,
    Platt,
    fit_platt,
    known_threshold,
    logit,
    make_calibration,
    read_calibration,
)
from kgaudit.reports.html import write_report
from kgaudit.runs.audit import AuditOptions, audit
from kgaudit.runs.fence import keep_fence
from kgaudit.runs.reader import RunReader
from kgaudit.runs.replay import replay_lines

KG = """\
<https://graph.example/Norrby> <https://graph.example/owns> <https://graph.example/Halden> .
<https://graph.example/Tarn> <https://graph.example/owns> <https://graph.example/Kestrel> .
"""


def by_fence(judge: Callable[[str], Choice]) -> Callable[[ChatRequest], Any]:
    """A reader for whatever fence the run has."""

    def script(request: ChatRequest) -> Any:
        import re

        fence = re.search(r"<<CLAIM ([0-9a-f]{16})\n", request.messages[-1].content)
        assert fence
        assert f"`<<NAME {fence[1]}`" in request.messages[0].content
        if request.schema_name == "Known":
            return spoken({"verdict": "true"}, shares={"true": 0.7, "false": 0.3})
        if request.schema_name == "SearchQuery":
            return {"combination": "s", "form": "keywords", "query": ""}
        found = re.search(rf"<<DOCUMENT[ \d]* {fence[1]}\n(.*?)\n{fence[1]}>>", request.messages[-1].content, re.DOTALL)
        return judge(found[1] if found else "")

    return script


def audited(tmp_path: Path, chat: ScriptedChat, **options: Any) -> dict[str, Any]:
    (tmp_path / "kg.nt").write_text(KG)
    made = AuditOptions((tmp_path / "kg.nt",), tmp_path / "run", **options)
    return audit(made, WordRetriever(PASSAGES), WordJudge(), index="index", chat=chat)


def test_a_run_with_a_model_counts_says_and_replays_its_calls(tmp_path: Path) -> None:
    chat = ScriptedChat(by_fence(owns))
    summary = audited(tmp_path, chat)
    assert summary["verdicts"]["supported"] == 1
    assert summary["model_calls"] == len(chat.requests) > 0
    assert summary["model"]["confidence"] == "uncalibrated"
    reader = RunReader(tmp_path / "run")
    assert reader.spec["policy"]["settings"]["confidence"] == "uncalibrated"
    assert reader.spec["policy"]["settings"]["known_from"] is None
    (row,) = reader.find("Norrby owns Halden")
    lines = "\n".join(replay_lines(reader, row))
    assert "model, query (" in lines
    assert "model, judge (" in lines
    assert '"quote":"Norrby owns Halden"' in lines
    assert row["model_calls"] == 2
    page = write_report(tmp_path / "run", None, lambda done, total: None).read_text(encoding="utf-8")
    assert "the model (judge): " in page
    assert "confidence uncalibrated" in page


def test_a_resumed_run_asks_in_the_same_words(tmp_path: Path) -> None:
    from kgaudit.runs.audit import Budget

    first = ScriptedChat(by_fence(owns))
    assert audited(tmp_path, first, budget=Budget(triples=1))["status"] == "budget"
    second = ScriptedChat(by_fence(owns))
    assert audited(tmp_path, second)["status"] == "complete"
    assert first.requests[0].messages[0] == second.requests[0].messages[0]
    other = ScriptedChat(by_fence(owns), name="another")
    with pytest.raises(SpecMismatchError, match="chat model"):
        audited(tmp_path, other)


def test_fences_differ_between_runs_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert keep_fence(tmp_path / "a") == keep_fence(tmp_path / "a") != keep_fence(tmp_path / "b")
    (tmp_path / "a" / "fence").write_text("guess me")
    with pytest.raises(RunError, match="fence"):
        keep_fence(tmp_path / "a")


def test_prompts_begin_alike_and_are_short() -> None:
    names = ("judge", "summarise", "query", "rewrite", "known", "answer", "think")
    texts = [load_prompt(name).system("f" * 16) for name in names]
    shared = texts[0].split("\n\nTask:")[0]
    assert len(shared) > 300
    assert all(text.startswith(shared) and "{fence}" not in text for text in texts)
    assert all(len(text) < 1700 for text in texts)
    assert len(set(prompt_digests(names).values())) == len(names)


# Calibration


def overconfident(n: int) -> tuple[list[float], list[bool]]:
    source = random.Random(3)
    gold, raw = [], []
    for _ in range(n):
        p = source.random()
        gold.append(source.random() < p)
        raw.append(1.0 / (1.0 + 2.718281828 ** -(3.0 * logit(p) + 1.0)))
    return raw, gold


def test_scaling_mends_overconfidence() -> None:
    raw, gold = overconfident(2000)
    scaling = fit_platt(raw[:1000], gold[:1000])
    before = calibration_error(raw[1000:], gold[1000:])
    after = calibration_error([scaling(p) for p in raw[1000:]], gold[1000:])
    assert before is not None
    assert after is not None
    assert before > 0.12
    assert after < 0.05
    assert scaling.slope == pytest.approx(1 / 3, abs=0.06)


def test_scaling_agrees_with_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.linear_model")
    raw, gold = overconfident(400)
    model = sklearn.LogisticRegression(C=1e6).fit([[logit(p)] for p in raw], gold)
    scaling = fit_platt(raw, gold)
    assert scaling.slope == pytest.approx(model.coef_[0][0], rel=0.05)
    assert scaling.shift == pytest.approx(model.intercept_[0], abs=0.05)


def test_scaling_keeps_the_order_and_never_makes_certainties() -> None:
    gold = [True] * 15 + [False] * 15
    perfect = fit_platt([0.9] * 15 + [0.1] * 15, gold)
    assert 0.0 < perfect(0.1) < 0.1
    assert 0.9 < perfect(0.9) < 1.0
    backwards = fit_platt([0.1] * 15 + [0.9] * 15, gold)
    assert backwards(0.1) == backwards(0.9) == pytest.approx(0.5)
    flat = fit_platt([0.3] * 30, gold)
    assert flat(0.3) == pytest.approx(0.5, abs=0.01)
    for few in ([True] * 5 + [False] * 5, [True] * 40):
        with pytest.raises(UsageError, match="too few"):
            fit_platt([0.5] * len(few), few)


def test_routing_threshold_by_hand() -> None:
    sure = [0.99] * 9 + [0.98]
    assert known_threshold(sure, [True] * 10) == 0.98
    assert known_threshold([*sure, 0.9, 0.9], [True] * 10 + [False, False]) == 0.98
    assert known_threshold([*sure, *[0.04] * 10], [True] * 10 + [False] * 10) == 0.96
    assert known_threshold(sure[:9], [True] * 9) is None
    assert known_threshold(sure, [True, False] * 5) is None


def some_calibration(**changes: Any) -> ChatCalibration:
    values: dict[str, Any] = {
        "model": "scripted",
        "model_digest": ScriptedChat([]).digest,
        "prompts": prompt_digests(("judge", "summarise", "query", "rewrite", "known", "answer", "think")),
        "dataset": "wiki",
        "split": "dev",
        "items": 60,
        "policies": {"agentkgv": Platt(0.5, 0.1, 60), "direct": Platt(1.0, 0.0, 60)},
        "known_from": None,
        "made": "2026-01-01T00:00:00+00:00",
    }
    return ChatCalibration(**{**values, **changes})


def write(path: Path, calibration: ChatCalibration) -> Path:
    path.write_text(json.dumps(calibration.to_json()))
    return path


def test_calibration_is_used_named_in_the_spec_and_belongs_to_its_model(tmp_path: Path) -> None:
    path = write(tmp_path / "cal.json", some_calibration())
    assert read_calibration(path) == some_calibration()
    audited(tmp_path, ScriptedChat(by_fence(owns)), calibration=path)
    reader = RunReader(tmp_path / "run")
    assert "60 items of wiki dev" in reader.spec["policy"]["settings"]["confidence"]
    assert reader.spec["policy"]["settings"]["calibration"] == some_calibration().digest
    (row,) = reader.find("Norrby owns Halden")
    assert row["p_supported"] == pytest.approx(Platt(0.5, 0.1, 60)(row["evidence"][0]["score"]), abs=0.02)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_digest": "f" * 64, "model": "kgaudit-7b"}, "is of the model kgaudit-7b"),
        ({"prompts": {"judge": "0" * 64}}, "another prompt \\(answer, judge"),
    ],
)
def test_calibration_of_another_model_or_prompt_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "cal.json", some_calibration(**changes))
    with pytest.raises(UsageError, match=message):
        audited(tmp_path, ScriptedChat(by_fence(owns)), calibration=path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "policies": {"a": {"slope": "x"}}}', "\x00"])
def test_a_file_that_is_no_calibration_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "cal.json").write_text(text)
    with pytest.raises(InputError, match="calibration"):
        read_calibration(tmp_path / "cal.json")


# Benchmark


def dataset(folder: Path, n: int = 24) -> Path:
    """`n` triples, every other one false; each has a document that says so."""
    home = folder / "data" / "owners"
    home.mkdir(parents=True)
    base = "https://graph.example/"
    rows, triples, documents = [], [], []
    for i in range(n):
        true = i % 2 == 0
        subject, obj = f"Firm{i}", f"Works{i}"
        rows.append({"id": f"dev-{i:03d}", "s": f"{base}{subject}", "p": f"{base}owns", "o": f"{base}{obj}", "label": true})
        triples.append(f"<{base}{subject}> <{base}owns> <{base}{obj}> .")
        said = f"{subject} owns {obj} today." if true else f"{subject} sold {obj} last year."
        documents.append({"doc_id": f"d{i}", "title": "", "text": said})
    (home / "triples-dev.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (home / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (home / "kg-eval.nt").write_text("\n".join(triples) + "\n")
    return folder / "data"


def reads(document: str) -> Choice:
    if " owns " in document:
        return judgement(document.split("\n")[-1], "supports", shares={"supports": 0.9, "refutes": 0.05, "neither": 0.05})
    return judgement(document.split("\n")[-1], "refutes", shares={"supports": 0.05, "refutes": 0.9, "neither": 0.05})


def test_benchmark_measures_the_policies_of_a_model_and_makes_a_calibration(tmp_path: Path) -> None:
    chat = ScriptedChat(by_fence(reads))
    options = BenchOptions("owners", dataset(tmp_path), ("direct", "agentkgv"), ("dev",), tmp_path / "work", prices=(1.0, 2.0))
    results = run_bench(options, judge=WordJudge(), chat=chat)
    assert [(result.policy, result.model) for result in results] == [("direct", "scripted"), ("agentkgv", "scripted")]
    agent = results[1].measures
    assert agent.macro_f1 == 1.0
    assert agent.model_calls_per_triple >= 2.0
    assert agent.tokens_per_triple > 0.0
    assert agent.cost_per_triple == pytest.approx(
        sum(
            (call.prompt_tokens + 2.0 * call.completion_tokens) / 1e6
            for item in results[1].items
            for step in item.trajectory.steps
            for call in step.calls
        )
        / 24
    )
    assert "agentkgv (scripted)" in format_results(results)
    made = calibrate("owners", "dev", results, chat)
    assert set(made.policies) == {"direct", "agentkgv"}
    assert made.known_from is None  # says 0.7 of everything
    assert made.policies["agentkgv"](0.9) > 0.8
    path = tmp_path / "cal.json"
    path.write_text(json.dumps(made.to_json()))
    again = run_bench(
        BenchOptions("owners", tmp_path / "data", ("agentkgv",), ("dev",), tmp_path / "work", calibration=path), WordJudge(), chat=chat
    )
    p = [item.p for item in again[0].items if item.gold]
    assert p == pytest.approx([made.policies["agentkgv"](item.p or 0.0) for item in results[1].items if item.gold])


def test_sample_is_the_same_every_time_and_keeps_the_proportions() -> None:
    items = [Item(f"test-{i}", f"k{i}", i % 4 == 0) for i in range(200)]
    chosen = sample_items(items, 40)
    assert chosen == sample_items(list(items), 40)
    assert len(chosen) == 40
    assert sum(item.gold for item in chosen) == 10
    assert [items.index(item) for item in chosen] == sorted(items.index(item) for item in chosen)
    assert sample_items(items, None) == sample_items(items, 500) == items


def test_calibration_is_made_of_what_a_policy_says_not_of_single_class_data() -> None:
    with pytest.raises(UsageError, match="too few"):
        make_calibration(ScriptedChat([]), {}, "d", "dev", {"direct": [(0.5, True)] * 30})


def test_a_policy_with_too_few_items_stays_uncalibrated_and_keeps_no_other_from_it() -> None:
    enough, few = [(0.7, n % 3 > 0) for n in range(60)], [(0.7, n % 3 > 0) for n in range(9)]
    made = make_calibration(ScriptedChat([]), {}, "d", "dev", {"cascade": few, "agentkgv": enough})
    assert list(made.policies) == ["agentkgv"]
    use = ModelUse("0123456789abcdef", made)
    assert (use.words("cascade"), use.scaled("cascade", 0.7)) == ("uncalibrated", 0.7)


def test_blocks_are_read_back_as_they_were_written() -> None:
    from kgaudit.agent.policies.llm.showing import block
    from kgaudit.models.chat import Message

    text = block("CLAIM", "0123456789abcdef", "a\nb")
    assert blocks(ChatRequest((Message("user", text),))) == {"CLAIM": "a\nb"}
    assert Reader(owns)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "kg.nt", "--index", "index", "--run", "run", "--cascade"], "needs a language model"),
        (["audit", "kg.nt", "--index", "index", "--run", "run", "--cascade", "--policy", "single_turn"], "--cascade does not go with"),
        (["audit", "kg.nt", "--index", "index", "--run", "run", "--calibration", "cal.json"], "a calibration needs the model"),
        (["audit", "kg.nt", "--index", "index", "--run", "run", "--policy", "ircot"], "needs a language model"),
        (["bench", "owners", "--data", "data", "--calibrate", "cal.json"], "a calibration is of a language model"),
        (
            ["bench", "owners", "--data", "data", "--model", "openai:http://a/v1#m", "--calibrate", "c", "--calibration", "d"],
            "--calibrate fits on one split",
        ),
    ],
)
def test_options_that_do_not_go_together_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    from click.testing import CliRunner

    from kgaudit.cli import cli
    from kgaudit_retrievers.embedded import build_index

    monkeypatch.chdir(tmp_path)
    (tmp_path / "kg.nt").write_text(KG)
    (tmp_path / "docs.jsonl").write_text('{"id": "d1", "text": "Norrby owns Halden."}\n')
    build_index([tmp_path / "docs.jsonl"], tmp_path / "index")
    with pytest.raises(UsageError, match=message):
        CliRunner().invoke(cli, arguments, standalone_mode=False, catch_exceptions=False)
