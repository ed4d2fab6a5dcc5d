"""The vLLM command line that fits: schema-bound answers, log-probabilities, shared prefixes kept, answers that do not depend on load.

Checked against vLLM 0.32 (`python -m vllm.entrypoints.openai.api_server --help=all`, and its documentation of batch invariance).
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgaudit.errors import InputError, UsageError

CONTEXT = 8192
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The LoRA ranks that vLLM has kernels for."""

UNKNOWN_RANK = 16


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What is served and how.

    `adapters` are (name, folder or repository) of LoRA adapters. `context` is in tokens, prompt and answer together. `gpus` is how
    many one copy of the model is split over. `cpu_memory_gb` is the room for the key-value cache on the CPU. `batch_invariant`: the
    same request gets the same answer whatever else the server is doing, at some cost in speed (GPU only).
    """

    model: str
    name: str = ""
    adapters: tuple[tuple[str, str], ...] = ()
    host: str = "127.0.0.1"
    port: int = 8000
    context: int = CONTEXT
    gpus: int = 1
    cpu: bool = False
    cpu_memory_gb: int = 4
    batch_invariant: bool = True
    reasoning_parser: str = ""


def served_name(options: ServeOptions) -> str:
    """The name that requests use: the last adapter's where there are any, for that is what was trained."""
    return options.adapters[-1][0] if options.adapters else _base_name(options)


def _base_name(options: ServeOptions) -> str:
    return options.name or Path(options.model).name or options.model


def variables(options: ServeOptions) -> dict[str, str]:
    """The environment variables of the server. A key does not belong to them: it would end up in histories and logs."""
    if options.cpu:
        return {"VLLM_CPU_KVCACHE_SPACE": str(options.cpu_memory_gb)}
    return {"VLLM_BATCH_INVARIANT": "1"} if options.batch_invariant else {}


def arguments(options: ServeOptions) -> list[str]:
    """The command line of the server, word by word. Raises `UsageError` and `InputError`."""
    names = [_base_name(options), *(name for name, _ in options.adapters)]
    if len(set(names)) < len(names):
        raise UsageError("two models of one name", where=", ".join(names), todo="Give each adapter, and the model, a name of its own.")
    # The wheels for CPUs are packaged under another name, and there `vllm serve` does not find its own version.
    start = ["python", "-m", "vllm.entrypoints.openai.api_server", "--model"] if options.cpu else ["vllm", "serve"]
    words = [*start, options.model, "--served-model-name", names[0], "--host", options.host, "--port", str(options.port)]
    words += ["--max-model-len", str(options.context), "--enable-prefix-caching"]
    # Not `disable_any_whitespace`: JSON without a blank is not what models learnt to write, and small ones then quote at random.
    words += ["--structured-outputs-config", json.dumps({"backend": "xgrammar"})]
    words += ["--max-logprobs", "20", "--generation-config", "vllm"]
    if options.adapters:
        rank = max(_rank(folder) for _, folder in options.adapters)
        words += ["--enable-lora", "--max-lora-rank", str(rank), "--max-loras", str(len(options.adapters))]
        words += ["--lora-modules", *(f"{name}={folder}" for name, folder in options.adapters)]
    if options.reasoning_parser:
        words += ["--reasoning-parser", options.reasoning_parser]
    if options.cpu:
        words += ["--dtype", "bfloat16"]
    elif options.gpus > 1:
        words += ["--tensor-parallel-size", str(options.gpus)]
    return words


def _rank(folder: str) -> int:
    """The rank that the server must allow for an adapter; that of `UNKNOWN_RANK` where the adapter is not on this machine."""
    path = Path(folder) / "adapter_config.json"
    try:
        config: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        if Path(folder).is_dir():
            raise InputError("no adapter_config.json in it", where=folder, todo="Name the folder of a LoRA adapter.") from None
        return UNKNOWN_RANK
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path), todo="Name the folder of a LoRA adapter.") from error
    rank = config.get("r") if isinstance(config, dict) else None
    fitting = [one for one in RANKS if isinstance(rank, int) and 0 < rank <= one]
    if not fitting:
        raise InputError(f"rank {rank!r} cannot be served", where=str(path), todo=f"vLLM serves ranks from 1 to {RANKS[-1]}.")
    return fitting[0]


def command_line(options: ServeOptions) -> str:
    """The whole command for a shell, one option a line. Raises `UsageError` and `InputError`."""
    words = arguments(options)
    lines, line = [], [f"{name}={shlex.quote(value)}" for name, value in variables(options).items()]
    for word in words:
        if word.startswith("--") and word != "--model" and line:
            lines.append(" ".join(line))
            line = []
        line.append(shlex.quote(word))
    return " \\\n  ".join([*lines, " ".join(line)])


def remarks(options: ServeOptions) -> list[str]:
    """What else one has to know, for people."""
    said = []
    if options.cpu:
        said.append(
            "On a CPU, answers to the same request may differ between launches and with load: there is no batch-invariant mode."
        )
    elif options.batch_invariant:
        said.append(
            "Batch-invariant mode needs an NVIDIA GPU of compute capability 8.0 or higher; without it, give --no-batch-invariant."
        )
    if options.host not in ("127.0.0.1", "localhost", "::1"):
        said.append("Others can reach this server: put a key into VLLM_API_KEY there, and into KGAUDIT_MODEL_KEY where the audit runs.")
    unknown = [folder for _, folder in options.adapters if not Path(folder).is_dir()]
    if unknown:
        said.append(f"Not on this machine, so that a rank of at most {UNKNOWN_RANK} was assumed: {', '.join(unknown)}")
    return said
