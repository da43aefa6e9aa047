"""Candidates and what speaks for them."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.imputation.column_model import BoundColumn
from relatum.imputation.contexts import Context, TableView
from relatum.imputation.features import Prior, log_ratio, repeat_features, same_features
from relatum.imputation.paths import Path, PathReader
from support.row_stores import store_of


def bound_column(values: int, rows: int = 300) -> BoundColumn:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 20, rows)
    target = (a * values // 20 + rng.integers(0, 3, rows)) % values
    store = store_of({"T": {"A": [str(one) for one in a], "V": [str(one) for one in target]}})
    return BoundColumn(TableView(PathReader(store, 0), "T"), "V", (Context((Path("A"),), (1,)),))


@pytest.mark.parametrize("values", [5, 200])
def test_shares_of_candidates_and_all_others_sum_to_1(values: int) -> None:
    bound = bound_column(values)
    rows = np.arange(300)
    for own in (bound.values.v, np.full(300, -1)):
        scored = bound.score(bound.view.cells, rows, own)
        np.testing.assert_allclose(scored.candidates.share.sum(1), 1, atol=1e-6)
        np.testing.assert_allclose(scored.beside[0].share.sum(1), 1, atol=1e-6)


def test_contexts_name_candidates_where_there_are_many_values() -> None:
    bound = bound_column(200)
    scored = bound.score(bound.view.cells, np.arange(300), np.full(300, -1))
    found = (scored.candidates.values == bound.values.v[:, None]).any(1)
    assert found.mean() > 0.9
    for row in scored.candidates.values:
        kept = row[row >= 0]
        assert len(set(kept.tolist())) == len(kept)


def test_a_value_that_only_the_cell_itself_has_is_no_candidate() -> None:
    store = store_of({"T": {"A": ["x", "x", "x", "y"], "V": ["1", "1", "2", "2"]}})
    bound = BoundColumn(TableView(PathReader(store, 0), "T"), "V", (Context((Path("A"),), (1,)),))
    once = store_of({"T": {"A": ["x", "x", "x", "y"], "V": ["1", "1", "1", "2"]}})
    alone = BoundColumn(TableView(PathReader(once, 0), "T"), "V", (Context((Path("A"),), (1,)),))
    rows = np.arange(4)
    assert bound.score(bound.view.cells, rows, bound.values.v).candidates.right.tolist() == [0, 0, 1, 1]
    assert alone.score(alone.view.cells, rows, alone.values.v).candidates.right.tolist() == [0, 0, 0, 2]


def test_the_prior_without_a_cell_is_the_prior_of_the_others() -> None:
    v = np.array([0, 0, 1, 2, 2, 2, 3, -1])
    prior = Prior(v, 4)
    for row in range(7):
        without = Prior(np.delete(v, row), 4)
        for found, expected in zip(prior.without(v[row : row + 1]), without.without(np.array([-1])), strict=True):
            np.testing.assert_allclose(found, expected)


def test_ratios_are_bounded_and_same_values_marked() -> None:
    assert log_ratio(np.array([1e-300, 1.0]), np.array([1.0, 1e-300])).tolist() == [-12, 12]
    bound = bound_column(5)
    candidates = bound.score(bound.view.cells[:, :1], np.arange(1), np.array([-1])).candidates
    assert same_features(candidates, np.array([[3, -1]])).tolist() == [[0, 0, 0, 1, 0, 0]]


def test_values_that_other_rows_have_with_the_same_are_marked() -> None:
    store = store_of({"T": {"A": ["x", "x", "x", "y"], "V": ["1", "1", "2", "2"]}})
    bound = BoundColumn(TableView(PathReader(store, 0), "T"), "V", (Context((Path("A"),), (1,)),))
    rows = np.arange(4)
    candidates = bound.score(bound.view.cells, rows, bound.values.v).candidates
    one = bound.counted[0]
    found = repeat_features(one, one.of(bound.view.cells, rows), candidates)
    assert found.tolist() == [[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]]
