"""How many facts name what is stored, and how many name something else, in a compiled loop over what a rule finds."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Int32, Int64
from relatum.kernels.filters import Excluded
from relatum.kernels.jit import exact

__all__ = ["count_shares"]


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
    lists = (found.pool, found.starts, found.counts, known.pool, known.starts, known.counts)
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
