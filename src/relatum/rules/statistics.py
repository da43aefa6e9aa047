"""What counts of shared tuples say about a rule when every fact is seen with some probability only.

Let each true fact be stored with probability q, independently: the *observed share*. If a body lies within the head, then
each of its observed tuples is true of the head, and stored there with probability q, whatever else: of n of them about
q n are found in the head. If the head lies within the body, each of its tuples is found in the body's observed tuples with
a probability that is q for a body whose tuples have one reason each, and more where they have several (a projection).
A count that falls short of its share by more than chance speaks against the rule. So everything here is about one number
k of n, and the share that was expected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from relatum.arrays import Float64, Int64

__all__ = ["MOST_OBSERVED", "deficit", "evidence", "observed_share", "reach"]

Counts = Int64

MOST_OBSERVED = 0.98  # even of complete data one fact in fifty may be wrong or missing
_LEAST_OBSERVED = 0.3  # below, what is observed of two relations hardly meets

_CLEAR = 8.0  # nats: a chance of one in three thousand
_LIKELY = 2.0  # nats: enough for a share that nothing speaks against
_ONE_PEAK = 0.03  # peaks this close count as one


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


def reach(reasons: Counts, observed: float) -> float:
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


def observed_share(counts: Iterable[tuple[int, int]], otherwise: float = MOST_OBSERVED) -> float:
    """Return the share of true facts that are stored, estimated from how many tuples (k of n) of bodies are in heads.

    Bodies that lie within their heads gather at the observed share, and nothing but chance lies above; others can be
    anywhere below. So it is the highest share at which more gather than chance would have it: the last peak of the
    likelihood of a mixture, in which a body lies within its head or shares any part of it. A small dataset has a low peak,
    and to miss it is to find no rule at all, since nothing comes up to `otherwise`: so a low one is enough unless a body
    lies clearly above it.
    """
    pairs = np.array(list(counts), np.float64).reshape(-1, 2)
    k, n = pairs.T
    if not len(n):
        return otherwise
    shares = np.arange(round(100 * _LEAST_OBSERVED), round(100 * MOST_OBSERVED) + 1) / 100
    ways = np.array([math.lgamma(b + 1) - math.lgamma(a + 1) - math.lgamma(b - a + 1) for a, b in pairs.tolist()])
    gains = np.array([_gain(ways + k * math.log(q) + (n - k) * math.log(1 - q) + np.log(n + 1)) for q in shares])
    possible = np.array([max(deficit(b - a, b, 1 - q) for a, b in pairs.tolist()) < _CLEAR for q in shares])
    clear = (gains >= np.where(possible, _LIKELY, _CLEAR)) & (gains >= gains.max() / 10)
    peaks = [
        share
        for share, gain, is_clear in zip(shares, gains, clear, strict=True)
        if is_clear and gain == gains[np.abs(shares - share) <= _ONE_PEAK + 0.005].max()
    ]
    return float(peaks[-1]) if peaks else otherwise


def _gain(ratios: Float64) -> float:
    """Return how much better a mixture explains all counts than the uniform share alone, at the best mixing weight."""
    factors = np.exp(np.minimum(ratios, 50))
    weight = 0.2
    for _ in range(30):
        weight = float(np.mean(weight * factors / (1 - weight + weight * factors)))
    return float(np.log(1 - weight + weight * factors).sum())
