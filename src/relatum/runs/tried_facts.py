"""The best new facts with several open positions by any model: all of them are tried, until the time is over.

Only for ReAlE are there bounds that leave most facts out unseen (`reasoning`). For other models every filling of all open
positions but one is a question, whose best answers are looked up. Those that stand in known facts come first, so that what
is found by the end of the time is what is most likely.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.inference.scoring import CandidateScorer
from relatum.runs.trained import Trained
from relatum.time_limit import Limit

__all__ = ["tried_facts"]

_QUESTIONS = 256  # at once


def tried_facts(
    run: Trained, known: KnownAnswers, facts: Ids, relation: str, given: Sequence[int | None], k: int, limit: Limit
) -> tuple[Ids, bool]:
    """Return the k best facts that are not known, int32[arity, found], and whether all were tried; by the model alone.

    Args:
        run: the run that is asked.
        known: the facts that are left out.
        facts: those of the relation, int32[arity, n].
        relation: what the facts are about.
        given: an entity for each position, None where it is open.
        k: how many facts.
        limit: when to stop with those that were found.
    """
    scorer = CandidateScorer(run.model, run.tables, run.schema.id(relation), known, run.allowed_entities(relation))
    *first, last = (position for position, entity in enumerate(given) if entity is None)
    question = np.array([[0 if entity is None else entity] for entity in given], np.int32)
    best, scores = question[:, :0], np.empty(0, np.float32)
    fillings = itertools.product(*(_likely_first(scorer.entities(position), facts[position]) for position in first))
    most = max(1, min(k, scorer.count(last)))
    while part := list(itertools.islice(fillings, _QUESTIONS)):
        if limit.reached():
            return best, False
        questions = np.repeat(question, len(part), axis=1)
        questions[first] = np.array(part, np.int32).reshape(len(part), len(first)).T
        entities, more = scorer.top(last, questions, most)
        filled = np.repeat(questions, most, axis=1)
        filled[last] = entities.ravel()
        there = filled[last] >= 0
        best, scores = np.concatenate([best, filled[:, there]], axis=1), np.append(scores, more.ravel()[there])
        order = np.argsort(-scores, kind="stable")[:k]
        best, scores = best[:, order], scores[order]
    return best, True


def _likely_first(entities: Ids, known: Ids) -> list[int]:
    """Return entities, those that stand in known facts first."""
    return [*entities[np.isin(entities, known)].tolist(), *entities[~np.isin(entities, known)].tolist()]
