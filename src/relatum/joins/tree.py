"""Which conjunctions are trees, and the streams that answer them.

A tree has one variable that is answered. Every other one leads, through one fact, to one that is decided later, or hangs on
the answer: whether it has any entity is then a factor of the answer's value. All else is left to the best-first search.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relatum.arrays import Bool, Float64
from relatum.joins.conjunction import Conjunction
from relatum.joins.order import Step, steps_of
from relatum.joins.search import Assignment, Search, Work, negated_values
from relatum.joins.stream import Branch, ByQuestion, ByStreams, Factor, Stream


def is_tree(one: Conjunction) -> bool:
    """Return whether a conjunction is a tree."""
    answered = {term for term in one.head if isinstance(term, int)}
    if len(answered) != 1 or one.equal:
        return False
    (answer,) = answered
    _, *steps = steps_of(one)
    if any(len(step.variables) != 1 or any(directed.position is None for directed in step.atoms) for step in steps):
        return False
    before, after = _around(steps, answer)
    names = [step.variables[0] for step in before]
    leads = [name for step in before for directed in step.atoms for name in directed.given]
    if sorted(leads) != sorted(set(names) - {answer}):  # each to one fact, and none twice to the same
        return False
    if any(directed.atom.terms.count(step.variables[0]) > 1 for step in before for directed in step.atoms):
        return False
    for step in before:
        around = {step.variables[0]} | {name for directed in step.atoms for name in directed.given}
        own = {step.variables[0]}
        if any(not set(negation.variables) <= own for negation in step.negations):
            return False
        if any(isinstance(term, int) and term not in around for pair in step.unequal for term in pair):
            return False
    hidden = set(names) - {answer}
    return not any(step.mentioned & hidden for step in after)


def stream_of(work: Work, one: Conjunction) -> Stream:
    """Return the stream of the answers to a conjunction that is a tree."""
    (answer,) = {term for term in one.head if isinstance(term, int)}
    first, *steps = steps_of(one)
    before, after = _around(steps, answer)
    streams: dict[int, Stream] = {}
    for step in before:
        name = step.variables[0]
        branches: list[Branch] = []
        for directed in step.atoms:
            given = directed.given
            apart = [other for pair in step.unequal for other in pair if other in given]
            branches.append(
                ByStreams(work, directed, [streams[one] for one in given], apart)
                if given
                else ByQuestion(work, directed, {})
            )
        hanging = _hanging(answer, after) if name == answer else None
        constant = first if name == answer else None
        streams[name] = Stream(work, name, branches, _allowed(work, step), _factor(work, step, constant, hanging))
    return streams[answer]


def _around(steps: Sequence[Step], answer: int) -> tuple[Sequence[Step], Sequence[Step]]:
    """Return the steps up to the one that decides the answer, and those behind it."""
    at = next(number for number, step in enumerate(steps) if step.variables == (answer,)) + 1
    return steps[:at], steps[at:]


def _allowed(work: Work, step: Step) -> Bool:
    found = np.ones(work.truths.size, np.bool_)
    for _, other in step.unequal:
        if isinstance(other, str):
            found[work.entity(other)] = False
    return found


def _hanging(answer: int, after: Sequence[Step]) -> Conjunction | None:
    """Return what hangs on the answer as a conjunction of its own."""
    if not after:
        return None
    return Conjunction(
        (answer,),
        tuple(directed.atom for step in after for directed in step.atoms),
        tuple(negation for step in after for negation in step.negations),
        tuple(pair for step in after for pair in step.unequal),
    )


def _factor(work: Work, step: Step, constant: Step | None, hanging: Conjunction | None) -> Factor | None:
    """Return what else the value of an entity depends on: what is negated, what is about constants, what hangs on it."""
    name, negations = step.variables[0], step.negations
    constants = constant is not None and (constant.atoms or constant.negations)
    if not negations and not constants and hanging is None:
        return None
    fixed: list[float] = []

    def factor(entities: Sequence[int]) -> tuple[Float64, list[Assignment]]:
        rows: list[Assignment] = [{name: entity} for entity in entities]
        if constant is not None and not fixed:
            fixed.append(_of_constants(work, constant))
        values = np.full(len(rows), fixed[0] if fixed else 1.0)
        for negation in negations:
            values = work.conjoin(values, 1 - negated_values(work, negation, rows))
        more: list[Assignment] = [{} for _ in rows]
        if hanging is not None:
            for number, row in enumerate(rows):
                best = next(Search(work, hanging, row).run(), None) if values[number] > 0 else None
                values[number] = 0.0 if best is None else float(work.conjoin(values[number], best.value))
                more[number] = {} if best is None else best.assignment
        return values, more

    return factor


def _of_constants(work: Work, step: Step) -> float:
    """Return the value of what is about constants alone."""
    value = 1.0
    for directed in step.atoms:
        value = float(work.conjoin(value, work.values(directed, work.facts(directed.atom.terms, [{}])))[0])
    for negation in step.negations:
        value = float(work.conjoin(value, 1 - negated_values(work, negation, [{}]))[0])
    return value
