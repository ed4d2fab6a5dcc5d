"""Compares a run on the bundled sample with what the sample's makers expect: `python -m kgaudit.sample.compare RUN`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path

from kgaudit.runs.reader import RunReader
from kgaudit.triples import Triple, iri_term, literal_term
from kgaudit.verdicts import VERDICTS


def expected() -> dict[str, dict[str, object]]:
    """What is expected of each claim of the sample, by triple key."""
    rows = {}
    for line in (files("kgaudit.sample") / "expected.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        o = row["o"]
        term = iri_term(o) if isinstance(o, str) else literal_term(o["value"], o["datatype"], o.get("language"))
        rows[Triple(iri_term(row["s"]), iri_term(row["p"]), term).key] = row
    return rows


def main() -> None:
    """Prints a table of expected against given verdicts, and how many planted faults were kept from passing."""
    wanted = expected()
    given = {
        row["key"]: row["verdict"] for batch in RunReader(Path(sys.argv[1])).batches(["key", "verdict"]) for row in batch.to_pylist()
    }
    pairs = Counter((str(row["expected"]), given.get(key, "missing")) for key, row in wanted.items())
    print(f"{'expected':>20} | " + " ".join(f"{verdict:>19}" for verdict in VERDICTS))
    for name in ("supported", "refuted", "not_enough_evidence"):
        print(f"{name:>20} | " + " ".join(f"{pairs[name, verdict]:>19}" for verdict in VERDICTS))
    faults = [key for key, row in wanted.items() if row["fault"]]
    kept = sum(given.get(key) != "supported" for key in faults)
    print(f"{kept} of {len(faults)} planted faults were kept from passing; unknown triples: {len(given.keys() - wanted.keys())}")


if __name__ == "__main__":
    main()
