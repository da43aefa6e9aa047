"""Rank the test facts of public datasets by counting alone: `python experiments/baselines.py`.

Writes results/baselines.json. A candidate scores how many training facts of the relation have it at the open position: which
other entities the question names makes no difference. Filtered by train, valid and test, ties realistic, as models are.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import relatum
from relatum.inference.evaluation import breakdown, macro_mrr
from relatum.inference.ranking import Ranks, mrr_interval
from relatum.runs.results import save_results

RESULTS = Path(__file__).parents[1] / "results"
DATASETS = ("jf17k", "fb-auto", "m-fb15k", "rel-er", "wn18rr")


def frequency_ranks(split: relatum.Split) -> Ranks:
    """Return the ranks of the test facts among all entities, by how often each stands at the open position in train."""
    known = relatum.KnownAnswers(split.train, split.valid, split.test)
    rows: dict[str, list[np.ndarray]] = {name: [] for name in ("better", "equal", "fact", "relation", "arity", "position")}
    before = 0
    for number, relation in enumerate(split.schema):
        facts = split.test.table(relation.name).columns
        size = facts.shape[1]
        for position in range(relation.arity if size else 0):
            counts = np.bincount(split.train.table(relation.name).column(position), minlength=len(split.entities))
            ordered = np.sort(counts)
            own = counts[facts[position]]
            questions = facts.copy()
            questions[position] = -1
            better = len(ordered) - np.searchsorted(ordered, own, "right")
            equal = len(ordered) - np.searchsorted(ordered, own, "left") - better - 1
            for row, answers in enumerate(known.lookup(np.full(size, number, np.int32), questions, position=position)):
                others = counts[answers[answers != facts[position, row]]]
                better[row] -= np.sum(others > own[row])
                equal[row] -= np.sum(others == own[row])
            for name, values in {"better": better, "equal": equal, "fact": before + np.arange(size)}.items():
                rows[name].append(values.astype(np.int64))
            for name, value in {"relation": number, "arity": relation.arity, "position": position}.items():
                rows[name].append(np.full(size, value, np.int64))
        before += size
    joined = {name: np.concatenate(parts) for name, parts in rows.items()}
    return Ranks(**joined, unseen=np.zeros(len(joined["better"]), np.bool_))


if __name__ == "__main__":
    rows = {}
    for name in DATASETS:
        split = relatum.load(name)
        ranks = frequency_ranks(split)
        by_relation = macro_mrr(breakdown(ranks, "relation", split.schema))
        rows[name] = {
            "test": ranks.metrics.to_json(),
            "mrr_interval": list(mrr_interval(ranks)),
            "mrr_macro": {"relation": by_relation},
            "checksums": dict(split.checksums),
        }
    save_results(RESULTS / "baselines.json", {"made_by": "python experiments/baselines.py", "rows": rows})
