"""Figures of finished runs, as SVG and PNG; one file for each kind of figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relatum.errors import DataError
from relatum.paper.drawing import Drawing, write_figure
from relatum.paper.learning import draw_learning
from relatum.paper.parts import draw_parts
from relatum.paper.published import TABLE_1
from relatum.paper.style import styled
from relatum.paper.time_to_quality import draw_time
from relatum.paper.windows import draw_windows
from relatum.progress import progress
from relatum.runs.collected import Result
from relatum.runs.naming import file_word
from relatum.runs.series import series

__all__ = ["FIGURES", "Made", "make_figures"]

FIGURES: dict[str, Callable[[str, Sequence[Result]], Drawing]] = {
    "window": draw_windows,
    "learning": draw_learning,
    "parts": draw_parts,
    "time": draw_time,
}


@dataclass(frozen=True)
class Made:
    """A figure's files, and what was left out of it; without files, why it was not made."""

    name: str
    files: tuple[Path, ...]
    left_out: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return what was made as plain data."""
        return {"name": self.name, "files": [str(file) for file in self.files], "left_out": list(self.left_out)}


def make_figures(results: Sequence[Result], out: Path) -> list[Made]:
    """Return which figures were made of results, as `DATA-FIGURE.svg` and `.png` in a folder, and which not and why.

    Where there are results on one dataset of the paper, those on which there are none are named.
    """
    datasets = sorted({one.data for one in results})
    words = {data: file_word(data) for data in datasets}
    if len(set(words.values())) < len(words):
        raise DataError("two datasets would give their figures one name; draw them one at a time")
    wanted = [(data, kind) for data in datasets for kind in FIGURES if kind != "window" or _has_windows(data, results)]
    made = []
    with styled(), progress("figures", len(wanted)) as advance:
        for data, kind in wanted:
            drawing, name = FIGURES[kind](data, results), f"{words[data]}-{kind}"
            files = () if drawing.figure is None else write_figure(drawing.figure, out / name)
            made.append(Made(name, files, drawing.left_out))
            advance(1)
    absent = [data for data in TABLE_1 if data not in datasets] if TABLE_1.keys() & set(datasets) else []
    return made + [Made(data, (), ("there are no results on it",)) for data in absent]


def _has_windows(data: str, results: Sequence[Result]) -> bool:
    """Return whether a figure by window size is to be had; that of JF17K is the paper's, so its lack is worth saying."""
    return data == "jf17k" or bool(series(results, data, "reale", "model.window"))
