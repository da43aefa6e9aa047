"""Kernels in plain numpy: what the compiled ones must agree with. Clear, not fast."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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


def qualifier_scores(queries: Floats, candidates: Floats, weights: Floats) -> Floats:
    """Return w . relu(min(m + j, a + k)), [Q, C], for queries [m; a], [Q, 2 H], and candidates [j; k], or k with j = 0."""
    missing = np.zeros((len(candidates), 2 * len(weights) - candidates.shape[1]), candidates.dtype)
    first, second = np.split(queries[:, None, :] + np.concatenate([missing, candidates], 1), 2, axis=-1)
    scores: Floats = np.maximum(np.minimum(first, second), 0) @ weights
    return scores


def mean_log_odds(left: Floats, right: Floats, weight: float) -> Floats:
    """Return the log-odds of weight * sigmoid(left) + (1 - weight) * sigmoid(right)."""
    weights = np.log(weight), np.log1p(-weight)

    def logarithm(x: Floats, y: Floats) -> Floats:
        """Return the logarithm of the mean of the sigmoids."""
        mean: Floats = np.logaddexp(weights[0] - np.logaddexp(0, -x), weights[1] - np.logaddexp(0, -y))
        return mean

    return logarithm(left, right) - logarithm(-left, -right)


def answer_loss(
    scores: Floats, answers: list[Ints], joint: bool, damping: float, smoothing: float
) -> tuple[float, float, Floats]:
    """Return the mean loss per answer of questions, their weight, and the loss's slopes with respect to scores [Q, C].

    `answers` holds the columns that answer each question. An answer is compared with all candidates if they are joint, else
    with itself and all that are no answers; `smoothing` is the share of its target that is spread evenly over them.
    """
    loss, weight, slopes = 0.0, 0.0, np.zeros(scores.shape)
    for row, slope, true in zip(scores.astype(np.float64), slopes, answers, strict=True):
        share = len(true) ** -damping
        weight += share * len(true)
        for answer in true:
            compared = np.setdiff1d(np.arange(len(row)), [] if joint else np.setdiff1d(true, answer))
            target = (1 - smoothing) * (compared == answer) + smoothing / len(compared)
            logarithms = row[compared] - np.logaddexp.reduce(row[compared])
            loss -= share * float(target @ logarithms)
            slope[compared] += share * (np.exp(logarithms) - target)
    return (loss / weight, weight, slopes / weight) if weight else (0.0, 0.0, slopes)


def question_gradients(
    tables: tuple[Floats, Floats, Floats],
    relation: tuple[int, int],
    position: int,
    questions: tuple[Ints, Ints, Ints],
    chosen: Ints,
    pool: Ints | None,
    windows: Ints,
    factor: float,
    objective: tuple[bool, float, float],
    *,
    mapped: bool,
) -> tuple[float, float, Floats, Floats, Floats]:
    """Return ReAlE's mean loss per answer, the weight, and the gradients of the whole tables.

    See `question_loss.question_gradients` for the arguments.
    """
    (row, first), (given, answers, starts) = relation, questions
    arity, window = given.shape[1] + 1, tables[0].shape[1] // tables[2].shape[1]
    columns = (windows[:, None] * window + np.arange(window)).ravel()
    values = sigmoid(tables[0].astype(np.float64)) if mapped else tables[0].astype(np.float64)
    weights = tables[1][first : first + arity].astype(np.float64)
    lists = [answers[starts[i] : starts[i + 1]] for i in chosen]
    candidates = np.arange(len(values)) if pool is None else np.unique(np.concatenate([pool, *lists]))
    others = {other: given[chosen, other - (other > position)] for other in range(arity) if other != position}

    def sums(ids: Ints, at: int) -> Floats:
        found: Floats = (values[ids] * weights[at])[:, columns].reshape(len(ids), len(windows), window).sum(-1)
        return found

    queries = np.tile(tables[2][row, windows].astype(np.float64), (len(chosen), 1))
    queries = sum((sums(ids, other) for other, ids in others.items()), queries)
    sides = queries, sums(candidates, position)
    scores = factor * sigma_sums(*sides, tanh=False)
    loss, weight, slopes = answer_loss(scores, [np.searchsorted(candidates, true) for true in lists], *objective)
    of_queries, of_candidates = sigma_gradients(*sides, factor * slopes, tanh=False)
    of_entities, of_relations, of_bias = (np.zeros(table.shape) for table in tables)
    for at, ids, slope in [(position, candidates, of_candidates), *((*other, of_queries) for other in others.items())]:
        each = np.zeros((len(ids), values.shape[1]))
        each[:, columns] = np.repeat(slope, window, axis=1)
        np.add.at(of_entities, ids, each * weights[at])
        of_relations[first + at] += (each * values[ids]).sum(0)
    of_bias[row, windows] = of_queries.sum(0)
    return loss, weight, of_entities * (values * (1 - values) if mapped else 1), of_relations, of_bias
