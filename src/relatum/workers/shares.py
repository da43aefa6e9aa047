"""Which worker has which entities: ranges of ids, one after the other.

Ranges and not remainders of ids: the ids that a batch needs ascend, so what goes to each worker and what comes back is a
slice, in order; a range of a table is a slice of a file, so another number of workers can read it; and a worker ranks
neighbouring candidates. Names are numbered in sorted order, which says little of how often an entity occurs, so ranges are
about as busy as each other. Where there are many entities, a range begins at a multiple of 128, where kernels begin a tile
of candidates.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from relatum.arrays import Int64
from relatum.kernels.jit import TILE

_MANY = 4  # tiles for each worker


@dataclass(frozen=True)
class Shares:
    """The ranges of all workers, and the number of the one that this is about."""

    entities: int
    workers: int
    number: int

    @cached_property
    def ranges(self) -> list[tuple[int, int]]:
        """The first entity of each worker, and the one behind its last; a worker may have none."""
        unit = TILE if self.entities >= _MANY * TILE * self.workers else 1
        units = -(-self.entities // unit)
        bounds = [min(self.entities, unit * (units * number // self.workers)) for number in range(self.workers)]
        return list(itertools.pairwise([*bounds, self.entities]))

    @property
    def first(self) -> int:
        """The worker's first entity."""
        return self.ranges[self.number][0]

    @property
    def last(self) -> int:
        """The entity behind its last."""
        return self.ranges[self.number][1]

    def cut(self, ids: Int64) -> list[slice]:
        """Return which of some ascending ids belong to each worker."""
        bounds = np.searchsorted(ids, [0, *(last for _, last in self.ranges)]).tolist()
        return [slice(start, stop) for start, stop in itertools.pairwise(bounds)]
