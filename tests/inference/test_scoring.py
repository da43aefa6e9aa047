"""What a model and evidence say of answers, one question at a time and many at once; the same with sides that are kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from relatum.arrays import Bool
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.inference.scoring import CandidateScorer, CandidateSides
from relatum.kernels.compact_side import CompactSide, compact
from relatum.kernels.filters import Bonus
from support.made_models import made_case, made_graph

GRAPH = made_graph(entities=12, facts=40)


class EveryThird:
    """Evidence for some candidates of a question: each third entity, counted from one of those that it gives."""

    def bonus(self, relation: int, position: int, questions: Ids) -> Bonus | None:
        firsts = questions[(position + 1) % len(questions)] % 3
        lists = [np.arange(first, 12, 3, dtype=np.int32) for first in firsts.tolist()]
        counts = np.array([len(one) for one in lists])
        pool = np.concatenate(lists)
        return Bonus(pool, np.cumsum(counts) - counts, counts, (pool + 1).astype(np.float32))

    def supports(self, relation: int, facts: Ids) -> Bool:
        return np.zeros(facts.shape[1], np.bool_)


@pytest.mark.parametrize("evidence", [None, EveryThird()])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_answers_score_what_they_score_among_all_candidates(evidence: EveryThird | None, position: int) -> None:
    case = made_case("reale", GRAPH)
    relations, columns = next(batch for batch in case.batches() if len(batch[1]) == 3)
    scorer = CandidateScorer(case.model, case.model.encode(case.parameters()), int(relations[0]), evidence=evidence)
    questions = columns.numpy().astype(np.int32)
    count = questions.shape[1]
    entities, scores = scorer.top(position, questions, 12)
    rng = np.random.default_rng(position)
    rows, ranks = rng.integers(0, count, 50), rng.integers(0, 12, 50)
    found = scorer.answer_scores(position, questions, rows, entities[rows, ranks])
    assert found == pytest.approx(scores[rows, ranks], rel=1e-4, abs=1e-5)
    facts = questions[:, rows]
    facts[position] = entities[rows, ranks]
    assert scorer.scores(position, facts) == pytest.approx(found, rel=1e-6)
    assert len(scorer.answer_scores(position, questions, rows[:0], entities[rows[:0], 0])) == 0


WIDE = made_graph(entities=60, facts=12)


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
    case = made_case(model, WIDE)
    tables, sides = case.model.encode(case.parameters()), CandidateSides()
    for relations, columns in case.batches():
        relation, questions = int(relations[0]), columns.numpy().astype(np.int32)
        arguments = (case.model, tables, relation, KnownAnswers(WIDE), [allowed] * len(questions))
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


def test_room_is_made_by_the_least_lately_wanted_and_what_is_too_large_is_not_kept() -> None:
    size = packed(0).nbytes
    sides = CandidateSides(most=2 * size)
    for key in ((0, 0), (0, 1), (0, 0), (0, 2)):
        wanted_again(sides, key)
    assert sides.nbytes == 2 * size
    made: list[int] = []
    for key in ((0, 0), (0, 2), (0, 1)):
        sides.side(key, lambda: made.append(1) or packed(0))
    assert len(made) == 1, "(0, 1) alone was dropped"
    sides = CandidateSides(most=10)
    assert wanted_again(sides, (0, 0)) is not None
    assert not sides.nbytes


def test_many_threads_keep_count() -> None:
    size = packed(0).nbytes
    sides = CandidateSides(most=3 * size)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            sides.side((int(rng.integers(6)), 0), lambda: packed(0))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert sides.nbytes in (size, 2 * size, 3 * size)
