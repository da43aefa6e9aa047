"""Expressions as alternatives, each a conjunction of atoms: the form in which joins are answered.

A union within a join becomes several alternatives, since the best of a part is part of the best of the whole, for a product
as for a minimum. What is negated stays a query of its own, on the variables that it shares with what surrounds it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from relatum.algebra.clauses import definitions_of
from relatum.algebra.expression import Expression, Relation
from relatum.algebra.rule import Atom, Definition, Rule, Term, variables
from relatum.errors import DataError
from relatum.time_limit import check_time

_MOST_ALTERNATIVES, _MOST_ATOMS = 256, 64


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored relation applied to terms: a variable is a number, an entity its name."""

    relation: str
    terms: tuple[Term, ...]

    @property
    def variables(self) -> tuple[int, ...]:
        """The distinct variables, in the order in which they occur."""
        return tuple(dict.fromkeys(term for term in self.terms if isinstance(term, int)))


@dataclass(frozen=True, slots=True)
class Negation:
    """What must not hold for some terms: the likeliest of the alternatives, whatever their own variables are."""

    terms: tuple[Term, ...]
    alternatives: tuple[Conjunction, ...]

    @property
    def variables(self) -> tuple[int, ...]:
        """The distinct variables that stand in what surrounds it."""
        return tuple(dict.fromkeys(term for term in self.terms if isinstance(term, int)))


@dataclass(frozen=True, slots=True)
class Conjunction:
    """What holds for the terms of the head if all of it does, for the best entities at the other variables."""

    head: tuple[Term, ...]  # what is answered: a variable, or the entity that alone can stand there
    atoms: tuple[Stored, ...]  # facts that must hold
    negations: tuple[Negation, ...] = ()  # what must not
    unequal: tuple[tuple[Term, Term], ...] = ()  # pairs of terms that are not the same entity
    # pairs of terms that are; within a negation alone, where the variables are not its own to choose
    equal: tuple[tuple[Term, Term], ...] = ()

    @property
    def variables(self) -> tuple[int, ...]:
        """The distinct variables, in the order in which they occur in the atoms."""
        return tuple(dict.fromkeys(name for atom in self.atoms for name in atom.variables))


@lru_cache(maxsize=16)  # one query asks for them several times
def alternatives_of(expression: Expression) -> tuple[Conjunction, ...]:
    """Return the alternatives that give an expression; there may be none, where it asks for what cannot be."""
    definitions = definitions_of(expression)
    fresh = itertools.count(expression.arity)
    found = _expanded(definitions, len(definitions) - 1, tuple(range(expression.arity)), fresh)
    chosen = (_resolved(one, frozenset()) for one in found)
    return tuple(dict.fromkeys(one for one in chosen if one is not None))


def _expanded(
    definitions: Sequence[Definition], number: int, terms: tuple[Term, ...], fresh: Iterator[int]
) -> list[Conjunction]:
    """Return the alternatives of a definition applied to terms, with what must be equal noted."""
    found: list[Conjunction] = []
    for rule in definitions[number]:
        check_time()
        found += _of_rule(definitions, rule.simplified(), terms, fresh)
        if len(found) > _MOST_ALTERNATIVES:
            raise DataError(
                "too-many-alternatives",
                f"the query has more than {_MOST_ALTERNATIVES} alternatives",
                remedy="ask for some of its unions one by one",
            )
    return found


def _of_rule(
    definitions: Sequence[Definition], rule: Rule, terms: tuple[Term, ...], fresh: Iterator[int]
) -> Iterator[Conjunction]:
    names: dict[Term, Term] = dict(zip(rule.head, terms, strict=True))
    for name in variables(*rule.atoms):
        if name not in names:
            names[name] = next(fresh)

    def of_atom(atom: Atom) -> list[Conjunction]:
        arguments = _renamed(atom.terms, names)
        if isinstance(atom.predicate, Relation):
            return [Conjunction(arguments, (Stored(atom.predicate.name, arguments),))]
        return _expanded(definitions, atom.predicate, arguments, fresh)

    pairs = [(one.equal, _pair(one.left, one.right, names)) for one in rule.comparisons]
    equal, unequal = (tuple(pair for same, pair in pairs if same is wanted) for wanted in (True, False))
    negations = tuple(Negation(_renamed(atom.terms, names), tuple(of_atom(atom))) for atom in rule.negatives)
    parts = [of_atom(atom) for atom in rule.positives]
    for chosen in itertools.islice(itertools.product(*parts), _MOST_ALTERNATIVES + 1):
        yield Conjunction(
            terms,
            tuple(atom for part in chosen for atom in part.atoms),
            negations + tuple(one for part in chosen for one in part.negations),
            unequal + tuple(pair for part in chosen for pair in part.unequal),
            equal + tuple(pair for part in chosen for pair in part.equal),
        )


def _resolved(one: Conjunction, given: frozenset[int]) -> Conjunction | None:
    """Return a conjunction with one term for all that must be equal; None if it cannot hold.

    Variables that are given from outside stay as they are: what they must equal is noted.
    """
    check_time()
    names: dict[Term, Term] = {}

    def chosen(term: Term) -> Term:
        while term in names:
            term = names[term]
        return term

    kept: list[tuple[Term, Term]] = []
    for left, right in one.equal:
        left, right = chosen(left), chosen(right)
        if left == right:
            continue
        if isinstance(left, str) or left in given:
            left, right = right, left
        if isinstance(left, int) and left not in given:
            names[left] = right
        elif isinstance(left, str) and isinstance(right, str):
            return None
        else:
            kept.append((left, right) if isinstance(left, int) else (right, left))
    whole = {term: chosen(term) for term in names}
    unequal = []
    for left, right in (_pair(*pair, whole) for pair in one.unequal):
        if left == right:
            return None
        if isinstance(left, int) or isinstance(right, int):
            unequal.append((left, right) if isinstance(left, int) else (right, left))
    atoms = tuple(dict.fromkeys(Stored(atom.relation, _renamed(atom.terms, whole)) for atom in one.atoms))
    if len(atoms) > _MOST_ATOMS:
        raise DataError("too-many-joins", f"the query joins {len(atoms)} facts; at most {_MOST_ATOMS} can be joined")
    negations = (_resolved_negation(negation, whole, atoms) for negation in one.negations)
    return Conjunction(
        _renamed(one.head, whole),
        atoms,
        tuple(dict.fromkeys(negation for negation in negations if negation.alternatives)),
        tuple(dict.fromkeys(unequal)),
        tuple(kept),
    )


def _resolved_negation(one: Negation, names: Mapping[Term, Term], around: tuple[Stored, ...]) -> Negation:
    """Return a negation without the atoms that hold around it: a and not (a and b) is a and not b."""
    terms = _renamed(one.terms, names)
    given = frozenset(term for term in terms if isinstance(term, int))
    found = (_resolved(_substituted(inner, names), given) for inner in one.alternatives)
    return Negation(
        terms,
        tuple(
            replace(inner, atoms=tuple(atom for atom in inner.atoms if atom not in around))
            for inner in found
            if inner is not None
        ),
    )


def _substituted(one: Conjunction, names: Mapping[Term, Term]) -> Conjunction:
    check_time()
    return Conjunction(
        _renamed(one.head, names),
        tuple(Stored(atom.relation, _renamed(atom.terms, names)) for atom in one.atoms),
        tuple(
            Negation(_renamed(each.terms, names), tuple(_substituted(inner, names) for inner in each.alternatives))
            for each in one.negations
        ),
        tuple(_pair(*pair, names) for pair in one.unequal),
        tuple(_pair(*pair, names) for pair in one.equal),
    )


def _renamed(terms: Iterable[Term], names: Mapping[Term, Term]) -> tuple[Term, ...]:
    return tuple(names.get(term, term) for term in terms)


def _pair(left: Term, right: Term, names: Mapping[Term, Term]) -> tuple[Term, Term]:
    return names.get(left, left), names.get(right, right)
