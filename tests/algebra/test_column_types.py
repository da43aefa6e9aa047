"""What the entities in the columns of an expression are: true of every tuple that it gives on facts."""

from __future__ import annotations

import numpy as np
import pytest

from relatum import Hypergraph
from relatum.algebra import evaluate, parse
from relatum.algebra.column_types import domains_of
from relatum.data.column_types import Domain

CUSTOMER, ITEM, DAY = Domain("customers", "whole"), Domain("items", "text"), Domain("days", "text")
STORED = {"sold": (CUSTOMER, ITEM, DAY), "knows": (CUSTOMER, CUSTOMER), "made": (ITEM, DAY)}


def graph() -> Hypergraph:
    chance = np.random.default_rng(0)
    facts = [
        (name, *(f"{domain.kind}:{chance.integers(3)}" for domain in domains))
        for name, domains in STORED.items()
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
        ("product(knows, made)", (CUSTOMER, CUSTOMER, ITEM, DAY)),
        ("join[1 = 0](sold, made)", (CUSTOMER, ITEM, DAY, DAY)),
    ],
)
def test_columns_keep_what_their_entities_are(text: str, wanted: tuple[Domain | None, ...]) -> None:
    facts = graph()
    expression = parse(text, facts.schema)
    found = domains_of(expression, STORED)
    assert found == wanted
    tuples = list(evaluate(expression, facts))
    assert tuples
    for row in tuples:
        assert all(domain is None or name.startswith(domain.prefix) for name, domain in zip(row, found, strict=True))


def test_what_nothing_is_known_of_and_what_differs_in_form() -> None:
    facts = graph()
    assert domains_of(parse("sold", facts.schema), {}) == (None, None, None)
    stored = {**STORED, "made": (Domain("items", "whole", null=True), DAY)}
    both = domains_of(parse("union(made, project[1, 2](sold))", facts.schema), stored)
    assert both == (Domain("items", "text", null=True), DAY)
    assert domains_of(parse("union(made, project[1, 2](sold))", facts.schema), {"made": STORED["made"]}) == (None, None)
