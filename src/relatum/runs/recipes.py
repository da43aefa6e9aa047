"""Settings that go together, by name: a spec begins from a recipe and changes what it names itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["RECIPES"]

RECIPES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    # What a spec begins from by default: what did well on validation facts of more than one dataset, in minutes.
    "fast": {
        "model": {"dim": 400, "window": 2, "window_dropout": 0.7},
        "training": {"in_relation_share": 0.5, "ema_decay": 0.8},
    },
    # Algorithm 1 as the paper ran it; learning rate and window are from the middle of the grid that it searched.
    "paper": {
        "model": {"dim": 200, "window": 2, "window_dropout": 0.0},
        "training": {
            "negative_sampling": "per-fact",
            "num_negatives": 10,
            "batch_size": 128,
            "batches_per_step": 1,
            "learning_rate": 0.1,
            "epochs": 1000,
            "validate_every": 20,
            "patience": 5,
        },
    },
}
