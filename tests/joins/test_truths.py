"""Joins on known facts alone give exactly the tuples of the algebra."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from relatum.algebra import evaluate
from relatum.joins.answering import best_answers, holds
from relatum.joins.truths import FactTruths
from support.random_expressions import random_expression, random_graph, random_schema

ENTITIES = ["alex", "book", "coffee", "drew"]


@pytest.mark.parametrize("seed", range(5))
def test_answers_by_facts_alone_are_the_tuples_of_the_algebra(seed: int, count: Callable[[int, int], int]) -> None:
    chance = random.Random(seed)
    for _ in range(count(40, 1000)):
        schema = random_schema(chance, most_columns=3)
        graph = random_graph(chance, schema, ENTITIES)
        expression = random_expression(chance, schema, ENTITIES, chance.randint(1, 5))
        right = {tuple(row) for row in evaluate(expression, graph).columns.T.tolist()}
        truths = FactTruths(graph)
        found = best_answers(expression, truths, 10_000)
        assert found.proven
        assert {one.entities for one in found.answers} == right, expression
        assert all(one.value == 1 for one in found.answers)
        tried = [
            *sorted(right)[:3],
            *(tuple(chance.choices(range(len(graph.entities)), k=expression.arity)) for _ in range(3)),
        ]
        assert holds(expression, truths, tried) == [one in right for one in tried]
