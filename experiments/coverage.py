"""See how often sets of answers hold the answer of a test fact, where 80, 90 and 95 % are promised, and how large they are.

    python experiments/coverage.py RUN... [--valid 16000] [--facts 4000] [--sizes 2000] [--out results/coverage.json]

Limits are fitted by the run's train facts and as many of its valid facts as --valid says, at most. Coverage is that of all
questions of test facts, of at most about as many as --facts, drawn at random: `as_calibrated` leaves out answers of train
and valid, as it was when limits were fitted, so that other test answers compete; `all_known` leaves out those of other test
facts too, as it is when a run is asked. Intervals are Wilson's, 95 %, by the number of facts, since the questions of a fact
are alike. Sizes are of questions of test facts drawn at random, about as many as --sizes; sets of no answer count. `groups`
are the positions with limits of their own, and the rest; the worst are those of 50 test facts or more with the lowest
coverage. One row per dataset; a row that is there already is replaced.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

import relatum
from relatum import Hypergraph, Run, __version__
from relatum.arrays import Float64
from relatum.data.known_answers import KnownAnswers
from relatum.files import atomic_file
from relatum.inference.answer_calibration import AnswerCalibration
from relatum.inference.answer_sets import (
    MOST_FACTS,
    OWN_FACTS,
    AnswerSets,
    conformities,
    fit_answer_sets,
    held_out_conformities,
)
from relatum.inference.scoring import CandidateScorer
from relatum.inference.validation import sample
from relatum.kernels.parallel import threads

RESULTS = Path(__file__).parents[1] / "results"
LEVELS = (0.8, 0.9, 0.95)
_WORST, _ENOUGH = 5, 50  # groups that are listed, and test facts that one of them has at least


def wilson(held: float, facts: float) -> tuple[float, float]:
    """Return the 95 % interval of a share."""
    z = 1.959964
    middle, spread = held + z * z / (2 * facts), z * math.sqrt(held * (1 - held) / facts + z * z / (4 * facts * facts))
    return (middle - spread) / (1 + z * z / facts), (middle + spread) / (1 + z * z / facts)


def coverage_of(run: Run, sets: AnswerSets, likely: dict[tuple[int, int], Float64], level: float) -> dict[str, Any]:
    """Return how often answers are likely enough, overall and by group."""
    held: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for (relation, position), values in likely.items():
        limit = sets.limit(relation, position, level)
        schema = run.schema[relation]
        name = f"{schema.name}[{position}]" if limit.scope == "position" else limit.scope
        for key in ("", name):
            counts = held[key]
            counts[0] += float(np.count_nonzero(values >= limit.least))
            counts[1] += len(values)
            counts[2] += len(values) / schema.arity if key != name or limit.scope != "position" else len(values)
    share, facts = held[""][0] / held[""][1], held[""][2]
    named = [(one[0] / one[1], round(one[2]), name) for name, one in held.items() if name]
    worst = sorted(one for one in named if one[1] >= _ENOUGH)[:_WORST]
    off = [one[0] - level for one in named if one[1] >= _ENOUGH]
    return {
        "coverage": share,
        "interval": wilson(share, facts),
        "questions": int(held[""][1]),
        "facts": round(facts),
        "groups": len(named),
        "groups_more_than_5_points_below": sum(one < -0.05 for one in off),
        "groups_with_enough_facts": len(off),
        "worst": [
            {"group": name, "coverage": one, "facts": count, "interval": wilson(one, count)} for one, count, name in worst
        ],
    }


def sizes_of(
    run: Run, calibration: AnswerCalibration, sets: AnswerSets, known: KnownAnswers, facts: Hypergraph
) -> dict[float, dict[str, float]]:
    """Return how large sets are, of all questions of facts."""
    found: dict[float, list[int]] = defaultdict(list)
    candidates = []
    for relation, schema in enumerate(facts.schema):
        columns, scorer = facts.table(schema.name).columns, run.scorer(schema.name, known)
        for position in range(schema.arity if columns.shape[1] else 0):
            limits = {level: sets.limit(relation, position, level).least for level in LEVELS}
            for number in range(columns.shape[1]):
                question = np.ascontiguousarray(columns[:, [number]])
                _, _, likely = conformities(calibration, scorer, position, question)
                candidates.append(len(likely))
                for level, least in limits.items():
                    found[level].append(int(np.count_nonzero(likely >= least)))
    return {
        level: {
            "mean": float(np.mean(sizes)),
            "median": float(np.median(sizes)),
            "at_most_10": float(np.mean(np.array(sizes) <= 10)),
            "empty": float(np.mean(np.array(sizes) == 0)),
            "questions": len(sizes),
            "candidates": float(np.mean(candidates)),
        }
        for level, sizes in found.items()
    }


def row_of(run: Run, valid: int, most: int, wanted: int, *, both: bool) -> dict[str, Any]:
    """Return what is measured on one run."""
    began = time.perf_counter()
    calibration, split, names = run.answer_calibration, run.split, run.model.schema.names

    def scorer_of(relation: int, known: KnownAnswers) -> CandidateScorer:
        return run.scorer(names[relation], known)

    if calibration is None:
        raise SystemExit(f"{run.name}: there are no valid facts")
    sets = fit_answer_sets(calibration, scorer_of, split.train, split.valid, most=valid)
    if sets is None:
        raise SystemExit(f"{run.name}: there are no valid facts")
    fitted = time.perf_counter() - began
    ways = {"as_calibrated": KnownAnswers(split.train, split.valid)} | ({"all_known": run.known} if both else {})
    row: dict[str, Any] = {
        "validation_facts": sum(map(sets.sampled, range(len(split.schema)))),
        "relations_with_limits_of_their_own": sum(
            sets.sampled(relation) >= OWN_FACTS for relation in range(len(split.schema))
        ),
        "relations": len(split.schema),
        "seconds_to_fit": round(fitted, 1),
    }
    test = sample(split.test, most) if len(split.test) > most else split.test
    for way, known in ways.items():
        likely = {
            (relation, position): values
            for relation, position, values in held_out_conformities(calibration, scorer_of, known, test)
        }
        row[way] = {f"{level:g}": coverage_of(run, sets, likely, level) for level in LEVELS}
    questions = sum(len(block) * arity for arity, block in split.test.blocks.items())
    drawn = sample(split.test, max(1, wanted * len(split.test) // questions))
    row["sizes"] = {
        f"{level:g}": one for level, one in sizes_of(run, calibration, sets, ways["as_calibrated"], drawn).items()
    }
    return row


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--valid", type=int, default=MOST_FACTS, help="valid facts that limits are fitted by, at most")
    parser.add_argument("--as-calibrated", action="store_true", help="leave out how it is with all other facts known")
    parser.add_argument("--facts", type=int, default=4000, help="test facts that are looked at, at most about")
    parser.add_argument("--sizes", type=int, default=2000, help="questions whose sets are counted, about")
    parser.add_argument("--out", type=Path, default=RESULTS / "coverage.json")
    options = parser.parse_args()
    for path in options.runs:
        run = relatum.open(path)
        row = row_of(run, options.valid, options.facts, options.sizes, both=not options.as_calibrated)
        row.update(
            spec=run.spec.to_dict(),
            checksums=dict(run.split.checksums),
            machine=f"{platform.system()} {platform.machine()}, {threads()} threads",
            versions={"relatum": __version__, "torch": torch.__version__, "python": platform.python_version()},
        )
        rows = json.loads(options.out.read_text(encoding="utf-8"))["rows"] if options.out.exists() else {}
        rows[run.spec.data] = row
        with atomic_file(options.out) as file:
            report = {"made_by": "python experiments/coverage.py RUN...", "rows": dict(sorted(rows.items()))}
            file.write((json.dumps(report, indent=1) + "\n").encode())
        for level in row["sizes"]:
            one, size = row["as_calibrated"][level], row["sizes"][level]
            low, high = one["interval"]
            other = f", all known {row['all_known'][level]['coverage']:.1%}" if "all_known" in row else ""
            print(
                f"{run.spec.data} {float(level):.0%}: {one['coverage']:.1%} ({low:.1%} to {high:.1%}){other}; "
                f"size {size['mean']:.1f}, median {size['median']:.0f}, empty {size['empty']:.1%}"
            )


if __name__ == "__main__":
    main()
