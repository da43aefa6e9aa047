"""Weighted sums over windows as a differentiable operation: compiled on the CPU, torch operations elsewhere."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from relatum.models.backend import as_array, backend_for

__all__ = ["window_sums"]


def window_sums(values: Tensor, weights: Tensor, window: int) -> Tensor:
    """Return sum over k in window j of values[..., k] * weights[..., k], [..., d / window].

    The leading dimensions of weights are the first ones of values, or 1: each row of weights weighs all values behind it.
    """
    if backend_for(values) == "numba" and values.shape[: len(_leading(weights))] == _leading(weights):
        result: Tensor = _Compiled.apply(values, weights, window)  # type: ignore[no-untyped-call]
        return result
    products = values * weights
    return products.reshape(*products.shape[:-1], products.shape[-1] // window, window).sum(-1)


def _leading(weights: Tensor) -> torch.Size:
    """Return the leading dimensions of weights, those of length 1 at their end left out."""
    shape = weights.shape[:-1]
    while shape and shape[-1] == 1:
        shape = shape[:-1]
    return shape


class _Compiled(torch.autograd.Function):
    """By the kernels of `relatum.kernels.windows`."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, weights: Tensor, window: int) -> Tensor:
        from relatum.kernels import windows

        dim = values.shape[-1]
        ctx.shapes = values.shape, weights.shape
        ctx.sides = (as_array(values).reshape(-1, dim), as_array(weights).reshape(-1, dim), window)
        return torch.from_numpy(windows.window_sums(*ctx.sides)).reshape(*values.shape[:-1], dim // window)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        from relatum.kernels import windows

        values, weights, window = ctx.sides
        slopes = as_array(upstream[0]).reshape(len(values), -1)
        of_values, of_weights = map(torch.from_numpy, windows.window_gradients(values, weights, window, slopes))
        return of_values.reshape(ctx.shapes[0]), of_weights.reshape(ctx.shapes[1]), None
