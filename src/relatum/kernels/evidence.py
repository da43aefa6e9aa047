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


def count_right(found: Excluded, answers: Ids, known: Excluded, *, itself: bool) -> tuple[Ints, Ints]:
    """Return how often a rule names the answer of a question, and how many candidates it names in all, both int64[TIMES].

    Number n of either is about candidates that n + 1 facts name, the last about those that more do. Other known answers are
    not counted. The fact that a question was made of may be among those that a rule reads: then an answer must be named by
    another one.

    Args:
        found: the candidates that the rule finds for each question.
        answers: the answer of each question.
        known: all known answers to each question.
        itself: whether the rule also finds the fact that the question was made of.
    """
    lists = (found.pool, found.starts, found.counts, known.pool, known.starts, known.counts)
    right, named = np.zeros((2, TIMES), np.int64)
    _count_right(*lists, answers, 1 if itself else 0, right, named)
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
            if candidate == answers[q]:
                if times > own:
                    right[min(times - own, TIMES) - 1] += 1
                    named[min(times - own, TIMES) - 1] += 1
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


def strengths(
    lists: list[tuple[Excluded, float, Floats]], scratch: Scratch, questions: int, most: int
) -> tuple[Ints, Ids, Floats, Floats, Floats]:
    """Return the candidates that rules name: question, candidate, and three confidences.

    They are that of the best rule, that of several together, and that of several by how many facts name the candidate.
    Several rules together are right if any of them is, as if they were independent. Ordered by question and candidate.

    Args:
        lists: what each rule finds for each question, its confidence, and its confidence by how many facts name a candidate,
            float32[TIMES]; the most confident first.
        scratch: for at least so many questions.
        questions: how many.
        most: of how many rules that name a candidate, the most confident, the confidences are put together.
    """
    size = min(sum(int(found.counts.sum()) for found, _, _ in lists), questions * scratch.times.shape[1])
    touched = np.empty(size, np.int64)
    count = 0
    arrays = (scratch.times, scratch.best, scratch.doubt, scratch.counted)
    for found, confidence, by_times in lists:
        start = (found.pool, found.starts, found.counts, np.float32(confidence), by_times, most)
        count = _take(*start, *arrays, touched, count)
    touched = np.sort(touched[:count])
    best, together, counted = np.empty((3, count), np.float32)
    _give(touched, *arrays, best, together, counted)
    rows, candidates = np.divmod(touched, scratch.times.shape[1])
    return rows, candidates.astype(np.int32), best, together, counted


@exact
def _take(  # type: ignore[no-untyped-def]
    pool, starts, counts, confidence, by_times, most, times, best, doubt, counted, touched, count
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
def _give(touched, times, best, doubt, counted, best_out, together, counted_out):  # type: ignore[no-untyped-def]
    """Fill what was found for the touched pairs, and clean up behind."""
    width = times.shape[1]
    for index in range(len(touched)):
        q, candidate = touched[index] // width, touched[index] % width
        best_out[index] = best[q, candidate]
        together[index] = _ONE - doubt[q, candidate]
        counted_out[index] = _ONE - counted[q, candidate]
        times[q, candidate] = 0
