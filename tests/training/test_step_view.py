"""A view of some entities, relations and columns scores as the whole model does, and leaves the model as it was."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from relatum.models import MODELS
from relatum.training.step import StepView
from support.made_models import made_case, made_graph

GRAPH = made_graph(entities=20, facts=5)
RELATIONS = np.array([1, 4, 5, 11])


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_facts_of_a_view_have_the_scores_of_the_whole(name: str, whole: bool) -> None:
    case = made_case(name, GRAPH)
    parameters, before = case.parameters(), dict(vars(case.model))
    tables = case.model.encode(parameters)
    facts = [
        [part[..., np.isin(relations, RELATIONS)] for part in (relations, columns)] for relations, columns in case.batches()
    ]
    entities = None if whole else np.unique(np.concatenate([columns.numpy().ravel() for _, columns in facts]))
    view = StepView.of(case.model, entities, RELATIONS, torch.Generator().manual_seed(0))
    seen = view.encode(view.parts(parameters), None)
    scored = 0
    for relations, columns in facts:
        ids = torch.from_numpy(view.relation_indices(relations.numpy()))
        local = torch.from_numpy(view.entity_indices(columns.numpy()))
        found, expected = view.model.score(seen, ids, local), case.model.score(tables, relations, columns)
        torch.testing.assert_close(found.detach(), expected)
        scored += len(found)
    assert scored == 4 * 5
    assert all(value is before[key] for key, value in vars(case.model).items() if key in before)


def test_a_view_takes_the_rows_of_its_relations_and_entities_alone() -> None:
    case = made_case("reale", GRAPH)
    view = StepView.of(case.model, np.array([2, 3, 7]), RELATIONS, torch.Generator().manual_seed(0))
    parts = view.parts(case.parameters())
    arities = [GRAPH.schema[number].arity for number in RELATIONS.tolist()]
    assert {name: len(part) for name, part in parts.items()} == {"entities": 3, "relations": sum(arities), "bias": 4}
    parts["bias"].sum().backward()
    (gradient,) = view.gradients(parts)
    assert gradient.name == "bias"
    assert gradient.rows is not None
    assert gradient.rows.tolist() == RELATIONS.tolist()
    assert gradient.columns is None
