"""Every entity belongs to one worker, and ids are cut where ranges end."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from relatum.workers.shares import Shares


@given(st.integers(0, 20_000), st.integers(1, 9))
def test_ranges_cover_all_entities_in_order_and_are_about_as_long(entities: int, workers: int) -> None:
    found = Shares(entities, workers, 0).ranges
    assert len(found) == workers
    assert found[0][0] == 0
    assert found[-1][1] == entities
    assert all(end == start for (_, end), (start, _) in itertools.pairwise(found))
    sizes = [last - first for first, last in found]
    assert max(sizes) - min(sizes) <= 256


@given(st.sets(st.integers(0, 999)), st.integers(1, 5))
def test_ids_are_cut_by_who_has_them(chosen: set[int], workers: int) -> None:
    ids = np.array(sorted(chosen), np.int64)
    parts = [Shares(1000, workers, number) for number in range(workers)]
    for share, part in zip(parts, parts[0].cut(ids), strict=True):
        assert ids[part].tolist() == [number for number in sorted(chosen) if share.first <= number < share.last]
