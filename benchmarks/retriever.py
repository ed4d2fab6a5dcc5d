"""Measures the embedded retriever beside bm25s: what it finds, how long building takes, how large it is, how fast it answers.

    python benchmarks/retriever.py --data ../shared/data --json retriever.json

For each dataset with a `corpus.jsonl` and each of its test splits, queries are made of labels: "s o" and "s p o", each with and
without the names that the policies pass along. A true triple's evidence is found where one of the best five passages is of a
document that its evidence names; it is covered where one of them holds both names, title included. bm25s runs in the same
process over the same passages with one thread, and over whole documents, as one would write it in ten lines.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from kgaudit.documents import Query
from kgaudit.text import find_names, fold
from kgaudit_retrievers.corpus import read_documents
from kgaudit_retrievers.embedded import EmbeddedRetriever, build_index
from kgaudit_retrievers.passages import pieces, windows

K = 5
DATASETS = ("wiki-triples", "biomed-triples", "ko-triples")
Texts = list[tuple[str, str]]  # document id and text of what was found


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def query_of(row: dict[str, Any], parts: str, named: bool) -> Query:
    labels = {"s": row["s_label"], "p": row["p_label"], "o": row["o_label"]}
    text = " ".join(labels[part] for part in parts.split())
    return Query(text, ((row["s_label"], *row["s_aliases"]), (row["o_label"], *row["o_aliases"])) if named else ())


def covers(row: dict[str, Any], text: str) -> bool:
    folded = fold(text)
    names = ((row["s_label"], *row["s_aliases"]), (row["o_label"], *row["o_aliases"]))
    return all(find_names(text, folded, group) for group in names)


def score(rows: Sequence[dict[str, Any]], results: Sequence[Texts], seconds: float) -> dict[str, float]:
    shown = [(row, texts) for row, texts in zip(rows, results, strict=True) if row["label"]]
    evident = [({piece["doc_id"] for piece in row["evidence"]}, texts) for row, texts in shown if row["evidence"]]
    found = sum(any(document in gold for document, _ in texts) for gold, texts in evident)
    covered = sum(any(covers(row, text) for _, text in texts) for row, texts in shown)
    return {
        "queries": len(rows),
        "recall_at_5": round(found / max(1, len(evident)), 4),
        "covered": round(covered / max(1, len(shown)), 4),
        "queries_per_second": round(len(rows) / seconds, 1),
    }


def timed(search: Callable[[], list[Texts]]) -> tuple[list[Texts], float]:
    """The results and the shortest of three times."""
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        results = search()
        times.append(time.perf_counter() - begun)
    return results, min(times)


def build_bm25s(units: Texts) -> tuple[Callable[[list[str]], list[Texts]], dict[str, float]]:
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    begun = time.perf_counter()
    tokens = bm25s.tokenize([text for _, text in units], stopwords="en", stemmer=stemmer, show_progress=False)
    model = bm25s.BM25()
    model.index(tokens, show_progress=False)
    seconds = time.perf_counter() - begun
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) + sum(len(text.encode()) for _, text in units)

    def search(queries: list[str]) -> list[Texts]:
        asked = bm25s.tokenize(queries, stopwords="en", stemmer=stemmer, show_progress=False)
        found, _ = model.retrieve(asked, k=K, show_progress=False, n_threads=0)
        return [[units[number] for number in numbers] for numbers in found]

    return search, {"units": len(units), "build_seconds": round(seconds, 2), "size_mb": round(size / 1e6, 1)}


def measure(folder: Path, work: Path, advance: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    corpus = folder / "corpus.jsonl"
    splits = {path.stem.removeprefix("triples-"): read_rows(path) for path in sorted(folder.glob("triples-test*.jsonl"))}
    advance("embedded: build")
    report = build_index([corpus], work / folder.name)
    retriever = EmbeddedRetriever(work / folder.name)
    built = {"units": report.passages, "build_seconds": round(report.seconds, 2), "size_mb": round(report.size_bytes / 1e6, 1)}
    for split, rows in splits.items():
        for parts in ("s o", "s p o"):
            for named in (False, True):
                advance(f"embedded: {split}, {parts}")
                queries = [query_of(row, parts, named) for row in rows]
                results, seconds = timed(
                    lambda queries=queries: [
                        [(p.document_id, f"{p.title} {p.text}") for p in best] for best in retriever.search(queries, K)
                    ]  # type: ignore[misc]
                )
                query = parts + (" + names" if named else "")
                yield {"dataset": folder.name, "split": split, "retriever": "embedded", "query": query, **built,
                       **score(rows, results, seconds)}  # fmt: skip
    documents = list(read_documents([corpus], lambda *_: None))
    whole = [(document.id, f"{document.title} {document.text}") for document in documents]
    cut = []
    for document in documents:
        spans = pieces(document.text)
        for first, last in windows(spans):
            cut.append((document.id, f"{document.title} {document.text[spans[first][0] : spans[last - 1][1]]}"))
    for name, units in (("bm25s, passages", cut), ("bm25s, documents", whole)):
        advance(f"{name}: build")
        search, built = build_bm25s(units)
        for split, rows in splits.items():
            for parts in ("s o", "s p o"):
                advance(f"{name}: {split}, {parts}")
                texts = [query_of(row, parts, False).text for row in rows]
                results, seconds = timed(lambda texts=texts, search=search: search(texts))  # type: ignore[misc]
                yield {
                    "dataset": folder.name,
                    "split": split,
                    "retriever": name,
                    "query": parts,
                    **built,
                    **score(rows, results, seconds),
                }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the datasets")
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    folders = [arguments.data / name for name in DATASETS if (arguments.data / name / "corpus.jsonl").is_file()]
    if not folders:
        parser.exit(2, f"{arguments.data}: none of {', '.join(DATASETS)} is there. Give their folder by --data.\n")

    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as work, Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=None)

        def advance(what: str) -> None:
            progress.update(task, description=what, advance=1)

        for folder in folders:
            results.extend(measure(folder, Path(work), lambda what, name=folder.name: advance(f"{name}: {what}")))  # type: ignore[misc]
    columns = (
        "dataset",
        "split",
        "retriever",
        "query",
        "units",
        "build_seconds",
        "size_mb",
        "recall_at_5",
        "covered",
        "queries_per_second",
    )
    table = Table(*columns)
    for row in results:
        table.add_row(*(str(row[column]) for column in columns))
    Console(width=180).print(table)
    peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    if arguments.json:
        arguments.json.write_text(json.dumps({"k": K, "peak_mb": peak, "results": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
