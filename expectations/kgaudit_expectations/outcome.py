"""What a validation came to, and why: the part that Great Expectations' own `success` does not tell.

Great Expectations says `success` of what it evaluated. An expectation whose class was not imported is dropped when the suite is
loaded, and then nothing fails. So what was stored is compared with what was evaluated, and what raised an exception is looked for,
nested or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Check:
    """One evaluated expectation. `words` is what was observed, or the exception where `raised`."""

    type: str
    success: bool
    words: str
    unexpected: int = 0
    raised: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a validation. `success` only where every stored expectation was evaluated and held; `reasons` say why not.

    `docs` is the index page of the Data Docs and `table` the folder of the table of failing triples, where they were asked for;
    `failing_triples` is the number of its rows.
    """

    success: bool
    reasons: tuple[str, ...]
    checks: tuple[Check, ...]
    rows: int
    docs: Path | None = None
    table: Path | None = None
    failing_triples: int = 0

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON values."""
        return {
            "success": self.success,
            "reasons": list(self.reasons),
            "rows": self.rows,
            "failing_triples": self.failing_triples,
            "docs": str(self.docs) if self.docs else None,
            "table": str(self.table) if self.table else None,
            "checks": [
                {"type": one.type, "success": one.success, "words": one.words, "unexpected": one.unexpected, "raised": one.raised}
                for one in self.checks
            ],
        }


def raised(exception_info: Any) -> str | None:
    """The message of the exception in an `exception_info`, which may be nested by metric; None where there is none."""
    if not isinstance(exception_info, Mapping):
        return None
    if "raised_exception" in exception_info:
        return str(exception_info.get("exception_message") or "an exception") if exception_info["raised_exception"] else None
    return next((message for nested in exception_info.values() if (message := raised(nested)) is not None), None)


def dropped(stored: Iterable[str], evaluated: Iterable[str]) -> list[str]:
    """The identities that were stored and not evaluated."""
    return sorted((Counter(stored) - Counter(evaluated)).elements())


def checks_of(results: Iterable[Any]) -> Iterator[Check]:
    """The checks behind `ExpectationValidationResult`s."""
    for result in results:
        found = result.result or {}
        message = raised(result.exception_info)
        details = found.get("details")
        words = details.get("words") if isinstance(details, Mapping) else None
        shown = message if message is not None else words if words is not None else _observed(found)
        yield Check(
            type=result.expectation_config.type,
            success=bool(result.success) and message is None,
            words=" ".join(str(shown).split())[:500],
            unexpected=int(found.get("unexpected_count") or 0),
            raised=message is not None,
        )


def _observed(found: Mapping[str, Any]) -> Any:
    return found["observed_value"] if "observed_value" in found else f"{found.get('unexpected_count', '–')} unexpected"
