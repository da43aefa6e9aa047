"""Finding facts that are not known: the best new answers to questions that are made from some known facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.models.new_facts import best_new_facts
from relatum.models.question_lists import ListedQuestions
from relatum.progress import progress
from relatum.runs.prediction import allowed_entities
from relatum.runs.run import Run

__all__ = ["QUESTIONS", "Proposal", "largest", "propose"]

QUESTIONS = 120  # about a relation
_RELATIONS, _KEPT = 12, 5


@dataclass(frozen=True)
class Proposal:
    """A fact that is not known, and the position whose entity was found."""

    relation: int
    entities: tuple[int, ...]
    position: int
    score: float
    probability: float | None


def largest(graph: Hypergraph) -> list[int]:
    """Return the relations with most facts, at most twelve."""
    sizes = [graph.table(one.name).columns.shape[1] for one in graph.schema]
    order = sorted(range(len(sizes)), key=lambda number: (-sizes[number], number))
    return [number for number in order[:_RELATIONS] if sizes[number]]


def propose(run: Run, given: Hypergraph, relations: Sequence[int]) -> list[list[Proposal]]:
    """Return by relation a few facts that are not given, best first; relations with the best ones come first.

    Of each relation some of the given facts are drawn, always the same. One position of each is opened, and its best answer
    that is not given is a proposal. So the work is bounded, and what is proposed is about entities that go together.
    """
    known, found = KnownAnswers(given), list[list[Proposal]]()
    with progress("looking for new facts", len(relations)) as advance:
        for relation in relations:
            found.append(_proposals(run, relation, given, known))
            advance(1)
    return sorted(filter(None, found), key=lambda group: -(group[0].probability or 0.0))


def _proposals(run: Run, relation: int, given: Hypergraph, known: KnownAnswers) -> list[Proposal]:
    name = given.schema[relation].name
    asked, allowed = ListedQuestions(_questions(given.table(name).columns)), allowed_entities(run, name)
    facts = best_new_facts(run.model, run.tables, relation, asked, known, _KEPT, answers=1, allowed=allowed)
    chances = None if run.calibration is None else run.calibration.probability(relation, facts.scores.astype(np.float64))
    told = [None] * len(facts.scores) if chances is None else chances.tolist()
    rows = zip(facts.columns.T.tolist(), facts.positions.tolist(), facts.scores.tolist(), told, strict=True)
    return [Proposal(relation, tuple(entities), position, score, chance) for entities, position, score, chance in rows]


def _questions(columns: Ids) -> list[Ids]:
    """Return distinct questions by open position, int32[arity, n] each, made from facts; always the same."""
    facts = np.unique(columns, axis=1)
    drawn = facts[:, np.sort(np.random.default_rng(0).permutation(facts.shape[1])[:QUESTIONS])]
    found = []
    for position in range(len(facts)):
        asked = drawn[:, position :: len(facts)].copy()
        asked[position] = 0
        found.append(np.unique(asked, axis=1))
    return found
