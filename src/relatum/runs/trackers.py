"""Trackers: programs that are told each event of a run's journal as it is written, TensorBoard and MLflow among them."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from relatum.errors import RelatumWarning, SettingError, UnknownNameError
from relatum.extras import optional
from relatum.runs.journal import Journal
from relatum.runs.spec import Spec
from relatum.version import __version__

__all__ = ["Tracker", "Trackers", "tracked"]

Tracker = Callable[[Mapping[str, Any]], object]
Numbers = dict[str, float]

_NO_METRICS = ("event", "time", "epoch", "done")


class _Board(Protocol):
    """A program that shows curves: numbers by name and epoch, beside the settings behind them."""

    def open(self, spec: Spec, begun: float) -> set[tuple[str, int]]:
        """Begin, or go on, with the training that began at a time; return which numbers are there, by name and epoch."""

    def log(self, numbers: Numbers, epoch: int, time: float) -> None:
        """Add numbers."""

    def close(self, ended: str) -> None:
        """Close it, when training was `finished`, `stopped` by a person, or `failed`."""


class Trackers:
    """Those who follow one training; one that fails is left out with a warning, and training goes on.

    Args:
        wanted: names, with where to write to if that is not as usual (`tensorboard=logs`), and functions, which are called
            with each event: a mapping with its name as `event`, `time` in seconds, `epoch`, and numbers by name.
        folder: the run directory, if there is one.
    """

    def __init__(self, wanted: str | Tracker | Sequence[str | Tracker], folder: Path | None = None) -> None:
        each = [wanted] if isinstance(wanted, str) or callable(wanted) else list(wanted)
        self._following: dict[str, _Called | _Shown] = {}
        for number, one in enumerate(each):
            if isinstance(one, str):
                self._following[one] = _Shown(_board(one, folder))
            elif callable(one):
                self._following[f"{getattr(one, '__name__', type(one).__name__)} ({number})"] = _Called(one)
            else:
                raise SettingError(f"trackers: must be names or functions, not {one!r}")

    def begin(self, spec: Spec, past: Sequence[Mapping[str, Any]], first: Mapping[str, Any]) -> None:
        """Tell of all that a journal has from before a break, and of where training began."""
        begun = float((past[0] if past else first)["time"])
        for name, one in list(self._following.items()):
            with self._guarded(name):
                one.begin(spec, past, begun)

    def tell(self, event: Mapping[str, Any]) -> None:
        """Pass on an event that was written just now."""
        for name, one in list(self._following.items()):
            with self._guarded(name):
                one.tell(event)

    def close(self, ended: str) -> None:
        """Say how training ended."""
        for name, one in list(self._following.items()):
            with self._guarded(name):
                one.close(ended)

    @contextmanager
    def _guarded(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            del self._following[name]
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            warnings.warn(
                f"tracker {name} failed and gets no more events; training goes on ({reason})", RelatumWarning, stacklevel=2
            )


@contextmanager
def tracked(journal: Journal, trackers: Trackers | None, spec: Spec) -> Iterator[None]:
    """Let trackers follow what is written into a journal within this."""
    if trackers is None:
        yield
        return
    past, begun = journal.read(), False

    def follow(event: Mapping[str, Any]) -> None:
        nonlocal begun
        if not begun:
            begun = True
            trackers.begin(spec, past, event)
        trackers.tell(event)

    journal.follower, ended = follow, "failed"
    try:
        yield
        ended = "finished"
    except KeyboardInterrupt:
        ended = "stopped"
        raise
    finally:
        journal.follower = None
        trackers.close(ended)


class _Called:
    """A function, which is called with each event but for those of epochs that are trained again after a break."""

    def __init__(self, function: Tracker) -> None:
        self._function = function
        self._past: set[tuple[str, int | None]] = set()

    def begin(self, spec: Spec, past: Sequence[Mapping[str, Any]], begun: float) -> None:
        self._past = {_key(event) for event in past if _numbers(event)}

    def tell(self, event: Mapping[str, Any]) -> None:
        if _key(event) not in self._past:
            self._function(dict(event))

    def close(self, ended: str) -> None:
        pass


class _Shown:
    """A board, which is given what it lacks: after a break, or where it was not there from the start."""

    def __init__(self, board: _Board) -> None:
        self._board = board
        self._there: set[tuple[str, int]] = set()

    def begin(self, spec: Spec, past: Sequence[Mapping[str, Any]], begun: float) -> None:
        self._there = self._board.open(spec, begun)
        for event in past:
            self.tell(event)

    def tell(self, event: Mapping[str, Any]) -> None:
        epoch = event.get("epoch", 0)
        lacking = {name: value for name, value in _numbers(event).items() if (name, epoch) not in self._there}
        if lacking:
            self._board.log(lacking, epoch, event["time"])
            self._there |= {(name, epoch) for name in lacking}

    def close(self, ended: str) -> None:
        self._board.close(ended)


def _key(event: Mapping[str, Any]) -> tuple[str, int | None]:
    return event["event"], event.get("epoch")


def _numbers(event: Mapping[str, Any]) -> Numbers:
    """Return what an event measures, by the names of event and number: `epoch/loss`, `validation/mrr`."""
    measured = {name: value for name, value in event.items() if name not in _NO_METRICS and type(value) in (int, float)}
    return {f"{event['event']}/{name}": float(value) for name, value in measured.items()}


class _TensorBoard:
    """Event files in a directory, by default `tensorboard` in the run directory."""

    def __init__(self, where: str, folder: Path | None) -> None:
        if not where and folder is None:
            raise SettingError("trackers: a run in memory has no directory; say where, as tensorboard=DIR")
        with optional("tensorboard", extra="track"):
            from torch.utils.tensorboard import SummaryWriter
        self._make, self._path = SummaryWriter, Path(where) if where else (folder or Path()) / "tensorboard"

    def open(self, spec: Spec, begun: float) -> set[tuple[str, int]]:
        there = self._read() if self._path.is_dir() else set()
        self._writer = self._make(str(self._path))
        if not there:
            settings = "".join(f"    {line}\n" for line in spec.to_toml().splitlines())  # a block of code in Markdown
            self._writer.add_text("spec", settings, walltime=begun)
        return there

    def _read(self) -> set[tuple[str, int]]:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        found = EventAccumulator(str(self._path), size_guidance={"scalars": 0}).Reload()
        return {(name, point.step) for name in found.Tags()["scalars"] for point in found.Scalars(name)}

    def log(self, numbers: Numbers, epoch: int, time: float) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, epoch, walltime=time)
        self._writer.flush()  # what a kill must not lose

    def close(self, ended: str) -> None:
        self._writer.close()


class _MLflow:
    """A run of MLflow, where its variables say: `MLFLOW_TRACKING_URI`, `MLFLOW_EXPERIMENT_NAME` (by default `relatum`)."""

    def __init__(self, where: str, folder: Path | None) -> None:
        with optional("mlflow", extra="track"):
            from mlflow import MlflowClient
        self._make, self._where = MlflowClient, where
        self._name = "memory" if folder is None else folder.resolve().name

    def open(self, spec: Spec, begun: float) -> set[tuple[str, int]]:
        from mlflow.entities import Param

        client = self._client = self._make(tracking_uri=self._where or None)
        experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or "relatum"
        known = client.get_experiment_by_name(experiment)
        number = known.experiment_id if known is not None else client.create_experiment(experiment)
        mark = hashlib.sha256(f"{begun} {spec.to_toml()}".encode()).hexdigest()[:16]  # by which a resumed run is found
        found = client.search_runs([number], f"tags.`relatum.run` = '{mark}'", max_results=1)
        if found:
            self._run = found[0].info.run_id
            client.update_run(self._run, status="RUNNING")
            names = found[0].data.metrics
            return {(name, point.step) for name in names for point in client.get_metric_history(self._run, name)}
        tags = {"relatum.run": mark, "relatum.version": __version__}
        self._run = client.create_run(number, int(begun * 1000), tags, self._name).info.run_id
        client.log_batch(self._run, params=[Param(name, str(value)) for name, value in _flat(spec.to_dict()).items()])
        return set()

    def log(self, numbers: Numbers, epoch: int, time: float) -> None:
        from mlflow.entities import Metric

        self._client.log_batch(
            self._run, metrics=[Metric(name, value, int(time * 1000), epoch) for name, value in numbers.items()]
        )

    def close(self, ended: str) -> None:
        self._client.set_terminated(self._run, {"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}[ended])


def _flat(table: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Return settings by their whole names: `training.epochs`."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        found |= _flat(value, f"{path}{name}.") if isinstance(value, Mapping) else {path + name: value}
    return found


_BOARDS: Mapping[str, Callable[[str, Path | None], _Board]] = {"mlflow": _MLflow, "tensorboard": _TensorBoard}


def _board(text: str, folder: Path | None) -> _Board:
    name, _, where = text.partition("=")
    if name not in _BOARDS:
        raise UnknownNameError("tracker", name, _BOARDS)
    return _BOARDS[name](where, folder)
