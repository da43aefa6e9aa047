"""What the entities in the columns of an expression are: true of every tuple that it gives on facts."""

from __future__ import annotations

import numpy as np
import pytest

from relatum import Hypergraph
from relatum.algebra import evaluate, parse
from relatum.algebra.column_types import column_types_of
from relatum.data.column_types import ColumnType

CUSTOMER, ITEM, DAY = ColumnType("customers", "whole"), ColumnType("items", "text"), ColumnType("days", "text")
STORED = {"sold": (CUSTOMER, ITEM, DAY), "knows": (CUSTOMER, CUSTOMER), "made": (ITEM, DAY)}


def graph() -> Hypergraph:
    chance = np.random.default_rng(0)
    facts = [
        (name, *(f"{column_type.entity_type}:{chance.integers(3)}" for column_type in column_types))
        for name, column_types in STORED.items()
        for _ in range(30)
    ]
    return Hypergraph.of(facts)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("sold", (CUSTOMER, ITEM, DAY)),
        ("permute[2, 0, 1](sold)", (DAY, CUSTOMER, ITEM)),
        ("project[1](sold)", (ITEM,)),
        ("project[2, 0](sold)", (DAY, CUSTOMER)),
        ("select[1 = items:1](sold)", (CUSTOMER, DAY)),
        ("select_equal[0, 1](knows)", (CUSTOMER,)),
        ("union(made, project[1, 2](sold))", (ITEM, DAY)),
        ("union(made, knows)", (None, None)),
        ("difference(made, knows)", (ITEM, DAY)),
        ("intersection(made, project[1, 2](sold))", (ITEM, DAY)),
        ("filter[1 = items:1](sold)", (CUSTOMER, ITEM, DAY)),
        ("filter_unequal[0, 1](knows)", (CUSTOMER, CUSTOMER)),
        ("product(knows, made)", (CUSTOMER, CUSTOMER, ITEM, DAY)),
        ("join[1 = 0](sold, made)", (CUSTOMER, ITEM, DAY, DAY)),
    ],
)
def test_columns_keep_what_their_entities_are(text: str, wanted: tuple[ColumnType | None, ...]) -> None:
    facts = graph()
    expression = parse(text, facts.schema)
    found = column_types_of(expression, STORED)
    assert found == wanted
    tuples = list(evaluate(expression, facts))
    assert tuples
    for row in tuples:
        assert all(
            column_type is None or name.startswith(column_type.prefix) for name, column_type in zip(row, found, strict=True)
        )


def test_what_nothing_is_known_of_and_what_differs_in_form() -> None:
    facts = graph()
    assert column_types_of(parse("sold", facts.schema), {}) == (None, None, None)
    stored = {**STORED, "made": (ColumnType("items", "whole", nullable=True), DAY)}
    both = column_types_of(parse("union(made, project[1, 2](sold))", facts.schema), stored)
    assert both == (ColumnType("items", "text", nullable=True), DAY)
    assert column_types_of(parse("union(made, project[1, 2](sold))", facts.schema), {"made": STORED["made"]}) == (None, None)
