"""A soft rule writes itself as Datalog, and reads back what it wrote; what is no rule is refused."""

from __future__ import annotations

import numpy as np
import pytest

from relatum import Hypergraph
from relatum.evidence.soft_rule import ANY, JOINED, Atom, SoftRule, constant, constant_entity
from support.mistakes import mistake

GRAPH = Hypergraph.of([("sold", "drew", "alex", "Book"), ("bought", "alex", "Book"), ("knows", "drew", "alex")])
SCHEMA, NAMES = GRAPH.schema, GRAPH.entities
SOLD, BOUGHT, KNOWS = SCHEMA.id("sold"), SCHEMA.id("bought"), SCHEMA.id("knows")
BOOK = constant(NAMES.id("Book"))
RULE = SoftRule(SOLD, 1, (Atom(BOUGHT, (1, 2)),), 1, rights=(4, 1, 1, 0), nameds=(6, 1, 2, 0))
PATH = SoftRule(SOLD, 2, (Atom(KNOWS, (0, JOINED)), Atom(BOUGHT, (JOINED, 2))), 2)
VALUE = SoftRule(SOLD, 2, (Atom(BOUGHT, (1, ANY)),), BOOK)
TWICE = SoftRule(KNOWS, 1, (Atom(SOLD, (0, ANY, BOOK)),), 0)
FREQUENT = SoftRule(SOLD, 2, (Atom(SOLD, (ANY, ANY, BOOK)),), BOOK)
RULES = {"match": RULE, "path": PATH, "value": VALUE, "frequency": FREQUENT}


def test_a_rule_is_written_as_datalog() -> None:
    texts = {
        RULE: "sold(A, B, C) <- bought(B, C)",
        SoftRule(BOUGHT, 0, (Atom(SOLD, (ANY, 0, 1)),), 0): "bought(A, B) <- sold(_, A, B)",
        PATH: "sold(A, B, C) <- knows(A, Z), bought(Z, C)",
        VALUE: 'sold(A, B, "Book") <- bought(B, _)',
        TWICE: 'knows(A, A) <- sold(A, _, "Book")',
        FREQUENT: 'sold(A, B, "Book") <- sold(_, _, "Book")',
    }
    assert {rule: rule.text(SCHEMA, NAMES) for rule in texts} == texts


def test_a_rule_knows_its_template_its_confidence_and_a_constant_its_entity() -> None:
    assert {name: rule.template for name, rule in RULES.items()} == {name: name for name in RULES}
    assert TWICE.template == "value"
    assert constant_entity(BOOK) == NAMES.id("Book")
    assert [constant_entity(term) for term in (ANY, JOINED, 0, 5)] == [None] * 4
    assert RULE.confidence == 6 / 12
    assert SoftRule(SOLD, 1, RULE.body, 1, (600,), (900,)).confidence > RULE.confidence


def test_what_more_facts_name_has_a_confidence_of_its_own_where_there_is_enough_to_judge_by() -> None:
    rule = SoftRule(SOLD, 1, RULE.body, 1, rights=(10, 90, 0, 0), nameds=(1000, 100, 0, 0))
    one, two, three, many = rule.confidences.tolist()
    assert one < rule.confidence < two
    assert three == many == np.float32(rule.confidence)


KNOWN = {"schema": SCHEMA, "entities": NAMES}


@pytest.mark.parametrize("rule", [*RULES.values(), TWICE])
def test_a_rule_reads_back_what_it_wrote(rule: SoftRule) -> None:
    assert SoftRule.from_json(rule.to_json(**KNOWN), **KNOWN) == rule


@pytest.mark.parametrize(
    "change",
    [
        {"position": 3},
        {"position": -1},
        {"answer": None},
        {"answer": "Z"},
        {"answer": 3},
        {"body": []},
        {"body": [{"relation": "bought", "terms": [1, None]}]},
        {"body": [{"relation": "bought", "terms": [1, 2, 0]}]},
        {"body": [{"relation": "bought", "terms": [1, 3]}]},
        {"body": [{"relation": "bought", "terms": [1, "Z"]}]},
        {"body": [{"relation": "bought", "terms": [2, "Z"]}, {"relation": "knows", "terms": [1, 0]}]},
        {"body": [{"relation": "bought", "terms": [1, "Z"]}, {"relation": "knows", "terms": ["Z", 1]}]},
        {"body": [{"relation": "bought", "terms": [2, 1]}] * 3},
        {"answer": 0, "body": [{"relation": "bought", "terms": [1, 2]}]},
        {"answer": 0, "body": [{"relation": "bought", "terms": [None, None]}]},
        {"rights": [1]},
        {"rights": [-1, 0, 0, 0]},
        {"rights": [1000, 0, 0, 0]},
        *({"answer": term} for term in (-1, True, 1.5, "x", [], {"entity": "nowhere"})),
    ],
)
def test_what_is_no_rule_is_refused(change: dict[str, object]) -> None:
    with mistake("unknown-name" if "nowhere" in str(change) else "damaged-file"):
        SoftRule.from_json({**RULE.to_json(**KNOWN), **change}, **KNOWN)
