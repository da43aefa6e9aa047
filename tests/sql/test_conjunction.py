"""The normal form: it is equal on tuples, and its own normal form."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from relatum import RelationSchema
from relatum.algebra import Expression, Relation, evaluate
from relatum.sql.conjunction import Conjunction
from support.mistakes import mistake
from support.random_expressions import random_expression, random_graph, random_schema

ENTITIES = ["alex", "book", "coffee", "drew"]


def normal_form(expression: Expression) -> Expression | None:
    conjunction = Conjunction()
    return conjunction.build(conjunction.absorb(expression))


@pytest.mark.parametrize("seed", range(6))
def test_any_expression_has_a_normal_form_which_is_its_own(seed: int, count: Callable[[int, int], int]) -> None:
    rng = random.Random(seed)
    for _ in range(count(30, 600)):
        schema = random_schema(rng)
        graph = random_graph(rng, schema, ENTITIES)
        expression = random_expression(rng, schema, ENTITIES, rng.randint(1, 8))
        found = normal_form(expression)
        if found is None:
            assert not len(evaluate(expression, graph))
            continue
        assert list(evaluate(found, graph)) == list(evaluate(expression, graph)), expression
        assert normal_form(found) == found, expression


KNOWS = Relation(RelationSchema("knows", 2))
DEMANDS: list[Callable[[Conjunction, int], object]] = [
    lambda conjunction, column: (conjunction.equate(column, "alex"), conjunction.equate(column, "book")),
    lambda conjunction, column: (conjunction.equate(column, "alex"), conjunction.differ(column, "alex")),
    lambda conjunction, column: conjunction.differ(column, column),
]


@pytest.mark.parametrize("demand", DEMANDS)
def test_a_column_cannot_hold_two_entities_nor_what_it_must_not(demand: Callable[[Conjunction, int], object]) -> None:
    conjunction = Conjunction()
    columns = conjunction.add(KNOWS)
    assert conjunction.build(columns) == KNOWS
    demand(conjunction, columns[0])
    assert conjunction.build(columns) is None


def test_equal_columns_that_are_put_out_each_keep_one() -> None:
    conjunction = Conjunction()
    (a, b), (c, d) = conjunction.add(KNOWS), conjunction.add(KNOWS)
    conjunction.equate(b, c)
    assert str(conjunction.build([a, b, d])) == "join[1 = 0](knows, knows)"
    assert str(conjunction.build([a, b, c])) == "project[0, 1, 2](filter_equal[1, 2](product(knows, knows)))"
    conjunction.equate(b, "alex")
    assert str(conjunction.build([a, d])) == "product(select[1 = alex](knows), select[0 = alex](knows))"
    assert str(conjunction.build([a, b])) == "project[0, 1](product(filter[1 = alex](knows), select[0 = alex](knows)))"


def test_more_tables_than_are_read_are_refused() -> None:
    conjunction = Conjunction()
    with mistake("over-limit"):
        for _ in range(65):
            conjunction.add(KNOWS)
