"""An experiment: one TOML file with a spec and its seeds, and the run directories that belong to it.

A run directory is named after the experiment, the seed, and a hash of all that the run follows from: the spec with every
setting written out, the checksums of the data, and the version of the code. So a change to any of these is another run, and
what is there under its name is done, or can be gone on with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from relatum import __version__
from relatum.data.loading import load
from relatum.errors import SettingError
from relatum.runs.directory import SPEC
from relatum.runs.spec import Spec, read_toml

__all__ = ["Experiment", "Planned", "read_experiment"]


@dataclass(frozen=True)
class Planned:
    """One run of an experiment, done or not."""

    folder: Path
    spec: Spec

    @property
    def state(self) -> str:
        """Whether it is `done`, was `begun`, or is `missing`."""
        if (self.folder / "config.json").exists():
            return "done"
        return "begun" if (self.folder / SPEC).exists() else "missing"


@dataclass(frozen=True)
class Experiment:
    """A named spec, and the seeds that it is run with."""

    name: str
    spec: Spec
    seeds: tuple[int, ...]

    def runs(self, out: Path) -> Iterator[Planned]:
        """Yield the runs, in the order of their seeds, with the folders in `out` that are theirs."""
        checksums = dict(load(self.spec.data).checksums)
        for seed in self.seeds:
            spec = replace(self.spec, seed=seed)
            yield Planned(out / f"{self.name}-{seed}-{_hash([spec.to_dict(), checksums, __version__])}", spec)


def read_experiment(path: Path, seeds: Iterable[int] | None = None) -> Experiment:
    """Return the experiment in a TOML file: a spec and `seeds = [0, 1, 2]`; those given here count instead."""
    given = read_toml(path)
    own = given.pop("seeds", [given.get("seed", 0)])
    listed: Any = own if seeds is None else list(seeds)
    if not isinstance(listed, list) or not listed or not all(type(seed) is int and seed >= 0 for seed in listed):
        raise SettingError(f"{path}: seeds: must be a list of whole numbers from 0 up, such as [0, 1, 2]")
    if len(set(listed)) < len(listed):
        raise SettingError(f"{path}: seeds: one is there twice")
    try:
        return Experiment(path.stem, Spec.from_dict(given), tuple(listed))
    except SettingError as error:
        raise SettingError(f"{path}: {error}") from None


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]
