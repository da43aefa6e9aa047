"""Measure what rounding entities to bfloat16 costs: `python experiments/entity_storage.py RUN ...`.

Writes results/entity-storage.json: the MRR of each run on its test facts, by the embedding alone, as it is and with the rows
of its entities rounded as `training.entity_storage = "bfloat16"` rounds them, and the bytes that these rows take. Nothing is
trained or chosen: both are ranked by the same program, on the same questions.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from relatum import KnownAnswers, Run, __version__
from relatum.inference.ranking import mrr_interval, rank
from relatum.runs.results import save_results

RESULTS = Path(__file__).parents[1] / "results"


def measured(folder: Path) -> dict[str, Any]:
    """Return the MRR of a run before and after rounding, and how many answers change their rank."""
    run = Run.load(folder)
    known = KnownAnswers(*run.split.parts.values())
    rounded = {name: run.parameters[name].bfloat16().float() for name in run.model.entity_tables}
    one = rank(run.model, run.parameters, run.split.test, known)
    other = rank(run.model, {**run.parameters, **rounded}, run.split.test, known)
    size = sum(run.parameters[name].numel() for name in run.model.entity_tables)
    return {
        "data": str(run.spec.data),
        "model": run.model.name,
        "dim": run.model.settings.dim,
        "questions": len(one),
        "float32": {"mrr": one.metrics.mrr, "interval": mrr_interval(one), "bytes": 4 * size},
        "bfloat16": {"mrr": other.metrics.mrr, "interval": mrr_interval(other), "bytes": 2 * size},
        "ranks_that_differ": float(np.mean(one.realistic != other.realistic)),
    }


def main() -> None:
    """Measure the runs that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    given = parser.parse_args()
    found = {folder.name: measured(folder) for folder in given.runs}
    for name, one in found.items():
        mrrs = f"{one['float32']['mrr']:.5f} as float32, {one['bfloat16']['mrr']:.5f} as bfloat16"
        print(f"{name}: {mrrs}, {one['ranks_that_differ']:.1%} of the ranks differ")
    about = {"made_by": "python experiments/entity_storage.py RUN ...", "relatum": __version__}
    save_results(RESULTS / "entity-storage.json", {**about, "runs": found})


if __name__ == "__main__":
    main()
