"""Results of experiments: collected, saved, read back and chosen."""

from __future__ import annotations

import copy
import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from relatum.closed_folders import close_folder
from relatum.data.hypergraph import Split
from relatum.data.quality import describe
from relatum.datasets.load import load
from relatum.errors import DataError, RelatumError
from relatum.files import parse_json, read_whole, write_bytes
from relatum.inference.evaluation import SIZE
from relatum.inference.validation import validator
from relatum.models import MODELS
from relatum.runs.directory import SPEC, read_environment
from relatum.runs.journal import HistoryPoint
from relatum.runs.probabilities import reliability_of
from relatum.runs.spec import Spec
from relatum.runs.trained import Trained
from relatum.version import __version__


def collect(folders: Sequence[Path]) -> dict[str, Any]:
    """Return the results of runs that differ in their seed alone: what each reached, and mean and spread of the test MRR."""
    specs = [{**Spec.of_run(folder / SPEC).to_dict(), "seed": None} for folder in folders]
    for folder, spec in zip(folders, specs, strict=True):
        if spec != specs[0]:
            raise RelatumError("runs-not-alike", f"differs from {folders[0]} in more than its seed", place=folder)
    runs = sorted((result_of(folder) for folder in folders), key=lambda found: found["seed"])
    mrr = [found["test"]["mrr"] for found in runs]
    return {
        "spec": specs[0],
        "provenance": read_environment(folders[0]),
        "trained_on": _trained_on([read_environment(folder) for folder in folders]),
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
    close_folder(path, within=path.parent)
    write_bytes(path, (json.dumps(results, indent=1) + "\n").encode())


def result_of(folder: Path) -> dict[str, Any]:
    """Return what one run reached on its test facts, and how."""
    run = Trained.load(folder)
    history = run.history
    began = time.perf_counter()
    tested = run.evaluate("test")
    seconds = time.perf_counter() - began
    reliability = reliability_of(run, "test")
    keys = ("arity", "operation", "depth") if tested.derivations else ("arity",)
    parts = {**{f"by_{key}": tested.by(key) for key in keys}, "by_relation_size": tested.by(SIZE)}
    members, metric = run.environment.get("ensemble", []), run.spec.training.validation_metric
    minutes = sum(one["minutes_of_training"] for one in members) if members else history.seconds / 60
    return {
        "seed": run.spec.seed,
        **({"ensemble": members} if members else {}),
        "minutes_of_training": round(minutes, 2),
        "interruptions": history.sessions - 1,
        "seconds_of_evaluation": round(seconds, 2),
        "epochs": history.epochs,
        "best_epoch": history.epochs if history.best is None else history.best.epoch,
        "course": [
            {"epoch": point.epoch, "seconds": round(point.seconds, 1), **_validated(point, metric)}
            for point in history.scores
        ],
        "valid": None if history.best is None else {**_valid(run, history.best), "filter": "train and valid"},
        "test": {
            **tested.to_dict(),
            "mrr_macro": {key: tested.macro_mrr(key) for key in ("arity", "relation")},
            **{key: {one.part: one.metrics.to_json() for one in found} for key, found in parts.items()},
            "filter": "train, valid and test",
        },
        "calibration": None if reliability is None else reliability.to_json(),
    }


def _validated(point: HistoryPoint, metric: str) -> dict[str, float]:
    """Return what a validation found; a journal may tell of another metric alone."""
    if metric == "mrr":
        return {"valid_mrr": point.value}
    other = f"valid_{metric.replace('-', '_')}"
    return {other: point.value} if point.decisive is None else {other: point.decisive, "valid_mrr": point.value}


def _valid(run: Trained, best: HistoryPoint) -> dict[str, float]:
    """Return how good the parameters that were kept are on validation facts: by MRR, and by what chose them."""
    metric = run.spec.training.validation_metric
    found = {name.removeprefix("valid_"): value for name, value in _validated(best, metric).items()}
    if "mrr" in found:
        return found
    measured = validator(run.model, run.split)
    return {**found, **(measured(run.parameters) if measured else {})}


FORMAT = "relatum-datasets"


def measure(names: Iterable[str]) -> dict[str, Any]:
    """Return the sizes of registered datasets by name, with the checksums of their files."""
    return {"format": FORMAT, "versions": {"relatum": __version__}, "datasets": {name: _size(load(name)) for name in names}}


def _size(split: Split) -> dict[str, Any]:
    found = describe(split).to_json()
    del found["source"]
    found["arity"] = {str(arity): count for arity, count in found["arity"].items()}
    if split.derivations:
        found |= {f"test_by_{key}": _test_by(split, key) for key in ("operation", "depth")}
    return {**found, "checksums": dict(split.checksums)}


def _test_by(split: Split, key: str) -> dict[str, int]:
    """Return how many test facts are of a relation with this origin."""
    found: Counter[str] = Counter()
    for relation in split.schema:
        if relation.name in split.derivations:
            found[str(getattr(split.derivations[relation.name], key))] += len(split.test.table(relation.name))
    return dict(sorted((name, count) for name, count in found.items() if count))


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
    def refit(self) -> bool:
        """Whether the models were trained on valid facts too."""
        return bool(self.spec.get("training", {}).get("refit", False))

    @property
    def evidence(self) -> bool:
        """Whether rules spoke beside the model."""
        return bool(self.spec.get("training", {}).get("evidence", False))

    @property
    def ensemble(self) -> int:
        """How many models were joined into one; 0 if none were."""
        return max(len(run.get("ensemble", ())) for run in self.runs)

    @property
    def valid(self) -> float:
        """The mean validation MRR, by which results of one model on one dataset are chosen."""
        found = [run["valid"]["mrr"] for run in self.runs if run["valid"]]
        return float(np.mean(found)) if found else 0.0

    @property
    def histories(self) -> list[list[Point]]:
        """The validations of each run; none of a run of which they, or their MRRs, were not kept."""
        return [
            [
                Point(int(one["epoch"]), float(one["seconds"]), float(one["valid_mrr"]))
                for one in run.get("course", ())
                if "valid_mrr" in one or "valid_corrected_mrr" not in one
            ]
            for run in self.runs
        ]

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
    """Return the best result of each system on a dataset, by model, in the paper's order.

    What was joined from several models, or trained on valid facts too, is no result of one system trained on train facts.
    """
    plain = [one for one in results if one.data == data and not (one.ensemble or one.refit or one.evidence)]
    found = {model: best(one for one in plain if one.model == model) for model in MODELS}
    return {model: one for model, one in found.items() if one is not None}


def read_results(*paths: Path) -> Collected:
    """Return what is in paths: files of results, run directories, and folders of either.

    Files of a folder that hold something else are passed over, and so are its runs that have not ended.
    """
    results: list[Result] = []
    datasets: dict[str, dict[str, Any]] = {}
    runs: list[Path] = []
    unfinished: list[Path] = []
    for path in paths:
        if (path / SPEC).exists():
            runs.append(path)
            continue
        if not path.exists():
            raise DataError("no-such-file", "no such file or folder of results", place=path)
        for each in sorted(path.iterdir()) if path.is_dir() else [path]:
            if (each / SPEC).exists():
                (runs if (each / "config.json").exists() else unfinished).append(each)
            elif each.suffix == ".json" and each.is_file():
                whole = _json(each)
                if _are_results(whole):
                    results.append(_checked(each, whole))
                elif isinstance(whole, dict) and whole.get("format") == FORMAT:
                    datasets |= _checked_sizes(each, whole)
    results += [_result(group[0].name, collect(group)) for group in _alike(runs)]
    return Collected(tuple(results), datasets, tuple(unfinished))


def _json(path: Path) -> Any:
    try:
        return parse_json(read_whole(path))
    except ValueError:
        raise DataError("damaged-file", "not valid JSON", place=path) from None


def _are_results(whole: Any) -> bool:
    return isinstance(whole, dict) and {"spec", "runs"} <= whole.keys() and isinstance(whole["runs"], list)


def _result(name: str, whole: dict[str, Any]) -> Result:
    checksums = whole.get("provenance", {}).get("checksums", {})
    return Result(name, whole["spec"], whole["runs"], checksums, str(whole.get("trained_on", "")))


def _checked(path: Path, whole: dict[str, Any]) -> Result:
    """Return results whose every number that is used later has been looked at once."""
    with _of_this_version(path, "a results file"):
        result = _result(path.stem, whole)
        numbers = [result.valid, *result.values("mrr"), *(run["minutes_of_training"] for run in result.runs)]
        numbers += [point.mrr + point.seconds for history in result.histories for point in history]
        found = result.runs and result.data and result.model and result.values("mrr")
        if not found or not all(map(math.isfinite, numbers)) or not all(type(run["seed"]) is int for run in result.runs):
            raise ValueError
    return result


def _checked_sizes(path: Path, whole: dict[str, Any]) -> dict[str, dict[str, Any]]:
    with _of_this_version(path, "a file of dataset sizes"):
        sizes = dict(whole["datasets"])
        counts = [one[key] for one in sizes.values() for key in ("entities", "relations", "train", "valid", "test")]
        counts += [count for one in sizes.values() for count in one["arity"].values()]
        if not all(type(count) is int for count in counts):
            raise ValueError
    return sizes


@contextmanager
def _of_this_version(path: Path, what: str) -> Iterator[None]:
    """Refuse a file that lacks what is looked at within this."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError):
        raise DataError("other-format", f"not {what} of this version", place=path) from None


def _alike(folders: Sequence[Path]) -> list[list[Path]]:
    """Return runs that differ in their seed alone together, in their order."""
    groups: dict[str, list[Path]] = {}
    for folder in dict.fromkeys(folders):
        close_folder(folder)
        groups.setdefault(_settings(Spec.of_run(folder / SPEC).to_dict()), []).append(folder)
    return list(groups.values())


def _settings(spec: dict[str, Any]) -> str:
    """Return a text that specs have in common which differ in their seed alone."""
    return json.dumps({**spec, "seed": None}, sort_keys=True)


def series(results: Iterable[Result], data: str, model: str, setting: str) -> dict[Any, Result]:
    """Return the results of a model on a dataset that differ in a setting such as `model.window` alone, by its value.

    Of several such series it is the longest, and of several that long the one with the best validation. One result alone is
    no series.
    """
    groups: dict[str, dict[Any, list[Result]]] = {}
    table, key = setting.split(".")
    for one in results:
        if (one.data, one.model) == (data, model):
            spec = copy.deepcopy(one.spec)
            value = spec[table].pop(key, None)
            rest = json.dumps([spec, one.checksums], sort_keys=True)
            if isinstance(value, str | float | int):
                groups.setdefault(rest, {}).setdefault(value, []).append(one)
    found = [{value: chosen for value, same in group.items() if (chosen := best(same))} for group in groups.values()]
    longest = max(found, key=lambda group: (len(group), max(one.valid for one in group.values())), default={})
    if len(longest) < 2:
        return {}
    return dict(sorted(longest.items(), key=lambda item: (isinstance(item[0], str), item[0])))
