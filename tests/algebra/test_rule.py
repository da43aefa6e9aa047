"""Rules as data: their normal form, and simpler ones with the same tuples."""

from __future__ import annotations

import pytest

from relatum import RelationSchema, Schema
from relatum.algebra import Relation, parse_datalog
from relatum.algebra.clauses import definitions_of
from relatum.algebra.rule import Atom, Comparison, Rule

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


def test_a_comparison_is_decided_where_no_variable_can_change_it_and_a_rule_that_never_holds_has_one() -> None:
    assert [Comparison("a", "b", equal).decided for equal in (True, False)] == [False, True]
    assert [Comparison("a", "a", equal).decided for equal in (True, False)] == [True, False]
    assert [Comparison(1, 1, equal).decided for equal in (True, False)] == [True, False]
    assert [Comparison(1, other, True).decided for other in (2, "a")] == [None, None]
    comparisons = (Comparison(1, "a", True), Comparison("a", "b", True), Comparison("a", "a", True))
    rule = Rule((1,), (Atom(KNOWS, (1, 2)),), (), comparisons).normal()
    assert rule == Rule((0,), (Atom(KNOWS, (0, 1)),), (), (Comparison(0, 0, False),))
