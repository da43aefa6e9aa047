"""Figures have the same bytes each time, need no colour, and say what is left out of them."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.image
import numpy as np
import pytest

from relatum.models import MODELS
from relatum.paper.figure_style import styled
from relatum.paper.figures import FigureFiles, draw_time, make_figures, mean_reached
from relatum.runs.results import Point, read_results
from support.made_results import parts, write_result

RESULTS = Path(__file__).parents[2] / "results"
COURSE = [(10, 60.0, 0.2), (20, 125.5, 0.4), (30, 190.0, 0.39)]
BY = {"by_arity": parts(_2=0.3, _3=0.6), "by_relation_size": parts(_0=0.1, _10=0.5)}


def write_all(folder: Path) -> None:
    for number, model in enumerate(MODELS):
        course = [(epoch, time * (1 + number), score - number / 100) for epoch, time, score in COURSE]
        settings = {"window": 2, "dim": 200} if model == "reale" else None
        write_result(folder, model, "jf17k", model, [0.5, 0.51], course=course, settings=settings, **BY)
    for window in (1, 8):
        write_result(folder, f"w{window}", "jf17k", "reale", [0.4], valid=0.1, settings={"window": window, "dim": 200})


def made(folder: Path, out: Path) -> dict[str, FigureFiles]:
    return {one.name: one for one in make_figures(read_results(folder).results, out)}


def drawing(path: Path) -> tuple[list[str], dict[str, np.ndarray]]:
    """Return what an SVG shows, whatever version of Matplotlib has drawn it: its texts, and points by colour and dashes.

    Points are given relative to the box around all of them, so that other margins do not matter.
    """
    svg = path.read_text(encoding="utf-8")
    shapes: dict[str, list[tuple[float, float]]] = {}
    for clipped in re.findall(r"<path [^>]*clip-path[^>]*>", svg):  # what shows data is clipped to its axes
        outline, style = (re.search(rf' {name}="([^"]*)"', clipped) for name in ("d", "style"))
        assert outline is not None
        key = ";".join(sorted(re.findall(r"(?:fill|stroke|stroke-dasharray): [^;]*", style[1]))) if style else ""
        numbers = [float(number) for number in re.findall(r"-?[0-9.]+", outline[1])]
        shapes.setdefault(key, []).extend(zip(numbers[::2], numbers[1::2], strict=True))
    every = np.array([point for points in shapes.values() for point in points])
    low, high = every.min(axis=0), every.max(axis=0)
    return re.findall(r"<!-- (.*?) -->", svg), {key: (np.array(each) - low) / (high - low) for key, each in shapes.items()}


def test_every_figure_is_an_svg_and_a_png_and_the_same_bytes_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_all(tmp_path / "results")
    first = made(tmp_path / "results", tmp_path / "first")
    monkeypatch.setitem(mpl.rcParams, "font.size", 30.0)  # a person's own settings leave no trace
    made(tmp_path / "results", tmp_path / "second")
    drawn = [name for name, one in first.items() if one.files]
    assert drawn == ["jf17k-window", "jf17k-learning", "jf17k-parts", "jf17k-time"]
    assert {path.name for path in (tmp_path / "first").iterdir()} == {f"{n}.{k}" for n in drawn for k in ("svg", "png")}
    for name in drawn:
        assert first[name].left_out == ()
        svg, png = first[name].files
        assert svg.read_bytes() == (tmp_path / "second" / svg.name).read_bytes()
        assert svg.stat().st_size < 200_000
        pixels = mpl.image.imread(png)
        assert pixels[..., :3].min() < 0.1
        assert pixels[[0, -1]][..., :3].min() > 0.99, f"{name} is cut off at its top or bottom"
        assert pixels[:, [0, -1]][..., :3].min() > 0.99, f"{name} is cut off at a side"


def test_what_is_not_there_is_left_out_and_named_and_makes_no_folder(tmp_path: Path) -> None:
    write_result(tmp_path / "results", "new", "jf17k", "reale", [0.5], course=COURSE, **BY)
    write_result(tmp_path / "results", "old", "jf17k", "hype", [0.5], by_arity=BY["by_arity"])
    found = made(tmp_path / "results", tmp_path / "out")
    assert found["jf17k-window"] == FigureFiles(
        "jf17k-window", (), ("no two results of ReAlE on jf17k differ in their window alone",)
    )
    assert found["jf17k-learning"].left_out == ("HypE: old does not record the history of training",)
    assert found["jf17k-time"].left_out == ("HypE: old does not record the history of training",)
    assert found["jf17k-parts"].left_out == ("HypE: old has no metrics by relation size",)
    assert all(found[f"jf17k-{kind}"].files for kind in ("learning", "time", "parts"))
    assert [found[data].files for data in ("fb-auto", "m-fb15k")] == [(), ()]
    write_result(tmp_path / "alone", "old", "jf17k", "hype", [0.5])
    assert not any(one.files for one in made(tmp_path / "alone", tmp_path / "nothing").values())
    assert not (tmp_path / "nothing").exists()


def test_a_run_that_has_ended_keeps_what_it_reached() -> None:
    short = [Point(1, 60, 0.2), Point(2, 120, 0.1)]
    long = [Point(1, 90, 0.4), Point(2, 180, 0.6)]
    minutes, reached = mean_reached([short, long])
    assert minutes.tolist() == [1.5, 2.0, 3.0]
    assert reached.tolist() == pytest.approx([0.3, 0.3, 0.4])


def test_times_far_apart_and_times_of_nothing_can_be_drawn(tmp_path: Path) -> None:
    for model, seconds in (("hype", 1.0), ("reale", 90.0), ("rae", 0.0)):
        course = [(epoch, time * seconds, score) for epoch, time, score in COURSE]
        write_result(tmp_path / model, model, "jf17k", model, [0.5], course=course)
        write_result(tmp_path / "all", model, "jf17k", model, [0.5], course=course)
    with styled():
        for folder in ("hype", "rae", "all"):
            figure, _ = draw_time("jf17k", read_results(tmp_path / folder).results)
            assert figure is not None
            figure.draw_without_rendering()


def test_the_committed_figures_show_the_committed_results(tmp_path: Path) -> None:
    names = {f"{name}.{kind}" for name, one in made(RESULTS, tmp_path).items() if one.files for kind in ("svg", "png")}
    assert {path.name for path in (RESULTS / "figures").iterdir()} == names, "relatum figures results --out results/figures"
    for path in sorted(tmp_path.glob("*.svg")):
        (texts, mine), (committed, theirs) = drawing(path), drawing(RESULTS / "figures" / path.name)
        assert (texts, mine.keys()) == (committed, theirs.keys()), path.name
        for style, points in mine.items():
            np.testing.assert_allclose(points, theirs[style], atol=0.01, err_msg=path.name)
