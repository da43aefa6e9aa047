"""What workers send each other comes out as it went in; every entity belongs to one, and ids are cut where ranges end."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from relatum.workers.group import Shares, packed, packed_size, unpacked

_TYPES = st.sampled_from([np.uint8, np.int32, np.int64, np.float32, np.float64])
_ARRAYS = _TYPES.flatmap(lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0)))


@given(st.lists(_ARRAYS, max_size=5))
def test_arrays_come_out_as_they_went_in(sent: list[np.ndarray]) -> None:  # type: ignore[type-arg]
    found = unpacked(packed(sent))
    assert len(found) == len(sent)
    for one, other in zip(sent, found, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()


def test_rows_that_do_not_lie_in_order_do_too() -> None:
    table = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(unpacked(packed([table[:, ::2]]))[0], table[:, ::2])


@given(st.lists(arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9), max_size=5))
def test_the_size_of_a_message_is_known_from_shapes(shapes: list[tuple[int, ...]]) -> None:
    assert packed_size(shapes, 4) == len(packed([np.zeros(shape, np.float32) for shape in shapes]))


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
