"""Where new entities start: near the known entities that share neighbours with them.

A neighbour of an entity in a fact is each other entity of it, with the relation and the two positions. A neighbour that few
known entities have says much: each of n that have it counts 1 / n. A new entity starts at the mean of the known ones,
weighed by the square of what they share with it. One that shares no neighbour starts at the mean of those that stand at its
positions, one without these at the mean of all.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from relatum.arrays import Bool, Float32, Float64, Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.sorting import differs_from_previous, row_order, spread
from relatum.data.vocabulary import Ids
from relatum.models.base import Model, Parameters

Rows = Float32

_MANY = 256  # a neighbour that more known entities have is left out: it says little, and costs much
_NOISE = 0.1  # of the spread: new entities with the same neighbours must not start alike, or they might never part


def init_new_entities(model: Model, parameters: Parameters, facts: Hypergraph, new: Int64, seed: int) -> Parameters:
    """Return the parameters with rows for new entities to start from; nothing else differs.

    Args:
        model: the model.
        parameters: of its entity tables, only the rows of known entities are read.
        facts: all training facts; an entity is known if it occurs in them and is not new.
        new: the entities to give rows to, ascending.
        seed: of the noise.
    """
    known = facts.degrees() > 0
    known[new] = False
    shared = _shared(facts, new, known)
    positions = _positions(facts, np.setdiff1d(new, list(shared)))
    rng = np.random.default_rng(seed)
    result = dict(parameters)
    for name in model.entity_tables:
        table = parameters[name].detach().clone()
        rows = table.view(len(table), -1).numpy()
        middle = rows[known].mean(0)
        noise = _NOISE * spread_of(rows[known])
        for entity in new.tolist():
            if entity in shared:
                others, weights = shared[entity]
                start = (rows[others] * weights[:, None]).sum(0)
            else:
                means = [rows[others].mean(0) for others in _at(facts, positions.get(entity, []), known)]
                start = np.mean(means, axis=0) if means else middle
            rows[entity] = start + noise * rng.standard_normal(rows.shape[1])
        result[name] = table
    return result


def spread_of(rows: Rows) -> float:
    """Return how far rows lie from their mean: the root of the mean square over all coordinates."""
    return float(np.sqrt(np.mean((rows - rows.mean(0)) ** 2, dtype=np.float64)))


def _shared(facts: Hypergraph, new: Int64, known: Bool) -> dict[int, tuple[Int64, Float64]]:
    """Return for each new entity the known ones that share neighbours with it, if any, and weights that add up to 1."""
    size = len(facts.entities)
    is_new = np.zeros(size, np.bool_)
    is_new[new] = True
    parts = [part for part in _joined(facts, is_new, known) if len(part[0])]
    if not parts:
        return {}
    entities, others, shares = (np.concatenate(column) for column in zip(*parts, strict=True))
    pairs, number = np.unique(entities * size + others, return_inverse=True)
    entities, others, weights = pairs // size, pairs % size, np.bincount(number, shares) ** 2
    found, first = np.unique(entities, return_index=True)
    groups = zip(found.tolist(), np.split(others, first[1:]), np.split(weights, first[1:]), strict=True)
    return {entity: (mine, heavy / heavy.sum()) for entity, mine, heavy in groups}


def _joined(facts: Hypergraph, is_new: Bool, known: Bool) -> Iterator[tuple[Int64, Int64, Float64]]:
    """Yield (new entity, known entity, 1 / n) wherever n known entities have a neighbour of a new one."""
    for block in facts.blocks.values():
        for position, entities in enumerate(block.columns):
            mine, theirs = is_new[entities], known[entities]
            for other, neighbours in enumerate(block.columns):
                if other == position or not mine.any():
                    continue
                wanted, new = _distinct(block.relations[mine], neighbours[mine], entities[mine], len(is_new))
                kept, others = _distinct(block.relations[theirs], neighbours[theirs], entities[theirs], len(is_new))
                first, last = (np.searchsorted(kept, wanted, side) for side in ("left", "right"))
                counts = np.where(last - first <= _MANY, last - first, 0)
                yield np.repeat(new, counts), others[spread(first, counts)], np.repeat(1 / np.maximum(counts, 1), counts)


def _distinct(relations: Ids, neighbours: Ids, entities: Ids, size: int) -> tuple[Int64, Int64]:
    """Return each (relation and neighbour, as one number; entity) once, by that number; there are `size` entities."""
    order = row_order([relations, neighbours, entities], [int(relations.max(initial=0)) + 1, size, size])
    kept = order[differs_from_previous([relations[order], neighbours[order], entities[order]])]
    return relations[kept].astype(np.int64) * size + neighbours[kept], entities[kept].astype(np.int64)


def _positions(facts: Hypergraph, entities: Int64) -> dict[int, list[tuple[str, int]]]:
    """Return the relations and positions that each of some entities stands at."""
    found: dict[int, list[tuple[str, int]]] = {}
    for relation in facts.schema:
        for position, column in enumerate(facts.table(relation.name).columns):
            for entity in np.intersect1d(column, entities).tolist():
                found.setdefault(entity, []).append((relation.name, position))
    return found


def _at(facts: Hypergraph, positions: list[tuple[str, int]], known: Bool) -> Iterator[Int64]:
    """Yield the known entities of each relation and position that has any."""
    for relation, position in positions:
        column = facts.table(relation).columns[position]
        if known[column].any():
            yield np.unique(column[known[column]]).astype(np.int64)
