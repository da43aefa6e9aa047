"""Compiled evidence equals a plain count of how often rules are right."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from relatum.kernels.evidence import TIMES, count_right
from relatum.kernels.filters import Excluded, _Lists


def lists_of(rng: np.random.Generator, questions: int, candidates: int, repeated: int) -> tuple[Excluded, list[list[int]]]:
    """Draw ascending lists in which a candidate stands up to so many times."""
    each = [
        sorted(c for c in range(candidates) for _ in range(rng.integers(0, 1 + repeated)) if rng.random() < 0.4)
        for _ in range(questions)
    ]
    counts = np.array([len(one) for one in each], np.int64)
    return _Lists(np.array([*itertools.chain(*each)], np.int32), np.cumsum(counts) - counts, counts), each


def test_rules_are_counted_as_right_by_other_facts_and_beside_unknown_candidates() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        found, named = lists_of(rng, 6, 9, 3)
        known, answered = lists_of(rng, 6, 9, 1)
        answers = rng.integers(0, 9, 6).astype(np.int32)
        own = rng.integers(-1, 9, 6).astype(np.int32)
        right, total = np.zeros((2, TIMES), int)
        for q in range(6):
            for candidate, times in Counter(named[q]).items():
                others = times - (candidate == own[q])
                if others and candidate == answers[q]:
                    right[min(others, TIMES) - 1] += 1
                if others and (candidate == answers[q] or candidate not in answered[q]):
                    total[min(others, TIMES) - 1] += 1
        assert np.array_equal(count_right(found, answers, known, own), (right, total))
