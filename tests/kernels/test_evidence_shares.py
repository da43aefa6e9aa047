"""Compiled shares equal a plain count."""

from __future__ import annotations

import itertools

import numpy as np

from relatum.kernels.evidence import count_shares
from relatum.kernels.filters import _Lists


def test_shares_count_the_answer_and_its_rivals_one_fact_left_out() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        named = [sorted(rng.integers(0, 6, rng.integers(0, 12)).tolist()) for _ in range(7)]
        answered = [sorted(set(rng.integers(0, 6, rng.integers(0, 3)).tolist())) for _ in range(7)]
        answers, left_out = rng.integers(0, 6, 7).astype(np.int32), rng.integers(-1, 6, 7).astype(np.int32)
        lists = []
        for each in (named, answered):
            counts = np.array([len(one) for one in each], np.int64)
            lists.append(_Lists(np.array([*itertools.chain(*each)], np.int32), np.cumsum(counts) - counts, counts))
        own, total = count_shares(lists[0], answers, lists[1], left_out)
        for q in range(7):
            rest = list(named[q])
            if left_out[q] in rest:
                rest.remove(left_out[q])
            assert own[q] == rest.count(answers[q])
            assert total[q] == sum(one == answers[q] or one not in answered[q] for one in rest)
