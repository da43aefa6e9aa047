"""A relation is shown with its facts at once, and with quality, rules and doubts on demand."""

from __future__ import annotations

import pytest

from relatum import Run
from relatum.resources.quality import evaluated
from relatum.resources.relation import doubtful, relation_page, relation_quality, relation_rules
from support.mistakes import mistake


def test_a_relation_is_shown_with_its_keys_and_facts(tables: Run) -> None:
    page = relation_page(tables, "customers.city", limit=7)
    assert page.relation.facts == page.facts.total == 120
    assert page.keys == (("id",),)
    assert len(page.facts.facts) == 7
    assert relation_page(tables, "customers.city", limit=7, after=page.facts.next).facts.facts[0] not in page.facts.facts


def test_quality_is_by_role(tables: Run) -> None:
    found, tested = relation_quality(tables, "customers.city"), evaluated(tables)
    assert tested is not None
    assert found.overall is not None
    assert [one.name for one in found.roles] == ["id", "city"]
    assert found.overall.questions == sum(one.questions for one in found.roles)
    wanted = tested.ranks.where(tested.ranks.relation == tables.schema.id("customers.city")).metrics.mrr
    assert found.overall.mrr == pytest.approx(wanted)


def test_rules_are_about_a_relation_or_read_it(example: Run) -> None:
    found = relation_rules(example, "sold", 5)
    assert found.about.soft
    assert {rule.head for rule in found.about.soft} == {"sold"}
    assert found.using.soft
    assert all("sold" in rule.body and rule.head != "sold" for rule in found.using.soft)


def test_doubtful_facts_are_known_ones(tables: Run) -> None:
    found = doubtful(tables, "customers.country", 3)
    wanted = tables.doubt("customers.country", 3)
    assert [one.fact.text for one in found.facts] == [str(one) for one in wanted]
    assert [one.doubt for one in found.facts] == [one.doubt for one in wanted]
    assert all(one.fact.known and one.fact.entities[one.position] == one.stored for one in found.facts)


def test_an_unknown_relation_is_refused(example: Run) -> None:
    for show in (relation_page, relation_quality, relation_rules, doubtful):
        with mistake("unknown-name", nearest=("sold",)):
            show(example, "sould")
