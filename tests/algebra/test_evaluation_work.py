"""The work of an evaluation: it sorts only where it must, takes what fits, and lets parts go after their last use."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest

from relatum import Hypergraph, RelationSchema, Schema
from relatum.algebra import Expression, Relation, evaluate, evaluation
from relatum.data.sorting import row_order
from relatum.data.vocabulary import Vocabulary
from support.mistakes import mistake

CUBE = Hypergraph.of([("cube", *row) for row in product("abc", repeat=4)] + [("one", "a"), ("pair", "b", "a")])
cube, one, pair = (Relation(CUBE.schema[name]) for name in ("cube", "one", "pair"))


def sorts(expression: Expression, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often columns are sorted, after a check that the result is."""
    counted = 0

    def counting(columns: list[np.ndarray], sizes: list[int]) -> object:
        nonlocal counted
        counted += 1
        return row_order(columns, sizes)

    monkeypatch.setattr(evaluation, "row_order", counting)
    rows = list(zip(*evaluate(expression, CUBE).columns.tolist(), strict=True))
    assert rows == sorted(set(rows))
    assert rows
    return counted


@pytest.mark.parametrize(("dropped", "kept"), [(p, q) for p in range(4) for q in range(4) if p != q])
def test_a_selection_sorts_only_if_a_column_stood_further_ahead_than_its_twin(
    dropped: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sorts(cube.select_equal(dropped, kept), monkeypatch) == (kept > dropped + 1)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (cube, 0),
        (cube.project(0), 0),
        (cube.project(0, 1, 2), 0),
        (cube.project(1, 0), 1),
        (cube.project(1), 1),
        (cube.permute(3, 2, 1, 0), 1),
        (cube.select(2, "b"), 0),
        (cube.filter_not(2, "b"), 0),
        (cube * pair, 0),
        ((cube * pair).project(4, 5), 0),
        (pair | pair, 1),
        (cube.join(pair, {1: 0}), 1),
    ],
    ids=str,
)
def test_what_is_sorted_is_not_sorted_again(expression: Expression, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorts(expression, monkeypatch) == expected


def test_columns_without_repeats_are_not_copied() -> None:
    assert np.shares_memory(evaluate(cube, CUBE).columns, CUBE.table("cube").columns)


def test_a_large_join_is_sorted_too() -> None:
    """Few keys with many tuples each: a sort that is not stable would mix the tuples of one key."""
    names = [f"e{number:04}" for number in range(2000)]
    graph = Hypergraph.of(
        [("left", name, f"e{number % 3:04}") for number, name in enumerate(names[:20])]
        + [("right", f"e{number % 3:04}", name) for number, name in enumerate(names)]
    )
    left, right = Relation(graph.schema["left"]), Relation(graph.schema["right"])
    rows = list(zip(*evaluate(left.join(right, {1: 0}), graph).columns.tolist(), strict=True))
    assert len(rows) == sum(2000 // 3 + (number % 3 < 2) for number in range(20))
    assert rows == sorted(set(rows))


@pytest.mark.parametrize(
    ("expression", "tuples"),
    [(pair * pair, 1), (cube * one, 81), (cube.join(pair, {0: 0}), 27), (one * one * one, 1)],
    ids=str,
)
def test_what_is_multiplied_may_take_what_is_free_and_no_byte_more(
    expression: Expression, tuples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = tuples * (8 * expression.arity + 32)
    monkeypatch.setattr(evaluation, "free", lambda: size)
    assert len(evaluate(expression, CUBE)) == tuples
    monkeypatch.setattr(evaluation, "free", lambda: size - 1)
    with mistake("product-too-large"):
        evaluate(expression, CUBE)


def test_parts_are_let_go_after_their_last_use() -> None:
    size, parts = 20_000, 40
    entities = Vocabulary([f"e{number:05}" for number in range(size)])
    columns = np.stack([np.arange(size), np.arange(size)[::-1]]).astype(np.int32)
    graph = Hypergraph.sort(entities, Schema([RelationSchema("r", 2)]), [(np.zeros(size, np.int32), columns)])
    chain: Expression = Relation(graph.schema["r"])
    for _ in range(parts):
        chain = chain.permute(1, 0)
    tracemalloc.start()
    try:
        assert len(evaluate(chain, graph)) == size
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < parts // 2 * columns.nbytes  # few at a time, and what sorting takes


def test_what_a_known_result_was_made_of_is_not_evaluated() -> None:
    elsewhere = Relation(RelationSchema("elsewhere", 2))
    known = {elsewhere.permute(1, 0): np.array([[0], [1]], np.int32), elsewhere * one: np.zeros((3, 1), np.int32)}
    assert list(evaluate(elsewhere.permute(1, 0), CUBE, known)) == [("a", "b")]
    assert list(evaluate((elsewhere * one).project(2), CUBE, known)) == [("a",)]
    assert list(evaluate((one * (elsewhere * one)).project(1, 0), CUBE, known)) == [("a", "a")]
    assert list(evaluate(elsewhere.permute(1, 0) | pair, CUBE, known)) == [("a", "b"), ("b", "a")]


def test_of_a_product_of_products_the_columns_that_stay_are_those_of_all_factors() -> None:
    left, right = (one * pair) * cube, one * (pair * cube)
    for columns in ((0, 2, 6), (6, 1), (3,), (5, 0)):
        whole = evaluate(left, CUBE).columns[list(columns)]
        expected = sorted(set(zip(*whole.tolist(), strict=True)))
        for product_ in (left, right):
            found = evaluate(product_.project(*columns), CUBE).columns
            assert list(zip(*found.tolist(), strict=True)) == expected


def test_what_is_no_operation_is_refused_by_its_name() -> None:
    class Foreign(Expression):
        """An operation that nobody knows how to evaluate."""

    with pytest.raises(TypeError, match="Foreign is not an operation on tuples"):
        evaluation._columns(Foreign.__new__(Foreign), CUBE)
