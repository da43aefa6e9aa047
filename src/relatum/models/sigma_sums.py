"""The sum over windows of sigma(query + candidate), sigma sigmoid or tanh, as a differentiable operation for every backend.

Forward and backward are written out, so that no backend keeps, or makes, the array of (queries, candidates, windows).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from relatum.models.backend import as_array, backend_for

__all__ = ["sigma_sums"]

_CHUNK = 1 << 22  # numbers in the largest piece of the (queries, candidates, windows) array that eager operations make


def sigma_sums(sigma: str, queries: Tensor, candidates: Tensor) -> Tensor:
    """Return the sums, [Q, C], for queries [Q, W] and candidates [C, W]."""
    operation = _Compiled if backend_for(queries) == "numba" else _Chunked
    result: Tensor = operation.apply(queries, candidates, sigma == "tanh")  # type: ignore[no-untyped-call]
    return result


class _Compiled(torch.autograd.Function):
    """By the kernels of `relatum.kernels.windowed_sigmoid`."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, candidates: Tensor, tanh: bool) -> Tensor:
        from relatum.kernels import windowed_sigmoid

        ctx.queries, ctx.candidates = as_array(queries), as_array(candidates)
        ctx.plan = windowed_sigmoid.plan(ctx.candidates, tanh=tanh)
        return torch.from_numpy(windowed_sigmoid.forward(ctx.plan, ctx.queries, ctx.candidates))

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        from relatum.kernels import windowed_sigmoid

        of_queries, of_candidates = windowed_sigmoid.backward(ctx.plan, ctx.queries, ctx.candidates, as_array(upstream[0]))
        return torch.from_numpy(of_queries), torch.from_numpy(of_candidates), None


class _Chunked(torch.autograd.Function):
    """By torch operations: fused into one kernel where the backend says so, else on chunks of candidates."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, candidates: Tensor, tanh: bool) -> Tensor:
        ctx.save_for_backward(queries, candidates)
        ctx.tanh = tanh
        fused = _compiled(_sums) if backend_for(queries) == "compile" else None
        if fused is not None and (result := fused(queries, candidates, tanh)) is not None:
            return result  # type: ignore[no-any-return]
        return torch.cat([_sums(queries, piece, tanh) for piece in torch.split(candidates, _width(queries))], 1)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        queries, candidates = ctx.saved_tensors
        fused = _compiled(_gradients) if backend_for(queries) == "compile" else None
        if fused is not None and (result := fused(queries, candidates, ctx.tanh, upstream[0])) is not None:
            return (*result, None)
        width = _width(queries)
        of_queries, of_candidates = torch.zeros_like(queries), []
        for piece, weight in zip(torch.split(candidates, width), torch.split(upstream[0], width, 1), strict=True):
            of_query, of_piece = _gradients(queries, piece, ctx.tanh, weight)
            of_queries = of_queries + of_query
            of_candidates.append(of_piece)
        return of_queries, torch.cat(of_candidates), None


def _sums(queries: Tensor, candidates: Tensor, tanh: bool) -> Tensor:
    inside = queries[:, None] + candidates
    return (torch.tanh(inside) if tanh else torch.sigmoid(inside)).sum(-1)


def _gradients(queries: Tensor, candidates: Tensor, tanh: bool, upstream: Tensor) -> tuple[Tensor, Tensor]:
    inside = queries[:, None] + candidates
    value = torch.sigmoid(2 * inside) if tanh else torch.sigmoid(inside)
    slope = upstream[..., None] * value * (1 - value) * (4 if tanh else 1)
    return slope.sum(1), slope.sum(0)


def _width(queries: Tensor) -> int:
    return max(1, _CHUNK // max(1, queries.numel()))


@functools.cache
def _compiled(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return the operation as one fused kernel; it gives None, after one warning, where no compiler is to be had."""
    fused = torch.compile(operation, fullgraph=True, dynamic=True)
    broken = False

    def call(*arguments: Tensor | bool) -> Any:
        nonlocal broken
        if broken:
            return None
        try:
            return fused(*arguments)
        except Exception as error:  # from a missing compiler to an unsupported device: the result is had another way
            broken = True
            reason = str(error).strip().partition("\n")[0]
            warnings.warn(f"torch.compile failed, so chunks of eager operations are used: {reason}", stacklevel=2)
            return None

    return call
