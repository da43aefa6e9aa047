"""The test MRR of ReAlE by window size, all else equal; the paper draws such a curve but prints none of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relatum.extras import optional
from relatum.paper.drawing import Drawing
from relatum.paper.published import BEST_WINDOWS, TABLE_1
from relatum.paper.style import COLUMN, STYLES, grid, legend_below
from relatum.runs.collected import Result
from relatum.runs.series import series

with optional("matplotlib", extra="plot"):
    from matplotlib.figure import Figure
    from matplotlib.patheffects import withStroke

__all__ = ["draw_windows"]

_LINE = {**STYLES["reale"].of_line, "capsize": 2.5, "elinewidth": 1.0}


def draw_windows(data: str, results: Sequence[Result]) -> Drawing:
    """Return the MRR by window size, with a bar of the spread where there are several seeds."""
    found = series(results, data, "reale", "model.window")
    if not found:
        return Drawing(None, (f"no two results of ReAlE on {data} differ in their window alone",))
    windows = list(found)
    means = np.array([one.mean("mrr") or 0.0 for one in found.values()])
    spreads = np.array([one.spread("mrr") or 0.0 for one in found.values()])
    figure = Figure(figsize=(COLUMN, 2.2), layout="constrained")
    axes = figure.subplots()
    error = spreads if spreads.any() else None
    drawn: dict[str, object] = {"ours": axes.errorbar(windows, means, error, **_LINE)}
    for window, mean, spread in zip(windows, means, spreads, strict=True):
        label = axes.annotate(f"{mean:.3f}", (window, mean + spread), (0, 4), textcoords="offset points", ha="center")
        label.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
    if data in TABLE_1:
        published = TABLE_1[data]["reale"][0]
        drawn[f"paper's best: {published:.3f}"] = axes.axhline(published, color="#555555", ls=(0, (1, 1.5)), lw=1.3)
    if data == "jf17k":  # where the paper has its curve
        drawn["paper: best here"] = axes.axvspan(*BEST_WINDOWS, facecolor="#e4e4e4", lw=0, zorder=0)
    axes.margins(x=0.08, y=0.2)
    axes.set_xticks(windows, [str(window) for window in windows])
    axes.set(xlabel="window size", ylabel="test MRR", title=f"{data}: ReAlE by window size{_alike(found)}")
    grid(axes)
    legend_below(figure, list(drawn.values()), list(drawn), 2)
    return Drawing(figure)


def _alike(found: dict[Any, Result]) -> str:
    """Return what all results have in common and their MRR depends on, as far as their specs set it."""
    spec = next(iter(found.values())).spec
    dim, epochs = spec["model"].get("dim"), spec.get("training", {}).get("epochs")
    return (f", d {dim}" if dim else "") + (f", {epochs} epochs" if epochs else "")
