"""Folding entities into a trained model: where new ones start, and how their rows are fitted to the facts that hold them.

A new entity starts near the known ones that share neighbours with it. A neighbour of an entity in a fact is each other
entity of it, with the relation and the two positions. A neighbour that few known entities have says much: each of n that
have it counts 1 / n. A new entity starts at the mean of the known ones, weighed by the square of what they share with it.
One that shares no neighbour starts at the mean of those that stand at its positions, one without these at the mean of all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch

from relatum.arrays import Bool, Float32, Float64, Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.sorting import differs_from_previous, row_order, spread
from relatum.data.splitting import select_facts
from relatum.data.vocabulary import Ids
from relatum.errors import NumericError
from relatum.kernels import parallel
from relatum.models.base import Model, Parameters
from relatum.models.ops import one_torch_thread
from relatum.models.training_protocols import Gradient
from relatum.progress import progress
from relatum.training.batches import epoch_batches
from relatum.training.loop import Steps
from relatum.training.optimizer import Adam
from relatum.training.rows import FactRows, Result
from relatum.training.settings import TrainingSettings

_EPOCHS, _MOST_EPOCHS, _VISITS = 10, 40, 20_000  # few facts are seen more often, until so many have been seen
_LEARNING_RATE, _FINAL_FACTOR = 0.2, 0.05  # in units of the spread of the rows that stand still, and its share at the end
_OTHERS = 256  # facts without the entities that an epoch has at least, if there are as many
_MANY = 256  # a neighbour that more known entities have is left out: it says little, and costs much
_NOISE = 0.1  # of the spread: new entities with the same neighbours must not start alike, or they might never part


def fold_in(
    model: Model,
    parameters: Parameters,
    facts: Hypergraph,
    entities: Int64,
    training: TrainingSettings,
    seed: int = 0,
) -> Parameters:
    """Return the parameters with the rows of some entities fitted to the facts that hold them; nothing else differs.

    An epoch has the facts that hold the entities, and as many others, which say where the entities are no answer. All that
    these could be confused with stands still, so there is no dropout and no weight decay; Adam, whose steps have the size
    of the learning rate, takes rows about as far from their start as rows lie apart.

    `facts` are all training facts, and `training` is how the model was trained: the loss stays the same. The entities
    ascend, and start from what stands in their rows.
    """
    fitted = {**parameters, **{name: parameters[name].detach().clone() for name in model.entity_tables}}
    mine, others = _parted(facts, entities)
    if not len(mine):
        return fitted
    count = min(len(others), max(len(mine), _OTHERS))  # of other facts in an epoch
    settings = replace(  # they were chosen on validation facts; of training there remains the loss
        training,
        epochs=min(_MOST_EPOCHS, max(_EPOCHS, _VISITS // (len(mine) + count))),
        batch_size=64,
        batches_per_step=4,
        negative_sampling="shared",
        num_negatives=256,
        in_relation_share=0.5,
        learning_rate=_LEARNING_RATE * _spread(model, parameters, facts, entities),
    )
    ids = torch.from_numpy(entities)
    optimizer = Adam({name: fitted[name].index_select(0, ids) for name in model.entity_tables})
    none: dict[str, Any] = {one.name: 0.0 for one in fields(model.settings) if one.name.endswith("dropout")}
    still = type(model)(model.graph, replace(model.settings, **none))
    rows = _FoldedRows(still, facts, settings, seed, (fitted, entities), (mine, others, count))
    with one_torch_thread(), parallel.pool_of_threads() as pool, progress("fitting", settings.epochs) as advance:
        steps = Steps(rows, optimizer, pool)
        for epoch in range(settings.epochs):
            batches = steps.start_epoch(epoch)
            for start in range(0, batches, settings.batches_per_step):
                results = steps.gradients(range(batches)[start : start + settings.batches_per_step])
                if not all(math.isfinite(loss) for loss, _ in results):
                    reason = "the loss is not a finite number; the parameters are too large or hold a NaN"
                    raise NumericError("not-finite", f"folding in: {reason}")
                done = (epoch + start / batches) / settings.epochs
                steps.apply(settings.learning_rate * (1 - (1 - _FINAL_FACTOR) * done))
                for name, moved in optimizer.parameters.items():
                    fitted[name].index_copy_(0, ids, moved)
            advance(1)
    return fitted


class _FoldedRows(FactRows):
    """Facts that hold some entities, and in each epoch about as many others; gradients are of these entities' rows alone."""

    def __init__(
        self,
        model: Model,
        facts: Hypergraph,
        settings: TrainingSettings,
        seed: int,
        held: tuple[Parameters, Int64],
        parts: tuple[Hypergraph, Hypergraph, int],
    ) -> None:
        super().__init__(model, facts, settings, seed)
        self._tables, self._entities = held
        self._mine, self._others, self._count = parts

    def start_epoch(self, epoch: int) -> int:
        """Draw the other facts, and cut all into batches."""
        rng = np.random.default_rng([self.seed, epoch, 0, 1])  # not one of `step_rng`
        drawn = np.zeros(len(self._others), np.bool_)
        drawn[rng.permutation(len(self._others))[: self._count]] = True
        facts = Hypergraph.union([self._mine, select_facts(self._others, drawn)]) if drawn.any() else self._mine
        self._epoch, self._batches = epoch, epoch_batches(facts, self.settings.batch_size, self.seed, epoch, mixed=False)
        return len(self._batches)

    def gradients(self, parameters: Parameters, number: int, among: Int64 | None = None) -> Result:
        """Return gradients at the whole tables, of which the parameters are the rows of the entities."""
        loss, weight, found = super().gradients(self._tables, number)
        parts = [_of(self._entities, gradient) for gradient in found if gradient.name in parameters]
        return loss, weight, [part for part in parts if len(part.values)]


def facts_with(facts: Hypergraph, entities: Int64) -> Hypergraph:
    """Return the facts that hold any of the entities, each once."""
    return _parted(facts, entities)[0]


def _parted(facts: Hypergraph, entities: Int64) -> tuple[Hypergraph, Hypergraph]:
    """Return the facts that hold any of the entities, and the others; each once."""
    wanted = np.zeros(len(facts.entities), np.bool_)
    wanted[entities] = True
    distinct = facts.distinct()
    held = np.concatenate([wanted[block.columns].any(axis=0) for block in distinct.blocks.values()])
    return select_facts(distinct, held), select_facts(distinct, ~held)


def _spread(model: Model, parameters: Parameters, facts: Hypergraph, entities: Int64) -> float:
    """Return how far the rows lie apart that stand still and have been trained."""
    still = facts.degrees() > 0
    still[entities] = False
    name = model.entity_tables[0]
    rows = parameters[name].detach().numpy()[still] if still.any() else parameters[name].detach().numpy()
    return spread_of(rows) or 1.0


def _of(entities: Int64, gradient: Gradient) -> Gradient:
    """Return the part of a gradient that is of the entities; its rows are indices among them."""
    rows = np.arange(len(gradient.values)) if gradient.rows is None else gradient.rows
    kept = np.flatnonzero(np.isin(rows, entities))
    values = gradient.values.index_select(0, torch.from_numpy(kept))
    return Gradient(gradient.name, np.searchsorted(entities, rows[kept]), gradient.columns, values)


def init_new_entities(model: Model, parameters: Parameters, facts: Hypergraph, new: Int64, seed: int) -> Parameters:
    """Return the parameters with rows for new entities, ascending, to start from; nothing else differs.

    An entity is known if it occurs in the facts and is not new. Of the entity tables, only rows of known ones are read.
    """
    known = facts.degrees() > 0
    known[new] = False
    shared = _shared(facts, new, known)
    beside = _beside(facts, np.setdiff1d(new, list(shared)), known)
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
                means = [rows[others].mean(0) for others in beside.get(entity, [])]
                start = np.mean(means, axis=0) if means else middle
            rows[entity] = start + noise * rng.standard_normal(rows.shape[1])
        result[name] = table
    return result


def spread_of(rows: Float32) -> float:
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


def _beside(facts: Hypergraph, entities: Int64, known: Bool) -> dict[int, list[Int64]]:
    """Return, for each of some entities, the known ones at each relation and position that it stands at, if any."""
    found: dict[int, list[Int64]] = {}
    for relation in facts.schema:
        for column in facts.table(relation.name).columns:
            standing = np.intersect1d(column, entities).tolist()
            if standing and known[column].any():
                others = np.unique(column[known[column]]).astype(np.int64)
                for entity in standing:
                    found.setdefault(entity, []).append(others)
    return found
