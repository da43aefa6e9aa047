"""The softmax loss of questions with several answers, from their scores: the loss, and its slopes in the place of scores."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float32, Int32, Int64
from relatum.kernels.jit import exponentials, fastmath_inline, reordered

Objective = tuple[bool, float, float]  # see `relatum.models.training_protocols.Objective`

_F = np.float32
_ZERO, _ONE = _F(0), _F(1)
_SMALLEST = _F(-80)  # exp of less counts for nothing beside exp(0)


def answer_slopes(
    scores: Float32, candidates: Int64, questions: tuple[Int32, Int64], chosen: Int64, objective: Objective
) -> tuple[float, float]:
    """Turn scores [questions, candidates] into the slopes of the mean loss per answer, in place; return loss and weight.

    Args:
        scores: of the chosen questions.
        candidates: ascending and distinct; all answers are among them.
        questions: the answers of all questions, one after the other, and where those of each start.
        chosen: whose scores they are.
        objective: what is asked of the scores.
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
