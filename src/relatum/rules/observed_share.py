"""The observed share: how many of the true facts are stored, as far as relations that lie within others tell.

Let each true fact be stored with probability q. Of n observed tuples of a body, k are found in a head: a binomial whose
share is q where the body lies within the head, and q times the part of the body that does otherwise, which can be any.
So shares gather at q, and none but by chance lies above: the counts are a mixture of a peak at q and of anything below q.
That is weighed against anything below q without a peak; where this explains the counts as well, the facts do not tell the
share, and there is only a bound from below, since nothing is known of what lies between the highest counts and 1.

Chance has two parts. The bodies of one head share what became of its tuples: a head that has by chance more of its own has
more of all of them. So each head has a share of its own, which varies about q the more, the fewer tuples it has, and about
which its counts vary.

That is all that overlaps can say: relations of which each has the same part of the others look as if they were equal, and
less of them observed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relatum.arrays import Float64
from relatum.rules.statistics import MOST_OBSERVED

HeadCounts = tuple[int, Sequence[tuple[int, int]]]  # of a head its number of tuples; of each body how many of n it has

_CELLS = 200
_SHARES = (np.arange(_CELLS) + 0.5) / _CELLS  # that a head may have
_OBSERVED = np.arange(60, _CELLS) / _CELLS  # that are tried for q, from 0.3 up: below, facts hardly meet
_WEIGHTS = np.append(0, (np.arange(20) + 0.5) / 20)  # of the peak in the mixture; the first is that without a peak
_MOST_TUPLES = 2_000  # more weigh as so many: relations are not stored alike, so that shares differ by more than chance
_STEADINESS = 8  # a head's share varies like the mean of so many times its tuples; chosen on `small` sets of seeds 0 to 99
_TINY = 1e-300
_MOST_GROUPS = 100  # of heads that weigh alike in a sample, where there are more heads
_SAMPLES = 100
_LEVEL = 0.9  # of the interval


@dataclass(frozen=True, slots=True)
class ObservedShare:
    """An estimate of the share of the true facts that are stored.

    Attributes:
        value: the most likely share; None where the facts do not tell.
        low: the lower end of an interval that has the share with a probability of about 0.9.
        high: its upper end.
        rules_used: how many bodies are taken to lie within their heads, which is what tells the share.
    """

    value: float | None
    low: float
    high: float
    rules_used: int

    @property
    def assumed(self) -> float:
        """The value, or 0.98 where there is none: by this number rules are weighed."""
        return MOST_OBSERVED if self.value is None else self.value

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data."""
        return {"value": self.value, "low": self.low, "high": self.high, "rules_used": self.rules_used}


def observed_share(heads: Iterable[HeadCounts]) -> ObservedShare:
    """Return the observed share that counts of shared tuples tell.

    Heads depend on each other too, so the interval is that of the bagged posterior: the mean of many posteriors in each of
    which heads weigh more or less at random, always the same. As far as there may be no peak, it reaches up to 1.
    """
    counted = [(size, np.array(counts, np.float64).T) for size, counts in heads if counts]
    if not counted:
        return ObservedShare(None, 0.0, 1.0, 0)
    parts = np.zeros((min(len(counted), _MOST_GROUPS), len(_WEIGHTS), len(_OBSERVED)))
    for index, (size, (k, n)) in enumerate(counted):
        parts[index % _MOST_GROUPS] += _log_likelihood(size, *_likelihoods(k, n))
    whole = parts.sum(axis=0)
    by_share, without = _log_mean(whole[1:]), whole[0]
    odds = float(_log_mean(by_share) - _log_mean(without))
    peak = 1 / (1 + math.exp(-min(max(odds, -500.0), 500.0)))
    draws = len(parts) * np.random.default_rng(0).dirichlet(np.ones(len(parts)), _SAMPLES)
    # Not by matrix products, whose bits depend on the number of threads.
    bagged = np.mean([_normalized(_log_mean(np.einsum("g,gwq->wq", draw, parts[:, 1:]))) for draw in draws], axis=0)
    low, high = _interval(peak * bagged, (1 - peak) * _normalized(without))
    if peak < 0.5:
        return ObservedShare(None, low, high, 0)
    best = int(np.argmax(by_share))
    value, weight = float(_OBSERVED[best]), float(_WEIGHTS[1 + np.argmax(whole[1:, best])])
    used = sum(_rules_used(*_likelihoods(k, n), value, weight) for _, (k, n) in counted)
    return ObservedShare(value, min(low, value), max(high, value), round(used))


def _likelihoods(k: Float64, n: Float64) -> tuple[Float64, Float64]:
    """Return the likelihood of each count if a head has each share of a body, and if it has anything below that share."""
    scale = np.minimum(1, _MOST_TUPLES / n)
    hits, misses = k * scale, (n - k) * scale
    ways = _log_factorial(hits + misses) - _log_factorial(hits) - _log_factorial(misses)
    within = np.exp(ways[:, None] + hits[:, None] * np.log(_SHARES) + misses[:, None] * np.log1p(-_SHARES))
    return within, np.cumsum(within, axis=1) / np.arange(1, _CELLS + 1)


def _log_likelihood(size: int, within: Float64, below: Float64) -> Float64:
    """Return the logarithm of the likelihood of all counts of a head, by weight of the peak and by observed share."""
    by_share = np.stack([np.log(weight * within + (1 - weight) * below + _TINY).sum(axis=0) for weight in _WEIGHTS])
    drawn = _STEADINESS * min(size, _MOST_TUPLES)
    logs = np.outer(_OBSERVED * drawn - 1, np.log(_SHARES)) + np.outer((1 - _OBSERVED) * drawn - 1, np.log1p(-_SHARES))
    own = np.exp(logs - logs.max(axis=1, keepdims=True))  # a beta distribution about each observed share
    own /= own.sum(axis=1, keepdims=True)
    most = by_share.max(axis=1, keepdims=True)
    found: Float64 = most + np.log(np.einsum("ws,qs->wq", np.exp(by_share - most), own) + _TINY)
    return found


def _interval(peaks: Float64, edges: Float64) -> tuple[float, float]:
    """Return the interval of the share, given the probabilities of peaks, and of edges above which it can be anything."""
    probabilities = peaks + np.cumsum(edges / np.arange(len(edges), 0, -1))
    ends = np.searchsorted(np.cumsum(probabilities), [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    first, last = (int(end) for end in ends)
    return (float(_OBSERVED[first]) if first else 0.0), (float(_OBSERVED[last]) if last < len(_OBSERVED) - 1 else 1.0)


def _rules_used(within: Float64, below: Float64, share: float, weight: float) -> float:
    """Return how many counts are expected to belong to the peak at a share."""
    cell = min(round(share * _CELLS), _CELLS - 1)
    peak, rest = weight * within[:, cell], (1 - weight) * below[:, cell]
    return float((peak / (peak + rest + _TINY)).sum())


def _log_mean(logs: Float64) -> Any:
    """Return the logarithm of the mean over the first axis."""
    most = logs.max(axis=0)
    return most + np.log(np.exp(logs - most).mean(axis=0))


def _normalized(logs: Float64) -> Float64:
    weights = np.exp(logs - logs.max())
    found: Float64 = weights / weights.sum()
    return found


def _log_factorial(values: Float64) -> Float64:
    return np.array([math.lgamma(value + 1) for value in values.tolist()])
