"""Recommendation by a time split: Hit@10 of a run beside popularity, item co-occurrence and a truncated SVD.

    python experiments/recommend.py RUN RELATION USER_POSITION ITEM_POSITION [--name shop] [--out results/recommend.json]

The data are split by `relatum import --time`, or of each user by `--time-per`: nothing that a user is tested on is earlier
than what is known of that user, and by `--time` alone nothing is later than what is tested on either. The questions are the
test facts whose user is known; what the user has already is left out. All that is compared with reads train and valid facts,
and so does the run if it was trained with `training.refit=true`: its weights were chosen by valid facts before. The SVD has
several ranks, of which the best on test is shown too, which favours it. One row per name; one that is there is replaced.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path

import numpy as np
import torch

import relatum
from relatum import __version__
from relatum.arrays import Bool, Float64, Int32, Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.files import atomic_file

RESULTS = Path(__file__).parents[1] / "results"

Scores = Float64

_TOP = 10
_RANKS = (4, 8, 16, 32, 64)


def hits(top: Int64, questions: list[tuple[int, int]], users: dict[int, int]) -> float:
    """Return how many of the questions have their item among the first ten of their user."""
    return float(np.mean([item in top[users[user]] for user, item in questions]))


def best(scores: Scores, seen: Bool) -> Int64:
    """Return the ten items with the highest scores of each user, without those seen."""
    found: Int64 = np.argsort(-np.where(seen, -np.inf, scores), axis=1, kind="stable")[:, :_TOP]
    return found


def baselines(given: Int32, users: Int32, items: Int32) -> dict[str, Scores]:
    """Return the scores of every item for every user by each of the simple ways."""
    matrix = np.zeros((len(users), len(items)))
    matrix[np.searchsorted(users, given[0]), np.searchsorted(items, given[1])] = 1
    together = matrix.T @ matrix
    np.fill_diagonal(together, 0)
    counts = np.maximum(matrix.sum(0), 1)
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    found = {
        "popularity": np.tile(matrix.sum(0), (len(users), 1)),
        "item co-occurrence": matrix @ (together / np.sqrt(counts[:, None] * counts)),
    }
    for rank in _RANKS:
        found[f"SVD {rank}"] = (left[:, :rank] * values[:rank]) @ right[:rank]
    return found


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("relation")
    parser.add_argument("user", type=int)
    parser.add_argument("item", type=int)
    parser.add_argument("--name", help="of the row, by default the name of the run")
    parser.add_argument("--out", type=Path, default=RESULTS / "recommend.json")
    options = parser.parse_args()
    run, relation, user, item = relatum.open(options.run), options.relation, options.user, options.item
    parts = {name: graph.table(relation).columns[[user, item]] for name, graph in run.split.parts.items()}
    given = np.concatenate([parts["train"], parts["valid"]], axis=1)
    users, items = np.unique(given[0]), np.unique(given[1])
    seen = np.zeros((len(users), len(items)), np.bool_)
    seen[np.searchsorted(users, given[0]), np.searchsorted(items, given[1])] = True
    questions = [(u, i) for u, i in parts["test"].T.tolist() if u in users]
    index = {one: number for number, one in enumerate(users.tolist())}
    facts = Hypergraph.union([run.split.train, run.split.valid])
    scorer = run.scorer(relation, KnownAnswers(facts))
    columns = np.zeros((run.schema[relation].arity, len(users)), np.int32)
    columns[user] = users
    ours, _ = scorer.top(item, columns, _TOP)
    found = {"relatum": hits(ours.astype(np.int64), questions, index)}
    for name, scores in baselines(given, users, items).items():
        found[name] = hits(items[best(scores, seen)].astype(np.int64), questions, index)
    row = {
        "hit@10": found,
        "questions": len(questions),
        "test_facts": parts["test"].shape[1],
        "users": len(users),
        "items": len(items),
        "refit": run.spec.training.refit,
        "spec": run.spec.to_dict(),
        "checksums": dict(run.split.checksums),
        "versions": {"relatum": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }
    rows = json.loads(options.out.read_text(encoding="utf-8"))["rows"] if options.out.exists() else {}
    rows[options.name or options.run.name] = row
    with atomic_file(options.out) as file:
        report = {"made_by": "python experiments/recommend.py RUN RELATION USER ITEM", "rows": dict(sorted(rows.items()))}
        file.write((json.dumps(report, indent=1) + "\n").encode())
    print(f"{len(questions)} of {row['test_facts']} test facts are of {len(users)} users that are known, {len(items)} items")
    for name, share in found.items():
        print(f"  {name:20} {share:.4f}")


if __name__ == "__main__":
    main()
