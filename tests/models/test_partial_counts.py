"""Counts among parts of the candidates add up to those among all, to the bit, ties and exclusions included."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from relatum.data.answer_index import AnswerLists
from relatum.kernels.filters import Bonus, Excluded, excluded_pairs
from relatum.models.combine import Combine, Dot, SquaredDistance, WindowedSigma
from relatum.models.partial_counts import counter_of, extremes_of
from support.mistakes import mistake

COMBINES: list[Combine] = [WindowedSigma("sigmoid", 1.0), WindowedSigma("tanh", 0.5), Dot(), SquaredDistance()]


def part_of(lists: Excluded, first: int, last: int) -> Excluded:
    rows, ids = AnswerLists(lists.pool, lists.starts, lists.counts).pairs()
    here = (ids >= first) & (ids < last)
    return excluded_pairs(rows[here], ids[here].astype(np.int64) - first, len(lists.counts))


@pytest.mark.parametrize("combine", COMBINES, ids=["sigmoid", "tanh", "dot", "distance"])
@pytest.mark.parametrize("with_bonus", [False, True])
def test_counts_of_parts_add_up(combine: Combine, with_bonus: bool) -> None:
    rng = np.random.default_rng(1)
    size, questions = 300, 40
    candidates = torch.from_numpy(rng.integers(-3, 4, (size, 6)).astype(np.float32) * 4)  # small numbers: many ties
    queries = torch.from_numpy(rng.integers(-3, 4, (questions, 6)).astype(np.float32))
    targets = rng.integers(0, size, questions)
    known = rng.random((questions, size)) < 0.1
    known[::2, :] |= np.arange(size) == targets[::2, None]  # a target is mostly among what is known
    excluded = excluded_pairs(*np.nonzero(known), questions)
    bonus = None
    if with_bonus:
        lists = excluded_pairs(*np.nonzero(rng.random((questions, size)) < 0.1), questions)
        values = rng.integers(0, 3, len(lists.pool)).astype(np.float32)
        bonus = Bonus(lists.pool, lists.starts, lists.counts, values)
    expected = combine.count_better(queries, candidates, torch.from_numpy(targets), excluded, bonus)
    bounds = [0, 64, 64, 192, size]
    parts = [candidates[first:last].clone() for first, last in itertools.pairwise(bounds)]
    found = [extremes_of(combine, part) for part in parts]
    extremes = None
    if found[0] is not None:
        lows, highs = zip(*[one for one in found if one is not None], strict=True)
        extremes = np.min(lows, 0), np.max(highs, 0)
    counters, own = [], []
    for part, first, last in zip(parts, bounds, bounds[1:], strict=False):
        here = (targets >= first) & (targets < last)
        own.append(np.where(here, targets - first, -1))
        mine = None
        if bonus is not None:
            rows, ids = AnswerLists(bonus.pool, bonus.starts, bonus.counts).pairs()
            kept = (ids >= first) & (ids < last)
            cut = excluded_pairs(rows[kept], ids[kept].astype(np.int64) - first, questions)
            mine = Bonus(cut.pool, cut.starts, cut.counts, bonus.values[kept])
        counters.append(counter_of(combine, queries, part, extremes, mine))
    bars = np.sum([counter.bars(one) for counter, one in zip(counters, own, strict=True)], 0, dtype=np.float32)
    counts = [
        counter.count(bars, one, part_of(excluded, first, last))
        for counter, one, first, last in zip(counters, own, bounds, bounds[1:], strict=False)
    ]
    assert np.array_equal(np.sum([one[0] for one in counts], 0), expected[0])
    assert np.array_equal(np.sum([one[1] for one in counts], 0), expected[1])
    assert expected[1].any()


def test_what_cannot_be_counted_in_parts_is_an_error() -> None:
    with mistake("sigma-not-ranked-in-parts"):
        extremes_of(WindowedSigma("exp", 1.0), torch.zeros(3, 2))
    found = extremes_of(WindowedSigma("sigmoid", 1.0), torch.tensor([[0.0, torch.nan]]))
    assert found is not None
    with pytest.raises(FloatingPointError):
        counter_of(WindowedSigma("sigmoid", 1.0), torch.zeros(1, 2), torch.zeros(1, 2), found)
