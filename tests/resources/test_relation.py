"""A relation is shown with its facts at once; on demand with quality, rules, doubts, and facts that it likely lacks."""

from __future__ import annotations

import pytest

from relatum import Run
from relatum.resources.quality import evaluated
from relatum.resources.relation import doubtful, missing, relation_page, relation_quality, relation_rules
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
    for show in (relation_page, relation_quality, relation_rules, doubtful, missing):
        with mistake("unknown-name", nearest=("sold",)):
            show(example, "sould")


@pytest.mark.parametrize("relation", ["customers.country", "ratings"])
def test_missing_facts_come_page_by_page(tables: Run, relation: str) -> None:
    pages = [missing(tables, relation, limit=10)]
    while pages[-1].next is not None:
        pages.append(missing(tables, relation, limit=10, after=pages[-1].next))
    found = [one for page in pages for one in page.facts]
    assert len(found) == pages[0].total > 10
    assert len({one.fact.text for one in found}) == len(found)
    likely = [one.fact.probability or 0.0 for one in found]
    assert likely == sorted(likely, reverse=True)
    known = set(tables.table(relation))
    assert not any(tuple(entity.name for entity in one.fact.entities) in known for one in found)


def test_reasons_are_given_on_demand_and_a_token_is_for_one_relation(tables: Run) -> None:
    assert not any(one.reasons for one in missing(tables, "ratings", limit=5).facts)
    assert all(len(one.reasons) <= 2 for one in missing(tables, "ratings", limit=5, reasons=2).facts)
    token = missing(tables, "customers.country", limit=1).next
    with mistake("foreign-token"):
        missing(tables, "ratings", after=token)


def test_the_gaps_of_a_column_are_filled_as_a_question_is_answered(tables: Run) -> None:
    found = missing(tables, "customers.country", limit=500).facts
    gaps = {number for number in range(1, 121) if number % 7 == 3}
    assert {int(one.fact.entities[0].name.removeprefix("customers:")) for one in found} == gaps
    for one in found[:3]:
        best = tables.complete("customers.country", one.fact.entities[0].name, None, k=1)[0]
        assert one.fact.entities[1].name == best.entity
        assert one.fact.probability == pytest.approx(best.probability)
