"""The loss of a batch and its gradient, on the rows of the parameters that it needs, and maybe few of their columns.

A batch needs few entities and relations, and the gradient of a whole table would be mostly zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Int64
from relatum.data.sorting import spread
from relatum.kernels.filters import Excluded
from relatum.kernels.rows import block
from relatum.models.base import Model, Parameters
from relatum.models.combine import pairs_of
from relatum.models.ops import as_array
from relatum.models.training_protocols import ColumnDropout, FusedLoss, Gradient, NeighbourSampling, Penalty
from relatum.training.batches import Batch, NegativeSampler
from relatum.training.settings import TrainingSettings

Encode = Callable[[Parameters, torch.Generator | None], Parameters]


def gradients(
    model: Model,
    parameters: Parameters,
    batch: Batch,
    sampler: NegativeSampler,
    settings: TrainingSettings,
    rng: np.random.Generator,
    among: Int64 | None = None,
) -> tuple[float, list[Gradient]]:
    """Return the mean loss per fact of a batch and the gradients of what it touches.

    `among` are the entities that the parameters have rows of, ascending; None for all. Gradients have indices among them.
    """
    drawn = sampler.draw(batch, rng)
    relations = np.unique(np.concatenate([part.relations for part in batch]))
    dropout_rng = torch.Generator(device=parameters["entities"].device).manual_seed(int(rng.integers(2**62)))
    view = StepView.of(model, entities_of(batch, drawn, settings), relations, dropout_rng, among)
    parts = view.parts(parameters)
    tables = view.encode(parts, dropout_rng)
    total = torch.zeros((), dtype=parts["entities"].dtype, device=parts["entities"].device)
    for part, negatives in zip(batch, drawn, strict=True):
        columns = torch.from_numpy(view.entity_indices(part.columns))
        ids = torch.from_numpy(view.relation_indices(part.relations))
        if settings.negative_sampling == "per-fact":
            replacements = torch.from_numpy(view.entity_indices(negatives))
            total = total + _loss_per_fact(view.model, tables, ids, columns, replacements, settings.label_smoothing)
        else:
            excluded = [sampler.excluded(part, position, view.entities) for position in range(len(columns))]
            total = total + _loss_shared(view.model, tables, ids, columns, excluded, settings.label_smoothing)
        if isinstance(view.model, Penalty):
            penalty = view.model.penalty(tables, ids, columns)
            total = total if penalty is None else total + penalty * len(part)
    size = sum(map(len, batch))
    torch.autograd.backward(total / size)
    return float(total.detach()) / size, view.gradients(parts)


def entities_of(batch: Batch, drawn: list[Int64], settings: TrainingSettings) -> Int64 | None:
    """Return the entities that a batch needs, ascending; None for all of them."""
    if settings.negative_sampling == "all-entities":
        return None
    return np.unique(np.concatenate([*(part.columns.ravel() for part in batch), *(ids.ravel() for ids in drawn)]))


def _loss_shared(
    model: Model, tables: Parameters, relations: Tensor, columns: Tensor, excluded: list[Excluded], smoothing: float
) -> Tensor:
    """Return the loss of facts of one relation, summed over facts and positions, each against all entities of the tables."""
    if isinstance(model, FusedLoss) and not smoothing:
        fused = model.fused_loss_shared(tables, relations[0], columns, excluded)
        if fused is not None:
            return fused
    combine = model.combine(tables)
    total = torch.zeros((), dtype=tables["entities"].dtype, device=tables["entities"].device)
    for position in range(len(columns)):
        queries = model.queries(tables, relations, columns, position)
        scores = combine.matrix(queries, model.candidates(tables, relations[0], position, None))
        total = total + loss_of(scores, columns[position], pairs_of(excluded[position]), smoothing)
    return total


def _loss_per_fact(
    model: Model, tables: Parameters, relations: Tensor, columns: Tensor, replacements: Tensor, smoothing: float
) -> Tensor:
    """Return Eq. 3: each fact against all replacements of all its positions, in one softmax."""
    if isinstance(model, FusedLoss) and not smoothing:
        fused = model.fused_loss_per_fact(tables, relations, columns, replacements)
        if fused is not None:
            return fused
    combine = model.combine(tables)
    scores = []
    for position, entities in enumerate(replacements):
        queries = model.queries(tables, relations, columns, position)
        if position == 0:
            own = model.candidates(tables, relations, 0, columns[0])
            scores.append(combine.pairs(queries, own)[:, None])
        candidates = model.candidates(tables, relations[:, None], position, entities)
        scores.append(combine.pairs(queries[:, None], candidates))
    return loss_of(torch.cat(scores, 1), torch.zeros_like(relations), None, smoothing)


def loss_of(scores: Tensor, targets: Tensor, masked: tuple[Tensor, Tensor] | None, smoothing: float = 0.0) -> Tensor:
    """Return the sum over rows of the softmax cross-entropy of scores [n, candidates].

    `targets`, int64[n], are the columns of the true facts; `masked` (rows, columns) do not count. With a smoothing of s, the
    target is 1 - s on the true fact and s spread evenly over all candidates that count.
    """
    loss: Tensor = _Softmax.apply(scores, targets, masked, smoothing)  # type: ignore[no-untyped-call]
    return loss


class _Softmax(torch.autograd.Function):
    """Eq. 3 summed over rows. Value and gradient come out of the same exponentials, so both are taken at once, in place."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, targets: Tensor, masked: tuple[Tensor, Tensor] | None, smoothing: float) -> Tensor:
        count = torch.full((len(scores),), scores.shape[1], dtype=scores.dtype, device=scores.device)
        true = scores.gather(1, targets[:, None])
        work = scores.detach().clone()
        if masked is not None:
            work[masked] = -torch.inf
            count -= torch.bincount(masked[0], minlength=len(scores))
        largest = work.amax(1, keepdim=True)
        mean = (torch.nan_to_num(work, neginf=0.0).sum(1) / count) if smoothing else 0.0
        work.sub_(largest).exp_()
        sums = work.sum(1, keepdim=True)
        loss = (sums.log() + largest - true)[:, 0] + smoothing * (true[:, 0] - mean)
        work.div_(sums)  # the probabilities: the gradient, less the target
        if smoothing:
            counted = torch.ones_like(work)
            if masked is not None:
                counted[masked] = 0
            work.sub_(counted * (smoothing / count)[:, None])
        work.scatter_add_(1, targets[:, None], torch.full_like(true, smoothing - 1))
        ctx.save_for_backward(work)
        return loss.sum()

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * upstream[0], None, None, None


@dataclass(frozen=True, eq=False, slots=True)
class StepView:
    """Some entities, relations and columns of a model."""

    model: Model  # of the tables that `encode` returns; its ids are indices among `entities` and `relations`
    encode: Encode  # returns these tables from the parameters that `parts` returns
    entities: Int64 | None  # ascending and distinct; None for all
    relations: Int64 | None
    rows: Mapping[str, Tensor]  # that are taken of each parameter; one that is not named is taken whole
    columns: Mapping[str, Tensor]

    @classmethod
    def of(
        cls, model: Model, entities: Int64 | None, relations: Int64, rng: torch.Generator, among: Int64 | None = None
    ) -> StepView:
        """Return the view of a batch; neighbours and columns are drawn.

        `among` are the entities that the parameters have rows of, if not all: `rows` are then indices among them.
        """
        rows: dict[str, Tensor] = {}
        restricted = model
        if not model.reads_facts:  # the facts that a model reads may be of any relation
            chosen = torch.from_numpy(relations)
            first, arities = model.position_rows(chosen, 0).numpy(), model.arities[chosen].numpy()
            rows.update(dict.fromkeys(model.relation_tables, chosen))
            rows.update(dict.fromkeys(model.position_tables, torch.from_numpy(spread(first, arities))))
            restricted = model.restricted_to(chosen)
        encode: Encode = restricted.encode
        if entities is not None:
            needed = torch.from_numpy(entities if among is None else np.searchsorted(among, entities))
            if isinstance(restricted, NeighbourSampling):
                neighbourhood = restricted.neighbourhood(needed, rng)
                needed, encode = neighbourhood.rows, neighbourhood.encode
            rows.update(dict.fromkeys(model.entity_tables, needed))
        columns = model.kept_columns(rng) if isinstance(model, ColumnDropout) else {}
        return cls(restricted, encode, entities, None if model.reads_facts else relations, rows, columns)

    def entity_indices(self, ids: Int64) -> Int64:
        """Return the indices of entity ids among the entities of the view."""
        return ids if self.entities is None else np.searchsorted(self.entities, ids)

    def relation_indices(self, ids: Int64) -> Int64:
        """Return the indices of relation ids among the relations of the view."""
        return ids if self.relations is None else np.searchsorted(self.relations, ids)

    def parts(self, parameters: Parameters) -> Parameters:
        """Return the rows and columns of parameters that the view takes, as leaves that gradients are taken of."""
        taken = {name: _part(table, self.rows.get(name), self.columns.get(name)) for name, table in parameters.items()}
        return {name: part.detach().requires_grad_() for name, part in taken.items()}

    def gradients(self, parts: Parameters) -> list[Gradient]:
        """Return the gradients of the parts, each with its rows and columns of the whole parameter."""
        return [
            Gradient(name, _ids(self.rows.get(name)), _ids(self.columns.get(name)), part.grad)
            for name, part in parts.items()
            if part.grad is not None
        ]


def _part(table: Tensor, rows: Tensor | None, columns: Tensor | None) -> Tensor:
    """Return the chosen rows and columns of a table; all where None is given."""
    if columns is None:
        return table if rows is None else table.index_select(0, rows)
    if rows is None or table.device.type != "cpu" or table.dtype != torch.float32:
        return _part(table, rows, None).index_select(1, columns)
    return torch.from_numpy(block(as_array(table), rows.numpy(), columns.numpy()))


def _ids(chosen: Tensor | None) -> Int64 | None:
    return None if chosen is None else chosen.numpy(force=True)
