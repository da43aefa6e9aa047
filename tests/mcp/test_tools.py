"""Every tool can be listed and called by the official client, and results are as their schemas say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import relatum
from relatum import Run
from relatum.mcp.tools import TOOLS
from support.mcp_server import Caller, asked


@pytest.fixture(scope="module")
def run(gappy_run: Path) -> Run:
    """Return the run on a database."""
    return relatum.open(gappy_run)


def test_all_tools_are_listed_and_only_read(run: Run) -> None:
    tools = asked(run, lambda call: call.client.list_tools()).tools
    assert tuple(tool.name for tool in tools) == TOOLS
    for tool in tools:
        assert tool.annotations.read_only_hint
        assert tool.annotations.destructive_hint is False
        assert tool.output_schema["type"] == "object"
        assert tool.description


def test_every_tool_answers_as_its_schema_says(run: Run) -> None:
    async def work(call: Caller) -> None:
        relations = (await call("schema"))["relations"]
        assert {one["name"] for one in relations} == set(run.schema.names)
        assert (await call("find_entity", text="customer 7"))["entities"][0]["entity"]["name"] == "customers:7"
        page = await call("facts_of", relation="sales", limit=100)
        assert page["total"] == len(set(run.table("sales")))
        assert (await call("facts_of", relation="sales", limit=100, after=page["next"]))["facts"]
        answers = (await call("complete", question="customers.country(3, ?)", reasons=1))["answers"]
        assert not answers[0]["known"]
        assert 0 < answers[0]["probability"] <= 1
        assert (await call("score", fact="customers.city(1, Rome)"))["fact"]["known"]
        rows = (await call("query", text="SELECT id FROM customers WHERE city = 'Paris'", k=5))["rows"]
        assert rows[0]["witness"][0]["fact"]["source"] in ("train", "valid", "test")
        assert (await call("explain", fact="customers.country(3, Italy)"))["scored"]["fact"]["known"] is False
        assert (await call("rules"))["soft"]
        found = await call("what_if", text="customers.country(3, ?)", facts=["customers.country(3, Norway)"])
        assert found["after"]["rows"][0]["known"]
        assert set(call.calls) == set(TOOLS)

    asked(run, work)


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("complete", {"question": "customers.citty(3, ?)"}, "'? [unknown-name]"),
        ("complete", {"question": "customers.city(3, ?)", "k": 5000}, "less than or equal to 1000"),
        ("query", {"text": "CREATE VIEW x AS SELECT id FROM customers"}, "[read-only]"),
        ("query", {"text": "(" * 50}, "[over-limit]"),
        ("facts_of", {"entity": "customers:7", "after": "x"}, "[foreign-token]"),
        ("what_if", {"text": "customers.city(3, ?)", "facts": ["customers.city(3, ?)"]}, "[gap-in-fact]"),
        ("what_if", {"text": "customers.city(3, ?)", "facts": ["x"] * 101}, "at most 100"),
    ],
)
def test_a_mistake_is_answered_in_words(run: Run, tool: str, arguments: dict[str, Any], text: str) -> None:
    refusal = asked(run, lambda call: call.refusal(tool, **arguments))
    assert refusal.endswith(text) if "[" in text else text in refusal


def test_the_prompt_tells_how_to_plan(run: Run) -> None:
    found = asked(run, lambda call: call.client.get_prompt("plan", {"goal": "fill all gaps"}))
    text = found.messages[0].content.text
    assert "fill all gaps" in text
    assert "customers.city(id, city)" in text
    assert all(tool in text for tool in TOOLS if tool != "rules")
