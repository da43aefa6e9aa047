"""Recommendation by a time split: Hit@10 of a run beside popularity, item co-occurrence and a truncated SVD.

    python experiments/recommend.py RUN RELATION USER_POSITION ITEM_POSITION

The questions are the facts of the test part, later than all that was trained on, whose user has training facts; what the
user has already is left out. Everything is counted on train and valid facts, and the SVD has several ranks.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

import relatum
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers

Ints = npt.NDArray[np.int32]
Scores = npt.NDArray[np.float64]

_TOP = 10
_RANKS = (4, 8, 16, 32, 64)


def hits(top: npt.NDArray[np.int64], questions: list[tuple[int, int]], users: dict[int, int]) -> float:
    """Return how many of the questions have their item among the first ten of their user."""
    return float(np.mean([item in top[users[user]] for user, item in questions]))


def best(scores: Scores, seen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the ten items with the highest scores of each user, without those seen."""
    found: npt.NDArray[np.int64] = np.argsort(-np.where(seen, -np.inf, scores), axis=1, kind="stable")[:, :_TOP]
    return found


def baselines(given: Ints, users: Ints, items: Ints) -> dict[str, Scores]:
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
    """Print the table."""
    folder, relation, user, item = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    run = relatum.open(folder)
    parts = {name: graph.table(relation).columns[[user, item]] for name, graph in run.split.parts.items()}
    for part, known in (("valid", ("train",)), ("test", ("train", "valid"))):
        given = np.concatenate([parts[name] for name in known], axis=1)
        users, items = np.unique(given[0]), np.unique(given[1])
        seen = np.zeros((len(users), len(items)), np.bool_)
        seen[np.searchsorted(users, given[0]), np.searchsorted(items, given[1])] = True
        asked = [(u, i) for u, i in parts[part].T.tolist() if u in users]
        index = {one: number for number, one in enumerate(users.tolist())}
        facts = Hypergraph.union([run.split.parts[name] for name in known])
        scorer = run.scorer(relation, KnownAnswers(facts))
        columns = np.zeros((run.schema[relation].arity, len(users)), np.int32)
        columns[user] = users
        ours, _ = scorer.top(item, columns, _TOP)
        print(f"{part}: {len(asked)} of {parts[part].shape[1]} facts are of {len(users)} users with a history")
        print(f"  relatum              {hits(ours.astype(np.int64), asked, index):.4f}")
        for name, scores in baselines(given, users, items).items():
            print(f"  {name:20} {hits(items[best(scores, seen)].astype(np.int64), asked, index):.4f}")


if __name__ == "__main__":
    main()
