"""Models are abstract or final, take settings that can be, and start where facts that are alike move entities alike."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import FunctionType

import pytest
import torch

import relatum.models
from relatum import Hypergraph
from relatum.models import MODELS, base
from relatum.models.base import Model, Parameters
from support.made_models import made_case
from support.mistakes import mistake


def classes() -> list[type]:
    """Return all classes that modules of the room define."""
    modules = [
        importlib.import_module(f"relatum.models.{found.name}") for found in pkgutil.iter_modules(relatum.models.__path__)
    ]
    defined = {one for module in modules for _, one in inspect.getmembers(module, inspect.isclass)}
    return sorted((one for one in defined if one.__module__.startswith("relatum.models.")), key=lambda one: one.__qualname__)


def methods(one: type) -> dict[str, FunctionType]:
    """Return the methods that a class itself defines; special ones work together by calling those before them."""
    unwrapped = {
        name: getattr(value, "fget", None) or getattr(value, "__func__", None) or getattr(value, "func", None) or value
        for name, value in vars(one).items()
        if not name.startswith("__")
    }
    return {name: value for name, value in unwrapped.items() if isinstance(value, FunctionType)}


def overridden(one: type) -> list[str]:
    """Return the concrete methods of the room that a class overrides, hooks left out."""
    return [
        f"{one.__qualname__}.{name} overrides {base.__qualname__}.{name}"
        for name in methods(one)
        for base in one.__mro__[1:]
        if base.__module__.startswith(("relatum.models.", "tests.", __name__)) and name in methods(base)
        if not (inspect.isabstract(base) and getattr(methods(base)[name], "__isabstractmethod__", False))
        if not hasattr(methods(base)[name], "is_hook")
    ]


def test_what_one_class_does_no_other_does_differently() -> None:
    assert [found for one in classes() for found in overridden(one)] == []
    built = [one for one in classes() if issubclass(one, Model) and not inspect.isabstract(one)]
    assert len(built) == len(relatum.models.MODELS)
    assert [one for one in built if any(base in built for base in one.__mro__[1:])] == []


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


def test_hype_starts_as_m_distmult_does_and_nalp_by_seeing_roles() -> None:
    model, parameters = started("hype")
    seen = [model.seen_at(model.encode(parameters), None, position) for position in range(5)]  # type: ignore[attr-defined]
    settings = model.settings
    coordinates = torch.arange(settings.dim) * settings.steps // settings.dim * settings.stride  # type: ignore[attr-defined]
    for view in seen:
        assert (view - parameters["entities"][:, coordinates]).std() < 0.3
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


@pytest.mark.parametrize(("name", "settings"), [("reale", {"dim": 200, "window": 3}), ("hype", {"filter_width": 300})])
def test_settings_that_contradict_each_other_are_refused(name: str, settings: dict[str, int]) -> None:
    with mistake("setting-out-of-range"):
        MODELS[name].settings_type(**settings)  # type: ignore[arg-type]


def test_a_model_takes_its_own_settings_only() -> None:
    case = made_case("reale")
    with mistake("setting-type"):
        MODELS["hype"](case.graph, case.model.settings)


def test_the_scale_multiplies_the_mean_over_windows() -> None:
    mean = made_case("reale", scale=1.0)
    parameters = mean.parameters()
    relations, columns = mean.batches()[2]
    degree = mean.model.score(mean.model.encode(parameters), relations, columns)
    assert bool(((degree > 0) & (degree < 1)).all())
    whole = made_case("reale").model
    assert torch.allclose(whole.score(whole.encode(parameters), relations, columns), 4 * degree)


def test_window_dropout_leaves_whole_windows_out_and_keeps_the_scale() -> None:
    case = made_case("reale", window_dropout=0.5)
    parameters = {name: torch.zeros_like(tensor) for name, tensor in case.parameters().items()}
    kept = case.model.kept_columns(torch.Generator().manual_seed(0))
    assert {name: len(columns) for name, columns in kept.items()} == {"entities": 6, "relations": 6, "bias": 2}
    windows = kept["entities"].reshape(2, 3)
    assert torch.equal(windows, kept["bias"][:, None] * 3 + torch.arange(3))
    tables = case.model.encode({name: tensor.index_select(1, kept[name]) for name, tensor in parameters.items()})
    relations, columns = case.batches()[1]
    scores = case.model.score(tables, relations, columns)
    assert torch.allclose(scores, torch.full_like(scores, 2.0))  # 4 windows of sigmoid(0), two of them counted twice


def test_input_dropout_sets_coordinates_to_nothing_not_to_one_half() -> None:
    case = made_case("reale", input_dropout=0.5)
    entities = case.model.encode(case.parameters(), torch.Generator().manual_seed(0))["entities"]
    assert 0.3 < float((entities == 0).float().mean()) < 0.7
    kept = case.model.encode(case.parameters())["entities"]
    assert torch.allclose(entities[entities != 0], 2 * kept[entities != 0])


def test_without_a_generator_there_is_no_dropout() -> None:
    for name, settings in (("reale", {}), ("hype", {"hidden_dropout": 0.5}), ("m-cp", {})):
        case = made_case(name, input_dropout=0.5, **settings)
        parameters = case.parameters()
        first, second = case.model.encode(parameters), case.model.encode(parameters)
        assert all(torch.equal(first[key], second[key]) for key in first)
        noisy = case.model.encode(parameters, torch.Generator().manual_seed(0))
        assert any(noisy[key].shape != first[key].shape or not torch.equal(noisy[key], first[key]) for key in first)
