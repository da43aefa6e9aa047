"""Compiled counts equal a plain count of how often rules are right."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from relatum.kernels.filters import Excluded, _Lists
from relatum.kernels.soft_rules import TIMES, count_named


def lists_of(rng: np.random.Generator, questions: int, candidates: int, repeated: int) -> tuple[Excluded, list[list[int]]]:
    """Draw ascending lists in which a candidate stands up to so many times."""
    each = [
        sorted(c for c in range(candidates) for _ in range(rng.integers(0, 1 + repeated)) if rng.random() < 0.4)
        for _ in range(questions)
    ]
    counts = np.array([len(one) for one in each], np.int64)
    return _Lists(np.array([*itertools.chain(*each)], np.int32), np.cumsum(counts) - counts, counts), each


@pytest.mark.parametrize("seed", range(60))
def test_rules_are_counted_as_right_by_other_facts_and_beside_unknown_candidates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    questions = seed % 7
    found, named = lists_of(rng, questions, 9, 7)
    known, answered = lists_of(rng, questions, 9, 1)
    answers, left_out = rng.integers(0, 9, questions).astype(np.int32), rng.integers(-1, 9, questions).astype(np.int32)
    right, total = np.zeros((2, TIMES), int)
    own, whole = [], []
    for q in range(questions):
        rest = Counter(named[q])
        rest[left_out[q]] -= left_out[q] in named[q]
        rivals = {one: times for one, times in rest.items() if times and (one == answers[q] or one not in answered[q])}
        for one, times in rivals.items():
            total[min(times, TIMES) - 1] += 1
            right[min(times, TIMES) - 1] += one == answers[q]
        own.append(rest[answers[q]])
        whole.append(sum(rivals.values()))
    for one, expected in zip(count_named(found, answers, known, left_out), (right, total, own, whole), strict=True):
        assert one.tolist() == list(expected)
