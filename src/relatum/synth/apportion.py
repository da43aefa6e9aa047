"""Whole numbers in given proportions, and so many at random from each group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["Counts", "Mask", "apportion", "draw_from_groups"]

Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def apportion(total: int, weights: Sequence[float] | npt.NDArray[np.floating | np.integer], least: int = 0) -> Counts:
    """Return whole numbers, int64[len(weights)], in proportion to `weights`; at least `least` where a weight is not 0.

    Their sum is `total`, or more if the least ones alone need more. The largest remainders are rounded up.
    """
    shares = np.asarray(weights, np.float64)
    floors = np.where(shares > 0, least, 0).astype(np.int64)
    exact = shares * (max(total, 0) / shares.sum()) if shares.sum() else np.zeros(len(shares))
    counts = np.maximum(np.floor(exact).astype(np.int64), floors)
    missing = total - int(counts.sum())
    order = np.argsort(counts - exact, kind="stable")  # the most short-changed first
    if missing > 0:
        counts[order[:missing]] += 1
    while missing < 0 and (reducible := order[::-1][counts[order[::-1]] > floors[order[::-1]]]).size:
        taken = reducible[:-missing]
        counts[taken] -= 1
        missing += len(taken)
    return counts


def draw_from_groups(
    groups: npt.NDArray[np.integer],
    wanted: Counts,
    rng: np.random.Generator,
    allowed: Mask | None = None,
    first: Mask | None = None,
) -> Mask:
    """Return which items are drawn, bool[items]: `wanted[g]` at random from those of group g, or all there are.

    Only items that are `allowed` are drawn, and those marked `first` before others.
    """
    items = np.arange(len(groups)) if allowed is None else np.flatnonzero(allowed)
    # One sort of numbers instead of two: group g has the keys from 2g - 1 to 2g + 1, the lower half for those drawn first.
    keys = rng.random(len(items))
    if first is not None:
        keys[first[items]] -= 1
    keys += 2.0 * groups[items]
    order = items[np.argsort(keys)]
    counts = np.bincount(groups[items], minlength=len(wanted))
    places = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)  # place of each item in its group
    drawn = np.zeros(len(groups), np.bool_)
    drawn[order[places < wanted[groups[order]]]] = True
    return drawn
