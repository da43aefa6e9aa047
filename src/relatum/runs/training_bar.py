"""What training shows: a bar in a terminal, now and then a line elsewhere; and Ctrl-C, which stops at the end of a step."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relatum.formatting import percent
from relatum.progress import Display
from relatum.training.loop import State


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
