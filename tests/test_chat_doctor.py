"""`kgaudit doctor` against stubs of all kinds, and `kgaudit serve-command`."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chat_stub import Reply, completion, say, stub
from click.testing import CliRunner, Result

from kgaudit.errors import InputError, UsageError
from kgaudit.model_commands import doctor, serve_command
from kgaudit.models.serve import ServeOptions, arguments, command_line

MODELS = {"data": [{"id": "stub", "max_model_len": 8192}, {"id": "tuned", "max_model_len": None, "parent": "stub"}]}


def looked_over(address: str, **environment: str) -> Result:
    return CliRunner().invoke(doctor, [address], env={"KGAUDIT_MODEL_KEY": "", "OPENAI_API_KEY": "", **environment})


def level(result: Result, what: str) -> str:
    """The level of a finding and the lines that belong to it."""
    lines = result.output.splitlines()
    at = next(i for i, line in enumerate(lines) if line[6:].startswith(what))
    return lines[at] + (" " + lines[at + 1] if at + 1 < len(lines) and lines[at + 1].startswith("   ") else "")


def server(body: dict[str, Any], number: int, *, held: bool = True, logprobs: bool = True, n: bool = True) -> Reply:
    """A good server, or one that lacks something."""
    if not body:
        return Reply(body=MODELS)
    typed = "response_format" in body and held
    reply = completion('{"colour": "red"}' if typed else "Waves, waves.", n=body.get("n", 1) if n else 1)
    if body.get("logprobs") and logprobs:
        token = {"token": "red", "logprob": -0.1, "top_logprobs": [{"token": one, "logprob": -1.0} for one in ("red", "blue")]}
        reply["choices"][0]["logprobs"] = {"content": [token]}
    return Reply(body=reply)


@pytest.mark.parametrize("name", ["stub", "tuned"])
def test_a_good_endpoint(name: str) -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        return replace(server(body, number), delay=0.03)

    with stub(script) as one:
        result = looked_over(f"openai:{one.url}#{name}")
    assert result.exit_code == 0
    assert "FAULT" not in result.output
    for what in ("reachable", "models", "context: 8,192", "answers", "structured output", "log-probabilities", "samples", "repeatable"):
        assert level(result, what).startswith("ok"), what
    assert "p50" in level(result, "latency, 1 in flight")
    assert "p95" in level(result, "latency, 8 in flight")
    assert one.most_at_once == 8


@pytest.mark.parametrize(
    ("lacks", "what", "follows"),
    [
        ("held", "structured output", "repair"),
        ("logprobs", "log-probabilities", "samples"),
        ("n", "samples", "one by one"),
    ],
)
def test_what_an_endpoint_lacks_and_what_follows(lacks: str, what: str, follows: str) -> None:
    with stub(lambda body, number: server(body, number, **{lacks: False})) as one:
        result = looked_over(f"openai:{one.url}#stub")
    assert result.exit_code == 0, "an audit can run"
    assert level(result, what).startswith("note")
    assert follows in level(result, what)


def test_structured_output_that_is_refused() -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        return (
            Reply(400, {"error": {"message": "response_format is not supported"}})
            if "response_format" in body
            else server(body, number)
        )

    with stub(script) as one:
        result = looked_over(f"openai:{one.url}#stub")
    assert "refused" in level(result, "structured output")


def test_a_model_that_thinks_aloud_and_a_short_context() -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        return say("<think>well") if body else Reply(body={"data": [{"id": "stub", "max_model_len": 2048}]})

    with stub(script) as one:
        result = looked_over(f"openai:{one.url}#stub")
    assert level(result, "thinking").startswith("note")
    assert "--max-model-len" in level(result, "context")


@pytest.mark.parametrize(
    ("script", "what", "todo"),
    [
        (lambda body, number: Reply(401, b""), "key", "KGAUDIT_MODEL_KEY"),
        (lambda body, number: Reply(body={"data": [{"id": "a"}, {"id": "b"}]}), "models", "one of these names"),
        (lambda body, number: Reply(404, b"") if body else Reply(body=MODELS), "answers", "kgaudit doctor"),
        (lambda body, number: Reply(500, b"broken") if body else Reply(404, b""), "answers", ""),
    ],
)
def test_faults_and_how_to_mend_them(script: Any, what: str, todo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgaudit.models.doctor.PATIENCE", 0.1)
    with stub(script) as one:
        result = looked_over(f"openai:{one.url}#stub")
    assert result.exit_code == 2
    assert level(result, what).startswith("FAULT")
    assert todo in level(result, what)
    assert "latency" not in result.output


def test_an_endpoint_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with stub(server) as one:
        url = one.url
    result = looked_over(f"openai:{url}#stub")
    assert result.exit_code == 2
    assert "Start the server" in level(result, "reachable")


def test_the_only_model_need_not_be_named() -> None:
    only = {"data": [{"id": "lone", "max_model_len": 8192}]}
    with stub(lambda body, number: server(body, number) if body else Reply(body=only)) as one:
        result = looked_over(f"openai:{one.url}")
        assert result.exit_code == 0
        assert f"openai:{one.url}#lone" in level(result, "models")
        assert {seen.body["model"] for seen in one.seen if seen.body} == {"lone"}
    with stub(server) as one:
        result = looked_over(f"openai:{one.url}")
    assert result.exit_code == 2
    assert "stub, tuned" in level(result, "models")


def test_each_endpoint_is_looked_at() -> None:
    with stub(server) as one, stub(lambda body, number: Reply(403, b"")) as two:
        result = looked_over(f"openai:{one.url},{two.url}#stub")
    assert result.exit_code == 2
    assert f"endpoint: {one.url}" in result.output
    assert f"endpoint: {two.url}" in result.output
    assert one.seen
    assert {seen.path for seen in two.seen} == {"/v1/models"}


def test_the_key_is_sent_and_never_shown() -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        return server(body, number) if "sk-hush" in one.seen[-1].headers.get("authorization", "") else Reply(401, b"")

    with stub(script) as one:
        result = looked_over(f"openai:{one.url}#stub", KGAUDIT_MODEL_KEY="sk-hush")
    assert result.exit_code == 0
    assert "hush" not in result.output


def words(line: str) -> list[str]:
    """What a shell makes of the command, without its variables."""
    made = shlex.split(line.replace("\\\n", " "))
    return [word for word in made if "=" not in word or word.startswith(("-", "{")) or "/" in word]


def test_the_command_for_a_gpu() -> None:
    options = ServeOptions("Qwen/Qwen3-8B", context=4096, gpus=2)
    line = command_line(options)
    assert line.startswith("VLLM_BATCH_INVARIANT=1 vllm serve Qwen/Qwen3-8B")
    assert words(line) == arguments(options)
    assert "--tensor-parallel-size 2" in line
    assert "--enable-prefix-caching" in line
    assert "--max-model-len 4096" in line
    assert "--served-model-name Qwen3-8B" in line
    assert "--enable-lora" not in line
    given = arguments(options)
    assert json.loads(given[given.index("--structured-outputs-config") + 1])["backend"] == "xgrammar"
    assert "VLLM_BATCH_INVARIANT" not in command_line(ServeOptions("m", batch_invariant=False))


def test_the_command_for_a_cpu_and_adapters(tmp_path: Path) -> None:
    folder = tmp_path / "my adapter"
    folder.mkdir()
    (folder / "adapter_config.json").write_text('{"r": 12}')
    options = ServeOptions("m", cpu=True, adapters=(("tuned", str(folder)), ("far", "org/far")))
    line = command_line(options)
    assert line.startswith("VLLM_CPU_KVCACHE_SPACE=4 python -m vllm.entrypoints.openai.api_server --model m ")
    assert "--dtype bfloat16" in line
    assert "BATCH_INVARIANT" not in line
    given = arguments(options)
    assert given[given.index("--max-lora-rank") + 1] == "16", "the next rank that the server knows"
    assert given[given.index("--lora-modules") + 1 :][:2] == [f"tuned={folder}", "far=org/far"]
    assert words(line) == given, "the folder with a blank is quoted"


def test_adapters_that_cannot_be_served(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"adapter_config\.json"):
        arguments(ServeOptions("m", adapters=(("a", str(tmp_path)),)))
    for bad in ('{"r": 1000}', "{}", '{"r": "8"}', "[]", "{"):
        (tmp_path / "adapter_config.json").write_text(bad)
        with pytest.raises(InputError):
            arguments(ServeOptions("m", adapters=(("a", str(tmp_path)),)))
    with pytest.raises(UsageError, match="one name"):
        arguments(ServeOptions("m", adapters=(("m", "there"),)))


def test_serve_command_prints_what_to_paste() -> None:
    result = CliRunner().invoke(serve_command, ["org/base", "--adapter", "tuned=org/tuned", "--host", "0.0.0.0", "--port", "9"])
    assert result.exit_code == 0
    code = [line for line in result.output.splitlines() if not line.startswith("#")]
    assert shlex.split("\n".join(code).replace("\\\n", " "))[-1] == "tuned=org/tuned"
    assert "kgaudit doctor openai:http://127.0.0.1:9/v1#tuned" in result.output
    assert "VLLM_API_KEY" in result.output, "others can reach it"
    assert "was assumed: org/tuned" in result.output
    assert isinstance(CliRunner().invoke(serve_command, ["m", "--adapter", "tuned"]).exception, UsageError)
