"""Settings that cannot be are refused with their path; dropout does what it says."""

from __future__ import annotations

import pytest
import torch

from relatum.models import MODELS
from support.made_models import made_case
from support.mistakes import mistake


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
