"""Expressions: what cannot be is refused when it is built; arity, roles and depth follow; equality is of structure."""

from __future__ import annotations

import copy
import dataclasses
import random
from collections.abc import Callable

import pytest

from relatum import RelationSchema
from relatum.algebra import (
    Difference,
    Expression,
    Filter,
    Join,
    Project,
    Relation,
    Rename,
    SelectConstant,
    SelectEqual,
    Union,
)
from relatum.errors import DataError, RelatumError, UnknownNameError
from support.random_expressions import random_expression, random_schema

sold = Relation(RelationSchema("sold", 3, ("seller", "buyer", "item")))
knows = Relation(RelationSchema("knows", 2))
lives = Relation(RelationSchema("lives", 2, ("buyer", "city")))
person = Relation(RelationSchema("person", 1))


@pytest.mark.parametrize(
    ("expression", "arity", "roles", "depth"),
    [
        (sold, 3, ("seller", "buyer", "item"), 0),
        (knows, 2, None, 0),
        (sold.permute("item", "seller", "buyer"), 3, ("item", "seller", "buyer"), 1),
        (sold.project("item", "seller"), 2, ("item", "seller"), 1),
        (sold.select("buyer", "drew"), 2, ("seller", "item"), 1),
        (sold.select_equal("seller", "buyer"), 2, ("buyer", "item"), 1),
        (sold.select_equal("buyer", "seller"), 2, ("seller", "item"), 1),
        (sold | sold.permute(1, 0, 2), 3, None, 2),
        (sold.project(0, 1) | knows, 2, None, 2),
        (sold.project(0, 1) - knows, 2, ("seller", "buyer"), 2),
        (knows - sold.project(0, 1), 2, None, 2),
        (sold.select(1, "drew") * lives, 4, ("seller", "item", "buyer", "city"), 2),
        (sold.filter("item", "coffee"), 3, ("seller", "buyer", "item"), 1),
        (sold.filter_unequal("seller", "buyer").project("item"), 1, ("item",), 2),
        (person.filter_not(0, "drew"), 1, None, 1),
        (sold.project(0, 1) & knows, 2, ("seller", "buyer"), 2),
        (sold.join(lives, on="buyer"), 4, ("seller", "buyer", "item", "city"), 1),
        (sold.join(lives, on={"seller": "buyer"}), 4, ("seller", "buyer", "item", "city"), 1),
        (sold.join(lives, on={"seller": "city"}), 4, None, 1),
        (knows.join(knows, on={0: 1, 1: 0}), 2, None, 1),
        ((knows | knows) | (knows - (knows - knows)), 2, None, 3),
    ],
)
def test_arity_roles_and_depth(expression: Expression, arity: int, roles: tuple[str, ...] | None, depth: int) -> None:
    assert (expression.arity, expression.roles, expression.depth) == (arity, roles, depth)


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: sold.permute(1, 0), "permute names all 3 positions of sold(seller, buyer, item), not 2"),
        (lambda: sold.permute(1, 0, 3), "sold(seller, buyer, item) has positions 0 to 2, not 3"),
        (lambda: sold.project(), "project keeps at least one of the 3 columns of sold(seller, buyer, item)"),
        (lambda: sold.project(0, 0), "project names position 0 of sold(seller, buyer, item) twice"),
        (lambda: sold.project("selle"), "unknown role of sold 'selle'; did you mean 'seller'?"),
        (lambda: sold.select(2, "x").project("item"), "unknown role of select 'item'; known: seller, buyer"),
        (lambda: knows.project("seller"), "the positions of knows/2 have no roles"),
        (lambda: (sold | sold.permute(1, 0, 2)).project("item"), "the positions of union/3 have no roles"),
        (lambda: sold.select_equal(1, 1), "select_equal names position 1 of sold(seller, buyer, item) twice"),
        (lambda: SelectConstant(sold, 0, 7), "select takes the name of an entity, not 7"),  # type: ignore[arg-type]
        (lambda: person.select(0, "drew"), "select drops the column it selects by, and person/1 has no other"),
        (lambda: sold | knows, "union takes two relations of one arity, not sold(seller, buyer, item) of arity 3 and"),
        (lambda: knows - person, "difference takes two relations of one arity, not knows/2 of arity 2 and person/1"),
        (lambda: Filter(sold, 0, None), "filter takes the name of an entity, not None"),  # type: ignore[arg-type]
        (lambda: knows.join(knows, on={}), "join takes at least one pair"),
        (lambda: Join(knows, knows, ((0, 0), (1, 0))), "join names position 0 of knows/2 twice"),
        (lambda: Relation("sold"), "a relation takes a RelationSchema, not 'sold'"),  # type: ignore[arg-type]
        (lambda: Union(knows, "knows"), "union takes expressions, not 'knows'"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_is_refused(build: Callable[[], Expression], reason: str) -> None:
    with pytest.raises(RelatumError) as caught:
        build()
    assert isinstance(caught.value, DataError | UnknownNameError)
    assert reason in str(caught.value)


def test_roles_and_numbers_build_equal_nodes_and_the_permutation_of_the_paper_is_the_inverse() -> None:
    assert sold.project("seller", "item") == sold.project(0, 2) == sold.project("0", "2") == Project(sold, (0, 2))
    assert sold.permute("buyer", "seller", "item") == Rename(sold, (1, 0, 2))
    assert sold.select_equal("seller", "buyer") == SelectEqual(sold, 0, 1)
    assert sold.join(lives, "buyer") == Join(sold, lives, ((1, 0),))
    assert sold.filter("item", "coffee") == Filter(sold, 2, "coffee") == Filter(sold, 2, "coffee", True)
    assert sold.filter_unequal("item", "seller") == Filter(sold, 0, 2, False) == Filter(sold, 2, 0, equal=False)
    assert Join(knows, knows, ((1, 1), (0, 0))) == Join(knows, knows, ((0, 0), (1, 1)))
    assert Project(sold, [0, 2]) == sold.project(0, 2)  # type: ignore[arg-type]
    renamed = sold.permute(2, 0, 1)
    assert renamed.roles == ("item", "seller", "buyer")
    assert renamed.inverse == (1, 2, 0)  # t(X, Y, Z) if and only if sold(Y, Z, X)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (sold, Relation(RelationSchema("sold", 3))),
        (knows | knows.permute(1, 0), knows.permute(1, 0) | knows),
        (Union(knows, lives), Difference(knows, lives)),
        (sold.permute(0, 1, 2), sold.project(0, 1, 2)),
        (sold.select(0, "a"), sold.select(0, "b")),
        (sold.select_equal(0, 1), sold.select_equal(1, 0)),
        (sold.filter(0, "a"), sold.filter_not(0, "a")),
        (sold.filter(0, "1"), sold.filter_equal(0, 1)),
        (knows & lives, lives & knows),
        (knows, "knows"),
    ],
)
def test_expressions_that_are_built_differently_differ(one: Expression, other: object) -> None:
    assert one != other
    assert other != one


def test_expressions_are_frozen_and_leave_other_types_to_python() -> None:
    for operate in (lambda: knows | 1, lambda: knows - "a", lambda: knows * None, lambda: knows & 1):
        with pytest.raises(TypeError, match="unsupported operand"):
            operate()  # type: ignore[no-untyped-call]
    with pytest.raises(dataclasses.FrozenInstanceError):
        sold.permute(1, 0, 2).permutation = (0, 1, 2)  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(3))
def test_copies_and_expressions_built_alike_are_equal_and_hash_alike(seed: int) -> None:
    schema = random_schema(random.Random(seed))
    for number in range(50):
        one, same = (random_expression(random.Random(number), schema, ["drew", "alex"], 6) for _ in range(2))
        for twin in (same, copy.deepcopy(one)):
            assert one == twin
            assert hash(one) == hash(twin)
            assert len({one, twin}) == 1


def test_neither_depth_nor_sharing_is_a_problem_for_equality() -> None:
    def build() -> Expression:
        expression: Expression = knows
        for _ in range(2000):
            expression = expression.permute(1, 0) | expression
        return expression

    one, other = build(), build()
    assert one == other
    assert one.permute(1, 0) != other
    assert one.depth == 4000
    assert repr(one) == "<Union union/2 of depth 4000>"
