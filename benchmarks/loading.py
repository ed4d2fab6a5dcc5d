"""Reading N-Triples: kgaudit against a bare pyoxigraph parse and rdflib, on the same generated file.

kgaudit parses, classifies and quarantines into Arrow batches; pyoxigraph only parses; rdflib parses into its graph and is given the
first part of the file, its time scaled by lines. Each is measured in a process of its own, the best of three (rdflib: of one).
"""

import argparse
import importlib.util
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import BENCH_ENV, fail, measured_environment, peak_mb, progress, use_two_cores, write_json

LINES = 1_000_000
RDFLIB_PART = 0.1
THINGS = 100_000
RUNS = {"kgaudit": 3, "pyoxigraph": 3, "rdflib": 1}

WORDS = "Norrby Halden Vasteras pump valve bearing Ostrava works north river plant seal drive group trade steel lake".split()
PREDICATES = [f"https://graph.example/p/{name}" for name in ("seat", "maker", "supplier", "partOf", "memberOf", "product", "owner")]
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD = "http://www.w3.org/2001/XMLSchema#"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--lines", type=int, default=LINES, help=f"lines of the generated file (default {LINES:,})")
    parser.add_argument("--read", choices=READERS, help="read FILE this way once and print the figures (what each process does)")
    parser.add_argument("--file", type=Path, help="with --read: the file to read")
    options = parser.parse_args()
    if options.read:
        print(json.dumps(read_once(options.read, options.file)))
        return
    figures = measure(options.lines)
    if options.json:
        write_json(options.json, figures)
    print(json.dumps(figures, indent=1))


def measure(lines: int) -> dict:
    """Lines a second of each, the two ratios and the peak memory of ours."""
    if importlib.util.find_spec("rdflib") is None:
        fail(f"loading.py needs rdflib: {BENCH_ENV}")
    with tempfile.TemporaryDirectory() as folder:
        whole, part = Path(folder) / "graph.nt", Path(folder) / "part.nt"
        progress(f"loading: writing {lines:,} lines")
        generate(whole, lines)
        generate(part, max(1, round(lines * RDFLIB_PART)))
        runs: dict[str, list[dict]] = {reader: [] for reader in RUNS}
        for turn in range(max(RUNS.values())):  # in turns, so that whatever else the machine does touches all alike
            for reader in (reader for reader, times in RUNS.items() if turn < times):
                progress(f"loading: {reader}")
                runs[reader].append(in_a_process(reader, part if reader == "rdflib" else whole))
    best = {reader: max(figures, key=lambda one: one["lines_per_second"]) for reader, figures in runs.items()}
    ours = best["kgaudit"]["lines_per_second"]
    return {
        "load_ratio_to_pyoxigraph": ours / best["pyoxigraph"]["lines_per_second"],
        "load_ratio_to_rdflib": ours / best["rdflib"]["lines_per_second"],
        "load_peak_mb": best["kgaudit"]["peak_mb"],
        "lines": lines,
        "lines_per_second": {reader: round(figures["lines_per_second"]) for reader, figures in best.items()},
        "claims": best["kgaudit"]["claims"],
    }


def in_a_process(reader: str, file: Path) -> dict:
    command = [sys.executable, __file__, "--read", reader, "--file", str(file)]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=measured_environment(), check=False)
    if done.returncode:
        fail(f"reading with {reader} failed with status {done.returncode}")
    return json.loads(done.stdout)


def read_once(reader: str, file: Path) -> dict:
    use_two_cores()
    with file.open("rb") as stream:  # also brings the file into the page cache
        lines = sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
    seconds, claims = READERS[reader](file)
    return {"lines": lines, "lines_per_second": lines / seconds, "claims": claims, "peak_mb": peak_mb()}


def generate(path: Path, lines: int) -> None:
    """A graph of things with labels, types, numbers, dates and links; the same one every time, a shorter one its beginning."""
    source = random.Random(3)
    with path.open("w", encoding="utf-8") as out:
        for number in range(lines):
            thing = number // 10
            subject = f"<https://graph.example/thing/{thing}>"
            match number % 10:
                case 0:
                    label = " ".join(source.choices(WORDS, k=3))
                    out.write(f'{subject} <{LABEL}> "{label} {thing}"@en .\n')
                case 1:
                    out.write(f"{subject} <{TYPE}> <https://graph.example/Class{thing % 20}> .\n")
                case 2:
                    out.write(
                        f'{subject} <https://graph.example/p/founded> "{1800 + thing % 220}-0{1 + thing % 9}-17"^^<{XSD}date> .\n'
                    )
                case 3:
                    out.write(f'{subject} <https://graph.example/p/staff> "{source.randrange(1, 9_000_000)}"^^<{XSD}integer> .\n')
                case _:
                    other = source.randrange(THINGS)
                    out.write(f"{subject} <{source.choice(PREDICATES)}> <https://graph.example/thing/{other}> .\n")


def read_with_kgaudit(file: Path) -> tuple[float, int]:
    import pyarrow.compute as pc

    from kgaudit.sources import Quarantine, Role, SourceOptions, read_batches

    options = SourceOptions()
    with tempfile.TemporaryDirectory() as folder, Quarantine(Path(folder)) as quarantine:
        started = time.perf_counter()
        claims = sum(pc.sum(pc.equal(batch["role"], Role.CLAIM)).as_py() for batch in read_batches(file, options, quarantine))
        return time.perf_counter() - started, claims


def read_with_pyoxigraph(file: Path) -> tuple[float, int]:
    import pyoxigraph

    started = time.perf_counter()
    count = sum(1 for _ in pyoxigraph.parse(path=str(file), format=pyoxigraph.RdfFormat.N_TRIPLES))
    return time.perf_counter() - started, count


def read_with_rdflib(file: Path) -> tuple[float, int]:
    import rdflib

    started = time.perf_counter()
    graph = rdflib.Graph().parse(str(file), format="nt")
    return time.perf_counter() - started, len(graph)


READERS = {"kgaudit": read_with_kgaudit, "pyoxigraph": read_with_pyoxigraph, "rdflib": read_with_rdflib}


if __name__ == "__main__":
    sys.exit(main())
