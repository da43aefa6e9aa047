"""Settings are checked strictly whenever they are built, and the words of other libraries point to ours."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pytest

from relatum.models import MODELS
from relatum.runs.spec import Spec
from relatum.settings import SYNONYMS, Checked, change_of, rules_of, setting, unknown_setting, whole_number
from relatum.synth import SynthSettings
from relatum.tables.options import ImportOptions
from relatum.training.settings import TrainingSettings
from support.mistakes import mistake


@dataclasses.dataclass(frozen=True)
class Oven(Checked, path="oven"):
    """Settings of many types."""

    shelves: int = setting(2, "how many shelves", ge=1, le=4)
    heat: float = setting(0.5, "the share of full heat", ge=0, lt=1)
    fan: bool = setting(False, "whether the fan runs")
    mode: str = setting("bake", "what it does", choices=("bake", "grill", "steam"))
    door: Literal["open", "shut"] = setting("shut", "the door")
    limit: float | None = setting(None, "minutes, at most", gt=0)
    labels: Mapping[str, int] = setting({}, "left to the class")


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"shelves": 0}, "at least 1 and at most 4"),
        ({"shelves": 3.0}, "a whole number"),
        ({"shelves": True}, "a whole number"),
        ({"shelves": "3"}, "a whole number"),
        ({"heat": 1}, "at least 0 and below 1"),
        ({"heat": math.nan}, "a finite number"),
        ({"heat": False}, "a number"),
        ({"heat": 10**400}, "too large a number"),
        ({"fan": 1}, "true or false"),
        ({"mode": "boil"}, "one of bake, grill, steam"),
        ({"door": "ajar"}, "open or shut"),
        ({"limit": 0.0}, "above 0"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_sentence(given: dict[str, Any], rule: str) -> None:
    with mistake(
        "unreadable-value" if "large" in rule else "setting-out-of-range", place=f"oven.{next(iter(given))}"
    ) as caught:
        Oven(**given)
    assert rule in caught.value.reason


def test_numbers_become_what_their_type_says_and_defaults_are_not_shared() -> None:
    oven = Oven(shelves=np.int64(3), heat=0, limit=np.float32(2))  # type: ignore[arg-type]
    assert (type(oven.shelves), type(oven.heat), type(oven.limit)) == (int, float, float)
    assert oven == Oven(shelves=3, heat=0.0, limit=2.0)
    assert Oven().labels == {}
    assert Oven().labels is not Oven().labels


@pytest.mark.parametrize(
    "kind",
    [TrainingSettings, SynthSettings, ImportOptions, *(model.settings_type for model in MODELS.values())],
    ids=lambda kind: kind.__name__,
)
def test_every_setting_says_what_it_means(kind: type[Any]) -> None:
    assert rules_of(kind).keys() == {each.name for each in dataclasses.fields(kind)}
    for name, rule in rules_of(kind).items():
        assert rule.help, name
        assert not rule.help.endswith("."), name


@pytest.mark.parametrize("value", [0, True])
def test_a_whole_number_that_a_caller_gives_is_checked_like_a_setting(value: object) -> None:
    assert whole_number("k", np.int32(3)) == 3
    with mistake("setting-out-of-range", place="k"):
        whole_number("k", value)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("training.epochs=" + "9" * 5000, "unreadable-value"),
        ("training.epochs=" + "[" * 100_000, "unreadable-value"),
        (f"model{'.a' * 5000}=1", "unknown-setting"),
    ],
    ids=["number", "lists", "tables"],
)
def test_a_change_without_end_is_refused_in_one_sentence(change: str, code: str) -> None:
    with mistake(code):
        change_of(change)


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
