"""Expressions as conjunctive clauses, and clauses as expressions.

Goals are answered from the top down: which rules give the tuples of an expression that fit these terms? Selections thus
become constants and repeated variables of stored relations, projections become variables that the head does not name,
filters become comparisons, and every operand that is a plain conjunction becomes part of the rule it is in. What cannot (a
union or a difference within a join, anything but an atom behind `not`) is given a definition of its own, always in terms of
distinct variables. Equal definitions are one. This makes the rules a normal form: reading them as an expression and
rewriting that gives the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from relatum.algebra import expression as nodes
from relatum.algebra.expression import Expression, Relation
from relatum.algebra.node import post_order
from relatum.algebra.rule import Atom, Comparison, Definition, Rule, Term, variables
from relatum.time_limit import check_time

Goal = tuple[Expression, tuple[Term, ...]]
Result = TypeVar("Result")
Steps = Generator[Goal, Definition, Result]


def definitions_of(expression: Expression) -> list[Definition]:
    """Return the definitions that give the expression, each before those that use it; it is the last."""
    rewriting = _Rewriting()
    answer = rewriting.number(rewriting.answer((expression, tuple(range(expression.arity)))))
    definitions = list(rewriting.numbers)

    def used(number: int) -> list[int]:
        return [atom.predicate for rule in definitions[number] for atom in rule.atoms if isinstance(atom.predicate, int)]

    order = post_order(answer, used)
    numbers = {number: index for index, number in enumerate(order)}

    def renumbered(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple(
            Atom(numbers[atom.predicate], atom.terms) if isinstance(atom.predicate, int) else atom for atom in atoms
        )

    return [
        tuple(
            replace(rule, positives=renumbered(rule.positives), negatives=renumbered(rule.negatives))
            for rule in definitions[number]
        )
        for number in order
    ]


class _Rewriting:
    """Answers goals: an expression and one term for each of its columns.

    What answers a node yields the goals that it depends on, and is sent their rules. So goals wait on a list and not on
    Python's stack, and each is answered once, however often it is needed.
    """

    def __init__(self) -> None:
        self.numbers: dict[Definition, int] = {}
        self.fresh = itertools.count(-1, -1)  # the variables of a goal are 0, 1, ...: new ones never meet them

    def answer(self, goal: Goal) -> Definition:
        """Return the rules of a goal; their heads are its variables in the order in which they occur."""
        answers: dict[Goal, Definition] = {}
        waiting = [(goal, _rules(*goal, self))]
        known: Definition | None = None
        while waiting:
            check_time()
            goal, steps = waiting[-1]
            try:
                needed = next(steps) if known is None else steps.send(known)
            except StopIteration as done:
                waiting.pop()
                known = answers[goal] = _normal(done.value)
                continue
            known = answers.get(needed)
            if known is None:
                waiting.append((needed, _rules(*needed, self)))
        return answers[goal]

    def number(self, definition: Definition) -> int:
        """Return the number of a definition, a new one if it is new."""
        return self.numbers.setdefault(definition, len(self.numbers))

    def rules(self, expression: Expression, terms: Sequence[Term]) -> Steps[Definition]:
        """Return the rules for terms with any variables; what the rules hide is new."""
        names = _head(terms)
        numbers: dict[Term, int] = {name: number for number, name in enumerate(names)}
        rules = yield expression, tuple(numbers.get(term, term) for term in terms)
        return tuple(rule.renamed(itertools.chain(names, self.fresh)) for rule in rules)

    def conjunction(self, *goals: tuple[Expression, Sequence[Term]]) -> Steps[Rule]:
        """Return what holds if all goals do, without a head: for each goal its only rule, or the atom of a definition."""
        positives, comparisons = list[Atom](), list[Comparison]()
        for expression, terms in goals:
            rules = yield from self.rules(expression, terms)
            if len(rules) == 1 and not rules[0].negatives:
                positives += rules[0].positives
                comparisons += rules[0].comparisons
            else:
                positives.append((yield from self.defined(expression, terms)))
        return Rule((), tuple(positives), (), tuple(comparisons))

    def defined(self, expression: Expression, terms: Sequence[Term]) -> Steps[Atom]:
        """Return the atom of a definition that holds for the terms, its columns as the first rule names them.

        A definition has at least one column. Where all terms are entities, it is defined for any.
        """
        columns = terms if _head(terms) else [next(self.fresh) for _ in terms]
        rules = yield from self.rules(expression, columns)
        head = tuple(name for name in variables(*rules[0].positives) if name in rules[0].head)
        number = self.number(_normal(replace(rule, head=head) for rule in rules))
        given = dict(zip(columns, terms, strict=True))
        return Atom(number, tuple(given[name] for name in head))


def _normal(rules: Iterable[Rule]) -> Definition:
    return tuple(dict.fromkeys(rule.normal() for rule in rules))


def _head(terms: Sequence[Term]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(term for term in terms if isinstance(term, int)))


def _rules(node: Expression, terms: tuple[Term, ...], rewriting: _Rewriting) -> Steps[Definition]:
    """Return the rules that give the tuples of a node that fit the terms."""
    head = _head(terms)
    match node:
        case Relation():
            return (Rule(head, (Atom(node, terms),)),)
        case nodes.Union(left, right):
            lefts = yield from rewriting.rules(left, terms)
            return lefts + (yield from rewriting.rules(right, terms))
        case nodes.Difference(left, right):
            return (yield from _difference(left, right, terms, rewriting))
        case nodes.Product(left, right) | nodes.Join(left, right):
            rights = list(terms[left.arity :])
            for p, q in node.pairs if isinstance(node, nodes.Join) else ():
                rights.insert(q, terms[p])  # pairs come in the order of q, so every earlier column is in place
            both = yield from rewriting.conjunction((left, terms[: left.arity]), (right, rights))
            return (replace(both, head=head),)
        case nodes.Intersection(left, right):
            both = yield from rewriting.conjunction((left, terms), (right, terms))
            return (replace(both, head=head),)
        case nodes.Filter(child, column, other, equal):
            comparison = Comparison(terms[column], terms[other] if isinstance(other, int) else other, equal)
            rules = yield from rewriting.rules(child, terms)
            return tuple(replace(rule, comparisons=(*rule.comparisons, comparison)) for rule in rules)
    (child,) = node.children
    rules = yield from rewriting.rules(child, _inner(node, terms, rewriting.fresh))
    return tuple(replace(rule, head=head) for rule in rules)


def _difference(left: Expression, right: Expression, terms: tuple[Term, ...], rewriting: _Rewriting) -> Steps[Definition]:
    # A negated atom names exactly the variables of the positive ones: what hides some has a definition of its own.
    rules = yield from rewriting.rules(left, terms)
    rule = rules[0]
    if len(rules) > 1 or rule.hides:
        rule = Rule(_head(terms), ((yield from rewriting.defined(left, terms)),))
    rules = yield from rewriting.rules(right, terms)
    negated = rules[0].positives[0]
    if len(rules) > 1 or len(rules[0].atoms) > 1 or rules[0].comparisons or rules[0].hides:
        negated = yield from rewriting.defined(right, terms)
    return (replace(rule, negatives=(*rule.negatives, negated)),)


def _inner(node: Expression, terms: tuple[Term, ...], fresh: Iterator[int]) -> list[Term]:
    """Return the terms of the child's columns, given those of a node that only picks or selects columns."""
    match node:
        case nodes.Rename(child, positions) | nodes.Project(child, positions):
            given = dict(zip(positions, terms, strict=True))
            return [given[position] if position in given else next(fresh) for position in range(child.arity)]
        case nodes.SelectEqual(_, dropped, kept):
            return [*terms[:dropped], terms[kept - (kept > dropped)], *terms[dropped:]]
        case nodes.SelectConstant(_, dropped, entity):
            return [*terms[:dropped], entity, *terms[dropped:]]
    raise TypeError(f"{type(node).__name__} cannot be written as rules")


def conjunction(
    head: Sequence[int], positives: Sequence[Goal], negatives: Sequence[Goal], comparisons: Sequence[Comparison] = ()
) -> Expression:
    """Return the tuples `head` for which the expressions in `positives` hold their terms, and those in `negatives` do not.

    Every variable of the head and of the comparisons stands in a positive goal. Variables that stand in one negative goal
    only mean anything at all: the goal must not hold whatever they are. A comparison has a variable on its left.
    """
    first, *others = sorted(positives, key=lambda goal: not _has_variables(goal))  # an atom without any only filters
    body = _fit(*first)
    for goal in others:
        body = _and(body, goal)
    for goal in negatives:
        body = _and_not(body, goal)
    expression, columns = body
    for one in comparisons:  # last: what is filtered on the left of a difference might need a definition of its own
        left, right = (columns.index(term) if isinstance(term, int) else term for term in (one.left, one.right))
        expression = nodes.Filter(expression, int(left), right, one.equal)
    return _arranged((expression, columns), head)


# A body is an expression and, for each of its columns, a variable; all are distinct.
Body = tuple[Expression, tuple[int, ...]]


def _fit(expression: Expression, terms: Sequence[Term]) -> Body:
    """Return the tuples that fit the terms; a column remains for the first occurrence of each variable."""
    for position in reversed(range(len(terms))):
        term, before = terms[position], terms[:position]
        if isinstance(term, str):
            expression = expression.select(position, term)
        elif term in before:
            expression = expression.select_equal(position, before.index(term))
    return expression, tuple(dict.fromkeys(term for term in terms if isinstance(term, int)))


def _and(body: Body, goal: Goal) -> Body:
    expression, columns = body
    if not _has_variables(goal):  # selecting first would leave no column to join by
        return _fit(expression * goal[0], columns + goal[1])
    other, others = _fit(*goal)
    pairs = tuple((columns.index(name), position) for position, name in enumerate(others) if name in columns)
    both = nodes.Join(expression, other, pairs) if pairs else expression * other
    return both, columns + tuple(name for name in others if name not in columns)


def _and_not(body: Body, goal: Goal) -> Body:
    expression, columns = body
    if _has_variables(goal):
        other = _fit(*goal)
        if set(other[1]) == set(columns):
            return nodes.Difference(expression, _arranged(other, columns)), columns
    return nodes.Difference(expression, _arranged(_and(body, goal), columns)), columns


def _arranged(body: Body, head: Sequence[int]) -> Expression:
    """Return the columns of a body that `head` names, in its order."""
    expression, columns = body
    if tuple(head) == columns:
        return expression
    positions = [columns.index(name) for name in head]
    return expression.permute(*positions) if len(head) == len(columns) else expression.project(*positions)


def _has_variables(goal: Goal) -> bool:
    return any(isinstance(term, int) for term in goal[1])
