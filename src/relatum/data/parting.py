"""Facts parted into train and what is held out: which must stay in train, and a hypergraph of those that are marked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relatum.data.hypergraph import Block, Hypergraph

__all__ = ["Mask", "anchors", "marked"]

Mask = npt.NDArray[np.bool_]  # one for each fact, block after block


def anchors(graph: Hypergraph, rng: np.random.Generator) -> Mask:
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


def marked(graph: Hypergraph, mask: Mask) -> Hypergraph:
    """Return the facts that are marked; they stay in order."""
    ends = np.cumsum([len(block) for block in graph.blocks.values()])
    parts = zip(graph.blocks.values(), np.split(mask, ends[:-1]), strict=True)
    return Hypergraph(
        graph.entities, graph.schema, [Block(block.relations[part], block.columns[:, part]) for block, part in parts]
    )
