"""The test MRR by arity and by the size of the relation, systems side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relatum.extras import optional
from relatum.models import MODELS
from relatum.paper.drawing import Drawing
from relatum.paper.style import PAGE, STYLES, grid, legend_below
from relatum.runs.collected import Result, best_of_systems

with optional("matplotlib", extra="plot"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

__all__ = ["draw_parts"]

_KINDS = {"by_arity": "arity of the fact", "by_relation_size": "training facts of the relation"}
_BESIDE = 4  # systems: with more, the two panels stand one below the other


def draw_parts(data: str, results: Sequence[Result]) -> Drawing:
    """Return two panels of bars, with the number of questions below each group and the spread over seeds on each bar."""
    systems = best_of_systems(results, data)
    having = {kind: {model: one for model, one in systems.items() if _names(one, kind)} for kind in _KINDS}
    left_out = tuple(
        f"{MODELS[model].title}: {one.name} has no metrics {kind.replace('_', ' ')}"
        for kind, found in having.items()
        for model, one in systems.items()
        if model not in found
    )
    having = {kind: found for kind, found in having.items() if found}
    if not having:
        return Drawing(None, left_out)
    shown = [model for model in systems if any(model in found for found in having.values())]
    beside = len(shown) <= _BESIDE
    shape = (1, len(having)) if beside else (len(having), 1)
    figure = Figure(figsize=(PAGE, 2.1 if beside else 2.0 * len(having)), layout="constrained")
    panels = figure.subplots(*shape, squeeze=False).ravel()
    for axes, (kind, found) in zip(panels, having.items(), strict=True):
        _draw(axes, kind, found)
    figure.suptitle(f"{data}: test MRR by arity and by size of the relation", fontsize=8.5)
    bars = [Patch(**STYLES[model].of_bar) for model in shown]
    legend_below(figure, bars, [MODELS[model].title for model in shown], 5)
    return Drawing(figure, left_out)


def _names(result: Result, kind: str) -> list[str]:
    """Return the parts that every run of a result has metrics of."""
    tests = [run["test"].get(kind) for run in result.runs]
    if not all(isinstance(test, dict) for test in tests):
        return []
    return [name for name in tests[0] if result.values(kind, name, "mrr")]


def _draw(axes: Axes, kind: str, systems: Mapping[str, Result]) -> None:
    parts = list(dict.fromkeys(name for one in systems.values() for name in _names(one, kind)))
    width = min(0.8 / len(systems), 0.35)
    for place, (model, one) in enumerate(systems.items()):
        where = np.arange(len(parts)) + width * (place - (len(systems) - 1) / 2)
        means = [one.mean(kind, part, "mrr") or 0.0 for part in parts]
        spreads = [one.spread(kind, part, "mrr") or 0.0 for part in parts]
        axes.bar(where, means, 0.9 * width, **STYLES[model].of_bar)
        if len(systems) == 1:  # else there is no room for numbers
            for x, mean, spread in zip(where, means, spreads, strict=True):
                axes.annotate(
                    f"{mean:.2f}", (x, mean + spread), (0, 2), textcoords="offset points", ha="center", fontsize=6.5
                )
        if any(spreads):
            axes.errorbar(where, means, spreads, fmt="none", ecolor="#777777", elinewidth=0.9, capsize=1.5)
    counts = [max(one.mean(kind, part, "questions") or 0 for one in systems.values()) for part in parts]
    labels = [f"{part}\n{count:,.0f}" for part, count in zip(parts, counts, strict=True)]
    axes.set_xticks(range(len(parts)), labels)
    axes.set(
        xlabel=f"{_KINDS[kind]}, and number of questions", ylabel="test MRR", ylim=(0, 1.05), yticks=np.linspace(0, 1, 6)
    )
    axes.set_xlim(-0.6, len(parts) - 0.4)
    grid(axes)
