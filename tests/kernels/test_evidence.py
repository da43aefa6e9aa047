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


def test_strengths_are_the_best_confidence_that_of_the_best_few_together_and_that_of_the_best_value() -> None:
    scratch = Scratch(5, 8)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        shares = [np.linspace(each, 1, TIMES).astype(np.float32) for each in (0.9, 0.5, 0.5, 0.3, 0.1)]
        kinds = rng.permutation([False, False, False, True, True]).tolist()
        rules = [(*lists_of(rng, 5, 8, 6), float(each[0]), each, kind) for each, kind in zip(shares, kinds, strict=True)]
        rows, candidates, *found = strengths([(one, each, by, kind) for one, _, each, by, kind in rules], scratch, 5, 2)
        expected = {}
        for q in range(5):
            for candidate in range(8):
                fired = [
                    (each, by[min(named[q].count(candidate), TIMES) - 1], kind)
                    for _, named, each, by, kind in rules
                    if candidate in named[q]
                ]
                read, values = (
                    [(each, by) for each, by, kind in fired if not kind],
                    [each for each, _, kind in fired if kind],
                )
                if fired:
                    doubts = 1 - np.array(read[:2]).reshape(-1, 2)
                    expected[q, candidate] = (read[0][0] if read else 0, *(1 - doubts.prod(0)), values[0] if values else 0)
        assert list(zip(rows.tolist(), candidates.tolist(), strict=True)) == sorted(expected)
        assert np.allclose(np.stack(found, 1), [expected[key] for key in sorted(expected)], atol=1e-6)
        assert not scratch.times.any()
        assert not scratch.value.any()
