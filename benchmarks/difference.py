"""The difference of two snapshots: `kgaudit.sources.difference` beside GNU sort and comm, on the same generated files.

Two N-Triples files of the same things in another order, in which 2 % of the triples differ. GNU sort runs with LC_ALL=C, the same
memory and two threads; each is measured in processes of its own, in turns, the best of three. Both write the lines that only one file
holds; ours also compares what is written otherwise. The seconds of ours are with the start of Python and its imports.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import THREADS, fail, measured_environment, peak_mb, progress, use_two_cores, write_json
from loading import LABEL, PREDICATES, TYPE, WORDS, XSD

TRIPLES = 5_000_000
MEMORY_MB = 512
RUNS = 3
CHANGED = 0.02
BLOCK = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--triples", type=int, default=TRIPLES, help=f"lines of each file (default {TRIPLES:,})")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"measurements of each, the best counts (default {RUNS})")
    parser.add_argument("--folder", type=Path, help="compare the files in FOLDER once and print the figures (what each process does)")
    options = parser.parse_args()
    if options.folder:
        print(json.dumps(compare_once(options.folder)))
        return
    figures = measure(options.triples, options.runs)
    if options.json:
        write_json(options.json, figures)
    print(json.dumps(figures, indent=1))


def measure(triples: int, runs: int) -> dict:
    """Seconds of both by the clock and of the processors, their ratios, and the highest memory of ours."""
    if not shutil.which("sort") or not shutil.which("comm"):
        fail("difference.py needs GNU coreutils (sort and comm)")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        progress(f"difference: writing two files of {triples:,} lines")
        generate(folder / "old.nt", triples, seed=1, changed=0.0)
        generate(folder / "new.nt", triples, seed=2, changed=CHANGED)
        ours, theirs = [], []
        for _ in range(runs):  # in turns, so that whatever else the machine does touches both alike
            progress("difference: kgaudit")
            ours.append(in_a_process(folder))
            progress("difference: sort and comm")
            theirs.append(sort_and_comm(folder))
        same = ours[0]["added"] == theirs[0]["added"] and ours[0]["removed"] == theirs[0]["removed"]
    best = {name: min(one[name] for one in ours) for name in ("seconds", "cpu_seconds")}
    reference = {name: min(one[name] for one in theirs) for name in ("seconds", "cpu_seconds")}
    return {
        "triples": triples,
        "ratio_to_sort_comm": best["seconds"] / reference["seconds"],
        "peak_mb": max(one["peak_mb"] for one in ours),
        "ratio_of_cpu_seconds": best["cpu_seconds"] / reference["cpu_seconds"],
        "kgaudit": best,
        "sort_comm": reference,
        "added": ours[0]["added"],
        "removed": ours[0]["removed"],
        "same_lines_found": same,
        "memory_mb": MEMORY_MB,
        "load_average": load,
    }


def generate(path: Path, triples: int, *, seed: int, changed: float) -> None:
    """A graph of things with labels, types, numbers, dates and links, in an order that depends on the seed, as exports have it."""
    order = random.Random(seed)
    blocks = list(range(0, triples, BLOCK))
    order.shuffle(blocks)
    with path.open("w", encoding="utf-8") as out:
        for begin in blocks:
            lines = list(block(begin, min(begin + BLOCK, triples), changed))
            order.shuffle(lines)
            out.writelines(lines)


def block(begin: int, end: int, changed: float) -> list[str]:
    """The lines with these numbers: the same ones in every order, but for the share that is changed."""
    source, change = random.Random(begin), random.Random(-begin - 1)
    lines = []
    for number in range(begin, end):
        thing = number // 10
        subject = f"<https://graph.example/thing/{thing}>"
        other = "x" if change.random() < changed else ""
        match number % 10:
            case 0:
                lines.append(f'{subject} <{LABEL}> "{" ".join(source.choices(WORDS, k=3))} {thing}{other}"@en .\n')
            case 1:
                lines.append(f"{subject} <{TYPE}> <https://graph.example/Class{thing % 20}{other}> .\n")
            case 2:
                year = 1800 + thing % 220 + bool(other)
                lines.append(f'{subject} <https://graph.example/p/founded> "{year}-0{1 + thing % 9}-17"^^<{XSD}date> .\n')
            case 3:
                staff = source.randrange(1, 9_000_000) + bool(other)
                lines.append(f'{subject} <https://graph.example/p/staff> "{staff}"^^<{XSD}integer> .\n')
            case place:
                predicate = PREDICATES[place % len(PREDICATES)]
                lines.append(f"{subject} <{predicate}> <https://graph.example/thing/{source.randrange(1_000_000)}{other}> .\n")
    return lines


def in_a_process(folder: Path) -> dict:
    command = [sys.executable, __file__, "--folder", str(folder)]
    return timed(lambda: json.loads(subprocess.run(command, stdout=subprocess.PIPE, env=measured_environment(), check=True).stdout))


def compare_once(folder: Path) -> dict:
    use_two_cores()
    from kgaudit.sources.difference import difference

    found = difference(
        [folder / "old.nt"],
        [folder / "new.nt"],
        added=folder / "added.nt",
        removed=folder / "removed.nt",
        memory=MEMORY_MB * 1024 * 1024,
    )
    return {"added": found.added, "removed": found.removed, "peak_mb": peak_mb()}


def sort_and_comm(folder: Path) -> dict:
    # -u: a triple that stands in a file twice is one.
    sort = f"sort -u -S {MEMORY_MB}M --parallel={THREADS} -T ."
    script = (
        f"{sort} old.nt -o old.sorted && {sort} new.nt -o new.sorted && "
        "comm -13 old.sorted new.sorted > comm-added.nt && comm -23 old.sorted new.sorted > comm-removed.nt"
    )

    def run() -> dict:
        subprocess.run(["sh", "-c", script], cwd=folder, env=os.environ | {"LC_ALL": "C"}, check=True)
        return {}

    figures = timed(run)
    for name in ("added", "removed"):
        with (folder / f"comm-{name}.nt").open("rb") as lines:
            figures[name] = sum(1 for _ in lines)
    return figures


def timed(work) -> dict:
    """What `work` gives, with the seconds that it took by the clock and those of the processors in the processes that it started."""
    before, begun = os.times(), time.perf_counter()
    result = work()
    seconds, after = time.perf_counter() - begun, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {**result, "seconds": seconds, "cpu_seconds": cpu}


if __name__ == "__main__":
    sys.exit(main())
