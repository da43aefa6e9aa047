"""Facts that are likely missing come page by page, the likeliest first, and none of them is known."""

from __future__ import annotations

import pytest

from relatum import Run
from relatum.resources.relation import missing
from support.mistakes import mistake


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


def test_reasons_are_given_on_demand(tables: Run) -> None:
    assert not any(one.reasons for one in missing(tables, "ratings", limit=5).facts)
    assert all(len(one.reasons) <= 2 for one in missing(tables, "ratings", limit=5, reasons=2).facts)


def test_a_token_is_for_one_relation(tables: Run) -> None:
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
