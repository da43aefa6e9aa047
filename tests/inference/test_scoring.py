"""What a model and evidence say of answers, one question at a time and many at once."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.arrays import Bool
from relatum.data.vocabulary import Ids
from relatum.inference.scoring import CandidateScorer
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
