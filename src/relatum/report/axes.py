"""Where values stand in a chart, and which of them are written at its sides."""

from __future__ import annotations

import math
from dataclasses import dataclass

from relatum.report.markup import Markup, tag

__all__ = ["Axis", "drawing", "ticks"]

_MOST_TICKS = 5


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


def drawing(title: str, description: str, width: float, height: float, *parts: Markup) -> Markup:
    """Return an SVG element with its title and description for those who do not see it."""
    size = f"0 0 {width:g} {height:g}"
    named = (tag("title", title), tag("desc", description))
    return tag("svg", *named, *parts, class_="chart", viewBox=size, width=width, height=height, role="img")
