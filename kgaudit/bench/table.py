"""Results as text tables: policies side by side for each split, then accuracy by kind of triple and by phenomenon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kgaudit.bench.metrics import Measures

if TYPE_CHECKING:
    from kgaudit.bench.runner import Result

Column = tuple[str, Callable[[Measures], float | None], str]
"""Title, value, format."""

_QUALITY: tuple[Column, ...] = (
    ("n", lambda m: m.n, "d"),
    ("macro F1", lambda m: m.macro_f1, ".3f"),
    ("F1 true", lambda m: m.f1_true, ".3f"),
    ("F1 false", lambda m: m.f1_false, ".3f"),
    ("bal. acc.", lambda m: m.balanced_accuracy, ".3f"),
    ("surest 80 %", lambda m: m.macro_f1_at_80, ".3f"),
    ("pairs", lambda m: m.pair_ranking, ".3f"),
    ("cal. error", lambda m: m.calibration_error, ".3f"),
    ("abstained", lambda m: m.abstained, ".3f"),
)
_QUALITY_LEGEND = (
    "`supported` counts as true, all else as false. surest 80 %: macro F1 of those with the surest probability; pairs: how often the\n"
    "true one of a pair ranks higher; cal. error: of P(supported); abstained: not enough evidence or not judged."
)
_COST: tuple[Column, ...] = (
    ("verbatim", lambda m: m.evidence_verbatim, ".3f"),
    ("ev. precision", lambda m: m.evidence_precision, ".3f"),
    ("searches", lambda m: m.searches_per_triple, ".2f"),
    ("judged pairs", lambda m: m.judged_pairs_per_triple, ".2f"),
    ("model calls", lambda m: m.model_calls_per_triple, ".2f"),
    ("tokens", lambda m: m.tokens_per_triple, ".0f"),
    ("cost", lambda m: m.cost_per_triple, ".6f"),
    ("seconds", lambda m: m.seconds, ".1f"),
    ("triples/s", lambda m: m.triples_per_second, ".0f"),
)
_COST_LEGEND = (
    "verbatim: share of the quotes; ev. precision: share of supporting quotes for true triples that overlap annotated evidence;\n"
    "searches, judged pairs, model calls, tokens and cost (by the prices of the model's address) are per triple. What a model\n"
    "answered in an earlier call of this command is not asked again and takes no time."
)


def format_results(results: Sequence[Result]) -> str:
    """The tables, lines joined by line ends. A dash stands where a measure has no basis."""
    splits = list(dict.fromkeys(result.split for result in results))
    ordered = sorted(results, key=lambda result: splits.index(result.split))
    parts = [f"{_measures_table(ordered, _QUALITY)}\n{_QUALITY_LEGEND}", f"{_measures_table(ordered, _COST)}\n{_COST_LEGEND}"]
    for split in splits:
        these = [result for result in results if result.split == split]
        parts.append(_kinds_table(f"{split}: accuracy by kind", these, lambda measures: measures.accuracy_by_negative))
        parts.append(_kinds_table(f"{split}: accuracy by phenomenon", these, lambda measures: measures.accuracy_by_phenomenon))
    parts.append(_failed_table(ordered))
    return "\n\n".join(part for part in parts if part)


def _measures_table(results: Sequence[Result], columns: Sequence[Column]) -> str:
    rows = [["split", "policy", *(title for title, _, _ in columns)]]
    rows += [
        [result.split, _policy(result), *(_cell(value(result.measures), form) for _, value, form in columns)] for result in results
    ]
    return _aligned(rows)


def _policy(result: Result) -> str:
    return f"{result.policy} ({result.model})" if result.model else result.policy


def _kinds_table(title: str, results: Sequence[Result], kinds: Callable[[Measures], dict[str, float]]) -> str:
    """Kinds down, policies across; empty where no item is of a kind."""
    names = sorted({name for result in results for name in kinds(result.measures)})
    rows = [[title, *map(_policy, results)]]
    rows += [[name, *(_cell(kinds(result.measures).get(name), ".3f") for result in results)] for name in names]
    return _aligned(rows) if names else ""


def _failed_table(results: Sequence[Result]) -> str:
    """Empty where no first search failed."""
    rows = [["split", "policy", "n", "macro F1", "F1 true", "searches"]]
    for result in results:
        part = result.where_first_search_failed
        if part is not None:
            figures = [_cell(part.macro_f1, ".3f"), _cell(part.f1_true, ".3f"), _cell(part.searches_per_triple, ".2f")]
            rows.append([result.split, _policy(result), str(part.n), *figures])
    title = "Triples for which the first search of single_turn brought no passage with both names:"
    return f"{title}\n{_aligned(rows)}" if len(rows) > 1 else ""


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest cell: words to the left, figures and their heads to the right."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    figures = [all(cell[:1].isdigit() or cell == "-" for cell in column[1:]) for column in columns]
    lines = []
    for row in rows:
        cells = (cell.rjust(width) if figure else cell.ljust(width) for cell, width, figure in zip(row, widths, figures, strict=True))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
