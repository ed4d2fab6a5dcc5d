"""Vectors: what makes them, sentence-transformers behind that, and exact search over those of an embedded index."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kgaudit.documents import Document, Passage, Query
from kgaudit.errors import ModelError, SearchIndexError, storage_error
from kgaudit_retrievers.embedded import EmbeddedRetriever

VECTORS, ABOUT = "vectors.npy", "vectors.json"
_BATCH = 256
_BLOCK = 1 << 16  # passages compared at a time

Progress = Callable[[int, int | None], None]


class Embedder(Protocol):
    """Turns texts into vectors. `name` says which model it is, `dimensions` how long a vector is."""

    @property
    def name(self) -> str:
        """Names the model for good: vectors of another name cannot be compared with its own."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, of length 1."""
        ...


class SentenceEmbedder:
    """A model of sentence-transformers, by the name of a folder or of a model that was downloaded; on the GPU where there is one.

    Raises `ModelError` where the library or the model is missing.
    """

    def __init__(self, model: str, *, batch: int = 64) -> None:
        self._model = _load(model, "SentenceTransformer")
        self._batch = batch
        self.name = _model_name(model)
        self.dimensions = int(self._model.get_sentence_embedding_dimension())

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, of length 1; texts of like length go together."""
        rows = self._model.encode(list(texts), batch_size=self._batch, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(rows, np.float32)


def _load(model: str, kind: str) -> Any:
    try:
        import sentence_transformers
    except ImportError as error:
        raise ModelError(
            f"sentence-transformers is not installed ({error})", where=model, todo="pip install 'kgaudit[dense]'"
        ) from error
    try:
        return getattr(sentence_transformers, kind)(model)
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(f"the model cannot be loaded ({str(error).splitlines()[0][:200]})", where=model,
                         todo="Give the folder of the model, or download it first.") from error  # fmt: skip


def _model_name(model: str) -> str:
    """The name as given; for a folder also what its weights are."""
    folder = Path(model)
    if not folder.is_dir():
        return model
    digest = sha256()
    for path in sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin")):
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return f"{folder.resolve().name}@{digest.hexdigest()[:16]}"


def passage_text(passage: Passage) -> str:
    """What a passage is embedded and reranked by."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


def build_vectors(index: Path, embedder: Embedder, progress: Progress | None = None) -> None:
    """Embeds the passages of an index made by `build_index` and keeps the vectors beside it, 2 bytes a number.

    Raises `SearchIndexError` where there is no such index, `StorageError`, and what the embedder raises.
    """
    retriever = EmbeddedRetriever(index)
    try:
        count = retriever.passages()
        rows = np.empty((count, embedder.dimensions), np.float16)
        for begin in range(0, count, _BATCH):
            numbers = range(begin, min(begin + _BATCH, count))
            rows[begin : numbers.stop] = embedder.encode([passage_text(retriever.passage(number)) for number in numbers])
            if progress:
                progress(numbers.stop, count)
        about = {"embedder": embedder.name, "dimensions": embedder.dimensions, "snapshot": retriever.snapshot}
        np.save(index / VECTORS, rows)
        (index / ABOUT).write_text(json.dumps(about), encoding="utf-8")
    except OSError as error:
        raise storage_error(error, str(index)) from error
    finally:
        retriever.close()


class DenseRetriever:
    """The nearest passages by cosine, exactly, over the vectors that `build_vectors` made. May be used from many threads at once.

    Raises `SearchIndexError` where the vectors are missing, are of another model or of other documents, and after `close`.
    """

    def __init__(self, index: Path | str, embedder: Embedder) -> None:
        self._texts = EmbeddedRetriever(index)
        self._embedder = embedder
        self._path = Path(index)
        try:
            about = json.loads((self._path / ABOUT).read_text(encoding="utf-8"))
            self._rows: NDArray[np.float16] = np.load(self._path / VECTORS, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise SearchIndexError(f"there are no vectors beside this index ({error})", where=str(index),
                                   todo="Make them with `build_vectors`.") from error  # fmt: skip
        for what, there, wanted in (
            ("of another model", about["embedder"], embedder.name),
            ("of other documents", about["snapshot"], self._texts.snapshot),
        ):
            if there != wanted:
                raise SearchIndexError(f"the vectors are {what} ({there}, not {wanted})", where=str(index),
                                       todo="Make them again with `build_vectors`.")  # fmt: skip

    @property
    def snapshot(self) -> str:
        """Digest of the documents and of the model."""
        return sha256(f"dense\x00{self._texts.snapshot}\x00{self._embedder.name}".encode()).hexdigest()

    def search(self, queries: Sequence[Query], k: int) -> list[list[Passage]]:
        """The `k` passages nearest to each query's text, ties by document id and place. Their score is the cosine."""
        self._texts.passages()  # says so where it was closed
        texts = [query.text.encode("utf-8", "replace").decode() for query in queries]
        asked = [i for i, text in enumerate(texts) if any(map(str.isalnum, text))] if k > 0 else []
        found: list[list[Passage]] = [[] for _ in queries]
        if not asked:
            return found
        vectors = self._embedder.encode([texts[i] for i in asked])
        for i, scores in zip(asked, self._scores(vectors), strict=True):
            best = _best(scores, k)
            found[i] = [self._texts.passage(number, float(scores[number])) for number in best]
        return found

    def _scores(self, vectors: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
        """One by one: a product of matrices rounds otherwise than one with a vector, and ranks must not depend on the batch."""
        scores = np.empty((len(vectors), len(self._rows)), np.float32)
        for at in range(0, len(self._rows), _BLOCK):
            block = self._rows[at : at + _BLOCK].astype(np.float32)
            for row, vector in zip(scores, vectors, strict=True):
                row[at : at + _BLOCK] = block @ vector
        return iter(scores)

    def document(self, identity: str) -> Document | None:
        """The document of this id, or None."""
        return self._texts.document(identity)

    def close(self) -> None:
        """Lets go of the files. Closing twice is allowed."""
        self._texts.close()


def _best(scores: NDArray[np.float32], k: int) -> list[int]:
    """The numbers of the `k` highest scores, best first, equal ones in order."""
    if k < len(scores):
        near = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
        return [int(near[i]) for i in np.argsort(-scores[near], kind="stable")[:k]]
    return [int(i) for i in np.argsort(-scores, kind="stable")]
