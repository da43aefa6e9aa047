"""A spec made in Python takes settings as people write them, and cannot be built if any of them cannot be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from relatum import MODELS, Spec, load
from relatum.errors import SettingError
from relatum.models.base import Settings
from relatum.models.products import MDistMult
from relatum.settings import setting
from relatum.training.settings import TrainingSettings
from support.mistakes import mistake


def spec_of(**given: Any) -> Spec:
    return Spec.from_dict({"data": "example", **given})


def test_settings_can_be_tables() -> None:
    assert Spec("example", training={"epochs": 3}) == spec_of(training={"epochs": 3})
    assert Spec("example", model={"dim": 20}) == spec_of(model={"name": "reale", "dim": 20})
    assert Spec("example", model={"name": "hype", "dim": 20}) == spec_of(model={"name": "hype", "dim": 20})
    assert (
        Spec("example", "hype", {"dim": 20})
        == Spec("example", model="hype", settings={"dim": 20})
        == Spec("example", "hype", dim=20)
    )
    assert Spec("example", training={"epochs": 3}, recipe="paper") == spec_of(training={"epochs": 3}, recipe="paper")


def test_settings_can_be_given_by_name_alone() -> None:
    spec = Spec("example", model="hype", dim=20, epochs=3, num_filters=2, learning_rate=1)
    assert spec == spec_of(model={"name": "hype", "dim": 20, "num_filters": 2}, training={"epochs": 3, "learning_rate": 1.0})
    whole = TrainingSettings(epochs=9, patience=2)
    assert Spec("example", training=whole, epochs=3).training == replace(whole, epochs=3)


@pytest.mark.parametrize(
    ("written", "name"),
    [("HypE", "hype"), ("ReAlE", "reale"), ("m_distmult", "m-distmult"), ("MDistMult", "m-distmult"), ("GMPNN", "g-mpnn")],
)
def test_the_name_of_a_model_is_forgiven_case_and_hyphens(written: str, name: str) -> None:
    assert Spec("example", written) == Spec("example", name)
    assert spec_of(model=written) == spec_of(model={"name": written}) == spec_of(model=name)
    assert Spec("example", written).model == name


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": -1}, "seed: must be a whole number from 0 up, not -1"),
        ({"seed": "a"}, "seed: must be a whole number from 0 up, not 'a'"),
        ({"seed": True}, "seed: must be a whole number from 0 up, not True"),
        ({"data": 3}, "data: name a dataset or a directory"),
        ({"model": 3}, f"model.name: unknown model '3'; known: {', '.join(MODELS)}"),
        ({"model": {"dims": 20}}, "model.dims: no such setting; did you mean dim?"),
        ({"settings": 3}, "model: must be ReAlESettings or a table, not 3"),
        ({"settings": TrainingSettings()}, "model: must be ReAlESettings or a table, not TrainingSettings("),
        ({"training": [3]}, "training: must be TrainingSettings or a table, not [3]"),
        ({"training": {"epochs": 0}}, "training.epochs: must be at least 1, not 0"),
        ({"training": {"dim": 3}}, "training.dim: no such setting; did you mean model.dim?"),
        ({"epochs": 0}, "training.epochs: must be at least 1, not 0"),
        ({"dim": "20"}, "model.dim: must be a whole number, not '20'"),
        ({"dim": 20, "window": 3}, "model.window: must divide dim = 20, and 3 does not"),
        ({"epoch": 3}, "epoch: no such setting; did you mean epochs?"),
        ({"lr": 3}, "lr: no such setting; did you mean learning_rate?"),
        ({"sed": 3}, "sed: no such setting; did you mean seed?"),
        ({"model": "hype", "window": 2}, "window: no such setting; known: dim, "),
        ({"training": {"epochs": 3}, "epochs": 4}, "training.epochs: given twice"),
        ({"model": {"dim": 20}, "dim": 20}, "model.dim: given twice"),
        ({"spec": {"data": "x"}}, "spec: must be a Spec, not {'data': 'x'}"),
        ({"recipe": "slow"}, "recipe: must be one of fast, paper, not 'slow'"),
        ({"recipe": "fast", "spec": Spec("example")}, "recipe: settings begin from a recipe or from a spec, not from both"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_spec_that_cannot_be_cannot_be_built(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        Spec(**{"data": "example", **given})
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@dataclass(frozen=True)
class Margined(Settings):
    """Settings of a model that has one of the same name as training."""

    margin: float = setting(1.0, "its own")


@pytest.fixture
def margined(monkeypatch: pytest.MonkeyPatch) -> str:
    kind = type("Margin", (MDistMult,), {"settings_type": Margined})
    monkeypatch.setitem(MODELS, "margined", kind)
    return "margined"


def test_a_name_that_two_parts_have_is_not_guessed(margined: str) -> None:
    with pytest.raises(SettingError) as caught:
        Spec("example", margined, margin=2.0)
    assert (
        str(caught.value) == "margin: both model and training have it; say model={'margin': ...} or training={'margin': ...}"
    )
    spec = Spec("example", {"name": margined, "margin": 2.0}, training={"margin": 3.0})
    assert (spec.settings.margin, spec.training.margin) == (2.0, 3.0)  # type: ignore[attr-defined]


def test_a_part_of_a_spec_can_be_replaced_but_not_by_what_cannot_be() -> None:
    spec = Spec("example", dim=20)
    assert replace(spec, seed=3) == Spec("example", dim=20, seed=3)
    with mistake("setting-out-of-range"):
        replace(spec, seed=-3)
    with mistake("setting-out-of-range"):
        replace(spec, settings={"dim": 0})


def test_a_spec_can_begin_from_another() -> None:
    base = Spec("example", dim=20, window=4, epochs=7, seed=5, recipe="paper")
    assert Spec("jf17k", spec=base) == replace(base, data="jf17k")
    assert Spec("example", spec=base, epochs=8) == replace(base, training=replace(base.training, epochs=8))
    assert Spec("example", spec=base, training={"epochs": 8}, model={"dim": 40}, seed=1) == replace(
        base, training=replace(base.training, epochs=8), settings=replace(base.settings, dim=40), seed=1
    )
    other = Spec("example", "hype", spec=base)
    assert (other.settings, other.training, other.seed) == (MODELS["hype"].settings_type(), base.training, 5)


def test_there_is_a_spec_of_anything_that_can_be_learned_from(tmp_path: Path) -> None:
    split = load("example")
    assert Spec.of("example", model="reale", dim=40, epochs=50) == Spec("example", dim=40, epochs=50)
    assert Spec.of(tmp_path).data == str(tmp_path)
    assert Spec.of(split).data == "example"
    assert Spec.of(replace(split, source="memory"), spec=Spec("x", dim=20)) == Spec("memory", dim=20)
    assert Spec.of([("sold", "drew", "alex", "book")]).data == "memory"
