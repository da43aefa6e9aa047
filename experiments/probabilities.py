"""See whether of answers said at p, p are true: against held-out facts, and against the whole truth of a synthetic dataset.

    python experiments/probabilities.py RUN [--name rel-er-0] [--synth-seed 0] [--out results/probabilities.json]

Rules are found and weighed, and probabilities fitted, anew by the run's train and valid facts. `held_out` is the reliability
of the best new answer to questions that test facts and known facts answer, test facts alone counting as true. With
--synth-seed, the seed that `relatum synth --preset rel-er` made the run's data with, new answers are looked up in the whole
truth as well: `answers`, the best new answer to each question of some known facts, all that is known left out, and
`proposals`, the most likely new facts around some. One row per name; a row that is there already is replaced.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import torch

import relatum
from relatum import Hypergraph, Run, __version__
from relatum.arrays import Bool, Float64
from relatum.files import atomic_file
from relatum.inference.answer_sample import rivals_of
from relatum.inference.calibration import Reliability
from relatum.inference.validation import sample
from relatum.kernels.parallel import threads
from relatum.runs.prediction import predict
from relatum.runs.probabilities import reliability_of
from relatum.runs.validated import validated
from relatum.synth.dataset import synthesize

RESULTS = Path(__file__).parents[1] / "results"
_ANSWERED, _AROUND = 1500, 30  # known facts whose questions are asked, and of each relation those that proposals are around


def fitted(run: Run) -> Run:
    """Return a run with rules and probabilities by the present code."""
    found = validated(run.model, run.parameters, run.split, evidence=True)
    return Run(run.model, run.parameters, spec=run.spec, split=run.split, validated=found)


def summed_up(probability: Float64, true: Bool) -> dict[str, Any]:
    """Return how probabilities fare."""
    found = Reliability.of(probability, true, np.ones(len(true)))
    return {"count": len(true), "said": float(probability.mean()), "true": float(true.mean()), **found.to_json()}


def against_truth(run: Run, seed: int, proposals: int) -> dict[str, Any]:
    """Return how the best answers and the most likely new facts fare by the whole truth."""
    truth = set(synthesize(None, seed=seed).truth)
    known, names, calibration = Hypergraph.union(list(run.split.parts.values())), list(run.entities), run.answer_calibration
    if calibration is None or not truth.issuperset(known):
        raise SystemExit(f"the facts of the run were not made with seed {seed}, or it has no valid facts")
    drawn, chances, right = sample(known, _ANSWERED), [], []
    for relation, schema in enumerate(run.schema):
        facts = drawn.table(schema.name).columns
        for position in range(schema.arity if facts.shape[1] else 0):
            rivals = rivals_of(run.scorer(schema.name), position, facts)
            best = rivals.scores[:, 0]
            chances.append(calibration.new(relation, position, best, rivals, np.ones(len(best), np.bool_)))
            made = facts.copy()
            made[position] = rivals.entities[:, 0]
            right += [(schema.name, *(names[one] for one in fact)) in truth for fact in made.T.tolist()]
    found = predict(run, [one.name for one in run.schema], proposals, around=_AROUND)
    every = sorted((one for each in found.values() for one in each), key=lambda one: -(one.probability or 0))[:proposals]
    new = np.array([one.probability for one in every]), np.array([(one.relation, *one.entities) in truth for one in every])
    return {
        "observed": {"estimated": calibration.observed, "true": len(known) / len(truth)},
        "answers": summed_up(np.concatenate(chances), np.array(right)),
        "proposals": summed_up(*new),
        "true_among_the_first_60": int(new[1][:60].sum()),
    }


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--name", help="of the row, by default the data of the run")
    parser.add_argument("--synth-seed", type=int, help="of the synthetic data that the run was trained on")
    parser.add_argument("--proposals", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=RESULTS / "probabilities.json")
    options = parser.parse_args()
    run = fitted(relatum.open(options.run))
    held_out = reliability_of(run, "test")
    row: dict[str, Any] = {"held_out": None if held_out is None else held_out.to_json()}
    if options.synth_seed is not None:
        row.update(against_truth(run, options.synth_seed, options.proposals))
    row.update(
        spec=run.spec.to_dict(),
        checksums=dict(run.split.checksums),
        machine=f"{platform.system()} {platform.machine()}, {threads()} threads",
        versions={"relatum": __version__, "torch": torch.__version__, "python": platform.python_version()},
    )
    rows = json.loads(options.out.read_text(encoding="utf-8"))["rows"] if options.out.exists() else {}
    rows[options.name or run.spec.data] = row
    with atomic_file(options.out) as file:
        report = {"made_by": "python experiments/probabilities.py RUN", "rows": dict(sorted(rows.items()))}
        file.write((json.dumps(report, indent=1) + "\n").encode())
    for name in ("held_out", "answers", "proposals"):
        if row.get(name):
            print(name, {key: value for key, value in row[name].items() if key != "reliability"})


if __name__ == "__main__":
    main()
