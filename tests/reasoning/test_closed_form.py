"""The paper's theorems on closed forms: what is promised holds for random models, and what is refused says why."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import torch

from relatum.algebra import Difference, Expression, Relation, Union
from relatum.data.schema import RelationSchema
from relatum.models.base import Parameters
from relatum.models.products import MDistMult
from relatum.models.reale import ReAlE
from relatum.reasoning.closed_form import Bound, Form, closed_form, complement, extended
from support.dense_degrees import Degrees, degrees, form_degrees, random_model
from support.mistakes import mistake
from support.random_expressions import random_expression

TOLERANCE = 1e-5

Count = Callable[[int, int], int]


def relation_of(chance: random.Random, model: ReAlE, least: int = 1) -> Relation:
    schema = [relation for relation in model.schema if relation.arity >= least and relation.name != "all"]
    return Relation(chance.choice(schema)) if schema else Relation(model.schema["all"])


def pair_of(chance: random.Random, model: ReAlE) -> tuple[Expression, Expression]:
    left, right = relation_of(chance, model), relation_of(chance, model)
    arity = min(left.arity, right.arity)
    return left.project(*range(arity)), right.project(*range(arity))


def of(form: Form, model: ReAlE, tables: Parameters) -> Degrees:
    return form_degrees(form.weights, form.bias, model, tables)


def check(expression: Expression, model: ReAlE, tables: Parameters, *, unit: bool = False, opposite: bool = False) -> Bound:
    """Check everything that a closed form, or that of the complement, promises for every tuple."""
    found = (complement if opposite else closed_form)(expression, model, tables, unit=unit)
    meant = degrees(expression, model, tables)
    if opposite:
        meant = 1 - meant if model.settings.sigma == "sigmoid" else -meant
    said = of(found.form, model, tables)
    if found.bound.never_below:
        assert np.all(said >= meant - TOLERANCE), str(expression)
    if found.bound.never_above:
        assert np.all(said <= meant + TOLERANCE), str(expression)
    assert np.all(of(found.lower, model, tables) <= meant + TOLERANCE), str(expression)
    assert np.all(of(found.upper, model, tables) >= meant - TOLERANCE), str(expression)
    return found.bound


@pytest.mark.parametrize("sigma", ["sigmoid", "tanh", "exp"])
@pytest.mark.parametrize("entity_map", ["sigmoid", "clamp", "none"])
def test_renamings_and_selections_are_equal(sigma: str, entity_map: str, count: Count) -> None:
    for seed in range(count(30, 1000)):
        chance = random.Random(seed)
        model, tables = random_model(chance, sigma, entity_map)
        child = relation_of(chance, model, least=2)
        expressions: list[Expression] = [child.permute(*chance.sample(range(child.arity), child.arity))]
        if child.arity > 1:
            expressions.append(child.select_equal(*chance.sample(range(child.arity), 2)))
            expressions.append(child.select(chance.randrange(child.arity), "e2"))
        for expression in expressions:
            found = closed_form(expression, model, tables)
            assert found.bound is Bound.EQUAL
            np.testing.assert_allclose(
                of(found.form, model, tables), degrees(expression, model, tables), rtol=1e-4, atol=TOLERANCE
            )


@pytest.mark.parametrize("sigma", ["sigmoid", "tanh"])
@pytest.mark.parametrize("unit", [False, True])
def test_projections_are_never_below(sigma: str, unit: bool, count: Count) -> None:
    for seed in range(count(50, 1000)):
        chance = random.Random(seed)
        model, tables = random_model(chance, sigma, chance.choice(["sigmoid", "clamp"]))
        child = relation_of(chance, model, least=2)
        kept = chance.sample(range(child.arity), chance.randint(1, child.arity))
        found = check(child.project(*kept), model, tables, unit=unit)
        assert found is (Bound.AT_LEAST if len(kept) < child.arity else Bound.EQUAL)


def test_a_projection_in_the_unit_cube_holds_for_entities_that_come_later() -> None:
    for seed in range(50):
        chance = random.Random(seed)
        model, tables = random_model(chance, window=2)
        child = relation_of(chance, model, least=2)
        found = closed_form(child.project(0), model, tables, unit=True)
        new = dict(tables)
        new["entities"] = 1.0 * (np.random.default_rng(seed).random(tables["entities"].shape) < 0.5)
        new["entities"] = tables["entities"].new_tensor(new["entities"])
        assert np.all(of(found.form, model, new) >= degrees(child.project(0), model, new) - TOLERANCE)


@pytest.mark.parametrize("sigma", ["sigmoid", "tanh"])
def test_unions_are_never_below_and_differences_never_above(sigma: str, count: Count) -> None:
    for seed in range(count(50, 1000)):
        chance = random.Random(seed)
        model, tables = random_model(chance, sigma, chance.choice(["sigmoid", "clamp"]))
        left, right = relation_of(chance, model), relation_of(chance, model)
        if left.arity != right.arity:
            left = right
        assert check(Union(left, right), model, tables) is Bound.AT_LEAST
        assert check(Difference(left, right), model, tables) is Bound.AT_MOST


@pytest.mark.parametrize("sigma", ["sigmoid", "tanh"])
def test_no_bound_of_a_composed_expression_is_violated(sigma: str, count: Count) -> None:
    seen: Counter[Bound] = Counter()
    for seed in range(count(200, 10_000)):
        chance = random.Random(seed)
        model, tables = random_model(chance, sigma, chance.choice(["sigmoid", "clamp"]), entities=3)
        names = list(model.graph.entities)
        expression = random_expression(chance, model.schema, names, chance.randint(1, 6), products=False)
        seen[check(expression, model, tables, unit=chance.random() < 0.3)] += 1
    assert all(seen[bound] >= count(5, 250) for bound in Bound), seen


def test_bounds_compose_as_stated() -> None:
    for left in Bound:
        assert Bound.of_largest(left) is (Bound.AT_LEAST if left in (Bound.EQUAL, Bound.AT_LEAST) else Bound.NONE)
        for right in Bound:
            both = {left, right} <= {Bound.EQUAL, Bound.AT_LEAST}
            assert Bound.of_largest(left, right) is (Bound.AT_LEAST if both else Bound.NONE)
            less = left in (Bound.EQUAL, Bound.AT_MOST) and right in (Bound.EQUAL, Bound.AT_LEAST)
            assert Bound.of_difference(left, right) is (Bound.AT_MOST if less else Bound.NONE)


def test_the_bound_over_entities_is_the_closer_one() -> None:
    chance = random.Random(1)
    model, tables = random_model(chance)
    child = relation_of(chance, model, least=2).project(0)
    near, far = (closed_form(child, model, tables, unit=unit).form.bias for unit in (False, True))
    assert (near <= far).all()
    assert (near < far).any()


def test_the_lower_form_of_a_projection_takes_the_entity_that_contributes_most() -> None:
    for seed in range(20):
        chance = random.Random(seed)
        model, tables = random_model(chance)
        child = relation_of(chance, model, least=2)
        if child.arity < 2:
            continue
        kept = [position for position in range(child.arity) if position != 1]
        lower = closed_form(child.project(*kept), model, tables).lower
        alone = [float(closed_form(child.select(1, name), model, tables).form.bias.sum()) for name in model.graph.entities]
        assert float(lower.bias.sum()) == pytest.approx(max(alone), abs=1e-4)


def test_a_relation_of_another_arity_is_refused() -> None:
    model, tables = random_model(random.Random(1))
    for known in model.schema:
        other = Relation(RelationSchema(known.name, known.arity + 1))
        with mistake("other-relation"):
            closed_form(other, model, tables)


def test_what_has_no_closed_form_is_refused_with_the_reason() -> None:
    chance = random.Random(3)
    model, tables = random_model(chance, "exp")
    one = relation_of(chance, model)
    closed_form(one | one, model, tables)
    for expression in (one - one, one * one, one.join(one, 0), one & one, one.filter_equal(0, 0)):
        with mistake("no-closed-form"):
            closed_form(expression, model, tables)
    with mistake("no-closed-form"):
        complement(one, model, tables)
    model, tables = random_model(chance, entity_map="none")
    one = relation_of(chance, model, least=2)
    for expression in (one.project(0), one | one, one - one):
        with mistake("no-closed-form"):
            closed_form(expression, model, tables)
    other = MDistMult(model.graph)
    with mistake("needs-reale"):
        closed_form(one, other, tables)


@pytest.mark.parametrize("sigma", ["sigmoid", "tanh"])
@pytest.mark.parametrize("entity_map", ["sigmoid", "clamp", "none"])
def test_the_complement_of_a_relation_has_what_is_left_of_every_score(sigma: str, entity_map: str) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        model, tables = random_model(rng, sigma, entity_map)
        relation = relation_of(rng, model)
        found = complement(relation, model, tables)
        assert found.bound is Bound.EQUAL
        wider, more = extended(model, tables, {RelationSchema("not", relation.arity): found.form})
        columns = torch.randint(0, len(model.graph.entities), (relation.arity, 20))
        ids = (torch.full((20,), wider.schema.id(name)) for name in (relation.name, "not"))
        scores, left = (wider.score(more, names, columns) for names in ids)
        whole = model.scale if sigma == "sigmoid" else 0
        torch.testing.assert_close(left, whole - scores, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sigma", ["sigmoid", "tanh"])
def test_the_complement_of_an_expression_turns_its_bounds_round(sigma: str, count: Count) -> None:
    seen: Counter[Bound] = Counter()
    for seed in range(count(100, 2000)):
        rng = random.Random(seed)
        model, tables = random_model(rng, sigma, "sigmoid", entities=3)
        expression = random_expression(rng, model.schema, list(model.graph.entities), rng.randint(1, 4), products=False)
        seen[check(expression, model, tables, opposite=True)] += 1
    assert all(seen[bound] >= count(5, 100) for bound in Bound), seen
