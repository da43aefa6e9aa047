"""ReAlE's loss of facts against replacements of their own (Eq. 3), with its gradient, fact by fact, in one pass.

For a fact with entities x_1 .. x_n, the argument of sigma in window j is the bias plus the windowed sums of all positions. A
replacement at position p changes the sum of p alone. So a fact with its n K replacements costs n (K + 1) windowed sums and
n K + 1 sums of sigmoids, and the gradient of all of them flows into n (K + 1) entities, n relation rows and one bias.
"""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float32, Int64
from relatum.kernels.jit import exponentials, fastmath_inline, reordered
from relatum.kernels.windows import spread_row, sum_row

_F = np.float32
_ZERO, _ONE, _LIMIT = _F(0), _F(1), _F(30)


def softmax_per_fact(
    entities: Float32,
    weights: Float32,
    bias: Float32,
    relations: Int64,
    position_rows: Int64,
    columns: Int64,
    replacements: Int64,
    factor: float,
) -> tuple[float, Float32, Float32, Float32]:
    """Return the summed loss, and its gradients with respect to entities, weights and bias.

    Args:
        entities: [C, d].
        weights: [P, d], one row for each (relation, position).
        bias: [R, W]; the window size is d / W.
        relations: [n], the bias row of each fact.
        position_rows: [arity, n], the row of weights of each position of each fact.
        columns: [arity, n], the entities of the facts.
        replacements: [arity, n, K], what each position is replaced with in turn.
        factor: what a sum of sigmoids is multiplied with to give a score.
    """
    gradients = np.zeros_like(entities), np.zeros_like(weights), np.zeros_like(bias)
    if not (np.isfinite(bias).all() and np.isfinite(weights).all() and np.isfinite(entities).all()):
        raise FloatingPointError("a parameter is not finite")
    loss = _facts(entities, weights, bias, relations, position_rows, columns, replacements, _F(factor), *gradients)
    return float(loss), *gradients


@fastmath_inline
def _sigmoids(inside, bits, out):  # type: ignore[no-untyped-def]
    """Fill out[W] with sigmoid(inside), and return their sum; beyond 30 a sigmoid is 1 or 0 to the last bit of its sum."""
    for j in range(len(out)):
        out[j] = min(max(-inside[j], -_LIMIT), _LIMIT)
    exponentials(out, bits)
    total = _ZERO
    for j in range(len(out)):
        value = _ONE / (_ONE + out[j])
        out[j] = value
        total += value
    return total


@reordered
def _facts(  # type: ignore[no-untyped-def]
    entities, weights, bias, relations, position_rows, columns, replacements, factor, of_entities, of_weights, of_bias
):
    arity, count, each = replacements.shape
    windows = bias.shape[1]
    rivals = arity * each + 1  # the fact itself first
    sums = np.empty((arity, windows), np.float32)
    inside, whole = np.empty(windows, np.float32), np.empty(windows, np.float32)
    values = np.empty((rivals, windows), np.float32)
    scores = np.empty(rivals, np.float32)
    all_slopes, slopes = np.empty(windows, np.float32), np.empty((arity, windows), np.float32)
    bits = np.empty(windows, np.int32)
    loss = 0.0
    for i in range(count):
        for j in range(windows):
            whole[j] = bias[relations[i], j]
        for p in range(arity):
            sum_row(entities[columns[p, i]], weights[position_rows[p, i]], sums[p])
            for j in range(windows):
                whole[j] += sums[p, j]
        scores[0] = factor * _sigmoids(whole, bits, values[0])
        for p in range(arity):
            for m in range(each):
                sum_row(entities[replacements[p, i, m]], weights[position_rows[p, i]], inside)
                for j in range(windows):
                    inside[j] += whole[j] - sums[p, j]
                rival = 1 + p * each + m
                scores[rival] = factor * _sigmoids(inside, bits, values[rival])
        largest = scores.max()
        normal = 0.0
        for rival in range(rivals):
            normal += np.exp(scores[rival] - largest)
        loss += np.log(normal) + largest - scores[0]
        # The slope of each rival's score, and with it of the argument of sigma in each of its windows.
        for j in range(windows):
            all_slopes[j] = _ZERO
        for rival in range(rivals):
            share = factor * _F(np.exp(scores[rival] - largest) / normal)
            if rival == 0:
                share -= factor
            for j in range(windows):
                values[rival, j] = share * values[rival, j] * (_ONE - values[rival, j])
                all_slopes[j] += values[rival, j]
        for j in range(windows):
            of_bias[relations[i], j] += all_slopes[j]
        for p in range(arity):
            for j in range(windows):
                slopes[p, j] = all_slopes[j]
            for m in range(each):
                rival = 1 + p * each + m
                entity, row = replacements[p, i, m], position_rows[p, i]
                spread_row(values[rival], entities[entity], weights[row], of_entities[entity], of_weights[row])
                for j in range(windows):
                    slopes[p, j] -= values[rival, j]
            entity, row = columns[p, i], position_rows[p, i]
            spread_row(slopes[p], entities[entity], weights[row], of_entities[entity], of_weights[row])
    return loss
