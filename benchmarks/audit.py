"""The speed of an audit on two cores, beside the plain loop that a user would write, and of loading a graph.

Every part runs in a process of its own. The plain loop is measured on fewer triples (--plain-items), for it is slow; both figures
are per triple. Writes `audit_ratio_to_plain_loop`, `triples_per_second`, `peak_mb`, `load_ratio_to_pyoxigraph`,
`load_ratio_to_rdflib` and what they come from.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import loading
from common import BENCH_ENV, fail, measured_environment, write_json

FOLDER = Path(__file__).resolve().parent
NEEDED = ("kgaudit", "torch", "sentence_transformers", "bm25s", "all_minilm_l6_v2", "rdflib")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=FOLDER.parent.parent / "shared" / "data", help="folder that holds wiki-triples")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--items", type=int, help="audit so many triples (default: all of the test split)")
    parser.add_argument("--plain-items", type=int, default=200, help="triples for the plain loop (default 200)")
    parser.add_argument("--lines", type=int, default=loading.LINES, help=f"lines of the graph to load (default {loading.LINES:,})")
    options = parser.parse_args()
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        fail(f"this needs {', '.join(missing)}: {BENCH_ENV}")
    if not (options.data / "wiki-triples").is_dir():
        fail(f"there is no wiki-triples in {options.data}: name the folder that holds it with --data")

    load_average = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        data = ["--data", str(options.data)]
        items = ["--items", str(options.items)] if options.items else []
        run(work, "ours.py", "prepare", *data)
        ours = run(work, "ours.py", "audit", *data, *items) | run(work, "ours.py", "pairs", *data)
        plain = run(work, "plain_loop.py", "--items", str(options.plain_items))
    loaded = loading.measure(options.lines)
    figures = {
        "audit_ratio_to_plain_loop": ours["triples_per_second"] / plain["triples_per_second"],
        "triples_per_second": ours["triples_per_second"],
        "peak_mb": ours["peak_mb"],
        "equal_pairs_ratio": ours["equal_pairs_per_second"] / plain["equal_pairs_per_second"],
        **loaded,
        "ours": ours,
        "plain_loop": plain,
        "load_average": load_average,
    }
    if options.json:
        write_json(options.json, figures)
    print(json.dumps(figures, indent=1))


def run(work: Path, script: str, *arguments: str) -> dict:
    """Runs a part, and gives the figures that it wrote, if it wrote any."""
    figures = work / "figures.json"
    figures.unlink(missing_ok=True)
    command = [sys.executable, FOLDER / script, *arguments, "--work", work, "--json", figures]
    done = subprocess.run(command, env=measured_environment(), check=False)
    if done.returncode:
        fail(f"{script} failed with status {done.returncode}")
    return json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {}


if __name__ == "__main__":
    sys.exit(main())
