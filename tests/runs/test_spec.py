"""Specs: the same after a trip through TOML, taken as people write them, and refused with a path and a hint."""

from __future__ import annotations

import dataclasses
import datetime
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import load
from relatum.errors import SettingError
from relatum.models import MODELS
from relatum.models.base import Settings
from relatum.models.products import MDistMult
from relatum.runs.spec import RECIPES, Spec, merged, toml_of
from relatum.settings import change_of, setting
from relatum.training.settings import TrainingSettings
from support.mistakes import mistake

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)

CONTROLS = "".join(map(chr, (*range(32), *range(127, 160), 0x2028)))


@given(
    data=st.one_of(st.sampled_from(["example", "C:\\data", 'a "b" c', "日本", "a\tb", "#", "x = 1", CONTROLS]), texts),
    seed=st.integers(0, 2**63 - 1),
    model=st.sampled_from(list(MODELS)),
    dim=st.integers(1, 500).map(lambda half: 2 * half),
    dropout=st.floats(0, 1, exclude_max=True),
    rate=st.floats(1e-300, 1e300),
    epochs=st.integers(1, 10**12),
    refit=st.booleans(),
)
def test_a_spec_survives_toml(
    data: str, seed: int, model: str, dim: int, dropout: float, rate: float, epochs: int, refit: bool
) -> None:
    settings = MODELS[model].settings_type(dim=dim, input_dropout=dropout)
    spec = Spec(data, model, settings, TrainingSettings(epochs=epochs, learning_rate=rate, refit=refit), seed)
    text = spec.to_toml()
    assert Spec.from_dict(tomllib.loads(text)) == spec
    assert Spec.from_dict(spec.to_dict()) == spec
    assert change_of(f"data = {toml_of(data)}") == {"data": data}


@pytest.mark.parametrize("name", MODELS)
def test_every_setting_is_written_out(name: str) -> None:
    spec = Spec.from_dict({"data": "example", "model": {"name": name}})
    written = tomllib.loads(spec.to_toml())
    training, settings = (
        {key: value for key, value in dataclasses.asdict(part).items() if value is not None}
        for part in (spec.training, spec.settings)
    )
    assert written["training"] == training
    assert written["model"] == {"name": name, **settings}
    assert (written["data"], written["seed"]) == ("example", 0)


def test_what_is_not_said_is_the_default() -> None:
    spec = Spec.from_dict({"data": "example"})
    assert spec == Spec("example")
    assert (spec.model, spec.seed) == ("reale", 0)
    fast = RECIPES["fast"]
    assert spec.training == TrainingSettings(**fast["training"])
    assert spec.settings == MODELS["reale"].settings_type(**fast["model"])


MISTAKES: list[tuple[dict[str, Any], str, str, tuple[str, ...]]] = [
    ({}, "no-data-named", "data", ()),
    ({"data": 3}, "no-data-named", "data", ()),
    ({"data": datetime.date(2020, 1, 1)}, "no-data-named", "data", ()),
    ({"data": "caf\udce9"}, "path-not-unicode", "data", ()),
    ({"sed": 3}, "unknown-setting", "sed", ("seed",)),
    ({"epochs": 3}, "unknown-setting", "epochs", ("training.epochs",)),
    ({"lr": 3}, "unknown-setting", "lr", ("training.learning_rate",)),
    ({"model": ["hype"]}, "setting-out-of-range", "model", ()),
    ({"training": [1]}, "setting-out-of-range", "training", ()),
    ({"model": {"name": "realee"}}, "unknown-model", "model.name", ("reale", "rae")),
    ({"model": {"name": "xyz"}}, "unknown-model", "model.name", ()),
    ({"model": {"dims": 3}}, "unknown-setting", "model.dims", ("dim",)),
    ({"model": {"layers": 3}}, "unknown-setting", "model.layers", ()),
    ({"model": {"name": "g-mpnn", "window": 2}}, "unknown-setting", "model.window", ()),
    ({"model": {"dim": {"x": 1}}}, "setting-out-of-range", "model.dim", ()),
    ({"model": {"dim": 20, "window": 3}}, "setting-out-of-range", "model.window", ()),
    ({"training": {"epoch": 3}}, "unknown-setting", "training.epoch", ("epochs",)),
    ({"seed": -1}, "setting-out-of-range", "seed", ()),
    ({"seed": True}, "setting-out-of-range", "seed", ()),
]


@pytest.mark.parametrize(("given", "code", "place", "nearest"), MISTAKES)
def test_a_mistake_is_refused_with_its_path_and_what_was_meant(
    given: dict[str, Any], code: str, place: str, nearest: tuple[str, ...]
) -> None:
    given = {"data": "example", **given} if given else given
    with mistake(code, place=place, nearest=nearest):
        Spec.from_dict(given)


def test_a_spec_made_by_hand_has_a_model_and_settings_of_that_model() -> None:
    with mistake("setting-type"):
        Spec("example", "hype", MODELS["reale"].settings_type())
    with mistake("unknown-model"):
        Spec("example", "hipe", MODELS["hype"].settings_type())
    whole = Spec("example", "hype", MODELS["hype"].settings_type())
    assert whole == Spec("example", "hype") == Spec.from_dict({"data": "example", "model": "hype"})


def test_a_file_that_is_not_there_or_not_toml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    with mistake("no-such-file"):
        Spec.read(path)
    for content in (b"data = ", b"data = example", b'data = "\xff"'):
        path.write_bytes(content)
        with mistake("not-toml"):
            Spec.read(path)


def test_a_date_is_refused_like_any_other_value_that_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text("training.epochs = [1, 2020-01-01]\n")
    for change in ([], ["training.epochs=2020-01-01"]):
        with mistake("setting-out-of-range"):
            Spec.read(path, ["data=example", *change])


def test_changes_are_made_to_what_a_file_says(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text('data = "example"\n[model]\nname = "hype"\ndim = 10\n[training]\nepochs = 3\n')
    spec = Spec.read(path, ["training.epochs=7", "model.dim=12", "seed = 5", "training.rows=questions"])
    assert (spec.training.epochs, spec.settings.dim, spec.seed, spec.training.rows) == (7, 12, 5, "questions")
    assert (spec.data, spec.model) == ("example", "hype")
    with mistake("unknown-setting"):
        Spec.read(path, ["model.dims=3"])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("seed=3", {"seed": 3}),
        ("data=example", {"data": "example"}),
        ('data="a = b"', {"data": "a = b"}),
        ("data=", {"data": ""}),
        ("training.learning_rate=0.5", {"training": {"learning_rate": 0.5}}),
        ("model.name=m-distmult", {"model": {"name": "m-distmult"}}),
        ("a.b.c=1", {"a": {"b": {"c": 1}}}),
    ],
)
def test_a_change_is_a_path_and_a_value_in_toml_or_a_plain_word(change: str, expected: dict[str, Any]) -> None:
    assert change_of(change) == expected


def test_changes_leave_what_they_are_made_to_alone_and_the_last_one_wins() -> None:
    given = {"seed": 1, "model": {"dim": 3, "name": "hype"}}
    changes = map(change_of, ("seed=2", "model.dim=4", "model.dim=5"))
    assert merged(given, *changes) == {"seed": 2, "model": {"dim": 5, "name": "hype"}}
    assert given == {"seed": 1, "model": {"dim": 3, "name": "hype"}}


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        ("seed", "bad-option-form", "'seed'"),
        ("", "bad-option-form", "''"),
        ("seed.x=3", "not-a-section", "seed"),
        ("model.dim.x=3", "not-a-section", "model.dim"),
        ("se\ned=3", "unknown-setting", "'se\\ned'"),
        ("model.di\x1bm=3", "unknown-setting", "model.'di\\x1bm'"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(change: str, code: str, place: str) -> None:
    with mistake(code, place=place):
        merged({"seed": 1, "model": {"dim": 3}}, change_of(change))


def test_a_recipe_is_where_a_spec_begins() -> None:
    paper = Spec.from_dict({"data": "example", "recipe": "paper", "training": {"learning_rate": 0.05}})
    assert paper.training.negative_sampling == "per-fact"
    assert (paper.training.batch_size, paper.training.num_negatives, paper.training.learning_rate) == (128, 10, 0.05)
    assert Spec.from_dict({"data": "example", "recipe": "fast"}) == Spec.from_dict({"data": "example"}) == Spec("example")
    assert Spec.from_dict(paper.to_dict()) == paper
    hype = Spec.from_dict({"data": "example", "recipe": "paper", "model": {"name": "hype"}})
    assert hype.training.batch_size == 128


@pytest.mark.parametrize("recipe", ["slow", 3, ["fast"], {"dim": 40}, {"model": {"x": 1}, "training": {}}])
def test_an_unknown_recipe_is_refused(recipe: object) -> None:
    with mistake("setting-out-of-range"):
        Spec.from_dict({"data": "example", "recipe": recipe})


def spec_of(**given: Any) -> Spec:
    return Spec.from_dict({"data": "example", **given})


def test_settings_can_be_tables_or_given_by_name_alone() -> None:
    assert Spec("example", training={"epochs": 3}) == spec_of(training={"epochs": 3})
    assert Spec("example", model={"dim": 20}) == spec_of(model={"name": "reale", "dim": 20})
    assert Spec("example", model={"name": "hype", "dim": 20}) == spec_of(model={"name": "hype", "dim": 20})
    assert (
        Spec("example", "hype", {"dim": 20})
        == Spec("example", model="hype", settings={"dim": 20})
        == Spec("example", "hype", dim=20)
    )
    assert Spec("example", training={"epochs": 3}, recipe="paper") == spec_of(training={"epochs": 3}, recipe="paper")
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
    assert MODELS[written] is MODELS[name]


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
