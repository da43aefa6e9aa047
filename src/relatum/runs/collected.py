"""Results read back: from the files that `relatum run --results` writes, and from run directories."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from relatum.errors import DataError
from relatum.models import MODELS
from relatum.runs.datasets import FORMAT
from relatum.runs.directory import SPEC
from relatum.runs.results import collect
from relatum.runs.spec import Spec
from relatum.setting_names import modern

__all__ = ["Collected", "Point", "Result", "best", "best_of_systems", "read_results"]


@dataclass(frozen=True)
class Point:
    """A validation: after how many epochs and seconds, and its MRR."""

    epoch: int
    seconds: float
    mrr: float


@dataclass(frozen=True)
class Result:
    """The collected runs of one experiment, which differ in their seed alone."""

    name: str
    spec: dict[str, Any]
    runs: list[dict[str, Any]]
    checksums: dict[str, str] = field(default_factory=dict)
    trained_on: str = ""

    @property
    def data(self) -> str:
        """What was learned from."""
        return str(self.spec["data"])

    @property
    def model(self) -> str:
        """What learned."""
        return str(self.spec["model"]["name"])

    @property
    def valid(self) -> float:
        """The mean validation MRR, by which results of one model on one dataset are chosen."""
        found = [run["valid"]["mrr"] for run in self.runs if run["valid"]]
        return float(np.mean(found)) if found else 0.0

    @property
    def courses(self) -> list[list[Point]]:
        """The validations of each run; none of a run of which they were not kept."""
        kept = ([(one["epoch"], one["seconds"], one["valid_mrr"]) for one in run.get("course", ())] for run in self.runs)
        return [[Point(int(epoch), float(seconds), float(mrr)) for epoch, seconds, mrr in course] for course in kept]

    def values(self, *path: str) -> list[float]:
        """Return a value of the test, of each run; nothing if a run has none."""
        found: list[Any] = [run["test"] for run in self.runs]
        for key in path:
            found = [value.get(key) if isinstance(value, dict) else None for value in found]
        return [float(value) for value in found] if all(isinstance(value, float | int) for value in found) else []

    def mean(self, *path: str) -> float | None:
        """Return the mean over runs of a value of the test, or None if a run has none."""
        found = self.values(*path)
        return float(np.mean(found)) if found else None

    def spread(self, *path: str) -> float | None:
        """Return the standard deviation over runs of a value of the test, or None of fewer than two."""
        found = self.values(*path)
        return float(np.std(found, ddof=1)) if len(found) > 1 else None


@dataclass(frozen=True)
class Collected:
    """All that was read: results, the sizes of datasets by name, and which runs were passed over."""

    results: tuple[Result, ...] = ()
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)
    unfinished: tuple[Path, ...] = ()


def best(results: Iterable[Result]) -> Result | None:
    """Return the one with the highest validation MRR: which of several settings counts is never chosen on test facts.

    Of results with the same settings only the one with the most seeds counts, so that no single seed stands for them.
    """
    fullest: dict[str, Result] = {}
    for one in sorted(results, key=lambda one: (len(one.runs), one.valid)):
        fullest[_settings(one.spec)] = one
    return max(fullest.values(), key=lambda one: one.valid, default=None)


def best_of_systems(results: Sequence[Result], data: str) -> dict[str, Result]:
    """Return the best result of each system on a dataset, by model, in the paper's order."""
    found = {model: best(one for one in results if (one.data, one.model) == (data, model)) for model in MODELS}
    return {model: one for model, one in found.items() if one is not None}


def read_results(*places: Path) -> Collected:
    """Return what is in places: files of results, run directories, and folders of either.

    Files of a folder that hold something else are passed over, and so are its runs that have not ended.
    """
    results: list[Result] = []
    datasets: dict[str, dict[str, Any]] = {}
    runs: list[Path] = []
    unfinished: list[Path] = []
    for place in places:
        if (place / SPEC).exists():
            runs.append(place)
            continue
        if not place.exists():
            raise DataError(f"{place}: no such file or folder of results")
        for path in sorted(place.iterdir()) if place.is_dir() else [place]:
            if (path / SPEC).exists():
                (runs if (path / "config.json").exists() else unfinished).append(path)
            elif path.suffix == ".json" and path.is_file():
                whole = _json(path)
                if _are_results(whole):
                    results.append(_checked(path, whole))
                elif isinstance(whole, dict) and whole.get("format") == FORMAT:
                    datasets |= _checked_sizes(path, whole)
    results += [_result(group[0].name, collect(group)) for group in _alike(runs)]
    return Collected(tuple(results), datasets, tuple(unfinished))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise DataError(f"{path}: not valid JSON") from None


def _are_results(whole: Any) -> bool:
    return isinstance(whole, dict) and {"spec", "runs"} <= whole.keys() and isinstance(whole["runs"], list)


def _result(name: str, whole: dict[str, Any]) -> Result:
    checksums = whole.get("provenance", {}).get("checksums", {})
    return Result(name, modern(whole["spec"], notice=False), whole["runs"], checksums, str(whole.get("trained_on", "")))


def _checked(path: Path, whole: dict[str, Any]) -> Result:
    """Return results whose every number that is used later has been looked at once."""
    try:
        result = _result(path.stem, whole)
        numbers = [result.valid, *result.values("mrr"), *(run["minutes_of_training"] for run in result.runs)]
        numbers += [point.mrr + point.seconds for course in result.courses for point in course]
        sound = bool(result.runs and result.data and result.model) and all(map(math.isfinite, numbers))
        sound = sound and all(type(run["seed"]) is int for run in result.runs) and bool(result.values("mrr"))
    except (AttributeError, KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise DataError(f"{path}: looks like results but is none that `relatum run --results` would write")
    return result


def _checked_sizes(path: Path, whole: dict[str, Any]) -> dict[str, dict[str, Any]]:
    try:
        sizes = dict(whole["datasets"])
        counts = [one[key] for one in sizes.values() for key in ("entities", "relations", "train", "valid", "test")]
        counts += [count for one in sizes.values() for count in one["arity"].values()]
        sound = all(type(count) is int for count in counts)
    except (AttributeError, KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise DataError(f"{path}: looks like the sizes of datasets but is not; make it anew: python runs/datasets.py")
    return sizes


def _alike(folders: Sequence[Path]) -> list[list[Path]]:
    """Return runs that differ in their seed alone together, in their order."""
    groups: dict[str, list[Path]] = {}
    for folder in dict.fromkeys(folders):
        groups.setdefault(_settings(Spec.of_run(folder / SPEC).to_dict()), []).append(folder)
    return list(groups.values())


def _settings(spec: dict[str, Any]) -> str:
    """Return a text that specs have in common which differ in their seed alone."""
    return json.dumps({**spec, "seed": None}, sort_keys=True)
