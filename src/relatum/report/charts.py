"""Charts as SVG, by a few lines of our own: curves, an interval in a line of a table, bars, and a reliability curve."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relatum.formatting import percent
from relatum.report.axes import Axis, drawing, ticks
from relatum.report.markup import Markup, join, tag

__all__ = ["bar", "curve", "interval_line", "reliability_curve"]

_MOST_POINTS = 300  # of a curve: more do not show

Points = Sequence[tuple[float, float]]


def curve(title: str, across: str, points: Points, digits: int, marked: int | None = None, *, zero: bool = False) -> Markup:
    """Return the curve of some points, whose last value, or a marked one, is written beside it.

    Args:
        title: what is drawn.
        across: what the horizontal axis counts.
        points: (across, value), in order; at least one.
        digits: how many digits of a value are written behind the point.
        marked: the place of the point that is labelled, by default the last.
        zero: whether the vertical axis begins at 0.
    """
    width, height = 340.0, 190.0
    place = len(points) - 1 if marked is None else marked
    values = [value for _, value in points]
    low, high = (0.0 if zero else min(values)), max(values)
    if high == low:
        low, high = low - 0.5, high + 0.5
    x = Axis(min(0.0, points[0][0]), points[-1][0] or 1.0, 40, width - 14)
    y = Axis(low, high, height - 32, 22)
    parts = [*_levels(y, x), *_feet(x, height, across)]
    line = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in _thinned(points))
    parts.append(tag("polyline", points=line, class_="line"))
    told = points[place]
    parts.append(_labelled(x.at(told[0]), y.at(told[1]), f"{told[1]:.{digits}f}", left=x.at(told[0]) > width / 2))
    first, last = points[0], points[-1]
    said = f"From {first[1]:.{digits}f} at {first[0]:g} {across} to {last[1]:.{digits}f} at {last[0]:g} {across}."
    return drawing(title, said, width, height, *parts)


def _levels(y: Axis, x: Axis) -> list[Markup]:
    found = []
    for value in ticks(y.low, y.high):
        height = y.at(value)
        found.append(tag("line", x1=x.start, x2=x.end, y1=height, y2=height, class_="level"))
        found.append(tag("text", f"{value:g}", x=x.start - 6, y=height + 4, text_anchor="end"))
    return found


def _feet(x: Axis, height: float, across: str) -> list[Markup]:
    found = []
    values = ticks(x.low, x.high)
    for value in values:
        anchor = "end" if value == values[-1] and x.end - x.at(value) < 20 else "middle"
        label = f"{value:g} {across}" if value == values[-1] else f"{value:g}"
        foot = x.end + 12 if anchor == "end" else x.at(value)
        found.append(tag("text", label, x=foot, y=height - 14, text_anchor=anchor))
    return found


def _labelled(x: float, y: float, label: str, *, left: bool) -> Markup:
    """Return a dot with its value above it, to the left or to the right."""
    text = tag("text", label, x=x + (4 if left else -4), y=y - 9, text_anchor="end" if left else "start", class_="told")
    return join([tag("circle", cx=x, cy=y, r=3.2, class_="dot"), text])


def _thinned(points: Points) -> Points:
    step = -(-len(points) // _MOST_POINTS)
    return [*points[:-1:step], points[-1]]


def interval_line(value: float, bounds: tuple[float, float] | None) -> Markup:
    """Return a value from 0 to 1 as a dot on a line, with a bar for its interval; the numbers stand beside it."""
    x = Axis(0, 1, 4, 156)
    ends = [tag("line", x1=x.at(end), x2=x.at(end), y1=5, y2=11, class_="level") for end in (0, 0.5, 1)]
    parts = [tag("line", x1=x.start, x2=x.end, y1=8, y2=8, class_="level"), *ends]
    if bounds is not None:
        parts.append(tag("line", x1=x.at(bounds[0]), x2=x.at(bounds[1]), y1=8, y2=8, class_="whisker"))
    parts.append(tag("circle", cx=x.at(value), cy=8, r=3.4, class_="dot"))
    return tag("svg", *parts, class_="inline", viewBox="0 0 160 16", width=160, height=16, aria_hidden="true")


def bar(share: float, width: float = 160) -> Markup:
    """Return a share of 1 as a bar; the number stands beside it."""
    inside = tag("rect", x=0, y=3, width=max(share * width, 0.6), height=10, class_="bar") if share else None
    size = f"0 0 {width:g} 16"
    return tag("svg", inside, class_="inline", viewBox=size, width=width, height=16, aria_hidden="true")


def reliability_curve(points: Sequence[tuple[float, float, float]]) -> Markup:
    """Return how often what was said to have a probability was true; a point is (said, true, share), its area the share."""
    width, height = 340.0, 330.0
    x, y = Axis(0, 1, 44, width - 16), Axis(0, 1, height - 46, 14)
    parts = []
    for value in (0, 0.25, 0.5, 0.75, 1):
        place = y.at(value)
        parts.append(tag("line", x1=x.start, x2=x.end, y1=place, y2=place, class_="level"))
        parts.append(tag("text", f"{100 * value:g} %", x=x.start - 6, y=place + 4, text_anchor="end"))
        parts.append(tag("text", f"{100 * value:g} %", x=x.at(value), y=y.start + 18, text_anchor="middle"))
    parts.append(tag("line", x1=x.at(0), y1=y.at(0), x2=x.at(1), y2=y.at(1), class_="ideal"))
    turn = _along(x, y, 0.31)
    parts.append(tag("text", "true as often as said", x=x.at(0.31), y=y.at(0.31) - 7, transform=turn, class_="aside"))
    parts.append(tag("text", "true more often", x=x.at(0.04), y=y.at(0.93), class_="aside"))
    parts.append(tag("text", "true less often", x=x.at(0.97), y=y.at(0.07), text_anchor="end", class_="aside"))
    line = " ".join(f"{x.at(said):.1f},{y.at(true):.1f}" for said, true, _ in points)
    parts.append(tag("polyline", points=line, class_="line"))
    for said, true, share in points:
        parts.append(tag("circle", cx=x.at(said), cy=y.at(true), r=max(15 * share**0.5, 1.5), class_="mass"))
    parts.append(tag("text", "probability that was said", x=x.end + 12, y=height - 8, text_anchor="end"))
    told = "; ".join(f"said {percent(said)}, true {percent(true)}" for said, true, _ in points)
    return drawing("Share that is true, by the probability that was said", f"{told}.", width, height, *parts)


def _along(x: Axis, y: Axis, value: float) -> str:
    """Return a turn about a point of the diagonal that lays text along it."""
    angle = math.degrees(math.atan2(y.at(1) - y.at(0), x.at(1) - x.at(0)))
    return f"rotate({angle:.2f} {x.at(value):.2f} {y.at(value):.2f})"
