"""How often rules are right about known facts, in compiled loops.

A rule finds, for each question, the candidates that some facts name: a list in ascending order, with a candidate as often as
facts name it.
"""

from __future__ import annotations

import numpy as np

from relatum.arrays import Int32, Int64
from relatum.kernels.filters import Excluded, lists_of
from relatum.kernels.jit import exact

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
    lists = *lists_of(found), *lists_of(known)
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


def count_shares(found: Excluded, answers: Int32, known: Excluded, left_out: Int32) -> tuple[Int64, Int64]:
    """Return how many facts name the answer of each question, and how many name anything that is not known, int64[n] both.

    The second counts what names the answer too; other known answers are no rivals of it and are not counted.

    Args:
        found: the candidates that a rule finds for each question, ascending, as often as facts name them.
        answers: the answer of each question.
        known: all known answers to each question, ascending.
        left_out: a candidate of each question that is counted one time less, if it is found; -1 for none.
    """
    own, total = np.zeros((2, len(answers)), np.int64)
    lists = *lists_of(found), *lists_of(known)
    _count_shares(*lists, answers, left_out, own, total)
    return own, total


@exact
def _count_shares(  # type: ignore[no-untyped-def]
    pool, starts, counts, known, known_starts, known_counts, answers, left_out, own, total
):
    for q in range(len(answers)):
        other, last = known_starts[q], known_starts[q] + known_counts[q]
        waiting = True
        for index in range(starts[q], starts[q] + counts[q]):
            candidate = pool[index]
            if waiting and candidate == left_out[q]:
                waiting = False
                continue
            if candidate == answers[q]:
                own[q] += 1
                total[q] += 1
                continue
            while other < last and known[other] < candidate:
                other += 1
            if other == last or known[other] != candidate:
                total[q] += 1
