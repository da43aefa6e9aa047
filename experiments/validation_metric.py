"""Ask which metric of validation facts orders settings as hidden facts would: the plain MRR or the corrected one.

    python experiments/validation_metric.py [--data m-fb15k] [--out results/validation-metric.json]

Of the train facts of a dataset two parts are held out: one is validated on, the other is hidden, as test facts are. Several
settings are trained on the rest. Each metric of the first part is compared with the filtered MRR of the hidden part, for
which everything is known: how alike they order the settings (Spearman's correlation), and what the setting that the metric
would choose is worth. The dataset's own valid and test facts are used nowhere.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from relatum import KnownAnswers, Spec, __version__, load
from relatum.data.splitting import hold_out
from relatum.files import atomic_file
from relatum.inference.ranking import Metrics, rank
from relatum.inference.validation import sample, validator
from relatum.kernels.parallel import threads
from relatum.runs.fit import train_model

RESULTS = Path(__file__).parents[1] / "results"
_RANKED = 4000

BASE: dict[str, Any] = {
    "dim": 200,
    "window": 1,
    "window_dropout": 0.0,
    "rows": "questions",
    "batch_size": 256,
    "batches_per_step": 8,
    "num_negatives": 256,
    "in_relation_share": 0.5,
    "learning_rate": 1.0,
    "learning_rate_schedule": "linear",
    "epochs": 8,
    "patience": 0,
}
CHANGES: dict[str, dict[str, Any]] = {
    "base": {},
    "half of the epochs": {"epochs": 4},
    "twice the epochs": {"epochs": 16},
    "no negatives from the relation": {"in_relation_share": 0.0},
    "negatives from the relation alone": {"in_relation_share": 1.0},
    "windows of 2": {"window": 2},
    "window dropout .5": {"window_dropout": 0.5, "dropout_block": 16},
    "learning rate .3": {"learning_rate": 0.3},
    "weight decay 1e-4": {"weight_decay": 1e-4},
    "KvsAll": {"objective": "KvsAll"},
    "answers damped by 1": {"answer_damping": 1.0},
    "d 50": {"dim": 50},
}


def correlation(first: list[float], second: list[float]) -> float:
    """Return Spearman's correlation."""
    return float(np.corrcoef([np.argsort(np.argsort(each)) for each in (first, second)])[0, 1])


def main() -> None:
    """Train each setting, compare the metrics, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="m-fb15k")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS / "validation-metric.json")
    options = parser.parse_args()
    given = load(options.data)
    split = hold_out(given.train.distinct(), 0.08, 0.08, "random", options.seed, options.data)
    known = KnownAnswers(*split.parts.values())
    rows: list[dict[str, Any]] = []
    for change, settings in CHANGES.items():
        whole = {**BASE, **settings}
        spec = Spec(options.data, seed=options.seed, **whole, validate_every=whole["epochs"])
        model, state = train_model(spec, split, lambda *_: None)
        validate = validator(model, split, "corrected-mrr", _RANKED)
        if validate is None:
            raise SystemExit(f"{options.data}: too few facts to hold any out")
        found = validate(state.best)
        ranks = rank(model, state.best, sample(split.test, _RANKED), known)
        row = {"mrr": found["mrr"], "corrected_mrr": found["corrected-mrr"], "hidden_mrr": Metrics.of(ranks).mrr}
        rows.append({"change": change, "settings": settings, **row})
        print(json.dumps(rows[-1]), flush=True)
    hidden = [row["hidden_mrr"] for row in rows]
    verdict = {}
    for metric in ("mrr", "corrected_mrr"):
        values = [row[metric] for row in rows]
        chosen = int(np.argmax(values))
        verdict[metric] = {
            "correlation": correlation(values, hidden),
            "mean_distance": float(np.mean(np.abs(np.subtract(values, hidden)))),
            "chooses": rows[chosen]["change"],
            "lost_by_choosing": max(hidden) - hidden[chosen],
        }
    report = {
        "made_by": f"python experiments/validation_metric.py --data {options.data} --seed {options.seed}",
        "data": {"name": options.data, "checksums": dict(given.checksums)},
        "facts": {name: len(part) for name, part in split.parts.items()},
        "verdict": verdict,
        "base": BASE,
        "rows": rows,
        "machine": f"{platform.system()} {platform.machine()}, {threads()} threads",
        "versions": {"relatum": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }
    with atomic_file(options.out) as file:
        file.write((json.dumps(report, indent=1) + "\n").encode())
    table = Table("change", "valid MRR", "corrected", "hidden MRR")
    for row in sorted(rows, key=lambda one: -one["hidden_mrr"]):
        table.add_row(str(row["change"]), *(f"{row[name]:.4f}" for name in ("mrr", "corrected_mrr", "hidden_mrr")))
    Console().print(table)
    for metric, said in verdict.items():
        print(f"{metric}: {json.dumps(said)}")


if __name__ == "__main__":
    main()
