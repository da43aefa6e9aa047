"""The parameters of closed forms, written out by hand on a model of two windows: the form, and those below and above it."""

from __future__ import annotations

import torch
from torch import Tensor

from relatum import Hypergraph, RelationSchema
from relatum.algebra import Relation
from relatum.models.base import Parameters
from relatum.models.reale import ReAlE, ReAlESettings
from relatum.reasoning.closed_form import Form, closed_form, closed_forms, complement, extended

GRAPH = Hypergraph.of([("r", *"abc"), ("s", *"abc")], [RelationSchema("r", 3), RelationSchema("s", 3)])
R, S = Relation(GRAPH.schema["r"]), Relation(GRAPH.schema["s"])
ENTITIES = torch.tensor([[0.1, 0.9, 0.5, 0.2], [0.8, 0.3, 0.0, 1.0], [0.4, 0.4, 0.7, 0.6]])
WEIGHTS = torch.tensor([[1.0, -2.0, 3.0, 0.5], [-1.0, 4.0, -0.5, 2.0], [2.0, 0.0, 1.0, -3.0]])
MORE = torch.tensor([[0.5, 1.0, -3.0, 0.5], [2.0, -4.0, 0.5, -2.0], [-2.0, 1.0, -1.0, 3.0]])
BIAS = torch.tensor([[0.5, -1.0], [1.5, -2.0]])


def model_of(sigma: str = "sigmoid", entity_map: str = "clamp") -> tuple[ReAlE, Parameters]:
    model = ReAlE(GRAPH, ReAlESettings(dim=4, window=2, sigma=sigma, entity_map=entity_map))
    return model, {"entities": ENTITIES, "relations": torch.cat([WEIGHTS, MORE]), "bias": BIAS}


def windows(entity: Tensor, weights: Tensor) -> Tensor:
    """Return what an entity gives in each of the two windows."""
    products = entity * weights
    return torch.stack([products[0] + products[1], products[2] + products[3]])


def same(form: Form, weights: Tensor, bias: Tensor) -> None:
    torch.testing.assert_close(form.weights, weights)
    torch.testing.assert_close(form.bias, bias)


def test_a_relation_has_its_rows_and_its_bias() -> None:
    model, tables = model_of()
    for relation, weights, number in ((R, WEIGHTS, 0), (S, MORE, 1)):
        found = closed_form(relation, model, tables)
        for form in (found.form, found.lower, found.upper):
            same(form, weights, BIAS[number])


def test_exact_operations_change_all_three_alike() -> None:
    model, tables = model_of()
    cases = {
        R.permute(2, 0, 1): (WEIGHTS[[2, 0, 1]], BIAS[0]),
        R.select_equal(0, 2): (torch.stack([WEIGHTS[1], WEIGHTS[0] + WEIGHTS[2]]), BIAS[0]),
        R.select_equal(2, 1): (torch.stack([WEIGHTS[0], WEIGHTS[1] + WEIGHTS[2]]), BIAS[0]),
        R.select(1, "b"): (WEIGHTS[[0, 2]], BIAS[0] + windows(ENTITIES[1], WEIGHTS[1])),
        R.select(2, "c"): (WEIGHTS[[0, 1]], BIAS[0] + windows(ENTITIES[2], WEIGHTS[2])),
    }
    for expression, (weights, bias) in cases.items():
        found = closed_form(expression, model, tables)
        for form in (found.form, found.lower, found.upper):
            same(form, weights, bias)


def test_a_projection_adds_the_most_of_each_window_and_below_that_of_one_entity() -> None:
    model, tables = model_of()
    gains = torch.stack([windows(entity, WEIGHTS[1]) for entity in ENTITIES])
    found = closed_form(R.project(2, 0), model, tables)
    for form in (found.form, found.upper):
        same(form, WEIGHTS[[2, 0]], BIAS[0] + gains.max(0).values)
    same(found.lower, WEIGHTS[[2, 0]], BIAS[0] + gains[gains.sum(1).argmax()])
    assert not torch.equal(found.lower.bias, found.form.bias)


def test_in_the_unit_cube_it_adds_all_positive_weights() -> None:
    model, tables = model_of()
    found = closed_form(R.project(2), model, tables, unit=True)
    positive = WEIGHTS.clamp(min=0)
    most = BIAS[0] + torch.stack([positive[:2, :2].sum(), positive[:2, 2:].sum()])
    for form in (found.form, found.upper):
        same(form, WEIGHTS[[2]], most)
    assert (closed_form(R.project(2), model, tables).form.bias < most).all()
    assert torch.equal(closed_forms(R.project(2), model, tables, unit=True)[R.project(2)].form.bias, found.form.bias)
    plain = closed_form(R.project(2), model, tables)
    same(closed_forms(R.project(2), model, tables)[R.project(2)].form, plain.form.weights, plain.form.bias)


def test_a_complement_has_the_opposite_signs_and_upper_for_lower() -> None:
    model, tables = model_of()
    for unit in (False, True):
        whole, found = (of(R.project(2), model, tables, unit=unit) for of in (complement, closed_form))
        same(whole.form, -found.form.weights, -found.form.bias)
        same(whole.lower, -found.upper.weights, -found.upper.bias)
        same(whole.upper, -found.lower.weights, -found.lower.bias)
    near, far = complement(R.project(2), model, tables), complement(R.project(2), model, tables, unit=True)
    assert (near.form.bias > far.form.bias).all()


def test_a_union_has_the_larger_parameters_and_below_the_left_side() -> None:
    model, tables = model_of()
    left, right = R.project(0, 1), S.project(0, 1)
    one, other, found = (closed_form(expression, model, tables) for expression in (left, right, left | right))
    same(found.form, one.form.weights.maximum(other.form.weights), one.form.bias.maximum(other.form.bias))
    same(found.upper, one.upper.weights.maximum(other.upper.weights), one.upper.bias.maximum(other.upper.bias))
    same(found.lower, one.lower.weights, one.lower.bias)


def test_a_difference_has_the_smaller_of_left_and_complement_and_above_the_left_side() -> None:
    model, tables = model_of()
    left, right = R.project(0, 1), S.project(0, 1)
    one, other, found = (closed_form(expression, model, tables) for expression in (left, right, left - right))
    same(found.form, one.form.weights.minimum(-other.form.weights), one.form.bias.minimum(-other.form.bias))
    same(found.lower, one.lower.weights.minimum(-other.upper.weights), one.lower.bias.minimum(-other.upper.bias))
    same(found.upper, one.upper.weights, one.upper.bias)


def test_every_part_has_its_form() -> None:
    model, tables = model_of()
    whole = R.permute(1, 0, 2) | S
    found = closed_forms(whole, model, tables)
    assert found.keys() == {whole, R.permute(1, 0, 2), R, S}
    for part in found:
        alone = closed_form(part, model, tables)
        same(found[part].form, alone.form.weights, alone.form.bias)


def test_further_relations_follow_those_that_are_there() -> None:
    model, tables = model_of()
    form = closed_form(R.project(1), model, tables).form
    wider, more = extended(model, tables, {RelationSchema("derived", 1): form, RelationSchema("again", 1): form})
    assert [relation.name for relation in wider.schema] == ["r", "s", "derived", "again"]
    assert wider.settings == model.settings
    assert wider.graph.entities == GRAPH.entities
    torch.testing.assert_close(more["relations"], torch.cat([WEIGHTS, MORE, form.weights, form.weights]))
    torch.testing.assert_close(more["bias"], torch.cat([BIAS, form.bias[None], form.bias[None]]))
    assert more["entities"] is tables["entities"]
