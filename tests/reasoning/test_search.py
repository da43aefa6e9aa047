"""Exact values and best assignments equal those of whole tensors of degrees, whatever is projected, taken away or bound."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest
import torch

from relatum.algebra import Expression, Relation
from relatum.inference.calibration import Calibration
from relatum.models.base import Parameters
from relatum.models.reale import ReAlE
from relatum.reasoning import branching
from relatum.reasoning.bounds import ComparableScores, PlanValues
from relatum.reasoning.plan import Atom, Exists, Max, Plan, plan_of, projected_variables
from relatum.reasoning.search import best, evaluate_plan
from relatum.time_limit import Deadline
from support.dense_degrees import Degrees, degrees, random_model
from support.mistakes import mistake
from support.random_expressions import random_expression

Count = Callable[[int, int], int]


def asked(seed: int, sigma: str = "sigmoid") -> tuple[Expression, ReAlE, Parameters]:
    chance = random.Random(seed)
    model, tables = random_model(chance, sigma, entities=4)
    steps = chance.randint(1, 5)
    return random_expression(chance, model.schema, list(model.graph.entities), steps, products=False), model, tables


def variables(expression: Expression) -> int:
    return 1 + max([expression.arity - 1, *projected_variables(plan_of(expression))])


@pytest.mark.parametrize("sigma", ["sigmoid", "tanh"])
def test_exact_values_are_those_of_the_meaning(sigma: str, count: Count) -> None:
    for seed in range(count(60, 2000)):
        expression, model, tables = asked(seed, sigma)
        expected_values = degrees(expression, model, tables)
        tuples = np.array(list(np.ndindex(expected_values.shape)), np.int64).T
        columns = torch.zeros(variables(expression), tuples.shape[1], dtype=torch.int64)
        columns[: len(tuples)] = torch.from_numpy(tuples)
        values = PlanValues(model, tables, ComparableScores(model))
        found = values.comparable.probability(evaluate_plan(values, plan_of(expression), columns))
        np.testing.assert_allclose(found, expected_values.ravel(), atol=1e-5, err_msg=str(expression))


def test_a_search_that_is_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branching, "_FRONTIER", 2)
    unproven = 0
    for seed in range(40):
        chance = random.Random(seed)
        model, tables = random_model(chance, entities=6)
        widest = max((Relation(relation) for relation in model.schema), key=lambda one: one.arity)
        if widest.arity < 3:
            continue
        expected_values = np.sort(degrees(widest, model, tables).ravel())[::-1]
        values = PlanValues(model, tables, ComparableScores(model))
        columns = torch.zeros(widest.arity, 1, dtype=torch.int64)
        found = best(values, plan_of(widest), columns, range(widest.arity), 3)
        truth = values.comparable.probability(found.logits)
        if found.proven:
            np.testing.assert_allclose(truth, expected_values[:3], atol=1e-5)
        else:
            unproven += 1
            assert (
                values.comparable.probability(np.array([found.missed]))[0] >= expected_values[0] - 1e-5
                or truth[0] >= expected_values[0] - 1e-5
            )
    assert unproven


def test_products_and_boundless_expressions_are_refused() -> None:
    model, _ = random_model(random.Random(1))
    one: Expression = Relation(model.schema["all"])
    for refused in (one * one, one.join(one, 0), one & one, one.filter(0, "x"), one.filter_unequal(0, 0)):
        with mistake("no-closed-form"):
            plan_of(refused)
    for _ in range(30):
        one = one | one
    with mistake("expression-too-deep"):
        plan_of(one)


def value_of(node: Plan, assigned: dict[int, int], ranges: dict[int, list[int]], dense: dict[str, Degrees]) -> float:
    """Return the logit of an assignment, by trying everything in the ranges of what is projected away."""
    if isinstance(node, Atom):
        places = [assigned[term] if isinstance(term, int) else int(term[1:]) for term in node.arguments]
        return float(dense[node.expression.name][tuple(places)])
    if isinstance(node, Exists):
        choices = itertools.product(*(ranges[variable] for variable in node.variables))
        filled = (assigned | dict(zip(node.variables, choice, strict=True)) for choice in choices)
        return max(value_of(node.part, one, ranges, dense) for one in filled)
    left, right = (value_of(part, assigned, ranges, dense) for part in (node.left, node.right))
    return max(left, right) if isinstance(node, Max) else min(left, -right)


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("sigma", ["sigmoid", "tanh", "exp"])
def test_best_assignments_are_those_of_all_that_are_tried(sigma: str, alike: bool, count: Count) -> None:
    for seed in range(count(40, 1000)):
        chance = random.Random(seed)
        model, tables = random_model(chance, sigma, entities=4)
        if alike:  # ties: two entities that cannot be told apart
            tables["entities"][2] = tables["entities"][1]
        expression = random_expression(
            chance, model.schema, list(model.graph.entities), chance.randint(1, 4), products=False
        )
        node, size = plan_of(expression), variables(expression)
        flat = Calibration(  # of which most scores mean the same
            np.ones(len(model.schema)), np.zeros(len(model.schema)), np.array([-1.0, 1e9]), np.array([0.5, 0.5])
        )
        comparable = ComparableScores(model, flat if chance.random() < 0.5 or sigma == "exp" else None)
        dense = {
            one.name: comparable.logits(model.schema.id(one.name), model.scale * degrees(Relation(one), model, tables))
            for one in model.schema
        }
        fewest = chance.choice([1, 4])
        ranges = {variable: sorted(chance.sample(range(4), chance.randint(fewest, 4))) for variable in range(size)}
        open_ = sorted(chance.sample(range(expression.arity), chance.randint(1, expression.arity)))
        given = {variable: chance.randrange(4) for variable in range(expression.arity)}
        excluded = {tuple(chance.choice(ranges[one]) for one in open_) for _ in range(chance.randint(0, 3))}
        expected_values = {
            choice: value_of(node, given | dict(zip(open_, choice, strict=True)), ranges, dense)
            for choice in itertools.product(*(ranges[one] for one in open_))
            if choice not in excluded
        }
        columns = torch.zeros(size, 1, dtype=torch.int64)
        columns[: expression.arity, 0] = torch.tensor([given[one] for one in range(expression.arity)])
        values = PlanValues(model, tables, comparable, {one: torch.tensor(ids) for one, ids in ranges.items()})
        k = chance.choice([1, 3, 1000])
        found = best(values, node, columns, open_, k, excluded)
        assert found.proven
        close = {"rtol": 1e-4, "atol": 1e-4} if sigma == "exp" else {"rtol": 0.0, "atol": 1e-5}
        expected = sorted(expected_values.values(), reverse=True)[:k]
        np.testing.assert_allclose(found.logits, expected, **close, err_msg=str(expression))
        keys = list(map(tuple, found.columns[open_].T.tolist()))
        assert len(set(keys)) == len(keys)
        np.testing.assert_allclose(found.logits, [expected_values[key] for key in keys], **close, err_msg=str(expression))
        for (one, logit), (other, next_) in itertools.pairwise(zip(keys, found.logits, strict=True)):
            assert logit > next_ or one < other  # ties: smaller ids first


def test_a_search_that_is_stopped_says_what_it_may_have_missed() -> None:
    stopped = 0
    for seed in range(40):
        chance = random.Random(seed)
        model, tables = random_model(chance, entities=7)
        widest = max((Relation(relation) for relation in model.schema), key=lambda one: one.arity)
        expression = widest.project(0)
        expected_values = degrees(expression, model, tables)
        values, limit = PlanValues(model, tables, ComparableScores(model)), Deadline(1e-9)
        columns = torch.zeros(variables(expression), 1, dtype=torch.int64)
        found = best(values, plan_of(expression), columns, [0], 3, (), limit)
        assert limit.stopped
        truth = values.comparable.probability(found.logits)
        assert len(truth)
        assert (truth <= expected_values[found.columns[0].numpy()] + 1e-5).all()
        assert max(truth[0], *values.comparable.probability(np.array([found.missed]))) >= expected_values.max() - 1e-5
        stopped += not found.proven
    assert stopped


def test_no_assignments_have_no_values() -> None:
    model, tables = random_model(random.Random(0))
    values = PlanValues(model, tables, ComparableScores(model))
    for relation in model.schema:
        node = plan_of(Relation(relation).project(0))
        assert evaluate_plan(values, node, torch.zeros(relation.arity + 1, 0, dtype=torch.int64)).shape == (0,)
