"""Training settings that cannot be are refused with their path."""

from __future__ import annotations

import dataclasses
import math

import pytest

from relatum.training.settings import (
    NEGATIVE_SAMPLING,
    OBJECTIVES,
    ROWS,
    SCHEDULES,
    TrainingSettings,
)
from support.mistakes import mistake


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("rows", "triples", "must be facts or questions"),
        ("objective", "kvsall", "must be 1vsAll or KvsAll"),
        ("answer_damping", -0.1, "at least 0 and at most 1"),
        ("answer_damping", 1.1, "at least 0 and at most 1"),
        ("negative_sampling", "some", "must be one of shared, per-fact, all-entities"),
        ("learning_rate_schedule", "step", "must be one of constant, linear, cosine"),
        ("epochs", 0, "at least 1"),
        ("batch_size", 0, "at least 1"),
        ("batches_per_step", 0, "at least 1"),
        ("num_negatives", 0, "at least 1"),
        ("validate_every", 0, "at least 1"),
        ("weight_decay", -0.1, "at least 0"),
        ("patience", -1, "at least 0"),
        ("learning_rate", 0.0, "above 0"),
        ("learning_rate", -0.5, "above 0"),
        ("learning_rate", math.nan, "a finite number"),
        ("label_smoothing", -0.1, "at least 0 and below 1"),
        ("label_smoothing", 1.0, "at least 0 and below 1"),
        ("label_smoothing", math.nan, "a finite number"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_path(name: str, value: object, reason: str) -> None:
    with mistake("setting-out-of-range", place=f"training.{name}") as caught:
        TrainingSettings(**{name: value})  # type: ignore[arg-type]
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("rows", ROWS),
        ("negative_sampling", NEGATIVE_SAMPLING),
        ("learning_rate_schedule", SCHEDULES),
        ("epochs", (1,)),
        ("batch_size", (1,)),
        ("batches_per_step", (1,)),
        ("num_negatives", (1,)),
        ("validate_every", (1,)),
        ("weight_decay", (0.0,)),
        ("patience", (0,)),
        ("learning_rate", (1e-9,)),
        ("label_smoothing", (0.0, 0.99)),
    ],
)
def test_what_can_be_is_taken_up_to_its_bounds(name: str, values: tuple[object, ...]) -> None:
    for value in values:
        assert getattr(TrainingSettings(**{name: value}), name) == value  # type: ignore[arg-type]


def test_the_settings_of_questions_are_taken_up_to_their_bounds() -> None:
    for objective in OBJECTIVES:
        for damping in (0.0, 1.0):
            TrainingSettings(rows="questions", objective=objective, answer_damping=damping)


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"objective": "KvsAll"}, "training.objective"),
        ({"answer_damping": 0.5}, "training.answer_damping"),
        ({"rows": "questions", "negative_sampling": "per-fact"}, "training.negative_sampling"),
    ],
)
def test_settings_that_contradict_each_other_are_refused_in_one_line(settings: dict[str, object], place: str) -> None:
    with mistake("setting-out-of-range", place=place):
        TrainingSettings(**settings)  # type: ignore[arg-type]


def test_the_defaults_can_be_and_cannot_be_changed() -> None:
    settings = TrainingSettings()
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.epochs = 3  # type: ignore[misc]
