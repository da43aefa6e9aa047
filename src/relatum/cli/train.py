"""`relatum train`: from facts to a run directory."""

from __future__ import annotations

import math
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.formatting import duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import Progress

    from relatum.runs.fit import Watch
    from relatum.training.loop import State

__all__ = ["carry_out", "train"]

_LINE_EVERY = 10.0  # seconds, where there is no terminal


def train(
    data: Annotated[str | None, typer.Option(metavar="NAME_OR_DIR", help="What to learn from.")] = None,
    model: Annotated[str | None, typer.Option(help="The model; by default that of the spec, or reale.")] = None,
    recipe: Annotated[str | None, typer.Option(help="Settings to begin from: fast (the default) or paper.")] = None,
    spec: Annotated[Path | None, typer.Option(help="A TOML file with settings.")] = None,
    change: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a setting, such as training.epochs=20.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of everything that is drawn.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="RUN", help="The run directory to make.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="RUN", help="Go on with a run that was stopped.")] = None,
) -> None:
    """Train a model into a run directory; stop it with Ctrl-C and go on with --resume."""
    from relatum.errors import SettingError
    from relatum.runs import fit
    from relatum.runs.spec import Spec, merged
    from relatum.settings import change_of

    given = {"data": data, "model": model, "recipe": recipe, "seed": seed}
    options = {name: value for name, value in given.items() if value is not None}
    if resume is not None and (options or change or spec or out):
        raise SettingError("--resume goes on with a run as it is: it takes no other option")
    folder = resume or out
    if folder is None:
        raise SettingError("say where the run is to be kept: --out RUN")
    if resume is not None:
        carry_out(folder, lambda watch: fit.resume(folder, watch))
    else:
        changes = change or []
        wanted = Spec.read(spec, changes, options) if spec else Spec.from_dict(merged(*map(change_of, changes), options))
        carry_out(folder, lambda watch: fit.fit(wanted, folder, watch))
    typer.echo(f"trained into {folder}; ask it with: relatum evaluate {folder}")


def carry_out(folder: Path, work: Callable[[Watch], object]) -> None:
    """Train with a display; Ctrl-C stops at the end of a step, and says how to go on."""
    from relatum.runs.directory import SPEC

    shown = _Display()
    before = signal.signal(signal.SIGINT, shown.interrupt)
    try:
        work(shown)
    except KeyboardInterrupt:
        if (folder / SPEC).exists():
            sys.stderr.write(f"stopped; go on with: relatum train --resume {folder}\n")
        raise
    finally:
        signal.signal(signal.SIGINT, before)
        shown.close()


class _Display:
    """A bar in a terminal, now and then a line elsewhere."""

    def __init__(self) -> None:
        self._start = self._said = time.monotonic()
        self._facts, self._loss, self._score = 0, 0.0, "-"
        self._done = 0.0  # the share of training that is behind
        self._first: float | None = None  # and what it was when this process began
        self._bar: Progress | None = None
        self._training = self._interrupted = False

    def interrupt(self, *_: object) -> None:
        """Stop at the end of the step, where nothing is lost; before the first one or asked twice, at once."""
        if self._interrupted or not self._training:
            raise KeyboardInterrupt
        self._interrupted = True

    def __call__(self, event: str, state: State, facts: dict[str, Any]) -> None:
        self._training = True
        if event == "step":
            self._facts += facts["facts"]
            self._update(state, facts)
        elif event == "epoch":
            self._loss, self._done = facts["loss"], facts["done"]
        elif event == "validation":
            self._score = f"{state.best_score:.4f}"
        if event in ("epoch", "validation") and self._bar is None:
            self._say(state, self._done, now=event == "validation")
        if self._interrupted:
            raise KeyboardInterrupt

    def _say(self, state: State, done: float, *, now: bool) -> None:
        """Write a line, at each validation and else every few seconds."""
        moment = time.monotonic()
        if now or moment - self._said > _LINE_EVERY:
            self._said = moment
            rate = self._facts / (moment - self._start)
            line = f"epoch {state.epoch}: loss {self._loss:.4f}, {rate:.0f} facts/s, best validation MRR {self._score}"
            sys.stderr.write(f"{line}, {duration(self._left(done))} left\n")

    def _left(self, done: float) -> float:
        """Return how many seconds the rest takes if it goes on as since the start of this process."""
        if self._first is None:
            self._first = done
        passed = done - self._first
        return (time.monotonic() - self._start) * (1 - done) / passed if passed > 0 else math.inf

    def _update(self, state: State, facts: dict[str, Any]) -> None:
        left = duration(self._left(facts["done"]))
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            said = "loss {task.fields[loss]:.3f}  {task.fields[rate]:.0f} facts/s  MRR {task.fields[score]}"
            self._bar = Progress(
                TextColumn("epoch {task.fields[epoch]}"),
                BarColumn(),
                TextColumn(said + "  {task.fields[left]} left"),
                console=Console(stderr=True),
            )
            self._bar.add_task("", total=1.0, epoch=1, loss=0.0, rate=0.0, score="-", left="")
            self._bar.start()
        self._bar.update(
            self._bar.task_ids[0],
            completed=facts["done"],
            epoch=state.epoch + 1,
            loss=facts["loss"],
            rate=self._facts / (time.monotonic() - self._start),
            score=self._score,
            left=left,
        )

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
