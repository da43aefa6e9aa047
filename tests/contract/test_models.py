"""The contract, inherited by every entry of the dict of models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from relatum import Hypergraph
from relatum.inference import scoring
from relatum.kernels.filters import nothing_excluded
from relatum.models import MODELS, base
from relatum.models.store import load_model, save_model
from support.made_models import VARIANTS, Case, case_called
from support.mistakes import mistake


@pytest.fixture(params=[*MODELS, *VARIANTS])
def case(request: pytest.FixtureRequest) -> Case:
    return case_called(request.param)


def close(found: Tensor, expected: Tensor) -> bool:
    """Return whether two tensors agree to 1e-5 of the larger of 1 and their size."""
    return bool(torch.all((found - expected).abs() <= 1e-5 * expected.abs().clamp(min=1)))


def test_the_score_is_the_two_towers_combined_whatever_position_is_open(case: Case) -> None:
    tables = case.model.encode(case.parameters())
    combine = case.model.combine(tables)
    for relations, columns in case.batches():
        scores = case.model.score(tables, relations, columns)
        assert scores.shape == relations.shape
        for position in range(len(columns)):
            queries = case.model.queries(tables, relations, columns, position)
            own = case.model.candidates(tables, relations, position, columns[position])
            assert close(combine.pairs(queries, own), scores)
            for relation in relations.unique():
                mine = relations == relation
                everyone = case.model.candidates(tables, relation, position, None)
                matrix = combine.matrix(queries[mine], everyone)
                assert close(matrix.gather(1, columns[position, mine, None])[:, 0], scores[mine])


def test_candidates_broadcast_over_relations_and_entities(case: Case) -> None:
    tables = case.model.encode(case.parameters())
    for relations, _ in case.batches():
        many = torch.arange(6).reshape(2, 3).repeat(len(relations), 1, 1)  # [n, 2, 3]
        found = case.model.candidates(tables, relations[:, None, None], 0, many)
        for number, relation in enumerate(relations):
            assert close(found[number, 1, 2], case.model.candidates(tables, relation, 0, many[number, 1, 2]))


def test_shapes_are_known_without_drawing_anything(case: Case) -> None:
    drawn, shapes = case.model.init_parameters(torch.Generator()), case.model.parameter_shapes()
    assert {name: (one.shape, one.dtype) for name, one in drawn.items()} == {
        name: (one.shape, one.dtype) for name, one in shapes.items()
    }
    assert all(one.device.type == "meta" for one in shapes.values())
    some = case.model.parameter_shapes(range(1, 3))
    assert all(len(some[name]) == 2 for name in case.model.entity_tables)


def test_some_entities_start_as_they_do_among_all(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_BLOCK", 32)
    rng = torch.Generator().manual_seed(7)
    whole = case.model.init_parameters(rng)
    for wanted in (
        range(case.model.num_entities),
        range(1, 4),
        range(2, 2),
        range(case.model.num_entities - 2, case.model.num_entities),
    ):
        other = torch.Generator().manual_seed(7)
        found = case.model.init_parameters(other, wanted)
        assert torch.equal(other.get_state(), rng.get_state())
        assert found.keys() == whole.keys()
        for name, tensor in found.items():
            expected = whole[name][wanted.start : wanted.stop] if name in case.model.entity_tables else whole[name]
            assert torch.equal(tensor, expected), name


def test_gradients_reach_every_parameter_and_agree_with_finite_differences(case: Case) -> None:
    parameters = {name: tensor.requires_grad_() for name, tensor in case.parameters(dtype=torch.float64).items()}
    case.loss(parameters).backward()
    rng = torch.Generator().manual_seed(3)
    step = 1e-6
    for name, tensor in parameters.items():
        assert tensor.grad is not None, name
        if name != "out_bias":  # a softmax does not see a constant added to all scores
            assert tensor.grad.abs().sum() > 0, name
        direction = torch.randn(tensor.shape, generator=rng, dtype=torch.float64)
        ahead, behind = (float(case.loss({**parameters, name: tensor + way * direction}).detach()) for way in (step, -step))
        slope = float((tensor.grad * direction).sum())
        assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-5, abs=1e-5), name


def test_relabelling_entities_leaves_scores_unchanged(case: Case) -> None:
    order = torch.randperm(len(case.graph.entities), generator=torch.Generator().manual_seed(1))
    blocks = [(block.relations, order.numpy()[block.columns].astype(np.int32)) for block in case.graph.blocks.values()]
    other = type(case.model)(Hypergraph.sort(case.graph.entities, case.graph.schema, blocks), case.model.settings)
    parameters = case.parameters()
    moved = dict(parameters)
    for name in case.model.entity_tables:
        moved[name] = torch.empty_like(parameters[name])
        moved[name][order] = parameters[name]
    tables, moved_tables = case.model.encode(parameters), other.encode(moved)
    for relations, columns in case.batches():
        scores = case.model.score(tables, relations, columns)
        assert close(other.score(moved_tables, relations, order[columns]), scores)


def test_saving_and_loading_is_the_identity(case: Case, tmp_path: Path) -> None:
    parameters = case.parameters()
    save_model(tmp_path, case.model, parameters)
    model, loaded = load_model(tmp_path)
    assert type(model) is type(case.model)
    assert model.settings == case.model.settings
    assert (model.graph.entities, model.schema) == (case.graph.entities, case.graph.schema)
    assert loaded.keys() == parameters.keys()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in parameters.items())
    tables, again = case.model.encode(parameters), model.encode(loaded)
    for relations, columns in case.batches():
        assert torch.equal(model.score(again, relations, columns), case.model.score(tables, relations, columns))


def test_counts_and_best_answers_follow_from_the_scores(case: Case) -> None:
    tables = case.model.encode(case.parameters())
    everyone = torch.arange(len(case.graph.entities))
    for relations, columns in case.batches():
        relation = int(relations[0])
        mine = columns[:, relations == relation]
        for position in range(len(columns)):
            nothing = nothing_excluded(mine.shape[1])
            better, equal = scoring.count_better(case.model, tables, relation, mine, position, nothing)
            places, values = scoring.top(case.model, tables, relation, mine, position, 3, nothing)
            for number in range(mine.shape[1]):
                facts = mine[:, number, None].repeat(1, len(everyone))
                facts[position] = everyone
                scores = scoring.score(case.model, tables, torch.full_like(everyone, relation), facts).double()
                target = scores[mine[position, number]]
                slack = 1e-4 * max(1.0, float(scores.abs().max()))
                assert int((scores > target + slack).sum()) <= better[number]
                assert better[number] + equal[number] <= int((scores >= target - slack).sum()) - 1
                assert torch.allclose(values[number].double(), scores[places[number]], atol=slack)
                assert float(values[number, 0]) >= float(scores.max()) - slack


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_number_that_is_not_finite_is_an_error_that_names_the_relation(case: Case, value: float) -> None:
    parameters = case.parameters()
    parameters["entities"][3] = value
    tables = case.model.encode(parameters)
    if torch.isfinite(tables["entities"]).all():  # ReAlE's maps into [0, 1] turn infinity into 1
        assert value == torch.inf
        return
    for relations, columns in case.batches():
        columns = columns.clone()
        columns[0] = 3
        with mistake("not-finite"):
            scoring.score(case.model, tables, relations, columns)
        mine = columns[:, relations == relations[0]]
        question = (case.model, tables, int(relations[0]), mine, 0)
        with mistake("not-finite"):
            scoring.count_better(*question, nothing_excluded(mine.shape[1]))
        with mistake("not-finite"):
            scoring.top(*question, 2, nothing_excluded(mine.shape[1]))
