"""What finished runs reached, as plain data with provenance: the files under `results/`."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relatum.errors import RelatumError
from relatum.files import atomic_file
from relatum.inference.breakdown import SIZE, breakdown, macro_mrr
from relatum.inference.interval import mrr_interval
from relatum.runs.course import read_course
from relatum.runs.directory import JOURNAL, SPEC
from relatum.runs.provenance import read_provenance
from relatum.runs.run import Run
from relatum.runs.spec import Spec

__all__ = ["collect", "result_of", "save_results"]


def collect(folders: Sequence[Path]) -> dict[str, Any]:
    """Return the results of runs that differ in their seed alone: what each reached, and mean and spread of the test MRR."""
    specs = [{**Spec.of_run(folder / SPEC).to_dict(), "seed": None} for folder in folders]
    for folder, spec in zip(folders, specs, strict=True):
        if spec != specs[0]:
            raise RelatumError(f"{folder}: differs from {folders[0]} in more than its seed")
    runs = sorted((result_of(folder) for folder in folders), key=lambda found: found["seed"])
    mrr = [found["test"]["mrr"] for found in runs]
    return {
        "spec": specs[0],
        "provenance": read_provenance(folders[0]),
        "trained_on": _trained_on([read_provenance(folder) for folder in folders]),
        "test_mrr": {"mean": float(np.mean(mrr)), "spread": float(np.std(mrr, ddof=1)) if len(mrr) > 1 else None},
        "runs": runs,
    }


def _trained_on(provenances: Sequence[dict[str, Any]]) -> str:
    """Return the machine and the number of threads that runs were trained with, if all say so and agree; else nothing."""
    found = {f"{one.get('machine')}, threads: {one['threads']}" if "threads" in one else "" for one in provenances}
    return found.pop() if len(found) == 1 else ""


def save_results(path: Path, results: dict[str, Any]) -> None:
    """Write results as JSON, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as file:
        file.write((json.dumps(results, indent=1) + "\n").encode())


def result_of(folder: Path) -> dict[str, Any]:
    """Return what one run reached on its test facts, and how."""
    run, course = Run(folder), read_course(folder / JOURNAL)
    began = time.perf_counter()
    ranks = run.evaluate("test")
    evaluation = time.perf_counter() - began
    trust = run.reliability("test")
    schema, origins = run.model.schema, run.split.origins
    keys = ("arity", "operation", "depth") if origins else ("arity",)
    parts = {f"by_{key}": breakdown(ranks, key, schema, origins) for key in keys}
    parts["by_relation_size"] = breakdown(ranks, SIZE, schema, train=run.split.train)
    return {
        "seed": Spec.of_run(folder / SPEC).seed,
        "minutes_of_training": round(course.seconds / 60, 2),
        "interruptions": course.sessions - 1,
        "seconds_of_evaluation": round(evaluation, 2),
        "epochs": course.epochs,
        "best_epoch": course.epochs if course.best is None else course.best.epoch,
        "course": [
            {"epoch": moment.epoch, "seconds": round(moment.seconds, 1), "valid_mrr": moment.value}
            for moment in course.scores
        ],
        "valid": None if course.best is None else {"mrr": course.best.value, "filter": "train and valid"},
        "test": {
            **ranks.metrics.to_json(),
            "mrr_interval": mrr_interval(ranks),
            "mrr_macro": {key: macro_mrr(breakdown(ranks, key, schema)) for key in ("arity", "relation")},
            **{key: {name: part.to_json() for name, part in found.items()} for key, found in parts.items()},
            "filter": "train, valid and test",
        },
        "calibration": None if trust is None else trust.to_json(),
    }
