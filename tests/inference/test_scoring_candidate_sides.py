"""Candidate sides that are kept between questions: the same answers to the bit, in bounded memory, for many threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from relatum.data.known_answers import KnownAnswers
from relatum.inference.scoring import CandidateScorer, CandidateSides
from relatum.kernels.compact_side import CompactSide, compact
from support.made_models import made_case, made_graph

GRAPH = made_graph(entities=60, facts=12)


def packed(seed: int) -> CompactSide:
    side = compact(np.random.default_rng(seed).normal(size=(100, 4)).astype(np.float32))
    assert side is not None
    return side


def wanted_again(sides: CandidateSides, key: tuple[int, int]) -> CompactSide | None:
    """Want a side twice, and return it."""
    sides.side(key, lambda: packed(0))
    return sides.side(key, lambda: packed(0))


@pytest.mark.parametrize("model", ["reale", "hype", "m-distmult"])
@pytest.mark.parametrize("allowed", [None, np.arange(0, 60, 2, dtype=np.int32)])
def test_answers_are_the_same_to_the_bit(model: str, allowed: np.ndarray | None) -> None:
    case = made_case(model, GRAPH)
    tables, sides = case.model.encode(case.parameters()), CandidateSides()
    for relations, columns in case.batches():
        relation, questions = int(relations[0]), columns.numpy().astype(np.int32)
        arguments = (case.model, tables, relation, KnownAnswers(GRAPH), [allowed] * len(questions))
        for position in range(len(questions)):
            for number in range(questions.shape[1]):
                question = questions[:, [number]]
                expected = CandidateScorer(*arguments).top(position, question, 7)
                found = CandidateScorer(*arguments, sides=sides).top(position, question, 7)
                for one, other in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(one, other)
    assert (sides.nbytes > 0) == (model == "reale"), "the sides were used where there are any"


def test_a_side_is_packed_when_it_is_wanted_again() -> None:
    sides, made = CandidateSides(), []
    for _ in range(4):
        sides.side((0, 1), lambda: made.append(1) or packed(0))
    assert len(made) == 1
    assert wanted_again(sides, (2, 0)) is not None


def test_the_least_lately_wanted_go_where_memory_is_short() -> None:
    size = packed(0).nbytes
    sides = CandidateSides(most=2 * size)
    for key in ((0, 0), (0, 1), (0, 0), (0, 2)):
        wanted_again(sides, key)
    assert sides.nbytes == 2 * size
    made: list[int] = []
    for key in ((0, 0), (0, 2), (0, 1)):
        sides.side(key, lambda: made.append(1) or packed(0))
    assert len(made) == 1, "(0, 1) alone was dropped"


def test_one_that_is_too_large_is_not_kept() -> None:
    sides = CandidateSides(most=10)
    assert wanted_again(sides, (0, 0)) is not None
    assert not len(sides)
    assert not sides.nbytes


def test_many_threads_keep_count() -> None:
    size = packed(0).nbytes
    sides = CandidateSides(most=3 * size)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            sides.side((int(rng.integers(6)), 0), lambda: packed(0))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sides.nbytes == len(sides) * size <= 3 * size
