"""A soft rule writes itself as Datalog, and reads back what it wrote; what is no rule is refused."""

from __future__ import annotations

import numpy as np
import pytest

from relatum import DataError, Hypergraph
from relatum.evidence.soft_rule import SoftRule

SCHEMA = Hypergraph.of([("sold", "drew", "alex", "book"), ("bought", "alex", "book")]).schema
SOLD, BOUGHT = SCHEMA.id("sold"), SCHEMA.id("bought")
RULE = SoftRule(SOLD, 1, BOUGHT, 0, ((2, 1),), rights=(4, 1, 1, 0), nameds=(6, 1, 2, 0))


def test_a_rule_is_written_as_datalog() -> None:
    assert RULE.text(SCHEMA) == "sold(A, B, C) <- bought(B, C)"
    assert SoftRule(BOUGHT, 0, SOLD, 1, ((1, 2),)).text(SCHEMA) == "bought(A, B) <- sold(_, A, B)"


def test_little_to_judge_by_makes_a_rule_less_confident() -> None:
    assert RULE.confidence == 6 / 12
    assert SoftRule(SOLD, 1, BOUGHT, 0, ((2, 1),), (600,), (900,)).confidence > RULE.confidence


def test_what_more_facts_name_has_a_confidence_of_its_own_where_there_is_enough_to_judge_by() -> None:
    rule = SoftRule(SOLD, 1, BOUGHT, 0, ((2, 1),), rights=(10, 90, 0, 0), nameds=(1000, 100, 0, 0))
    one, two, three, many = rule.confidences.tolist()
    assert one < rule.confidence < two
    assert three == many == np.float32(rule.confidence)


def test_a_rule_reads_the_fact_that_it_answers_only_where_all_places_agree() -> None:
    assert SoftRule(SOLD, 1, SOLD, 1, ((2, 2),)).reads_itself
    assert not SoftRule(SOLD, 1, SOLD, 1, ((2, 0),)).reads_itself
    assert not RULE.reads_itself


def test_a_rule_reads_back_what_it_wrote() -> None:
    assert SoftRule.from_json(RULE.to_json(SCHEMA), SCHEMA) == RULE


@pytest.mark.parametrize("change", [{"position": 3}, {"answer": 2}, {"given": []}, {"given": [[1, 1]]}, {"given": [[2, 0]]}])
def test_what_is_no_rule_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(DataError, match="no rule for an answer"):
        SoftRule.from_json({**RULE.to_json(SCHEMA), **change}, SCHEMA)
