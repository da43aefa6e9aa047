"""Old names of settings are still read, with a notice to the person who wrote them; other libraries' words point to ours."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from relatum.errors import RelatumWarning, SettingError
from relatum.models import MODELS
from relatum.runs.spec import Spec, merged
from relatum.setting_names import SYNONYMS, hint, modern, old_names, old_spelling, written
from relatum.settings import change_of
from relatum.training.settings import TrainingSettings

OLD: dict[str, Any] = {
    "data": "example",
    "seed": 3,
    "model": {"name": "hype", "dim": 10, "filters": 4, "width": 2, "stride": 2},
    "training": {
        **{"epochs": 7, "batch": 9, "groups": 2, "candidates": "per-position", "negatives": 5, "near": 0.5},
        **{"rate": 0.25, "schedule": "linear", "average": 0.9},
    },
}
NEW: dict[str, Any] = {
    "data": "example",
    "seed": 3,
    "model": {"name": "hype", "dim": 10, "num_filters": 4, "filter_width": 2, "stride": 2},
    "training": {
        **{"epochs": 7, "batch_size": 9, "batches_per_step": 2, "negative_sampling": "per-fact", "num_negatives": 5},
        **{"in_relation_share": 0.5, "learning_rate": 0.25, "learning_rate_schedule": "linear"},
        **{"ema_decay": 0.9},
    },
}


def test_old_names_and_values_become_new_ones_and_back() -> None:
    assert modern(OLD, notice=False) == NEW
    assert modern(NEW) == NEW
    assert old_spelling(NEW) == OLD
    assert modern({"training": {"candidates": "all"}}, notice=False) == {"training": {"negative_sampling": "all-entities"}}


@pytest.mark.parametrize("model", MODELS)
def test_every_new_name_is_a_setting_and_no_old_one_is(model: str) -> None:
    for table, kind in (("model", MODELS[model].settings_type), ("training", TrainingSettings)):
        names = {each.name for each in dataclasses.fields(kind)}
        assert set(old_names(table, model).values()) <= names
        assert not names & old_names(table, model).keys()


@pytest.mark.parametrize("model", MODELS)
def test_a_whole_spec_survives_its_old_spelling(model: str) -> None:
    spec = Spec("example", model, negative_sampling="all-entities")
    old = old_spelling(spec.to_dict())
    assert {"rate", "batch", "candidates"} <= old["training"].keys()
    assert old["training"]["candidates"] == "all"
    assert Spec.from_dict(old, notice=False) == spec


def test_a_spec_that_relatum_wrote_means_what_was_done_before_a_setting_was_added(tmp_path: Path) -> None:
    old = {"data": "example", "model": {"name": "reale"}, "training": {"rate": 0.25}}
    added = {"rows": "facts", "objective": "1vsAll", "answer_damping": 0.0, "validation_metric": "mrr"}
    added |= {"refit": False, "evidence": False, "entity_storage": "float32", "share_roles": False}
    assert written(old) == {
        "data": "example",
        "model": {"name": "reale", "dropout_block": 1},
        "training": {"learning_rate": 0.25, **added},
    }
    assert "dropout_block" not in written({"model": {"name": "hype"}})["model"]
    constraints = {"unit_entities": False, "orthogonal_translations": False}
    for name in ("m-transh", "rae"):
        assert written({"model": {"name": name}})["model"] == {"name": name, **constraints}
        assert old_spelling({"training": {}, "model": {"name": name, **constraints}})["model"] == {"name": name}
    assert written({"training": {"rows": "questions"}})["training"] == {**added, "rows": "questions"}
    (tmp_path / "spec.toml").write_text('data = "example"\n[training]\nrows = "questions"\n')
    assert Spec.of_run(tmp_path / "spec.toml").training.rows == "questions"


def test_settings_that_were_added_leave_the_names_of_older_run_directories_as_they_are() -> None:
    younger = {"rows", "objective", "answer_damping", "refit", "dropout_block"}
    old = old_spelling(Spec("example", rows="facts").to_dict())
    assert not younger & (old["training"].keys() | old["model"].keys())
    changed = old_spelling(Spec("example", rows="questions", dropout_block=8).to_dict())
    assert (changed["training"].pop("rows"), changed["model"].pop("dropout_block")) == ("questions", 8)
    assert changed == old


def test_what_a_person_writes_under_an_old_name_works_with_a_notice() -> None:
    with pytest.warns(RelatumWarning, match=r"^training\.rate is now called training\.learning_rate$"):
        assert Spec.from_dict({"data": "example", "training": {"rate": 0.1}}).training.learning_rate == 0.1
    with pytest.warns(RelatumWarning, match=r"^model\.filters is now called model\.num_filters$"):
        assert Spec("example", "HypE", filters=3) == Spec("example", "hype", num_filters=3)
    with pytest.warns(RelatumWarning, match=r"^training\.negative_sampling = per-position is now called per-fact$"):
        Spec("example", negative_sampling="per-position")


def test_a_change_under_an_old_name_is_made_to_the_new_one() -> None:
    with pytest.warns(RelatumWarning, match=r"model\.width is now called model\.filter_width"):
        found = merged(NEW, change_of("model.width=1"))
    assert found["model"]["filter_width"] == 1
    assert "width" not in found["model"]


def test_an_old_name_and_its_new_one_together_are_refused() -> None:
    with pytest.raises(
        SettingError, match=r"^training\.rate: is the old name of training\.learning_rate, which is given, too$"
    ):
        Spec.from_dict({"data": "example", "training": {"rate": 0.1, "learning_rate": 0.2}})


def test_a_name_is_old_only_for_the_model_that_had_it() -> None:
    assert modern({"model": {"name": "mine", "layers": 3}}) == {"model": {"name": "mine", "layers": 3}}


def test_what_relatum_wrote_itself_is_read_in_silence(tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text('data = "example"\n[training]\nrate = 0.25\ncandidates = "all"\n')
    spec = Spec.of_run(tmp_path / "spec.toml")
    assert (spec.training.learning_rate, spec.training.negative_sampling) == (0.25, "all-entities")
    with pytest.warns(RelatumWarning):
        read = Spec.read(tmp_path / "spec.toml")
    # What an older version wrote was trained by fact, which it had no name for; a person's file begins from the recipe.
    assert (spec.training.rows, read.training.rows) == ("facts", "questions")
    assert Spec(read.data, spec=read, rows="facts") == spec


@pytest.mark.parametrize(
    ("table", "name", "meant"),
    [
        ("training", "lr", "learning_rate"),
        ("training", "LR", "learning_rate"),
        ("training", "n_epochs", "epochs"),
        ("training", "num-epochs", "epochs"),
        ("training", "neg_samples", "num_negatives"),
        ("training", "negative_ratio", "num_negatives"),
        ("training", "embedding_dim", "model.dim"),
        ("training", "dim", "model.dim"),
        ("training", "rat", "learning_rate"),
        ("model", "embedding_size", "dim"),
        ("model", "hidden_dim", "dim"),
        ("model", "lr", "training.learning_rate"),
        ("model", "dropout", "input_dropout or window_dropout"),
    ],
)
def test_the_words_of_other_libraries_point_to_ours(table: str, name: str, meant: str) -> None:
    with pytest.raises(SettingError) as caught:
        Spec.from_dict({"data": "example", table: {name: 1}})
    assert str(caught.value) == f"{table}.{name}: no such setting; did you mean {meant}?"


def test_synonyms_point_to_settings_that_are_there() -> None:
    names = {each.name for kind in MODELS.values() for each in dataclasses.fields(kind.settings_type)}
    names |= {each.name for each in dataclasses.fields(TrainingSettings)} | {"data", "seed"}
    assert {meant for words in SYNONYMS.values() for meant in words} <= names
    assert hint("zzzzzzz", ["a", "b"]) == "; known: a, b"


def test_a_model_saved_under_old_names_is_read(tmp_path: Path) -> None:
    from relatum.models.store import load_model, save_model
    from support.made_models import made_case

    case = made_case("nalp")
    save_model(tmp_path, case.model, case.parameters())
    config = json.loads((tmp_path / "config.json").read_text())
    config["settings"] = {"dim": 8, "input_dropout": 0.0, "filters": 7, "hidden": 5}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert load_model(tmp_path)[0].settings == case.model.settings
