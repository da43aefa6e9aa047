"""New predictions of a run: the best facts of relations that are not known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from relatum.arrays import Float64
from relatum.data.hypergraph import Hypergraph
from relatum.data.keyed_answers import Keys, open_positions, taken_keys
from relatum.data.vocabulary import Ids
from relatum.errors import DataError, SettingError
from relatum.inference.prediction import (
    EXHAUSTIVE_LIMIT,
    AllQuestions,
    NewFacts,
    Questions,
    best_new_facts,
    questions_around,
)
from relatum.inference.scoring import CandidateScorer
from relatum.progress import progress
from relatum.runs.answers import Prediction, field_names
from relatum.runs.probabilities import found_probabilities
from relatum.runs.trained import Trained
from relatum.settings import whole_number

_SPARE = 4  # times as many facts as are wanted that are looked for where keys rule some out


def predict(
    run: Trained,
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
    """Return the facts of relations that are not known and score best, the most likely first, by relation in their order.

    Arguments are as of `Run.predict`. Besides, it can look `around` so many known facts of each relation alone, always the
    same ones, and take other facts, `given`, for all that is known.
    """
    least = _checked(run, top, min_score, min_probability)
    for name, value in (("around", around), ("per_question", per_question)):
        if value is not None:
            whole_number(name, value)
    facts_of = run.table if given is None else given.table
    scorers = {name: run.scorer_of_new_facts(name, given) for name in relations}
    questions_of = {
        name: _every(scorer, name)
        if exact
        else questions_around(
            _drawn(facts_of(name).columns, around), open_positions(run.schema[name].arity, run.keys_of(name))
        )
        for name, scorer in scorers.items()
    }
    found = {}
    with progress("looking for new facts", sum(map(len, questions_of.values()))) as advance:
        for name, questions in questions_of.items():
            keys = run.keys_of(name)
            wanted = top * _SPARE if keys else top  # of facts that share a key one is left
            facts = best_new_facts(scorers[name], questions, wanted, answers=per_question, least=least, advance=advance)
            facts = _without_taken_keys(facts, facts_of(name).columns, keys, top)
            chances = found_probabilities(run, scorers[name], facts, given) if len(facts.scores) else None
            found[name] = _predictions(run, name, facts, chances, min_probability, exact)
    return found


def _without_taken_keys(facts: NewFacts, known: Ids, keys: Keys, most: int) -> NewFacts:
    """Return the best facts, at most so many, of which none repeats a key of a known one or of another."""
    if not keys:
        return facts
    kept = ~taken_keys(facts.columns, known, keys)
    for key in keys:
        _, first = np.unique(facts.columns[list(key)], axis=1, return_index=True)
        kept &= np.isin(np.arange(len(kept)), first)
    chosen = np.flatnonzero(kept)[:most]
    return NewFacts(facts.columns[:, chosen], facts.positions[chosen], facts.scores[chosen])


def _drawn(facts: Ids, most: int | None) -> Ids:
    """Return at most so many of the facts, int32[arity, n], always the same ones."""
    if most is None or facts.shape[1] <= most:
        return facts
    return facts[:, np.sort(np.random.default_rng(0).permutation(facts.shape[1])[:most])]


def _every(scorer: CandidateScorer, relation: str) -> Questions:
    sides = [scorer.entities(position) for position in range(scorer.model.schema[scorer.relation].arity)]
    if (count := math.prod(map(len, sides))) > EXHAUSTIVE_LIMIT:
        raise DataError(
            "too-many-facts",
            f"cannot try all {count:,} facts, only {EXHAUSTIVE_LIMIT:,}; search around known facts instead",
            place=relation,
        )
    return AllQuestions(sides)


def _predictions(
    run: Trained, relation: str, facts: NewFacts, found: Float64 | None, min_probability: float | None, exact: bool
) -> list[Prediction]:
    """Return new facts, the most likely first, on ties the one with the higher score."""
    count = len(facts.scores)
    order = np.arange(count) if found is None else np.argsort(-found, kind="stable")
    probabilities: list[float | None] = [None] * count if found is None else found.tolist()
    roles = field_names(run.schema[relation], range(len(facts.columns)))
    predictions = []
    for one in order.tolist():
        if min_probability is None or (probabilities[one] or 0.0) >= min_probability:
            shown = run.shown_values.fact(relation, facts.columns[:, one].tolist(), known=False)
            position = None if exact else int(facts.positions[one])
            score = float(facts.scores[one])
            predictions.append(
                Prediction(relation, shown.names, score, probabilities[one], position, roles, shown.intervals)
            )
    return predictions


def _checked(run: Trained, top: int, min_score: float | None, min_probability: float | None) -> float:
    """Return the least score that is wanted, or refuse what cannot be."""
    whole_number("top", top)
    if min_score is not None and math.isnan(min_score):
        raise SettingError("setting-out-of-range", "must be a number", place="min_score")
    if min_probability is not None:
        if not 0 <= min_probability <= 1:
            raise SettingError(
                "setting-out-of-range", f"must be from 0 to 1, not {min_probability}", place="min_probability"
            )
        if run.calibration is None:
            raise DataError(
                "no-probabilities",
                "there were no validation facts to make probabilities by",
                place=run.name,
                remedy="ask for a least score",
            )
    return -math.inf if min_score is None else min_score
