"""What rules make of known facts, in compiled loops: how often they are right, and how strongly they speak for candidates.

A rule finds, for each question, the candidates that some facts name: a list in ascending order, with a candidate as often as
facts name it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relatum.kernels.filters import Excluded
from relatum.kernels.jit import exact

__all__ = ["Scratch", "count_right", "strengths"]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]

_ONE = np.float32(1)


def count_right(found: Excluded, answers: Ids, known: Excluded, *, itself: bool) -> tuple[int, int]:
    """Return how often a rule names the answer of a question, and how many candidates it names in all.

    Other known answers are not counted. The fact that a question was made of may be among those that a rule reads: then an
    answer must be named by another one.

    Args:
        found: the candidates that the rule finds for each question.
        answers: the answer of each question.
        known: all known answers to each question.
        itself: whether the rule also finds the fact that the question was made of.
    """
    lists = (found.pool, found.starts, found.counts, known.pool, known.starts, known.counts)
    right, named = _count_right(*lists, answers, 1 if itself else 0)
    return int(right), int(named)


@exact
def _count_right(pool, starts, counts, known, known_starts, known_counts, answers, own):  # type: ignore[no-untyped-def]
    right = 0
    named = 0
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
                    right += 1
                    named += 1
                continue
            while other < last and known[other] < candidate:
                other += 1
            if other == last or known[other] != candidate:
                named += 1
    return right, named


class Scratch:
    """What rules have said so far about the candidates of some questions; kept between calls, and clean between them."""

    def __init__(self, questions: int, candidates: int) -> None:
        self.times = np.zeros((questions, candidates), np.uint8)
        self.best = np.zeros((questions, candidates), np.float32)
        self.doubt = np.zeros((questions, candidates), np.float32)


def strengths(
    lists: list[tuple[Excluded, float]], scratch: Scratch, questions: int, most: int
) -> tuple[Ints, Ids, Floats, Floats]:
    """Return the candidates that rules name: question, candidate, the best confidence, and that of several rules together.

    Ordered by question and candidate. Several rules together are right if any of them is, as if they were independent.

    Args:
        lists: what each rule finds for each question, and its confidence; the most confident first.
        scratch: for at least so many questions.
        questions: how many.
        most: of how many rules that name a candidate, the most confident, the confidences are put together.
    """
    size = min(sum(int(found.counts.sum()) for found, _ in lists), questions * scratch.times.shape[1])
    touched = np.empty(size, np.int64)
    count = 0
    for found, confidence in lists:
        start = (found.pool, found.starts, found.counts, np.float32(confidence), most)
        count = _take(*start, scratch.times, scratch.best, scratch.doubt, touched, count)
    touched = np.sort(touched[:count])
    best, together = np.empty(count, np.float32), np.empty(count, np.float32)
    _give(touched, scratch.times, scratch.best, scratch.doubt, best, together)
    rows, candidates = np.divmod(touched, scratch.times.shape[1])
    return rows, candidates.astype(np.int32), best, together


@exact
def _take(pool, starts, counts, confidence, most, times, best, doubt, touched, count):  # type: ignore[no-untyped-def]
    """Note what one rule finds; return how many pairs of a question and a candidate were found by any rule yet."""
    width = times.shape[1]
    for q in range(len(starts)):
        previous = -1
        for index in range(starts[q], starts[q] + counts[q]):
            candidate = pool[index]
            if candidate == previous:
                continue
            previous = candidate
            if times[q, candidate] == 0:
                touched[count] = q * width + candidate
                count += 1
                best[q, candidate] = confidence
                doubt[q, candidate] = _ONE
            if times[q, candidate] < most:
                times[q, candidate] += 1
                doubt[q, candidate] *= _ONE - confidence
    return count


@exact
def _give(touched, times, best, doubt, best_out, together):  # type: ignore[no-untyped-def]
    """Fill what was found for the touched pairs, and clean up behind."""
    width = times.shape[1]
    for index in range(len(touched)):
        q, candidate = touched[index] // width, touched[index] % width
        best_out[index] = best[q, candidate]
        together[index] = _ONE - doubt[q, candidate]
        times[q, candidate] = 0
