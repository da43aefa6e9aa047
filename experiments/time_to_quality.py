"""Train a spec and see how good it is on the test facts as time goes by: a curve of time to quality.

    python experiments/time_to_quality.py experiments/jf17k.toml --aim 0.530 --minutes 3 [--seed 0] [--out results]

Whenever validation finds better parameters than before, the test facts are ranked with them: what somebody would have who
stopped then. Nothing is decided by it, and the time it takes is left out; training and validation count. Writes
OUT/time-to-quality-DATA.json, and draws OUT/time-to-quality.svg and .png from all such files there.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from relatum import KnownAnswers, Spec, Split, __version__, load
from relatum.files import atomic_file
from relatum.inference.ranking import Metrics, rank
from relatum.inference.validation import validator
from relatum.kernels.parallel import threads
from relatum.models import MODELS
from relatum.paper.figure_style import PAGE, STYLES, grid, styled, write_figure
from relatum.runs.experiment import file_word
from relatum.training.loop import State, train

RESULTS = Path(__file__).parents[1] / "results"


def curve(spec: Spec, split: Split) -> list[dict[str, float]]:
    """Return the points of a curve: epoch, seconds of training and validation, validation score and test MRR."""
    model = MODELS[spec.model](split.train, spec.settings)
    validate = validator(model, split, spec.training.validation_metric)
    known = KnownAnswers(*split.parts.values())
    points: list[dict[str, float]] = []
    began = time.perf_counter()  # moved on by what does not count

    def watch(event: str, state: State, said: dict[str, Any]) -> None:
        nonlocal began
        if event != "validation" or not said["best"]:
            return
        now = time.perf_counter()
        test = Metrics.of(rank(model, state.best, split.test, known)).mrr
        points.append({"epoch": state.epoch, "seconds": round(now - began, 1), "valid": said["score"], "test_mrr": test})
        print(f"epoch {state.epoch}: {now - began:.0f} s, valid {said['score']:.4f}, test MRR {test:.4f}", flush=True)
        began += time.perf_counter() - now

    train(model, split.train, spec.training, spec.seed, validate=validate, watch=watch)
    return points


def draw(folder: Path) -> None:
    """Draw every curve of a folder, beside what it aims at."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("time-to-quality-*.json"))]
    with styled():
        figure = Figure(figsize=(PAGE, 2.2), layout="constrained")
        for axes, one in zip(figure.subplots(1, len(found), squeeze=False)[0], found, strict=True):
            minutes, test = zip(*((point["seconds"] / 60, point["test_mrr"]) for point in one["points"]), strict=True)
            axes.plot(minutes, test, **STYLES["reale"].of_line)
            axes.axhline(one["aim"]["test_mrr"], color="#777777", lw=0.8, ls="--")
            axes.axvline(one["aim"]["minutes"], color="#777777", lw=0.8, ls=":")
            axes.set(xlabel="minutes", ylabel="test MRR", title=f"{one['data']['name']}: aim {one['aim']['test_mrr']:.3f}")
            axes.set_xlim(left=0)
            grid(axes)
        write_figure(figure, folder / "time-to-quality")


def main() -> None:
    """Train, rank, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", type=Path)
    parser.add_argument("--aim", type=float, required=True, help="a test MRR")
    parser.add_argument("--minutes", type=float, required=True, help="in which it should be reached")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", dest="changes", action="append", default=[])
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    spec = replace(Spec.read(options.spec, options.changes), seed=options.seed)
    split = load(spec.data)
    if not len(split.valid) or not len(split.test):
        parser.error(f"{spec.data}: a curve needs valid facts and test facts")
    points = curve(spec, split)
    reached = next((point["seconds"] for point in points if point["test_mrr"] >= options.aim), None)
    report = {
        "made_by": f"python experiments/time_to_quality.py experiments/{options.spec.name} --aim {options.aim} "
        f"--minutes {options.minutes} --seed {options.seed}" + "".join(f" --set {change}" for change in options.changes),
        "data": {"name": spec.data, "checksums": dict(split.checksums)},
        "aim": {"test_mrr": options.aim, "minutes": options.minutes},
        "reached_after_seconds": reached,
        "points": points,
        "spec": spec.to_dict(),
        "machine": f"{platform.system()} {platform.machine()}, {threads()} threads",
        "versions": {"relatum": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }
    with atomic_file(options.out / f"time-to-quality-{file_word(spec.data)}.json") as file:
        file.write((json.dumps(report, indent=1) + "\n").encode())
    draw(options.out)
    table = Table("epoch", "seconds", "valid", "test MRR")
    for point in points:
        shown = {"epoch": ".0f", "seconds": ".0f", "valid": ".4f", "test_mrr": ".4f"}
        table.add_row(*(format(point[name], form) for name, form in shown.items()))
    Console().print(table)
    print(f"{options.aim} {'not reached' if reached is None else f'reached after {reached:.0f} s'}")


if __name__ == "__main__":
    main()
