"""What there is to do for an experiment of `relatum run`: a task for each seed, and one for the results."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relatum.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from relatum.runs.experiment import Experiment, Planned
    from relatum.runs.run_claims import Claim, Claims, Holder
    from relatum.runs.run_list import Task

__all__ = ["ExperimentTasks"]


class ExperimentTasks:
    """The runs of an experiment, and what this process has found of its results, by name.

    Results are collected by one process once all runs are done. Others read them from the file that it has written, which is
    known by its not being the one that was there when they began.
    """

    def __init__(self, experiment: Experiment, out: Path, results: Path | None) -> None:
        self.experiment = experiment
        self.found: dict[str, Any] = {}
        self._runs = list(experiment.runs(out))
        self._files = {} if results is None else {name: results / f"{name}.json" for name in self._names()}
        self._before = {name: _stamp(path) for name, path in self._files.items()}

    def tasks(self) -> Iterator[Task]:
        """Yield a task for each run, then the one that collects their results."""
        from relatum.runs.run_list import Task

        name = self.experiment.name
        for planned in self._runs:
            yield Task(
                planned.key,
                f"seed {planned.spec.seed} of {name}: being trained",
                is_done=partial(_is_done, planned),
                is_ready=lambda: True,
                carry_out=partial(_train, planned),
            )
        yield Task(
            f"results-{name}",
            f"results of {name}: being collected",
            is_done=lambda: bool(self.found),
            is_ready=lambda: all(map(_is_done, self._runs)),
            carry_out=lambda _: self._collect(),
        )

    def states(self, claims: Claims) -> dict[str, str]:
        """Return the state of each run by its folder; `running` is one that a living process has."""
        holders = self.holders(claims)
        furthest = [planned.furthest() for planned in self._runs]
        return {str(one.folder): "running" if str(one.folder) in holders else one.state for one in furthest}

    def holders(self, claims: Claims) -> dict[str, Holder]:
        """Return who is training, by the folder of the run."""
        found = ((str(planned.furthest().folder), claims.holder(planned.key)) for planned in self._runs)
        return {folder: holder for folder, holder in found if holder is not None and not holder.is_dead()}

    def _names(self) -> list[str]:
        name = self.experiment.name
        return [name, f"{name}-ensemble"] if self.experiment.ensemble else [name]

    def _collect(self) -> bool:
        """Collect the results, of the ensemble too, and write them; or read what another process has written."""
        from relatum import api
        from relatum.runs.results import collect, save_results, saved_results

        runs = [planned.furthest() for planned in self._runs]
        folders = [[one.folder for one in runs]]
        if self.experiment.ensemble:
            folder = self.experiment.ensemble_folder(runs)
            if not (folder / "config.json").exists():
                api.join(folders[0], folder)
            folders.append([folder])
        found = {}
        for name, group in zip(self._names(), folders, strict=True):
            path = self._files.get(name)
            others = path is not None and _stamp(path) != self._before[name]
            whole = saved_results(path, group) if path is not None and others else None
            if whole is None:
                whole = collect(group)
                if path is not None:
                    save_results(path, whole)
            found[name] = whole
        self.found = found
        return True


def _is_done(planned: Planned) -> bool:
    return planned.furthest().state == "done"


def _train(planned: Planned, claim: Claim) -> bool:
    """Train a run, or resume it; return False if a process without a claim is at it."""
    from relatum import api
    from relatum.cli.train import carry_out
    from relatum.runs.fit import is_held

    planned = planned.furthest()
    if is_held(planned.folder):
        return False
    say(f"{planned.folder}: {planned.state}", stderr=True)
    if planned.state == "begun":
        carry_out(planned.folder, lambda: api.resume(planned.folder, watch=claim.check))
    else:
        carry_out(planned.folder, lambda: api.fit(planned.spec, planned.folder, watch=claim.check))
    return True


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from the one that replaces it; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_ino
