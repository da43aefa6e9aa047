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

import numpy as np

from relatum.arrays import Int64

Counts = Int64

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
