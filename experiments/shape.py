"""Compare the made dataset `rel-er` with JF17K: `python experiments/shape.py [--seeds 0 1 2 3 4]`.

Writes results/rel-er-shape.json, .svg and .png: how far the arities of tuples, the degrees of entities and the sizes of
relations are from those of JF17K, for each seed, with the published REL-ER as a yardstick; and whether the dataset meets the
paper's three criteria. Ends with an error if a distance is above its bound or a criterion is not met.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from rich.console import Console
from rich.table import Table

from fidelity import LARGE, Shape, criteria, distances
from relatum import __version__, load
from relatum.arrays import Int64
from relatum.data.derivations import OPERATIONS
from relatum.files import atomic_file
from relatum.synth import SynthDataset, find_preset, synthesize

RESULTS = Path(__file__).parents[1] / "results"
PRESET = "rel-er"
# All of the seeds 0 to 99 are within these. Most arities are within 0.01 and degrees within 0.12; six of the hundred seeds
# have too few tuples of some arity before sub-sampling, mostly binary ones, to give JF17K's shares (0.036 to 0.089).
BOUNDS = {"arity": 0.10, "degree": 0.14, "size_of_large": 0.25, "size": 0.45}
CRITERIA = ("complete", "diverse", "compositional")

# Told apart by line, marker and hatch as well as by colour.
JF17K = {"color": "#111111", "ls": "--", "lw": 1.4, "marker": "s", "ms": 4, "mfc": "white"}
MADE = {"color": "#1f5fa8", "ls": "-", "lw": 2.0}
PUBLISHED = {"color": "#c8641e", "ls": ":", "lw": 1.8, "marker": "^", "ms": 4.5, "mfc": "white"}
HATCHES = ("", "////", "xxxx")  # of JF17K, the made one and the published one


def counts(shape: Shape) -> dict[str, int]:
    """Return how large a dataset is; each distinct tuple counts once."""
    return {"entities": len(shape.degrees), "relations": len(shape.sizes), "tuples": int(shape.sizes.sum())}


def spread(values: list[float], digits: int = 2) -> str:
    """Return the range of some distances, as text."""
    least, most = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return least if least == most else f"{least} to {most}"


def cells(found: dict[str, Any]) -> list[str]:
    """Return the columns of one dataset's row that tell of size and distance."""
    return [f"{value:,}" for value in found["counts"].values()] + [f"{value:.3f}" for value in found["distances"].values()]


def show(whole: dict[str, Any]) -> None:
    """Print the distances and the criteria."""
    console = Console(width=120)
    table = Table(title=f"Made {PRESET} against JF17K: distances of distributions", title_justify="left")
    large = f"size ≥ {LARGE}, KS"
    for name in ("", "entities", "relations", "tuples", "arity, TV", "degree, KS", large, "size, KS"):
        table.add_column(name, justify="right" if name else "left")
    for run in whole["runs"]:
        table.add_row(f"seed {run['seed']}", *cells(run))
    table.add_section()
    table.add_row("bound", "", "", "", *(f"{bound:.3f}" for bound in whole["bounds"].values()))
    table.add_row("published REL-ER", *cells(whole["published"]))
    table.add_row("JF17K", *(f"{value:,}" for value in whole["jf17k"]["counts"].values()))
    console.print(table)
    table = Table(title="The paper's three criteria: tuples of derived relations", title_justify="left")
    depths = [str(depth) for depth in range(1, 5)]
    for name in ("", *OPERATIONS, *(f"depth {depth}" for depth in depths), "mixed"):
        table.add_column(name, justify="right" if name else "left")
    for run in whole["runs"]:
        found = run["criteria"]
        for part, mixed in found["mixed_tuples"].items():
            tuples = [found["operations"][part].get(name, 0) for name in OPERATIONS]
            tuples += [found["depths"][part].get(depth, 0) for depth in depths]
            table.add_row(f"seed {run['seed']}, {part}", *(f"{count:,}" for count in (*tuples, mixed)))
    console.print(table)
    for run in whole["runs"]:
        found = run["criteria"]
        verdicts = ", ".join(f"{name} {'yes' if found[name] else 'NO'}" for name in CRITERIA)
        mixed = (
            f"{found['mixed']} of {found['repeated']} relations of depth ≥ 2 mix operations, {found['sequences']} sequences"
        )
        console.print(f"seed {run['seed']}: {verdicts}; {mixed}", highlight=False)
    small = f"{whole['jf17k']['small_relations']:.1%} of JF17K's relations have fewer than {LARGE} tuples"
    console.print(f"{small}; ours all have {LARGE} before sub-sampling, on purpose.", highlight=False)


def draw_arities(axes: Axes, made: list[Shape], jf17k: Shape, published: Shape) -> None:
    """Draw the shares of tuples by arity as bars."""
    shapes = (jf17k, made[0], published)
    arities = sorted({arity for shape in shapes for arity in shape.arities})
    for place, (shape, style, hatch) in enumerate(zip(shapes, (JF17K, MADE, PUBLISHED), HATCHES, strict=True)):
        total = sum(shape.arities.values())
        shares = [shape.arities.get(arity, 0) / total for arity in arities]
        where = np.arange(len(arities)) + 0.27 * (place - 1)
        face = "white" if hatch else style["color"]
        axes.bar(where, shares, 0.25, facecolor=face, edgecolor=style["color"], hatch=hatch, linewidth=0.9)
    axes.set_xticks(range(len(arities)), [str(arity) for arity in arities])


def at_least(sample: Int64, places: Int64) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the share of a sample that is at least as large as each place."""
    return 1 - np.searchsorted(np.sort(sample), places, side="left") / len(sample)


def draw_tails(axes: Axes, made: list[Int64], jf17k: Int64, published: Int64) -> None:
    """Draw the share of entities or relations that have so many tuples or more, on two logarithmic axes."""
    samples = (*made, jf17k, published)
    places = np.unique(np.geomspace(1, max(map(np.max, samples)), 400).astype(np.int64))
    lowest = 0.6 / max(map(len, samples))  # below one of them
    ours = np.maximum([at_least(sample, places) for sample in made], lowest)
    axes.fill_between(places, ours.min(0), ours.max(0), color=MADE["color"], alpha=0.2, lw=0)
    for sample, style in ((jf17k, JF17K), (published, PUBLISHED), (made[0], MADE)):
        shown = places[places <= sample.max()]
        axes.plot(shown, at_least(sample, shown), markevery=0.08, **style)
    axes.set(xscale="log", yscale="log", ylim=(lowest, 1.6), xlim=(0.9, None))
    axes.grid(which="major", color="#dddddd", lw=0.6)


def draw(made: list[Shape], jf17k: Shape, published: Shape, whole: dict[str, Any]) -> Figure:
    """Return the figure: arities, degrees and sizes of the made dataset, JF17K and the published REL-ER."""

    def distance(key: str, kind: str, digits: int = 2) -> str:
        ours = spread([run["distances"][key] for run in whole["runs"]], digits)
        return (
            f"{kind}\n  made {ours} (bound {BOUNDS[key]:.2f})\n  published {whole['published']['distances'][key]:.{digits}f}"
        )

    figure = Figure(figsize=(13, 5.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    draw_arities(left, made, jf17k, published)
    left.set(xlabel="arity", ylabel="share of tuples", title="Arities: as in JF17K")
    left.text(0.4, 0.95, distance("arity", "total variation to JF17K", 3), transform=left.transAxes, va="top")
    draw_tails(middle, [shape.degrees for shape in made], jf17k.degrees, published.degrees)
    middle.set(xlabel="degree d", ylabel="share of entities in d tuples or more", title="Degrees: the same heavy tail")
    middle.text(0.04, 0.04, distance("degree", "KS distance to JF17K"), transform=middle.transAxes)
    draw_tails(right, [shape.sizes for shape in made], jf17k.sizes, published.sizes)
    right.set(
        xlabel="size s", ylabel="share of relations with s tuples or more", title="Sizes: fewer tiny and huge relations"
    )
    right.axvline(LARGE, 0.4, color="#777777", lw=0.8)
    right.text(LARGE * 1.1, 1.12, f"{LARGE} tuples", color="#555555", fontsize=9)
    both = distance("size", "KS distance to JF17K") + "\n" + distance("size_of_large", f"the same, sizes ≥ {LARGE} only")
    right.text(0.04, 0.04, both, transform=right.transAxes)
    many = len(made) > 1
    names = ("JF17K", f"made rel-er, seed {whole['runs'][0]['seed']}" + " (band: all seeds)" * many, "published REL-ER")
    handles = [
        (
            Patch(facecolor="white" if hatch else style["color"], edgecolor=style["color"], hatch=hatch),
            Line2D([], [], **style),
        )
        for style, hatch in zip((JF17K, MADE, PUBLISHED), HATCHES, strict=True)
    ]
    pairs = {tuple: HandlerTuple(ndivide=None, pad=0.6)}
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False, handlelength=6, handler_map=pairs)
    figure.get_layout_engine().set(wspace=0.04)
    figure.suptitle("The made rel-er has JF17K's arities and degrees, but not its many tiny and few huge relations")
    return figure


def write(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    with atomic_file(path) as file:
        file.write(content)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure; the same one gives the same bytes."""
    kind = path.suffix[1:]
    content = BytesIO()
    figure.savefig(content, format=kind, dpi=130, metadata={"Date": None} if kind == "svg" else {"Software": None})
    write(path, content.getvalue())


def main(seeds: list[int]) -> None:
    """Write and print how the made dataset compares, and check it against the bounds."""
    settings = find_preset(PRESET)
    splits = {name: load(name) for name in ("jf17k", "rel-er")}
    jf17k, published = (Shape.of(split) for split in splits.values())
    datasets: list[SynthDataset] = [synthesize(settings, seed) for seed in seeds]
    made = [Shape.of(dataset.split) for dataset in datasets]
    whole: dict[str, Any] = {
        "made_by": "python experiments/shape.py --seeds " + " ".join(map(str, seeds)),
        "preset": PRESET,
        "settings": settings.to_dict(),
        "checksums": {name: dict(split.checksums) for name, split in splits.items()},
        "versions": {"relatum": __version__, "numpy": np.__version__, "matplotlib": mpl.__version__},
        "python": platform.python_version(),
        "distance": "arity: total variation; others: Kolmogorov-Smirnov; distinct facts of train, valid and test together",
        "bounds": BOUNDS,
        "jf17k": {"counts": counts(jf17k), "small_relations": float(np.mean(jf17k.sizes < LARGE))},
        "published": {"counts": counts(published), "distances": distances(published, jf17k)},
        "runs": [
            {
                "seed": dataset.seed,
                "counts": counts(shape),
                "distances": distances(shape, jf17k),
                "criteria": criteria(dataset).to_json(),
            }
            for dataset, shape in zip(datasets, made, strict=True)
        ],
    }
    RESULTS.mkdir(exist_ok=True)
    write(RESULTS / "rel-er-shape.json", (json.dumps(whole, indent=1) + "\n").encode())
    with mpl.rc_context({"svg.hashsalt": "relatum", "hatch.linewidth": 0.8, "font.size": 10}):
        figure = draw(made, jf17k, published, whole)
        for suffix in ("svg", "png"):
            save_figure(figure, RESULTS / f"rel-er-shape.{suffix}")
    show(whole)
    far = [f"seed {run['seed']}: {key}" for run in whole["runs"] for key in BOUNDS if run["distances"][key] > BOUNDS[key]]
    unmet = [f"seed {run['seed']}: not {name}" for run in whole["runs"] for name in CRITERIA if not run["criteria"][name]]
    if far or unmet:
        sys.exit("beyond the bounds: " + "; ".join(far + unmet))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4], help="of the made datasets")
    main(parser.parse_args().seeds)
