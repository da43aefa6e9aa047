"""Small charts as SVG: curves, an interval in a row of a table, bars, and a reliability curve.

They are drawn by hand: they need no script and no network, take their colours from the page, by day and night, and describe
themselves in words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from relatum.formatting import percent

_MOST_POINTS = 300  # of a curve: more do not show
_MOST_TICKS = 5

Points = Sequence[tuple[float, float]]


def curve(title: str, across: str, points: Points, digits: int, marked: int | None = None, *, zero: bool = False) -> Markup:
    """Return the curve of one point or more, in order: the last value, or that at the index `marked`, is written beside it.

    The horizontal axis counts what `across` says; the vertical one begins at 0 if `zero`, else at the least value.
    """
    width, height = 340.0, 190.0
    index = len(points) - 1 if marked is None else marked
    values = [value for _, value in points]
    low, high = (0.0 if zero else min(values)), max(values)
    if high == low:
        low, high = low - 0.5, high + 0.5
    x = Axis(min(0.0, points[0][0]), points[-1][0] or 1.0, 40, width - 14)
    y = Axis(low, high, height - 32, 22)
    parts = [*_levels(y, x), *_feet(x, height, across)]
    line = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in _downsampled(points))
    parts.append(element("polyline", points=line, class_="line"))
    shown = points[index]
    parts.append(_labelled(x.at(shown[0]), y.at(shown[1]), f"{shown[1]:.{digits}f}", left=x.at(shown[0]) > width / 2))
    first, last = points[0], points[-1]
    description = f"From {first[1]:.{digits}f} at {first[0]:g} {across} to {last[1]:.{digits}f} at {last[0]:g} {across}."
    return _drawing(title, description, width, height, *parts)


def interval_line(value: float, bounds: tuple[float, float] | None) -> Markup:
    """Return a value from 0 to 1 as a dot on a line, with a bar for its interval; the numbers stand beside it."""
    x = Axis(0, 1, 4, 156)
    ends = [element("line", x1=x.at(end), x2=x.at(end), y1=5, y2=11, class_="level") for end in (0, 0.5, 1)]
    parts = [element("line", x1=x.start, x2=x.end, y1=8, y2=8, class_="level"), *ends]
    if bounds is not None:
        parts.append(element("line", x1=x.at(bounds[0]), x2=x.at(bounds[1]), y1=8, y2=8, class_="whisker"))
    parts.append(element("circle", cx=x.at(value), cy=8, r=3.4, class_="dot"))
    return element("svg", *parts, class_="inline", viewBox="0 0 160 16", width=160, height=16, aria_hidden="true")


def bar(share: float, width: float = 160) -> Markup:
    """Return a share of 1 as a bar; the number stands beside it."""
    inside = element("rect", x=0, y=3, width=max(share * width, 0.6), height=10, class_="bar") if share else None
    size = f"0 0 {width:g} 16"
    return element("svg", inside, class_="inline", viewBox=size, width=width, height=16, aria_hidden="true")


def reliability_curve(points: Sequence[tuple[float, float, float]]) -> Markup:
    """Return observed against predicted probabilities; a point is (predicted, observed, share), its area the share."""
    width, height = 340.0, 330.0
    x, y = Axis(0, 1, 44, width - 16), Axis(0, 1, height - 46, 14)
    parts = []
    for value in (0, 0.25, 0.5, 0.75, 1):
        level = y.at(value)
        parts.append(element("line", x1=x.start, x2=x.end, y1=level, y2=level, class_="level"))
        parts.append(element("text", f"{100 * value:g} %", x=x.start - 6, y=level + 4, text_anchor="end"))
        parts.append(element("text", f"{100 * value:g} %", x=x.at(value), y=y.start + 18, text_anchor="middle"))
    parts.append(element("line", x1=x.at(0), y1=y.at(0), x2=x.at(1), y2=y.at(1), class_="ideal"))
    turn = _along(x, y, 0.31)
    parts.append(element("text", "as often as predicted", x=x.at(0.31), y=y.at(0.31) - 7, transform=turn, class_="aside"))
    parts.append(element("text", "true more often", x=x.at(0.04), y=y.at(0.93), class_="aside"))
    parts.append(element("text", "true less often", x=x.at(0.97), y=y.at(0.07), text_anchor="end", class_="aside"))
    line = " ".join(f"{x.at(predicted):.1f},{y.at(observed):.1f}" for predicted, observed, _ in points)
    parts.append(element("polyline", points=line, class_="line"))
    for predicted, observed, share in points:
        parts.append(element("circle", cx=x.at(predicted), cy=y.at(observed), r=max(15 * share**0.5, 1.5), class_="mass"))
    parts.append(element("text", "predicted probability", x=x.end + 12, y=height - 8, text_anchor="end"))
    description = "; ".join(
        f"predicted {percent(predicted)}, observed {percent(observed)}" for predicted, observed, _ in points
    )
    return _drawing("Observed share of true facts by predicted probability", f"{description}.", width, height, *parts)


def ticks(low: float, high: float) -> list[float]:
    """Return round values from `low` to `high`, five at most."""
    span = high - low
    if not span > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(span))
    for step in (power * factor for factor in (0.1, 0.2, 0.5, 1, 2, 5)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < _MOST_TICKS:
            return [number * step for number in range(first, last + 1)]
    return [low, high]


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high`, laid from pixel `start` to pixel `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        span = self.high - self.low
        return self.start + (self.end - self.start) * ((value - self.low) / span if span else 0.5)


def _levels(y: Axis, x: Axis) -> list[Markup]:
    found = []
    for value in ticks(y.low, y.high):
        height = y.at(value)
        found.append(element("line", x1=x.start, x2=x.end, y1=height, y2=height, class_="level"))
        found.append(element("text", f"{value:g}", x=x.start - 6, y=height + 4, text_anchor="end"))
    return found


def _feet(x: Axis, height: float, across: str) -> list[Markup]:
    found = []
    values = ticks(x.low, x.high)
    for value in values:
        anchor = "end" if value == values[-1] and x.end - x.at(value) < 20 else "middle"
        label = f"{value:g} {across}" if value == values[-1] else f"{value:g}"
        foot = x.end + 12 if anchor == "end" else x.at(value)
        found.append(element("text", label, x=foot, y=height - 14, text_anchor=anchor))
    return found


def _labelled(x: float, y: float, label: str, *, left: bool) -> Markup:
    """Return a dot with its value above it, to the left or to the right."""
    text = element("text", label, x=x + (4 if left else -4), y=y - 9, text_anchor="end" if left else "start", class_="label")
    return Markup().join([element("circle", cx=x, cy=y, r=3.2, class_="dot"), text])


def _downsampled(points: Points) -> Points:
    step = -(-len(points) // _MOST_POINTS)
    return [*points[:-1:step], points[-1]]


def _along(x: Axis, y: Axis, value: float) -> str:
    """Return a turn about a point of the diagonal that lays text along it."""
    angle = math.degrees(math.atan2(y.at(1) - y.at(0), x.at(1) - x.at(0)))
    return f"rotate({angle:.2f} {x.at(value):.2f} {y.at(value):.2f})"


def _drawing(title: str, description: str, width: float, height: float, *parts: Markup) -> Markup:
    """Return an SVG element with its title and description for those who do not see it."""
    size = f"0 0 {width:g} {height:g}"
    named = (element("title", title), element("desc", description))
    return element("svg", *named, *parts, class_="chart", viewBox=size, width=width, height=height, role="img")


def element(name: str, /, *children: str | None, **attributes: str | float | None) -> Markup:
    """Return an element; text is escaped unless it is markup, None is left out, and `class_` is the attribute `class`."""
    given = Markup("").join(
        Markup(' {}="{}"').format(key.removesuffix("_").replace("_", "-"), _attribute(value))
        for key, value in attributes.items()
        if value is not None
    )
    return Markup("<{0}{1}>{2}</{0}>").format(name, given, Markup("").join(escape(one) for one in children if one))


def _attribute(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
