"""Great Expectations on a million verdict rows: the default suite on a run of them, and Data Docs with 50,000 refuted triples.

Two processes are measured. The first validates the run: it reads the ledger, checks every quote against its passage, and evaluates the
suite in pandas. The second writes Data Docs too, with the report and the table of failing triples, of which every row is counted.
"""

import argparse
import csv
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import fail, measured_environment, peak_mb, progress, use_two_cores, write_json

ROWS = 1_000_000
REFUTED = 50_000
PART = 20_000
PREDICATES = ("based in", "made by", "led by", "part of", "owner of", "supplier of", "member of", "found in")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of the verdict table (default {ROWS:,})")
    parser.add_argument("--refuted", type=int, default=REFUTED, help=f"how many of them are refuted (default {REFUTED:,})")
    parser.add_argument("--measure", type=Path, help="validate this run once and print the figures (what each process does)")
    parser.add_argument("--docs", type=Path, help="with --measure: write Data Docs there")
    options = parser.parse_args()
    if importlib.util.find_spec("great_expectations") is None:
        fail("Great Expectations is not installed: pip install 'kgaudit[gx]'")
    if options.measure:
        print(json.dumps(measure(options.measure, options.docs)))
        return
    if not 0 < options.refuted <= options.rows:
        fail("--refuted must lie between 1 and --rows")
    with tempfile.TemporaryDirectory() as work:
        run, docs = Path(work) / "run", Path(work) / "docs"
        progress(f"making a run of {options.rows:,} verdicts, {options.refuted:,} of them refuted")
        make_run(run, options.rows, options.refuted)
        progress("validating")
        plain = in_a_process(run)
        progress("validating, with Data Docs")
        with_docs = in_a_process(run, docs)
        listed = rows_listed(docs / "triples")
        pages = [path.stat().st_size for path in docs.rglob("*.html") if path.name != "report.html"]
    for found in (plain, with_docs):
        if (found["rows"], found["unexpected"], found["success"]) != (options.rows, options.refuted, False):
            fail(f"the validation is wrong: {found}")
    if listed != (options.refuted, options.refuted):
        fail(f"the table of failing triples is cut: {listed[0]:,} rows as CSV, {listed[1]:,} on pages, of {options.refuted:,}")
    figures = {
        "rows": plain["rows"],
        "seconds": plain["seconds"],
        "peak_mb": plain["peak_mb"],
        "import_seconds": plain["import_seconds"],
        "table_seconds": plain["table_seconds"],
        "unexpected_rows": options.refuted,
        "table_rows": listed[0],
        "docs_seconds": with_docs["seconds"],
        "docs_peak_mb": with_docs["peak_mb"],
        "largest_page_mb": round(max(pages) / 1e6, 3),
    }
    for name, value in figures.items():
        print(f"{name:18} {value:>12,}")
    if options.json:
        write_json(options.json, figures)


def in_a_process(run: Path, docs: Path | None = None) -> dict:
    command = [sys.executable, __file__, "--measure", str(run), *(["--docs", str(docs)] if docs else [])]
    done = subprocess.run(command, capture_output=True, text=True, env=measured_environment())
    if done.returncode:
        fail(f"the measured process failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(run: Path, docs: Path | None) -> dict:
    use_two_cores()
    begun = time.perf_counter()
    from kgaudit_expectations import check_table, validate_run

    imported = time.perf_counter()
    outcome = validate_run(run, docs=docs)
    validated = time.perf_counter()
    peak = peak_mb()
    check_table(run)
    read = time.perf_counter()
    return {
        "rows": outcome.rows,
        "success": outcome.success,
        "unexpected": max(check.unexpected for check in outcome.checks),
        "import_seconds": round(imported - begun, 2),
        "seconds": round(validated - imported, 2),
        "table_seconds": round(read - validated, 2),
        "peak_mb": round(peak, 1),
    }


def rows_listed(folder: Path) -> tuple[int, int]:
    with open(folder / "triples.csv", encoding="utf-8", newline="") as stream:
        in_csv = len({row["key"] for row in csv.DictReader(stream)})
    return in_csv, sum(page.read_text("utf-8").count("<tr id=") for page in folder.glob("page-*.html"))


def make_run(run: Path, rows: int, refuted: int) -> None:
    """A run folder whose ledger holds verdicts with a quote each, four to a passage."""
    from datetime import datetime, timezone

    import pyarrow as pa
    import pyarrow.parquet as pq

    from kgaudit.documents import PASSAGE_SCHEMA, Passage
    from kgaudit.runs.files import write_json as write
    from kgaudit.triples import triple_key
    from kgaudit.verdicts import LEDGER_SCHEMA

    for folder in ("ledger", "passages"):
        (run / folder).mkdir(parents=True)
    every = rows // refuted
    for start in range(0, rows, PART):
        entries, passages = [], []
        for i in range(start, min(start + PART, rows)):
            predicate = PREDICATES[i % len(PREDICATES)]
            quote = f"Norrby Works {i} is {predicate} Halden {i // 7} since {1900 + i % 120}."
            if i % 4 == 0:
                text, document = "", f"document-{i // 4}"
                passages.append(passage := Passage(document, 0, 0, ""))
            offset = len(text)
            text += quote + " "
            passages[-1] = passage = Passage(document, 0, len(text), text, f"Notes {i // 4}")
            entries.append((i, predicate, quote, offset, passage.document_id, len(passages) - 1))
        ids = [passage.id for passage in passages]
        table = [row(i, predicate, quote, at, document, ids[n], i % every == 0 and i // every < refuted, triple_key)
                 for i, predicate, quote, at, document, n in entries]  # fmt: skip
        pq.write_table(pa.Table.from_pylist(table, LEDGER_SCHEMA), run / "ledger" / f"part-{start:09}.parquet", compression="zstd")
        seen = [{"id": key, **{name: getattr(one, name) for name in PASSAGE_SCHEMA.names if name != "id"}}
                for key, one in zip(ids, passages, strict=True)]  # fmt: skip
        pq.write_table(pa.Table.from_pylist(seen, PASSAGE_SCHEMA), run / "passages" / f"part-{start:09}.parquet", compression="zstd")
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    write(run / "spec.json", {"format": 1, "started": now, "kgaudit": "0.1.0", "kg": [], "index": "index", "judge": {"name": "made"},
                              "policy": {"name": "made", "settings": {}}, "snapshot": ""})  # fmt: skip
    write(run / "summary.json", {"status": "complete", "load": {}, "searches": 0, "judged_pairs": 0, "seconds": 0.0})


def row(i: int, predicate: str, quote: str, offset: int, document: str, passage: str, false: bool, key_of) -> dict:
    names = (f"Norrby_Works_{i}", predicate.replace(" ", "_"), f"Halden_{i // 7}")
    s, p, o = (f"<https://graph.example/{name}>" for name in names)
    span = {"document_id": document, "start": offset, "end": offset + len(quote), "quote": quote,
            "stance": "refutes" if false else "supports", "score": 0.9, "passage_id": passage}  # fmt: skip
    place = {"file": f"kg-{i % 5}.nt", "line": i, "graph": None, "statement": None, "documents": [document], "extractor": "made",
             "extracted_at": None}  # fmt: skip
    return {
        "key": key_of(s, p, o), "s": s, "p": p, "o": o,
        "s_label": f"Norrby Works {i}", "p_label": predicate, "o_label": f"Halden {i // 7}",
        "verdict": "refuted" if false else "supported", "confidence": 0.9, "p_supported": 0.1 if false else 0.9, "route": "retrieval",
        "reason": f"document {document} {'contradicts' if false else 'states'} it", "evidence": [span], "places": [place],
        "policy": "made", "searches": 1, "judged_pairs": 1, "model_calls": 0, "tokens": 0, "seconds": 0.001, "trajectory": "[]",
    }  # fmt: skip


if __name__ == "__main__":
    main()
