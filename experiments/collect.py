"""Put finished runs of one spec into `results/`: `python experiments/collect.py NAME RUN [RUN ...]`.

Evaluates each run on its test facts and writes results/NAME.json: settings, data checksums, versions, time, validation and
test metrics of every seed, and their mean and spread. Nothing in that file is written by hand.
"""

from __future__ import annotations

import itertools
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from relatum import Run, Spec
from relatum.evaluation.breakdown import breakdown, macro_mrr
from relatum.evaluation.interval import mrr_interval
from relatum.evaluation.ranks import Ranks
from relatum.kernels.parallel import threads
from relatum.runs.directory import JOURNAL, PROVENANCE, SPEC
from relatum.runs.journal import Journal

RESULTS = Path(__file__).parents[1] / "results"


def report(folder: Path) -> dict[str, Any]:
    """Return what one run reached, and how."""
    run, spec = Run(folder), Spec.read(folder / SPEC)
    events = Journal(folder / JOURNAL).read()
    began = time.perf_counter()
    ranks = run.evaluate("test")
    evaluation = time.perf_counter() - began
    best = max((event for event in events if event["event"] == "validation"), key=lambda event: event["score"])
    trust = run.reliability("test")
    keys = ["arity", "operation", "depth"] if run.split.origins else ["arity"]
    return {
        "seed": spec.seed,
        "minutes_of_training": round(seconds_spent(events) / 60, 2),
        "interruptions": sum(event["event"] == "resume" for event in events),
        "seconds_of_evaluation": round(evaluation, 2),
        "epochs": events[-1]["epoch"],
        "best_epoch": best["epoch"],
        "valid": {"mrr": best["score"], "filter": "train and valid"},
        "test": {
            **ranks.metrics.to_json(),
            "mrr_interval": mrr_interval(ranks),
            "mrr_macro": {key: macro_mrr(breakdown(ranks, key, run.model.schema)) for key in ("arity", "relation")},
            **{f"by_{key}": by(run, ranks, key) for key in keys},
            "filter": "train, valid and test",
        },
        "calibration": None if trust is None else trust.to_json(),
    }


def by(run: Run, ranks: Ranks, key: str) -> dict[str, Any]:
    """Return the metrics of each part of the questions."""
    parts = breakdown(ranks, key, run.model.schema, run.split.origins)
    return {name: part.to_json() for name, part in parts.items()}


def seconds_spent(events: list[dict[str, Any]]) -> float:
    """Return how long training took, without the time between an interruption and the resumption."""
    pairs = itertools.pairwise(events)
    return sum(after["time"] - before["time"] for before, after in pairs if after["event"] != "resume")


def main(name: str, folders: list[str]) -> None:
    """Write the results of some runs, which differ in their seed alone."""
    specs = [{**Spec.read(Path(folder) / SPEC).to_dict(), "seed": None} for folder in folders]
    if any(spec != specs[0] for spec in specs):
        sys.exit("the runs differ in more than their seed")
    runs = sorted((report(Path(folder)) for folder in folders), key=lambda found: found["seed"])
    mrr = [found["test"]["mrr"] for found in runs]
    whole = {
        "spec": specs[0],
        "provenance": json.loads((Path(folders[0]) / PROVENANCE).read_text()),
        "machine": f"{platform.system()} {platform.machine()}, {threads()} threads",
        "test_mrr": {"mean": float(np.mean(mrr)), "spread": float(np.std(mrr, ddof=1)) if len(mrr) > 1 else None},
        "runs": runs,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(whole, indent=1) + "\n")
    print(f"{name}: test MRR {np.mean(mrr):.4f}, seeds {', '.join(f'{value:.4f}' for value in mrr)}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
