"""The truth in plain numpy: what every compiled kernel must agree with. Clear, not fast."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["adagrad", "count_better", "minimum_scores", "sigma_gradients", "sigma_sums", "sigmoid", "top"]

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.signedinteger]


def sigmoid(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    result: Floats = np.where(x >= 0, 1 / (1 + small), small / (1 + small))
    return result


def sigma_sums(queries: Floats, candidates: Floats, tanh: bool) -> Floats:
    """Return the sum over windows of sigma(query + candidate), [Q, C], from [Q, W] and [C, W]; sigma sigmoid or tanh."""
    inside = queries[:, None, :] + candidates[None, :, :]
    sums: Floats = (np.tanh(inside) if tanh else sigmoid(inside)).sum(-1)
    return sums


def sigma_gradients(queries: Floats, candidates: Floats, upstream: Floats, tanh: bool) -> tuple[Floats, Floats]:
    """Return the gradients of the sums with respect to queries and candidates, given that of the sums, [Q, C]."""
    inside = queries[:, None, :] + candidates[None, :, :]
    value = sigmoid(2 * inside) if tanh else sigmoid(inside)
    slope = upstream[:, :, None] * value * (1 - value) * (4 if tanh else 1)
    return slope.sum(1), slope.sum(0)


def count_better(scores: Floats, targets: Ints, excluded: list[Ints]) -> tuple[Ints, Ints]:
    """Return, per row of [Q, C] scores, how many candidates score above, and how many exactly as much as, the target.

    The target itself and the excluded candidates are not counted.
    """
    better, equal = [], []
    for row, target, answers in zip(scores, targets, excluded, strict=True):
        others = np.setdiff1d(np.arange(len(row)), [*answers, target])
        better.append(np.sum(row[others] > row[target]))
        equal.append(np.sum(row[others] == row[target]))
    return np.array(better, np.int64), np.array(equal, np.int64)


def top(scores: Floats, k: int, excluded: list[Ints]) -> list[Ints]:
    """Return, per row, the ids of the k best candidates that are not excluded; of equal ones the smaller id first."""
    found = []
    for row, out in zip(scores, excluded, strict=True):
        kept = np.setdiff1d(np.arange(len(row)), out)
        found.append(kept[np.argsort(-row[kept], kind="stable")][:k])
    return found


def adagrad(
    table: Floats, history: Floats, rows: Ints, gradient: Floats, learning_rate: float, weight_decay: float, epsilon: float
) -> tuple[Floats, Floats]:
    """Return table and history after one Adagrad step on the given distinct rows; the others are left as they are."""
    table, history = table.copy(), history.copy()
    slope = gradient + weight_decay * table[rows]
    history[rows] += slope**2
    table[rows] -= learning_rate * slope / (np.sqrt(history[rows]) + epsilon)
    return table, history


def minimum_scores(queries: Floats, candidates: Floats, bias: Floats, weights: Floats, offset: float) -> Floats:
    """Return v . relu(min(p, p') + min(q, q') + b) + c, [Q, C], for sides [p; q] of [Q, 2 H] and [C, 2 H]."""
    left, right = np.split(np.minimum(queries[:, None, :], candidates[None, :, :]), 2, axis=-1)
    scores: Floats = np.maximum(left + right + bias, 0) @ weights + offset
    return scores
