"""Settings of training and of models are taken up to their bounds, and beyond these refused with their path."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from relatum.models import MODELS
from relatum.settings import Rule, rules_of
from relatum.training.settings import TrainingSettings
from support.mistakes import mistake

KINDS: dict[str, type[Any]] = {"training": TrainingSettings, **{name: kind.settings_type for name, kind in MODELS.items()}}
SETTINGS = {f"{kind}.{name}": (cls, name, rule) for kind, cls in KINDS.items() for name, rule in rules_of(cls).items()}
# What the rule of one setting alone does not say: the others that a bound is taken with.
BESIDE: dict[str, dict[str, Any]] = {
    "objective": {"rows": "questions"},
    "answer_damping": {"rows": "questions"},
    "dim": {"window": 1, "filter_width": 1},
}


def beyond(rule: Rule) -> list[object]:
    """Return values next to what a rule allows, and such of other types."""
    if rule.choices:
        return ["some", rule.choices[0].swapcase()]
    if bool in rule.types:
        return ["yes"]
    step = 1 if int in rule.types else 1e-9
    edges = (rule.gt, rule.lt, None if rule.ge is None else rule.ge - step, None if rule.le is None else rule.le + step)
    return [*(edge for edge in edges if edge is not None), math.nan, "1"]


def bounds(rule: Rule) -> list[object]:
    """Return the outermost values that a rule allows."""
    found: list[object] = [*rule.choices, rule.default]
    step = 1 if int in rule.types else 1e-9
    edges = (rule.ge, rule.le, None if rule.gt is None else rule.gt + step, None if rule.lt is None else rule.lt - step)
    return [*found, *(int(edge) if int in rule.types else edge for edge in edges if edge is not None)]


def made(cls: type[Any], name: str, value: object) -> Any:
    names = {field.name for field in dataclasses.fields(cls)}
    beside = {other: one for other, one in BESIDE.get(name, {}).items() if other in names}
    return cls(**{**beside, name: value})


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_is_taken_up_to_its_bounds_and_refused_beyond_with_its_path(setting: str) -> None:
    cls, name, rule = SETTINGS[setting]
    for value in bounds(rule):
        assert getattr(made(cls, name, value), name) == value
    for value in beyond(rule):
        with mistake("setting-out-of-range", place=f"{'training' if cls is TrainingSettings else 'model'}.{name}"):
            made(cls, name, value)


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
