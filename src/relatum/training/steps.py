"""One step: the gradients of some batches from the same parameters, and then the optimizer's steps, batch after batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Protocol

from relatum.kernels import parallel
from relatum.models.training_protocols import Gradient
from relatum.training.optimizer import Optimizer
from relatum.training.rows import Rows


class Steps(Protocol):
    """What takes the steps of training."""

    def start_epoch(self, epoch: int) -> int:
        """Cut the rows of an epoch into batches, and return how many batches there are."""

    def gradients(self, numbers: Sequence[int]) -> list[tuple[float, float]]:
        """Compute the gradients of some batches, and return the mean loss and the weight of each, in order."""

    def apply(self, learning_rate: float) -> None:
        """Take the optimizer's steps by the gradients that were computed last, in the order of the batches."""


StepsOf = Callable[[Rows, Optimizer, Executor], Steps]


class LocalSteps:
    """The steps of one process, which has all parameters; batches are shared out among its threads."""

    def __init__(self, rows: Rows, optimizer: Optimizer, pool: Executor) -> None:
        self._rows, self._optimizer, self._pool = rows, optimizer, pool
        self._found: list[Gradient] = []

    def start_epoch(self, epoch: int) -> int:
        """Cut the rows into batches."""
        return self._rows.start_epoch(epoch)

    def gradients(self, numbers: Sequence[int]) -> list[tuple[float, float]]:
        """Compute gradients; where a number is not finite, the loss is none."""
        results = list(self._pool.map(self._work, numbers))
        self._found = [gradient for _, _, found in results for gradient in found]
        return [(loss, weight) for loss, weight, _ in results]

    def apply(self, learning_rate: float) -> None:
        """Take the steps, and forget the gradients."""
        found, self._found = self._found, []
        self._optimizer.apply(found, learning_rate)

    def _work(self, number: int) -> tuple[float, float, list[Gradient]]:
        with parallel.single_threaded():  # batches are what is shared out among threads here
            try:
                return self._rows.gradients(self._optimizer.parameters, number)
            except FloatingPointError:
                return math.nan, 1.0, []
