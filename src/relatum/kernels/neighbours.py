"""How much those who share answers with a question speak for other answers, in compiled loops.

A question gives an entity, whose known answers others have too. Somebody who has `x` of them speaks for whatever else they
have: each shared answer counts by one over the root of how many have it, each other by one over the root of how many
answers they have, and an answer by one over the root of how many have it, so that what all have says little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relatum.arrays import Float64, Int64
from relatum.kernels.jit import exact

HOLDERS = 2_000  # of one answer that are looked at; where it has more, some at even distances
STEPS = 1 << 17  # from others to their answers, for one question; the closest others come first


class Links(NamedTuple):
    """Which answers given entities have, each pair once; both are numbered from 0, and all lists ascend."""

    starts: Int64  # where the answers of each given entity begin, and their number
    answers: Int64  # of one given entity after the other
    holder_starts: Int64  # where the given entities begin that have each answer, and their number
    holders: Int64  # of one answer after the other


def neighbour_shares(links: Links, given: Int64, left_out: Int64, most: int) -> tuple[Int64, Int64, Float64]:
    """Return the answers that others speak for: question, answer and its share of all that they say, ascending.

    The shares of what a given entity does not have sum to 1, and the `most` largest are returned, with all that are equal.
    What it has is judged by its other answers, and beside what it does not have. `given` is -1 for an entity that has no
    answer; `left_out` is an answer that each is looked upon as if it did not have, -1 for none.
    """
    users, items = len(links.starts) - 1, len(links.holder_starts) - 1
    scratch = np.zeros(users), np.zeros(items)
    touched, named = np.empty(users, np.int64), np.empty(items, np.int64)
    rows, found, shares = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for question, (one, other) in enumerate(zip(given.tolist(), left_out.tolist(), strict=True)):
        if one < 0:
            continue
        count, total = _walk(*links, one, other, *scratch, touched, named)
        answers = named[:count].copy()
        values = scratch[1][answers]
        scratch[1][answers] = 0
        own = links.answers[links.starts[one] : links.starts[one + 1]]
        has = np.isin(answers, own) & (answers != other)
        kept = values > 0
        if np.count_nonzero(kept & ~has) > most:
            kept &= has | (values >= np.partition(values[~has], -most)[-most])
        answers, values, has = answers[kept], values[kept], has[kept]
        order = np.argsort(answers, kind="stable")
        found.append(answers[order])
        shares.append((values / (total + np.where(has, values, 0)))[order])
        rows.append(np.full(len(answers), question, np.int64))
    return np.concatenate(rows), np.concatenate(found), np.concatenate(shares)


@exact
def _walk(  # type: ignore[no-untyped-def]
    starts, answers, holder_starts, holders, one, left_out, closeness, values, touched, named
):
    """Fill what others say about answers; return how many these are, and the sum over those that are not known."""
    count = _close(starts, answers, holder_starts, holders, one, left_out, closeness, touched)
    steps = 0
    for index in range(count):
        other = touched[index]
        size = starts[other + 1] - starts[other]
        closeness[other] /= np.sqrt(size)
        steps += size
    order = np.sort(touched[:count])
    if steps > STEPS:
        order = order[np.argsort(-closeness[order], kind="mergesort")]
    found = 0
    steps = 0
    for other in order:
        steps += starts[other + 1] - starts[other]
        if steps <= STEPS:
            for index in range(starts[other], starts[other + 1]):
                answer = answers[index]
                if values[answer] == 0:
                    named[found] = answer
                    found += 1
                values[answer] += closeness[other]
    for index in range(starts[one], starts[one + 1]):  # an answer does not speak for itself
        answer = answers[index]
        if values[answer] > 0 and answer != left_out:
            size = holder_starts[answer + 1] - holder_starts[answer]
            itself = 0.0
            for where in range(holder_starts[answer], holder_starts[answer + 1]):
                other = holders[where]
                if other != one and closeness[other] > 0:
                    itself += 1 / np.sqrt(starts[other + 1] - starts[other])
            values[answer] = max(values[answer] - itself / np.sqrt(size), 1e-12)
    total = 0.0
    known = starts[one]
    named[:found].sort()
    for index in range(found):
        answer = named[index]
        while known < starts[one + 1] and answers[known] < answer:
            known += 1
        has = known < starts[one + 1] and answers[known] == answer
        size = holder_starts[answer + 1] - holder_starts[answer]
        values[answer] /= np.sqrt(size - 1 if has else size)
        if not has or answer == left_out:
            total += values[answer]
    for index in range(count):
        closeness[touched[index]] = 0
    return found, max(total, 1e-12)


@exact
def _close(starts, answers, holder_starts, holders, one, left_out, closeness, touched):  # type: ignore[no-untyped-def]
    """Fill how close others are that have answers of a given entity; return how many there are."""
    count = 0
    for index in range(starts[one], starts[one + 1]):
        answer = answers[index]
        if answer == left_out:
            continue
        first, size = holder_starts[answer], holder_starts[answer + 1] - holder_starts[answer]
        stride = 1 + (size - 1) // HOLDERS
        for offset in range(0, size, stride):
            other = holders[first + offset]
            if other != one:
                if closeness[other] == 0:
                    touched[count] = other
                    count += 1
                closeness[other] += stride / np.sqrt(size)
    return count
