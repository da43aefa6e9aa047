"""Beam search over predicted facts, the way of CQD: what joins are compared with, on the same model and calibration.

Variables are decided one after the other; of each the best `width` partial assignments are kept. Every fact counts as the
model predicts it, known or not, as CQD's link predictor scores all triples alike; `facts=True` lets known facts count 1.
"""

from __future__ import annotations

import numpy as np

from relatum.algebra import Expression
from relatum.arrays import Float64
from relatum.data.hypergraph import Hypergraph
from relatum.data.vocabulary import Ids
from relatum.inference.answer_sample import RIVALS
from relatum.joins.conjunction import Conjunction, alternatives_of
from relatum.joins.order import DirectedAtom, Step, steps_of
from relatum.joins.search import Assignment, Work, negated_values
from relatum.joins.truths import Ranked, conjunction_by
from relatum.runs.join_truths import RunTruths
from relatum.runs.trained import Trained
from relatum.time_limit import Deadline

__all__ = ["PredictedTruths", "beam_answers"]

_LISTED = 5_000  # answers that a beam lists


class PredictedTruths(RunTruths):
    """What a run believes of every fact, those that it knows included."""

    def __init__(self, run: Trained, given: Hypergraph) -> None:
        super().__init__(run, given, cap=1.0, floor=0.0)

    def best(self, relation: str, position: int, questions: Ids, k: int) -> Ranked:
        scorer = self._scorer(relation, position)
        rivals = self._rivals_of(relation, position, questions)
        entities, scores = scorer.top(position, questions, max(k, RIVALS), known=False)
        among = (entities[:, :, None] == rivals.entities[:, None, :]).any(2)
        values = self._likely(self._run.schema.id(relation), position, scores, rivals, among)
        values = np.where(entities >= 0, values, 0.0)
        return Ranked(entities, values, np.zeros(len(values)))

    def known(self, relation: str, facts: Ids) -> np.ndarray:
        return np.zeros(facts.shape[1], np.bool_)


def beam_answers(expression: Expression, truths: RunTruths, width: int = 512) -> list[tuple[tuple[int, ...], float]]:
    """Return the answers that a beam finds and their values, best first."""
    work = Work(truths, conjunction_by("product"), Deadline())
    best: dict[tuple[int, ...], float] = {}
    for one in alternatives_of(expression):
        for row, value in _beam(work, one, width):
            head = tuple(work.entity(term) if isinstance(term, str) else row[term] for term in one.head)
            best[head] = max(best.get(head, 0.0), value)
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))


def _beam(work: Work, one: Conjunction, width: int) -> list[tuple[Assignment, float]]:
    first, *steps = steps_of(one)
    rows, values = _checked(work, first, None, [{}], np.ones(1))
    for number, step in enumerate(steps):
        atom = max(step.atoms, key=lambda directed: len(directed.given))
        if atom.position is None:
            raise NotImplementedError("a beam decides one variable at a time")
        last = number == len(steps) - 1
        questions = work.facts(atom.atom.terms, rows)
        ranked = work.truths.best(atom.atom.relation, atom.position, questions, work.truths.size if last else width)
        worth = np.where(ranked.entities >= 0, values[:, None] * ranked.values, 0.0)
        name = step.variables[0]
        if last and name in one.head and len({*one.head}) == 1:  # the best row for each entity
            best, by = np.zeros(work.truths.size), np.zeros(work.truths.size, np.int64)
            for row in range(len(rows)):
                better = worth[row] > best[ranked.entities[row]]
                chosen = ranked.entities[row][better]
                best[chosen], by[chosen] = worth[row][better], row
            kept = np.argsort(-best, kind="stable")[:_LISTED]
            rows, values = [{**rows[by[entity]], name: entity} for entity in kept.tolist()], best[kept]
        else:
            order = np.argsort(-worth, axis=None, kind="stable")[: 4 * width]
            pairs = [divmod(place, worth.shape[1]) for place in order.tolist()]
            rows, values = [{**rows[r], name: int(ranked.entities[r, c])} for r, c in pairs], worth.ravel()[order]
        rows, values = _checked(work, step, atom, rows, values)
        if not last:
            order = np.argsort(-values, kind="stable")[:width]
            rows, values = [rows[place] for place in order.tolist()], values[order]
    return list(zip(rows, values.tolist(), strict=True))


def _checked(
    work: Work, step: Step, done: DirectedAtom | None, rows: list[Assignment], values: Float64
) -> tuple[list[Assignment], Float64]:
    """Return assignments with the values of all else that a step looks at."""
    for atom in step.atoms:
        if atom is not done and rows:
            values = values * work.values(atom, work.facts(atom.atom.terms, rows))
    for negation in step.negations:
        if rows:
            values = values * (1 - negated_values(work, negation, rows))
    kept = np.flatnonzero(values > 0)
    return [rows[number] for number in kept.tolist()], values[kept]
