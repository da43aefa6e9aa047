"""What a run believes that nobody told it: the best facts of relations that are not known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from relatum.data.vocabulary import Ids
from relatum.errors import DataError, SettingError, whole_number
from relatum.models.new_facts import NewFacts, best_new_facts
from relatum.models.question_lists import AllQuestions, Questions, questions_around
from relatum.models.search import EXACT_LIMIT
from relatum.progress import progress
from relatum.runs.kinds import allowed_entities

if TYPE_CHECKING:
    from relatum.runs.run import Run

__all__ = ["Prediction", "allowed_entities", "predict"]


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
) -> dict[str, list[Prediction]]:
    """Return what `Run.predict` does for each of several relations, by name and in their order."""
    least = _checked(run, top, min_score, min_probability)
    model, tables = run.asked
    allowed = {name: allowed_entities(run, name) for name in relations}
    asked = {name: _questions(run, name, allowed[name], exact) for name in allowed}
    found = {}
    with progress("looking for new facts", sum(map(len, asked.values()))) as advance:
        for name, questions in asked.items():
            facts = best_new_facts(
                model,
                tables,
                run.schema.id(name),
                questions,
                run.known_of(name),
                top,
                least=least,
                allowed=allowed[name],
                advance=advance,
            )
            found[name] = _predictions(run, name, facts, min_probability, exact)
    return found


def _questions(run: Run, relation: str, allowed: list[Ids | None], exact: bool) -> Questions:
    if not exact:
        return questions_around(run.table(relation).columns)
    every = np.arange(run.model.entity_count, dtype=np.int32)
    sides = [every if ids is None else ids for ids in allowed]
    if (count := math.prod(map(len, sides))) > EXACT_LIMIT:
        raise DataError(
            f"{relation}: {count:,} facts are too many to try, {EXACT_LIMIT:,} can be; search around the known ones instead"
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
