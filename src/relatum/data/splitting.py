"""Facts held out for validation and test, such that training facts still show every entity."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from relatum.arrays import Bool
from relatum.data.hypergraph import Block, Hypergraph, Split

Parts = npt.NDArray[np.int8]  # the same


def required_in_train(graph: Hypergraph, rng: np.random.Generator) -> Bool:
    """Return the facts that stay in train: for each entity and each relation the first that holds it, in a certain order.

    Facts with a rare entity come first. They must stay in any case, and with them the frequent entities are seen too; so
    fewer facts are tied than in a random order, and what is held out is nearer to a random part.
    """
    blocks, degrees = graph.blocks.values(), graph.degrees()
    rarity = np.concatenate([degrees[block.columns].min(axis=0) for block in blocks])
    order = np.argsort(rarity + rng.random(len(rarity)), kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    first_entity = np.full(len(graph.entities), len(order), np.int64)
    first_relation = np.full(len(graph.schema), len(order), np.int64)
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


def select_facts(graph: Hypergraph, mask: Bool) -> Hypergraph:
    """Return the facts that are marked; they stay in order."""
    ends = np.cumsum([len(block) for block in graph.blocks.values()])
    parts = zip(graph.blocks.values(), np.split(mask, ends[:-1]), strict=True)
    return Hypergraph(
        graph.entities, graph.schema, [Block(block.relations[part], block.columns[:, part]) for block, part in parts]
    )


def hold_out(
    graph: Hypergraph,
    valid: float,
    test: float,
    how: Literal["stratified", "random"],
    seed: int,
    source: str,
    settled: Parts | None = None,
) -> Split:
    """Return the facts of `graph`, which are distinct, as train, valid and test; the latter with the given shares.

    `stratified` takes these of each relation, `random` of all facts together. A fact stays in train if it is the one that
    some entity, or its relation, is known by; so less can be held out where many entities are rare. `settled` says of each
    fact, block after block, in which part it is anyhow: 0 train, 1 valid, 2 test; -1 where that is to be drawn.
    """
    rng = np.random.default_rng(seed)
    relations = np.concatenate([block.relations for block in graph.blocks.values()])
    groups = relations if how == "stratified" else np.zeros_like(relations)
    drawn = np.ones(len(relations), np.bool_) if settled is None else settled < 0
    free = np.flatnonzero(~required_in_train(graph, rng) & drawn)
    order = rng.permutation(free)
    order = order[np.argsort(groups[order], kind="stable")]
    sizes = np.bincount(groups[drawn], minlength=len(np.bincount(groups)))
    counts = np.bincount(groups[order], minlength=len(sizes))
    indices = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)  # of each fact in its group
    in_test, in_valid = np.rint(sizes * test), np.rint(sizes * valid)
    held = np.minimum(counts, in_test + in_valid)
    in_test = np.rint(held * in_test / np.maximum(in_test + in_valid, 1))  # where facts are scarce, both get less
    parts = np.zeros(len(relations), np.int8)
    parts[order[indices < held[groups[order]]]] = 1
    parts[order[indices < in_test[groups[order]]]] = 2
    if settled is not None:
        parts = np.where(drawn, parts, settled)
    train, held_valid, held_test = (select_facts(graph, parts == number) for number in range(3))
    return Split(train, held_valid, held_test, source=source)
