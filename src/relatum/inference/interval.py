"""How far an MRR could be off by the chance that picked the facts: a bootstrap over facts, not over questions."""

from __future__ import annotations

import numpy as np

from relatum.inference.ranks import Ranks

__all__ = ["mrr_interval"]


def mrr_interval(ranks: Ranks, share: float = 0.95, resamples: int = 1000, seed: int = 0) -> tuple[float, float]:
    """Return the bounds that hold `share` of the MRRs of resampled facts; the questions of one fact stay together.

    Args:
        ranks: the questions; at least one.
        share: how much of the resamples lies between the bounds.
        resamples: how many times as many facts are drawn, with replacement.
        seed: of the drawing.
    """
    _, fact = np.unique(ranks.fact, return_inverse=True)
    gains = np.bincount(fact, 1 / ranks.realistic)
    counts = np.bincount(fact)
    chance = np.random.default_rng(seed)
    found = np.empty(resamples)
    for number in range(resamples):
        drawn = chance.integers(0, len(gains), len(gains))
        found[number] = gains[drawn].sum() / counts[drawn].sum()
    low, high = np.quantile(found, [(1 - share) / 2, (1 + share) / 2])
    return float(low), float(high)
