"""Facts parted into train, valid and test, so that every entity and every relation occurs in train."""

from __future__ import annotations

from typing import Literal

import numpy as np

from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.parting import anchors, marked

__all__ = ["hold_out"]


def hold_out(
    graph: Hypergraph, valid: float, test: float, how: Literal["stratified", "random"], seed: int, origin: str
) -> Split:
    """Return the facts of `graph`, which are distinct, as train, valid and test; the latter with the given shares.

    `stratified` takes these of each relation, `random` of all facts together. A fact stays in train if it is the one that
    some entity, or its relation, is known by; so less can be held out where many entities are rare.
    """
    rng = np.random.default_rng(seed)
    relations = np.concatenate([block.relations for block in graph.blocks.values()])
    groups = relations if how == "stratified" else np.zeros_like(relations)
    free = np.flatnonzero(~anchors(graph, rng))
    order = rng.permutation(free)
    order = order[np.argsort(groups[order], kind="stable")]
    sizes = np.bincount(groups)
    counts = np.bincount(groups[order], minlength=len(sizes))
    places = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)  # of each fact in its group
    in_test, in_valid = np.rint(sizes * test), np.rint(sizes * valid)
    held = np.minimum(counts, in_test + in_valid)
    in_test = np.rint(held * in_test / np.maximum(in_test + in_valid, 1))  # where facts are scarce, both get less
    parts = np.zeros(len(relations), np.int8)
    parts[order[places < held[groups[order]]]] = 1
    parts[order[places < in_test[groups[order]]]] = 2
    train, held_valid, held_test = (marked(graph, parts == number) for number in range(3))
    return Split(train, held_valid, held_test, origin=origin)
