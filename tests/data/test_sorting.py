"""Rows are ordered as Python orders tuples, whatever the number and size of columns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from relatum.data.sorting import differs_from_previous, row_order, spread


@given(
    st.integers(1, 9).flatmap(lambda width: hnp.arrays(np.int32, st.tuples(st.just(width), st.integers(0, 40)))),
    st.sampled_from([2, 1000, 2**31 - 1]),
)
def test_row_order_sorts_like_tuples(columns: np.ndarray, bound: int) -> None:
    columns = np.abs(columns % bound).astype(np.int32)
    rows = list(zip(*columns.tolist(), strict=True))
    order = row_order(list(columns), [bound] * len(columns))
    assert sorted(order.tolist()) == list(range(len(rows)))
    assert [rows[number] for number in order] == sorted(rows)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1).map(sorted))
def test_differs_from_previous_marks_the_first_of_equals(rows: list[tuple[int, int]]) -> None:
    new = differs_from_previous(list(np.array(rows, np.int32).T))
    assert new.tolist() == [number == 0 or rows[number] != rows[number - 1] for number in range(len(rows))]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4))))
def test_spread_lays_runs_end_to_end(runs: list[tuple[int, int]]) -> None:
    starts, counts = (np.array([run[part] for run in runs], np.int64) for part in (0, 1))
    assert spread(starts, counts).tolist() == [start + i for start, length in runs for i in range(length)]
