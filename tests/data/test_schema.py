"""Schemas: a role can stand wherever a position can."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from relatum import DataError, RelationSchema, Schema, UnknownNameError
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
    with pytest.raises(DataError, match="positions 0 to 2"):
        SOLD.position(place)


def test_an_unknown_role_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown role of sold 'seler'; did you mean 'seller'"):
        SOLD.position("seler")
    with pytest.raises(DataError, match="no roles"):
        RelationSchema("sold", 3).position("seller")


@pytest.mark.parametrize(
    ("name", "arity", "roles", "reason"),
    [
        ("", 2, None, "empty name"),
        ("#sold", 2, None, "comment"),
        ("sold", 0, None, "at least one entity"),
        ("sold", 2, ("seller",), "2 but 1 roles"),
        ("sold", 2, ("a", "a"), "twice"),
        ("sold", 2, ("a", "1"), "mistaken for a position"),
        ("sold", 2, ("a", " "), "blank name"),
    ],
)
def test_a_malformed_relation_cannot_be_built(name: str, arity: int, roles: tuple[str, ...] | None, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
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
    with pytest.raises(UnknownNameError, match="unknown relation 'slod'"):
        schema["slod"]
    with pytest.raises(DataError, match="twice"):
        Schema([SOLD, SOLD])
