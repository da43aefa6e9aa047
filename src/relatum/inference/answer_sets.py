"""Sets of answers that hold the missing one as often as is promised, by split-conformal calibration on validation facts.

Of each validation fact, and of each of its positions, it is seen how likely its answer is among the candidates of its question
(`AnswerCalibration.log_odds`), all other known answers left out. An answer belongs to a set if it is at least as likely as
all but so many of those. With n facts, if a missing fact is like one more of them, the set misses it in at most k of n + 1
cases if k are less likely than the limit: no assumption about the model is needed. Where a position has facts enough the
limit is its own; the relations that have too few share one.

The positions of one fact are not independent, so a limit that several positions share counts facts: each has the weight 1,
and each of its positions an equal part of that; one more fact, as bad as can be, stands for the one that is asked about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from relatum.arrays import Float32, Float64
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.schema import Schema
from relatum.data.vocabulary import Ids
from relatum.errors import DataError, SettingError
from relatum.inference.answer_calibration import AnswerCalibration
from relatum.inference.answer_sample import RIVALS, Rivals
from relatum.inference.scoring import CandidateScorer
from relatum.inference.validation import sample

__all__ = [
    "MOST_FACTS",
    "OWN_FACTS",
    "AnswerSets",
    "Limit",
    "answer_log_odds",
    "fit_answer_sets",
    "held_out_log_odds",
    "limit_of",
    "require_coverage",
]

MOST_FACTS = 8_000  # validation facts that are looked at, at most, about
OWN_FACTS = 100  # that a relation must have for limits of its own: they are then off by at most 1 point on average

_VERSION = 1
_QUESTIONS = 4_096  # at once
_DIGITS = 6

Scope = Literal["position", "rest", "all", "column"]


@dataclass(frozen=True, slots=True)
class Limit:
    """How likely an answer must be to belong to a set, and what that rests on.

    Attributes:
        coverage: the share of sets that hold the missing answer.
        least: what an answer must have at least: log-odds, or, in a column of a table, a probability.
        facts: validation facts that the limit was found by, or validation cells.
        scope: whose facts these are: those of the relation, its own `position` seen; those of all relations that have too
            few, the `rest`; those of `all` relations; or cells of the `column`.
    """

    coverage: float
    least: float
    facts: int
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


@dataclass(frozen=True, eq=False)
class AnswerSets:
    """How likely the answers of validation facts are, and from there how likely an answer must be to belong to a set.

    Attributes:
        schema: the relations.
        log_odds: of the answers of validation facts, ascending, for each position of each relation.
    """

    schema: Schema
    log_odds: tuple[tuple[Float64, ...], ...]

    def limit(self, relation: int, position: int, coverage: float) -> Limit:
        """Return how likely answers at a position must be; refused where there are too few facts for the coverage."""
        require_coverage(coverage)
        if self.facts_of(relation) >= OWN_FACTS:
            found = _limit(coverage, [(self.log_odds[relation][position], 1.0)], "position")
        else:
            few = [number for number in range(len(self.schema)) if self.facts_of(number) < OWN_FACTS]
            found = _limit(coverage, self._pooled(few), "rest")
        found = found or _limit(coverage, self._pooled(range(len(self.schema))), "all")
        if found is None:
            raise _too_few(sum(map(self.facts_of, range(len(self.schema)))), coverage, "facts")
        return found

    def facts_of(self, relation: int) -> int:
        """Return how many validation facts of a relation were looked at."""
        return len(self.log_odds[relation][0])

    def _pooled(self, relations: Sequence[int]) -> list[tuple[Float64, float]]:
        return [(each, 1 / len(self.log_odds[one])) for one in relations for each in self.log_odds[one]]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        listed = [[each.tolist() for each in relation] for relation in self.log_odds]
        return {"version": _VERSION, "log_odds": listed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], schema: Schema) -> AnswerSets:
        """Return it for the relations of a schema from plain data; anything else is refused."""
        if not isinstance(data, Mapping):
            raise DataError("answer sets: must be a JSON object")
        if data.get("version") != _VERSION:
            raise DataError(f"answer sets: version {data.get('version')!r} is unknown; this relatum reads {_VERSION}")
        listed = data.get("log_odds")
        if not isinstance(listed, list) or len(listed) != len(schema):
            raise DataError(f"answer sets: log_odds must be a list for each of {len(schema)} relations")
        return cls(schema, tuple(_read(each, one.name, one.arity) for each, one in zip(listed, schema, strict=True)))


def require_coverage(coverage: float) -> None:
    """Refuse what is no share of sets that can be promised."""
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 < coverage < 1:
        raise SettingError(f"coverage must lie between 0 and 1, such as 0.9, not {coverage}")


def limit_of(coverage: float, probabilities: Float64) -> Limit:
    """Return how likely a value of a column must be, by the probabilities of what validation cells hold; 0 is beyond reach."""
    require_coverage(coverage)
    found = _limit(coverage, [(probabilities, 1.0)], "column")
    if found is None:
        raise _too_few(len(probabilities), coverage, "cells of this column")
    if not found.least > 0:
        share = float(np.mean(probabilities > 0))
        raise DataError(
            f"coverage {coverage:g} is out of reach: of {len(probabilities):,} validation cells of this column only "
            f"{100 * share:.3g} % hold a value that is known there; ask for less"
        )
    return found


def fit_answer_sets(
    calibration: AnswerCalibration,
    scorer_of: Callable[[int, KnownAnswers], CandidateScorer],
    train: Hypergraph,
    valid: Hypergraph,
    advance: Callable[[int], None] = lambda _: None,
) -> AnswerSets | None:
    """Return what validation facts say about sets of answers; None without any.

    Args:
        calibration: how likely answers are.
        scorer_of: returns what scores the candidates of a relation, with known facts left out.
        train: the facts that the model has learned.
        valid: those that it has not.
        advance: is called with how many facts are done.
    """
    if not len(valid):
        return None
    schema, taken = valid.schema, sample(valid, MOST_FACTS) if len(valid) > MOST_FACTS else valid
    found = [[np.empty(0) for _ in range(relation.arity)] for relation in schema]
    for relation, position, likely in held_out_log_odds(calibration, scorer_of, KnownAnswers(train, valid), taken):
        found[relation][position] = np.sort(np.floor(likely * 10**_DIGITS) / 10**_DIGITS)  # down, so that none falls out
        advance(len(likely) if position == 0 else 0)
    return AnswerSets(schema, tuple(map(tuple, found)))


def held_out_log_odds(
    calibration: AnswerCalibration,
    scorer_of: Callable[[int, KnownAnswers], CandidateScorer],
    known: KnownAnswers,
    facts: Hypergraph,
) -> Iterator[tuple[int, int, Float64]]:
    """Yield, by relation and position, how likely the answers of held-out facts are while they are not known themselves.

    `known` are the answers that are left out, those of the facts among them or not.
    """
    for relation, schema in enumerate(facts.schema):
        columns = facts.table(schema.name).columns
        if not columns.shape[1]:
            continue
        scorer = scorer_of(relation, known)
        for position in range(schema.arity):
            parts = [columns[:, start : start + _QUESTIONS] for start in range(0, columns.shape[1], _QUESTIONS)]
            yield (
                relation,
                position,
                np.concatenate([_held_out(calibration, scorer, position, np.ascontiguousarray(part)) for part in parts]),
            )


def _held_out(calibration: AnswerCalibration, scorer: CandidateScorer, position: int, facts: Ids) -> Float64:
    """Return how likely the answers of facts, int32[arity, n], are while they are not known."""
    own, answers = scorer.scores(position, facts).astype(np.float64), scorer.answers(position, facts)
    entities, best = scorer.top(position, facts, RIVALS)
    others = np.where(entities == facts[position][:, None], -np.inf, best.astype(np.float64))
    scores = -np.sort(-np.concatenate([others, own[:, None]], axis=1), axis=1)[:, :RIVALS]
    rivals = Rivals(scores, entities, answers.counts - answers.contain(facts[position]))
    return calibration.log_odds(scorer.relation, position, own, rivals, own >= scores[:, -1])


def answer_log_odds(
    calibration: AnswerCalibration, scorer: CandidateScorer, position: int, question: Ids, known: int
) -> tuple[Ids, Float32, Float64]:
    """Return all candidates of a question, int32[arity, 1], that are not known, best first, with scores and log-odds.

    Args:
        calibration: how likely answers are.
        scorer: of the relation; it leaves out what is known, or cannot be.
        position: the open position.
        question: the given entities.
        known: how many answers are known.
    """
    found, best = scorer.top(position, question, max(RIVALS, scorer.count(position)))
    entities, scores = found[0][found[0] >= 0], best[0][found[0] >= 0]
    rivals = Rivals(best[:, :RIVALS].astype(np.float64), found[:, :RIVALS], np.array([known], np.int64))
    among = np.arange(len(scores)) < RIVALS
    likely = calibration.log_odds(scorer.relation, position, scores.astype(np.float64)[None], rivals, among[None])[0]
    return entities, scores, likely


def _limit(coverage: float, parts: Sequence[tuple[Float64, float]], scope: Scope) -> Limit | None:
    """Return the highest limit below which at most the share that may be missed lies; None if there are too few facts.

    `parts` are log-odds of answers, and the weight of each; all weights together are the number of facts.
    """
    values = np.concatenate([each for each, _ in parts]) if parts else np.empty(0)
    weights = np.concatenate([np.full(len(each), weight) for each, weight in parts]) if parts else np.empty(0)
    facts = round(float(weights.sum()))
    room = (facts + 1) * (1 - coverage) - 1 + 1e-9  # one more fact, which is missed, is the one that is asked about
    if room < 0:
        return None
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    first = np.searchsorted(values, values, side="left")  # of those that are alike
    below = (np.cumsum(weights) - weights)[first]
    return Limit(float(coverage), float(values[below <= room].max()), facts, scope)


def _too_few(facts: int, coverage: float, what: str) -> DataError:
    most = math.floor(1000 * facts / (facts + 1)) / 10
    needed = math.ceil(1 / (1 - coverage) - 1 - 1e-9)
    return DataError(
        f"coverage {coverage:g} needs {needed:,} validation {what}, and there are {facts:,}: "
        + (f"at most {most:g} % can be promised" if facts else "nothing can be promised")
    )


def _read(listed: Any, relation: str, arity: int) -> tuple[Float64, ...]:
    """Return the log-odds of a relation as they stand in a file."""
    wrong = f"answer sets: log_odds of {relation} must be {arity} lists of finite numbers, ascending and equally long"
    try:
        found = [np.array(each, np.float64) for each in listed] if isinstance(listed, list) else []
    except (TypeError, ValueError):
        raise DataError(wrong) from None
    if len(found) != arity or any(each.ndim != 1 or len(each) != len(found[0]) for each in found):
        raise DataError(wrong)
    if not all(np.isfinite(each).all() and (np.diff(each) >= 0).all() for each in found):
        raise DataError(wrong)
    return tuple(found)
