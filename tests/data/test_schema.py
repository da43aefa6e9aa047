"""Schemas: a role can stand wherever a position can."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from relatum import RelationSchema, Schema
from support.mistakes import mistake
from support.strategies import relation_schemas

SOLD = RelationSchema("sold", 3, ("seller", "buyer", "item"))


@given(relation_schemas())
def test_positions_and_roles_mean_the_same(relation: RelationSchema) -> None:
    for position in range(relation.arity):
        assert relation.position(position) == relation.position(str(position)) == position
        if relation.roles:
            assert relation.position(relation.roles[position]) == position


def test_numpy_positions_are_positions() -> None:
    assert SOLD.position(np.int32(2)) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("place", [3, -1, "3", "17", "9" * 5000])
def test_a_position_beyond_the_arity_is_refused(place: int | str) -> None:
    with mistake("no-such-position"):
        SOLD.position(place)


def test_an_unknown_role_suggests_the_nearest() -> None:
    with mistake("unknown-name"):
        SOLD.position("seler")
    with mistake("no-roles"):
        RelationSchema("sold", 3).position("seller")


@pytest.mark.parametrize(
    ("name", "arity", "roles", "reason"),
    [
        ("", 2, None, "unusable-name"),
        ("#sold", 2, None, "relation-like-comment"),
        ("sold", 0, None, "arity-mismatch"),
        ("sold", 2, ("seller",), "arity-mismatch"),
        ("sold", 2, ("a", "a"), "duplicate-role"),
        ("sold", 2, ("a", "1"), "duplicate-role"),
        ("sold", 2, ("a", " "), "unusable-name"),
    ],
)
def test_a_malformed_relation_cannot_be_built(name: str, arity: int, roles: tuple[str, ...] | None, reason: str) -> None:
    with mistake(reason):
        RelationSchema(name, arity, roles)


def test_relations_print_their_roles_or_arity() -> None:
    assert str(SOLD) == "sold(seller, buyer, item)"
    assert str(RelationSchema("sold", 3)) == "sold/3"


def test_a_schema_is_looked_up_by_name_or_id() -> None:
    schema = Schema([RelationSchema("bought", 3), SOLD])
    assert schema["sold"] is schema[1] is SOLD
    assert schema.id("sold") == 1
    assert schema.arities == {3}
    assert "sold" in schema
    assert schema == Schema(list(schema))
    with mistake("unknown-name"):
        schema["slod"]
    with mistake("named-twice"):
        Schema([SOLD, SOLD])
