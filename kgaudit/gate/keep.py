"""A decision with its files: what `kgaudit gate` and a release pipeline leave behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kgaudit.gate.decide import Decision, gate
from kgaudit.gate.picture import decision_svg
from kgaudit.runs.files import make_folder, whole_file, write_json


def decide_and_keep(folder: Path, subject: Path, policy: Path, labels: Sequence[Path] = (), card: Path | None = None) -> Decision:
    """Decides (see `gate`) and writes `decision.json` and `decision.svg` into the folder. Raises what `gate` raises."""
    forget_decision(folder)
    decision = gate(subject, policy, labels, card)
    make_folder(folder)
    write_json(folder / "decision.json", decision.to_json())
    with whole_file(folder / "decision.svg") as stream:
        stream.write(decision_svg(decision).encode("utf-8"))
    return decision


def forget_decision(folder: Path) -> None:
    """Removes what an earlier call decided: it must not be read as the answer of one that fails."""
    for name in ("decision.json", "decision.svg"):
        (folder / name).unlink(missing_ok=True)
