"""Folding entities into a trained model: their rows are fitted to the facts that hold them, and nothing else moves."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch

from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.splitting import select_facts
from relatum.errors import NumericError
from relatum.kernels import parallel
from relatum.models.base import Model, Parameters
from relatum.models.ops import one_torch_thread
from relatum.models.training_protocols import Gradient
from relatum.progress import progress
from relatum.training.batches import epoch_batches
from relatum.training.loop import LocalSteps
from relatum.training.new_entities import spread_of
from relatum.training.optimizer import Adam
from relatum.training.rows import FactRows
from relatum.training.settings import TrainingSettings

_EPOCHS, _MOST_EPOCHS, _VISITS = 10, 40, 20_000  # few facts are seen more often, until so many have been seen
_LEARNING_RATE, _FINAL_FACTOR = 0.2, 0.05  # in units of the spread of the rows that stand still, and its share at the end
_OTHERS = 256  # facts without the entities that an epoch has at least, if there are as many


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

    Args:
        model: the model over `facts`; one that reads facts passes messages over all of them.
        parameters: what stands in the rows of the entities is where they start.
        facts: all training facts.
        entities: whose rows are fitted, ascending.
        training: how the model was trained: the loss stays the same.
        seed: of everything that is drawn.
    """
    fitted = {**parameters, **{name: parameters[name].detach().clone() for name in model.entity_tables}}
    mine, others = _parted(facts, entities)
    if not len(mine):
        return fitted
    settings = _settings(training, _epochs(mine, others), _LEARNING_RATE * _spread(model, parameters, facts, entities))
    ids = torch.from_numpy(entities)
    optimizer = Adam({name: fitted[name].index_select(0, ids) for name in model.entity_tables})
    rows = _FoldedRows(_without_dropout(model), fitted, facts, entities, settings, seed)
    with one_torch_thread(), parallel.pool_of_threads() as pool, progress("fitting", settings.epochs) as advance:
        steps = LocalSteps(rows, optimizer, pool)
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
        self, model: Model, tables: Parameters, facts: Hypergraph, entities: Int64, settings: TrainingSettings, seed: int
    ) -> None:
        super().__init__(model, facts, settings, seed)
        self._tables, self._entities = tables, entities
        self._mine, self._others = _parted(facts, entities)

    def start_epoch(self, epoch: int) -> int:
        """Draw the other facts, and cut all into batches."""
        rng = np.random.default_rng([self.seed, epoch, 0, 1])  # not one of `step_rng`
        drawn = np.zeros(len(self._others), np.bool_)
        drawn[rng.permutation(len(self._others))[: _others(self._mine, self._others)]] = True
        facts = Hypergraph.union([self._mine, select_facts(self._others, drawn)]) if drawn.any() else self._mine
        self._epoch, self._batches = epoch, epoch_batches(facts, self.settings.batch_size, self.seed, epoch, mixed=False)
        return len(self._batches)

    def gradients(
        self, parameters: Parameters, number: int, among: Int64 | None = None
    ) -> tuple[float, float, list[Gradient]]:
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


def _settings(training: TrainingSettings, epochs: int, learning_rate: float) -> TrainingSettings:
    """Return the settings of folding, which were chosen on validation facts; of training there remains the loss."""
    return replace(
        training,
        epochs=epochs,
        batch_size=64,
        batches_per_step=4,
        negative_sampling="shared",
        num_negatives=256,
        in_relation_share=0.5,
        learning_rate=learning_rate,
    )


def _others(mine: Hypergraph, others: Hypergraph) -> int:
    """Return how many other facts an epoch has."""
    return min(len(others), max(len(mine), _OTHERS))


def _epochs(mine: Hypergraph, others: Hypergraph) -> int:
    return min(_MOST_EPOCHS, max(_EPOCHS, _VISITS // (len(mine) + _others(mine, others))))


def _spread(model: Model, parameters: Parameters, facts: Hypergraph, entities: Int64) -> float:
    """Return how far the rows lie apart that stand still and have been trained."""
    still = facts.degrees() > 0
    still[entities] = False
    name = model.entity_tables[0]
    rows = parameters[name].detach().numpy()[still] if still.any() else parameters[name].detach().numpy()
    return spread_of(rows) or 1.0


def _without_dropout(model: Model) -> Model:
    none: dict[str, Any] = {one.name: 0.0 for one in fields(model.settings) if one.name.endswith("dropout")}
    return type(model)(model.graph, replace(model.settings, **none))


def _of(entities: Int64, gradient: Gradient) -> Gradient:
    """Return the part of a gradient that is of the entities; its rows are indices among them."""
    rows = np.arange(len(gradient.values)) if gradient.rows is None else gradient.rows
    kept = np.flatnonzero(np.isin(rows, entities))
    values = gradient.values.index_select(0, torch.from_numpy(kept))
    return Gradient(gradient.name, np.searchsorted(entities, rows[kept]), gradient.columns, values)
