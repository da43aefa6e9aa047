"""What the paper reports: Table 1, REL-ER, nonlinear functions, window sizes and datasets; None where it reports nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path

_PUBLISHED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_COUNTS = ("entities", "relations", "train", "valid", "test", "arity 2", "arity 3", "arity 4", "arity 5", "arity 6")

TABLE_1: dict[str, dict[str, list[float]]] = _PUBLISHED["table_1"]  # MRR, Hit@1, Hit@3, Hit@10
REL_ER: dict[str, dict[str, float]] = _PUBLISHED["rel_er"]
REL_ER_FACTS: dict[str, int] = _PUBLISHED["rel_er_facts"]  # of its test
SIGMA: dict[str, list[float]] = _PUBLISHED["sigma"]  # of ReAlE, on JF17K
WINDOWS = (1, 2, 4, 5, 8)  # of ReAlE on JF17K: a figure of which no number is printed, only where it is highest
BEST_WINDOWS = (2, 4)
DATASETS: dict[str, dict[str, int | None]] = {
    name: {key: counts.get(key) for key in _COUNTS} for name, counts in _PUBLISHED["datasets"].items()
}
