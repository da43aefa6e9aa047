"""One step: the loss of some facts and its gradient, on the rows of the parameters that it needs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from relatum.kernels.filters import Known
from relatum.kernels.rows import block
from relatum.models.base import Model, Parameters
from relatum.models.ops import as_array
from relatum.training.batches import Batch
from relatum.training.losses import loss_of
from relatum.training.negatives import NegativeSampler
from relatum.training.optimizer import Gradient
from relatum.training.settings import TrainingSettings

__all__ = ["gradients"]

Ints = npt.NDArray[np.int64]


def gradients(
    model: Model,
    parameters: Parameters,
    step: list[Batch],
    candidates: NegativeSampler,
    settings: TrainingSettings,
    chance: np.random.Generator,
) -> tuple[float, list[Gradient]]:
    """Return the mean loss per fact of a step and the gradients of what it touches.

    Args:
        model: the model.
        parameters: its parameters; they are read, not changed.
        step: facts, one batch per arity.
        candidates: what the facts are compared with.
        settings: of training.
        chance: the generator of this step.
    """
    drawn = candidates.draw(step, chance)
    entities = _entities(step, drawn, settings)
    touched = None if model.reads_facts else np.unique(np.concatenate([batch.relations for batch in step]))
    noise = torch.Generator(device=parameters["entities"].device).manual_seed(int(chance.integers(2**62)))
    narrow, touched_rows = _narrow(model, entities, touched, noise)
    narrow, kept = narrow.thinned(noise)
    leaves = {
        name: _part(tensor, touched_rows.get(name), kept.get(name)).detach().requires_grad_()
        for name, tensor in parameters.items()
    }
    tables = narrow.encode(leaves, noise)
    total = torch.zeros((), dtype=leaves["entities"].dtype, device=leaves["entities"].device)
    for batch, replacements in zip(step, drawn, strict=True):
        columns = torch.from_numpy(_local(batch.columns, entities))
        relations = torch.from_numpy(_local(batch.relations, touched))
        if settings.negative_sampling == "per-fact":
            total = total + _own(narrow, tables, relations, columns, _local(replacements, entities), settings)
        else:
            total = total + _shared(narrow, tables, batch, relations, columns, entities, candidates, settings)
        penalty = narrow.penalty(tables, relations, columns)
        if penalty is not None:
            total = total + penalty * len(batch)
    size = sum(map(len, step))
    torch.autograd.backward(total / size)
    found = [
        Gradient(name, _ids(touched_rows.get(name)), _ids(kept.get(name)), leaf.grad)
        for name, leaf in leaves.items()
        if leaf.grad is not None
    ]
    return float(total.detach()) / size, found


def _narrow(
    model: Model, entities: Ints | None, relations: Ints | None, noise: torch.Generator
) -> tuple[Model, dict[str, Tensor]]:
    """Return the model for the rows that a step needs, and for each parameter those rows; one not named needs all."""
    found: dict[str, Tensor] = {}
    if entities is not None:
        model, needed = model.around(torch.from_numpy(entities), noise)
        found.update(dict.fromkeys(model.entity_tables, needed))
    if relations is not None:
        chosen = torch.from_numpy(relations)
        model, places = model.narrowed(chosen)
        found.update(dict.fromkeys(model.relation_tables, chosen))
        found.update(dict.fromkeys(model.place_tables, places))
    return model, found


def _part(table: Tensor, rows: Tensor | None, columns: Tensor | None) -> Tensor:
    """Return the chosen rows and columns of a table; all where None is given."""
    if columns is None:
        return table if rows is None else table.index_select(0, rows)
    if rows is None or table.device.type != "cpu" or table.dtype != torch.float32:
        return _part(table, rows, None).index_select(1, columns)
    return torch.from_numpy(block(as_array(table), rows.numpy(), columns.numpy()))


def _ids(chosen: Tensor | None) -> Ints | None:
    return None if chosen is None else chosen.numpy(force=True)


def _entities(step: list[Batch], drawn: list[Ints], settings: TrainingSettings) -> Ints | None:
    """Return the entities that a step needs, ascending; None for all of them."""
    if settings.negative_sampling == "all-entities":
        return None
    return np.unique(np.concatenate([*(batch.columns.ravel() for batch in step), *(ids.ravel() for ids in drawn)]))


def _local(ids: Ints, entities: Ints | None) -> Ints:
    """Return the places of ids among the entities of the step."""
    return ids if entities is None else np.searchsorted(entities, ids)


def _shared(
    model: Model,
    tables: Parameters,
    batch: Batch,
    relations: Tensor,
    columns: Tensor,
    entities: Ints | None,
    candidates: NegativeSampler,
    settings: TrainingSettings,
) -> Tensor:
    """Return the loss of facts of one relation, summed over facts and positions, each against all entities of the step."""
    hidden = [candidates.hidden(batch, position, entities) for position in range(len(columns))]
    if _plain_softmax(settings):
        fused = model.shared_loss(tables, relations[0], columns, hidden)
        if fused is not None:
            return fused
    combine = model.combine(tables)
    total = torch.zeros((), dtype=tables["entities"].dtype, device=tables["entities"].device)
    for position in range(len(columns)):
        queries = model.queries(tables, relations, columns, position)
        scores = combine.matrix(queries, model.candidates(tables, relations[0], position, None))
        total = total + loss_of(scores, columns[position], _pairs(hidden[position]), settings, model.midpoint)
    return total


def _pairs(hidden: Known) -> tuple[Tensor, Tensor] | None:
    """Return (fact, candidate) of every candidate that is hidden; what `Candidates.hidden` gives is in order."""
    if not len(hidden.pool):
        return None
    rows = np.repeat(np.arange(len(hidden.counts)), hidden.counts)
    return torch.from_numpy(rows), torch.from_numpy(hidden.pool.astype(np.int64))


def _own(
    model: Model, tables: Parameters, relations: Tensor, columns: Tensor, replacements: Ints, settings: TrainingSettings
) -> Tensor:
    """Return Eq. 3: each fact against all replacements of all its positions, in one softmax."""
    if _plain_softmax(settings):
        fused = model.own_loss(tables, relations, columns, torch.from_numpy(replacements))
        if fused is not None:
            return fused
    combine = model.combine(tables)
    scores = []
    for position, entities in enumerate(torch.from_numpy(replacements)):
        queries = model.queries(tables, relations, columns, position)
        if position == 0:
            own = model.candidates(tables, relations, 0, columns[0])
            scores.append(combine.pairs(queries, own)[:, None])
        candidates = model.candidates(tables, relations[:, None], position, entities)
        scores.append(combine.pairs(queries[:, None], candidates))
    return loss_of(torch.cat(scores, 1), torch.zeros_like(relations), None, settings, model.midpoint)


def _plain_softmax(settings: TrainingSettings) -> bool:
    """Return whether the loss is what the models' fused ways compute."""
    return settings.loss == "softmax" and not settings.label_smoothing and not settings.bce_weight
