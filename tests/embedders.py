"""A deterministic embedder for tests: texts that share words are near to one another."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from kgaudit.text import fold_text


class WordEmbedder:
    """Every word has a direction of its own, by its hash; a text is the sum of those of its words."""

    name = "words"
    dimensions = 256

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        rows[:, 0] = 0.01  # no text is nothing
        for row, text in zip(rows, texts, strict=True):
            for word in "".join(char if char.isalnum() else " " for char in fold_text(text)).split():
                digest = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "little")
                row[1 + digest % (self.dimensions - 1)] += 1.0 if digest >> 63 else -1.0
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
