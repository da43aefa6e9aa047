"""Known answers and candidates that score more, for tests of counting and picking: as arrays, and as lists or a matrix."""

from __future__ import annotations

import numpy as np

from relatum.kernels.filters import Bonus, Excluded, _Lists


def known_of(rng: np.random.Generator, queries: int, candidates: int) -> tuple[Excluded, list[np.ndarray]]:
    """Draw, for each query, no, few or nearly all candidates as known."""
    lists = [np.flatnonzero(rng.random(candidates) < rng.choice([0, 0.1, 0.9])) for _ in range(queries)]
    counts = np.array([len(each) for each in lists], np.int64)
    pool = np.concatenate([*lists, []]).astype(np.int32)
    return _Lists(pool, np.cumsum(counts) - counts, counts), lists


def bonus_of(rng: np.random.Generator, queries: int, candidates: int) -> tuple[Bonus, np.ndarray]:
    """Draw, for each query, some candidates that score a quarter more or less, or several."""
    lists = [np.flatnonzero(rng.random(candidates) < rng.choice([0, 0.1, 0.9])) for _ in range(queries)]
    counts = np.array([len(each) for each in lists], np.int64)
    pool = np.concatenate([*lists, []]).astype(np.int32)
    values = (rng.integers(-4, 5, len(pool)) / 4).astype(np.float32)
    dense = np.zeros((queries, candidates), np.float32)
    dense[np.repeat(np.arange(queries), counts), pool] = values
    return Bonus(pool, np.cumsum(counts) - counts, counts, values), dense
