"""Differentiable operations: windowed sums, sums of sigmas, fused losses; and which backend computes them.

`numba` serves float32 on the CPU; `compile` is torch.compile, one fused kernel, for GPUs; `eager` is torch operations on
chunks, for everything else and where a compiler is missing. `RELATUM_BACKEND` forces one.

Forward and backward are written out, so that no backend keeps, or makes, the array of (queries, candidates, windows).
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from relatum.arrays import Float32, Int32, Int64
from relatum.errors import SettingError
from relatum.kernels import windowed_sigmoid, windows
from relatum.kernels.question_loss import Objective, answer_slopes

Array = npt.NDArray[Any]
Made = tuple[Array, Callable[[Array], Iterable[Array]]]  # a value, and the gradients of what it was made of, from its own
Kernel = Callable[..., Made]

BACKENDS = ("numba", "compile", "eager")


def backend_for(values: Tensor) -> str:
    """Return the name of the backend for tensors like this one."""
    fits = values.device.type == "cpu" and values.dtype == torch.float32  # all that the compiled kernels know
    if forced := os.environ.get("RELATUM_BACKEND"):
        if forced not in BACKENDS:
            raise SettingError(
                "bad-backend", f"must be one of {', '.join(BACKENDS)}, not {forced!r}", place="RELATUM_BACKEND"
            )
        return "eager" if forced == "numba" and not fits else forced
    if fits:
        return "numba"
    return "compile" if values.device.type == "cuda" else "eager"


def as_array(values: Tensor) -> Array:
    """Return a tensor's values for a kernel, without copying them where they lie in order."""
    return values.detach().contiguous().numpy()


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch work with one thread while the kernels have theirs.

    The two would spin against each other, and what torch sums with many threads it sums in another order than with one.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _ByKernel(torch.autograd.Function):
    """What a kernel makes of arrays, and the gradients that it makes of the gradient of that."""

    @staticmethod
    def forward(ctx: Any, kernel: Kernel, *inputs: Tensor) -> Tensor:
        value, ctx.gradients = kernel(*map(as_array, inputs))
        return torch.from_numpy(value)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        return (None, *map(torch.from_numpy, ctx.gradients(as_array(upstream[0]))))


def by_kernel(kernel: Kernel, *inputs: Tensor) -> Tensor:
    """Return what a kernel makes of tensors, for gradients to be taken of."""
    if not torch.is_grad_enabled():
        return torch.from_numpy(kernel(*map(as_array, inputs))[0])
    result: Tensor = _ByKernel.apply(kernel, *inputs)  # type: ignore[no-untyped-call]
    return result


def with_gradients(value: float, gradients: Sequence[Array], *inputs: Tensor) -> Tensor:
    """Return a value that has these gradients with respect to the inputs."""
    made = np.asarray(value, np.float32), lambda upstream: (upstream * gradient for gradient in gradients)
    return by_kernel(lambda *_: made, *inputs)


CHUNK = 1 << 22  # numbers in the largest piece of the (queries, candidates, features) array that eager operations make


def sigma_sums(sigma: str, queries: Tensor, candidates: Tensor) -> Tensor:
    """Return the sums, [Q, C], for queries [Q, W] and candidates [C, W]."""
    tanh = sigma == "tanh"
    if backend_for(queries) != "numba":
        result: Tensor = _Chunked.apply(queries, candidates, tanh)  # type: ignore[no-untyped-call]
        return result

    def kernel(q: Float32, c: Float32) -> Made:
        plan = windowed_sigmoid.plan(c, tanh=tanh)
        return windowed_sigmoid.forward(plan, q, c), functools.partial(windowed_sigmoid.backward, plan, q, c)

    return by_kernel(kernel, queries, candidates)


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
    return max(1, CHUNK // max(1, queries.numel()))


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


def window_sums(values: Tensor, weights: Tensor, window: int) -> Tensor:
    """Return sum over k in window j of values[..., k] * weights[..., k], [..., d / window].

    The leading dimensions of weights are the first ones of values, or 1: each row of weights weighs all values behind it.
    """
    if backend_for(values) != "numba" or values.shape[: len(_leading(weights))] != _leading(weights):
        products = values * weights
        return products.reshape(*products.shape[:-1], products.shape[-1] // window, window).sum(-1)
    dim = values.shape[-1]

    def kernel(x: Float32, w: Float32) -> Made:
        flat, flat_weights = x.reshape(-1, dim), w.reshape(-1, dim)

        def gradients(upstream: Float32) -> Iterator[Array]:
            found = windows.window_gradients(flat, flat_weights, window, upstream.reshape(len(flat), -1))
            return (gradient.reshape(side.shape) for gradient, side in zip(found, (x, w), strict=True))

        return windows.window_sums(flat, flat_weights, window).reshape(*x.shape[:-1], dim // window), gradients

    return by_kernel(kernel, values, weights)


def _leading(weights: Tensor) -> torch.Size:
    """Return the leading dimensions of weights, those of length 1 at their end left out."""
    shape = weights.shape[:-1]
    while shape and shape[-1] == 1:
        shape = shape[:-1]
    return shape


def softmax_loss_of_answers(
    scores: Tensor, candidates: Int64, answers: tuple[Int32, Int64], chosen: Int64, objective: Objective
) -> tuple[Tensor, float]:
    """Return the mean loss per answer of the chosen questions, whose scores [n, candidates] are given, and their weight.

    See `kernels.question_loss.answer_slopes` for the arguments.
    """
    if backend_for(scores) == "numba":
        slopes = as_array(scores).copy()
        loss, weight = answer_slopes(slopes, candidates, answers, chosen, objective)
        return with_gradients(loss, [slopes], scores), weight
    pool, starts = answers
    counts = starts[chosen + 1] - starts[chosen]
    row = np.repeat(np.arange(len(chosen)), counts)
    column = np.searchsorted(candidates, np.concatenate([pool[starts[i] : starts[i + 1]] for i in chosen.tolist()]))
    rows, columns, sizes = (torch.from_numpy(each).to(scores.device) for each in (row, column, counts))
    joint, damping, smoothing = objective
    shares = sizes.to(scores.dtype) ** -damping
    own, level = scores[rows, columns], scores.sum(1)
    if joint:
        above = torch.logsumexp(scores, 1)[rows] - own
        mean = level[rows] / len(candidates)
    else:
        others = scores.index_put((rows, columns), scores.new_tensor(-torch.inf))
        above = torch.nn.functional.softplus(torch.logsumexp(others, 1)[rows] - own)
        none = level - torch.zeros_like(level).index_add(0, rows, own)
        mean = (none[rows] + own) / (len(candidates) - sizes[rows] + 1)
    weight = float((shares * sizes).sum())
    return ((above + smoothing * (own - mean)) * shares[rows]).sum() / weight, weight
