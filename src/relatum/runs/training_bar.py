"""What training shows: a bar in a terminal, now and then a line elsewhere; and Ctrl-C, which stops at the end of a step."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from relatum.formatting import duration, percent
from relatum.training.loop import State

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["TrainingBar", "training_bar"]

_LINE_EVERY = 10.0  # seconds, where there is no terminal


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
        self._start = self._last_line = time.monotonic()
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
        """Show an event of training."""
        self._training = True
        if event == "step":
            self._facts += facts["facts"]
            self._update(state, facts)
        elif event == "epoch":
            self._loss, self._done = facts["loss"], facts["done"]
        elif event == "validation" and (facts["best"] or "mrr" not in facts):
            self._score = f"{facts.get('mrr', state.best_score):.4f}"
            if "mrr_error" in facts:  # valid facts were sampled: twice the standard error
                self._score += f" ± {2 * facts['mrr_error']:.4f}"
        elif event == "end" and "communication" in facts:
            self._say_workers(facts["workers"], facts["communication"])
        if event in ("epoch", "validation") and self._bar is None:
            self._say(state, self._done, now=event == "validation")
        if self._interrupted:
            raise KeyboardInterrupt

    def _say(self, state: State, done: float, *, now: bool) -> None:
        """Write a line, at each validation and else every few seconds."""
        moment = time.monotonic()
        if now or moment - self._last_line > _LINE_EVERY:
            self._last_line = moment
            rate = self._facts / (moment - self._start)
            line = f"epoch {state.epoch}: loss {self._loss:.4f}, {rate:.0f} facts/s, best validation MRR {self._score}"
            sys.stderr.write(f"{line}, {duration(self._left(done))} left\n")

    def _say_workers(self, count: int, share: float) -> None:
        """Write what several workers have spent in sending and waiting."""
        sys.stderr.write(f"{count} workers; {percent(share)} of the time of the first one was communication\n")

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

            columns = "loss {task.fields[loss]:.3f}  {task.fields[rate]:.0f} facts/s  MRR {task.fields[score]}"
            self._bar = Progress(
                TextColumn("epoch {task.fields[epoch]}"),
                BarColumn(),
                TextColumn(columns + "  {task.fields[left]} left"),
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
