"""New predictions of a run: the best facts of relations that are not known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.errors import DataError, SettingError, whole_number
from relatum.inference.completion import EXHAUSTIVE_LIMIT
from relatum.inference.prediction import AllQuestions, NewFacts, Questions, best_new_facts, questions_around
from relatum.progress import progress
from relatum.runs.names import allowed_entities

if TYPE_CHECKING:
    from relatum.runs.trained import Run

__all__ = ["Prediction", "predict"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A fact that is not known, and what the model thinks of it.

    Attributes:
        relation: its name.
        entities: in the order of the positions.
        score: the model's score; comparable among facts of one relation.
        probability: the calibrated one, comparable among all facts; None where there were no facts to calibrate with.
        position: where the fact differs from a known one; None if all facts were tried.
    """

    relation: str
    entities: tuple[str, ...]
    score: float
    probability: float | None
    position: int | None


def predict(
    run: Run,
    relations: Sequence[str],
    top: int = 1000,
    *,
    min_score: float | None = None,
    min_probability: float | None = None,
    exact: bool = False,
    around: int | None = None,
    per_question: int | None = None,
    given: Hypergraph | None = None,
) -> dict[str, list[Prediction]]:
    """Return what `Run.predict` does for each of several relations, by name and in their order.

    Args:
        run: the run that predicts.
        relations: their names.
        top: how many facts of each relation at most.
        min_score: the least score.
        min_probability: the least probability of those that are kept.
        exact: look at every fact that there could be, if there are not too many.
        around: look only around so many known facts of each relation, always the same ones; by default around all.
        per_question: how many answers to one question count; with 1 each differs from the others in more than one entity.
        given: the facts that count as known; by default all that the run knows.
    """
    least = _checked(run, top, min_score, min_probability)
    for name, value in (("around", around), ("per_question", per_question)):
        if value is not None:
            whole_number(name, value)
    facts_of = run.table if given is None else given.table
    known = None if given is None else KnownAnswers(given)
    model, tables = run.asked
    allowed = {name: allowed_entities(run, name) for name in relations}
    asked = {
        name: _every(run, name, allowed[name]) if exact else questions_around(_drawn(facts_of(name).columns, around))
        for name in allowed
    }
    found = {}
    with progress("looking for new facts", sum(map(len, asked.values()))) as advance:
        for name, questions in asked.items():
            facts = best_new_facts(
                model,
                tables,
                run.schema.id(name),
                questions,
                run.known_of(name) if known is None else known,
                top,
                answers=per_question,
                least=least,
                allowed=allowed[name],
                advance=advance,
            )
            found[name] = _predictions(run, name, facts, min_probability, exact)
    return found


def _drawn(facts: Ids, most: int | None) -> Ids:
    """Return at most so many of the facts, int32[arity, n], always the same ones."""
    if most is None or facts.shape[1] <= most:
        return facts
    return facts[:, np.sort(np.random.default_rng(0).permutation(facts.shape[1])[:most])]


def _every(run: Run, relation: str, allowed: list[Ids | None]) -> Questions:
    every = np.arange(run.model.entity_count, dtype=np.int32)
    sides = [every if ids is None else ids for ids in allowed]
    if (count := math.prod(map(len, sides))) > EXHAUSTIVE_LIMIT:
        raise DataError(
            f"{relation}: cannot try all {count:,} facts, only {EXHAUSTIVE_LIMIT:,}; search around known facts instead"
        )
    return AllQuestions(sides)


def _predictions(run: Run, relation: str, facts: NewFacts, min_probability: float | None, exact: bool) -> list[Prediction]:
    names, columns = run.model.graph.entities, torch.from_numpy(facts.columns.astype(np.int64))
    chances = run.probabilities(relation, columns, facts.scores.astype(np.float64)) if len(facts.scores) else None
    told: list[float | None] = [None] * len(facts.scores) if chances is None else chances.tolist()
    rows = zip(facts.columns.T.tolist(), facts.scores.tolist(), told, facts.positions.tolist(), strict=True)
    return [
        Prediction(relation, tuple(names[one] for one in entities), score, chance, None if exact else position)
        for entities, score, chance, position in rows
        if min_probability is None or (chance is not None and chance >= min_probability)
    ]


def _checked(run: Run, top: int, min_score: float | None, min_probability: float | None) -> float:
    """Return the least score that is wanted, or refuse what cannot be."""
    whole_number("top", top)
    if min_score is not None and math.isnan(min_score):
        raise SettingError("min_score: must be a number")
    if min_probability is not None:
        if not 0 <= min_probability <= 1:
            raise SettingError(f"min_probability: must be from 0 to 1, not {min_probability}")
        if run.calibration is None:
            raise DataError(f"{run.folder}: there were no validation facts to make probabilities by; ask for a least score")
    return -math.inf if min_score is None else min_score
