"""ReAlE's losses, each as one differentiable operation by a kernel that gives value and gradients at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from relatum.kernels.filters import Known
from relatum.models.backend import as_array

__all__ = ["own_loss", "shared_loss"]


def own_loss(
    entities: Tensor, weights: Tensor, bias: Tensor, ids: tuple[Tensor, Tensor, Tensor, Tensor], factor: float
) -> Tensor:
    """Return the summed loss of facts against their own replacements; see `kernels.own_softmax` for the arguments."""
    from relatum.kernels.loss_per_fact import own_softmax

    arrays = map(as_array, (entities, weights, bias, *ids))
    return _with_gradients(own_softmax(*arrays, factor), entities, weights, bias)  # type: ignore[call-arg,arg-type]


def shared_loss(
    entities: Tensor, weights: Tensor, bias: Tensor, columns: Tensor, hidden: list[Known], factor: float
) -> Tensor:
    """Return the summed loss of facts against shared candidates; see `kernels.shared_softmax` for the arguments."""
    from relatum.kernels.loss_shared import shared_softmax

    x, r, b, ids = map(as_array, (entities, weights, bias, columns))
    return _with_gradients(shared_softmax(x, r, b, ids, hidden, factor), entities, weights, bias)


def _with_gradients(found: tuple[float, Any, Any, Any], *inputs: Tensor) -> Tensor:
    loss: Tensor = _Known.apply(found[0], [torch.from_numpy(gradient) for gradient in found[1:]], *inputs)  # type: ignore[no-untyped-call]
    return loss


class _Known(torch.autograd.Function):
    """A value whose gradients with respect to the inputs are known already."""

    @staticmethod
    def forward(ctx: Any, value: float, gradients: list[Tensor], *inputs: Tensor) -> Tensor:
        ctx.gradients = gradients
        return torch.tensor(value, dtype=inputs[0].dtype)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        return (None, None, *(gradient * upstream[0] for gradient in ctx.gradients))
