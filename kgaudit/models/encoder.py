"""The encoder of the embedded judge: reads a claim and an excerpt together, on onnxruntime. Weights are int8, one scale a channel."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgaudit.errors import ModelError
from kgaudit.models.excerpts import Excerpt
from kgaudit.models.pool import processors

MAX_TOKENS = 192
_FILES = ("encoder.onnx", "tokenizer.json")
_KEPT = 50_000
_SLOWER = ["SkipLayerNormFusion"]
"""Sum and normalisation as one operator take six times as long as one after the other (onnxruntime 1.32, one thread)."""
_TODO = "Install kgaudit again, or name the folder of a judge that `kgaudit train judge` made."


class Encoder:
    """(claim, excerpt) -> log-odds that the excerpt supports the claim, and that it refutes it.

    Each excerpt is read alone, in several threads: int8 activations are scaled by what they are batched with, so that a batch would
    make a score depend on its neighbours, and padding would cost more than batches save. For one thread at a time.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        """`encoder.onnx` and `tokenizer.json` in a folder, opened when they are first needed: a process that leaves judging to others
        never does. Raises `ModelError` where they are missing."""
        self._folder = folder
        self._threads = threads or processors()
        self._pool: ThreadPoolExecutor | None = None
        self._known: dict[tuple[str, str], tuple[float, float]] = {}
        for name in _FILES:
            if not (folder / name).is_file():
                raise self._unreadable(FileNotFoundError(f"there is no {name}"))

    @cached_property
    def digest(self) -> str:
        """sha256 of both files; made when it is asked for: of the processes that judge, one needs it."""
        digest = sha256()
        try:
            for name in _FILES:
                with (self._folder / name).open("rb") as file:
                    while block := file.read(1 << 20):
                        digest.update(block)
        except OSError as error:
            raise self._unreadable(error) from error
        return digest.hexdigest()

    def _unreadable(self, error: Exception) -> ModelError:
        return ModelError(f"the judge's encoder cannot be read ({error})", where=str(self._folder), todo=_TODO)

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(
                str(self._folder / "encoder.onnx"), options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOWER
            )
        except Exception as error:  # onnxruntime has no error tree of its own
            raise self._unreadable(error) from error

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        except Exception as error:  # nor have tokenizers
            raise self._unreadable(error) from error
        tokenizer.enable_truncation(MAX_TOKENS, strategy="only_second")
        tokenizer.no_padding()
        return tokenizer

    def log_odds(self, asked: Sequence[Excerpt]) -> NDArray[np.float64]:
        """(len(asked), 2): log-odds of `supports` and of `refutes`. What was asked before is not computed again."""
        keys = [(one.claim, one.text) for one in asked]
        new = list(dict.fromkeys(key for key in keys if key not in self._known))
        if len(self._known) + len(new) > _KEPT:
            self._known.clear()
            new = list(dict.fromkeys(keys))
        self._known.update(zip(new, self._run(new), strict=True))
        return np.array([self._known[key] for key in keys], dtype=np.float64).reshape(len(keys), 2)

    def _run(self, asked: Sequence[tuple[str, str]]) -> list[tuple[float, float]]:
        encoded = [one.ids for one in self._tokenizer.encode_batch(list(asked))] if asked else []
        if self._threads == 1 or len(encoded) < 2:
            return [self._one(ids) for ids in encoded]
        _ = self._session  # opened once, before several threads ask for it
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="encoder")
        return list(self._pool.map(self._one, encoded))

    def _one(self, tokens: Sequence[int]) -> tuple[float, float]:
        ids = np.array([tokens], np.int64)
        (logits,) = self._session.run(None, {"ids": ids, "mask": np.ones_like(ids)})
        supports, refutes, neither = logits[0].astype(np.float64).tolist()
        return supports - float(np.logaddexp(refutes, neither)), refutes - float(np.logaddexp(supports, neither))
