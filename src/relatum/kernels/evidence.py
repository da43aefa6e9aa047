"""What rules make of known facts, in compiled loops: how often they are right, and how strongly they speak for candidates.

A rule finds, for each question, the candidates that some facts name: a list in ascending order, with a candidate as often as
facts name it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relatum.kernels.filters import Excluded
from relatum.kernels.jit import exact

__all__ = ["TIMES", "Scratch", "count_right", "strengths"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]

TIMES = 4  # as many facts or more, that name a candidate, count alike

_ONE = np.float32(1)


def count_right(found: Excluded, answers: Ids, known: Excluded, own: Ids) -> tuple[Ints, Ints]:
    """Return how often a rule names the answer of a question, and how many candidates it names in all, both int64[TIMES].

    Number n of either is about candidates that n + 1 facts name, the last about those that more do. Other known answers are
    not counted. The fact that a question was made of may be among those that a rule reads: then what it names must be named
    by another one.

    Args:
        found: the candidates that the rule finds for each question.
        answers: the answer of each question.
        known: all known answers to each question.
        own: what the fact that each question was made of names itself; -1 if it names nothing.
    """
    lists = (found.pool, found.starts, found.counts, known.pool, known.starts, known.counts)
    right, named = np.zeros((2, TIMES), np.int64)
    _count_right(*lists, answers, own, right, named)
    return right, named


@exact
def _count_right(pool, starts, counts, known, known_starts, known_counts, answers, own, right, named):  # type: ignore[no-untyped-def]
    for q in range(len(answers)):
        index, end = starts[q], starts[q] + counts[q]
        other, last = known_starts[q], known_starts[q] + known_counts[q]
        while index < end:
            candidate = pool[index]
            times = 0
            while index < end and pool[index] == candidate:
                times += 1
                index += 1
            if candidate == own[q]:
                times -= 1
            if times == 0:
                continue
            if candidate == answers[q]:
                right[min(times, TIMES) - 1] += 1
                named[min(times, TIMES) - 1] += 1
                continue
            while other < last and known[other] < candidate:
                other += 1
            if other == last or known[other] != candidate:
                named[min(times, TIMES) - 1] += 1


class Scratch:
    """What rules have said so far about the candidates of some questions; kept between calls, and clean between them."""

    def __init__(self, questions: int, candidates: int) -> None:
        self.times = np.zeros((questions, candidates), np.uint8)
        self.best = np.zeros((questions, candidates), np.float32)
        self.doubt = np.zeros((questions, candidates), np.float32)
        self.counted = np.zeros((questions, candidates), np.float32)
        self.value = np.zeros((questions, candidates), np.float32)


def strengths(
    lists: list[tuple[Excluded, float, Floats, bool]], scratch: Scratch, questions: int, most: int
) -> tuple[Ints, Ids, Floats, Floats, Floats, Floats]:
    """Return the candidates that rules name: question, candidate, and four confidences; 0 where no such rule names it.

    They are, of rules that read an answer from facts, that of the best one, that of several together, and that of several by
    how many facts name the candidate; and that of the best rule that names a value. Several rules together are right if any
    of them is, as if they were independent. Ordered by question and candidate.

    Args:
        lists: what each rule finds for each question, its confidence, its confidence by how many facts name a candidate,
            float32[TIMES], and whether it names a value; the most confident first.
        scratch: for at least so many questions.
        questions: how many.
        most: of how many rules that name a candidate, the most confident, the confidences are put together.
    """
    size = min(sum(int(found.counts.sum()) for found, *_ in lists), questions * scratch.times.shape[1])
    touched = np.empty(size, np.int64)
    count = 0
    arrays = (scratch.times, scratch.best, scratch.doubt, scratch.counted)
    for found, confidence, by_times, is_value in lists:
        start = (found.pool, found.starts, found.counts, np.float32(confidence))
        if is_value:
            count = _take_value(*start, scratch.times, scratch.value, touched, count)
        else:
            count = _take(*start, by_times, most, *arrays, scratch.value, touched, count)
    touched = np.sort(touched[:count])
    best, together, counted, value = np.zeros((4, count), np.float32)
    _give(touched, *arrays, scratch.value, best, together, counted, value)
    rows, candidates = np.divmod(touched, scratch.times.shape[1])
    return rows, candidates.astype(np.int32), best, together, counted, value


@exact
def _take(  # type: ignore[no-untyped-def]
    pool, starts, counts, confidence, by_times, most, times, best, doubt, counted, value, touched, count
):
    """Note what one rule finds; return how many pairs of a question and a candidate were found by any rule yet."""
    width = times.shape[1]
    for q in range(len(starts)):
        index, end = starts[q], starts[q] + counts[q]
        while index < end:
            candidate = pool[index]
            facts = 0
            while index < end and pool[index] == candidate:
                facts += 1
                index += 1
            if times[q, candidate] == 0:
                if value[q, candidate] == 0:
                    touched[count] = q * width + candidate
                    count += 1
                best[q, candidate] = confidence
                doubt[q, candidate] = _ONE
                counted[q, candidate] = _ONE
            if times[q, candidate] < most:
                times[q, candidate] += 1
                doubt[q, candidate] *= _ONE - confidence
                counted[q, candidate] *= _ONE - by_times[min(facts, TIMES) - 1]
    return count


@exact
def _take_value(pool, starts, counts, confidence, times, value, touched, count):  # type: ignore[no-untyped-def]
    """Note the value that one rule names, unless a more confident one did; return the count as `_take` does."""
    width = times.shape[1]
    for q in range(len(starts)):
        for index in range(starts[q], starts[q] + counts[q]):
            candidate = pool[index]
            if value[q, candidate] == 0:
                if times[q, candidate] == 0:
                    touched[count] = q * width + candidate
                    count += 1
                value[q, candidate] = confidence
    return count


@exact
def _give(  # type: ignore[no-untyped-def]
    touched, times, best, doubt, counted, value, best_out, together, counted_out, value_out
):
    """Fill what was found for the touched pairs, and clean up behind."""
    width = times.shape[1]
    for index in range(len(touched)):
        q, candidate = touched[index] // width, touched[index] % width
        if times[q, candidate] > 0:
            best_out[index] = best[q, candidate]
            together[index] = _ONE - doubt[q, candidate]
            counted_out[index] = _ONE - counted[q, candidate]
        value_out[index] = value[q, candidate]
        times[q, candidate] = 0
        value[q, candidate] = 0
