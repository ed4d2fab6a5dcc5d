"""The encoder of the embedded judge beside what onnxruntime gives on the bare model: excerpts a second on one thread.

The bare side runs the same graph on the same token ids, made beforehand; ours gets texts, and tokenizes, keeps what it knows and turns
logits into log-odds. Both are run in turns on the dev split of wiki-triples. Writes `encoder_ratio_to_bare`, `excerpts_per_second`,
`bare_excerpts_per_second`, `tokens`.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from common import fail, progress, write_json

FOLDER = Path(__file__).resolve().parent
ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=FOLDER.parent.parent / "shared" / "data", help="folder that holds wiki-triples")
    parser.add_argument("--judge", type=Path, help="folder of a judge (default: the one that ships)")
    parser.add_argument("--items", type=int, default=200, help="triples whose excerpts are read (default 200)")
    parser.add_argument("--json", type=Path, help="write the figures there")
    options = parser.parse_args()
    if not (options.data / "wiki-triples").is_dir():
        fail(f"there is no wiki-triples in {options.data}: name the folder that holds it with --data")
    figures = measure(options.data, options.judge, options.items)
    if options.json:
        write_json(options.json, figures)
    print(json.dumps(figures, indent=1))


def measure(data: Path, judge: Path | None, items: int) -> dict:
    import kgaudit.models
    from kgaudit.models.encoder import Encoder
    from kgaudit.training.cue import retrieved
    from kgaudit.training.pairs import excerpts_of

    folder = judge or Path(kgaudit.models.__file__).parent / "data"
    progress("searching")
    rows = retrieved(data / "wiki-triples", ("dev",))["dev"][:items]
    asked = [one for _, claim, passages in rows for passage in passages for one in excerpts_of(claim, passage, 1)]
    encoded = [one.ids for one in Encoder(folder, 1)._tokenizer.encode_batch([(one.claim, one.text) for one in asked])]
    ours, bare = [], []
    for number in range(ROUNDS):
        progress(f"round {number + 1} of {ROUNDS}: {len(asked)} excerpts")
        encoder = Encoder(folder, 1)  # one that knows nothing yet
        encoder.log_odds(asked[:3])
        begun = time.perf_counter()
        encoder.log_odds(asked)
        ours.append(time.perf_counter() - begun)
        bare.append(run_bare(encoder, encoded))
    return {
        "encoder_ratio_to_bare": min(bare) / min(ours),
        "excerpts_per_second": len(asked) / min(ours),
        "bare_excerpts_per_second": len(asked) / min(bare),
        "excerpts": len(asked),
        "tokens": sum(map(len, encoded)) / len(encoded),
    }


def run_bare(encoder, encoded: list[list[int]]) -> float:
    """Seconds of the bare graph on the same inputs, in the session that the encoder opened."""
    session = encoder._session
    inputs = [np.array([ids], np.int64) for ids in encoded]
    begun = time.perf_counter()
    for ids in inputs:
        session.run(None, {"ids": ids, "mask": np.ones_like(ids)})
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())
