"""How the two sides of HINGE and NeuInfer meet: weighted relus of minima of sums, and log-odds of two of these.

On the CPU the compiled kernels of `relatum.kernels.qualifier_scores` and `relatum.kernels.mean_log_odds` do it; elsewhere
tensor operations on chunks do, which are computed again for the gradient and not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log, log1p
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad
from torch.utils.checkpoint import checkpoint

from relatum.models.combine import MatrixCombine
from relatum.models.ops import as_array, backend_for

_CHUNK = 1 << 22  # numbers in the largest piece of the (queries, candidates, features) array that eager operations make


class MinimumOfSums(MatrixCombine):
    """w . relu(min(m + j, a + k)) + c for a query [m; a] and a candidate [j; k], or k alone, with j = 0 (HINGE)."""

    def __init__(self, weights: Tensor, offset: Tensor) -> None:
        self.weights, self.offset = weights, offset

    def pairs(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return the score of each pair."""
        return _sums(queries, candidates, self.weights) + self.offset

    def matrix(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return all scores, without an array of (queries, candidates, features)."""
        return _matrix_of_sums(queries, candidates, self.weights, self.offset)


_Scores = Callable[[MinimumOfSums, Tensor, Tensor], Tensor]


class MeanLogOdds(MatrixCombine):
    """The log-odds of weight * sigmoid(validity) + (1 - weight) * sigmoid(compatibility) (NeuInfer).

    Both are a `MinimumOfSums`. What a query holds shows in its width: [m; a] of the validity, which is then the whole score;
    [m; a] of both, for candidates with a half in each; or [m; a] of the compatibility and behind it the validity itself, in
    which candidates have no part.
    """

    def __init__(self, validity: MinimumOfSums, compatibility: MinimumOfSums, weight: float) -> None:
        self.validity, self.compatibility, self.weight = validity, compatibility, weight

    def pairs(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return the score of each pair."""
        return self._scores(queries, candidates, queries[..., -1], MinimumOfSums.pairs)

    def matrix(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return all scores, without an array of (queries, candidates, features)."""
        return self._scores(queries, candidates, queries[:, -1:], MinimumOfSums.matrix)

    def _scores(self, queries: Tensor, candidates: Tensor, last: Tensor, scores: _Scores) -> Tensor:
        """Return scores of pairs or all of them, as `scores` does of a half; `last` is the last feature of queries."""
        features = 2 * len(self.validity.weights)
        if queries.shape[-1] == features:
            return scores(self.validity, queries, candidates)
        if queries.shape[-1] == features + 1:
            compatibility = scores(self.compatibility, queries[..., :-1], candidates)
            return log_odds_of_mean(last.expand_as(compatibility), compatibility, self.weight)
        (query, other), (candidate, second) = queries.chunk(2, -1), candidates.chunk(2, -1)
        validity = scores(self.validity, query, candidate)
        return log_odds_of_mean(validity, scores(self.compatibility, other, second), self.weight)


def _sums(queries: Tensor, candidates: Tensor, weights: Tensor) -> Tensor:
    """Return w . relu(min(m + j, a + k)); leading dimensions broadcast. Of two equal sums, the first has the gradient."""
    missing = 2 * len(weights) - candidates.shape[-1]
    first, second = (queries + pad(candidates, (missing, 0))).chunk(2, -1)
    lower = torch.where((second < first) | second.isnan(), second, first)
    return (torch.relu(lower) * weights).sum(-1)


def _matrix_of_sums(queries: Tensor, candidates: Tensor, weights: Tensor, offset: Tensor) -> Tensor:
    """Return the sums of all pairs, [Q, C], and the offset."""
    if backend_for(queries) == "numba":
        sums: Tensor = _MatrixOfSums.apply(queries, candidates, weights)  # type: ignore[no-untyped-call]
    else:
        pieces = torch.split(candidates, max(1, _CHUNK // max(1, queries.numel())))
        again = partial(checkpoint, _sums, use_reentrant=False, preserve_rng_state=False)
        sums = torch.cat([again(queries[:, None], piece, weights) for piece in pieces], 1)
    # By rows: the gradient of one number for all scores would be summed in an order that depends on the threads.
    return sums + offset.expand(len(queries))[:, None]


class _MatrixOfSums(torch.autograd.Function):
    """By the kernels of `relatum.kernels.qualifier_scores`."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, candidates: Tensor, weights: Tensor) -> Tensor:
        from relatum.kernels import qualifier_scores

        q, k, w = map(as_array, (queries, candidates, weights))
        tiles = qualifier_scores.pack(k)
        ctx.sides = (q, tiles, len(k), w)
        return torch.from_numpy(qualifier_scores.forward(q, tiles, len(k), w))

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, ...]:
        from relatum.kernels import qualifier_scores

        queries, tiles, count, weights = ctx.sides
        gradients = qualifier_scores.backward(queries, tiles, count, weights, as_array(upstream[0]))
        return tuple(map(torch.from_numpy, gradients))


def log_odds_of_mean(left: Tensor, right: Tensor, weight: float) -> Tensor:
    """Return the log-odds of weight * sigmoid(left) + (1 - weight) * sigmoid(right), for tensors of one shape."""
    if backend_for(left) == "numba":
        odds: Tensor = _LogOddsOfMean.apply(left, right, weight)  # type: ignore[no-untyped-call]
        return odds

    def logarithm(x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the mean of the sigmoids."""
        return torch.logaddexp(log(weight) + logsigmoid(x), log1p(-weight) + logsigmoid(y))

    return logarithm(left, right) - logarithm(-left, -right)


class _LogOddsOfMean(torch.autograd.Function):
    """By the kernel of `relatum.kernels.mean_log_odds`."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, weight: float) -> Tensor:
        from relatum.kernels.mean_log_odds import mean_log_odds

        odds, *slopes = mean_log_odds(as_array(left), as_array(right), weight, sloped=any(ctx.needs_input_grad))
        ctx.slopes = [torch.from_numpy(each) for each in slopes]
        return torch.from_numpy(odds)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        of_left, of_right = ctx.slopes
        return upstream[0] * of_left, upstream[0] * of_right, None
