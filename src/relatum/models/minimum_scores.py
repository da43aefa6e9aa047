"""NaLP's scores of all queries with all candidates as a differentiable operation: compiled on the CPU, eager elsewhere."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from relatum.models.backend import as_array, backend_for

__all__ = ["minimum_scores", "pair_scores"]

_CHUNK = 1 << 22  # numbers in the largest piece of the (queries, candidates, features) array that eager operations make


def pair_scores(queries: Tensor, candidates: Tensor, bias: Tensor, weights: Tensor, offset: Tensor) -> Tensor:
    """Return v . relu(min(p, p') + min(q, q') + b) + c for sides [p; q] whose leading dimensions broadcast."""
    left, right = torch.minimum(queries, candidates).chunk(2, -1)
    return (torch.relu(left + right + bias) * weights).sum(-1) + offset


def minimum_scores(queries: Tensor, candidates: Tensor, bias: Tensor, weights: Tensor, offset: Tensor) -> Tensor:
    """Return the scores of all pairs, [Q, C], for sides [Q, 2 H] and [C, 2 H]."""
    if backend_for(queries) == "numba":
        scores: Tensor = _Compiled.apply(queries, candidates, bias, weights)  # type: ignore[no-untyped-call]
        # By rows: the gradient of one number for all scores would be summed in an order that depends on the threads.
        return scores + offset.expand(len(queries))[:, None]
    width = max(1, _CHUNK // max(1, queries.numel()))
    pieces = torch.split(candidates, width)
    return torch.cat([pair_scores(queries[:, None], piece, bias, weights, offset) for piece in pieces], 1)


class _Compiled(torch.autograd.Function):
    """By the kernels of `relatum.kernels.minima`."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, candidates: Tensor, bias: Tensor, weights: Tensor) -> Tensor:
        from relatum.kernels import minima

        q, k, b, v = map(as_array, (queries, candidates, bias, weights))
        tiles = minima.pack(k)
        ctx.sides = (q, tiles, len(k), b, v)
        return torch.from_numpy(minima.forward(q, tiles, len(k), b, v, 0.0))

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, ...]:
        from relatum.kernels import minima

        queries, tiles, count, bias, weights = ctx.sides
        gradients = minima.backward(queries, tiles, count, bias, weights, as_array(upstream[0]))
        return tuple(map(torch.from_numpy, gradients))
