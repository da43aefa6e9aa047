"""The entities of a variable, best first, where a query is a tree: one vector of values for each variable.

A variable's value is that of all that leads to it: facts that constants decide, and facts that other variables lead to,
each of which has a stream of its own. What was not looked at yet is bounded, so an entity comes out as soon as nothing can
be better, and no more questions are looked at than that takes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Protocol

import numpy as np

from relatum.arrays import Bool, Float64, Int64
from relatum.data.vocabulary import Ids
from relatum.joins.order import DirectedAtom
from relatum.joins.search import Assignment, Work

_ANSWERS = 256  # to a question, at first
_DEEPER = 8  # times as many, when these do not do
_FEWEST, _MOST = 4, 64  # questions that are looked at at once
_FACTORS = 16  # entities for which a factor is worked out at once

Factor = Callable[[Sequence[int]], tuple[Float64, list[Assignment]]]  # the values of entities, and what else they assign


class TimeOver(Exception):  # noqa: N818 - not an error: what was found by then is what there is
    """Raised where a limit of time is reached."""


class Branch(Protocol):
    """What one atom says about the entities of a variable; entities that it has not listed are at most `rest`."""

    rest: float
    listed: Bool

    def lower(self, entities: Ids) -> Float64:
        """Return values that some entities surely have."""

    def upper(self, entities: Ids) -> Float64:
        """Return values above which they surely are not."""

    def deepen(self) -> None:
        """Look at more."""

    def assigned(self, entity: int) -> Assignment:
        """Return what leads to an entity."""


class ByQuestion:
    """An atom that is one question, since all else in it is given."""

    def __init__(self, work: Work, directed: DirectedAtom, given: Assignment) -> None:
        self._work, self._directed = work, directed
        self._question = work.facts(directed.atom.terms, [given])
        self._values = np.full(work.truths.size, np.nan)
        self.listed = np.zeros(work.truths.size, np.bool_)
        self._ask(_ANSWERS)

    def _ask(self, answers: int) -> None:
        assert self._directed.position is not None  # noqa: S101 - facts that answer no question are not in trees
        ranked = self._work.truths.best(self._directed.atom.relation, self._directed.position, self._question, answers)
        there = ranked.entities[0] >= 0
        self._values[ranked.entities[0][there]] = ranked.values[0][there]
        self.listed[ranked.entities[0][there]] = True
        self._answers, self.rest = answers, float(ranked.rest[0])

    def lower(self, entities: Ids) -> Float64:
        """Return the values of entities; those that were not listed are looked up."""
        missing = entities[np.isnan(self._values[entities])]
        if len(missing):
            facts = np.repeat(self._question, len(missing), axis=1)
            facts[self._directed.position] = missing
            self._values[missing] = self._work.values(self._directed, facts)
        return self._values[entities]

    upper = lower

    def deepen(self) -> None:
        """Look at more answers."""
        self._ask(self._answers * _DEEPER)

    def assigned(self, entity: int) -> Assignment:
        """Return nothing: constants lead to it."""
        return {}


class ByStreams:
    """An atom that other variables lead to: for each of their entities it is a question, and the best value counts."""

    def __init__(self, work: Work, directed: DirectedAtom, streams: Sequence[Stream], unequal: Sequence[int]) -> None:
        self._work, self._directed, self._streams, self._unequal = work, directed, streams, unequal
        self._tuples = _Tuples(work, streams)
        self._values, self._from = np.zeros(work.truths.size), np.full(work.truths.size, -1, np.int32)
        self.listed = np.zeros(work.truths.size, np.bool_)
        self._given: list[tuple[int, ...]] = []  # of the questions that were looked at
        self._worth, self._rests, self._answers = np.empty(0), np.empty(0), np.empty(0, np.int64)
        self._batch = _FEWEST
        self.rest = 1.0

    def lower(self, entities: Ids) -> Float64:
        """Return the best values by the questions that were looked at."""
        return self._values[entities]

    def upper(self, entities: Ids) -> Float64:
        """Return the same, or what others might give."""
        return np.maximum(self._values[entities], self.rest)

    def deepen(self) -> None:
        """Ask more questions, or for more answers to those that were looked at, whichever promises more."""
        further = self._work.conjoin(self._worth, self._rests)
        most = float(further.max(initial=0.0))
        if most > 0 and most >= self._tuples.ceiling():
            again = np.flatnonzero(further >= most / 2)[:_MOST]
            self._ask(again, int(self._answers[again].max()) * _DEEPER)
        else:
            new = self._tuples.take(self._batch)
            self._batch = min(2 * self._batch, _MOST)
            first = len(self._given)
            self._given += [entities for entities, _ in new]
            self._worth = np.append(self._worth, [value for _, value in new])
            self._rests = np.append(self._rests, np.zeros(len(new)))
            self._answers = np.append(self._answers, np.zeros(len(new), np.int64))
            if new:
                self._ask(np.arange(first, len(self._given)), _ANSWERS)
        further = self._work.conjoin(self._worth, self._rests)
        self.rest = max(self._tuples.ceiling(), float(further.max(initial=0.0)))

    def _ask(self, numbers: Int64, answers: int) -> None:
        assert self._directed.position is not None  # noqa: S101 - as above
        names = [stream.variable for stream in self._streams]
        rows = [dict(zip(names, self._given[number], strict=True)) for number in numbers.tolist()]
        questions = self._work.facts(self._directed.atom.terms, rows)
        ranked = self._work.truths.best(self._directed.atom.relation, self._directed.position, questions, answers)
        values = self._work.conjoin(self._worth[numbers, None], ranked.values)
        allowed = ranked.entities >= 0
        for name in self._unequal:
            allowed &= ranked.entities != np.array([row[name] for row in rows])[:, None]
        for number, listed, worths, there in zip(numbers.tolist(), ranked.entities, values, allowed, strict=True):
            entities, worth = listed[there], worths[there]
            better = worth > self._values[entities]
            self._values[entities[better]] = worth[better]
            self._from[entities[better]] = number
            self.listed[entities] = True
        self._rests[numbers], self._answers[numbers] = ranked.rest, answers

    def assigned(self, entity: int) -> Assignment:
        """Return the entities by which an entity has its value, and what led to these."""
        found: Assignment = {}
        for stream, one in zip(self._streams, self._given[self._from[entity]], strict=True):
            found |= stream.assigned(one)
        return found


class Stream:
    """The entities of a variable, best first.

    The `branches` lead to the variable; the `factor` is what else its value depends on, worked out for an entity only
    where it matters.
    """

    def __init__(
        self, work: Work, variable: int, branches: Sequence[Branch], allowed: Bool, factor: Factor | None = None
    ) -> None:
        self.variable, self._work, self._branches, self._allowed, self._factor = variable, work, branches, allowed, factor
        self._factors = np.full(len(allowed), np.nan)
        self._more: dict[int, Assignment] = {}
        self.ceiling = 1.0  # what entities that did not come out yet can reach at most
        self.entities: list[int] = []
        self.values: list[float] = []
        self._out = np.zeros(len(allowed), np.bool_)

    def reach(self, count: int) -> bool:
        """Return whether so many entities come out, best first."""
        while len(self.entities) < count and self.ceiling > 0 and self.ceiling >= self._work.least:
            if self._work.limit.reached():
                raise TimeOver
            self._advance()
        return len(self.entities) >= count

    def assigned(self, entity: int) -> Assignment:
        """Return an entity with what led to it."""
        found = {self.variable: entity, **self._more.get(entity, {})}
        for branch in self._branches:
            found |= branch.assigned(entity)
        return found

    def unproven(self) -> list[tuple[int, float]]:
        """Return entities that did not come out yet with what they surely have, best first."""
        entities, lower, _ = self._bounds()
        if self._factor is not None:
            lower = np.where(np.isnan(self._factors[entities]), 0.0, lower)
        order = np.argsort(-lower, kind="stable")
        return [(int(entities[one]), float(lower[one])) for one in order if lower[one] > 0]

    def _advance(self) -> None:
        """Let entities out that nothing can be better than, or look at more until some can."""
        entities, lower, upper = self._bounds()
        unseen = float(self._joined([np.array(branch.rest) for branch in self._branches]))
        whole = lower >= upper
        waiting = np.zeros(len(entities), np.bool_) if self._factor is None else np.isnan(self._factors[entities])
        exact = whole & ~waiting
        self.ceiling = max(unseen, float(upper[~exact].max(initial=0.0)))
        out = np.flatnonzero(exact & (lower >= self.ceiling) & (lower > 0))
        if len(out):
            out = out[np.argsort(-lower[out], kind="stable")]
            self.entities += entities[out].tolist()
            self.values += lower[out].tolist()
            self._out[entities[out]] = True
            remaining = exact.copy()
            remaining[out] = False
            self.ceiling = max(self.ceiling, float(lower[remaining].max(initial=0.0)))
        elif waiting.any() and float(upper[waiting & whole].max(initial=0.0)) >= self.ceiling:
            self._work_out(entities[waiting & whole], upper[waiting & whole])
        else:
            open_ones = [branch for branch in self._branches if branch.rest > 0]
            if open_ones:
                max(open_ones, key=lambda branch: branch.rest).deepen()
            elif waiting.any():
                self._work_out(entities[waiting], upper[waiting])
            else:
                self.ceiling = 0.0

    def _bounds(self) -> tuple[Ids, Float64, Float64]:
        """Return the entities that are listed and did not come out, what they have at least and at most."""
        listed = reduce(np.logical_or, (branch.listed for branch in self._branches))
        entities = np.flatnonzero(listed & self._allowed & ~self._out).astype(np.int32)
        lower, upper = (
            self._joined([getattr(branch, side)(entities) for branch in self._branches]) for side in ("lower", "upper")
        )
        if self._factor is not None:
            known = self._factors[entities]
            lower = self._work.conjoin(lower, np.where(np.isnan(known), 1.0, known))
            upper = self._work.conjoin(upper, np.where(np.isnan(known), 1.0, known))
        return entities, lower, upper

    def _joined(self, values: Sequence[Float64]) -> Float64:
        return reduce(self._work.conjoin, values)

    def _work_out(self, entities: Ids, upper: Float64) -> None:
        """Work the factor out for the entities that promise most."""
        assert self._factor is not None  # noqa: S101 - what waits for one has one
        chosen = entities[np.argsort(-upper, kind="stable")[:_FACTORS]]
        values, more = self._factor(chosen.tolist())
        self._factors[chosen] = values
        self._more.update(zip(chosen.tolist(), more, strict=True))


class _Tuples:
    """Entities of several streams, one of each, best first together; a stream goes on only where its next one is needed."""

    def __init__(self, work: Work, streams: Sequence[Stream]) -> None:
        self._work, self._streams = work, streams
        start = (0,) * len(streams)
        self._heap: list[tuple[float, tuple[int, ...]]] = [(-1.0, start)]  # what tuples reach at most, by their numbers
        self._seen = {start}

    def ceiling(self) -> float:
        """Return what tuples that were not taken can reach at most."""
        while self._heap:
            bound, numbers = self._heap[0]
            now = self._bound(numbers)
            if -bound <= now:
                return now
            heapq.heapreplace(self._heap, (-now, numbers)) if now > 0 else heapq.heappop(self._heap)
        return 0.0

    def take(self, count: int) -> list[tuple[tuple[int, ...], float]]:
        """Return the next tuples: at most so many, and at least one if there is one."""
        found: list[tuple[tuple[int, ...], float]] = []
        while len(found) < count and self.ceiling() > 0:
            numbers = self._heap[0][1]
            pairs = list(zip(self._streams, numbers, strict=True))
            if missing := [(stream, at) for stream, at in pairs if at >= len(stream.values)]:
                if found:
                    break
                stream, at = missing[0]
                if not stream.reach(at + 1):  # it has no more, or none that counts
                    heapq.heappop(self._heap)
                continue
            worth = -heapq.heappop(self._heap)[0]
            found.append((tuple(stream.entities[at] for stream, at in pairs), worth))
            for one in range(len(numbers)):
                after = (*numbers[:one], numbers[one] + 1, *numbers[one + 1 :])
                if after not in self._seen:
                    self._seen.add(after)
                    heapq.heappush(self._heap, (-worth, after))
        return found

    def _bound(self, numbers: tuple[int, ...]) -> float:
        """Return what a tuple has, or can reach at most where streams are not so far."""
        values = [
            stream.values[at] if at < len(stream.values) else stream.ceiling
            for stream, at in zip(self._streams, numbers, strict=True)
        ]
        return float(reduce(self._work.conjoin, values[1:], np.array(values[0])))
