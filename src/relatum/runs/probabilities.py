"""How likely answers and facts are to be true, by a run: an answer to its question, a fact to all that it answers."""

from __future__ import annotations

import numpy as np
import torch

from relatum.arrays import Bool, Float32, Float64
from relatum.data.hypergraph import Hypergraph
from relatum.data.vocabulary import Ids
from relatum.inference.answer_calibration import AnswerCalibration
from relatum.inference.answer_sample import Rivals, answer_sample, rivals_of
from relatum.inference.calibration import Reliability, draw_sample, reliability
from relatum.inference.new_fact_calibration import NewFactCalibration, as_answers
from relatum.inference.prediction import NewFacts
from relatum.inference.scoring import CandidateScorer
from relatum.runs.trained import Trained

_NEXT_TO_NOTHING = 1e-3


def answer_probabilities(
    run: Trained, scorer: CandidateScorer, position: int, facts: Ids, scores: Float32
) -> Float64 | None:
    """Return how likely facts, int32[arity, n], are that answer one question, at an open position, known or not.

    They differ at the position alone; the scorer is what has scored them.
    """
    if (calibration := _calibration(run, scorer)) is None:
        return _by_score(run, scorer, facts, scores)
    question, entities = facts[:, :1], facts[position]
    rivals, known = rivals_of(scorer, position, question), np.isin(entities, scorer.answers(position, question)[0])
    (chances,) = _chances(calibration, scorer, position, entities[None], scores[None], rivals, known[None])
    return np.asarray(chances)


def block_probabilities(
    run: Trained, scorer: CandidateScorer, position: int, rivals: Rivals, entities: Ids, scores: Float32, *, known: bool
) -> Float64 | None:
    """Return how likely the answers to many questions are, [n, m], as `answer_probabilities` has it for each of these.

    `rivals` are what answers compete with. Where a question has fewer `entities`, the rest are -1, with a score of
    minus infinity and any probability. All of the answers are `known`, or none is.
    """
    if (calibration := _calibration(run, scorer)) is not None:
        return _chances(calibration, scorer, position, entities, scores, rivals, np.full(entities.shape, known))
    if run.calibration is None:
        return None
    return run.calibration.probability(scorer.relation, np.where(entities < 0, 0.0, scores.astype(np.float64)))


def fact_probabilities(
    run: Trained, scorer: CandidateScorer, facts: Ids, scores: Float32, *, expected: bool = False
) -> Float64 | None:
    """Return how likely facts, int32[arity, n], are, known or not: by what they are as answers at all of their positions.

    `expected` says that they answer a question which nothing known answers, and which is taken to have an answer.
    """
    if (calibration := _calibration(run, scorer)) is None:
        return _by_score(run, scorer, facts, scores)
    return _as_a_whole(run, calibration, scorer, facts, calibration.known, expected=expected)


def found_probabilities(
    run: Trained, scorer: CandidateScorer, facts: NewFacts, given: Hypergraph | None = None
) -> Float64 | None:
    """Return how likely new facts are: by all of their positions, unless the question that one was found by rules it out.

    Most of what a search comes upon is next to impossible already by that question, and is not asked about further. `given`
    are the facts that count as known, if not all that the run knows: the fewer of the true facts are left out, the more of
    what is found is true.
    """
    if (calibration := _calibration(run, scorer)) is None:
        return _by_score(run, scorer, facts.columns, facts.scores)
    share = calibration.known_with(run.split, given)
    likely = _as_found(calibration, scorer, facts, share)
    (open_ones,) = np.nonzero(likely >= _NEXT_TO_NOTHING)
    if len(open_ones):
        likely[open_ones] = _as_a_whole(run, calibration, scorer, facts.columns[:, open_ones], share)
    return likely


def _as_a_whole(
    run: Trained,
    calibration: AnswerCalibration,
    scorer: CandidateScorer,
    facts: Ids,
    share: float,
    *,
    expected: bool = False,
) -> Float64:
    """Return how likely facts, int32[arity, n], are, by what they are as answers at all of their positions.

    That is seen as it was when the calibration was fitted: among all candidates that are no training facts. Were valid and
    test facts left out as well, what is false would seem to stand out where these have answered a question.
    """
    judge = run.new_fact_calibration or NewFactCalibration.unfitted(run.model.schema, calibration)
    answers = as_answers(calibration, run.scorer(run.schema[scorer.relation].name, run.known_in_training), facts)
    known = scorer.answers(0, facts).contain(facts[0])
    return np.where(known | expected, judge.truth(scorer.relation, answers), judge.new(scorer.relation, answers, share))


def _as_found(calibration: AnswerCalibration, scorer: CandidateScorer, facts: NewFacts, share: float) -> Float64:
    """Return how likely new facts are, each as an answer to the question that it was found by."""
    likely = np.empty(len(facts.scores))
    for position in np.unique(facts.positions).tolist():
        mine = np.flatnonzero(facts.positions == position)
        opened = facts.columns[:, mine]
        entities = opened[position].copy()
        opened[position] = 0
        questions, which = np.unique(opened, axis=1, return_inverse=True)
        found, which = rivals_of(scorer, position, questions), which.ravel()
        rivals = Rivals(found.scores[which], found.entities[which], found.known[which])
        known = np.zeros(len(mine), np.bool_)
        likely[mine] = _chances(calibration, scorer, position, entities, facts.scores[mine], rivals, known, share)
    return likely


def reliability_of(run: Trained, part: str = "test") -> Reliability | None:
    """Return how far the probabilities of a part's facts can be trusted; None without calibration.

    It is about the best new answer to each question: questions that facts of the part answer, and that those facts answer
    which are known then, the parts before it. What is missing from all parts counts as false, as it must: so the chances
    are those that an answer is in this very part.
    """
    facts, calibration = run.facts_of(part), run.answer_calibration
    if calibration is None or part == "train":
        if run.calibration is None:
            return None
        return reliability(run.calibration, draw_sample(run.model, run.tables, facts, run.known, run.split.train))
    before = run.split.train if part == "valid" else Hypergraph.union([run.split.train, run.split.valid])
    names = run.model.schema.names
    likely = calibration.valid_fact if part == "valid" else calibration.test_fact
    found = [
        (likely(*best, np.ones_like(best[2], np.bool_)), one.right[:, 0], one.weight)
        for one in answer_sample(lambda relation, known: run.scorer(names[relation], known), before, facts)
        for best in [(one.relation, one.position, one.rivals.scores[:, 0], one.rivals)]
    ]
    return Reliability.of(*(np.concatenate(each) for each in zip(*found, strict=True)))


def _calibration(run: Trained, scorer: CandidateScorer) -> AnswerCalibration | None:
    """Return what the run has to judge answers by; about defined relations nothing."""
    return run.answer_calibration if scorer.relation < len(run.model.schema) else None


def _chances(
    calibration: AnswerCalibration,
    scorer: CandidateScorer,
    position: int,
    entities: Ids,
    scores: Float32,
    rivals: Rivals,
    known: Bool,
    share: float | None = None,
) -> Float64:
    """Return the chances of answers, one or several to each question; one that is known is judged as if it were not."""
    count, width = rivals.entities.shape
    among = (rivals.entities.reshape(count, *[1] * (entities.ndim - 1), width) == entities[..., None]).any(-1)
    arguments = scorer.relation, position, scores.astype(np.float64)
    if not known.any():
        return calibration.new(*arguments, rivals, among, share)
    without = rivals._replace(known=np.maximum(rivals.known - 1, 0))
    as_true = calibration.truth(*arguments, without, among)
    return as_true if known.all() else np.where(known, as_true, calibration.new(*arguments, rivals, among, share))


def _by_score(run: Trained, scorer: CandidateScorer, facts: Ids, scores: Float32) -> Float64 | None:
    columns = torch.from_numpy(facts.astype(np.int64))
    return run.probabilities(run.schema[scorer.relation].name, columns, scores.astype(np.float64))
