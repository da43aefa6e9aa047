"""ReAlE's loss against replacements of its own as one differentiable operation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from relatum.models.backend import as_array

__all__ = ["own_loss"]


def own_loss(
    entities: Tensor,
    weights: Tensor,
    bias: Tensor,
    ids: tuple[Tensor, Tensor, Tensor, Tensor],
    factor: float,
) -> Tensor:
    """Return the summed loss of facts; `ids` are relations, places, columns and replacements (see the kernel)."""
    loss: Tensor = _Compiled.apply(entities, weights, bias, ids, factor)  # type: ignore[no-untyped-call]
    return loss


class _Compiled(torch.autograd.Function):
    """By `relatum.kernels.own_softmax`, which gives value and gradient at once."""

    @staticmethod
    def forward(
        ctx: Any, entities: Tensor, weights: Tensor, bias: Tensor, ids: tuple[Tensor, Tensor, Tensor, Tensor], factor: float
    ) -> Tensor:
        from relatum.kernels.own_softmax import own_softmax

        x, r, b = map(as_array, (entities, weights, bias))
        relations, places, columns, replacements = map(as_array, ids)
        loss, *gradients = own_softmax(x, r, b, relations, places, columns, replacements, factor)
        ctx.save_for_backward(*map(torch.from_numpy, gradients))
        return torch.tensor(loss, dtype=entities.dtype)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        return (*(gradient * upstream[0] for gradient in ctx.saved_tensors), None, None)
