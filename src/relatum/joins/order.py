"""The order in which the variables of a conjunction are decided, and by it the question that each of its facts answers.

How likely a fact is depends on what it is an answer to: `sold(drew, ?, book)` and `sold(?, alex, book)` compete with other
candidates. In a query each fact answers the question at the variable that is decided last; constants and variables decided
before are given. Variables follow from constants: one is decided as soon as some fact needs nothing else, those that are
not answered first. Where no fact has a single variable left, one with as few as possible decides all of them together, as a
fact that answers no question.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from relatum.algebra.rule import Term
from relatum.joins.conjunction import Conjunction, Negation, Stored
from relatum.time_limit import check_time


@dataclass(frozen=True, slots=True)
class DirectedAtom:
    """An atom, and the position at which it answers a question; None where it is a fact of its own."""

    atom: Stored
    position: int | None

    @property
    def given(self) -> tuple[int, ...]:
        """The variables that the question is made of, each once."""
        if self.position is None:
            return ()
        others = (term for position, term in enumerate(self.atom.terms) if position != self.position)
        return tuple(dict.fromkeys(term for term in others if isinstance(term, int)))


@dataclass(frozen=True, slots=True)
class Step:
    """Variables that are decided, one of them or, by a fact, several, and what can be looked at from then on."""

    variables: tuple[int, ...]  # those that are decided; none in the step that is about constants alone
    atoms: tuple[DirectedAtom, ...]  # those whose last variables they are, each directed at one of them
    negations: tuple[Negation, ...] = ()  # the same of negations
    unequal: tuple[tuple[Term, Term], ...] = ()  # the same of terms that are not one entity

    @property
    def mentioned(self) -> set[int]:
        """The variables that are looked at, those that were decided before included."""
        found = {name for directed in self.atoms for name in directed.atom.variables}
        found |= {name for negation in self.negations for name in negation.variables}
        return found | {term for pair in self.unequal for term in pair if isinstance(term, int)}


def steps_of(one: Conjunction, given: Collection[int] = ()) -> tuple[Step, ...]:
    """Return the steps in which the variables of a conjunction are decided, those that are given being so already.

    The first step decides nothing: it is about what is given, and about constants.
    """
    order = list(given)
    steps = [_step(one, (), (), order)]
    while waiting := [name for name in one.variables if name not in order]:
        check_time()
        ready = [name for name in waiting if any(_is_question(atom, name, order) for atom in one.atoms)]
        hidden = [name for name in ready if name not in one.head]
        if ready:
            decided: tuple[int, ...] = ((hidden or ready)[0],)
            seed: tuple[Stored, ...] = ()
        else:
            left = [atom for atom in one.atoms if _left(atom, order)]
            first = min(left, key=lambda atom: len(_left(atom, order)))
            decided, seed = _left(first, order), (first,)
        steps.append(_step(one, decided, seed, order))
        order += decided
    return tuple(steps)


class Order(NamedTuple):
    """The steps in which a conjunction is decided, and for each the variables that it, or what follows, looks at."""

    steps: tuple[Step, ...]
    needed: tuple[frozenset[int], ...]


def order_of(one: Conjunction, given: Collection[int] = ()) -> Order:
    """Return the order in which the variables of a conjunction are decided, those that are given being so already."""
    steps = steps_of(one, given)
    needed = [frozenset(term for term in one.head if isinstance(term, int))]
    for step in reversed(steps):
        needed.append(needed[-1] | step.mentioned)
    return Order(steps, tuple(reversed(needed)))


def directed_atom(atom: Stored, order: Collection[int]) -> DirectedAtom:
    """Return an atom all of whose variables are decided, directed at the one that was decided last."""
    numbers: dict[Term, int] = {name: number for number, name in enumerate(order)}
    last = max(range(len(atom.terms)), key=lambda position: (numbers.get(atom.terms[position], -1), position))
    return DirectedAtom(atom, last)


def _step(one: Conjunction, decided: tuple[int, ...], seed: tuple[Stored, ...], order: list[int]) -> Step:
    before, now = set(order), set(order) | set(decided)

    def is_new(names: Collection[Term]) -> bool:
        own = {name for name in names if isinstance(name, int)}
        return own <= now and not (own <= before and decided)

    whole = [*order, *decided]
    directed = tuple(
        DirectedAtom(atom, None) if atom in seed else directed_atom(atom, whole)
        for atom in one.atoms
        if is_new(atom.variables)
    )
    return Step(
        decided,
        directed,
        tuple(negation for negation in one.negations if is_new(negation.variables)),
        tuple(pair for pair in one.unequal if is_new(pair)),
    )


def _left(atom: Stored, order: list[int]) -> tuple[int, ...]:
    return tuple(name for name in atom.variables if name not in order)


def _is_question(atom: Stored, name: int, order: list[int]) -> bool:
    """Return whether an atom is a question about one variable alone, which stands in it once."""
    return _left(atom, order) == (name,) and atom.terms.count(name) == 1
