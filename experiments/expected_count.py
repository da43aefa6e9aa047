"""See whether the probabilities of rows add up to how many there are: what SELECT expected_count(*) would promise.

    python experiments/expected_count.py [RUN...] [--synth] [--queries 300] [--out results/expected_count.json]

A row that is predicted but is in no part may be true, so on real data what is expected is how many *test facts* a query
holds, by the probability that an answer is one (`AnswerCalibration.test_fact`), with train and valid facts known. On
synthetic data (--synth) the whole truth is there: what is expected is how many true rows outside train and valid there
are, by the probability that an answer is true. Queries are about one relation: `one open` has a value at all positions
but one, those of a fact drawn from all parts, so as they come; `of known` are those of them that a known fact asks;
`one constant` has a value at one position of three or more, and is the sum over what known facts hold at all others but
one; `whole relation` is the sum over the questions that its known facts ask. Each is a sum over all candidates, and
over those above the floor of SQL. `ratio` is what there is by what was expected, of all queries of a sort together; the
interval is the bootstrap's over queries, 95 %. `best_candidates` has the same of the candidates of each question alone
that probabilities are fitted on.
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
from relatum.arrays import Float64
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.files import atomic_file
from relatum.inference.answer_sample import RIVALS, Rivals
from relatum.kernels.parallel import threads
from relatum.runs.join_truths import FLOOR
from relatum.synth.dataset import synthesize
from relatum.synth.settings import find_preset

RESULTS = Path(__file__).parents[1] / "results"
TOLERANCE = (0.8, 1.25)
_AT_ONCE = 32  # questions
_MOST = 200  # questions that are summed up for one query
_SEED = 0


class Counts:
    """How many rows are expected of questions, and how many there are, for a run whose test facts are not known."""

    def __init__(self, run: Run, truth: Hypergraph | None) -> None:
        split = run.split
        self.run, self.known = run, Hypergraph.union([split.train, split.valid])
        self.answers, self.right = KnownAnswers(self.known), KnownAnswers(split.test if truth is None else truth)
        self.is_whole = truth is not None

    def of(self, relation: str, position: int, questions: Ids) -> Float64:
        """Return for each question what is expected, the same above the floor, and what there is; among the best too.

        That is float64[5, n].
        """
        parts = [questions[:, at : at + _AT_ONCE] for at in range(0, questions.shape[1], _AT_ONCE)]
        return np.concatenate([np.empty((5, 0)), *(self._some(relation, position, part) for part in parts)], axis=1)

    def _some(self, relation: str, position: int, questions: Ids) -> Float64:
        calibration = self.run.answer_calibration
        if calibration is None:
            raise SystemExit(f"{self.run.name}: there are no probabilities to add up")
        scorer, number = self.run.scorer(relation, self.answers), self.run.schema.id(relation)
        entities, scores = scorer.top(position, questions, scorer.count(position))
        lists = scorer.answers(position, questions)
        rivals = Rivals(scores[:, :RIVALS].astype(np.float64), entities[:, :RIVALS], lists.counts)
        among = np.zeros(entities.shape, np.bool_)
        among[:, :RIVALS] = True
        judged = calibration.truth if self.is_whole else calibration.test_fact
        likely = np.where(entities >= 0, judged(number, position, scores.astype(np.float64), rivals, among), 0.0)
        right = self.right.lookup(np.full(questions.shape[1], number, np.int32), questions, position)
        known = [int(np.isin(right[one], lists[one]).sum()) for one in range(len(likely))]
        best = [int(np.isin(entities[one, :RIVALS], right[one]).sum()) for one in range(len(likely))]
        above = np.where(likely < FLOOR, 0.0, likely).sum(1)
        return np.stack([likely.sum(1), above, right.counts - known, likely[:, :RIVALS].sum(1), np.array(best)])


def asked(columns: Ids, position: int) -> Ids:
    """Return the different questions that facts ask at a position."""
    opened = columns.copy()
    opened[position] = 0
    return np.unique(opened, axis=1)


def measured(run: Run, truth: Hypergraph | None, queries: int) -> dict[str, Any]:
    """Return what is expected and what there is, by sort of query."""
    rng, counts, every = np.random.default_rng(_SEED), Counts(run, truth), run.stored
    names = list(run.model.schema.names)
    found: dict[str, list[Float64]] = {"one open": [], "of known": [], "one constant": [], "whole relation": []}
    sizes = np.array([len(every.table(name)) for name in names])
    for name, many in zip(names, rng.multinomial(queries, sizes / sizes.sum()).tolist(), strict=True):
        columns = every.table(name).columns
        for position, times in enumerate(rng.multinomial(many, np.full(len(columns), 1 / len(columns))).tolist()):
            drawn = columns[:, rng.integers(0, columns.shape[1], times)].copy()
            drawn[position] = 0
            each = counts.of(name, position, drawn)
            found["one open"] += list(each.T)
            is_known = counts.answers.lookup(np.full(times, run.schema.id(name), np.int32), drawn, position).counts > 0
            found["of known"] += list(each.T[is_known])
    for name in rng.choice(names, min(len(names), max(4, queries // 20)), replace=False).tolist():
        columns = counts.known.table(name).columns
        if not columns.shape[1]:
            continue
        position = int(rng.integers(0, len(columns)))
        questions = asked(columns, position)
        share = min(1.0, _MOST / questions.shape[1])
        taken = questions[:, np.sort(rng.permutation(questions.shape[1])[:_MOST])]
        found["whole relation"].append(counts.of(name, position, taken).sum(1) / share)
        if len(columns) > 2:
            held, entity = (position + 1) % len(columns), columns[:, int(rng.integers(0, columns.shape[1]))]
            mine = asked(columns[:, columns[held] == entity[held]], position)[:, :_MOST]
            found["one constant"].append(counts.of(name, position, mine).sum(1))
    return {sort: _summed(np.array(rows), rng) for sort, rows in found.items() if rows}


def _summed(rows: Float64, rng: np.random.Generator) -> dict[str, Any]:
    expected, above, there, of_best, there_of_best = rows.sum(0)
    drawn = rows[rng.integers(0, len(rows), (1000, len(rows)))].sum(1)
    low, high = np.quantile(drawn[:, 2] / np.maximum(drawn[:, 0], 1e-9), [0.025, 0.975])
    error = np.abs(rows[:, 2] - rows[:, 0])
    return {
        "queries": len(rows),
        "expected": round(float(expected), 2),
        "expected_above_floor": round(float(above), 2),
        "there": round(float(there)),
        "ratio": round(float(there / max(expected, 1e-9)), 3),
        "ratio_above_floor": round(float(there / max(above, 1e-9)), 3),
        "best_candidates": {
            "of_a_question": RIVALS,
            "expected": round(float(of_best), 2),
            "there": round(float(there_of_best)),
            "ratio": round(float(there_of_best / max(of_best, 1e-9)), 3),
        },
        "interval": [round(float(low), 3), round(float(high), 3)],
        "mean_error_of_a_query": round(float(error.mean()), 3),
        "within_tolerance": bool(TOLERANCE[0] <= there / max(expected, 1e-9) <= TOLERANCE[1]),
    }


def main() -> None:
    """Measure runs, print what was found, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--synth", action="store_true", help="a small synthetic dataset too, on which a run is trained")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--out", type=Path, default=RESULTS / "expected_count.json")
    given = parser.parse_args()
    wanted: list[tuple[str, Run, Hypergraph | None]] = [(one.name, relatum.open(one), None) for one in given.runs]
    if given.synth:
        made = synthesize(find_preset("small"), _SEED)
        run = relatum.fit(made.split, epochs=40, seed=_SEED, progress=False)
        wanted.append(("synth small, whole truth", run, _restricted(made.truth, run)))
        wanted.append(("synth small, test facts", run, None))
    path: Path = given.out
    for name, run, truth in wanted:
        row: dict[str, Any] = {
            "run": {"model": run.spec.model, "settings": run.spec.to_dict(), "seed": run.spec.seed},
            "checksums": dict(run.split.checksums),
            "settings": {"queries": given.queries, "seed": _SEED, "floor": FLOOR, "tolerance": list(TOLERANCE)},
            "relatum": __version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "machine": f"{platform.machine()}, {threads()} threads",
            "sorts": measured(run, truth, given.queries),
        }
        for sort, one in row["sorts"].items():
            print(f"{name}: {sort}: {json.dumps(one)}", flush=True)
        rows = json.loads(path.read_text()) if path.exists() else {}
        rows[name] = row
        with atomic_file(path) as file:
            file.write((json.dumps(rows, indent=1, sort_keys=True) + "\n").encode())


def _restricted(truth: Hypergraph, run: Run) -> Hypergraph:
    """Return the true facts of the relations and entities of a run, by its numbers."""
    names, relations = run.entities, set(run.model.schema.names)
    kept = [fact for fact in truth if fact[0] in relations and all(one in names for one in fact[1:])]
    blocks = []
    for arity in sorted({len(fact) - 1 for fact in kept}):
        mine = [fact for fact in kept if len(fact) - 1 == arity]
        numbers = np.array([run.model.schema.id(fact[0]) for fact in mine], np.int32)
        columns = np.array([[names.id(one) for one in fact[1:]] for fact in mine], np.int32).T
        blocks.append((numbers, columns))
    return Hypergraph.sort(names, run.model.schema, blocks)


if __name__ == "__main__":
    main()
