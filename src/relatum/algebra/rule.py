"""Rules as data: a head, atoms over variables and entities, comparisons, and the normal form in which they are written."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from relatum.algebra.expression import Relation
from relatum.time_limit import check_time

Term = int | str  # a variable is a number, an entity its name
_LETTERS = "XYZUVW"


@dataclass(frozen=True, slots=True)
class Atom:
    """A stored relation, or the definition with a number, applied to terms."""

    predicate: Relation | int
    terms: tuple[Term, ...]

    def renamed(self, names: Mapping[Term, int]) -> Atom:
        """Return the atom with other variables."""
        return Atom(self.predicate, tuple(names.get(term, term) for term in self.terms))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two terms that must be the same entity, or must not. In a rule in normal form the left one is a variable."""

    left: Term
    right: Term
    equal: bool

    @property
    def decided(self) -> bool | None:
        """Whether it holds, if that is known whatever the variables are."""
        if self.left == self.right:
            return self.equal
        return None if isinstance(self.left, int) or isinstance(self.right, int) else not self.equal

    def renamed(self, names: Mapping[Term, int]) -> Comparison:
        """Return the comparison with other variables, a variable on the left, of two the one with the smaller number."""
        terms = [names.get(term, term) for term in (self.left, self.right)]
        left, right = sorted(terms, key=_order)
        return Comparison(left, right, self.equal)


@dataclass(frozen=True, slots=True)
class Rule:
    """The tuples `head` for which all `positives` and `comparisons` hold and none of the `negatives`.

    Variables of the head are distinct, and every variable stands in one of the positives. In normal form no comparison
    holds always, and a rule that can never hold has one only: the first variable of the head, unequal to itself.
    """

    head: tuple[int, ...]
    positives: tuple[Atom, ...]
    negatives: tuple[Atom, ...] = ()
    comparisons: tuple[Comparison, ...] = ()

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """All atoms, the negated ones last."""
        return self.positives + self.negatives

    @property
    def hides(self) -> bool:
        """Whether there are variables that the head does not name."""
        return not set(self.head).issuperset(variables(*self.positives))

    def normal(self) -> Rule:
        """Return the rule with atoms without variables behind the others, and variables numbered as they occur.

        Comparisons are sorted; those that always hold are left out, and one that never does stands for all.
        """
        positives = tuple(sorted(self.positives, key=lambda atom: not variables(atom)))
        comparisons = tuple(comparison for comparison in self.comparisons if not comparison.decided)
        if never := [comparison for comparison in comparisons if comparison.decided is False]:
            # Without a head there is no variable; the rule will be part of one that has some.
            comparisons = (Comparison(self.head[0], self.head[0], equal=False) if self.head else never[0],)
        numbered = Rule(self.head, positives, self.negatives, comparisons).renamed(itertools.count())
        return replace(numbered, comparisons=tuple(sorted(set(numbered.comparisons), key=_comparison_order)))

    def simplified(self) -> Rule:
        """Return a rule with the same tuples, in which variables that the head does not name are not equal to other terms.

        They are replaced by these. It is for those who evaluate rules, and not in normal form: a comparison that is left may
        be of two entities, which differ, and an atom of a definition may hold entities.
        """
        rule = self
        while found := next((pair for one in rule.comparisons for pair in rule._replaceable(one)), None):
            rule = rule._replaced(*found)
        return rule

    def _replaceable(self, comparison: Comparison) -> Iterator[tuple[int, Term]]:
        left, right = comparison.left, comparison.right
        for one, other in ((right, left), (left, right)) if comparison.equal else ():
            if isinstance(one, int) and one not in self.head:
                yield one, other

    def _replaced(self, variable: int, term: Term) -> Rule:
        def new(one: Term) -> Term:
            return term if one == variable else one

        positives, negatives = (
            tuple(Atom(atom.predicate, tuple(map(new, atom.terms))) for atom in atoms)
            for atoms in (self.positives, self.negatives)
        )
        comparisons = (Comparison(new(one.left), new(one.right), one.equal) for one in self.comparisons)
        return Rule(self.head, positives, negatives, tuple(one for one in comparisons if not one.decided))

    def renamed(self, names: Iterable[int]) -> Rule:
        """Return the rule with other variables, in the order in which they occur: in the head, then in the atoms."""
        check_time()
        found: dict[Term, int] = dict(zip(dict.fromkeys((*self.head, *variables(*self.atoms))), names, strict=False))
        positives, negatives = ([atom.renamed(found) for atom in atoms] for atoms in (self.positives, self.negatives))
        comparisons = tuple(comparison.renamed(found) for comparison in self.comparisons)
        return Rule(tuple(found[name] for name in self.head), tuple(positives), tuple(negatives), comparisons)


Definition = tuple[Rule, ...]  # what holds by any of the rules; their heads are equally long


def variable_name(number: int) -> str:
    """Return what a variable is called: X, Y, Z, U, V, W, X1 and so on."""
    round_, letter = divmod(number, len(_LETTERS))
    return _LETTERS[letter] + (str(round_) if round_ else "")


def variables(*atoms: Atom) -> tuple[int, ...]:
    """Return the distinct variables of some atoms in the order in which they occur."""
    return tuple(dict.fromkeys(term for atom in atoms for term in atom.terms if isinstance(term, int)))


def _order(term: Term) -> tuple[bool, int, str]:
    return (False, term, "") if isinstance(term, int) else (True, 0, term)


def _comparison_order(comparison: Comparison) -> tuple[object, ...]:
    return _order(comparison.left), _order(comparison.right), not comparison.equal
