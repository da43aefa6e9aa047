"""Tuples as single numbers, so that sets of tuples of any arity are compared by sorting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from relatum.data.vocabulary import Ids

__all__ = ["Flags", "Keys", "TupleKeys", "found_in"]

Keys = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

_SEED = 20_240_229  # any fixed number: the same tuples have the same keys in every process


class TupleKeys:
    """Gives each tuple a 64-bit key: the sum, modulo 2^64, of one random number for each entity and position.

    Unlike packed ids, keys have no largest arity, and those of some columns of a table are sums of what its columns give.
    Two different tuples have one key with probability 2^-64: among a million tuples a pair is met once in 37 million runs.
    """

    def __init__(self, entities: int, positions: int) -> None:
        rng = np.random.default_rng(_SEED)
        self._numbers = rng.integers(0, 2**64, (positions, entities), np.uint64)

    def at(self, position: int, column: Ids) -> Keys:
        """Return what the entities of one column give to the keys of tuples that hold them at `position`."""
        found: Keys = self._numbers[position][column]
        return found

    def of(self, columns: Sequence[Ids] | Ids) -> Keys:
        """Return the keys of tuples, given column by column."""
        found = self.at(0, columns[0])
        for position, column in enumerate(columns[1:], 1):
            found += self.at(position, column)
        return found


def found_in(keys: Keys, known: Keys) -> tuple[Flags, npt.NDArray[np.int64]]:
    """Return whether each key is among the sorted `known` ones, and where it stands or would stand."""
    places = np.searchsorted(known, keys)
    if not len(known):
        return np.zeros(len(keys), np.bool_), places
    return known[np.minimum(places, len(known) - 1)] == keys, places
