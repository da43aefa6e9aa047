"""Where parameters start: facts that are alike should move entities alike from the first step on."""

from __future__ import annotations

import pytest
import torch

from relatum import Hypergraph
from relatum.models import MODELS, base
from relatum.models.base import Model, Parameters

GRAPH = Hypergraph.of(
    [
        (f"r{arity}", *(f"e{(7 * fact + place) % 30}" for place in range(arity)))
        for arity in (1, 2, 3, 5)
        for fact in range(30)
    ]
)
PRODUCTS = ("m-distmult", "m-cp", "hsimple", "hype", "getd", "g-mpnn")


def started(name: str) -> tuple[Model, Parameters]:
    model = MODELS[name](GRAPH)
    return model, model.init_parameters(torch.Generator().manual_seed(0))


@pytest.mark.parametrize("width", [1, 3, 16, 100])
def test_rows_drawn_in_blocks_have_the_bits_of_one_draw(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_BLOCK", 64)
    for size in (0, 1, 4, 5, 6, 15, 16, 17, 21, 27, 43, 64, 65, 79, 80, 81, 300):
        rng = torch.Generator().manual_seed(size)
        whole = torch.randn(size, width, generator=rng) * 0.3
        for first, last in ((0, size), (0, size // 2), (size // 3, size), (size // 2, size // 2)):
            other = torch.Generator().manual_seed(size)
            found = base.normal(other, size, width, spread=0.3, wanted=range(first, last))
            assert torch.equal(found, whole[first:last])
            assert torch.equal(other.get_state(), rng.get_state())


@pytest.mark.parametrize("name", PRODUCTS)
def test_entities_start_nearly_alike(name: str) -> None:
    _, parameters = started(name)
    entities = parameters["entities"].flatten(1)
    apart = (entities - entities.mean(0)).norm(dim=1)
    assert (apart < 0.2 * entities.norm(dim=1)).all()


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_relation_tells_entities_no_better_apart_than_they_are(name: str) -> None:
    """Whatever a question, all candidates score about the same: nothing is known, and nothing is made up."""
    model, parameters = started(name)
    tables = model.encode(parameters)
    for relation, schema in enumerate(GRAPH.schema):
        for position in range(schema.arity):
            columns = torch.arange(schema.arity)[:, None]
            question = model.queries(tables, torch.tensor([relation]), columns, position)
            scores = model.combine(tables).matrix(question, model.candidates(tables, torch.tensor(relation), position, None))
            sizes = question.norm() * model.candidates(tables, torch.tensor(relation), position, None).norm(dim=1)
            assert scores.std() < 0.1 * sizes.mean()


def test_hype_starts_by_seeing_entities_as_m_distmult_does() -> None:
    model, parameters = started("hype")
    seen = [model.seen_at(model.encode(parameters), None, position) for position in range(5)]  # type: ignore[attr-defined]
    settings = model.settings
    coordinates = torch.arange(settings.dim) * settings.steps // settings.dim * settings.stride  # type: ignore[attr-defined]
    for view in seen:
        assert (view - parameters["entities"][:, coordinates]).std() < 0.3


def test_nalp_starts_by_seeing_roles_more_than_entities() -> None:
    model, parameters = started("nalp")
    tables = model.encode(parameters)
    assert tables["entities"].std() < 0.3 * tables["roles"].std()


@pytest.mark.parametrize("name", ["neuinfer", "hinge"])
def test_models_of_qualifiers_start_by_seeing_relations_more_than_entities(name: str) -> None:
    model, parameters = started(name)
    tables = model.encode(parameters)
    assert 0.5 < tables["relations"].std() < 2
    for position in range(3):
        assert model.candidates(tables, torch.tensor(0), position, None).std() < 0.3 * tables["relations"].std()


def test_translations_start_with_the_first_position_against_the_others() -> None:
    for name in ("m-transh", "rae"):
        model, parameters = started(name)
        for relation, schema in enumerate(GRAPH.schema):
            first = int(model.position_rows(torch.tensor([relation]), 0))
            weights = parameters["weights"][first : first + schema.arity]
            assert weights[0] > 0.5
            if schema.arity > 1:
                assert (weights[1:] < 0).all()
                assert abs(float(weights.sum())) < 0.5
