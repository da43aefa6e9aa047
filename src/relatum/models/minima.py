"""How the two sides of NaLP, HINGE and NeuInfer meet: weighted relus of minima, and log-odds of two of these.

On the CPU the compiled kernels of `relatum.kernels.minima` do it; elsewhere tensor operations on chunks do, which are
computed again for the gradient and not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log, log1p

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad
from torch.utils.checkpoint import checkpoint

from relatum.arrays import Float32
from relatum.kernels.minima import mean_log_odds, minima_of_pairs, minima_of_sums
from relatum.models import ops
from relatum.models.combine import Combine
from relatum.models.ops import backend_for, by_kernel


class MinimumOfPairs(Combine):
    """v . relu(min(p, p') + min(q, q') + b) + c, where a side is [p; q] (NaLP)."""

    def __init__(self, bias: Tensor, weights: Tensor, offset: Tensor) -> None:
        self.bias, self.weights, self.offset = bias, weights, offset

    def pairs(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return the score of each pair."""
        return _of_pairs(queries, candidates, self.bias, self.weights) + self.offset

    def matrix(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return all scores, without an array of (queries, candidates, features)."""
        sides = queries, candidates, self.bias, self.weights
        return _with_offset(_by_kernel_or_chunks(minima_of_pairs, _of_pairs, *sides), self.offset)


class MinimumOfSums(Combine):
    """w . relu(min(m + j, a + k)) + c for a query [m; a] and a candidate [j; k], or k alone, with j = 0 (HINGE)."""

    def __init__(self, weights: Tensor, offset: Tensor) -> None:
        self.weights, self.offset = weights, offset

    def pairs(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return the score of each pair."""
        return _of_sums(queries, candidates, self.weights) + self.offset

    def matrix(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return all scores, without an array of (queries, candidates, features)."""
        sums = _by_kernel_or_chunks(minima_of_sums, _of_sums, queries, candidates, self.weights)
        return _with_offset(sums, self.offset)


_Scores = Callable[[MinimumOfSums, Tensor, Tensor], Tensor]


class MeanLogOdds(Combine):
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


def _of_pairs(queries: Tensor, candidates: Tensor, bias: Tensor, weights: Tensor) -> Tensor:
    """Return v . relu(min(p, p') + min(q, q') + b); leading dimensions broadcast."""
    left, right = torch.minimum(queries, candidates).chunk(2, -1)
    return (torch.relu(left + right + bias) * weights).sum(-1)


def _of_sums(queries: Tensor, candidates: Tensor, weights: Tensor) -> Tensor:
    """Return w . relu(min(m + j, a + k)); leading dimensions broadcast. Of two equal sums, the first has the gradient."""
    missing = 2 * len(weights) - candidates.shape[-1]
    first, second = (queries + pad(candidates, (missing, 0))).chunk(2, -1)
    lower = torch.where((second < first) | second.isnan(), second, first)
    return (torch.relu(lower) * weights).sum(-1)


def _by_kernel_or_chunks(
    kernel: ops.Kernel, eager: Callable[..., Tensor], queries: Tensor, candidates: Tensor, *others: Tensor
) -> Tensor:
    """Return the numbers of all pairs, [Q, C], by a kernel where it fits, or by what makes those of broadcast sides."""
    if backend_for(queries) == "numba":
        return by_kernel(kernel, queries, candidates, *others)
    pieces = torch.split(candidates, max(1, ops.CHUNK // max(1, queries.numel())))
    again = partial(checkpoint, eager, use_reentrant=False, preserve_rng_state=False)
    return torch.cat([again(queries[:, None], piece, *others) for piece in pieces], 1)


def _with_offset(scores: Tensor, offset: Tensor) -> Tensor:
    """Add one number to all scores, by rows: else its gradient would be summed in an order that depends on the threads."""
    return scores + offset.expand(len(scores))[:, None]


def log_odds_of_mean(left: Tensor, right: Tensor, weight: float) -> Tensor:
    """Return the log-odds of weight * sigmoid(left) + (1 - weight) * sigmoid(right), for tensors of one shape."""
    if backend_for(left) == "numba":
        sloped = torch.is_grad_enabled() and (left.requires_grad or right.requires_grad)

        def kernel(x: Float32, y: Float32) -> ops.Made:
            odds, *slopes = mean_log_odds(x, y, weight, sloped=sloped)
            return odds, lambda upstream: (upstream * slope for slope in slopes)

        return by_kernel(kernel, left, right)

    def logarithm(x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the mean of the sigmoids."""
        return torch.logaddexp(log(weight) + logsigmoid(x), log1p(-weight) + logsigmoid(y))

    return logarithm(left, right) - logarithm(-left, -right)
