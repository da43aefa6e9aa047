"""ReAlE's loss of facts of one relation against candidates that they share, with its gradient, a position at a time.

At each position every fact is compared with all candidates by one softmax. Scores and gradients are those of
`sigmoid_loops`; what is added here is the way from entities to windowed sums and back, so that a whole position is one
compiled call that holds no lock: steps of several threads do not wait for each other.
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
_ZERO, _ONE = _F(0), _F(1)
_CLAMP, _PAIRED, _SINGLE = _F(CLAMP), _F(PAIRED), _F(SINGLE)
_SMALLEST = _F(-80)  # exp of less counts for nothing beside exp(0)


def softmax_shared(
    entities: Float32, weights: Float32, bias: Float32, columns: Int64, excluded: list[Excluded], factor: float
) -> tuple[float, Float32, Float32, Float32]:
    """Return the loss summed over facts and positions, and its gradients with respect to entities, weights and bias.

    Args:
        entities: [C, d], the candidates; the entities of the facts are among them.
        weights: [arity, d], of the relation.
        bias: [W]; the window size is d / W.
        columns: [arity, n], the facts' entities, as indices among the candidates.
        excluded: for each position, the candidates of each fact that it is not compared with; never its own entity.
        factor: what a sum of sigmoids is multiplied with to give a score.
    """
    if not (np.isfinite(bias).all() and np.isfinite(weights).all() and np.isfinite(entities).all()):
        raise FloatingPointError("a parameter is not finite")
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
