"""Count how close the test facts of public datasets are to what was learned: `python experiments/leakage.py`.

Writes results/leakage.json, for each dataset: test facts that differ from a fact of train or valid in a single position, by
arity, and test facts that follow from training facts by permuting or dropping columns.
"""

from __future__ import annotations

from pathlib import Path

import relatum
from relatum.data.quality import check_quality
from relatum.runs.results import save_results

RESULTS = Path(__file__).parents[1] / "results"
DATASETS = ("jf17k", "fb-auto", "m-fb15k", "rel-er", "wn18rr")

if __name__ == "__main__":
    rows = {}
    for name in DATASETS:
        split = relatum.load(name)
        found = check_quality(split)
        rows[name] = {
            "test": sum(total for _, total in found.close.values()),
            "close": sum(count for count, _ in found.close.values()),
            "close_by_arity": {str(arity): {"close": count, "test": total} for arity, (count, total) in found.close.items()},
            "leaked": found.leakage.facts,
            "leaks": len(found.leakage.leaks),
            "complete": found.leakage.complete,
            "in_two_parts": sum(found.overlap.values()),
            "checksums": dict(split.checksums),
        }
    save_results(RESULTS / "leakage.json", {"made_by": "python experiments/leakage.py", "rows": rows})
