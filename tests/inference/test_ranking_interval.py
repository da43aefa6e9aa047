"""Bootstrap intervals: around the mean, narrower with more facts, and honest about facts that hang together."""

from __future__ import annotations

import numpy as np

from relatum.inference.ranking import Ranks, mrr_interval


def made(facts: int, questions: int, seed: int = 0) -> Ranks:
    """Return ranks of facts whose questions all fare alike."""
    better = np.repeat(np.random.default_rng(seed).integers(0, 20, facts), questions)
    none = np.zeros(facts * questions, np.int64)
    fact = np.repeat(np.arange(facts), questions)
    return Ranks(better, none, fact, none, none, none, none.astype(np.bool_))


def test_the_interval_holds_the_mean_and_shrinks_with_more_facts() -> None:
    widths = []
    for facts in (50, 5000):
        ranks = made(facts, 1)
        low, high = mrr_interval(ranks)
        assert low < ranks.metrics.mrr < high
        widths.append(high - low)
    assert widths[1] < widths[0] / 5


def test_questions_of_one_fact_do_not_count_as_independent() -> None:
    one, many = made(100, 1), made(100, 5)
    assert np.allclose(mrr_interval(one), mrr_interval(many))


def test_a_seed_gives_the_same_interval() -> None:
    assert mrr_interval(made(30, 2), seed=1) == mrr_interval(made(30, 2), seed=1) != mrr_interval(made(30, 2), seed=2)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    truth = float(np.mean(1 / (1 + np.arange(20))))
    covered = [
        low <= truth <= high for low, high in (mrr_interval(made(200, 1, seed), resamples=200) for seed in range(100))
    ]
    assert 0.85 <= np.mean(covered) <= 1.0
