"""Answers to leave out of counts and of the best."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Known", "known_pairs", "known_part", "nothing_known"]


class Known(Protocol):
    """For each query some candidates, ascending: those of query q are pool[starts[q] : starts[q] + counts[q]]."""

    @property
    def pool(self) -> npt.NDArray[np.int32]: ...  # noqa: D102
    @property
    def starts(self) -> npt.NDArray[np.int64]: ...  # noqa: D102
    @property
    def counts(self) -> npt.NDArray[np.int64]: ...  # noqa: D102


class _Arrays(NamedTuple):
    pool: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]


def nothing_known(queries: int) -> Known:
    """Return that no query has anything to leave out."""
    none = np.zeros(queries, np.int64)
    return _Arrays(np.empty(0, np.int32), none, none)


def known_pairs(queries: npt.NDArray[np.int64], candidates: npt.NDArray[np.int64], count: int) -> Known:
    """Return what is known from pairs of a query and a candidate, ordered by both; `count` is the number of queries."""
    counts = np.bincount(queries, minlength=count)
    return _Arrays(candidates.astype(np.int32), np.cumsum(counts) - counts, counts)


def known_part(known: Known, part: slice) -> Known:
    """Return what is known of some of the queries."""
    return _Arrays(known.pool, known.starts[part], known.counts[part])
