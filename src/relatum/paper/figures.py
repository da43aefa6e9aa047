"""Figures of results, as SVG and PNG: windows, learning curves, parts of the test, time to quality.

The figures show no values of the paper. The paper reports test MRRs and no times; validation is filtered by fewer facts and
asks about others, so its MRR must not be read against a test MRR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relatum.arrays import Float64
from relatum.errors import DataError
from relatum.extras import optional
from relatum.formatting import duration
from relatum.models import MODELS
from relatum.paper.figure_style import COLUMN, PAGE, STYLES, grid, legend_below, styled, write_figure
from relatum.paper.published import BEST_WINDOWS, TABLE_1
from relatum.progress import progress
from relatum.runs.experiment import file_word
from relatum.runs.results import Point, Result, best_of_systems, series

with optional("matplotlib", extra="plot"):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from matplotlib.patheffects import withStroke

_BREAKDOWNS = {"by_arity": "arity of the fact", "by_relation_size": "training facts of the relation"}
_BESIDE = 4  # systems: with more, the two panels stand one below the other

_Drawing = tuple[Figure | None, tuple[str, ...]]  # what was left out of a figure; without a figure, why there is none


def draw_parts(data: str, results: Sequence[Result]) -> _Drawing:
    """Return two panels of bars, with the number of questions below each group and the spread over seeds on each bar."""
    systems = best_of_systems(results, data)
    having = {key: {model: one for model, one in systems.items() if _names(one, key)} for key in _BREAKDOWNS}
    left_out = tuple(
        f"{MODELS[model].title}: {one.name} has no metrics {key.replace('_', ' ')}"
        for key, found in having.items()
        for model, one in systems.items()
        if model not in found
    )
    having = {key: found for key, found in having.items() if found}
    if not having:
        return None, left_out
    shown = [model for model in systems if any(model in found for found in having.values())]
    beside = len(shown) <= _BESIDE
    shape = (1, len(having)) if beside else (len(having), 1)
    figure = Figure(figsize=(PAGE, 2.1 if beside else 2.0 * len(having)), layout="constrained")
    panels = figure.subplots(*shape, squeeze=False).ravel()
    for axes, (key, found) in zip(panels, having.items(), strict=True):
        _draw(axes, key, found)
    figure.suptitle(f"{data}: test MRR by arity and by size of the relation", fontsize=8.5)
    bars = [Patch(**STYLES[model].of_bar) for model in shown]
    legend_below(figure, bars, [MODELS[model].title for model in shown], 5)
    return figure, left_out


def _names(result: Result, key: str) -> list[str]:
    """Return the parts that every run of a result has metrics of."""
    tests = [run["test"].get(key) for run in result.runs]
    if not all(isinstance(test, dict) for test in tests):
        return []
    return [name for name in tests[0] if result.values(key, name, "mrr")]


def _draw(axes: Axes, key: str, systems: Mapping[str, Result]) -> None:
    parts = list(dict.fromkeys(name for one in systems.values() for name in _names(one, key)))
    width = min(0.8 / len(systems), 0.35)
    for number, (model, one) in enumerate(systems.items()):
        where = np.arange(len(parts)) + width * (number - (len(systems) - 1) / 2)
        means = [one.mean(key, part, "mrr") or 0.0 for part in parts]
        spreads = [one.spread(key, part, "mrr") or 0.0 for part in parts]
        axes.bar(where, means, 0.9 * width, **STYLES[model].of_bar)
        if len(systems) == 1:  # else there is no room for numbers
            for x, mean, spread in zip(where, means, spreads, strict=True):
                axes.annotate(
                    f"{mean:.2f}", (x, mean + spread), (0, 2), textcoords="offset points", ha="center", fontsize=6.5
                )
        if any(spreads):
            axes.errorbar(where, means, spreads, fmt="none", ecolor="#777777", elinewidth=0.9, capsize=1.5)
    counts = [max(one.mean(key, part, "questions") or 0 for one in systems.values()) for part in parts]
    labels = [f"{part}\n{count:,.0f}" for part, count in zip(parts, counts, strict=True)]
    axes.set_xticks(range(len(parts)), labels)
    axes.set(
        xlabel=f"{_BREAKDOWNS[key]}, and number of questions", ylabel="test MRR", ylim=(0, 1.05), yticks=np.linspace(0, 1, 6)
    )
    axes.set_xlim(-0.6, len(parts) - 0.4)
    grid(axes)


_LINE = {**STYLES["reale"].of_line, "capsize": 2.5, "elinewidth": 1.0}


def draw_windows(data: str, results: Sequence[Result]) -> _Drawing:
    """Return the MRR by window size, with a bar of the spread where there are several seeds."""
    found = series(results, data, "reale", "model.window")
    if not found:
        return None, (f"no two results of ReAlE on {data} differ in their window alone",)
    windows = list(found)
    means = np.array([one.mean("mrr") or 0.0 for one in found.values()])
    spreads = np.array([one.spread("mrr") or 0.0 for one in found.values()])
    figure, axes = _column(2.2)
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
    return figure, ()


def _alike(found: dict[Any, Result]) -> str:
    """Return what all results have in common and their MRR depends on, as far as their specs set it."""
    spec = next(iter(found.values())).spec
    dim, epochs = spec["model"].get("dim"), spec.get("training", {}).get("epochs")
    return (f", d {dim}" if dim else "") + (f", {epochs} epochs" if epochs else "")


_FEW = 3  # systems
_MARKERS = 8  # on a line, or up to twice as many


def draw_learning(data: str, results: Sequence[Result]) -> _Drawing:
    """Return the curves: means over seeds as far as all of them go, and behind a few of them a thin one for each seed."""
    found, left_out = _histories(data, results)
    if not found:
        return None, left_out
    figure, axes = _column(2.25)
    for model, histories in found.items() if len(found) <= _FEW else ():
        for history in histories if len(histories) > 1 else ():
            epochs, scores = [point.epoch for point in history], [point.mrr for point in history]
            axes.plot(epochs, scores, color=STYLES[model].color, lw=0.6, alpha=0.5)
    handles = []
    for model, histories in found.items():
        by_epoch = [{point.epoch: point.mrr for point in history} for history in histories]
        common = sorted(set.intersection(*(set(history) for history in by_epoch)))
        means = [np.mean([history[epoch] for history in by_epoch]) for epoch in common]
        step = max(1, len(common) // _MARKERS)
        handles += axes.plot(common, means, markevery=(step - 1, step), **STYLES[model].of_line)
    axes.set(xlabel="epoch", ylabel="validation MRR", title=f"{data}: validation by epoch", xlim=(0, None))
    axes.locator_params(axis="x", integer=True)
    grid(axes)
    legend_below(figure, handles, [MODELS[model].title for model in found], 3)
    return figure, left_out


CLOSE = 0.99  # of the best that is reached
_FAR_APART = 10  # times as long as the shortest: beyond, minutes are drawn logarithmically


def draw_time(data: str, results: Sequence[Result]) -> _Drawing:
    """Return what each system had reached by when, as a mean over seeds, with a marker where it came close to its best."""
    found, left_out = _histories(data, results)
    if not found:
        return None, left_out
    figure, axes = _column(2.25)
    handles, names, ends = [], [], []
    for model, histories in found.items():
        minutes, reached = mean_reached(histories)
        reached_at = int(np.argmax(reached >= CLOSE * reached[-1]))
        handles += axes.plot(minutes, reached, drawstyle="steps-post", markevery=[reached_at], **STYLES[model].of_line)
        names.append(f"{MODELS[model].title}, {duration(60 * float(minutes[reached_at]))}")
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
    legend_below(figure, handles, names, 2, f"markers: {100 * CLOSE:g} % of the best, reached after")
    return figure, left_out


def _column(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(COLUMN, height), layout="constrained")
    return figure, figure.subplots()


def _histories(data: str, results: Sequence[Result]) -> tuple[dict[str, list[list[Point]]], tuple[str, ...]]:
    """Return the validations of each run of each system's best result, by model, and which systems have none and why."""
    systems = best_of_systems(results, data)
    found = {model: one.histories for model, one in systems.items() if all(one.histories)}
    missing = [(MODELS[model].title, one.name) for model, one in systems.items() if model not in found]
    return found, tuple(f"{title}: {name} does not record the history of training" for title, name in missing)


def mean_reached(histories: Sequence[Sequence[Point]]) -> tuple[Float64, Float64]:
    """Return minutes, and the mean over runs of the best validation by then; a run that has ended keeps what it reached.

    It begins when every run has been validated once.
    """
    ends = [np.array([point.seconds for point in history]) / 60 for history in histories]
    best = [np.maximum.accumulate([point.mrr for point in history]) for history in histories]
    minutes = np.unique(np.concatenate(ends))
    minutes = minutes[minutes >= max(end[0] for end in ends)]
    steps = [of[np.searchsorted(end, minutes, side="right") - 1] for end, of in zip(ends, best, strict=True)]
    return minutes, np.mean(steps, axis=0)


FIGURES: dict[str, Callable[[str, Sequence[Result]], _Drawing]] = {
    "window": draw_windows,
    "learning": draw_learning,
    "parts": draw_parts,
    "time": draw_time,
}


@dataclass(frozen=True)
class FigureFiles:
    """A figure's files, and what was left out of it; without files, why it was not drawn."""

    name: str
    files: tuple[Path, ...]
    left_out: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the figure as plain data."""
        return {"name": self.name, "files": [str(file) for file in self.files], "left_out": list(self.left_out)}


def make_figures(results: Sequence[Result], out: Path) -> list[FigureFiles]:
    """Return which figures were drawn from results, as `DATA-FIGURE.svg` and `.png` in a folder, and which not and why.

    Where there are results on one dataset of the paper, those on which there are none are named.
    """
    datasets = sorted({one.data for one in results})
    words = {data: file_word(data) for data in datasets}
    if len(set(words.values())) < len(words):
        raise DataError("no-results", "two datasets would give their figures one name", remedy="draw them one at a time")
    # That by window size of JF17K is the paper's, so its lack is worth saying.
    windowed = [data for data in datasets if data == "jf17k" or series(results, data, "reale", "model.window")]
    wanted = [(data, figure) for data in datasets for figure in FIGURES if figure != "window" or data in windowed]
    drawn = []
    with styled(), progress("figures", len(wanted)) as advance:
        for data, figure in wanted:
            (drawing, left_out), name = FIGURES[figure](data, results), f"{words[data]}-{figure}"
            files = () if drawing is None else write_figure(drawing, out / name)
            drawn.append(FigureFiles(name, files, left_out))
            advance(1)
    absent = [data for data in TABLE_1 if data not in datasets] if TABLE_1.keys() & set(datasets) else []
    return drawn + [FigureFiles(data, (), ("there are no results on it",)) for data in absent]
