"""Compiled evidence equals a plain count: how often rules are right, and how strongly they speak for candidates."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from relatum.kernels.evidence import Scratch, count_right, strengths
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
            right = total = 0
            for q in range(6):
                for candidate, times in Counter(named[q]).items():
                    if candidate == answers[q]:
                        right += times > itself
                        total += times > itself
                    else:
                        total += candidate not in answered[q]
            assert count_right(found, answers, known, itself=itself) == (right, total)


def test_strengths_are_the_best_confidence_and_that_of_the_best_few_together() -> None:
    scratch = Scratch(5, 8)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rules = [(*lists_of(rng, 5, 8, 2), confidence) for confidence in (0.9, 0.5, 0.5, 0.1)]
        rows, candidates, best, together = strengths([(one, each) for one, _, each in rules], scratch, 5, 2)
        expected = {}
        for q in range(5):
            for candidate in range(8):
                fired = [confidence for _, named, confidence in rules if candidate in named[q]]
                if fired:
                    expected[q, candidate] = fired[0], 1 - np.prod([1 - one for one in fired[:2]])
        assert list(zip(rows.tolist(), candidates.tolist(), strict=True)) == sorted(expected)
        assert np.allclose(np.stack([best, together], 1), [expected[key] for key in sorted(expected)])
        assert not scratch.times.any()
