"""Metrics by arity, position, relation, or whether all entities were seen in training, and macro averages over parts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relatum.data.schema import Schema
from relatum.errors import UnknownNameError
from relatum.evaluation.ranks import Metrics, Ranks

__all__ = ["KEYS", "breakdown", "macro_mrr"]

KEYS = ("arity", "position", "relation", "seen")


def breakdown(ranks: Ranks, key: str, schema: Schema) -> dict[str, Metrics]:
    """Return the metrics of each part of the questions, by name of the part, in order."""
    if key not in KEYS:
        raise UnknownNameError("breakdown", key, KEYS)
    labels = ~ranks.unseen if key == "seen" else getattr(ranks, key)
    found = {}
    for label in np.unique(labels).tolist():
        name = (
            schema[label].name
            if key == "relation"
            else {True: "seen", False: "unseen"}[label]
            if key == "seen"
            else str(label)
        )
        found[name] = Metrics.of(ranks.where(labels == label))
    return found


def macro_mrr(parts: Mapping[str, Metrics]) -> float:
    """Return the mean of the parts' MRR, each part counting once however many questions it has."""
    return float(np.mean([metrics.mrr for metrics in parts.values()])) if parts else 0.0
