"""Small plots as inline SVG: they scale with the text, print, need no library and make no request.

Colours come from the page's style sheet by class; the words and figures beside a plot say the same as the plot.
"""

from __future__ import annotations

from kgaudit.reports.nodes import Node, element
from kgaudit.reports.summary import interval
from kgaudit.runs.counts import Counts
from kgaudit.verdicts import VERDICTS

PLOT_WIDTH, PLOT_HEIGHT = 240, 22
_LEFT, _RIGHT = 10, PLOT_WIDTH - 10


def _x(share: float) -> str:
    return f"{_LEFT + share * (_RIGHT - _LEFT):.1f}"


def interval_plot(counts: Counts) -> Node:
    """The pass rate as a dot on its 95 % interval, on a scale from 0 to 100; only the scale where nothing was judged."""
    middle = PLOT_HEIGHT / 2
    marks = [_line("grid", tick, tick, 0, PLOT_HEIGHT) for tick in (0.0, 0.25, 0.5, 0.75, 1.0)]
    bounds = interval(counts)
    if counts.pass_rate is not None and bounds is not None:
        low, high = bounds
        marks.append(_line("whisker", low, high, middle, middle))
        marks += [_line("whisker", end, end, middle - 4, middle + 4) for end in (low, high)]
        marks.append(element("circle", cls="dot", cx=_x(counts.pass_rate), cy=str(middle), r="4.5"))
    return _svg(marks, "plot", PLOT_WIDTH, PLOT_HEIGHT)


def interval_axis() -> Node:
    """The scale of `interval_plot`, in per cent."""
    marks = [
        element("text", str(tick), cls="tick", x=_x(tick / 100), y="11", text_anchor="middle")
        for tick in (0, 25, 50, 75, 100)
    ]  # fmt: skip
    return _svg(marks, "plot", PLOT_WIDTH, 14)


def share_bar(counts: Counts) -> Node | None:
    """The shares of the four verdicts as one bar; None where there are no triples."""
    if not counts.total:
        return None
    marks, left = [], 0.0
    for verdict in VERDICTS:
        width = 800 * counts.verdicts[verdict] / counts.total
        if width:
            marks.append(element("rect", cls=verdict, x=f"{left:.2f}", y="0", width=f"{width:.2f}", height="22"))
        left += width
    return _svg(marks, "bar", 800, 22)


def _line(name: str, x1: float, x2: float, y1: float, y2: float) -> Node:
    return element("line", cls=name, x1=_x(x1), x2=_x(x2), y1=str(y1), y2=str(y2))


def _svg(marks: list[Node], name: str, width: int, height: int) -> Node:
    # The parser of HTML sets the case of viewBox right; without a width of its own it fills its column.
    return element("svg", *marks, cls=name, viewbox=f"0 0 {width} {height}", aria_hidden="true")
