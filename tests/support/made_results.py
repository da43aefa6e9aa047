"""Files of results, made for tests: only as much in them as is asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HITS = {"hits@1": 0.1, "hits@3": 0.2, "hits@10": 0.3, "mrr_pessimistic": 0.4}


def write_result(
    folder: Path,
    name: str,
    data: str,
    model: str,
    mrr: Sequence[float],
    *,
    valid: float = 0.5,
    course: Sequence[tuple[int, float, float]] | None = None,
    settings: dict[str, Any] | None = None,
    **test: Any,
) -> None:
    """Write `NAME.json` with a run for each test MRR, of seeds from 0 up; what else is given is part of the test."""
    runs: list[dict[str, Any]] = [
        {"seed": seed, "minutes_of_training": 2.0, "valid": {"mrr": valid}, "test": {"mrr": value, **HITS, **test}}
        for seed, value in enumerate(mrr)
    ]
    for run in runs:
        if course is not None:
            run["course"] = [{"epoch": epoch, "seconds": time, "valid_mrr": score} for epoch, time, score in course]
    spec = {"data": data, "seed": None, "model": {"name": model, **(settings or {})}}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({"spec": spec, "runs": runs, "trained_on": "a machine"}))


def parts(**mrr: float) -> dict[str, dict[str, float]]:
    """Return metrics of parts, by name without a leading underscore."""
    return {name.lstrip("_"): {"mrr": value, "questions": 10} for name, value in mrr.items()}
