"""Questions that come one at a time: candidates that were packed once against packing them for each, and many at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.measure import Ratio, in_turn, seconds
from relatum.kernels import compact_side, parallel, windowed_sigmoid
from relatum.kernels.filters import nothing_excluded

CANDIDATES, WINDOWS, K = 29_177, 400, 32  # as many as JF17K has entities, and the windows of its recipe


def ratios() -> Iterator[Ratio]:
    """Measure the kernels on one thread, on values as trained parameters have them; memory moved is stated beside time."""
    rng = np.random.default_rng(0)
    candidates = rng.normal(0, 0.4, (CANDIDATES, WINDOWS)).astype(np.float32)
    query, nothing = rng.normal(0, 1, (1, WINDOWS)).astype(np.float32), nothing_excluded(1)
    side = compact_side.compact(candidates)
    assert side is not None

    def packed() -> None:
        compact_side.top(side, candidates.__getitem__, query, K, nothing, None)

    def exact() -> None:
        windowed_sigmoid.top(windowed_sigmoid.plan(candidates), query, candidates, K, nothing)

    with parallel.single_threaded():
        packed()
        exact()
        short, long = in_turn(partial(seconds, packed, 5), partial(seconds, exact, 2))
        packing = seconds(partial(compact_side.compact, candidates))
    moved = side.nbytes / short / 1e9
    times = f"{1e3 * short:.2f} ms, {moved:.0f} GB/s of packed candidates, against {1e3 * long:.1f} ms"
    detail = f"{times}; packing takes {1e3 * packing:.0f} ms, once"
    yield Ratio("a question of packed candidates against one of all", long / short, 5.0, "x", detail, aim=10.0)
