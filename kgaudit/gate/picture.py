"""The decision and the verifier card as pictures: SVG that needs no font, script, style sheet or request of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kgaudit.gate.card import Bin, Card
from kgaudit.gate.decide import Decision, Group
from kgaudit.gate.estimators import Estimate
from kgaudit.reports.junit import xml_text
from kgaudit.reports.nodes import Node, element, to_html
from kgaudit.text import one_line

WIDTH, ROW, LEFT, RIGHT = 760, 30, 250, 730
SHOWN_GROUPS = 20
_COLOURS = {"passed": "#1c6b3c", "stopped": "#a8200d", "no_basis": "#6d5300"}
_VERDICT_COLOURS = {"supported": "#1c6b3c", "refuted": "#a8200d", "not_enough_evidence": "#c9a227", "not_judged": "#8a929c"}
_INK, _QUIET, _GRID, _PAPER = "#1d2024", "#5b626b", "#d9d6cf", "#fbfaf7"
STATUS_WORDS = {"passed": "passed", "stopped": "stopped", "no_basis": "no basis to decide"}


def decision_svg(decision: Decision) -> str:
    """Intervals beside their thresholds, the pass rate that decides nothing, and the shares of the verdicts."""
    rows = _decision_rows(decision)
    scale = _Scale(_left_end(decision))
    height = 110 + ROW * (len(rows) + 2) + 50
    marks: list[Node] = [
        _text(20, 34, STATUS_WORDS[decision.status], size=22, weight="700", colour=_COLOURS[decision.status]),
        _text(20, 58, one_line(decision.run, 90), colour=_QUIET),
    ]
    top = 100
    for tick in scale.ticks():
        x = scale.x(tick)
        marks.append(_line(x, top - 14, x, top + ROW * (len(rows) + 1), _GRID))
        marks.append(_text(x, top - 20, f"{100 * tick:g} %", anchor="middle", size=11, colour=_QUIET))
    for number, (name, found, threshold, status) in enumerate(rows):
        marks += _interval(scale, top + ROW * (number + 0.5), name, found, threshold, _COLOURS[status])
    y = top + ROW * (len(rows) + 0.5)
    marks.append(_text(20, y + 4, "pass rate (decides nothing)", colour=_QUIET))
    if decision.pass_rate is not None:
        marks.append(element("circle", cx=_number(scale.x(decision.pass_rate)), cy=_number(y), r="5", fill="none", stroke=_QUIET))
    marks += _verdict_bar(decision, top + ROW * (len(rows) + 1) + 30)
    return _svg(marks, WIDTH, height, f"Gate: {STATUS_WORDS[decision.status]}")


def _decision_rows(decision: Decision) -> list[tuple[str, Estimate | None, float, str]]:
    low = decision.accuracy.low if decision.accuracy else 0.0
    status = "no_basis" if decision.accuracy is None else "passed" if low >= decision.threshold else "stopped"
    rows: list[tuple[str, Estimate | None, float, str]] = [("accuracy", decision.accuracy, decision.threshold, status)]
    first = sorted(decision.groups, key=lambda group: (group.status == "passed", group.name))[:SHOWN_GROUPS]
    return rows + [(_group_name(group), group.estimate, group.threshold, group.status) for group in first]


def _group_name(group: Group) -> str:
    return one_line(group.name.rstrip("/").rsplit("/", 1)[-1].rsplit("#", 1)[-1] or group.name, 30)


def _left_end(decision: Decision) -> float:
    shares = [decision.threshold, *(group.threshold for group in decision.groups)]
    shares += [found.low for found in (decision.accuracy, *(group.estimate for group in decision.groups)) if found]
    if decision.pass_rate is not None:
        shares.append(decision.pass_rate)
    return max(0.0, math.floor(10 * (min(shares) - 0.02)) / 10)


class _Scale:
    def __init__(self, low: float) -> None:
        self._low = low

    def x(self, share: float) -> float:
        return LEFT + (min(max(share, self._low), 1.0) - self._low) / (1 - self._low) * (RIGHT - LEFT)

    def ticks(self) -> list[float]:
        step = 0.02 if self._low > 0.85 else 0.05 if self._low >= 0.6 else 0.1 if self._low >= 0.3 else 0.2
        first = math.ceil(self._low / step - 1e-9)
        return [round(step * number, 4) for number in range(first, round(1 / step) + 1)]


def _interval(scale: _Scale, y: float, name: str, found: Estimate | None, threshold: float, colour: str) -> Iterator[Node]:
    yield _text(20, y + 4, name)
    at = scale.x(threshold)
    yield _line(at, y - 12, at, y + 12, _INK, width="2", dash="4 2")
    if found is None:
        yield _text(LEFT, y + 4, "no labels", colour=_QUIET)
        return
    low, high = scale.x(found.low), scale.x(found.high)
    yield _line(low, y, high, y, colour, width="3")
    for end in (low, high):
        yield _line(end, y - 6, end, y + 6, colour, width="3")
    yield element("circle", cx=_number(scale.x(found.value)), cy=_number(y), r="5", fill=colour)


def _verdict_bar(decision: Decision, y: float) -> Iterator[Node]:
    total, left = sum(decision.verdicts.values()), 20.0
    words = []
    for verdict, count in decision.verdicts.items():
        if not count:
            continue
        width = (RIGHT - 20) * count / total
        yield element("rect", x=_number(left), y=_number(y), width=_number(width), height="14", fill=_VERDICT_COLOURS[verdict])
        words.append(f"{verdict.replace('_', ' ')} {100 * count / total:.1f} %")
        left += width
    yield _text(20, y + 32, ", ".join(words) or "no triple", size=12, colour=_QUIET)


def calibration_svg(card: Card) -> str:
    """The share of true triples over the probability that the verifier gave, with intervals; the diagonal is perfect."""
    size, margin = 320, 46

    def x(share: float) -> float:
        return margin + share * (size - margin - 14)

    def y(share: float) -> float:
        return size - margin - share * (size - margin - 14)

    marks: list[Node] = [_line(x(0), y(0), x(1), y(1), _QUIET, dash="4 3")]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        marks += [_line(x(tick), y(0), x(tick), y(1), _GRID), _line(x(0), y(tick), x(1), y(tick), _GRID)]
        marks.append(_text(x(tick), y(0) + 16, f"{100 * tick:g}", anchor="middle", size=11, colour=_QUIET))
        marks.append(_text(x(0) - 6, y(tick) + 4, f"{100 * tick:g}", anchor="end", size=11, colour=_QUIET))
    for one in card.calibration:
        marks += _bin_marks(one, x(one.probability), y(one.true.low), y(one.true.high), y(one.true.value))
    marks.append(_text(x(0.5), size - 8, "probability given, %", anchor="middle", size=12))
    turn = f"rotate(-90 12 {_number(y(0.5))})"
    marks.append(element("text", "true, %", x="12", y=_number(y(0.5)), font_size="12", text_anchor="middle", fill=_INK, transform=turn))
    return _svg(marks, size, size, "Calibration of the verifier")


def _bin_marks(one: Bin, x: float, low: float, high: float, at: float) -> Iterator[Node]:
    yield _line(x, low, x, high, _INK, width="1.5")
    yield element("circle", cx=_number(x), cy=_number(at), r="4.5", fill=_INK)


def _text(
    x: float, y: float, text: str, *, size: int = 14, weight: str | None = None, colour: str = _INK, anchor: str | None = None
) -> Node:
    return element(
        "text", xml_text(text), x=_number(x), y=_number(y), font_size=str(size), font_weight=weight, fill=colour, text_anchor=anchor
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, width: str = "1", dash: str | None = None) -> Node:
    ends = {"x1": _number(x1), "y1": _number(y1), "x2": _number(x2), "y2": _number(y2)}
    return element("line", stroke=colour, stroke_width=width, stroke_dasharray=dash, **ends)


def _number(value: float) -> str:
    return f"{value:.1f}"


def _svg(marks: list[Node], width: int, height: int, title: str) -> str:
    # The page that holds it may be dark: the picture brings its own ground.
    ground = element("rect", x="0", y="0", width=str(width), height=str(height), fill=_PAPER)
    attributes = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}", "font-family": "system-ui, sans-serif"}
    return to_html(element("svg", element("title", title), ground, *marks, role="img", **attributes)) + "\n"
