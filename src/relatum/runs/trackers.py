"""Who is told of training: a bar in a terminal, and trackers, TensorBoard and MLflow among them.

Trackers are told each event of a run's journal as it is written. The bar is told each step, and takes Ctrl-C meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from relatum.closed_folders import make_folder, names_in, refuse_links_in
from relatum.errors import RelatumWarning, SettingError, UnknownNameError
from relatum.extras import optional
from relatum.formatting import percent
from relatum.progress import Display
from relatum.runs.journal import Journal
from relatum.runs.spec import Spec
from relatum.training.loop import State
from relatum.version import __version__

Tracker = Callable[[Mapping[str, Any]], object]
Numbers = dict[str, float]

_NO_METRICS = ("event", "time", "epoch", "done")


class _Board(Protocol):
    """A program that shows curves: numbers by name and epoch, beside the settings behind them."""

    def open(self, spec: Spec, begun: float) -> bool:
        """Begin, or go on, with the training that began at a time; return whether it is new to the board."""

    def log(self, numbers: Numbers, epoch: int, time: float) -> None:
        """Add numbers."""

    def close(self, ended: str) -> None:
        """Close it, when training was `finished`, `stopped` by a person, or `failed`."""


class Trackers:
    """Those who follow one training; one that fails is left out with a warning, and training goes on.

    Epochs that are trained again after a break are told once, and a board to which a run is new is told of all of it.

    Args:
        wanted: names, with where to write to if that is not as usual (`tensorboard=logs`), and functions, which are called
            with each event: a mapping with its name as `event`, `time` in seconds, `epoch`, and numbers by name.
        folder: the run directory, if there is one.
    """

    def __init__(self, wanted: str | Tracker | Sequence[str | Tracker], folder: Path | None = None) -> None:
        self._boards: dict[str, _Board] = {}
        self._functions: dict[str, Tracker] = {}
        self._past: set[tuple[str, int | None]] = set()
        for number, one in enumerate([wanted] if isinstance(wanted, str) or callable(wanted) else wanted):
            if isinstance(one, str):
                self._boards[one] = _board(one, folder)
            elif callable(one):
                self._functions[f"{getattr(one, '__name__', type(one).__name__)} ({number})"] = one
            else:
                raise SettingError("bad-tracker", f"must be names or functions, not {one!r}", place="trackers")

    def begin(self, spec: Spec, past: Sequence[Mapping[str, Any]], first: Mapping[str, Any]) -> None:
        """Tell of all that a journal has from before a break, and of where training began."""
        begun = float((past[0] if past else first)["time"])
        once = {_key(event): event for event in reversed(past) if _numbers(event)}
        for name, board in list(self._boards.items()):
            with self._guarded(name):
                if board.open(spec, begun):
                    for event in reversed(once.values()):
                        board.log(_numbers(event), event.get("epoch", 0), event["time"])
        self._past = set(once)

    def tell(self, event: Mapping[str, Any]) -> None:
        """Pass on an event that was written just now."""
        if _key(event) in self._past:
            return
        for name, function in list(self._functions.items()):
            with self._guarded(name):
                function(dict(event))
        if numbers := _numbers(event):
            for name, board in list(self._boards.items()):
                with self._guarded(name):
                    board.log(numbers, event.get("epoch", 0), event["time"])

    def close(self, ended: str) -> None:
        """Say how training ended."""
        for name, board in list(self._boards.items()):
            with self._guarded(name):
                board.close(ended)

    @contextmanager
    def _guarded(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._boards.pop(name, None)
            self._functions.pop(name, None)
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
            raise SettingError(
                "bad-tracker", "a run in memory has no directory", place="trackers", remedy="say where, as tensorboard=DIR"
            )
        with optional("tensorboard", extra="track"):
            from torch.utils.tensorboard import SummaryWriter
        self._make, self._path = SummaryWriter, Path(where) if where else (folder or Path()) / "tensorboard"

    def open(self, spec: Spec, begun: float) -> bool:
        make_folder(self._path)
        refuse_links_in(self._path)  # TensorBoard opens what is there by its name
        is_new = not any(name.startswith("events.") for name in names_in(self._path))
        self._writer = self._make(str(self._path))
        if is_new:
            settings = "".join(f"    {line}\n" for line in spec.to_toml().splitlines())  # a block of code in Markdown
            self._writer.add_text("spec", settings, walltime=begun)
        return is_new

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

    def open(self, spec: Spec, begun: float) -> bool:
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
            return False
        tags = {"relatum.run": mark, "relatum.version": __version__}
        self._run = client.create_run(number, int(begun * 1000), tags, self._name).info.run_id
        client.log_batch(self._run, params=[Param(name, str(value)) for name, value in _flat(spec.to_dict()).items()])
        return True

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


@contextmanager
def training_bar() -> Iterator[TrainingBar]:
    """Yield a display that is told of training; Ctrl-C stops at the end of a step, where nothing is lost."""
    shown = TrainingBar()
    main = threading.current_thread() is threading.main_thread()  # only there can signals be caught
    before = signal.signal(signal.SIGINT, shown.interrupt) if main else None
    try:
        yield shown
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
        shown.close()


class TrainingBar:
    """A bar in a terminal, now and then a line elsewhere."""

    def __init__(self) -> None:
        self._display = Display()
        self._facts, self._loss, self._score = 0, 0.0, "-"
        self._done = 0.0  # the share of training that is behind
        self._training = self._interrupted = False

    def interrupt(self, *_: object) -> None:
        """Stop at the end of the step, where nothing is lost; before the first one or asked twice, at once."""
        if self._interrupted or not self._training:
            raise KeyboardInterrupt
        self._interrupted = True

    def __call__(self, event: str, state: State, facts: dict[str, Any]) -> None:
        """Show an event of training."""
        self._training = True
        if event in ("step", "epoch"):
            self._facts += facts["facts"] if event == "step" else 0
            self._loss, self._done = facts["loss"], facts["done"]
        elif event == "validation" and (facts["best"] or "mrr" not in facts):
            self._score = f"{facts.get('mrr', state.best_score):.4f}"
            if "mrr_error" in facts:  # valid facts were sampled: twice the standard error
                self._score += f" ± {2 * facts['mrr_error']:.4f}"
        elif event == "end" and "communication" in facts:
            share = percent(facts["communication"])
            sys.stderr.write(f"{facts['workers']} workers; {share} of the time of the first one was communication\n")
        if event in ("step", "epoch", "validation"):
            rate = self._facts / max(self._display.seconds, 1e-9)
            text = f"loss {self._loss:.4f}, {rate:.0f} facts/s, best validation MRR {self._score}"
            epoch = state.epoch + (event == "step")  # the one that is under way
            self._display.show(f"epoch {epoch}", self._done, text, now=event == "validation")
        if self._interrupted:
            raise KeyboardInterrupt

    def close(self) -> None:
        """End the display."""
        self._display.close()
