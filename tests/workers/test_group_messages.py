"""What workers send each other comes out as it went in."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from relatum.workers.group import packed, packed_size, unpacked

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
