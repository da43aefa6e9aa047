"""Candidates that a query leaves out, and those that score more than their sides say: one list of ids per query each."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from relatum.arrays import Bool, Float32, Int32, Int64


class Excluded(Protocol):
    """The candidates that each query leaves out, ascending: those of query q are pool[starts[q] : starts[q] + counts[q]]."""

    @property
    def pool(self) -> Int32: ...  # noqa: D102
    @property
    def starts(self) -> Int64: ...  # noqa: D102
    @property
    def counts(self) -> Int64: ...  # noqa: D102


class Bonus(NamedTuple):
    """What some candidates of each query score beyond what their sides say; ascending ids, as in `Excluded`."""

    pool: Int32
    starts: Int64
    counts: Int64
    values: Float32

    def scaled(self, factor: float) -> Bonus:
        """Return the same candidates with values times a factor."""
        return self if factor == 1 else self._replace(values=self.values * np.float32(factor))


class _Lists(NamedTuple):
    pool: Int32
    starts: Int64
    counts: Int64


def lists_of(excluded: Excluded) -> tuple[Int32, Int64, Int64]:
    """Return the arrays of lists, as loops take them."""
    return excluded.pool, excluded.starts, excluded.counts


def nothing_excluded(queries: int) -> Excluded:
    """Return empty lists for so many queries."""
    none = np.zeros(queries, np.int64)
    return _Lists(np.empty(0, np.int32), none, none)


def excluded_pairs(queries: Int64, candidates: Int64, count: int) -> Excluded:
    """Return the lists of `count` queries from pairs of a query and a candidate, ordered by both."""
    counts = np.bincount(queries, minlength=count)
    return _Lists(candidates.astype(np.int32), np.cumsum(counts) - counts, counts)


def excluded_part(excluded: Excluded, part: slice) -> Excluded:
    """Return the lists of some of the queries."""
    return _Lists(excluded.pool, excluded.starts[part], excluded.counts[part])


def no_bonus(queries: int) -> Bonus:
    """Return empty lists for so many queries."""
    return Bonus(*lists_of(nothing_excluded(queries)), np.empty(0, np.float32))


def bonus_part(bonus: Bonus, part: slice | Bool) -> Bonus:
    """Return the lists of some of the queries."""
    return bonus._replace(starts=bonus.starts[part], counts=bonus.counts[part])
