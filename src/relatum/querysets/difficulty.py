"""How hard the answers of a query are: which of them follow from known facts, and which need facts that are held out.

A *derivation* of an answer is one fact for each atom of one of the query's rules, the negated atoms left out, such that the
facts together give the answer and no negated atom holds for it. All facts count, known and held out. An answer is

- *easy* if it has a derivation of known facts alone;
- *hard* if it has none: each derivation needs a held-out fact;
- *full-hard* if none of its derivations has a known fact at all: whatever way leads to it, every step is to be predicted.

For a union the derivations are those of either side, so a full-hard answer has no known fact on either. For a difference
they are those of the left side: what is to be absent has no fact. An answer that follows from the known facts but is taken
away by a held-out one is no answer, neither easy nor hard.

All of this is exact. A table of partial derivations holds, for each assignment of the variables that are still needed,
which of three types there are: of known facts alone, mixed, of held-out facts alone. So it has at most three rows for an
assignment, however many derivations there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from relatum.algebra.clauses import definitions_of
from relatum.algebra.expression import Expression
from relatum.algebra.rule import Atom, Definition, Rule, Term
from relatum.arrays import Bool, Int64
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.schema import Schema
from relatum.data.sorting import differs_from_previous, row_order, spread
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError, SettingError

PARTS = ("valid", "test")  # whose facts can be held out


class FactGroup:
    """Tuples of one arity, int32[arity, n], each with whether facts behind it are all known, and whether any is."""

    def __init__(self, columns: Ids, every_known: Bool, some_known: Bool) -> None:
        self.columns, self.every_known, self.some_known = columns, every_known, some_known
        self._orders: dict[int, tuple[Int64, Ids]] = {}

    def __len__(self) -> int:
        return int(self.columns.shape[1])

    def rows(self, position: int, entities: Ids) -> tuple[Int64, Int64, Int64]:
        """Return an order of the tuples, and for each of some entities the bounds in it of those that hold it there."""
        if position not in self._orders:
            order = np.argsort(self.columns[position], kind="stable")
            self._orders[position] = order, self.columns[position][order]
        order, ordered = self._orders[position]
        return order, np.searchsorted(ordered, entities, "left"), np.searchsorted(ordered, entities, "right")


class GradedFacts:
    """Facts of which some are known and others held out; a fact that is both is known."""

    def __init__(self, known: Hypergraph, held_out: Hypergraph) -> None:
        self.entities: Vocabulary = known.entities
        self.schema: Schema = known.schema
        self.blocks: dict[int, tuple[Ids, Ids, Bool]] = {}  # by arity: relations, entities and whether a fact is known
        for arity in sorted({*known.blocks, *held_out.blocks}):
            parts = [(graph.blocks[arity], graph is held_out) for graph in (known, held_out) if arity in graph.blocks]
            rows = [np.concatenate(columns) for columns in zip(*(block.rows for block, _ in parts), strict=True)]
            late = np.concatenate([np.full(len(block), held) for block, held in parts])
            order = row_order([*rows, late.astype(np.int32)], [len(self.schema), *[len(self.entities)] * arity, 2])
            order = order[differs_from_previous([row[order] for row in rows])]
            self.blocks[arity] = rows[0][order], np.stack([row[order] for row in rows[1:]]), ~late[order]
        self._groups: dict[str, FactGroup] = {}

    @classmethod
    def of(cls, split: Split, part: str) -> GradedFacts:
        """Return the facts of a split of which those of `part`, valid or test, are held out; all parts before are known."""
        if part not in PARTS:
            raise SettingError("setting-out-of-range", f"must be valid or test, not {part!r}", place="part")
        known = split.train if part == "valid" else Hypergraph.union([split.train, split.valid])
        facts = cls(known, split.parts[part])
        if all(flags.all() for _, _, flags in facts.blocks.values()):
            raise DataError(
                "no-queries",
                f"{part} has no fact that no part before it has, so no query has a hard answer",
                place=split.source,
            )
        return facts

    def group(self, relation: str) -> FactGroup:
        """Return the facts of one relation."""
        if relation not in self._groups:
            number, arity = self.schema.id(relation), self.schema[relation].arity
            empty = np.empty(0, np.int32), np.empty((arity, 0), np.int32), np.empty(0, np.bool_)
            relations, columns, known = self.blocks.get(arity, empty)
            start, stop = np.searchsorted(relations, [number, number + 1])
            self._groups[relation] = FactGroup(columns[:, start:stop], known[start:stop], known[start:stop])
        return self._groups[relation]


@dataclass(frozen=True, eq=False)
class Grades:
    """The answers of a query, int32[arity, n], distinct and sorted, and for each whether it is easy, or full-hard."""

    answers: Ids
    easy: Bool
    full_hard: Bool

    @property
    def hard(self) -> Bool:
        """Whether each answer needs at least one held-out fact; bool[n]."""
        return ~self.easy


def grade(expression: Expression, facts: GradedFacts, most: int = 5_000_000) -> Grades | None:
    """Return the answers of an expression on all facts, and how hard each is; None if it takes more than `most` rows."""
    found: list[FactGroup] = []
    try:
        for definition in definitions_of(expression):
            found.append(_defined(definition, facts, found, most))
    except _TooManyRowsError:
        return None
    last = found[-1]
    first = differs_from_previous(list(last.columns))  # rows of one answer follow one another
    starts = np.flatnonzero(first)
    if not len(starts):
        return Grades(last.columns, np.empty(0, np.bool_), np.empty(0, np.bool_))
    easy = np.logical_or.reduceat(last.every_known, starts)
    touched = np.logical_or.reduceat(last.some_known, starts)
    return Grades(last.columns[:, starts], easy, ~touched)


class _TooManyRowsError(Exception):
    """More partial derivations than may be held at once."""


@dataclass(frozen=True, eq=False)
class _Partial:
    """Partial derivations: the values of variables, int32[variables, n], and what the facts behind them are."""

    variables: tuple[int, ...]
    columns: Ids
    every_known: Bool
    some_known: Bool

    def gives(self, term: Term) -> bool:
        """Return whether a term has values: an entity, or a variable that has been met."""
        return not isinstance(term, int) or term in self.variables

    def value(self, term: int) -> Ids:
        found: Ids = self.columns[self.variables.index(term)]
        return found

    def taken(self, rows: Int64 | Bool) -> _Partial:
        return _Partial(self.variables, self.columns[:, rows], self.every_known[rows], self.some_known[rows])

    def projected(self, variables: tuple[int, ...], size: int) -> _Partial:
        """Return distinct rows over some of the variables, sorted."""
        columns = [self.value(variable) for variable in variables]
        rows = [*columns, self.every_known.astype(np.int32), self.some_known.astype(np.int32)]
        order = row_order(rows, [*[size] * len(columns), 2, 2])
        order = order[differs_from_previous([row[order] for row in rows])]
        kept = np.stack([column[order] for column in columns]) if columns else np.empty((0, len(order)), np.int32)
        return _Partial(variables, kept, self.every_known[order], self.some_known[order])


@dataclass(frozen=True, eq=False)
class _Matches:
    """The tuples of a group that agree with partial derivations at one position: bounds in an order, for each row."""

    group: FactGroup
    terms: tuple[Term, ...]
    order: Int64
    low: Int64
    high: Int64

    @property
    def total(self) -> int:
        return int((self.high - self.low).sum())


def _defined(definition: Definition, facts: GradedFacts, defined: list[FactGroup], most: int) -> FactGroup:
    """Return the tuples that a definition gives, each once for every type of derivation, sorted."""
    parts = [_ruled(rule.simplified(), facts, defined, most) for rule in definition]
    columns = np.concatenate([part.columns for part in parts], axis=1)
    flags = (np.concatenate([getattr(part, name) for part in parts]) for name in ("every_known", "some_known"))
    variables = tuple(range(len(columns)))
    together = _Partial(variables, columns, *flags).projected(variables, len(facts.entities))
    return FactGroup(together.columns, together.every_known, together.some_known)


def _ruled(rule: Rule, facts: GradedFacts, defined: list[FactGroup], most: int) -> _Partial:
    one = np.ones(1, np.bool_)
    partial = _Partial((), np.empty((0, 1), np.int32), one, ~one)
    waiting = list(rule.positives)
    while waiting:
        # Whichever atom has the fewest matches comes next.
        found = [_matches(partial, atom, facts, defined) for atom in waiting]
        totals = [one.total for one in found]
        chosen = totals.index(min(totals))
        if totals[chosen] > most:
            raise _TooManyRowsError
        del waiting[chosen]
        partial = _extended(partial, found[chosen], facts)
        needed = {term for atom in (*waiting, *rule.negatives) for term in atom.terms}
        needed.update(rule.head, *((one.left, one.right) for one in rule.comparisons))
        kept = tuple(variable for variable in partial.variables if variable in needed)
        partial = partial.projected(kept, len(facts.entities))
    for comparison in rule.comparisons:
        left, right = (_values(partial, term, facts) for term in (comparison.left, comparison.right))
        partial = partial.taken((left == right) == comparison.equal)
    for atom in rule.negatives:
        matches = _matches(partial, atom, facts, defined)
        if matches.total > most:
            raise _TooManyRowsError
        rows, _ = _agreeing(partial, matches, facts)
        holds = np.zeros(partial.columns.shape[1], np.bool_)
        holds[rows] = True
        partial = partial.taken(~holds)
    return replace(partial, variables=rule.head, columns=np.stack([partial.value(variable) for variable in rule.head]))


def _matches(partial: _Partial, atom: Atom, facts: GradedFacts, defined: list[FactGroup]) -> _Matches:
    """Return which tuples of an atom can extend each row, by that position at which the fewest agree."""
    group = defined[atom.predicate] if isinstance(atom.predicate, int) else facts.group(atom.predicate.name)
    best: _Matches | None = None
    for position, term in enumerate(atom.terms):
        if partial.gives(term):
            found = _Matches(group, atom.terms, *group.rows(position, _values(partial, term, facts)))
            best = found if best is None or found.total < best.total else best
    if best is None:
        nothing = np.zeros(partial.columns.shape[1], np.int64)
        best = _Matches(group, atom.terms, np.arange(len(group)), nothing, nothing + len(group))
    return best


def _values(partial: _Partial, term: Term, facts: GradedFacts) -> Ids:
    """Return what a variable that has values, or an entity, is in each row."""
    if isinstance(term, int):
        return partial.value(term)
    return np.full(partial.columns.shape[1], facts.entities.id(term), np.int32)


def _agreeing(partial: _Partial, matches: _Matches, facts: GradedFacts) -> tuple[Int64, Int64]:
    """Return pairs of a row and a tuple that agree at all positions."""
    counts = matches.high - matches.low
    rows = np.repeat(np.arange(len(counts)), counts)
    tuples = matches.order[spread(matches.low, counts)]
    agree = np.ones(len(rows), np.bool_)
    for position, term in enumerate(matches.terms):
        column = matches.group.columns[position]
        if partial.gives(term):
            agree &= column[tuples] == _values(partial, term, facts)[rows]
        elif (before := matches.terms.index(term)) < position:
            agree &= column[tuples] == matches.group.columns[before][tuples]
    return rows[agree], tuples[agree]


def _extended(partial: _Partial, matches: _Matches, facts: GradedFacts) -> _Partial:
    rows, tuples = _agreeing(partial, matches, facts)
    extended, group = partial.taken(rows), matches.group
    new = tuple(dict.fromkeys(term for term in matches.terms if isinstance(term, int) and not partial.gives(term)))
    columns = [group.columns[matches.terms.index(variable)][tuples] for variable in new]
    return _Partial(
        (*partial.variables, *new),
        np.concatenate([extended.columns, *(column[None] for column in columns)]),
        extended.every_known & group.every_known[tuples],
        extended.some_known | group.some_known[tuples],
    )
