"""The softmax loss of questions with several answers: from their scores, or with all that ReAlE's are made of, in one call.

A question is a fact with one position left open; all its known answers are its targets. ReAlE's call is about questions
at one position of one relation, and gives the gradients of its parameters. It gathers the rows that it needs, sums over
windows, scores, takes softmax and gradient, and holds no lock: batches of several threads do not wait for each other.
Questions are taken a few at a time, so that no matrix of all scores is kept.

The forward sums are those of `windowed_sigmoid_loops`. Of the gradient only pairs of question and candidate are computed
that count: after a while of training most candidates have next to no share of the softmax.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relatum.arrays import Float32, Int32, Int64
from relatum.kernels.fact_loss import plan_windows, query_sides
from relatum.kernels.jit import TILE, exponentials, fastmath_inline, reordered
from relatum.kernels.rows import gather, runs_of
from relatum.kernels.windowed_sigmoid_loops import score_tile
from relatum.kernels.windows import spread_row, sum_row

Objective = tuple[bool, float, float]  # see `relatum.models.training_protocols.Objective`

_F = np.float32
_ZERO, _ONE = _F(0), _F(1)
_SMALLEST = _F(-80)  # exp of less counts for nothing beside exp(0)
_NEGLIGIBLE = _F(1e-5)  # a candidate with a smaller share of the softmax gets no gradient,
_LEFT_OUT = _F(0.1)  # unless all that are left out might have a larger share together
_TOGETHER = 32  # questions whose scores are kept at once
_LANES = 16  # rows are padded to a multiple of so many windows, for what is left over is not computed side by side


class Gradients(NamedTuple):
    """The mean loss per answer of a batch, and its gradients on the rows and windows that it has used."""

    loss: float
    weight: float  # of all answers together
    rows: Int64  # of entities that have a gradient, ascending
    entities: Float32  # [rows, kept columns]
    relations: Float32  # [arity, kept columns]
    bias: Float32  # [kept windows]


def question_gradients(
    tables: tuple[Float32, Float32, Float32],  # entities [N, d], relations [P, d], bias [R, W]; a window has d / W columns
    relation: tuple[int, int],  # its row in the table of biases, and that of its position 0 in the table of relations
    position: int,  # the open one of all questions
    questions: tuple[Int32, Int32, Int64],  # given entities [n, arity - 1], answers, and where those of each start
    chosen: Int64,  # which of the questions are in the batch
    pool: Int64 | None,  # what they are compared with beside all their answers; None for every entity
    windows: Int64,  # that are used, ascending
    factor: float,  # what a sum of sigmoids is multiplied with to give a score
    objective: Objective,
    *,
    mapped: bool,  # whether entities pass through a sigmoid
) -> Gradients:
    """Return the mean loss of questions per answer, and its gradients."""
    if not len(chosen):
        width = len(windows) * (tables[0].shape[1] // tables[2].shape[1])
        shapes = (0, width), (questions[0].shape[1] + 1, width), (len(windows),)
        return Gradients(0.0, 0.0, np.empty(0, np.int64), *(np.zeros(shape, np.float32) for shape in shapes))
    joint, damping, smoothing = objective
    drawn, everything = (np.empty(0, np.int64), True) if pool is None else (pool, False)
    numbers = _F(factor), bool(joint), _F(damping), _F(smoothing)
    found = _gradients(tables, relation, position, questions, chosen, drawn, everything, windows, numbers, mapped)
    return Gradients(*found)


@reordered
def _gradients(tables, rows_of_relation, position, questions, chosen, pool, everything, windows, objective, mapped):  # type: ignore[no-untyped-def]
    entities, relations, bias = tables
    relation, first_row = rows_of_relation
    given, answers, starts = questions
    factor, joint, damping, smoothing = objective
    window, kept = entities.shape[1] // bias.shape[1], len(windows)
    count, arity = len(chosen), given.shape[1] + 1
    candidates = np.arange(len(entities)) if everything else _with_answers(pool, answers, starts, chosen)
    own = given[chosen].astype(np.int64)
    rows = _distinct(np.concatenate((candidates, own.ravel())))
    among = np.searchsorted(rows, candidates)
    values = _taken(entities, rows, windows, window, mapped)
    weights = _taken(relations, np.arange(first_row, first_row + arity), windows, window, False)
    width = (kept + _LANES - 1) // _LANES * _LANES
    sums, sides = np.zeros((len(candidates), width), np.float32), np.zeros((count, width), np.float32)
    for c in range(len(candidates)):
        sum_row(values[among[c]], weights[position], sums[c, :kept])
    known = np.searchsorted(rows, own.ravel()).reshape(own.shape)
    queries = _queries(values, weights, bias[relation], windows, known, position)
    order, centre, half, paired, single = plan_windows(sums[:, :kept])
    sides[:, :kept] = query_sides(queries, order, centre, half, paired + single)
    _exponentiate(sums, order, centre, paired + single)
    tiles = _tiled(sums, kept)
    of_sums, of_sides = np.zeros(sums.shape, np.float32), np.zeros(sides.shape, np.float32)
    scores = np.empty((min(_TOGETHER, count), tiles.shape[0] * TILE), np.float32)
    bits, counted = np.empty(len(candidates), np.int32), np.empty(len(candidates), np.int64)
    # Smoothing gives every candidate the same small slope: together they count.
    least = _ZERO if smoothing > 0 else min(_NEGLIGIBLE, _LEFT_OUT / _F(len(candidates)))
    moved = np.zeros(len(rows), np.bool_)
    loss = 0.0
    weight = 0.0
    for begin in range(0, count, _TOGETHER):
        end = min(count, begin + _TOGETHER)
        for t in range(tiles.shape[0]):
            for q in range(begin, end):
                score_tile(tiles[t], sides[q, :kept], paired, single, _ZERO, scores[q - begin, t * TILE : (t + 1) * TILE])
        for q in range(begin, end):
            true = answers[starts[chosen[q]] : starts[chosen[q] + 1]]
            share = _F(len(true) ** -damping)
            slopes = scores[q - begin, : len(candidates)]
            loss += float(share * slopes_of(slopes, candidates, true, factor, joint, smoothing, bits))
            weight += float(share * len(true))
            number = 0
            for c in range(len(candidates)):
                counted[number] = c
                number += abs(slopes[c]) > least
            together = width if paired == kept else paired  # what is padded has a side of 0, and so no slope
            which = counted[:number]
            for c in which:
                moved[among[c]] = True
            _backward(sums, sides[q], together, paired + single, slopes, which, share * factor, of_sums, of_sides[q])
    indices, number = _with_gradient(rows, moved, known)
    found = _to_parameters(
        of_sums, of_sides, order, values, weights, among, known, indices, number, position, _F(1 / weight), mapped
    )
    return loss / weight, weight, rows[:number], *found


@fastmath_inline
def _with_gradient(rows, moved, known):  # type: ignore[no-untyped-def]
    """Put the rows that have a gradient, candidates that moved and what is given, first; return their new indices, or -1."""
    for q in range(len(known)):
        for i in range(known.shape[1]):
            moved[known[q, i]] = True
    indices, number = np.full(len(rows), -1, np.int64), 0
    for row in range(len(rows)):
        if moved[row]:
            rows[number], indices[row] = rows[row], number
            number += 1
    return indices, number


@fastmath_inline
def _to_parameters(  # type: ignore[no-untyped-def]
    of_sums, of_sides, order, values, weights, among, known, indices, number, position, scale, mapped
):
    """Return the gradients of entities, relation and bias, from those of the sums of candidates and questions."""
    kept = len(order)
    of_values = np.zeros((number, values.shape[1]), np.float32)
    of_weights, of_bias = np.zeros(weights.shape, np.float32), np.zeros(kept, np.float32)
    part = np.empty(kept, np.float32)
    for c in range(len(among)):
        row = among[c]
        if indices[row] < 0:
            continue
        for j in range(kept):
            part[order[j]] = of_sums[c, j] * scale
        spread_row(part, values[row], weights[position], of_values[indices[row]], of_weights[position])
    for q in range(len(known)):
        for j in range(kept):
            part[order[j]] = of_sides[q, j] * scale
        for j in range(kept):
            of_bias[j] += part[j]
        for i in range(known.shape[1]):
            other, row = i + (i >= position), known[q, i]
            spread_row(part, values[row], weights[other], of_values[indices[row]], of_weights[other])
    if mapped:
        for row in range(len(values)):
            if indices[row] >= 0:
                value, slope = values[row], of_values[indices[row]]
                for k in range(len(value)):
                    slope[k] *= value[k] * (_ONE - value[k])
    return of_values, of_weights, of_bias


@fastmath_inline
def _with_answers(pool, answers, starts, chosen):  # type: ignore[no-untyped-def]
    """Return the entities of a pool and the answers of the chosen questions, ascending and distinct."""
    size = len(pool)
    for i in chosen:
        size += starts[i + 1] - starts[i]
    found = np.empty(size, np.int64)
    found[: len(pool)] = pool
    size = len(pool)
    for i in chosen:
        for n in range(starts[i], starts[i + 1]):
            found[size] = answers[n]
            size += 1
    return _distinct(found)


@fastmath_inline
def _distinct(ids):  # type: ignore[no-untyped-def]
    """Return ids, ascending, each once; the array that is given is sorted."""
    ids.sort()
    size = 0
    for i in range(len(ids)):
        if size == 0 or ids[i] != ids[size - 1]:
            ids[size] = ids[i]
            size += 1
    return ids[:size]


@fastmath_inline
def _taken(table, rows, windows, window, mapped):  # type: ignore[no-untyped-def]
    """Return the kept columns of some rows, through a sigmoid if mapped."""
    found = np.empty((len(rows), len(windows) * window), np.float32)
    bits = np.empty(found.shape[1], np.int32)
    columns = np.empty(found.shape[1], np.int64)
    for j in range(len(windows)):
        for k in range(window):
            columns[j * window + k] = windows[j] * window + k
    runs = runs_of(columns)
    for i in range(len(rows)):
        out = found[i]
        gather(table[rows[i]], columns, runs, out)
        if mapped:
            for k in range(len(out)):
                out[k] = -min(max(out[k], _SMALLEST), -_SMALLEST)
            exponentials(out, bits)
            for k in range(len(out)):
                out[k] = _ONE / (_ONE + out[k])
    return found


@fastmath_inline
def _queries(values, weights, bias, windows, indices, position):  # type: ignore[no-untyped-def]
    """Return the bias and the windowed sums of the given entities, [n, windows]."""
    queries, part = np.empty((len(indices), len(windows)), np.float32), np.empty(len(windows), np.float32)
    for q in range(len(indices)):
        for j in range(len(windows)):
            queries[q, j] = bias[windows[j]]
        for i in range(indices.shape[1]):
            sum_row(values[indices[q, i]], weights[i + (i >= position)], part)
            for j in range(len(windows)):
                queries[q, j] += part[j]
    return queries


@fastmath_inline
def _exponentiate(sums, order, centre, exponents):  # type: ignore[no-untyped-def]
    """Turn windowed sums into exp(-x) in the plan's order, centred; the windows after `exponents` keep x itself."""
    bits, part = np.empty(exponents, np.int32), np.empty(len(order), np.float32)
    for c in range(len(sums)):
        for j in range(len(order)):
            part[j] = sums[c, order[j]] - centre[j]
        for j in range(exponents):
            part[j] = -part[j]
        exponentials(part[:exponents], bits)
        for j in range(len(order)):
            sums[c, j] = part[j]


@fastmath_inline
def _tiled(sums, windows):  # type: ignore[no-untyped-def]
    """Return the candidates in tiles [tiles, windows, TILE]; lanes beyond the last hold 1."""
    count = (len(sums) + TILE - 1) // TILE
    tiles = np.empty((count, windows, TILE), np.float32)
    for t in range(count):
        width = min(len(sums) - t * TILE, TILE)
        for j in range(windows):
            lane = tiles[t, j]
            for e in range(width):
                lane[e] = sums[t * TILE + e, j]
            for e in range(width, TILE):
                lane[e] = _ONE
    return tiles


@fastmath_inline
def _backward(sums, side, paired, exponents, slopes, chosen, factor, of_sums, of_side):  # type: ignore[no-untyped-def]
    """Add the gradients of one question: the slope of 1 / (1 + u) is u / (1 + u)^2; two candidates share one division."""
    number = len(chosen)
    for i in range(0, number - 1, 2):
        c, d = chosen[i], chosen[i + 1]
        g, h = slopes[c] * factor, slopes[d] * factor
        for j in range(paired):
            u, v = side[j] * sums[c, j], side[j] * sums[d, j]
            left, right = _ONE + u, _ONE + v
            share = _ONE / (left * right)
            s, t = right * share, left * share
            x, y = g * (u * s * s), h * (v * t * t)
            of_sums[c, j] += x
            of_sums[d, j] += y
            of_side[j] += x + y
    for i in range(number // 2 * 2, number):
        c = chosen[i]
        g = slopes[c] * factor
        for j in range(paired):
            u = side[j] * sums[c, j]
            s = _ONE / (_ONE + u)
            x = g * (u * s * s)
            of_sums[c, j] += x
            of_side[j] += x
    for i in range(number):
        c = chosen[i]
        g = slopes[c] * factor
        for j in range(paired, len(side)):
            u = side[j] * sums[c, j] if j < exponents else np.exp(-(side[j] + sums[c, j]))
            s = _ONE / (_ONE + u)
            x = g * (s * (_ONE - s))
            of_sums[c, j] += x
            of_side[j] += x


def answer_slopes(
    scores: Float32, candidates: Int64, questions: tuple[Int32, Int64], chosen: Int64, objective: Objective
) -> tuple[float, float]:
    """Turn scores [chosen, candidates] into the slopes of the mean loss per answer, in place; return loss and weight.

    Candidates ascend, and all answers are among them. `questions` are the answers of all questions, one after the other, and
    where those of each start.
    """
    if not len(chosen):
        return 0.0, 0.0
    joint, damping, smoothing = objective
    found: tuple[float, float] = _answer_slopes(
        scores, candidates, *questions, chosen, bool(joint), _F(damping), _F(smoothing)
    )
    return found


@reordered
def _answer_slopes(scores, candidates, answers, starts, chosen, joint, damping, smoothing):  # type: ignore[no-untyped-def]
    loss = 0.0
    weight = 0.0
    bits = np.empty(len(candidates), np.int32)
    for q in range(len(chosen)):
        true = answers[starts[chosen[q]] : starts[chosen[q] + 1]]
        share = _F(len(true) ** -damping)
        loss += float(share * slopes_of(scores[q], candidates, true, _ONE, joint, smoothing, bits))
        weight += float(share * len(true))
        for c in range(len(candidates)):
            scores[q, c] *= share
    scale = _F(1 / weight)
    for q in range(len(chosen)):
        for c in range(len(candidates)):
            scores[q, c] *= scale
    return loss / weight, weight


@fastmath_inline
def slopes_of(scores, candidates, true, factor, joint, smoothing, bits):  # type: ignore[no-untyped-def]
    """Turn sums of sigmoids into the slopes of the loss with respect to scores, and return the loss.

    With E the smoothing, n candidates and S the mean of their scores, an answer of score s costs log Z - (1 - E) s - E S. Z
    is the sum of exp over all candidates, or, where answers are not joint, over this answer and those that are none.
    """
    size, number = len(scores), len(true)
    indices, own = np.empty(number, np.int64), np.empty(number, np.float32)
    for i in range(number):
        indices[i] = np.searchsorted(candidates, true[i])
        own[i] = scores[indices[i]]
        if not joint:
            scores[indices[i]] = -np.inf
    largest = -_F(np.inf)
    for c in range(size):
        largest = max(largest, scores[c])
    if not joint and size == number:  # nothing to compare with
        for c in range(size):
            scores[c] = _ZERO
        return 0.0
    level = 0.0  # the sum of the scores that are compared with, above the largest
    if smoothing > 0:
        for c in range(size):
            level += float(scores[c] - largest) if scores[c] > -np.inf else 0.0
    for c in range(size):
        scores[c] = max((scores[c] - largest) * factor, _SMALLEST)
    exponentials(scores, bits)
    if not joint:
        for i in range(number):
            scores[indices[i]] = _ZERO
    total = _ZERO
    for c in range(size):
        total += scores[c]
    compared = size if joint else size - number + 1
    even = smoothing / _F(compared)
    loss = 0.0
    wrong = _ZERO
    for i in range(number):
        height = (own[i] - largest) * factor
        if joint:
            loss += np.log(total) - height + smoothing * height - even * level * factor
        else:
            gap = np.log(total) - height  # of all that is no answer above this answer
            loss += max(gap, _ZERO) + np.log1p(np.exp(-abs(gap))) + smoothing * height - even * (level * factor + height)
            own[i] = -_ONE / (_ONE + np.exp(-gap))
            wrong -= own[i]
    share = (_F(number) if joint else wrong) / total
    for c in range(size):
        scores[c] = scores[c] * share - even * _F(number)
    for i in range(number):
        if joint:
            scores[indices[i]] -= _ONE - smoothing
        else:
            scores[indices[i]] = own[i] + smoothing - even
    return loss
