"""Finding facts that are not known: the best new answers to questions that are made from known facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.models import scoring
from relatum.progress import progress
from relatum.runs.run import Run

__all__ = ["QUESTIONS", "Proposal", "largest", "propose"]

QUESTIONS = 120  # about a relation
_RELATIONS, _KEPT = 12, 5

Ids = npt.NDArray[np.int32]


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
            best: dict[tuple[int, ...], Proposal] = {}
            for one in _answers(run, relation, given, known):
                best.setdefault(one.entities, one)
            ranked = sorted(best.values(), key=lambda one: (-one.score, one.entities))
            found.append(ranked[:_KEPT])
            advance(1)
    return sorted(filter(None, found), key=lambda group: -(group[0].probability or 0.0))


def _answers(run: Run, relation: int, given: Hypergraph, known: KnownAnswers) -> Iterator[Proposal]:
    """Yield the best new answer to each question about a relation, position by position."""
    for position, asked in enumerate(_questions(given.table(given.schema[relation].name).columns)):
        if not asked.shape[1]:
            continue
        there = known.lookup(np.full(asked.shape[1], relation, np.int32), asked, position)
        columns = torch.from_numpy(asked.astype(np.int64))
        places, scores = scoring.top(run.model, run.tables, relation, columns, position, 1, there)
        for question, (place, score) in enumerate(zip(places[:, 0].tolist(), scores[:, 0].tolist(), strict=True)):
            if place >= 0:
                made = asked[:, question].copy()
                made[position] = place
                probability = None if run.calibration is None else float(run.calibration.probability(relation, score))
                yield Proposal(relation, tuple(made.tolist()), position, score, probability)


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
