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
    ("given", "code", "place"),
    [
        ({"seed": -1}, "setting-out-of-range", "seed"),
        ({"settings": 3}, "setting-out-of-range", "model"),
        ({"settings": TrainingSettings()}, "setting-out-of-range", "model"),
        ({"training": [3]}, "setting-out-of-range", "training"),
        ({"dim": 20, "window": 3}, "setting-out-of-range", "model.window"),
        ({"model": "hype", "window": 2}, "unknown-setting", "window"),
        ({"training": {"epochs": 3}, "epochs": 4}, "setting-twice", "training.epochs"),
        ({"model": {"dim": 20}, "dim": 20}, "setting-twice", "model.dim"),
        ({"spec": {"data": "x"}}, "setting-out-of-range", "spec"),
        ({"recipe": "slow"}, "setting-out-of-range", "recipe"),
        ({"recipe": "fast", "spec": Spec("example")}, "contradictory-options", "recipe"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_spec_that_cannot_be_cannot_be_built(given: dict[str, Any], code: str, place: str) -> None:
    with mistake(code, place=place) as caught:
        Spec(**{"data": "example", **given})
    assert isinstance(caught.value, SettingError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "meant"), [({"training": {"dim": 3}}, "model.dim"), ({"epoch": 3}, "epochs"), ({"sed": 3}, "seed")]
)
def test_an_unknown_setting_is_answered_with_the_one_that_is_meant(given: dict[str, Any], meant: str) -> None:
    with mistake("unknown-setting", nearest=(meant,)):
        Spec("example", **given)


@dataclass(frozen=True)
class Patient(Settings):
    """Settings of a model that has one of the same name as training."""

    patience: int = setting(1, "its own")


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> str:
    kind = type("PatientModel", (MDistMult,), {"settings_type": Patient})
    monkeypatch.setitem(MODELS, "patient", kind)
    return "patient"


def test_a_name_that_two_parts_have_is_not_guessed(patient: str) -> None:
    with mistake("setting-of-both", place="patience"):
        Spec("example", patient, patience=2)
    spec = Spec("example", {"name": patient, "patience": 2}, training={"patience": 3})
    assert (spec.settings.patience, spec.training.patience) == (2, 3)  # type: ignore[attr-defined]


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
