"""Count what is in the datasets of the paper: `python experiments/datasets.py`.

Writes results/datasets.json: entities, relations and facts by part and by arity, and REL-ER's test facts by operation and
depth, with the checksums of the files. `relatum tables` sets them beside the paper's table.
"""

from __future__ import annotations

from pathlib import Path

from relatum.paper.published import DATASETS
from relatum.runs.results import measure, save_results

RESULTS = Path(__file__).parents[1] / "results"

if __name__ == "__main__":
    save_results(RESULTS / "datasets.json", {"made_by": "python experiments/datasets.py", **measure(DATASETS)})
