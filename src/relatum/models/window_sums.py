"""Weighted sums over windows as a differentiable operation: compiled on the CPU, torch operations elsewhere."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from relatum.models.backend import as_array, backend_for

__all__ = ["window_sums"]


def window_sums(values: Tensor, weights: Tensor, window: int) -> Tensor:
    """Return sum over k in window j of values[..., k] * weights[..., k], [..., d / window]; both broadcast."""
    if values.ndim == 2 and weights.ndim == 1 and backend_for(values) == "numba":
        result: Tensor = _Compiled.apply(values, weights, window)  # type: ignore[no-untyped-call]
        return result
    products = values * weights
    return products.reshape(*products.shape[:-1], products.shape[-1] // window, window).sum(-1)


class _Compiled(torch.autograd.Function):
    """By the kernels of `relatum.kernels.windows`."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, weights: Tensor, window: int) -> Tensor:
        from relatum.kernels import windows

        ctx.sides = (as_array(values), as_array(weights), window)
        return torch.from_numpy(windows.window_sums(*ctx.sides))

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        from relatum.kernels import windows

        values, weights, window = ctx.sides
        of_values, of_weights = windows.window_gradients(values, weights, window, as_array(upstream[0]))
        return torch.from_numpy(of_values), torch.from_numpy(of_weights), None
