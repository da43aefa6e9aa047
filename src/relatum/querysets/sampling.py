"""Queries drawn from facts: a walk from a held-out fact gives a query that has a hard answer.

A walk picks a held-out fact for one atom of the shape, and for each other atom a fact that shares the entity of a variable
with one picked before; the entities at all positions without a variable become the query's constants. Half of the queries
are to have a full-hard answer: all of their facts are drawn from the held-out ones. The others have at least one such fact.
Every query is graded exactly afterwards, and kept only if it has what it was drawn for. The draws of a shape depend on the
facts, the seed and the shape alone.

No query goes a step and the same step back, `r(a, Y), r(X, Y)`: one fact would do for both atoms, and the constant itself
would be an answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from relatum.algebra.clauses import Goal, conjunction
from relatum.algebra.expression import Expression, Relation
from relatum.arrays import Bool, Int64
from relatum.data.hypergraph import Split
from relatum.data.vocabulary import Ids
from relatum.querysets.difficulty import GradedFacts, Grades, grade
from relatum.querysets.query_set import SHAPES, GradedQuery, QuerySet, Shape, find_shapes

MOST_HARD = 100  # as the literature does: a query with more answers to find says little about any of them
_DRAWS = 500  # for each query that is wanted, before a shape is left with fewer

BoundAtom = tuple[int, tuple[str | int, ...]]  # a relation, and the name of a variable or an entity at each position


def sample_queries(
    split: Split,
    part: str = "test",
    *,
    count: int = 200,
    seed: int = 0,
    shapes: Iterable[str] = (),
    most_hard: int = MOST_HARD,
    advance: Callable[[int], None] = lambda done: None,
) -> QuerySet:
    """Return queries over the facts of a split, `count` of each shape or as many as the facts give.

    The facts of `part`, valid or test, are held out, the parts before it are known, and those behind it are left aside. By
    default there are queries of all `SHAPES`; those with more than `most_hard` hard answers are dropped. The same facts and
    the same seed give the same queries. `advance` is called with how many were drawn, or given up, since the last call.
    """
    facts = GradedFacts.of(split, part)
    chosen = find_shapes(shapes)
    found = [query for shape in chosen for query in sampled(shape, facts, count, seed, most_hard, advance)]
    data = Path(split.source).name  # of a registered dataset or of a folder, wherever that happens to be
    names = tuple(shape.name for shape in chosen)
    return QuerySet(data, part, seed, count, most_hard, dict(split.checksums), names, tuple(found))


def sampled(
    shape: Shape,
    facts: GradedFacts,
    count: int,
    seed: int,
    most_hard: int,
    advance: Callable[[int], None],
) -> list[GradedQuery]:
    """Return up to `count` distinct queries of one shape, the first half with a full-hard answer as far as there are."""
    rng = np.random.default_rng([seed, list(SHAPES).index(shape.name)])
    walks = _Walks(shape, facts, rng)
    found: list[GradedQuery] = []
    kept: set[object] = set()
    for full, wanted in ((True, (count + 1) // 2), (False, count)):
        seen = set(kept)  # what has no full-hard answer may have a hard one
        draws = _DRAWS * (wanted - len(found))
        while len(found) < wanted and draws:
            draws -= 1
            walk = walks.drawn(full)
            if walk is None or walk.key in seen:
                continue
            seen.add(walk.key)
            expression = walk.expression(facts)
            grades = grade(expression, facts)
            if grades is None or int(grades.hard.sum()) > most_hard:
                continue
            if not (grades.full_hard if full else grades.hard).any():
                continue
            kept.add(walk.key)
            found.append(_query(shape, expression, walk.constants(facts), grades, facts))
            advance(1)
    advance(count - len(found))
    return found


def _query(
    shape: Shape, expression: Expression, constants: tuple[str, ...], grades: Grades, facts: GradedFacts
) -> GradedQuery:
    names = facts.entities.names

    def rows(chosen: Bool) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(names[entity] for entity in row) for row in grades.answers[:, chosen].T.tolist())

    return GradedQuery(shape.name, expression, constants, rows(grades.easy), rows(grades.hard), rows(grades.full_hard))


@dataclass(frozen=True, slots=True)
class _Walk:
    """A query of a shape: its atoms, whose terms are variables of the shape and entities."""

    shape: Shape
    atoms: tuple[BoundAtom, ...]

    @property
    def key(self) -> object:
        """What two walks that give one query have in common, in whichever order their atoms were drawn."""
        rules = frozenset(frozenset(self.atoms[number] for number in rule) for rule in self.shape.rules)
        return rules, frozenset(self.atoms[number] for number in self.shape.negated)

    @property
    def repeats(self) -> bool:
        """Whether an atom occurs twice, or two atoms of a rule meet at a position so that one fact could be both."""
        pairs = (pair for rule in self.shape.rules for pair in itertools.combinations(rule, 2))
        back = any(_is_step_back(self.atoms[one], self.atoms[other]) for one, other in pairs)
        return back or len(set(self.atoms)) < len(self.atoms)

    def expression(self, facts: GradedFacts) -> Expression:
        numbers = {variable: number for number, variable in enumerate(self.shape.variables)}

        def goal(number: int) -> Goal:
            relation, terms = self.atoms[number]
            named = (numbers[term] if isinstance(term, str) else facts.entities[term] for term in terms)
            return Relation(facts.schema[relation]), tuple(named)

        head = [numbers[variable] for variable in self.shape.head]
        negatives = [goal(number) for number in self.shape.negated]
        first, *others = (conjunction(head, [goal(number) for number in rule], negatives) for rule in self.shape.rules)
        for other in others:
            first = first | other
        return first

    def constants(self, facts: GradedFacts) -> tuple[str, ...]:
        """Return the entities that the query names, atom by atom."""
        ids = (term for _, terms in self.atoms for term in terms if isinstance(term, int))
        return tuple(dict.fromkeys(facts.entities[entity] for entity in ids))


def _is_step_back(one: BoundAtom, other: BoundAtom) -> bool:
    if one[0] != other[0]:
        return False
    terms = list(zip(one[1], other[1], strict=True))
    clash = any(isinstance(mine, int) and isinstance(theirs, int) and mine != theirs for mine, theirs in terms)
    return not clash and any(isinstance(mine, str) and mine == theirs for mine, theirs in terms)


class _Walks:
    """Draws walks of one shape."""

    def __init__(self, shape: Shape, facts: GradedFacts, rng: np.random.Generator) -> None:
        self._shape, self._facts, self._rng = shape, facts, rng
        arities = [arity for arity in facts.blocks if (arity >= 2 if shape.n_ary else arity == 2)]
        self._every, self._late = _Pool(facts, arities, late=False), _Pool(facts, arities, late=True)
        self._start = _Pool(facts, [arity for arity in arities if arity >= 3], late=True) if shape.n_ary else self._late

    def drawn(self, full: bool) -> _Walk | None:
        """Return a walk, of held-out facts only if it is `full`; None if this draw has led nowhere."""
        shape, rng = self._shape, self._rng
        if not len(self._start):
            return None
        pool = self._late if full else self._every
        values: dict[str, int] = {}
        atoms: dict[int, BoundAtom] = {}
        used: set[_Fact] = set()
        waiting = [number for number in range(len(shape.atoms)) if number not in shape.negated]
        chosen: tuple[_Fact, int | None] | None = self._start.any(rng), None
        number = waiting.pop(int(rng.integers(len(waiting))))
        while chosen is not None and chosen[0] not in used:
            fact, position = chosen
            used.add(fact)
            atoms[number] = self._bound(shape.atoms[number], fact, position, values)
            if not waiting:
                break
            number = next(one for one in waiting if values.keys() & set(shape.atoms[one]))
            waiting.remove(number)
            shared = next(variable for variable in shape.atoms[number] if variable in values)
            chosen = pool.holding(values[shared], rng)
        else:
            return None
        for number in shape.negated:
            chosen = self._excluding(atoms, values, pool)
            if chosen is None:
                return None
            atoms[number] = self._bound(shape.atoms[number], *chosen, dict(values))
        walk = _Walk(shape, tuple(atoms[number] for number in range(len(shape.atoms))))
        return None if walk.repeats else walk

    def _bound(self, variables: tuple[str, ...], fact: _Fact, position: int | None, values: dict[str, int]) -> BoundAtom:
        """Return the atom of a fact, in which the variable that has a value is at `position`; give the others theirs."""
        relation, entities = fact
        rest = [other for other in range(len(entities)) if other != position]
        new = [variable for variable in variables if variable not in values]
        chosen = [rest[index] for index in self._rng.permutation(len(rest))[: len(new)]] if new else []
        if self._shape.head == tuple(new):
            chosen.sort()  # the columns of an answer keep the order of the positions
        terms: list[str | int] = list(entities)
        for variable, other in zip(new, chosen, strict=True):
            terms[other] = variable
            values[variable] = entities[other]
        if position is not None:
            terms[position] = next(variable for variable in variables if variable not in new)
        return relation, tuple(terms)

    def _excluding(self, atoms: dict[int, BoundAtom], values: dict[str, int], pool: _Pool) -> tuple[_Fact, int] | None:
        """Return a fact that holds another answer of what was drawn so far, and where: it takes this answer away."""
        positive = Shape("", tuple(self._shape.atoms[number] for number in atoms), (tuple(range(len(atoms))),))
        grades = grade(_Walk(positive, tuple(atoms.values())).expression(self._facts), self._facts)
        others = [] if grades is None else grades.answers[0][grades.answers[0] != values["x"]].tolist()
        return pool.holding(others[int(self._rng.integers(len(others)))], self._rng) if others else None


_Fact = tuple[int, tuple[int, ...]]  # a relation and its entities


class _Pool:
    """Facts that can be drawn: any of them, or one that holds an entity."""

    def __init__(self, facts: GradedFacts, arities: list[int], *, late: bool) -> None:
        self._blocks: list[tuple[Ids, Ids]] = []
        blocks, rows, positions, entities = (list[Int64]() for _ in range(4))
        for arity in arities:
            relations, columns, known = facts.blocks[arity]
            chosen = np.flatnonzero(~known) if late else np.arange(len(known))
            for position in range(arity):
                blocks.append(np.full(len(chosen), len(self._blocks)))
                rows.append(chosen)
                positions.append(np.full(len(chosen), position))
                entities.append(columns[position][chosen].astype(np.int64))
            self._blocks.append((relations, columns))
        nothing = [np.empty(0, np.int64)]
        entity = np.concatenate(entities or nothing)
        order = np.argsort(entity, kind="stable")
        self._entity = entity[order]
        self._block, self._row, self._position = (np.concatenate(one or nothing)[order] for one in (blocks, rows, positions))
        self._first = np.flatnonzero(self._position == 0)  # each fact once

    def __len__(self) -> int:
        return len(self._first)

    def any(self, rng: np.random.Generator) -> _Fact:
        return self._fact(int(self._first[rng.integers(len(self._first))]))

    def holding(self, entity: int, rng: np.random.Generator) -> tuple[_Fact, int] | None:
        """Return a fact that holds an entity, and one of the positions where it does; None if there is none."""
        low, high = np.searchsorted(self._entity, [entity, entity + 1])
        if low == high:
            return None
        index = int(rng.integers(low, high))
        return self._fact(index), int(self._position[index])

    def _fact(self, index: int) -> _Fact:
        relations, columns = self._blocks[int(self._block[index])]
        row = int(self._row[index])
        return int(relations[row]), tuple(columns[:, row].tolist())
