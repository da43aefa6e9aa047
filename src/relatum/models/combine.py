"""How query and candidate sides meet: pairs, matrices, counts of better candidates, best candidates.

On the CPU the compiled kernels do it in one pass; elsewhere tensor operations do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Int64
from relatum.data.sorting import spread
from relatum.kernels import compact_side, ranking, windowed_sigmoid
from relatum.kernels.compact_side import CompactSide
from relatum.kernels.filters import Bonus, Excluded, bonus_part, excluded_part
from relatum.memory import budget
from relatum.models.ops import as_array, backend_for, sigma_sums

SIGMAS: dict[str, Callable[[Tensor], Tensor]] = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "exp": torch.exp}

_EDGE = 64
_BYTES = 4  # of a score
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _count_in(scores: Tensor, targets: Tensor, excluded: Excluded) -> tuple[Int64, Int64]:
    """Return, per row, how many scores are above that of the target, and how many equal it, without what is excluded."""
    if backend_for(scores) == "numba":
        return ranking.count_better(as_array(scores), as_array(targets), excluded)
    _check_finite(scores)
    bars = scores.gather(1, targets[:, None])
    above, level = scores > bars, scores == bars
    rows, others = pairs_of(excluded)
    counted = others != targets.cpu()[rows]
    for marks in (above, level):
        marks[rows[counted], others[counted]] = False
    return above.sum(1).numpy(force=True), level.sum(1).numpy(force=True) - 1  # the target equals itself


def _top_in(scores: Tensor, k: int, excluded: Excluded) -> tuple[Tensor, Tensor]:
    """Return ids and scores of the k best of each row, [Q, k] both, smaller id first on ties; else -1 and -inf."""
    if backend_for(scores) == "numba":
        found = ranking.top(as_array(scores), k, excluded)
        return torch.from_numpy(found[0]), torch.from_numpy(found[1])
    _check_finite(scores)
    scores = scores.clone()
    scores[pairs_of(excluded)] = -torch.inf
    if (short := k - scores.shape[1]) > 0:
        scores = torch.nn.functional.pad(scores, (0, short), value=-torch.inf)
    order = scores.sort(dim=1, descending=True, stable=True)
    values, ids = order.values[:, :k], order.indices[:, :k]
    return ids.masked_fill(values == -torch.inf, -1), values


def pairs_of(excluded: Excluded) -> tuple[Tensor, Tensor]:
    """Return (row, candidate) of all that is excluded."""
    rows = np.repeat(np.arange(len(excluded.counts)), excluded.counts)
    ids = excluded.pool[spread(excluded.starts, excluded.counts)]
    return torch.from_numpy(rows), torch.from_numpy(ids.astype(np.int64))


def _check_finite(scores: Tensor) -> None:
    if not torch.isfinite(scores).all():
        raise FloatingPointError("a score is not a finite number")


def hook(method: _Method) -> _Method:
    """Return the method, marked as a default that a class may override; every other method is abstract or final."""
    method.is_hook = True  # type: ignore[attr-defined]
    return method


class Combine(ABC):
    """Scores from a query side and a candidate side; features are in the last dimension.

    Where candidates are counted or picked, a score that is not finite is a FloatingPointError: it must not rank first, nor
    anywhere. What is counted and picked is taken from matrices of scores, unless there is a faster way.
    """

    @abstractmethod
    def pairs(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return the score of each query with its own candidate; leading dimensions broadcast."""

    @abstractmethod
    def matrix(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return the score of every query with every candidate, [Q, C], without an array of all their features."""

    @hook
    @torch.no_grad()
    def count_better(
        self, queries: Tensor, candidates: Tensor, targets: Tensor, excluded: Excluded, bonus: Bonus | None = None
    ) -> tuple[Int64, Int64]:
        """Return how many candidates score above each query's target, and how many exactly as much, int64[Q] both.

        `targets` are indices of candidates. The target itself and what is excluded are not counted. `bonus` is what some
        candidates score beyond what their sides say.
        """
        counts = np.empty((2, len(queries)), np.int64)
        for part in _parts(queries, candidates):
            scores = _with_bonus(self.matrix(queries[part], candidates), bonus, part)
            counts[:, part] = _count_in(scores, targets[part], excluded_part(excluded, part))
        return counts[0], counts[1]

    @hook
    @torch.no_grad()
    def top(
        self, queries: Tensor, candidates: Tensor, k: int, excluded: Excluded, bonus: Bonus | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return indices and scores of the k best candidates of each query, [Q, k], best first, smaller index on ties.

        Where fewer than k are left after the exclusions, the index is -1 and the score -inf.
        """
        indices = torch.empty(len(queries), k, dtype=torch.int64, device=queries.device)
        values = torch.empty(len(queries), k, dtype=queries.dtype, device=queries.device)
        for part in _parts(queries, candidates):
            scores = _with_bonus(self.matrix(queries[part], candidates), bonus, part)
            indices[part], values[part] = _top_in(scores, k, excluded_part(excluded, part))
        return indices, values

    @hook
    def compact(self, candidates: Tensor) -> CompactSide | None:
        """Return a candidate side packed for queries that come one at a time; None where nothing is gained by that."""
        return None

    @hook
    def top_of_compact(
        self,
        queries: Tensor,
        side: CompactSide,
        rows: Callable[[Int64], Tensor],
        k: int,
        excluded: Excluded,
        bonus: Bonus | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return what `top` does, to the bit, from a side that was packed; `rows` returns some of the candidates."""
        raise TypeError(f"{type(self).__name__} packs no candidate sides")


def _with_bonus(scores: Tensor, bonus: Bonus | None, part: slice) -> Tensor:
    """Return the scores of a part of the queries, with what their candidates score more."""
    if bonus is None:
        return scores
    mine = bonus_part(bonus, part)
    values = torch.from_numpy(mine.values[spread(mine.starts, mine.counts)])
    where = tuple(each.to(scores.device) for each in pairs_of(mine))
    return scores.index_put(where, values.to(scores), accumulate=True)


def _parts(queries: Tensor, candidates: Tensor) -> list[slice]:
    """Return the queries in parts whose scores with all candidates fit in bounded memory.

    All scores of one query come from one call of `matrix`, so that equal candidates have equal scores.
    """
    step = max(1, budget() // (_BYTES * max(1, len(candidates))))
    return [slice(start, start + step) for start in range(0, len(queries), step)]


class Dot(Combine):
    """The dot product."""

    def pairs(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return query . candidate."""
        return (queries * candidates).sum(-1)

    def matrix(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return all dot products."""
        return _products(queries, candidates)


class SquaredDistance(Combine):
    """Minus the squared length of query + candidate."""

    def pairs(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return - |q + k|^2."""
        return -(queries + candidates).square().sum(-1)

    def matrix(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return - |q|^2 - 2 q . k - |k|^2, by one matrix product."""
        lengths = queries.square().sum(-1)[:, None] + candidates.square().sum(-1)
        return -(lengths + 2 * _products(queries, candidates))


class WindowedSigma(Combine):
    """factor * sum over windows of sigma(query + candidate), for sigmoid, tanh or exp."""

    def __init__(self, sigma: str, factor: float) -> None:
        self.sigma, self.factor = sigma, factor

    def pairs(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return the sum of each pair."""
        return self.factor * SIGMAS[self.sigma](queries + candidates).sum(-1)

    def matrix(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """Return all sums, without an array of (queries, candidates, windows)."""
        if self.sigma == "exp":
            # exp(a + k) = exp(a + m) exp(k - m): a product of matrices. With m the largest k, only what is truly too large
            # for a number overflows.
            largest = candidates.detach().amax(0) if len(candidates) else torch.zeros_like(queries[0])
            return self.factor * _products(torch.exp(queries + largest), torch.exp(candidates - largest))
        sums = sigma_sums(self.sigma, queries, candidates)
        return sums if self.factor == 1 else self.factor * sums

    def count_better(
        self, queries: Tensor, candidates: Tensor, targets: Tensor, excluded: Excluded, bonus: Bonus | None = None
    ) -> tuple[Int64, Int64]:
        """Return the counts by the fused kernel where there is one: no score is kept."""
        if not self.is_fused(queries):
            return super().count_better(queries, candidates, targets, excluded, bonus)
        q, c = as_array(queries), as_array(candidates)
        plan = windowed_sigmoid.plan(c, tanh=self.sigma == "tanh")
        return windowed_sigmoid.count_better(plan, q, c, as_array(targets), excluded, self.of_sums(bonus))

    def top(
        self, queries: Tensor, candidates: Tensor, k: int, excluded: Excluded, bonus: Bonus | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the best by the fused kernel where there is one."""
        if not self.is_fused(queries):
            return super().top(queries, candidates, k, excluded, bonus)
        q, c = as_array(queries), as_array(candidates)
        plan = windowed_sigmoid.plan(c, tanh=self.sigma == "tanh")
        indices, sums = windowed_sigmoid.top(plan, q, c, k, excluded, self.of_sums(bonus))
        return torch.from_numpy(indices), self.factor * torch.from_numpy(sums)

    def compact(self, candidates: Tensor) -> CompactSide | None:
        """Return the side packed, for the sigmoid on the CPU; None where a window has too wide a range."""
        if self.sigma != "sigmoid" or backend_for(candidates) != "numba":
            return None
        return compact_side.compact(as_array(candidates))

    def top_of_compact(
        self,
        queries: Tensor,
        side: CompactSide,
        rows: Callable[[Int64], Tensor],
        k: int,
        excluded: Excluded,
        bonus: Bonus | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the best by the kernel of packed sides."""
        more = self.of_sums(bonus)
        found = compact_side.top(side, lambda ids: as_array(rows(ids)), as_array(queries), k, excluded, more)
        return torch.from_numpy(found[0]), self.factor * torch.from_numpy(found[1])

    def is_fused(self, values: Tensor) -> bool:
        """Return whether a kernel counts and picks among values like these."""
        return self.sigma != "exp" and backend_for(values) == "numba"

    def of_sums(self, bonus: Bonus | None) -> Bonus | None:
        """Return a bonus of scores as one of the sums that kernels count in."""
        return None if bonus is None else bonus.scaled(1 / self.factor)


def _products(queries: Tensor, candidates: Tensor) -> Tensor:
    """Return all dot products, [Q, C]; where ranks are taken from them, equal candidates have equal columns.

    A matrix product sums the columns at its edge in another order than the rest, so equal rows can differ in their last
    bit, and ties would depend on where a candidate stands. Whole blocks of columns have no edge; the rest is padded to one.
    """
    if torch.is_grad_enabled():
        return queries @ candidates.T
    whole = len(candidates) // _EDGE * _EDGE
    products = queries.new_empty(len(queries), len(candidates))
    torch.mm(queries, candidates[:whole].T, out=products[:, :whole])
    rest = candidates[whole:]
    if len(rest):
        padded = torch.nn.functional.pad(rest, (0, 0, 0, _EDGE - len(rest)))
        products[:, whole:] = (queries @ padded.T)[:, : len(rest)]
    return products
