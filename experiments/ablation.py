"""Change one ingredient of training at a time, and see what validation facts say of it.

    python experiments/ablation.py [--data fb-auto --data jf17k] [--seeds 3] [--only NAME ...] [--out results/ablation.json]

Each row is the base spec of a dataset with one change; the base is trained with several seeds, whose spread tells which
differences mean something, and the rest with seed 0. No test fact is looked at. What was measured before is kept, so the
script can be stopped and goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from relatum import Spec, __version__, load
from relatum.files import atomic_file
from relatum.inference.validation import validator
from relatum.kernels.parallel import threads
from relatum.runs.fit import train_model

RESULTS = Path(__file__).parents[1] / "results"
_RANKED = 6000  # valid facts

_COMMON: dict[str, Any] = {
    "window": 2,
    "dropout_block": 8,
    "rows": "questions",
    "num_negatives": 1000,
    "in_relation_share": 0.5,
    "learning_rate": 1.0,
    "learning_rate_schedule": "linear",
    "weight_decay": 1e-5,
    "ema_decay": 0.8,
    "validation_metric": "corrected-mrr",
    "patience": 0,
}
BASES: dict[str, dict[str, Any]] = {
    "fb-auto": {"dim": 400, "window_dropout": 0.68, "epochs": 40, "batch_size": 32, "batches_per_step": 2},
    "jf17k": {"dim": 200, "window_dropout": 0.68, "epochs": 30, "batch_size": 64, "batches_per_step": 8},
}
CHANGES: dict[str, dict[str, Any]] = {
    "base": {},
    "no window dropout": {"window_dropout": 0.0},
    "windows left out one by one": {"dropout_block": 1},
    "windows of 1": {"window": 1, "dropout_block": 16},
    "windows of 4": {"window": 4, "dropout_block": 4},
    "label smoothing .1": {"label_smoothing": 0.1},
    "label smoothing .5": {"label_smoothing": 0.5},
    "KvsAll": {"objective": "KvsAll"},
    "answers damped by .5": {"answer_damping": 0.5},
    "no negatives from the relation": {"in_relation_share": 0.0},
    "negatives from the relation alone": {"in_relation_share": 1.0},
    "no weight decay": {"weight_decay": 0.0},
    "weight decay 1e-4": {"weight_decay": 1e-4},
    "no average of parameters": {"ema_decay": 0.0},
    "constant learning rate": {"learning_rate_schedule": "constant"},
    "by fact": {"rows": "facts"},
}


def measured(data: str, change: str, seed: int) -> dict[str, Any]:
    """Train the base of a dataset with one change, and return what validation says of it."""
    given = {**_COMMON, **BASES[data], **CHANGES[change]}
    spec, split = Spec(data, seed=seed, validate_every=given["epochs"], **given), load(data)
    began = time.perf_counter()
    model, state = train_model(spec, split, lambda *_: None)
    seconds = time.perf_counter() - began
    validate = validator(model, split, "corrected-mrr", _RANKED)
    if validate is None:
        raise SystemExit(f"{data}: there are no valid facts")
    found = validate(state.best)
    row = {"data": data, "change": change, "seed": seed, "corrected_mrr": found["corrected-mrr"], "mrr": found["mrr"]}
    return {**row, "seconds": round(seconds, 1), "settings": CHANGES[change]}


def show(rows: list[dict[str, Any]]) -> None:
    """Print a table of what was measured."""
    table = Table("data", "change", "corrected MRR", "against the base", "valid MRR", "seconds")
    for data in dict.fromkeys(row["data"] for row in rows):
        base = [row["corrected_mrr"] for row in rows if row["data"] == data and row["change"] == "base"]
        for row in rows:
            if row["data"] != data or (row["change"] == "base" and row["seed"]):
                continue
            spread = f" (all {len(base)} seeds {np.mean(base):.4f} +- {np.std(base, ddof=1):.4f})" if len(base) > 1 else ""
            against = f"{row['corrected_mrr'] - base[0]:+.4f}" if row["change"] != "base" else "-"
            said = f"{row['corrected_mrr']:.4f}" + (spread if row["change"] == "base" else "")
            table.add_row(data, row["change"], said, against, f"{row['mrr']:.4f}", f"{row['seconds']:.0f}")
    Console(width=140).print(table)


def main() -> None:
    """Train what was not yet measured, write after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", choices=list(BASES))
    parser.add_argument("--seeds", type=int, default=3, help="of the base")
    parser.add_argument("--only", action="append", choices=list(CHANGES), metavar="NAME")
    parser.add_argument("--out", type=Path, default=RESULTS / "ablation.json")
    options = parser.parse_args()
    rows = json.loads(options.out.read_text(encoding="utf-8"))["rows"] if options.out.exists() else []
    for change in options.only or CHANGES:
        for data in options.data or BASES:
            for seed in range(options.seeds if change == "base" else 1):
                if any((row["data"], row["change"], row["seed"]) == (data, change, seed) for row in rows):
                    continue
                rows.append(measured(data, change, seed))
                print(json.dumps(rows[-1]), flush=True)
                report = {
                    "made_by": "python experiments/ablation.py",
                    "bases": {name: {**_COMMON, **base} for name, base in BASES.items()},
                    "checksums": {row["data"]: dict(load(row["data"]).checksums) for row in rows},
                    "rows": rows,
                    "machine": f"{platform.system()} {platform.machine()}, {threads()} threads",
                    "versions": {"relatum": __version__, "torch": torch.__version__, "python": platform.python_version()},
                }
                with atomic_file(options.out) as file:
                    file.write((json.dumps(report, indent=1) + "\n").encode())
    show(rows)


if __name__ == "__main__":
    main()
