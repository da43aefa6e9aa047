"""A planner in plain Python, without a model, reaches three goals of several steps with the tools of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import relatum
from relatum import Run
from support.mcp_server import Caller, asked
from support.shop_with_gaps import COUNTRIES, rows


@pytest.fixture(scope="module")
def run(gappy_run: Path) -> Run:
    """Return the run on a database."""
    return relatum.open(gappy_run)


def value(entity: dict[str, Any]) -> str:
    """Return the value of an entity, without its type."""
    return str(entity["name"]).removeprefix(f"{entity['type']}:")


async def all_facts(call: Caller, **wanted: Any) -> list[dict[str, Any]]:
    """Return the facts of all pages."""
    page = await call("facts_of", **wanted, limit=500)
    found = page["facts"]
    while page["next"] is not None:
        page = await call("facts_of", **wanted, limit=500, after=page["next"])
        found += page["facts"]
    return list(found)


CUSTOMERS = {int(str(row[0])): row for row in rows()["customers"]}


def test_join_and_leave_out(run: Run) -> None:
    """What did people in the city of customer 8 buy on the web that customer 8 never bought?"""

    async def steps(call: Caller) -> set[str]:
        city = (await all_facts(call, entity="customers:8", relation="customers.city", role="id"))[0]["entities"][1]
        sold = "SELECT DISTINCT s.item_id FROM customers c JOIN sales s ON c.id = s.customer_id"
        text = f"{sold} WHERE c.city = '{value(city)}' AND s.channel = 'web' AND known"
        theirs = {value(row["values"][0]) for row in (await call("query", text=text, k=500))["rows"]}
        own = await all_facts(call, entity="customers:8", relation="sales", role="customer_id")
        return theirs - {value(one["entities"][1]) for one in own}

    sales, city = rows()["sales"], CUSTOMERS[8][2]
    same = {number for number, row in CUSTOMERS.items() if row[2] == city}
    theirs = {str(item) for _, buyer, item, channel, *_ in sales if buyer in same and channel == "web"}
    assert asked(run, steps) == theirs - {str(item) for _, buyer, item, *_ in sales if buyer == 8}


def test_go_through_all_gaps(run: Run) -> None:
    """Fill every missing country that is likely enough, and explain the first one."""

    async def steps(call: Caller) -> dict[int, str]:
        with_city = {one["entities"][0]["name"] for one in await all_facts(call, relation="customers.city")}
        with_country = {one["entities"][0]["name"] for one in await all_facts(call, relation="customers.country")}
        filled: dict[int, str] = {}
        for name in sorted(with_city - with_country):
            best = (await call("complete", question=f"customers.country({name}, ?)", k=1))["answers"][0]
            if best["probability"] > 0.5:
                filled[int(value(best["fact"]["entities"][0]))] = value(best["entities"][0])
        assert (await call("explain", fact=f"customers.country({min(filled)}, {filled[min(filled)]})"))["scored"]
        return filled

    gaps = {number: COUNTRIES[str(row[2])] for number, row in CUSTOMERS.items() if row[3] is None}
    filled = asked(run, steps)
    assert len(filled) >= 0.8 * len(gaps)
    assert sum(gaps[number] == country for number, country in filled.items()) >= 0.9 * len(filled)


def test_define_a_relation_for_one_question(run: Run) -> None:
    """Which items are in stock in the north, and were sold to somebody in Norway?"""

    async def steps(call: Caller) -> set[str]:
        rules = await call("rules", k=5)
        assert len(rules["soft"]) <= 5
        definitions = {
            "norwegian": "SELECT id FROM customers WHERE country = 'Norway'",
            "there": "SELECT item_id FROM stock WHERE store = 'north'",
        }
        text = (
            "SELECT t.item_id FROM there t JOIN sales s ON t.item_id = s.item_id "
            "JOIN norwegian n ON s.customer_id = n.id WHERE known"
        )
        found = await call("what_if", text=text, definitions=definitions, k=500)
        assert found["before"] is None
        assert all(row["known"] for row in found["after"]["rows"])
        return {value(row["values"][0]) for row in found["after"]["rows"]}

    there = {item for store, item, _ in rows()["stock"] if store == "north"}
    norwegian = {number for number, row in CUSTOMERS.items() if row[3] == "Norway"}
    wanted = {str(item) for _, buyer, item, *_ in rows()["sales"] if buyer in norwegian and item in there}
    assert asked(run, steps) == wanted
