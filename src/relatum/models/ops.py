"""Differentiable operations: windowed sums, sums of sigmas, scores of NaLP, fused losses; and which backend computes them.

`numba` serves float32 on the CPU; `compile` is torch.compile, one fused kernel, for GPUs; `eager` is torch operations on
chunks, for everything else and where a compiler is missing. `RELATUM_BACKEND` forces one.

Forward and backward are written out, so that no backend keeps, or makes, the array of (queries, candidates, windows).
"""

from __future__ import annotations

import functools
import importlib.util
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from relatum.arrays import Int32, Int64
from relatum.errors import SettingError
from relatum.kernels.filters import Excluded

Objective = tuple[bool, float, float]  # see `relatum.models.training_protocols.Objective`

BACKENDS = ("numba", "compile", "eager")


def backend_for(values: Tensor) -> str:
    """Return the name of the backend for tensors like this one."""
    forced = os.environ.get("RELATUM_BACKEND")
    if forced:
        if forced not in BACKENDS:
            raise SettingError(
                "bad-backend", f"must be one of {', '.join(BACKENDS)}, not {forced!r}", place="RELATUM_BACKEND"
            )
        if forced == "numba" and not _numba_fits(values):
            return "eager"  # the compiled kernels know float32 on the CPU only
        return forced
    if _numba_fits(values) and _has_numba():
        return "numba"
    return "compile" if values.device.type == "cuda" else "eager"


def as_array(values: Tensor) -> npt.NDArray[Any]:
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


def _numba_fits(values: Tensor) -> bool:
    return values.device.type == "cpu" and values.dtype == torch.float32


@functools.cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None


_CHUNK = 1 << 22  # numbers in the largest piece of the (queries, candidates, windows) array that eager operations make


def sigma_sums(sigma: str, queries: Tensor, candidates: Tensor) -> Tensor:
    """Return the sums, [Q, C], for queries [Q, W] and candidates [C, W]."""
    operation = _SigmaSums if backend_for(queries) == "numba" else _Chunked
    result: Tensor = operation.apply(queries, candidates, sigma == "tanh")  # type: ignore[no-untyped-call]
    return result


class _SigmaSums(torch.autograd.Function):
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


def window_sums(values: Tensor, weights: Tensor, window: int) -> Tensor:
    """Return sum over k in window j of values[..., k] * weights[..., k], [..., d / window].

    The leading dimensions of weights are the first ones of values, or 1: each row of weights weighs all values behind it.
    """
    if backend_for(values) == "numba" and values.shape[: len(_leading(weights))] == _leading(weights):
        if not torch.is_grad_enabled():
            return _window_sums(values, weights, window)
        result: Tensor = _WindowSums.apply(values, weights, window)  # type: ignore[no-untyped-call]
        return result
    products = values * weights
    return products.reshape(*products.shape[:-1], products.shape[-1] // window, window).sum(-1)


def _leading(weights: Tensor) -> torch.Size:
    """Return the leading dimensions of weights, those of length 1 at their end left out."""
    shape = weights.shape[:-1]
    while shape and shape[-1] == 1:
        shape = shape[:-1]
    return shape


def _window_sums(values: Tensor, weights: Tensor, window: int) -> Tensor:
    """Return the sums by the kernel."""
    from relatum.kernels import windows

    dim = values.shape[-1]
    sums = windows.window_sums(as_array(values).reshape(-1, dim), as_array(weights).reshape(-1, dim), window)
    return torch.from_numpy(sums).reshape(*values.shape[:-1], dim // window)


class _WindowSums(torch.autograd.Function):
    """By the kernels of `relatum.kernels.windows`."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, weights: Tensor, window: int) -> Tensor:
        dim = values.shape[-1]
        ctx.shapes = values.shape, weights.shape
        ctx.sides = (as_array(values).reshape(-1, dim), as_array(weights).reshape(-1, dim), window)
        return _window_sums(values, weights, window)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        from relatum.kernels import windows

        values, weights, window = ctx.sides
        slopes = as_array(upstream[0]).reshape(len(values), -1)
        of_values, of_weights = map(torch.from_numpy, windows.window_gradients(values, weights, window, slopes))
        return of_values.reshape(ctx.shapes[0]), of_weights.reshape(ctx.shapes[1]), None


_PAIRS_AT_ONCE = (
    1 << 22
)  # numbers in the largest piece of the (queries, candidates, features) array that eager operations make


def pair_scores(queries: Tensor, candidates: Tensor, bias: Tensor, weights: Tensor, offset: Tensor) -> Tensor:
    """Return v . relu(min(p, p') + min(q, q') + b) + c for sides [p; q] whose leading dimensions broadcast."""
    left, right = torch.minimum(queries, candidates).chunk(2, -1)
    return (torch.relu(left + right + bias) * weights).sum(-1) + offset


def minimum_scores(queries: Tensor, candidates: Tensor, bias: Tensor, weights: Tensor, offset: Tensor) -> Tensor:
    """Return the scores of all pairs, [Q, C], for sides [Q, 2 H] and [C, 2 H]."""
    if backend_for(queries) == "numba":
        scores: Tensor = _MinimumScores.apply(queries, candidates, bias, weights)  # type: ignore[no-untyped-call]
        # By rows: the gradient of one number for all scores would be summed in an order that depends on the threads.
        return scores + offset.expand(len(queries))[:, None]
    width = max(1, _PAIRS_AT_ONCE // max(1, queries.numel()))
    pieces = torch.split(candidates, width)
    return torch.cat([pair_scores(queries[:, None], piece, bias, weights, offset) for piece in pieces], 1)


class _MinimumScores(torch.autograd.Function):
    """By the kernels of `relatum.kernels.nalp_scores`."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, candidates: Tensor, bias: Tensor, weights: Tensor) -> Tensor:
        from relatum.kernels import nalp_scores

        q, k, b, v = map(as_array, (queries, candidates, bias, weights))
        tiles = nalp_scores.pack(k)
        ctx.sides = (q, tiles, len(k), b, v)
        return torch.from_numpy(nalp_scores.forward(q, tiles, len(k), b, v, 0.0))

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, ...]:
        from relatum.kernels import nalp_scores

        queries, tiles, count, bias, weights = ctx.sides
        gradients = nalp_scores.backward(queries, tiles, count, bias, weights, as_array(upstream[0]))
        return tuple(map(torch.from_numpy, gradients))


def softmax_loss_per_fact(
    entities: Tensor, weights: Tensor, bias: Tensor, ids: tuple[Tensor, Tensor, Tensor, Tensor], factor: float
) -> Tensor:
    """Return the summed loss of facts against their own replacements; see `kernels.loss_per_fact` for the arguments."""
    from relatum.kernels.loss_per_fact import softmax_per_fact

    arrays = map(as_array, (entities, weights, bias, *ids))
    return _with_gradients(softmax_per_fact(*arrays, factor), entities, weights, bias)  # type: ignore[call-arg,arg-type]


def softmax_loss_shared(
    entities: Tensor, weights: Tensor, bias: Tensor, columns: Tensor, excluded: list[Excluded], factor: float
) -> Tensor:
    """Return the summed loss of facts against shared candidates; see `kernels.loss_shared` for the arguments."""
    from relatum.kernels.loss_shared import softmax_shared

    x, r, b, ids = map(as_array, (entities, weights, bias, columns))
    return _with_gradients(softmax_shared(x, r, b, ids, excluded, factor), entities, weights, bias)


def softmax_loss_of_answers(
    scores: Tensor, candidates: Int64, answers: tuple[Int32, Int64], chosen: Int64, objective: Objective
) -> tuple[Tensor, float]:
    """Return the mean loss per answer of the chosen questions, whose scores [n, candidates] are given, and their weight.

    See `kernels.answer_loss.answer_slopes` for the arguments.
    """
    if backend_for(scores) == "numba":
        from relatum.kernels.answer_loss import answer_slopes

        slopes = as_array(scores).copy()
        loss, weight = answer_slopes(slopes, candidates, answers, chosen, objective)
        value: Tensor = _WithGradients.apply(loss, [torch.from_numpy(slopes)], scores)  # type: ignore[no-untyped-call]
        return value, weight
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


def _with_gradients(found: tuple[float, Any, Any, Any], *inputs: Tensor) -> Tensor:
    loss: Tensor = _WithGradients.apply(found[0], [torch.from_numpy(gradient) for gradient in found[1:]], *inputs)  # type: ignore[no-untyped-call]
    return loss


class _WithGradients(torch.autograd.Function):
    """A value whose gradients with respect to the inputs are known already."""

    @staticmethod
    def forward(ctx: Any, value: float, gradients: list[Tensor], *inputs: Tensor) -> Tensor:
        ctx.gradients = gradients
        return torch.tensor(value, dtype=inputs[0].dtype)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        return (None, None, *(gradient * upstream[0] for gradient in ctx.gradients))
