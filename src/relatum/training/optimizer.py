"""Adagrad and Adam on the rows that a step has used; the rest of a table, and of its history, is not touched."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from relatum.kernels.adagrad import adagrad
from relatum.models.backend import as_array
from relatum.training.settings import TrainingSettings

__all__ = ["History", "Optimizer"]

History = dict[str, Tensor]

_FIRST, _SECOND, _EPSILON = 0.9, 0.999, 1e-8  # Adam's


class Optimizer:
    """Takes steps on parameters in place, and keeps what it must remember in `history`, a dict of tensors."""

    def __init__(self, parameters: dict[str, Tensor], settings: TrainingSettings, history: History | None = None) -> None:
        self.parameters, self.settings = parameters, settings
        self.history = history if history is not None else self._fresh()

    def _fresh(self) -> History:
        kinds = ("squares",) if self.settings.optimizer == "adagrad" else ("mean", "squares", "steps")
        made = {}
        for name, tensor in self.parameters.items():
            for kind in kinds:
                shape = (_table(tensor).shape[0], 1) if kind == "steps" else _table(tensor).shape
                made[f"{name}/{kind}"] = torch.zeros(shape, dtype=tensor.dtype, device=tensor.device)
        return made

    def step(self, name: str, rows: npt.NDArray[np.int64] | None, gradient: Tensor, rate: float) -> None:
        """Take one step on the given distinct rows of a parameter (None: all), whose gradient is given."""
        table = _table(self.parameters[name])
        slope = gradient.reshape(-1, table.shape[1])
        chosen = np.arange(len(table)) if rows is None else rows
        decay = self.settings.weight_decay
        if self.settings.optimizer == "adam":
            self._adam(name, table, torch.from_numpy(chosen).to(table.device), slope, rate, decay)
        elif table.device.type == "cpu" and table.dtype == torch.float32:
            adagrad(as_array(table), as_array(self.history[f"{name}/squares"]), chosen, as_array(slope), rate, decay)
        else:
            self._adagrad(name, table, torch.from_numpy(chosen).to(table.device), slope, rate, decay)

    def _adagrad(self, name: str, table: Tensor, rows: Tensor, slope: Tensor, rate: float, decay: float) -> None:
        squares = self.history[f"{name}/squares"]
        slope = slope + decay * table[rows]
        squares[rows] += slope.square()
        table[rows] -= rate * slope / (squares[rows].sqrt() + 1e-10)

    def _adam(self, name: str, table: Tensor, rows: Tensor, slope: Tensor, rate: float, decay: float) -> None:
        mean, squares, steps = (self.history[f"{name}/{kind}"] for kind in ("mean", "squares", "steps"))
        slope = slope + decay * table[rows]
        steps[rows] += 1
        mean[rows] = _FIRST * mean[rows] + (1 - _FIRST) * slope
        squares[rows] = _SECOND * squares[rows] + (1 - _SECOND) * slope.square()
        first, second = (_correction(kept, steps[rows]) for kept in (_FIRST, _SECOND))
        table[rows] -= rate * (mean[rows] / first) / ((squares[rows] / second).sqrt() + _EPSILON)


def _correction(kept: float, steps: Tensor) -> Tensor:
    """Return 1 - kept ** steps; written so, float32 would lose three of its seven digits where the power is near 1."""
    return -torch.expm1(steps * math.log(kept))


def _table(tensor: Tensor) -> Tensor:
    """Return a view of a parameter as rows."""
    return tensor.view(len(tensor), math.prod(tensor.shape[1:])) if tensor.ndim else tensor.view(1, 1)
