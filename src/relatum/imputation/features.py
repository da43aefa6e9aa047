"""Candidates for the cells of a column, and what speaks for each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from relatum.arrays import Bool, Float64, Int64
from relatum.imputation.contexts import Counted

_ALL = 48  # values of a column that are all candidates
_MOST = 48  # candidates where there are more values
_NAMED, _FREQUENT = 8, 16  # values that each context names, and the most frequent ones
_CLIP = 12.0  # nats that one feature says at most
_FLOOR = 1e-12
_NEW = 0.05  # cells that new values stand for, even where every value came more than once


class Prior:
    """How often each value of a column comes, float64[values], and how often a new one does."""

    def __init__(self, v: Int64, width: int) -> None:
        """Count the numbers of values in rows, -1 for none."""
        self.counts: Float64 = np.bincount(v[v >= 0], minlength=width).astype(np.float64)
        self._total, self._once = float(self.counts.sum()), float((self.counts == 1).sum())

    def without(self, own: Int64) -> tuple[Float64, Float64]:
        """Return how many cells there are, and how many more new values stand for, each without one that holds `own`.

        New values come about as often as cells whose value no other has: that is how often the next one had been new.
        """
        here = np.append(self.counts, 0.0)[own]
        total = np.asarray(self._total - (own >= 0), np.float64)
        once = self._once - (here == 1) + (here == 2)
        new = np.minimum(once / np.maximum(1 - once / np.maximum(total, 1), 0.05), total) + _NEW
        return total, np.asarray(new, np.float64)

    def shares(self, own: Int64) -> Float64:
        """Return the share of each `own` value among the other cells."""
        total, new = self.without(own)
        return np.asarray((self.counts[own] - 1) / (total + new))


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of some cells."""

    values: Int64  # int64[m, c], their numbers, -1 for none
    own: Int64  # int64[m], what each cell holds where the counts know it, else -1: it is taken off
    share: Float64  # float64[m, c + 1], the prior share of each, and at the end that of all other values
    open: Bool  # bool[m, c + 1], which of them can be the answer

    @property
    def right(self) -> Int64:
        """Where the own value is among the candidates; the last index, of all others, if it is not."""
        found = (self.values == self.own[:, None]) & self.open[:, :-1]
        return np.asarray(np.where(found.any(1), found.argmax(1), self.values.shape[1]))


def candidates_of(
    prior: Prior, counted: list[Counted], codes: list[Int64], own: Int64, extra: Int64 | None = None
) -> Candidates:
    """Return the candidates of cells: all values, or those that contexts name, those in `extra`, and the most frequent."""
    width, rows = len(prior.counts), len(own)
    if width <= _ALL:
        values = np.broadcast_to(np.arange(width), (rows, width)).copy()
    else:
        values = _named(prior, counted, codes, own, extra)
    here = np.where(values >= 0, prior.counts[values], 0.0) - (values == own[:, None])
    total = np.sum(prior.without(own), 0)
    here = np.maximum(here, 0.0)
    others = total - here.sum(1)
    share = np.concatenate([here, others[:, None]], 1) / total[:, None]
    is_open = np.concatenate([here > 0, np.ones((rows, 1), np.bool_)], 1)
    return Candidates(np.where(is_open[:, :-1], values, -1), own, np.maximum(share, _FLOOR), is_open)


def _named(prior: Prior, counted: list[Counted], codes: list[Int64], own: Int64, extra: Int64 | None) -> Int64:
    rows = len(own)
    frequent = np.argsort(-prior.counts, kind="stable")[:_FREQUENT]
    found = [np.broadcast_to(frequent, (rows, len(frequent)))]
    strength = [np.broadcast_to(1e-3 + 1e-3 * prior.counts[frequent] / prior.counts.sum(), (rows, len(frequent)))]
    for one, x in zip(counted, codes, strict=True):
        values, counts = one.counts.most(x, _NAMED)
        inside = (x >= 0) & (own >= 0)[:, None]
        counts = counts - ((values == own[:, None, None]) & inside[..., None])
        share = counts / (one.counts.total(x) - inside + 1e-9 + one.context.strength)[..., None]
        found.append(values.reshape(rows, -1))
        strength.append(np.where(counts > 0.5, share, 0.0).reshape(rows, -1))
    if extra is not None:
        found.append(extra)
        strength.append(np.where(extra >= 0, 10.0, 0.0))
    values, power = np.concatenate(found, 1), np.concatenate(strength, 1)
    values = np.where(power > 0, values, -1)
    order = np.argsort(values, 1, kind="stable")
    values, power = np.take_along_axis(values, order, 1), np.take_along_axis(power, order, 1)
    # what several contexts name counts once, with the strength of all: sums up to each last mention, less those before it
    sums = np.cumsum(power, 1)
    last = np.concatenate([values[:, 1:] != values[:, :-1], np.ones((rows, 1), np.bool_)], 1) & (values >= 0)
    before = np.maximum.accumulate(np.where(last, sums, 0.0), 1)
    before = np.concatenate([np.zeros((rows, 1)), before[:, :-1]], 1)
    below = np.where(values < 0, sums, 0.0).max(1, keepdims=True)
    power = np.where(last, sums - np.maximum(before, below), -1.0)
    chosen = np.argsort(-power, 1, kind="stable")[:, :_MOST]
    kept = np.where(np.take_along_axis(power, chosen, 1) > 0, np.take_along_axis(values, chosen, 1), -1)
    return kept[:, : max(1, int((kept >= 0).any(0).sum()))]


def without_taken(candidates: Candidates, key: Counted, x: Int64) -> Candidates:
    """Return the candidates without those that another row with the same other columns of a key has."""
    values, own = candidates.values, candidates.own
    taken = key.counts.of(np.broadcast_to(x[:, None], values.shape), values) - (values == own[:, None])
    is_open = candidates.open.copy()
    is_open[:, :-1] &= taken < 0.5
    return replace(candidates, open=is_open)


@dataclass(frozen=True, eq=False)
class Beside:
    """What a context says of candidates: P(v | x) [m, c + 1], and how many rows it rests on, [m]."""

    share: Float64
    rows: Float64


def context_counts(one: Counted, x: Int64, candidates: Candidates) -> list[tuple[Float64, Float64]]:
    """Return for each of x[m, width] how often a context has candidates, and others, [m, c + 1], and anything, [m]."""
    own, values = candidates.own, candidates.values
    found = []
    for index in range(x.shape[1]):
        code = x[:, index]
        inside = ((code >= 0) & (own >= 0)).astype(np.float64)
        total = np.maximum(one.counts.total(code) - inside, 0.0)
        here = one.counts.of(np.broadcast_to(code[:, None], values.shape), values)
        here = np.maximum(here - one.counts.own(own[:, None], values) * inside[:, None], 0.0)
        others = np.maximum(total - here.sum(1), 0.0)
        found.append((np.concatenate([here, others[:, None]], 1), total))
    return found


def smoothed(counted: list[tuple[Float64, Float64]], strength: float, base: Float64) -> Beside:
    """Return what counts of a context say, smoothed towards `base`, [m, c + 1], with as much strength."""
    shares, known, support = np.zeros_like(base), np.zeros(len(base)), np.zeros(len(base))
    for counts, total in counted:
        share = (counts + strength * base) / (total + strength)[:, None]
        there = total > 0
        shares += np.where(there[:, None], share, 0.0)
        known += there
        support += total
    says = known > 0
    return Beside(np.where(says[:, None], shares / np.maximum(known, 1)[:, None], base), support)


def log_ratio(share: Float64, base: Float64) -> Float64:
    """Return how much likelier candidates are by one share than by another, in nats."""
    return np.asarray(np.clip(np.log(share) - np.log(base), -_CLIP, _CLIP))


def shared_features(shares_of_all: list[Float64], share: Float64) -> Float64:
    """Return two features of candidates from what all contexts say: their mean, as counting takes it, and the strongest."""
    if not shares_of_all:
        return np.zeros((*share.shape, 2))
    return np.stack([log_ratio(np.mean(shares_of_all, 0), share), log_ratio(np.max(shares_of_all, 0), share)], -1)


def repeat_features(one: Counted, x: Int64, candidates: Candidates) -> Float64:
    """Return for each candidate whether another row has it with the same as x[m, width] in a context; [m, c + 1]."""
    found = np.zeros(candidates.share.shape)
    for counts, _ in context_counts(one, x, candidates):
        found[:, :-1] = np.maximum(found[:, :-1], counts[:, :-1] > 0.5)
    return found


def same_features(candidates: Candidates, other: Int64) -> Float64:
    """Return for each candidate whether it is among other[m, k], the numbers of values that stand elsewhere; [m, c + 1]."""
    same = np.zeros(candidates.share.shape)
    for index in range(other.shape[1]):
        same[:, :-1] += (candidates.values == other[:, index, None]) & (other[:, index, None] >= 0)
    return np.minimum(same, 1.0)
