"""Proportional allocation, draws from groups, and sub-sampling into a split (Algorithm 4 of the paper).

Every entity and every relation of the dataset occurs in train, and every operation and depth in test, as far as it has a
tuple to spare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from relatum.arrays import Bool, Int64
from relatum.data.hypergraph import Block, Hypergraph, Split
from relatum.data.splitting import required_in_train, select_facts
from relatum.data.vocabulary import Ids, Vocabulary


def apportion(total: int, weights: Sequence[float] | npt.NDArray[np.floating | np.integer], least: int = 0) -> Int64:
    """Return whole numbers, int64[len(weights)], in proportion to `weights`; at least `least` where a weight is not 0.

    Their sum is `total`, or more if the least ones alone need more. The largest remainders are rounded up.
    """
    shares = np.asarray(weights, np.float64)
    floors = np.where(shares > 0, least, 0).astype(np.int64)
    exact = shares * (max(total, 0) / shares.sum()) if shares.sum() else np.zeros(len(shares))
    counts = np.maximum(np.floor(exact).astype(np.int64), floors)
    missing = total - int(counts.sum())
    order = np.argsort(counts - exact, kind="stable")  # the most short-changed first
    if missing > 0:
        counts[order[:missing]] += 1
    while missing < 0 and (reducible := order[::-1][counts[order[::-1]] > floors[order[::-1]]]).size:
        taken = reducible[:-missing]
        counts[taken] -= 1
        missing += len(taken)
    return counts


def draw_from_groups(
    groups: npt.NDArray[np.integer],
    wanted: Int64,
    rng: np.random.Generator,
    allowed: Bool | None = None,
    first: Bool | None = None,
) -> Bool:
    """Return which items are drawn, bool[items]: `wanted[g]` at random from those of group g, or all there are.

    Only items that are `allowed` are drawn, and those marked `first` before others.
    """
    items = np.arange(len(groups)) if allowed is None else np.flatnonzero(allowed)
    # One sort of numbers instead of two: group g has the keys from 2g - 1 to 2g + 1, the lower half for those drawn first.
    keys = rng.random(len(items))
    if first is not None:
        keys[first[items]] -= 1
    keys += 2.0 * groups[items]
    order = items[np.argsort(keys)]
    counts = np.bincount(groups[items], minlength=len(wanted))
    ranks = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)  # of each item in its group
    drawn = np.zeros(len(groups), np.bool_)
    drawn[order[ranks < wanted[groups[order]]]] = True
    return drawn


_LEAST_KEPT = 3  # tuples of a relation: one for each part


def sub_sample(
    graph: Hypergraph, tuples: int, arities: Mapping[int, float], wanted: Sequence[str], rng: np.random.Generator
) -> Hypergraph:
    """Return `tuples` facts of `graph`; entities that no longer occur are left out of the vocabulary.

    The facts are distinct, and each relation has one. `arities` are the shares of the arities in what is kept, as far
    as there is enough, or nothing for as many of all; within an arity every relation keeps its proportion. The `wanted`
    entities go on occurring.
    """
    if tuples < len(graph):
        relations = np.concatenate([block.relations for block in graph.blocks.values()])
        sizes = np.bincount(relations, minlength=len(graph.schema))
        quotas = np.minimum(_quotas(graph, sizes, tuples, arities), sizes)
        kept = draw_from_groups(relations, quotas, rng, first=_occurrences(graph, graph.entities.ids(wanted)))
        graph = select_facts(graph, kept)
    blocks = list(graph.blocks.values())
    occurs = np.zeros(len(graph.entities), np.bool_)
    for block in blocks:
        occurs[block.columns] = True
    new_ids = (np.cumsum(occurs) - 1).astype(np.int32)
    names = graph.entities.names
    entities = Vocabulary(names[number] for number in np.flatnonzero(occurs).tolist())
    # Ids keep their order, so facts stay sorted.
    return Hypergraph(entities, graph.schema, (Block(block.relations, new_ids[block.columns]) for block in blocks))


def _quotas(graph: Hypergraph, sizes: Int64, tuples: int, arities: Mapping[int, float]) -> Int64:
    """Return how many facts of each relation to keep."""
    if not arities:
        return apportion(tuples, sizes, least=_LEAST_KEPT)
    quotas = np.zeros_like(sizes)
    weights = np.array([arities.get(arity, 0.0) for arity in graph.blocks])
    available = np.array([len(block) for block in graph.blocks.values()])
    by_arity = np.zeros_like(available)
    # What one arity does not have is shared out among the others, until nothing is left to share or to give.
    while (rest := tuples - int(by_arity.sum())) > 0 and weights[by_arity < available].sum() > 0:
        by_arity += np.minimum(apportion(rest, np.where(by_arity < available, weights, 0)), available - by_arity)
    arity_of = np.array([relation.arity for relation in graph.schema])
    for arity, count in zip(graph.blocks, by_arity.tolist(), strict=True):
        quotas[arity_of == arity] = apportion(count, sizes[arity_of == arity], least=_LEAST_KEPT)
    return quotas


def hold_out(
    graph: Hypergraph, strata: Sequence[int], valid: float, test: float, rng: np.random.Generator, source: str = "memory"
) -> Split:
    """Return the facts of `graph` as train, valid and test, the latter with the given shares of each stratum.

    The facts are distinct, and all entities and relations occur. `strata` has a number from 0 up for each relation;
    from each stratum one fact at least is held out if one can be.
    """
    relations = np.concatenate([block.relations for block in graph.blocks.values()])
    groups = np.asarray(strata, np.int64)[relations]
    free = ~required_in_train(graph, rng)
    sizes = np.bincount(groups, minlength=max(strata, default=-1) + 1)
    for_test, for_valid = (np.maximum(np.rint(sizes * share), share > 0).astype(np.int64) for share in (test, valid))
    in_test = draw_from_groups(groups, for_test, rng, allowed=free)
    in_valid = draw_from_groups(groups, for_valid, rng, allowed=free & ~in_test)
    train, held_valid, held_test = (select_facts(graph, mask) for mask in (~(in_test | in_valid), in_valid, in_test))
    return Split(train, held_valid, held_test, source=source)


def _occurrences(graph: Hypergraph, wanted: Ids) -> Bool:
    """Return a few facts in which all the wanted entities occur."""
    chosen = np.zeros(len(graph), np.bool_)
    missing, start = np.unique(wanted), 0
    for block in graph.blocks.values():
        for column in block.columns:
            rows = np.flatnonzero(np.isin(column, missing))
            found, first = np.unique(column[rows], return_index=True)
            chosen[start + rows[first]] = True
            missing = np.setdiff1d(missing, found)
        start += len(block)
    return chosen
