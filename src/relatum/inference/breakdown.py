"""Metrics by arity, position, relation, seen or unseen entities, size of the relation, and its derivation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relatum.data.derivations import ELEMENTARY, OPERATIONS, Derivation
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import Schema
from relatum.errors import DataError, UnknownNameError
from relatum.inference.ranking import Metrics, Ranks

__all__ = ["DERIVATION_KEYS", "KEYS", "SIZE", "breakdown", "macro_mrr"]

KEYS = ("arity", "position", "relation", "seen")
SIZE = "size"  # of the relation, in training facts
DERIVATION_KEYS = ("operation", "depth")  # of datasets whose relations were derived by relational algebra

_SIZES = {"0": 0, "1-9": 1, "10-99": 10, "100-999": 100, "1000+": 1000}  # where each begins


def breakdown(
    ranks: Ranks,
    key: str,
    schema: Schema,
    derivations: Mapping[str, Derivation] | None = None,
    train: Hypergraph | None = None,
) -> dict[str, Metrics]:
    """Return the metrics of each part of the questions, by name of the part, in order.

    Args:
        ranks: the questions.
        key: one of `KEYS`, or of `DERIVATION_KEYS` if derivations are given, or `SIZE` if the training facts are.
        schema: of the facts.
        derivations: how relations were derived, by name; questions about others are left out.
        train: the training facts, over the same schema.
    """
    if key in DERIVATION_KEYS:
        return _by_derivation(ranks, key, schema, derivations or {})
    if key == SIZE:
        return _by_size(ranks, schema, train)
    if key not in KEYS:
        raise UnknownNameError("breakdown", key, (*KEYS, SIZE, *DERIVATION_KEYS))
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


def _by_derivation(ranks: Ranks, key: str, schema: Schema, derivations: Mapping[str, Derivation]) -> dict[str, Metrics]:
    if not derivations:
        raise DataError(f"by {key}: this dataset has no derivations.json, so results cannot be broken down by {key}")
    labels = [getattr(derivations[relation.name], key) if relation.name in derivations else None for relation in schema]
    order = (ELEMENTARY, *OPERATIONS) if key == "operation" else sorted({label for label in labels if label is not None})
    found = {}
    for label in order:
        chosen = np.isin(ranks.relation, [number for number, own in enumerate(labels) if own == label])
        if chosen.any():
            found[str(label)] = Metrics.of(ranks.where(chosen))
    return found


def _by_size(ranks: Ranks, schema: Schema, train: Hypergraph | None) -> dict[str, Metrics]:
    if train is None:
        raise DataError(f"by {SIZE}: breaking results down by the size of relations needs the training facts")
    facts = [len(train.table(relation.name)) for relation in schema]
    steps = np.searchsorted(list(_SIZES.values()), facts, side="right") - 1
    labels = steps[ranks.relation]
    names = list(_SIZES)
    return {names[step]: Metrics.of(ranks.where(labels == step)) for step in np.unique(labels).tolist()}


def macro_mrr(parts: Mapping[str, Metrics]) -> float:
    """Return the mean of the parts' MRR, each part counting once however many questions it has."""
    return float(np.mean([metrics.mrr for metrics in parts.values()])) if parts else 0.0
