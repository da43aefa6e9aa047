"""How often rules are right about known facts, in compiled loops.

A rule finds, for each question, the candidates that some facts name: a list in ascending order, with a candidate as often as
facts name it.
"""

from __future__ import annotations

import numpy as np

from relatum.arrays import Int32, Int64
from relatum.kernels.filters import Excluded
from relatum.kernels.jit import exact

__all__ = ["TIMES", "count_right"]


TIMES = 4  # as many facts or more, that name a candidate, count alike


def count_right(found: Excluded, answers: Int32, known: Excluded, own: Int32) -> tuple[Int64, Int64]:
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
