"""The log-odds of a weighted mean of two probabilities that are given by their own log-odds, and its slopes (NeuInfer).

Let h be the higher and l the lower of the two log-odds, and u and v their weights. The odds of the mean are
exp(min(h, 0) + max(l, 0)) A / B, where A and B are sums of u, v, 1 and products of these with exp(-|h|), exp(-|l|) and
exp(l - h). Both are at least as large as the smaller weight and below 3: nothing overflows, and nothing cancels.
"""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float32
from relatum.kernels import parallel
from relatum.kernels.jit import TILE, exact, exponentials

_ZERO, _ONE, _LEAST = np.float32(0), np.float32(1), np.float32(-87)


@exact
def odds_tiles(left, right, weights, first, last, odds, of_left, of_right):  # type: ignore[no-untyped-def]
    """Fill odds[n] in tiles first..last, and the slopes of_left[n] and of_right[n] unless these are empty.

    `weights` are those of left and right; what is not finite gives NaN.
    """
    x, y, found = np.empty(TILE, np.float32), np.empty(TILE, np.float32), np.empty(TILE, np.float32)
    of_high, of_low, apart = np.empty(TILE, np.float32), np.empty(TILE, np.float32), np.empty(TILE, np.float32)
    bits = np.empty(TILE, np.int32)
    for t in range(first, last):
        start = t * TILE
        lanes = min(len(left) - start, TILE)
        for e in range(lanes):
            x[e], y[e] = left[start + e], right[start + e]
        for e in range(lanes, TILE):
            x[e], y[e] = _ZERO, _ZERO
        for e in range(TILE):
            high, low = (x[e], y[e]) if x[e] >= y[e] else (y[e], x[e])
            of_high[e] = max(-abs(high), _LEAST)
            of_low[e] = max(-abs(low), _LEAST)
            apart[e] = max(low - high, _LEAST)
        exponentials(of_high, bits)
        exponentials(of_low, bits)
        exponentials(apart, bits)
        for e in range(TILE):
            high, low = (x[e], y[e]) if x[e] >= y[e] else (y[e], x[e])
            u, v = (weights[0], weights[1]) if x[e] >= y[e] else (weights[1], weights[0])
            h, l, r = of_high[e], of_low[e], apart[e]  # noqa: E741
            above = _ONE + u * l + v * h if low > _ZERO else u + v * r + l
            below = _ONE + u * l + v * h if high <= _ZERO else v + u * r + h
            odds_of_mean = min(high, _ZERO) + max(low, _ZERO) + np.log(above / below)
            scale = _ONE / (above * below)
            by_high = u * scale * (_ONE + l) * (_ONE + l) * (r if low > _ZERO else h if high > _ZERO else _ONE)
            by_low = v * scale * (_ONE + h) * (_ONE + h) * (r if high <= _ZERO else l if low <= _ZERO else _ONE)
            of_high[e], of_low[e] = (by_high, by_low) if x[e] >= y[e] else (by_low, by_high)
            found[e] = odds_of_mean + (x[e] - x[e]) + (y[e] - y[e])  # what is added is 0, or NaN
        for e in range(lanes):
            odds[start + e] = found[e]
        if len(of_left):
            for e in range(lanes):
                of_left[start + e], of_right[start + e] = of_high[e], of_low[e]


_TILES = 64  # in a part at least


def mean_log_odds(left: Float32, right: Float32, weight: float, *, sloped: bool) -> tuple[Float32, Float32, Float32]:
    """Return the log-odds of weight * sigmoid(left) + (1 - weight) * sigmoid(right), and their slopes by left and by right.

    All have the shape of `left`; slopes that are not wanted are empty.
    """
    odds = np.empty(left.shape, np.float32)
    of_left, of_right = (np.empty(left.shape if sloped else 0, np.float32) for _ in range(2))
    flat = [values.reshape(-1) for values in (left, right, odds, of_left, of_right)]
    ranges = parallel.cuts(-(-left.size // TILE), _TILES)
    weights = np.array([weight, 1 - weight], np.float32)
    parallel.run(lambda n: odds_tiles(*flat[:2], weights, *ranges[n], *flat[2:]), len(ranges))
    return odds, of_left, of_right
