"""An audit with the embedded defaults: triples a second, peak memory, and pairs a second of the judge.

Started by audit.py in three parts, each a process of its own. `prepare` indexes the corpus and writes to WORK what the plain loop is
given (`passages.jsonl`, `claims.jsonl`). `audit` verifies the triples (retrieval, judging, verdict) with index and judge ready before
the clock starts (its processes too: they start on triples that are not measured), and writes the pairs that it judged (`pairs.jsonl`,
`pairs.pickle`). `pairs` judges those, with nothing of them kept in memory from before.
"""

import argparse
import json
import pickle
import random
import sys
import time
from pathlib import Path

from common import peak_mb, progress, use_two_cores, write_json

from kgaudit.agent.mentions import names_both
from kgaudit.agent.policies import make_policy
from kgaudit.agent.structure import StructuralRoute
from kgaudit.bench.datasets import open_dataset, read_split
from kgaudit.bench.runner import default_judge, find_claims, make_verify, open_index
from kgaudit.models.pool import pooled
from kgaudit.sources import SourceOptions, load

DATASET, SPLIT = "wiki-triples", "test"
EQUAL_PAIRS = 1000
WARM = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("prepare", "audit", "pairs"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--items", type=int, help="measure on so many triples, drawn at random (default: all)")
    parser.add_argument("--json", type=Path, help="write the figures there")
    options = parser.parse_args()
    use_two_cores()
    if options.part == "prepare":
        prepare(options.data, options.work)
    elif options.part == "audit":
        write_json(options.json, audit(options.data, options.work, options.items))
    else:
        write_json(options.json, judge_pairs(options.work))


def load_claims(data: Path, work: Path):
    """The claims of the split, in a random but fixed order, and the routes of the policy."""
    dataset = open_dataset(data, DATASET)
    graph = load([dataset.graph(SPLIT)], work / "graph", SourceOptions(), None)
    claims = list(find_claims(graph, read_split(dataset, SPLIT), dataset.graph(SPLIT)).values())
    random.Random(0).shuffle(claims)
    return claims, [StructuralRoute(graph.schema, graph.names)]


def prepare(data: Path, work: Path) -> None:
    progress("ours: building the index")
    dataset = open_dataset(data, DATASET)
    open_index(dataset.corpus, work).close()
    claims, _ = load_claims(data, work)
    write_lines(work / "claims.jsonl", [claim.text for claim in claims])
    write_lines(work / "passages.jsonl", passages_of(dataset.corpus))


def passages_of(corpus: Path) -> list[str]:
    """The passages of the index with their titles, as strings: what the plain loop searches."""
    from kgaudit_retrievers.corpus import read_documents
    from kgaudit_retrievers.passages import pieces, windows

    texts = []
    for document in read_documents([corpus], lambda *_: None):
        spans = pieces(document.text)
        for first, last in windows(spans):
            text = document.text[spans[first][0] : spans[last - 1][1]]
            texts.append(f"{document.title}. {text}" if document.title else text)
    return texts


def audit(data: Path, work: Path, items: int | None) -> dict:
    claims, routes = load_claims(data, work)
    first, claims = claims[:WARM], claims[WARM:][:items]
    retriever, judge = open_index(open_dataset(data, DATASET).corpus, work), default_judge()
    judges = pooled(judge, len(claims))
    verify, policy = make_verify(retriever, judges or judge), make_policy("agentkgv", routes)
    verify(policy, first, lambda done, total: None)  # the judge's processes start, as the plain loop's model is loaded before its clock

    progress(f"ours: {len(claims)} triples")
    started = time.perf_counter()
    outcomes = verify(policy, claims, lambda done, total: None)
    seconds, peak = time.perf_counter() - started, peak_mb()
    if judges:
        judges.close()

    by_key = {claim.key: claim for claim in claims}
    pairs = []
    for key, (trajectory, passages) in outcomes.items():
        found = {passage.id: passage for passage in passages}
        pairs += [(by_key[key], found[passage]) for step in trajectory.steps for passage, _ in step.stances]
    # Passages that do not name both cost the judge next to nothing: the comparison is on those that cost it the most.
    equal = [(claim, passage) for claim, passage in pairs if names_both(passage, claim)][:EQUAL_PAIRS]
    write_lines(work / "pairs.jsonl", [[claim.text, passage.text] for claim, passage in equal])
    (work / "pairs.pickle").write_bytes(pickle.dumps(equal))
    return {
        "triples": len(claims),
        "pairs": len(pairs),
        "seconds": seconds,
        "triples_per_second": len(claims) / seconds,
        "searches_per_triple": sum(trajectory.searches for trajectory, _ in outcomes.values()) / len(claims),
        "peak_mb": peak,
    }


def judge_pairs(work: Path) -> dict:
    pairs, judge = pickle.loads((work / "pairs.pickle").read_bytes()), default_judge()
    judge.judge(pairs[:1])
    progress(f"ours: {len(pairs)} equal pairs")
    started = time.perf_counter()
    judge.judge(pairs)
    return {"equal_pairs": len(pairs), "equal_pairs_per_second": len(pairs) / (time.perf_counter() - started)}


def write_lines(path: Path, rows: list) -> None:
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    sys.exit(main())
