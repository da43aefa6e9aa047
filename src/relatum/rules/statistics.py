"""What counts of shared tuples say when each fact is seen with some probability only: about a rule, and of that probability.

Let each true fact be stored with probability q, independently: the *observed share*. If a body lies within the head, then
each of its observed tuples is true of the head, and stored there with probability q, whatever else: of n of them about
q n are found in the head. If the head lies within the body, each of its tuples is found in the body's observed tuples with
a probability that is q for a body whose tuples have one reason each, and more where they have several (a projection).
A count that falls short of its share by more than chance speaks against the rule. So what is said about a rule is about one
number k of n, and the share that was expected.

Where a body lies within the head only in part, its share is q times that part, which can be any. So shares gather at q, and
none but by chance lies above: the counts are a mixture of a peak at q and of anything below q. That is weighed against
anything below q without a peak; where this explains the counts as well, the facts do not tell the share, and there is only a
bound from below, since nothing is known of what lies between the highest counts and 1.

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

from relatum.arrays import Float64, Int64

MOST_OBSERVED = 0.98  # even of complete data one fact in fifty may be wrong or missing


def deficit(k: float, n: float, share: float) -> float:
    """Return by how many nats the share explains k of n worse than k / n itself does; 0 if k is not too few."""
    if k >= share * n:
        return 0.0
    missing = (n - k) * math.log((n - k) / (n * (1 - share)))
    return missing + (k * math.log(k / (n * share)) if k else 0.0)


def evidence(k: int, n: int, share: float) -> float:
    """Return the weight of evidence, in nats, for the share against any smaller one being as likely; more is as good.

    This is the logarithm of the Bayes factor of the binomial against a share that is uniform from 0 to this one, by which
    each count up to the share has probability 1 / (share (n + 1)). Few tuples can say little for a rule, however well they
    fit; many can, and forgive a deviation that grows more slowly than their number.
    """
    k = min(k, math.floor(share * (n + 1)))
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.log(share * (n + 1)) + ways + k * math.log(share) + (n - k) * math.log(1 - share)


def reach(reasons: Int64, observed: float) -> float:
    """Return the share of a body's true tuples that are observed, given how many observed reasons those tuples have.

    With one reason each this is the observed share itself. In general it is estimated as by Good and Toulmin: if tuples
    with x observed reasons are f[x] in number, then about f[1] r - f[2] r^2 + f[3] r^3 ... have lost all theirs, where
    r = (1 - q) / q. The sum is unbiased; where r > 1 it is wild, and only its first term is used, which is too many.
    """
    found = np.bincount(reasons[reasons > 0])
    if not len(found):
        return observed
    ratio = (1 - observed) / observed
    signed = (-ratio) ** np.arange(1, len(found))
    unseen = -float(signed @ found[1:]) if ratio < 1 else ratio * float(found[1])
    total = float(found.sum())
    return min(max(total / (total + max(unseen, 0.0)), observed), MOST_OBSERVED)


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
    """An estimate of the share of the true facts that are stored."""

    value: float | None  # the most likely share; None where the facts do not tell
    low: float  # the lower end of an interval that has the share with a probability of about 0.9
    high: float  # its upper end
    rules_used: int  # how many bodies are taken to lie within their heads, which is what tells the share

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
