"""Other libraries' words for settings point to ours."""

from __future__ import annotations

import dataclasses

import pytest

from relatum.models import MODELS
from relatum.runs.spec import Spec
from relatum.settings import SYNONYMS, unknown_setting
from relatum.training.settings import TrainingSettings
from support.mistakes import mistake


@pytest.mark.parametrize(
    ("table", "name", "meant"),
    [
        ("training", "lr", "learning_rate"),
        ("training", "n_epochs", "epochs"),
        ("training", "neg_samples", "num_negatives"),
        ("training", "negative_ratio", "num_negatives"),
        ("training", "embedding_dim", "model.dim"),
        ("training", "rat", "learning_rate"),
        ("model", "embedding_size", "dim"),
        ("model", "lr", "training.learning_rate"),
        ("model", "dropout", "input_dropout or window_dropout"),
    ],
)
def test_the_words_of_other_libraries_point_to_ours(table: str, name: str, meant: str) -> None:
    with mistake("unknown-setting", place=f"{table}.{name}", nearest=tuple(meant.split(" or "))):
        Spec.from_dict({"data": "example", table: {name: 1}})


def test_synonyms_point_to_settings_that_are_there() -> None:
    names = {each.name for kind in MODELS.values() for each in dataclasses.fields(kind.settings_type)}
    names |= {each.name for each in dataclasses.fields(TrainingSettings)} | {"data", "seed"}
    assert {meant for words in SYNONYMS.values() for meant in words} <= names
    assert unknown_setting("model.zzzzzzz", "zzzzzzz", ["a", "b"]).remedy == "known: a, b"
