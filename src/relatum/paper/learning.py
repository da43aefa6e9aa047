"""Learning curves: the validation MRR by epoch, one line a system."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relatum.extras import optional
from relatum.models import MODELS
from relatum.paper.courses import courses_of
from relatum.paper.drawing import Drawing
from relatum.paper.style import COLUMN, STYLES, Style, grid, legend_below
from relatum.runs.collected import Point, Result

with optional("matplotlib", extra="plot"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_learning"]

_FEW = 3  # systems
_MARKERS = 8  # on a line, or up to twice as many


def draw_learning(data: str, results: Sequence[Result]) -> Drawing:
    """Return the curves: means over seeds as far as all of them go, and behind a few of them a thin one for each seed."""
    found, left_out = courses_of(data, results)
    if not found:
        return Drawing(None, left_out)
    figure = Figure(figsize=(COLUMN, 2.25), layout="constrained")
    axes = figure.subplots()
    if len(found) <= _FEW:
        for model, courses in found.items():
            _draw_seeds(axes, courses, STYLES[model].color)
    handles = [_draw_mean(axes, courses, STYLES[model]) for model, courses in found.items()]
    axes.set(xlabel="epoch", ylabel="validation MRR", title=f"{data}: validation by epoch", xlim=(0, None))
    axes.locator_params(axis="x", integer=True)
    grid(axes)
    legend_below(figure, handles, [MODELS[model].title for model in found], 3)
    return Drawing(figure, left_out)


def _draw_seeds(axes: Axes, courses: Sequence[Sequence[Point]], color: str) -> None:
    for course in courses if len(courses) > 1 else ():
        axes.plot([point.epoch for point in course], [point.mrr for point in course], color=color, lw=0.6, alpha=0.5)


def _draw_mean(axes: Axes, courses: Sequence[Sequence[Point]], style: Style) -> object:
    by_epoch = [{point.epoch: point.mrr for point in course} for course in courses]
    common = sorted(set.intersection(*(set(course) for course in by_epoch)))
    means = [np.mean([course[epoch] for course in by_epoch]) for epoch in common]
    step = max(1, len(common) // _MARKERS)
    (line,) = axes.plot(common, means, markevery=(step - 1, step), **style.of_line)
    return line
