"""Exact evaluation: equal to plain Python sets on random expressions."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import numpy as np
import pytest

from relatum import Hypergraph, RelationSchema, Schema
from relatum.algebra import Expression, Relation, evaluate
from support.mistakes import mistake
from support.random_expressions import facts_of, naive, random_expression, random_graph, random_schema

ENTITIES = ["alex", "book", "coffee", "drew", "filter"]
SOLD = RelationSchema("sold", 3, ("seller", "buyer", "item"))
GRAPH = Hypergraph.of(
    [
        ("sold", "drew", "alex", "book"),
        ("sold", "drew", "alex", "book"),
        ("sold", "drew", "drew", "coffee"),
        ("sold", "alex", "drew", "coffee"),
        ("knows", "drew", "alex"),
        ("knows", "alex", "sam"),
    ],
    [SOLD, RelationSchema("empty", 2)],
)
sold, knows, empty = (Relation(GRAPH.schema[name]) for name in ("sold", "knows", "empty"))


def tuples(expression: Expression, graph: Hypergraph = GRAPH) -> list[tuple[str, ...]]:
    return list(evaluate(expression, graph))


def check_against_sets(expression: Expression, graph: Hypergraph) -> None:
    table = evaluate(expression, graph)
    assert table.columns.dtype == np.int32
    assert table.columns.shape == (expression.arity, len(table))
    rows = list(zip(*table.columns.tolist(), strict=True))
    assert rows == sorted(set(rows)), "sorted and distinct"
    assert set(table) == naive(expression, facts_of(graph)), expression
    with pytest.raises(ValueError, match="read-only"):
        table.columns[:] = 0


@pytest.mark.parametrize("seed", range(10))
def test_evaluation_equals_python_sets(seed: int, count: Callable[[int, int], int]) -> None:
    chance = random.Random(seed)
    for _ in range(count(40, 1000)):
        schema = random_schema(chance)
        entities = ENTITIES[: chance.randint(1, 5)]
        graph = random_graph(chance, schema, entities)
        check_against_sets(random_expression(chance, schema, entities, chance.randint(1, 8)), graph)


def test_many_entities_and_columns_take_several_keys() -> None:
    # 2,000 entities need 11 bits: six columns do not fit in one int64.
    chance = random.Random(1)
    entities = [f"e{number}" for number in range(2000)]
    rows = [("six", *chance.choices(entities, k=6)) for _ in range(300)]
    graph = Hypergraph.of([*rows, *rows[:50], *(("all", name) for name in entities)])
    six = Relation(graph.schema["six"])
    for expression in (
        six.permute(5, 4, 3, 2, 1, 0),
        six - six.permute(1, 0, 2, 3, 4, 5),
        six | six,
        six.join(six, {0: 0, 5: 5}),
    ):
        check_against_sets(expression, graph)


def test_the_result_is_a_table_with_roles_and_names() -> None:
    table = evaluate(sold.select("seller", "drew"), GRAPH)
    assert table.relation.roles == ("buyer", "item")
    assert [GRAPH.entities[number] for number in table.column("item")] == ["book", "coffee"]


def test_a_relation_without_facts_is_empty_and_so_is_what_follows_from_it() -> None:
    for expression in (empty, empty.permute(1, 0), empty.project(1), empty.select(0, "drew"), empty.select_equal(0, 1)):
        assert tuples(expression) == []
    assert tuples(empty | knows) == tuples(knows | empty) == tuples(knows - empty) == tuples(knows)
    assert tuples(empty - knows) == tuples(empty * knows) == tuples(knows * empty) == []
    assert tuples(empty.join(knows, 0)) == tuples(knows.join(empty, 0)) == []
    nothing = Hypergraph.of([], [SOLD])
    assert tuples(sold.project(0) | sold.project(1), nothing) == []


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        (knows | Relation(RelationSchema("likes", 2)), "unknown-name"),
        (sold.filter_not(0, "drw"), "unknown-name"),
        (sold.select(0, "drw"), "unknown-name"),
        (Relation(RelationSchema("sold", 2)), "other-relation"),
    ],
)
def test_what_the_hypergraph_does_not_hold_is_refused(expression: Expression, code: str) -> None:
    with mistake(code):
        evaluate(expression, GRAPH)


def test_roles_of_the_expression_need_not_be_those_of_the_hypergraph() -> None:
    assert tuples(Relation(RelationSchema("sold", 3))) == tuples(sold)


def test_equal_parts_are_evaluated_once_and_depth_is_no_problem() -> None:
    doubled: Expression = sold
    for _ in range(200):
        doubled = doubled.permute(1, 0, 2) | doubled.permute(1, 0, 2)  # as a tree: more nodes than there are atoms
    started = time.perf_counter()
    assert len(tuples(doubled)) == 3
    assert time.perf_counter() - started < 10


def test_known_results_are_not_evaluated_again() -> None:
    derived = knows.permute(1, 0)
    known = {derived: evaluate(knows, GRAPH).columns}  # not what it is, to see that it is taken
    assert list(evaluate(derived | empty, GRAPH, known)) == tuples(knows)
    assert list(evaluate(derived, GRAPH, known)) == tuples(knows)


def test_factors_of_which_no_column_stays_are_not_multiplied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relatum.algebra.evaluation.free", lambda: 100)
    assert tuples((knows * knows * sold).project(1)) == [("alex",), ("sam",)]
    assert tuples((sold * (knows * sold)).project(4, 3)) == [("alex", "drew"), ("sam", "alex")]
    assert tuples((knows * empty).project(0)) == tuples((empty * knows).project(2)) == []


def test_an_expression_over_another_schema_can_be_evaluated_where_the_names_are_known() -> None:
    other = Schema([RelationSchema("knows", 2)])
    assert tuples(Relation(other["knows"])) == tuples(knows)
