"""Candidates that a query leaves out, as one list of ids per query in compressed form: of counts, of the best, of a loss."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Excluded", "excluded_pairs", "excluded_part", "nothing_excluded"]


class Excluded(Protocol):
    """The candidates that each query leaves out, ascending: those of query q are pool[starts[q] : starts[q] + counts[q]]."""

    @property
    def pool(self) -> npt.NDArray[np.int32]: ...  # noqa: D102
    @property
    def starts(self) -> npt.NDArray[np.int64]: ...  # noqa: D102
    @property
    def counts(self) -> npt.NDArray[np.int64]: ...  # noqa: D102


class _Lists(NamedTuple):
    pool: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]


def nothing_excluded(queries: int) -> Excluded:
    """Return empty lists for so many queries."""
    none = np.zeros(queries, np.int64)
    return _Lists(np.empty(0, np.int32), none, none)


def excluded_pairs(queries: npt.NDArray[np.int64], candidates: npt.NDArray[np.int64], count: int) -> Excluded:
    """Return the lists of `count` queries from pairs of a query and a candidate, ordered by both."""
    counts = np.bincount(queries, minlength=count)
    return _Lists(candidates.astype(np.int32), np.cumsum(counts) - counts, counts)


def excluded_part(excluded: Excluded, part: slice) -> Excluded:
    """Return the lists of some of the queries."""
    return _Lists(excluded.pool, excluded.starts[part], excluded.counts[part])
