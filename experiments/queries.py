"""See how well a run answers queries: hard and full-hard answers by shape, beside facts alone and a beam of 512.

Full-hard answers need every fact predicted. Where known facts count 1, answers that rest on some of them stand above; the
way `predicted` lets known facts count nothing, and is the one for full-hard answers, as `exact` is for all hard ones.

    python experiments/queries.py RUN QUERIES [--name jf17k] [--out results/queries.json] [--shape 2p] [--width 512]

QUERIES is what `relatum queries` wrote for the data of the run. The beam predicts every fact, known or not, as CQD does, by
the same model and probabilities. One row per name; a row that is there already is replaced.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import relatum
from relatum import __version__
from relatum.files import atomic_file
from relatum.joins.truths import FactTruths
from relatum.kernels.parallel import threads
from relatum.querysets import load_queries
from relatum.runs.join_truths import CAP, RunTruths
from relatum.runs.query_quality import RANKED_FLOOR, RankedQuery, known_before, rank_query, ranks_of, summed_up

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.beam_search import PredictedTruths, beam_answers

RESULTS = Path(__file__).parents[1] / "results"
_SECONDS = 20.0


def main() -> None:
    """Measure one run, print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("queries", type=Path)
    parser.add_argument("--name")
    parser.add_argument("--out", type=Path, default=RESULTS / "queries.json")
    parser.add_argument("--shape", action="append")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=_SECONDS)
    given = parser.parse_args()
    run, queries = relatum.open(given.run), load_queries(given.queries)
    known = known_before(run, queries)
    ours, facts, predicted = RunTruths(run, known, floor=RANKED_FLOOR), FactTruths(known), PredictedTruths(run, known)
    wanted = [query for query in queries if not given.shape or query.shape in given.shape]
    ways: dict[str, list[RankedQuery]] = {"exact": [], "predicted": [], "facts": [], "beam": []}
    for number, query in enumerate(wanted, start=1):
        ways["exact"].append(rank_query(ours, query, seconds=given.seconds))
        if query.full_hard:
            ways["predicted"].append(rank_query(ours, query, seconds=given.seconds, predicted_alone=True))
        ways["facts"].append(rank_query(facts, query))
        if query.shape not in ("1e-n", "2f-n"):  # several variables are decided by one fact, which a beam does not do
            began = time.perf_counter()
            listed = beam_answers(query.expression, predicted, given.width)
            ways["beam"].append(ranks_of(predicted, query, listed, time.perf_counter() - began, False))
        if not number % 20:
            print(f"{number} of {len(wanted)} queries", file=sys.stderr, flush=True)
    row: dict[str, Any] = {
        "run": {"model": run.spec.model, "settings": run.spec.to_dict(), "seed": run.spec.seed},
        "queries": {"part": queries.part, "seed": queries.seed, "count": len(wanted), "checksums": dict(queries.checksums)},
        "settings": {"cap": CAP, "floor": RANKED_FLOOR, "seconds": given.seconds, "beam": given.width},
        "relatum": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "machine": f"{platform.machine()}, {threads()} threads",
        "ways": {way: [one.to_dict() for one in summed_up(found, way)] for way, found in ways.items()},
    }
    for way, found in ways.items():
        print(way)
        print(summed_up(found, way))
    path: Path = given.out
    rows = json.loads(path.read_text()) if path.exists() else {}
    rows[given.name or queries.data] = row
    with atomic_file(path) as file:
        file.write((json.dumps(rows, indent=1, sort_keys=True) + "\n").encode())


if __name__ == "__main__":
    main()
