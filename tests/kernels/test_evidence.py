"""Compiled evidence equals a plain count: how often rules are right, and how strongly they speak for candidates."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from relatum.kernels.evidence import TIMES, Scratch, count_right, strengths
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
        for itself in (False, True):
            right, total = np.zeros((2, TIMES), int)
            for q in range(6):
                for candidate, times in Counter(named[q]).items():
                    if candidate == answers[q] and times > itself:
                        right[min(times - itself, TIMES) - 1] += 1
                        total[min(times - itself, TIMES) - 1] += 1
                    elif candidate != answers[q] and candidate not in answered[q]:
                        total[min(times, TIMES) - 1] += 1
            assert np.array_equal(count_right(found, answers, known, itself=itself), (right, total))


def test_strengths_are_the_best_confidence_and_that_of_the_best_few_together() -> None:
    scratch = Scratch(5, 8)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        shares = [np.linspace(each, 1, TIMES).astype(np.float32) for each in (0.9, 0.5, 0.5, 0.1)]
        rules = [(*lists_of(rng, 5, 8, 6), float(each[0]), each) for each in shares]
        rows, candidates, *found = strengths([(one, each, by) for one, _, each, by in rules], scratch, 5, 2)
        expected = {}
        for q in range(5):
            for candidate in range(8):
                fired = [
                    (each, by[min(named[q].count(candidate), TIMES) - 1])
                    for _, named, each, by in rules
                    if candidate in named[q]
                ]
                if fired:
                    doubts = 1 - np.array(fired[:2])
                    expected[q, candidate] = (fired[0][0], *(1 - doubts.prod(0)))
        assert list(zip(rows.tolist(), candidates.tolist(), strict=True)) == sorted(expected)
        assert np.allclose(np.stack(found, 1), [expected[key] for key in sorted(expected)])
        assert not scratch.times.any()
