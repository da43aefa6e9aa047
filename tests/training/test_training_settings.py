"""Training settings that cannot be are refused with their path."""

from __future__ import annotations

import dataclasses
import math

import pytest

from relatum.errors import SettingError
from relatum.training.settings import CANDIDATES, LOSSES, OPTIMIZERS, SCHEDULES, TrainingSettings


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("candidates", "some", "must be one of shared, per-position, all"),
        ("loss", "hinge", "must be one of softmax, margin, softplus"),
        ("optimizer", "sgd", "must be one of adagrad, adam"),
        ("schedule", "step", "must be one of constant, linear, cosine"),
        ("epochs", 0, "must be at least 1"),
        ("batch", 0, "must be at least 1"),
        ("groups", 0, "must be at least 1"),
        ("negatives", 0, "must be at least 1"),
        ("validate_every", 0, "must be at least 1"),
        ("weight_decay", -0.1, "must not be negative"),
        ("patience", -1, "must not be negative"),
        ("rate_end", -0.1, "must not be negative"),
        ("margin", -1.0, "must not be negative"),
        ("rate", 0.0, "must be above 0"),
        ("rate", -0.5, "must be above 0"),
        ("rate", math.nan, "must be above 0"),
        ("label_smoothing", -0.1, "must be at least 0 and below 1"),
        ("label_smoothing", 1.0, "must be at least 0 and below 1"),
        ("label_smoothing", math.nan, "must be at least 0 and below 1"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_path(name: str, value: object, reason: str) -> None:
    with pytest.raises(SettingError) as caught:
        TrainingSettings(**{name: value})  # type: ignore[arg-type]
    assert str(caught.value) == f"training.{name}: {reason}"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("candidates", CANDIDATES),
        ("loss", LOSSES),
        ("optimizer", OPTIMIZERS),
        ("schedule", SCHEDULES),
        ("epochs", (1,)),
        ("batch", (1,)),
        ("groups", (1,)),
        ("negatives", (1,)),
        ("validate_every", (1,)),
        ("weight_decay", (0.0,)),
        ("patience", (0,)),
        ("rate_end", (0.0, 1.0)),
        ("margin", (0.0,)),
        ("rate", (1e-9,)),
        ("label_smoothing", (0.0, 0.99)),
    ],
)
def test_what_can_be_is_taken_up_to_its_bounds(name: str, values: tuple[object, ...]) -> None:
    for value in values:
        assert getattr(TrainingSettings(**{name: value}), name) == value  # type: ignore[arg-type]


def test_the_defaults_can_be_and_cannot_be_changed() -> None:
    settings = TrainingSettings()
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.epochs = 3  # type: ignore[misc]
