"""Best-first search for the assignments under which a conjunction is likeliest, whatever its shape.

The value of a partial assignment bounds that of all its extensions, since no fact counts more than 1. So the best partial
assignment is extended first, and what is whole when it comes up is the best there is. Of two that agree on all variables
that still matter only the better one goes on. Questions come in batches, and only as many answers are looked at as
could be among the best.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from relatum.algebra.rule import Term
from relatum.arrays import Bool, Float64
from relatum.data.vocabulary import Ids
from relatum.joins.conjunction import Conjunction, Negation
from relatum.joins.order import DirectedAtom, Order, Step, directed_atom, order_of
from relatum.joins.truths import Conjoin, Truths
from relatum.time_limit import Deadline

Assignment = dict[int, int]  # of variables to entities

_BATCH = 32  # assignments that are extended at once
_ANSWERS = 64  # to a question, at first
_DEEPER = 8  # times as many, when these do not do


@dataclass(frozen=True, slots=True)
class Found:
    """An assignment of all variables, its value, and whether there is surely no better one but those found before."""

    assignment: Assignment
    value: float
    proven: bool = True


@dataclass(slots=True)
class Work:
    """What all parts of answering a query share."""

    truths: Truths  # what facts are worth
    conjoin: Conjoin  # how that becomes the value of several facts
    limit: Deadline  # when to stop
    least: float = 0.0  # the value below which nothing is looked for
    negated: Truths | None = None  # what facts are worth where they must not hold; None is the same
    _entities: dict[str, int] = field(default_factory=dict)
    _orders: dict[tuple[int, tuple[int, ...]], tuple[Conjunction, Order]] = field(default_factory=dict)

    def entity(self, name: str) -> int:
        """Return the number of an entity."""
        if name not in self._entities:
            self._entities[name] = self.truths.entity(name)
        return self._entities[name]

    def order(self, one: Conjunction, given: tuple[int, ...]) -> Order:
        """Return the order in which a conjunction is decided; of one that is negated it is wanted for each row."""
        key = id(one), given
        if key not in self._orders:
            self._orders[key] = one, order_of(one, given)  # with the conjunction, whose number no other then gets
        return self._orders[key][1]

    def within_negation(self) -> Work:
        """Return the same for what must not hold, of which what is unlikely counts too."""
        return replace(self, truths=self.negated or self.truths, least=0.0)

    def facts(self, terms: Sequence[Term], rows: Sequence[Mapping[int, int]]) -> Ids:
        """Return terms under some assignments, int32[terms, n]; a variable without one is 0, which is not looked at."""
        found = np.zeros((len(terms), len(rows)), np.int32)
        for position, term in enumerate(terms):
            found[position] = self.entity(term) if isinstance(term, str) else [row.get(term, 0) for row in rows]
        return found

    def values(self, directed: DirectedAtom, facts: Ids) -> Float64:
        """Return the values of facts, int32[arity, n], as an atom asks for them."""
        if directed.position is None:
            return self.truths.fact_values(directed.atom.relation, facts)
        return self.truths.values(directed.atom.relation, directed.position, facts)


class Search:
    """The assignments of a conjunction, best first.

    At first so many are extended at once as a `batch`. What variables can be at most is `fixed`: they are decided in
    their turn, unlike those that are given, so that facts answer the same questions as without.
    """

    def __init__(
        self,
        work: Work,
        one: Conjunction,
        given: Assignment | None = None,
        batch: int = 1,
        fixed: Assignment | None = None,
    ) -> None:
        self._work, self._given, self._batch, self._fixed = work, dict(given or {}), batch, fixed or {}
        self._steps, self._needed = work.order(one, tuple(self._given))
        self._heap: list[tuple[float, int, int, _Node]] = []
        self._numbers = itertools.count()
        self._seen: set[tuple[int, ...]] = set()

    def run(self) -> Iterator[Found]:
        """Yield assignments, best first, each with other entities in the head; all that is left when time is over last."""
        start, values = self._checked(self._steps[0], None, [self._given], np.ones(1))
        self._push(_Node(1, start, values))
        batch = self._batch
        while self._heap:
            if self._work.limit.reached():
                yield from self._left()
                return
            ready: list[tuple[Assignment, float]] = []
            depth = self._heap[0][3].depth
            while self._heap and len(ready) < batch and self._heap[0][3].depth == depth:
                node = heapq.heappop(self._heap)[3]
                if node.here < node.rest:  # others that extend the same assignment may be better
                    if self._work.limit.reached():  # a look that is cut off promises as much again, for ever
                        self._push(node)
                        break
                    self._push(_Node(depth, node.rows, node.values, at=node.at))
                    self._deepen(node)
                    continue
                row, value = node.rows[node.at], node.here
                node.at += 1
                self._push(node)
                if not self._is_new(depth, row):
                    continue
                if depth == len(self._steps):
                    yield Found(row, value)
                else:
                    ready.append((row, value))
            if ready:
                for node in self._children(depth, [row for row, _ in ready], [value for _, value in ready], _ANSWERS):
                    self._push(node)
                batch = min(2 * batch, _BATCH)

    def _push(self, node: _Node) -> None:
        if node.bound > 0 and node.bound >= self._work.least:
            # Among equals those that are further on come first, then those that were found first.
            heapq.heappush(self._heap, (-node.bound, -node.depth, next(self._numbers), node))

    def _is_new(self, depth: int, row: Assignment) -> bool:
        key = (depth, *(row[name] for name in sorted(self._needed[depth] & row.keys())))
        known = key in self._seen
        self._seen.add(key)
        return not known

    def _left(self) -> Iterator[Found]:
        """Yield what is whole but not proven to be the best."""
        for node in sorted((node for *_, node in self._heap if node.depth == len(self._steps)), key=lambda one: -one.bound):
            for row, value in zip(node.rows[node.at :], node.values[node.at :].tolist(), strict=True):
                if self._is_new(node.depth, row):
                    yield Found(row, value, proven=False)

    def _deepen(self, node: _Node) -> None:
        """Look at more answers to a question, those that were looked at already left out."""
        assert node.more is not None  # noqa: S101 - what has a rest has more
        row, value, answers, seen = node.more
        for deeper in self._children(node.depth - 1, [row], [value], answers * _DEEPER, skip=seen):
            self._push(deeper)

    def _children(
        self, depth: int, rows: list[Assignment], values: list[float], answers: int, skip: int = 0
    ) -> Iterator[_Node]:
        """Yield the extensions of each assignment by what a step decides."""
        step = self._steps[depth]
        if self._fixed.keys() >= set(step.variables):
            decided = {name: self._fixed[name] for name in step.variables}
            for row, value in zip(rows, values, strict=True):
                yield _Node(depth + 1, *self._checked(step, None, [{**row, **decided}], np.array([value])))
            return
        first = _enumerating(step)
        if first.position is not None:
            questions = self._work.facts(first.atom.terms, rows)
            ranked = self._work.truths.best(first.atom.relation, first.position, questions, answers)
        for number, (row, value) in enumerate(zip(rows, values, strict=True)):
            if first.position is None:
                found, own, rest, seen = self._facts(first, row, answers, skip)
            else:
                there = np.flatnonzero(ranked.entities[number] >= 0)
                seen, rest = len(there), float(ranked.rest[number])
                found = [{step.variables[0]: entity} for entity in ranked.entities[number][there[skip:]].tolist()]
                own = ranked.values[number][there[skip:]]
            extended, worth = self._checked(step, first, [{**row, **more} for more in found], self._work.conjoin(value, own))
            bound = float(self._work.conjoin(value, rest))
            yield _Node(depth + 1, extended, worth, bound, (row, value, answers, seen) if rest > 0 else None)

    def _facts(
        self, directed: DirectedAtom, row: Assignment, answers: int, skip: int
    ) -> tuple[list[Assignment], Float64, float, int]:
        """Return the variables of a fact that decides several together, best first, and how many facts were seen."""
        terms = directed.atom.terms
        decided = {**self._fixed, **row}
        given = [self._work.entity(term) if isinstance(term, str) else decided.get(term) for term in terms]
        best = self._work.truths.best_facts(directed.atom.relation, given, answers, self._work.limit)
        found, kept = [], []
        for number, fact in enumerate(best.columns.T.tolist()[skip:], skip):
            names: Assignment = {}
            pairs = ((term, entity) for term, entity in zip(terms, fact, strict=True) if isinstance(term, int))
            if all(names.setdefault(term, entity) == entity for term, entity in pairs):
                found.append(names)
                kept.append(number)
        return found, best.values[kept], best.rest, best.columns.shape[1]

    def _checked(
        self, step: Step, done: DirectedAtom | None, rows: list[Assignment], values: Float64
    ) -> tuple[list[Assignment], Float64]:
        """Return assignments with the values of all else that a step looks at, best first."""
        work = self._work
        if rows:
            kept = np.flatnonzero((values > 0) & ~_are_equal(work, step.unequal, rows).any(0))
            rows, values = [rows[number] for number in kept.tolist()], values[kept]
        for directed in step.atoms:
            if directed is not done and rows:
                values = work.conjoin(values, work.values(directed, work.facts(directed.atom.terms, rows)))
        for negation in step.negations:
            if rows:
                values = work.conjoin(values, 1 - negated_values(work, negation, rows))
        order = np.argsort(-values, kind="stable")
        order = order[values[order] > 0]
        return [rows[number] for number in order.tolist()], values[order]


@dataclass(slots=True)
class _Node:
    """Assignments of as many steps, best first, of which those from `at` on are still to be looked at."""

    depth: int  # how many steps are done
    rows: list[Assignment]
    values: Float64
    rest: float = 0.0  # what others can reach that extend the same assignment, at most
    # that assignment, its value, how many answers were wanted, and how many seen; None if there are no more
    more: tuple[Assignment, float, int, int] | None = None
    at: int = 0  # the next one

    @property
    def bound(self) -> float:
        """What those that are still to be looked at can reach at most."""
        return max(self.here, self.rest)

    @property
    def here(self) -> float:
        """The value of the next one."""
        return float(self.values[self.at]) if self.at < len(self.rows) else 0.0


def negated_values(work: Work, negation: Negation, rows: Sequence[Assignment]) -> Float64:
    """Return how likely it is that what is negated holds, under each of some assignments."""
    work = work.within_negation()
    found = np.zeros(len(rows))
    given = negation.variables
    for inner in negation.alternatives:
        there = np.flatnonzero(_are_equal(work, inner.equal, rows).all(0))
        some = [rows[number] for number in there.tolist()]
        if not some:
            continue
        if len(inner.atoms) == 1 and not inner.negations and not inner.unequal and set(inner.variables) <= set(given):
            directed = directed_atom(inner.atoms[0], given)
            values = work.values(directed, work.facts(directed.atom.terms, some))
        else:
            values = np.array([_most(work, inner, _of(row, given)) for row in some])
        found[there] = np.maximum(found[there], values)
    return found


def _most(work: Work, inner: Conjunction, given: Assignment) -> float:
    """Return the value of the best assignment of what is negated; 1 where time is over, for nobody knows."""
    if work.limit.reached():
        return 1.0
    best = next(Search(work, inner, given).run(), None)
    return 1.0 if work.limit.stopped else 0.0 if best is None else best.value


def against(work: Work, negation: Negation, row: Assignment) -> tuple[Conjunction, Assignment] | None:
    """Return what speaks most for that which is negated: the alternative, and its assignment; None if nothing does."""
    work = work.within_negation()
    found: list[tuple[float, Conjunction, Assignment]] = []
    for inner in negation.alternatives:
        if _are_equal(work, inner.equal, [row]).all():
            best = next(Search(work, inner, _of(row, negation.variables)).run(), None)
            if best is not None:
                found.append((best.value, inner, best.assignment))
    return max(found, key=lambda one: one[0])[1:] if found else None


def _of(row: Assignment, names: Sequence[int]) -> Assignment:
    return {name: row[name] for name in names}


def _enumerating(step: Step) -> DirectedAtom:
    """Return the atom whose answers or facts are tried in a step."""
    for directed in step.atoms:
        if directed.position is None or (len(step.variables) == 1 and directed.atom.terms.count(step.variables[0]) == 1):
            return directed
    raise AssertionError("a step decides what a question or a fact decides")


def _are_equal(work: Work, pairs: Sequence[tuple[Term, Term]], rows: Sequence[Assignment]) -> Bool:
    """Return which pairs of terms are one entity under which assignments, [pairs, n]."""
    found = np.ones((len(pairs), len(rows)), np.bool_)
    for number, pair in enumerate(pairs):
        left, right = work.facts(pair, rows)
        found[number] = left == right
    return found
