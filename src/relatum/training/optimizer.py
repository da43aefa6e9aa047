"""Adagrad and Adam on the part of a table that a step has used; the rest of it, and of its history, is not touched.

Training takes steps of Adagrad; Adam folds in new entities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Int64
from relatum.kernels import parallel
from relatum.kernels.rows import adagrad
from relatum.models.ops import as_array
from relatum.models.training_protocols import Gradient

History = dict[str, Tensor]
Where = Tensor | tuple[Tensor, Tensor]  # rows, or rows [m, 1] and columns of a table

_ROWS, _PARTS = 1024, 2  # a table is shared out in parts of so many rows at least, and in about so many
_FIRST, _SECOND, _EPSILON = 0.9, 0.999, 1e-8  # Adam's


class Optimizer:
    """Takes steps of Adagrad on parameters in place, and keeps what it must remember in `history`, a dict of tensors."""

    moments: tuple[str, ...] = ("squares",)

    def __init__(self, parameters: dict[str, Tensor], weight_decay: float = 0.0, history: History | None = None) -> None:
        self.parameters, self.weight_decay = parameters, weight_decay
        self.history = history if history is not None else self._fresh()

    def _fresh(self) -> History:
        return {
            f"{name}/{moment}": torch.zeros_like(_table(tensor))
            for name, tensor in self.parameters.items()
            for moment in self.moments
        }

    def apply(self, gradients: Iterable[Gradient], learning_rate: float) -> None:
        """Take the steps of gradients one after the other; rows of large tables are shared out among threads."""
        by_name: dict[str, list[Gradient]] = {}
        for gradient in gradients:
            by_name.setdefault(gradient.name, []).append(gradient)
        sizes = {name: len(_table(self.parameters[name])) for name in by_name}
        jobs = [(name, part) for name, size in sizes.items() for part in parallel.cuts(size, max(_ROWS, size // _PARTS))]

        def work(number: int) -> None:
            name, part = jobs[number]
            for gradient in by_name[name]:
                self.step(name, gradient.rows, gradient.values, learning_rate, gradient.columns, part)

        parallel.run(work, len(jobs))

    def step(
        self,
        name: str,
        rows: Int64 | None,
        gradient: Tensor,
        learning_rate: float,
        columns: Int64 | None = None,
        among: tuple[int, int] | None = None,
    ) -> None:
        """Take one step on the given distinct rows and columns of a parameter (None: all), whose gradient is given.

        With `among`, rows from its first to before its second are moved, and no others; then `rows` ascend.
        """
        table = _table(self.parameters[name])
        chosen = np.arange(len(table)) if rows is None else rows
        slope = gradient.reshape(len(chosen), table.shape[1] if columns is None else len(columns))
        if self._has_kernel(table):
            squares, decay = as_array(self.history[f"{name}/squares"]), self.weight_decay
            adagrad(as_array(table), squares, chosen, as_array(slope), learning_rate, decay, columns=columns, among=among)
            return
        if among is not None:
            first, last = np.searchsorted(chosen, among)
            chosen, slope = chosen[first:last], slope[first:last]
        ids = torch.from_numpy(chosen).to(table.device)
        where = ids if columns is None else (ids[:, None], torch.from_numpy(columns).to(table.device))
        self._move(name, table, where, slope + self.weight_decay * table[where], learning_rate)

    def _has_kernel(self, table: Tensor) -> bool:
        return table.device.type == "cpu" and table.dtype == torch.float32

    def _move(self, name: str, table: Tensor, where: Where, slope: Tensor, learning_rate: float) -> None:
        squares = self.history[f"{name}/squares"]
        squares[where] += slope.square()
        table[where] -= learning_rate * slope / (squares[where].sqrt() + 1e-10)


class Adam(Optimizer):
    """Takes steps of Adam, which have about the size of the learning rate."""

    moments = ("mean", "squares", "steps")

    def _has_kernel(self, table: Tensor) -> bool:
        return False

    def _move(self, name: str, table: Tensor, where: Where, slope: Tensor, learning_rate: float) -> None:
        mean, squares, steps = (self.history[f"{name}/{moment}"] for moment in ("mean", "squares", "steps"))
        steps[where] += 1
        mean[where] = _FIRST * mean[where] + (1 - _FIRST) * slope
        squares[where] = _SECOND * squares[where] + (1 - _SECOND) * slope.square()
        first, second = (_correction(kept, steps[where]) for kept in (_FIRST, _SECOND))
        table[where] -= learning_rate * (mean[where] / first) / ((squares[where] / second).sqrt() + _EPSILON)


def _correction(kept: float, steps: Tensor) -> Tensor:
    """Return 1 - kept ** steps; written so, float32 would lose three of its seven digits where the power is near 1."""
    return -torch.expm1(steps * math.log(kept))


def _table(tensor: Tensor) -> Tensor:
    """Return a view of a parameter as rows."""
    return tensor.view(len(tensor), math.prod(tensor.shape[1:])) if tensor.ndim else tensor.view(1, 1)
