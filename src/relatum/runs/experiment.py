"""Experiments: a spec with its seeds, or a series of specs; what has been run is not run again.

A series varies one setting: `[vary]` with `model.window = [1, 2, 4, 5, 8]` makes an experiment of each value, named after
the file and the value, with runs and results of its own.

A run directory is named after the experiment, the seed, and a hash of all that the run follows from: the spec with every
setting written out, the checksums of the data, and the version of the code. So a change to any of these is another run, and
what is there under its hash is done, or can be gone on with, whichever experiment it was begun for.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from relatum.closed_folders import close_folder
from relatum.datasets.load import load
from relatum.errors import SettingError
from relatum.runs.directory import SPEC
from relatum.runs.spec import VARY, Spec, merged, read_toml
from relatum.settings import nested
from relatum.version import __version__


def file_word(text: str) -> str:
    """Return a text as a part of the name of a file: `../my data` becomes `my_data`."""
    return re.sub(r"[^\w.-]+", "_", text).strip("_.") or "_"


_PROGRESS = ("done", "begun", "missing")


@dataclass(frozen=True)
class Planned:
    """One run of an experiment, done or not."""

    folder: Path
    spec: Spec

    def __post_init__(self) -> None:
        close_folder(self.folder, within=self.folder.parent)  # it may be part of an experiment from elsewhere

    @property
    def state(self) -> str:
        """Whether it is `done`, was `begun`, or is `missing`."""
        if (self.folder / "config.json").exists():
            return "done"
        return "begun" if (self.folder / SPEC).exists() else "missing"

    @property
    def key(self) -> str:
        """The seed and the hash, which the same run has in every experiment."""
        return "-".join(self.folder.name.rsplit("-", 2)[1:])

    def furthest(self) -> Planned:
        """Return this run, or the same one in the folder of another experiment if it has come further there."""
        same = (replace(self, folder=folder) for folder in sorted(self.folder.parent.glob(f"*-{self.key}")))
        return min((self, *same), key=lambda planned: _PROGRESS.index(planned.state))


@dataclass(frozen=True)
class Experiment:
    """A named spec, and the seeds that it is run with."""

    name: str
    spec: Spec
    seeds: tuple[int, ...]
    ensemble: bool = False

    def ensemble_folder(self, runs: Sequence[Planned]) -> Path:
        """Return the folder of the run that joins the runs of all seeds, beside them."""
        out = runs[0].folder.parent
        folder = out / f"{self.name}-ensemble-{_hash([one.folder.name for one in runs])}"
        close_folder(folder, within=out)
        return folder

    def runs(self, out: Path) -> Iterator[Planned]:
        """Yield the runs, in the order of their seeds, with the folders in `out` that are theirs or are the same run."""
        checksums = dict(load(self.spec.data).checksums)
        for seed in self.seeds:
            spec = replace(self.spec, seed=seed)
            content = _hash([spec.to_dict(), checksums, __version__])
            yield Planned(out / f"{self.name}-{seed}-{content}", spec).furthest()


def read_experiments(path: Path, seeds: Iterable[int] | None = None) -> list[Experiment]:
    """Return the experiments in a TOML file: one, or one for each value of what it varies.

    A spec may have `seeds = [0, 1, 2]`, instead of which those given count, a table `vary`, and `ensemble = true`: then
    the runs of all seeds are also joined into one.
    """
    given = read_toml(path)
    try:
        own = given.pop("seeds", [given.get("seed", 0)])
        ensemble = given.pop("ensemble", False)
        if type(ensemble) is not bool:
            raise SettingError("setting-out-of-range", f"must be true or false, not {ensemble!r}", place="ensemble")
        chosen = _checked_seeds(own if seeds is None else list(seeds))
        several = ensemble and len(chosen) > 1
        if VARY not in given:
            return [Experiment(path.stem, Spec.from_dict(given), chosen, several)]
        setting, values = _varied(given.pop(VARY))
        points = {f"{path.stem}-{file_word(str(value))}": merged(given, nested(setting, value)) for value in values}
        found = [Experiment(name, Spec.from_dict(point), chosen, several) for name, point in points.items()]
        if len({_hash(one.spec.to_dict()) for one in found}) < len(values):
            raise SettingError("bad-series", "names a value twice", place=f"{VARY}.{setting}")
    except SettingError as error:
        raise error.within(path) from None
    return found


def _checked_seeds(listed: Any) -> tuple[int, ...]:
    if not isinstance(listed, list) or not listed or not all(type(seed) is int and seed >= 0 for seed in listed):
        raise SettingError(
            "setting-out-of-range", "must be a list of whole numbers from 0 up, such as [0, 1, 2]", place="seeds"
        )
    if len(set(listed)) < len(listed):
        raise SettingError("bad-seeds", "names a seed twice", place="seeds")
    return tuple(listed)


def _varied(given: Any) -> tuple[str, list[Any]]:
    """Return the path of the setting that a table varies, and its values."""
    if not isinstance(given, Mapping):
        raise SettingError("setting-out-of-range", "must be a table", place=VARY)
    path = ""
    while isinstance(given, Mapping):
        if len(given) != 1:
            raise SettingError("one-setting-varies", "vary one setting, such as model.window = [1, 2, 4]", place=VARY)
        ((key, given),) = given.items()
        path = f"{path}.{key}" if path else key
    if path in ("seed", "seeds"):
        raise SettingError("bad-series", "seeds are not a setting to compare", place=VARY, remedy="write seeds = [0, 1, 2]")
    if not isinstance(given, list) or not given or not all(isinstance(value, str | float | int) for value in given):
        raise SettingError("setting-out-of-range", "must be a list of values, such as [1, 2, 4]", place=f"{VARY}.{path}")
    return path, given


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]
