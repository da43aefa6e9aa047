"""An entity is shown with all its facts by role, what is predicted about it, and what is around it."""

from __future__ import annotations

from relatum import Run
from relatum.resources.entity import entity_page, neighbourhood, predicted
from relatum.resources.facts import facts_of


def test_facts_are_grouped_by_relation_and_role(example: Run) -> None:
    page = entity_page(example, "drew", facts=2)
    counted = {(group.relation, group.role): group.count for group in page.groups}
    for (relation, role), count in counted.items():
        assert facts_of(example, "drew", relation, role).total == count
    assert page.facts == facts_of(example, "drew").total
    assert all(len(group.facts) == min(2, group.count) for group in page.groups)
    assert all(fact.entities[group.position].name == "drew" for group in page.groups for fact in group.facts)


def test_similar_entities_are_of_its_type_and_what_is_missing_is_predicted(tables: Run) -> None:
    page = entity_page(tables, "customer 7", similar=5)
    assert page.entity.name == "customers:7"
    assert {one.entity.type for one in page.similar} == {"customers"}
    found = predicted(tables, "customers:3", 5, reasons=1)
    best = found.answers[0]
    assert best.fact.relation == "customers.country"
    assert not any(item.known for item in found.answers)
    assert all("customers:3" in [one.name for one in item.fact.entities] for item in found.answers)
    likely = [item.probability or 0.0 for item in found.answers]
    assert likely == sorted(likely, reverse=True)


def test_the_neighbourhood_holds_known_and_new_facts(tables: Run) -> None:
    found = neighbourhood(tables, "customers:3", known=6, new=2)
    known = [fact for fact in found.facts if fact.known]
    assert len(known) == 6
    assert len({fact.relation for fact in known}) > 2
    assert 1 <= len(found.facts) - 6 <= 2
    assert found.truncated
    assert not neighbourhood(tables, "customers:3", known=400, new=0).truncated
