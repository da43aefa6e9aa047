"""Sets of answers of a run that hold the missing one as often as is promised, and when nothing can be promised."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relatum.arrays import Float32, Float64
from relatum.data.row_store import HELD_OUT_PARTS
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.inference.answer_sets import Limit, conformities, limit_of, require_coverage
from relatum.inference.scoring import CandidateScorer
from relatum.runs.answers import Question
from relatum.runs.column_answers import ColumnQuestions
from relatum.runs.trained import Trained


class CoveringSet(NamedTuple):
    """The new answers to a question that are likely enough.

    Attributes:
        entities: the answers, best first; there can be none, where even the best is too unlikely.
        scores: theirs.
        limit: how likely they must be, and what is promised.
        probabilities: theirs, where it is these that must be high enough.
    """

    entities: Ids
    scores: Float32
    limit: Limit
    probabilities: Float64 | None = None


def require_promise(run: Trained, question: Question, coverage: float) -> None:
    """Refuse a coverage that cannot be promised for a question, whatever is known about it."""
    require_coverage(coverage)
    if len(question.open) != 1 or question.free:
        raise DataError(
            "coverage-needs-one-gap",
            "coverage needs one open position (a ?), and an entity at every other one",
            place=question,
        )
    if question.relation in run.definitions:
        raise DataError(
            "coverage-not-promised",
            f"coverage is for stored relations; {question.relation} was defined, and no fact of it held out",
            place=question,
        )
    if run.spec.training.refit:
        raise DataError(
            "coverage-needs-validation",
            (
                "coverage needs validation facts that the model has not learned; it was refitted on them, so "
                "train without training.refit"
            ),
            place=run.name,
        )
    if run.answer_calibration is None:
        raise DataError(
            "coverage-needs-one-link",
            "coverage needs answers calibrated on validation facts",
            place=run.name,
            remedy="train a new run, with some",
        )


def covering_set(run: Trained, scorer: CandidateScorer, position: int, question: Ids, coverage: float) -> CoveringSet:
    """Return the smallest set of new answers to a question that holds the missing one with a probability of `coverage`.

    Of questions whose answer is missing by the same accident as validation facts were held out, that many get a set that
    holds it. `require_promise` says before whether that can be.

    Args:
        run: the run that answers.
        scorer: of the relation; it leaves out what is known, or cannot be.
        position: the open position.
        question: int32[arity, 1], the given entities.
        coverage: the share of sets that hold the missing answer.
    """
    sets, calibration = run.answer_sets_by_facts, run.answer_calibration
    if sets is None or calibration is None:
        raise DataError(
            "coverage-needs-validation", "coverage needs validation facts", place=run.name, remedy="train a run with some"
        )
    limit = sets.limit(scorer.relation, position, coverage)
    entities, scores, found = conformities(calibration, scorer, position, question)
    size = int(np.count_nonzero(found >= limit.least))  # the first ones: a higher score always conforms better
    return CoveringSet(entities[:size], scores[:size], limit)


def column_covering_set(
    column: ColumnQuestions, scorer: CandidateScorer, position: int, question: Ids, coverage: float
) -> CoveringSet:
    """Return the same for a question about a column of a table, by the probabilities of what validation cells hold."""
    limit = limit_of(coverage, column.held_out(HELD_OUT_PARTS["valid"]))
    found, likely = column.best(question, scorer.count(position))
    kept = (found[0] >= 0) & (likely[0] >= limit.least)
    entities = found[0][kept]
    scores = scorer.answer_scores(position, question, np.zeros(len(entities), np.int64), entities)
    return CoveringSet(entities, scores, limit, likely[0][kept])
