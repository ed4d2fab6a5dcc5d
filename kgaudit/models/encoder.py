"""The encoder of the embedded judge: reads a claim and an excerpt together, on onnxruntime. Weights are int8, one scale a channel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgaudit.errors import ModelError
from kgaudit.models.excerpts import Excerpt

MAX_TOKENS = 192
_KEPT = 50_000
_TODO = "Install kgaudit again, or name the folder of a judge that `kgaudit train judge` made."


class Encoder:
    """(claim, excerpt) -> log-odds that the excerpt supports the claim, and that it refutes it.

    Each excerpt is read alone, in several threads: int8 activations are scaled by what they are batched with, so that a batch would
    make a score depend on its neighbours, and padding would cost more than batches save. For one thread at a time.
    """

    def __init__(self, folder: Path | Any, threads: int | None = None) -> None:
        """Opens `encoder.onnx` and `tokenizer.json` in a folder. Raises `ModelError` where they are missing or damaged."""
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            weights, words = (folder / "encoder.onnx").read_bytes(), (folder / "tokenizer.json").read_bytes()
            self._tokenizer = Tokenizer.from_str(words.decode("utf-8"))
            self._session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime and tokenizers have no error tree of their own
            raise ModelError(f"the judge's encoder cannot be read ({error})", where=str(folder), todo=_TODO) from error
        self._tokenizer.enable_truncation(MAX_TOKENS, strategy="only_second")
        self._tokenizer.no_padding()
        self._threads = threads or len(os.sched_getaffinity(0))
        self._pool: ThreadPoolExecutor | None = None
        self.digest = sha256(weights + words).hexdigest()
        self._known: dict[tuple[str, str], tuple[float, float]] = {}

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
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="encoder")
        return list(self._pool.map(self._one, encoded))

    def _one(self, tokens: Sequence[int]) -> tuple[float, float]:
        ids = np.array([tokens], np.int64)
        (logits,) = self._session.run(None, {"ids": ids, "mask": np.ones_like(ids)})
        supports, refutes, neither = logits[0].astype(np.float64).tolist()
        return supports - float(np.logaddexp(refutes, neither)), refutes - float(np.logaddexp(supports, neither))
