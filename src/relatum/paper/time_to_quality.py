"""Time to quality: the best validation MRR so far against minutes of training.

No figure of the paper stands beside it. The paper reports test MRRs and no times; validation is filtered by fewer facts and
asks about others, so its MRR must not be read against a test MRR.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from relatum.extras import optional
from relatum.formatting import duration
from relatum.models import MODELS
from relatum.paper.courses import courses_of
from relatum.paper.drawing import Drawing
from relatum.paper.style import COLUMN, STYLES, grid, legend_below
from relatum.runs.collected import Point, Result, best_of_systems

with optional("matplotlib", extra="plot"):
    from matplotlib.figure import Figure

__all__ = ["NEAR", "draw_time", "mean_reached"]

Floats = npt.NDArray[np.float64]

NEAR = 0.99  # of the best that is reached
_FAR_APART = 10  # times as long as the shortest: beyond, minutes are drawn logarithmically


def draw_time(data: str, results: Sequence[Result]) -> Drawing:
    """Return what each system had reached by when, as a mean over seeds, with a marker where it came near to its best."""
    found, left_out = courses_of(data, results)
    if not found:
        return Drawing(None, left_out)
    figure = Figure(figsize=(COLUMN, 2.25), layout="constrained")
    axes = figure.subplots()
    handles, names, ends = [], [], []
    for model, courses in found.items():
        minutes, reached = mean_reached(courses)
        near = int(np.argmax(reached >= NEAR * reached[-1]))
        handles += axes.plot(minutes, reached, drawstyle="steps-post", markevery=[near], **STYLES[model].of_line)
        names.append(f"{MODELS[model].title}, {duration(60 * float(minutes[near]))}")
        ends.append(minutes[-1])
    if max(ends) > _FAR_APART * min(ends) > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda minutes, _: f"{minutes:g}")
    else:
        axes.set_xlim(0, None)
    machines = {one.trained_on for model, one in best_of_systems(results, data).items() if model in found}
    where = f" on {machines.pop()}" if len(machines) == 1 and all(machines) else ""
    axes.set(xlabel=f"minutes{where}", ylabel="best validation MRR so far", title=f"{data}: validation by time")
    grid(axes)
    legend_below(figure, handles, names, 2, f"markers: {100 * NEAR:g} % of the best, reached after")
    return Drawing(figure, left_out)


def mean_reached(courses: Sequence[Sequence[Point]]) -> tuple[Floats, Floats]:
    """Return minutes, and the mean over runs of the best validation by then; a run that has ended keeps what it reached.

    It begins when every run has been validated once.
    """
    ends = [np.array([point.seconds for point in course]) / 60 for course in courses]
    best = [np.maximum.accumulate([point.mrr for point in course]) for course in courses]
    minutes = np.unique(np.concatenate(ends))
    minutes = minutes[minutes >= max(end[0] for end in ends)]
    steps = [of[np.searchsorted(end, minutes, side="right") - 1] for end, of in zip(ends, best, strict=True)]
    return minutes, np.mean(steps, axis=0)
