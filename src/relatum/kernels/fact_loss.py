"""ReAlE's loss of facts, with its gradient: against replacements of their own (Eq. 3), or against shared candidates.

For a fact with entities x_1 .. x_n, the argument of sigma in window j is the bias plus the windowed sums of all positions. A
replacement at position p changes the sum of p alone. So a fact with its n K replacements costs n (K + 1) windowed sums and
n K + 1 sums of sigmoids, and the gradient of all of them flows into n (K + 1) entities, n relation rows and one bias.

Facts of one relation that share candidates are compared with all of them by one softmax at each position. Scores and
gradients are those of `windowed_sigmoid_loops`; what is added is the way from entities to windowed sums and back, so that a
whole position is one compiled call that holds no lock: steps of several threads do not wait for each other.
"""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float32, Int64
from relatum.kernels import parallel, windowed_sigmoid_loops
from relatum.kernels.filters import Excluded, lists_of
from relatum.kernels.jit import TILE, exponentials, fastmath_inline, reordered
from relatum.kernels.windowed_sigmoid import CLAMP, PAIRED, SINGLE
from relatum.kernels.windows import spread_row, sum_row

_F = np.float32
_ZERO, _ONE, _LIMIT = _F(0), _F(1), _F(30)
_CLAMP, _PAIRED, _SINGLE = _F(CLAMP), _F(PAIRED), _F(SINGLE)
_SMALLEST = _F(-80)  # exp of less counts for nothing beside exp(0)


def _require_finite(*tables: Float32) -> None:
    if not all(np.isfinite(table).all() for table in tables):
        raise FloatingPointError("a parameter is not finite")


def softmax_per_fact(
    entities: Float32,  # [C, d]
    weights: Float32,  # [P, d], one row for each (relation, position)
    bias: Float32,  # [R, W]; the window size is d / W
    relations: Int64,  # [n], the bias row of each fact
    position_rows: Int64,  # [arity, n], the row of weights of each position of each fact
    columns: Int64,  # [arity, n], the entities of the facts
    replacements: Int64,  # [arity, n, K], what each position is replaced with in turn
    factor: float,  # what a sum of sigmoids is multiplied with to give a score
) -> tuple[float, Float32, Float32, Float32]:
    """Return the summed loss, and its gradients with respect to entities, weights and bias."""
    gradients = np.zeros_like(entities), np.zeros_like(weights), np.zeros_like(bias)
    _require_finite(bias, weights, entities)
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


def softmax_shared(
    entities: Float32, weights: Float32, bias: Float32, columns: Int64, excluded: list[Excluded], factor: float
) -> tuple[float, Float32, Float32, Float32]:
    """Return the loss summed over facts and positions, and its gradients with respect to entities, weights and bias.

    Candidates are the entities [C, d]; columns [arity, n] are indices among them. Weights [arity, d] and bias [W] are of the
    relation. What is excluded at a position is never the fact's own entity.
    """
    _require_finite(bias, weights, entities)
    arity = len(columns)
    losses = np.zeros(arity)
    # Each position adds to gradients of its own: the sums are then the same however many threads share the positions.
    gradients = [np.zeros((arity, *array.shape), np.float32) for array in (entities, weights, bias)]

    def work(p: int) -> None:
        out = [gradient[p] for gradient in gradients]
        lists = lists_of(excluded[p])
        losses[p] = _position(entities, weights, bias, columns, p, *lists, _F(factor), *out)

    parallel.run(work, arity if columns.size else 0)  # without facts there may be no candidates either
    of_entities, of_weights, of_bias = (gradient.sum(0) for gradient in gradients)
    return float(losses.sum()), of_entities, of_weights, of_bias


@reordered
def _position(  # type: ignore[no-untyped-def]
    entities, weights, bias, columns, position, pool, starts, counts, factor, of_entities, of_weights, of_bias
):
    """Add the gradients of one position, and return its loss."""
    size, count, windows = len(entities), columns.shape[1], len(bias)
    sums = np.empty((size, windows), np.float32)
    for c in range(size):
        sum_row(entities[c], weights[position], sums[c])
    queries, part = np.empty((count, windows), np.float32), np.empty(windows, np.float32)
    for q in range(count):
        for j in range(windows):  # whole rows at once would take seconds to compile
            queries[q, j] = bias[j]
        for i in range(len(columns)):
            if i != position:
                sum_row(entities[columns[i, q]], weights[i], part)
                for j in range(windows):
                    queries[q, j] += part[j]
    order, centre, half, paired, single = plan_windows(sums)
    sides = query_sides(queries, order, centre, half, paired + single)
    tiles = (size + TILE - 1) // TILE
    scores = np.empty((count, size), np.float32)
    plan = _ONE, order, centre, paired, single, _ZERO
    windowed_sigmoid_loops.forward(sums, plan, sides, 0, tiles, scores)
    bits = np.empty(size, np.int32)
    loss = 0.0
    for q in range(count):
        out_of_it = pool[starts[q] : starts[q] + counts[q]]
        loss += _softmax(scores[q], columns[position, q], out_of_it, factor, bits)
    of_sums, of_queries = np.empty((size, windows), np.float32), np.zeros((windows, count), np.float32)
    turned = np.ascontiguousarray(sides.T)
    windowed_sigmoid_loops.backward(sums, plan, turned, scores, 0, tiles, of_queries, of_sums)
    for c in range(size):
        spread_row(of_sums[c], entities[c], weights[position], of_entities[c], of_weights[position])
    for q in range(count):
        for j in range(windows):
            part[order[j]] = of_queries[j, q]
        for j in range(windows):
            of_bias[j] += part[j]
        for i in range(len(columns)):
            if i != position:
                entity = columns[i, q]
                spread_row(part, entities[entity], weights[i], of_entities[entity], of_weights[i])
    return loss


@fastmath_inline
def plan_windows(sums):  # type: ignore[no-untyped-def]
    """Return the plan of `sigmoid.plan`: order, centre and half range of the windows, how many are paired and single."""
    windows = sums.shape[1]
    low, high = sums[0].copy(), sums[0].copy()
    for c in range(1, len(sums)):
        for j in range(windows):
            low[j] = min(low[j], sums[c, j])
            high[j] = max(high[j], sums[c, j])
    half = (high - low) * _F(0.5)
    # Written out: numpy's where, argsort and sum take seconds to compile.
    small = medium = 0
    for j in range(windows):
        small += half[j] <= _PAIRED
        medium += half[j] <= _SINGLE
    order = np.empty(windows, np.int64)
    ends = np.array([0, small, medium])  # where the next window of each size goes
    for j in range(windows):
        size = 0 if half[j] <= _PAIRED else 1 if half[j] <= _SINGLE else 2
        order[ends[size]] = j
        ends[size] += 1
    paired = small // 2 * 2
    single = medium - paired
    return order, (low + half)[order], half[order], paired, single


@fastmath_inline
def query_sides(queries, order, centre, half, exponents):  # type: ignore[no-untyped-def]
    """Return exp(-a) of the clamped, centred queries in the plan's order; the last windows hold a itself."""
    sides = np.empty(queries.shape, np.float32)
    bits = np.empty(exponents, np.int32)
    for q in range(len(queries)):
        for j in range(len(order)):
            a = queries[q, order[j]] + centre[j]
            limit = _CLAMP + half[j]
            sides[q, j] = -min(max(a, -limit), limit) if j < exponents else a
        exponentials(sides[q, :exponents], bits)
    return sides


@fastmath_inline
def _softmax(scores, target, excluded, factor, bits):  # type: ignore[no-untyped-def]
    """Turn sums of sigmoids into the gradient of -log softmax(factor * scores)[target], and return that loss."""
    for candidate in excluded:
        scores[candidate] = -np.inf
    largest = scores[0]
    for c in range(len(scores)):
        largest = max(largest, scores[c])
    true = scores[target]
    for c in range(len(scores)):
        scores[c] = max((scores[c] - largest) * factor, _SMALLEST)
    exponentials(scores, bits)
    for candidate in excluded:
        scores[candidate] = _ZERO
    total = _ZERO
    for c in range(len(scores)):
        total += scores[c]
    share = factor / total
    for c in range(len(scores)):
        scores[c] *= share
    scores[target] -= factor
    return np.log(total) + (largest - true) * factor
