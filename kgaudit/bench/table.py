"""Results as text tables: policies side by side for each split, then accuracy by kind of false triple and by phenomenon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kgaudit.bench.metrics import Measures

if TYPE_CHECKING:
    from kgaudit.bench.runner import Result

_COLUMNS: tuple[tuple[str, Callable[[Measures], float | None], str], ...] = (
    ("n", lambda m: m.n, "d"),
    ("macro F1", lambda m: m.macro_f1, ".3f"),
    ("F1 true", lambda m: m.f1_true, ".3f"),
    ("F1 false", lambda m: m.f1_false, ".3f"),
    ("bal. acc.", lambda m: m.balanced_accuracy, ".3f"),
    ("surest 80 %", lambda m: m.macro_f1_at_80, ".3f"),
    ("pairs", lambda m: m.pair_ranking, ".3f"),
    ("cal. error", lambda m: m.calibration_error, ".3f"),
    ("abstained", lambda m: m.abstained, ".3f"),
    ("verbatim", lambda m: m.evidence_verbatim, ".3f"),
    ("ev. prec.", lambda m: m.evidence_precision, ".3f"),
    ("searches", lambda m: m.searches_per_triple, ".2f"),
    ("model calls", lambda m: m.model_calls_per_triple, ".2f"),
    ("tokens", lambda m: m.tokens_per_triple, ".0f"),
    ("triples/s", lambda m: m.triples_per_second, ".0f"),
)
_LEGEND = (
    "surest 80 %: macro F1 of the 80 % with the surest probability; pairs: how often the true one of a pair ranks higher; "
    "cal. error: of P(supported);\n"
    "abstained: not enough evidence or not judged (counted as false); verbatim: share of quotes; ev. prec.: share of supporting quotes "
    "that overlap annotated evidence;\n"
    "searches, model calls and tokens are per triple."
)


def format_results(results: Sequence[Result]) -> str:
    """The tables, lines joined by line ends. A dash stands where a measure has no basis."""
    ordered = sorted(results, key=lambda result: [each.split for each in results].index(result.split))
    main = [["split", "policy", *(title for title, _, _ in _COLUMNS)]]
    main += [[result.split, result.policy, *(_cell(value(result.measures), form) for _, value, form in _COLUMNS)] for result in ordered]
    parts = [_aligned(main), _LEGEND]
    for title, kinds in (
        ("Accuracy by kind of triple", lambda measures: measures.accuracy_by_negative),
        ("Accuracy by phenomenon", lambda measures: measures.accuracy_by_phenomenon),
    ):
        table = _kinds_table(ordered, kinds)
        if table:
            parts.append(f"{title}\n{table}")
    failed = [result for result in ordered if result.where_first_search_failed is not None]
    if failed:
        parts.append("Triples whose first search by single_turn brought no passage with both names\n" + _failed_table(failed))
    return "\n\n".join(parts)


def _kinds_table(results: Sequence[Result], kinds: Callable[[Measures], dict[str, float]]) -> str:
    """Kinds down, splits and policies across; empty where no item is of a kind."""
    names = sorted({name for result in results for name in kinds(result.measures)})
    if not names:
        return ""
    rows = [["", *(f"{result.split}, {result.policy}" for result in results)]]
    rows += [[name, *(_cell(kinds(result.measures).get(name), ".3f") for result in results)] for name in names]
    return _aligned(rows)


def _failed_table(results: Sequence[Result]) -> str:
    rows = [["split", "policy", "n", "macro F1", "F1 true", "searches"]]
    for result in results:
        part = result.where_first_search_failed
        assert part is not None
        rows.append(
            [
                result.split,
                result.policy,
                str(part.n),
                _cell(part.macro_f1, ".3f"),
                _cell(part.f1_true, ".3f"),
                _cell(part.searches_per_triple, ".2f"),
            ]
        )
    return _aligned(rows)


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest cell: words to the left, figures (and their heads) to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    figures = [all(cell[:1].isdigit() or cell == "-" for cell in column[1:]) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (cell.rjust(width) if figure else cell.ljust(width) for cell, width, figure in zip(row, widths, figures, strict=True))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
