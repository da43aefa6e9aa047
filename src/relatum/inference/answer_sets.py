"""Sets of answers that hold the missing one as often as is promised, by split-conformal calibration on validation facts.

Of each validation fact, and of each of its positions, it is seen how well its answer conforms among the candidates of its
question, all other known answers left out. An answer belongs to a set if it conforms at least as well as all but so many of
those do. With n facts, if a missing fact is like one more of them, a limit that k of them are below is above it in at most
k + 1 of n + 1 cases: nothing about the model is assumed. Where a relation has facts enough each of its positions has a limit
of its own; the relations that have too few share one.

How well an answer conforms is how far it is ahead of the best other candidate, or behind it, less half the logarithm of its
rank. Any such number keeps the promise, but sets are small only with a good one. By scores alone, a question that tells
nothing, all of whose candidates are about as likely, gets thousands of answers; by the rank alone, one with a sure answer
gets as many as any other. Scores differ by nats, as the calibration of answers has them, so this holds for any model.

The positions of one fact are not independent, so a limit that several positions share counts facts: each position has an
equal part of the weight of its fact, and one more fact, as bad as can be, stands for the one that is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from relatum.arrays import Float32, Float64, Int64
from relatum.artefacts import Declared, Given, Known, Within
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.schema import Schema
from relatum.data.vocabulary import Ids
from relatum.errors import DataError, SettingError
from relatum.inference.answer_calibration import AnswerCalibration
from relatum.inference.answer_sample import RIVALS
from relatum.inference.scoring import CandidateScorer
from relatum.inference.validation import sample

MOST_FACTS = 16_000  # validation facts that are looked at, at most about
OWN_FACTS = 50  # that a relation must have for limits of its own

_QUESTIONS = 4_096  # at once
_OF_RANK = 0.5  # what the logarithm of the rank weighs: of 0.5, 1, 2 and the rank alone what gives the smallest sets
_FAR = 1e6  # nats; an answer without any other candidate is so far ahead
_DIGITS = 6

Scope = Literal["position", "rest", "all", "column"]


@dataclass(frozen=True, slots=True)
class Limit:
    """How well an answer must conform to belong to a set, and what that rests on."""

    coverage: float  # the share of sets that hold the missing answer
    least: float  # the conformity of an answer must be no less; in a column of a table, its probability
    facts: int  # validation facts that the limit was found by, or validation cells
    # whose facts these are: those of the relation, by its own `position`; those of the relations that have too few,
    # the `rest`; those of `all` relations; or cells of the `column`
    scope: Scope

    def __str__(self) -> str:
        whose = {
            "position": "facts of this relation, by this position",
            "rest": "facts of the relations that have few, this one among them",
            "all": "facts of all relations together",
            "column": "cells of this column",
        }
        return (
            f"{100 * self.coverage:.4g} % of such sets hold the missing answer (calibrated on {self.facts:,} validation "
            f"{whose[self.scope]}; assumes that an answer is missing, and by the same accident as those were held out)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what is promised, and what it rests on."""
        return {"coverage": self.coverage, "validation_facts": self.facts, "scope": self.scope, "promise": str(self)}


_Ascending = Annotated[Float64, Within(-2 * _FAR, _FAR, shape=(None,), rising=True)]


@dataclass(frozen=True, eq=False)
class AnswerSets(Declared):
    """How well the answers of validation facts conform, and from there how well an answer must to belong to a set."""

    schema: Annotated[Schema, Given]
    # of the answers of validation facts, ascending, for each position of each relation
    conformities: Annotated[tuple[tuple[_Ascending, ...], ...], Within(shape=("schema",))]

    def limit(self, relation: int, position: int, coverage: float) -> Limit:
        """Return how well answers at a position must conform; refused where there are too few facts for the coverage."""
        require_coverage(coverage)
        if self.sampled(relation) >= OWN_FACTS:
            found = _limit(coverage, [(self.conformities[relation][position], 1)], "position")
        else:
            few = [number for number in range(len(self.schema)) if self.sampled(number) < OWN_FACTS]
            found = _limit(coverage, self._pooled(few), "rest")
        found = found or _limit(coverage, self._pooled(range(len(self.schema))), "all")
        if found is None:
            raise _too_few(sum(map(self.sampled, range(len(self.schema)))), coverage, "facts")
        return found

    def sampled(self, relation: int) -> int:
        """Return how many validation facts of a relation were looked at."""
        return len(self.conformities[relation][0])

    def _pooled(self, relations: Sequence[int]) -> list[tuple[Float64, int]]:
        """Return the conformities of some relations, and how many positions share a fact."""
        return [(each, len(self.conformities[one])) for one in relations for each in self.conformities[one]]

    def check(self, known: Known) -> None:
        """Refuse other positions than the relations have, or fewer answers at one position of a relation than at another."""
        for relation, found in zip(self.schema, self.conformities, strict=True):
            if len(found) != relation.arity or len({len(each) for each in found}) != 1:
                reason = f"there must be {relation.arity} lists, equally long"
                raise DataError("damaged-file", reason, place=f"conformities of {relation.name}")


def require_coverage(coverage: float) -> None:
    """Refuse what is no share of sets that can be promised."""
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 < coverage < 1:
        raise SettingError("bad-coverage", f"coverage must lie between 0 and 1, such as 0.9, not {coverage}")


def limit_of(coverage: float, probabilities: Float64) -> Limit:
    """Return how likely a value of a column must be, by the probabilities of what validation cells hold, 0 for no value."""
    require_coverage(coverage)
    found = _limit(coverage, [(probabilities, 1)], "column")
    if found is None:
        raise _too_few(len(probabilities), coverage, "cells of this column")
    if not found.least > 0:
        of_cells = f"of {len(probabilities):,} validation cells of this column only {100 * np.mean(probabilities > 0):.3g} %"
        reason = f"coverage {coverage:g} is out of reach: {of_cells} hold a value that can be answered"
        raise DataError("coverage-out-of-reach", reason, remedy="take less")
    return found


def fit_answer_sets(
    calibration: AnswerCalibration,
    scorer_of: Callable[[int, KnownAnswers], CandidateScorer],
    train: Hypergraph,
    valid: Hypergraph,
    advance: Callable[[int], None] = lambda _: None,
    most: int = MOST_FACTS,
) -> AnswerSets | None:
    """Return what validation facts say about sets of answers; None without any.

    `calibration` says what differences of scores weigh; `scorer_of` returns what scores the candidates of a relation, with
    known facts left out. At most `most` facts are looked at, and `advance` is called with how many are done.
    """
    if not len(valid):
        return None
    schema, taken = valid.schema, sample(valid, most) if len(valid) > most else valid
    found = [[np.empty(0) for _ in range(relation.arity)] for relation in schema]
    for relation, position, values in held_out_conformities(calibration, scorer_of, KnownAnswers(train, valid), taken):
        found[relation][position] = np.sort(np.floor(values * 10**_DIGITS) / 10**_DIGITS)  # down, so that none falls out
        advance(len(values) if position == 0 else 0)
    return AnswerSets(schema, tuple(map(tuple, found)))


def held_out_conformities(
    calibration: AnswerCalibration,
    scorer_of: Callable[[int, KnownAnswers], CandidateScorer],
    known: KnownAnswers,
    facts: Hypergraph,
) -> Iterator[tuple[int, int, Float64]]:
    """Yield, by relation and position, how well the answers of held-out facts conform while they are not known themselves.

    Known answers are left out, those of the facts among them or not. Others are as `fit_answer_sets` has them.
    """
    for relation, schema in enumerate(facts.schema):
        columns = facts.table(schema.name).columns
        if not columns.shape[1]:
            continue
        scorer, starts = scorer_of(relation, known), range(0, columns.shape[1], _QUESTIONS)
        for position in range(len(columns)):
            parts = [np.ascontiguousarray(columns[:, start : start + _QUESTIONS]) for start in starts]
            yield relation, position, np.concatenate([_held_out(calibration, scorer, position, part) for part in parts])


def _held_out(calibration: AnswerCalibration, scorer: CandidateScorer, position: int, facts: Ids) -> Float64:
    """Return how well the answers of facts, int32[arity, n], conform while they are not known."""
    own = scorer.scores(position, facts).astype(np.float64)
    entities, scores = scorer.top(position, facts, RIVALS)
    others = np.where(entities == facts[position][:, None], -np.inf, scores.astype(np.float64))
    above = np.count_nonzero(others >= own[:, None], axis=1)
    (deep,) = np.nonzero(above >= RIVALS - 1)  # there may be more of them
    if len(deep):
        better, equal, _ = scorer.count_better(position, np.ascontiguousarray(facts[:, deep]))
        above[deep] = better + equal
    return _conformity(calibration.sharpness(scorer.relation, position) * (own - others.max(1)), above)


def conformities(
    calibration: AnswerCalibration, scorer: CandidateScorer, position: int, question: Ids
) -> tuple[Ids, Float32, Float64]:
    """Return all candidates of a question, int32[arity, 1], that are not known, best first, with scores and conformities.

    The scorer is that of the relation, and leaves out what is known, or cannot be.
    """
    found, best = scorer.top(position, question, max(1, scorer.count(position)))
    entities, scores = found[0][found[0] >= 0], best[0][found[0] >= 0]
    wide = scores.astype(np.float64)
    others = np.where(np.arange(len(wide)) == 0, wide[1] if len(wide) > 1 else -np.inf, wide.max(initial=-np.inf))
    above = np.searchsorted(-wide, -wide, side="right") - 1  # those that score the same included, as if they were above
    return entities, scores, _conformity(calibration.sharpness(scorer.relation, position) * (wide - others), above)


def _conformity(lead: Float64, above: Int64) -> Float64:
    """Return how well answers conform that are ahead of the best other candidate by nats, and have others above them."""
    return np.clip(lead, -_FAR, _FAR) - _OF_RANK * np.log1p(above)


def _limit(coverage: float, parts: Sequence[tuple[Float64, int]], scope: Scope) -> Limit | None:
    """Return the highest limit below which at most the share that may be missed lies; None if there are too few facts.

    `parts` are conformities, and how many positions share the weight of a fact.
    """
    values = np.concatenate([np.empty(0), *(each for each, _ in parts)])
    weights = np.concatenate([np.empty(0), *(np.full(len(each), 1 / positions) for each, positions in parts)])
    facts = round(float(weights.sum()))
    room = (facts + 1) * (1 - coverage) - 1 + 1e-9  # one of them is the missing fact
    if room < 0 or not facts:
        return None
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    below = (np.cumsum(weights) - weights)[np.searchsorted(values, values, side="left")]  # equal ones are not below
    return Limit(float(coverage), float(values[below <= room].max()), facts, scope)


def _too_few(facts: int, coverage: float, what: str) -> DataError:
    most = math.floor(1000 * facts / (facts + 1)) / 10
    needed = math.ceil(round(1 / (1 - coverage) - 1, 6))
    promised = f"at most {most:g} % can be promised" if facts else "nothing can be promised"
    return DataError(
        "coverage-out-of-reach",
        f"coverage {coverage:g} needs {needed:,} validation {what}, and there are {facts:,}: {promised}",
    )
