"""Rules as data: their normal form, and simpler ones with the same tuples."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from relatum import RelationSchema, Schema
from relatum.algebra import Expression, Relation, evaluate, parse_datalog
from relatum.algebra.clauses import Definition, conjunction, definitions_of
from relatum.algebra.rule import Atom, Comparison, Rule
from support.random_expressions import random_expression, random_graph, random_schema

KNOWS = Relation(RelationSchema("knows", 2))


def rule_of(text: str) -> Rule:
    ((rule,),) = definitions_of(parse_datalog(text, Schema([KNOWS.schema])))
    return rule


@pytest.mark.parametrize(
    ("text", "terms", "comparisons"),
    [
        ("t(X) <- knows(Y, X), Y = drew", [("drew", 0)], ()),
        ("t(X) <- knows(Y, X), X = drew", [(1, 0)], (Comparison(0, "drew", True),)),
        ("t(X) <- knows(Y, X), Y = X", [(0, 0)], ()),
        ("t(X) <- knows(X, Y), knows(Z, U), Y = Z, Z = U, U != X", [(0, 1), (1, 1)], (Comparison(0, 1, False),)),
        ("t(X) <- knows(X, Y), Y = drew, Y = alex", [(0, "alex")], (Comparison("alex", "drew", True),)),
        ("t(X) <- knows(X, Y), Y = drew, Y != alex", [(0, "drew")], ()),
        ("t(X, Y) <- knows(X, Y), X = Y", [(0, 1)], (Comparison(0, 1, True),)),
    ],
)
def test_equal_terms_become_one(text: str, terms: list[tuple[int | str, ...]], comparisons: tuple[Comparison, ...]) -> None:
    simplified = rule_of(text).simplified()
    assert [atom.terms for atom in simplified.positives] == terms
    assert simplified.comparisons == comparisons


def test_a_comparison_is_decided_where_no_variable_can_change_it() -> None:
    assert [Comparison("a", "b", equal).decided for equal in (True, False)] == [False, True]
    assert [Comparison("a", "a", equal).decided for equal in (True, False)] == [True, False]
    assert [Comparison(1, 1, equal).decided for equal in (True, False)] == [True, False]
    assert [Comparison(1, other, True).decided for other in (2, "a")] == [None, None]


def test_a_rule_that_never_holds_has_one_comparison() -> None:
    comparisons = (Comparison(1, "a", True), Comparison("a", "b", True), Comparison("a", "a", True))
    rule = Rule((1,), (Atom(KNOWS, (1, 2)),), (), comparisons).normal()
    assert rule == Rule((0,), (Atom(KNOWS, (0, 1)),), (), (Comparison(0, 0, False),))


@pytest.mark.parametrize("seed", range(3))
def test_simplified_rules_have_the_same_tuples(seed: int, count: Callable[[int, int], int]) -> None:
    rng = random.Random(seed)
    entities = ["alex", "book", "drew"]
    for _ in range(count(60, 1000)):
        schema = random_schema(rng, most_columns=3)
        expression = random_expression(rng, schema, entities, rng.randint(1, 7))
        graph = random_graph(rng, schema, entities)
        simplified = [tuple(rule.simplified() for rule in rules) for rules in definitions_of(expression)]
        for rule in (rule for rules in simplified for rule in rules):
            for comparison in rule.comparisons:
                assert not comparison.equal or {comparison.left, comparison.right} <= {*rule.head, *entities}
        found = expression_of(simplified)
        assert (list(evaluate(found, graph)) if found else []) == list(evaluate(expression, graph)), str(expression)


def expression_of(definitions: list[Definition]) -> Expression | None:
    """Return the last of some definitions; None is one without tuples, which rules of two unequal entities give."""
    built: list[Expression | None] = []
    for definition in definitions:
        whole: Expression | None = None
        for rule in definition:
            predicates = [built[a.predicate] if isinstance(a.predicate, int) else a.predicate for a in rule.positives]
            never = any(comparison.decided is False and isinstance(comparison.left, str) for comparison in rule.comparisons)
            if never or None in predicates:
                continue
            positives = [(p, a.terms) for p, a in zip(predicates, rule.positives, strict=True) if p is not None]
            negatives = [
                (p, a.terms)
                for a in rule.negatives
                if (p := built[a.predicate] if isinstance(a.predicate, int) else a.predicate) is not None
            ]
            comparisons = [c if isinstance(c.left, int) else Comparison(c.right, c.left, c.equal) for c in rule.comparisons]
            one = conjunction(rule.head, positives, negatives, comparisons)
            whole = one if whole is None else whole | one
        built.append(whole)
    return built[-1]
