"""Measure how time and memory grow with the facts: `python experiments/growth.py [--facts 10000 100000 1000000 10000000]`.

Writes results/growth.json, .svg and .png. The facts are made: of arity 3, over 200 relations, entities a tenth of the facts,
drawn with a long tail. Each measurement is a process of its own, so that its peak is its own; kernels are compiled before.
Measured are reading the text, loading the cache, an epoch (ReAlE, d = 100), ranking 10,002 questions and answering one. A
slope is that of a line through the last three points on logarithmic axes: 1 is growth in proportion.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parents[1] / "results"
RELATIONS, ARITY, TEST = 200, 3, 3_334
MODEL = {"dim": 100, "window": 2}
TRAINING = {
    "rows": "questions",
    "epochs": 1,
    "batch_size": 256,
    "batches_per_step": 8,
    "num_negatives": 1000,
    "in_relation_share": 0.5,
    "learning_rate": 1.0,
    "ema_decay": 0.0,
}
WORKS = ("reading", "cache", "epoch", "ranking", "question")
WARM = 50_000  # facts of what is measured first, to have kernels compiled


def make_facts(folder: Path, facts: int) -> None:
    """Write train.txt and test.txt."""
    rng, entities = np.random.default_rng(0), max(ARITY, facts // 10)
    for part, count in (("train", facts), ("test", TEST)):
        with (folder / f"{part}.txt").open("wb") as file:
            for start in range(0, count, 500_000):
                size = min(500_000, count - start)
                drawn = (entities * rng.random((size, ARITY)) ** 2).astype(np.int64).tolist()
                relations = rng.integers(0, RELATIONS, size).tolist()
                lines = (f"r{r}\tm.0{a:x}\tm.0{b:x}\tm.0{c:x}\n" for r, (a, b, c) in zip(relations, drawn, strict=True))
                file.write("".join(lines).encode())


def measured(work: str, folder: Path, warm: Path) -> dict[str, Any]:
    """Return what one work takes, in this process: seconds, and how many bytes it adds at its worst."""
    run = globals()[f"measure_{work}"]
    run(warm)  # compiles kernels and loads libraries
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before, extra = _memory("VmRSS"), run(folder)
    return {"bytes": _memory("VmHWM") - before, "resident": _memory("VmHWM"), **extra}


def measure_reading(folder: Path) -> dict[str, Any]:
    """Read the text."""
    from relatum import load

    began = time.perf_counter()
    split = load(folder, use_cache=False)
    return {"seconds": time.perf_counter() - began, "facts": len(split.train), "entities": len(split.entities)}


def measure_cache(folder: Path) -> dict[str, Any]:
    """Load what was read before."""
    from relatum import load

    load(folder)  # writes it if it is not there
    began = time.perf_counter()
    load(folder)
    return {"seconds": time.perf_counter() - began}


def _loaded(folder: Path) -> tuple[Any, Any]:
    from relatum import load
    from relatum.models import MODELS

    split = load(folder)
    reale = MODELS["reale"]
    return split, reale(split.train, reale.settings_type(**MODEL))


def measure_epoch(folder: Path) -> dict[str, Any]:
    """Train for an epoch, all that comes before the first step included."""
    from relatum.training.loop import train
    from relatum.training.settings import TrainingSettings

    split, model = _loaded(folder)
    steps: list[float] = []
    began = time.perf_counter()

    def watch(event: str, *_: object) -> None:
        if event == "step":
            steps.append(time.perf_counter() - began)
            if len(steps) % 1000 == 0:
                print(f"  step {len(steps)}: {steps[-1]:.0f} s", file=sys.stderr, flush=True)

    train(model, split.train, TrainingSettings(**TRAINING), 0, watch=watch)
    return {"seconds": time.perf_counter() - began, "steps": len(steps)}


def measure_ranking(folder: Path) -> dict[str, Any]:
    """Rank the test facts at every position, filtered."""
    import torch

    from relatum.data.known_answers import KnownAnswers
    from relatum.inference.ranking import rank

    split, model = _loaded(folder)
    parameters = model.init_parameters(torch.Generator().manual_seed(0))
    began = time.perf_counter()
    known = KnownAnswers(split.train, split.test)
    indexed = time.perf_counter() - began
    ranks = rank(model, parameters, split.test, known)
    return {"seconds": time.perf_counter() - began, "seconds_of_indexing": indexed, "questions": len(ranks)}


def measure_question(folder: Path) -> dict[str, Any]:
    """Answer a question about one position by all entities; nothing is packed before."""
    import torch

    from relatum.inference.scoring import CandidateScorer

    split, model = _loaded(folder)
    tables = model.encode(model.init_parameters(torch.Generator().manual_seed(0)))
    columns = split.test.table("r0").columns[:, :10]
    times = []
    for number in range(columns.shape[1]):
        began = time.perf_counter()
        scorer = CandidateScorer(model, tables, split.schema.id("r0"))
        scorer.top(number % ARITY, columns[:, [number]], 10)
        times.append(time.perf_counter() - began)
    return {"seconds": float(np.median(times)), "slowest": max(times)}


def slope(points: list[tuple[int, float]]) -> float:
    """Return the slope of a line through points on logarithmic axes."""
    x, y = np.log10(np.array(points, float)).T
    return float(np.polyfit(x, y, 1)[0])


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw seconds and memory beside each other."""
    from matplotlib.figure import Figure

    from relatum.paper.figure_style import PAGE, styled

    with styled():
        figure = Figure(figsize=(PAGE, 3.2), layout="constrained")
        looks = zip(WORKS, "osD^v", ("#1f5fa8", "#6b6b6b", "#c8641e", "#2f7d4f", "#8a3b8f"), strict=True)
        left, right = figure.subplots(1, 2)
        for work, marker, color in looks:
            rows = [(one["facts"], one[work]) for one in found["sizes"] if work in one]
            for axes, key, unit in ((left, "seconds", 1.0), (right, "bytes", 1e6)):
                xs, ys = [facts for facts, _ in rows], [max(each[key] / unit, 1e-3 if unit == 1 else 1) for _, each in rows]
                axes.loglog(xs, ys, marker=marker, color=color, ms=4, mfc="white", lw=1.1, label=work)
        for axes, title in ((left, "seconds"), (right, "MB above the start (1 or less: 1)")):
            axes.set(xlabel="facts (entities: a tenth)", title=title)
            axes.grid(alpha=0.3, lw=0.5)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        handles, names = left.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
        for ending in ("svg", "png"):
            figure.savefig(path.with_suffix(f".{ending}"), dpi=200)


def _memory(field: str) -> int:
    return 1024 * int(Path("/proc/self/status").read_text().partition(f"{field}:")[2].split()[0])


def main() -> None:
    """Measure, or be one of the processes that do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, nargs="+", default=[10_000, 100_000, 1_000_000, 10_000_000])
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS))
    parser.add_argument("--out", type=Path, default=RESULTS / "growth.json")
    parser.add_argument("--folder", type=Path, help="where made facts are kept from one call to the next")
    parser.add_argument("--one", nargs=3, metavar=("WORK", "FOLDER", "WARM"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.one[0], Path(given.one[1]), Path(given.one[2]))))
        return
    from relatum import __version__
    from relatum.runs.results import save_results

    previous = json.loads(given.out.read_text())["sizes"] if given.out.exists() else []
    sizes = {one["facts"]: one for one in previous}
    with tempfile.TemporaryDirectory() as temporary:
        base = given.folder or Path(temporary)
        environment = {**os.environ, "RELATUM_CACHE": str(base / "cache")}
        for facts in sorted({WARM, *given.facts}):
            if not (base / str(facts) / "test.txt").exists():
                (base / str(facts)).mkdir(parents=True, exist_ok=True)
                make_facts(base / str(facts), facts)
        for facts in given.facts:
            sizes.setdefault(facts, {"facts": facts})
            for work in given.works:
                command = [sys.executable, __file__, "--one", work, str(base / str(facts)), str(base / str(WARM))]
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
                one = sizes[facts][work] = json.loads(done.stdout)
                print(f"{facts:>10,} facts  {work:8} {one['seconds']:10.3f} s {one['bytes'] / 1e6:9.0f} MB", flush=True)
    rows = [sizes[facts] for facts in sorted(sizes)]
    slopes = {
        work: {
            key: round(slope([(one["facts"], one[work][key]) for one in rows if work in one][-3:]), 3)
            for key in ("seconds", "bytes")
        }
        for work in WORKS
        if sum(work in one for one in rows) > 1
    }
    found = {
        "made_by": "python experiments/growth.py",
        "relatum": __version__,
        "machine": {"processors": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()},
        "model": MODEL,
        "training": TRAINING,
        "slopes_of_the_last_three": slopes,
        "sizes": rows,
    }
    save_results(given.out, found)
    draw(found, given.out)
    print(json.dumps(slopes, indent=1))


if __name__ == "__main__":
    main()
