"""Counts of better candidates, tile by tile, where the candidate side of all entities would take too much memory.

The counts of tiles add up to those of all, to the last one: the kernel plans by the extremes of all candidates, which are
found first, so that scores have the bits that they have in one piece.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from relatum.arrays import Int64
from relatum.data.vocabulary import Ids
from relatum.inference.scoring import among, bonus_among
from relatum.kernels.filters import Bonus, Excluded, bonus_part, excluded_part
from relatum.memory import budget, free
from relatum.models.base import Model, Parameters
from relatum.models.partial_counts import can_count_parts, counter_of, extremes_of

_SHARE = 8  # of the memory that is free, for one candidate side
_LEAST = 1 << 14  # entities in a tile


def indices_in(first: int, last: int, entities: Ids) -> Int64:
    """Return the indices of entities in a tile, or in what a worker has, from `first` to before `last`; -1 for others."""
    return np.where((entities >= first) & (entities < last), entities.astype(np.int64) - first, -1)


def tile_size(model: Model, tables: Parameters, relation: int, position: int) -> int | None:
    """Return how many entities a tile has; None where all of them fit at once, or cannot be counted in parts."""
    if not can_count_parts(model.combine(tables), tables["entities"]) or not model.num_entities:
        return None
    row = model.candidates(tables, torch.tensor(relation), position, torch.zeros(1, dtype=torch.int64))
    each = row.numel() * row.element_size()
    room = free() // _SHARE
    return None if model.num_entities * each <= room else max(_LEAST, room // each)


@torch.no_grad()
def count_in_tiles(
    model: Model,
    tables: Parameters,
    relation: int,
    columns: Ids,
    position: int,
    excluded: Excluded,
    bonus: Bonus | None,
    size: int,
) -> tuple[Int64, Int64]:
    """Return what `scoring.count_better` does, for facts, int32[arity, n], from tiles of so many entities."""
    combine, one = model.combine(tables), torch.tensor(relation)
    tiles = [(start, min(start + size, model.num_entities)) for start in range(0, model.num_entities, size)]

    def side(tile: tuple[int, int]) -> torch.Tensor:
        return model.candidates(tables, one, position, torch.arange(*tile))

    found = [extremes_of(combine, side(tile)) for tile in tiles]
    pairs = [each for each in found if each is not None]
    extremes = (np.min([low for low, _ in pairs], 0), np.max([high for _, high in pairs], 0)) if pairs else None
    if extremes is not None and not np.isfinite(extremes).all():
        raise FloatingPointError("a candidate holds a number that is not finite")
    questions = torch.from_numpy(columns.astype(np.int64))
    queries = model.queries(tables, one.expand(columns.shape[1]), questions, position)
    step = max(1, budget() // (4 * size))  # questions whose scores of a tile fit, where they are kept
    parts = [slice(start, start + step) for start in range(0, columns.shape[1], step)]
    bars, counts = np.zeros(columns.shape[1], np.float32), np.zeros((2, columns.shape[1]), np.int64)
    for adds_up in (False, True):  # first what the targets score, each in its tile, and then what is above
        for tile in tiles:
            candidates, indices_of = side(tile), partial(indices_in, *tile)
            for part in parts:
                targets = indices_of(columns[position, part])
                own = None if bonus is None else bonus_among(bonus_part(bonus, part), indices_of)
                if not adds_up and not (targets >= 0).any():
                    continue
                counter = counter_of(combine, queries[part], candidates, extremes, own)
                if adds_up:
                    counts[:, part] += counter.count(bars[part], targets, among(excluded_part(excluded, part), indices_of))
                else:
                    bars[part] += counter.bars(targets)
    return counts[0], counts[1]
