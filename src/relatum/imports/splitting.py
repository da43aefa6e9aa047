"""Facts parted into train, valid and test, so that every entity and every relation occurs in train."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

from relatum.data.hypergraph import Block, Hypergraph, Split

__all__ = ["hold_out"]

Mask = npt.NDArray[np.bool_]


def hold_out(
    graph: Hypergraph, valid: float, test: float, how: Literal["stratified", "random"], seed: int, origin: str
) -> Split:
    """Return the facts of `graph`, which are distinct, as train, valid and test; the latter with the given shares.

    `stratified` takes these of each relation, `random` of all facts together. A fact stays in train if it is the one that
    some entity, or its relation, is known by; so less can be held out where many entities are rare.
    """
    rng = np.random.default_rng(seed)
    blocks = list(graph.blocks.values())
    relations = np.concatenate([block.relations for block in blocks])
    groups = relations if how == "stratified" else np.zeros_like(relations)
    free = np.flatnonzero(~_anchors(graph, blocks, rng))
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
    train, held_valid, held_test = (
        Hypergraph(graph.entities, graph.schema, _chosen(blocks, parts == number)) for number in range(3)
    )
    return Split(train, held_valid, held_test, origin=origin)


def _anchors(graph: Hypergraph, blocks: list[Block], rng: np.random.Generator) -> Mask:
    """Return the facts that stay in train: for each entity and relation the first that holds it, those of rare ones first.

    Facts of rare entities must stay in any case, and show the frequent ones too, so that few more are tied.
    """
    degrees = graph.degrees()
    rarity = np.concatenate([degrees[block.columns].min(axis=0) for block in blocks])
    order = np.argsort(rarity + rng.random(len(rarity)), kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    first_entity = np.full(len(graph.entities), len(order))
    first_relation = np.full(len(graph.schema), len(order))
    start = 0
    for block in blocks:
        mine = ranks[start : start + len(block)]
        np.minimum.at(first_relation, block.relations, mine)
        for column in block.columns:
            np.minimum.at(first_entity, column, mine)
        start += len(block)
    firsts = np.concatenate([first_entity, first_relation])
    anchored = np.zeros(len(order), np.bool_)
    anchored[order[firsts[firsts < len(order)]]] = True
    return anchored


def _chosen(blocks: list[Block], mask: Mask) -> Iterator[Block]:
    """Yield the facts that are marked, block by block; they stay in order."""
    start = 0
    for block in blocks:
        mine = mask[start : start + len(block)]
        yield Block(block.relations[mine], block.columns[:, mine])
        start += len(block)
