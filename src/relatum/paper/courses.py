"""The courses of training that figures can be drawn from."""

from __future__ import annotations

from collections.abc import Sequence

from relatum.models import MODELS
from relatum.runs.collected import Point, Result, best_of_systems

__all__ = ["courses_of"]


def courses_of(data: str, results: Sequence[Result]) -> tuple[dict[str, list[list[Point]]], tuple[str, ...]]:
    """Return the validations of each run of each system's best result, by model, and which systems have none and why."""
    systems = best_of_systems(results, data)
    found = {model: one.courses for model, one in systems.items() if all(one.courses)}
    left_out = [f"{MODELS[model].title}: {systems[model].name} does not tell the course of training" for model in systems
                if model not in found]  # fmt: skip
    return found, tuple(left_out)
