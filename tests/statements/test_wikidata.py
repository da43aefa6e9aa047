"""Entity documents as in Wikidata's dumps: what is read of them, what is left out, and what is written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import DataError
from relatum.statements.statement import statement
from relatum.statements.wikidata import parse, write
from relatum.statements.wikidata_values import ENTITY, snak_of, text_of
from support.made_statements import wikidata_values

ADAMS = {
    "type": "item",
    "id": "Q42",
    "labels": {"en": {"language": "en", "value": "Douglas Adams"}},
    "claims": {
        "P69": [
            {
                "mainsnak": {
                    "snaktype": "value",
                    "property": "P69",
                    "hash": "x",
                    "datavalue": {"value": {"entity-type": "item", "numeric-id": 691283}, "type": "wikibase-entityid"},
                    "datatype": "wikibase-item",
                },
                "type": "statement",
                "qualifiers": {
                    "P582": [
                        {
                            "snaktype": "value",
                            "property": "P582",
                            "datavalue": {
                                "value": {
                                    "time": "+1974-01-01T00:00:00Z",
                                    "timezone": 0,
                                    "before": 0,
                                    "after": 0,
                                    "precision": 9,
                                    "calendarmodel": "http://www.wikidata.org/entity/Q1985727",
                                },
                                "type": "time",
                            },
                        }
                    ],
                    "P512": [{"snaktype": "somevalue", "property": "P512"}],
                },
                "qualifiers-order": ["P582", "P512"],
                "id": "q42$0E9C4724-C954-4698-84A7-5CE0D296A6F2",
                "rank": "preferred",
                "references": [{"hash": "y"}],
            }
        ],
        "P31": [{"mainsnak": {"snaktype": "novalue", "property": "P31"}, "rank": "deprecated"}],
    },
}
TIME = "+1974-01-01T00:00:00Z#0#0#0#9#http://www.wikidata.org/entity/Q1985727"


def test_an_entity_gives_its_statements_and_leaves_out_deprecated_ones() -> None:
    line = json.dumps(ADAMS).encode()
    expected = statement("P69", "Q42", "Q691283", [("P512", "somevalue"), ("P582", TIME)])
    for form in (line, line + b",", b"  " + line + b",\r"):
        assert [*parse(form)] == [expected, None]


def test_brackets_of_a_dump_and_entities_without_claims_give_nothing() -> None:
    for line in (b"[", b"]", b'{"id": "Q1", "claims": []}', b'{"id": "Q1", "claims": {}},'):
        assert [*parse(line)] == []


def test_a_bad_claim_costs_no_other() -> None:
    bad = {**ADAMS, "claims": {"P1": [7], **ADAMS["claims"], "P2": {}}}  # type: ignore[dict-item]
    first, good, left_out, last = parse(json.dumps(bad).encode())
    assert str(first).startswith("Q42, 'P1': a number where a claim should be")
    assert (good, left_out) == tuple(parse(json.dumps(ADAMS).encode()))
    assert str(last).startswith("Q42, 'P2': an object where a list of claims")


def test_statements_of_one_head_are_one_entity() -> None:
    some = [statement("P31", "Q1", "Q5"), statement("P31", "Q1", "string:x"), statement("P9", "P31", "novalue")]
    first, second = map(json.loads, write(some))
    assert (first["id"], first["type"], len(first["claims"]["P31"])) == ("Q1", "item", 2)
    assert (second["id"], second["type"]) == ("P31", "property")


@given(st.lists(wikidata_values, min_size=2, max_size=2))
def test_the_text_of_a_value_is_that_of_no_other_value_and_literals_are_no_ids(pair: list[str]) -> None:
    for text in pair:
        snak = snak_of("P1", text)
        assert text_of(json.loads(json.dumps(snak))) == text
        entity = snak.get("datavalue", {}).get("type") == "wikibase-entityid"
        assert (ENTITY.fullmatch(text) is not None) == entity
    assert (snak_of("P1", pair[0]) == snak_of("P1", pair[1])) == (pair[0] == pair[1])


@pytest.mark.parametrize(
    "text",
    ["Q0", "q1", "drew", "+1903", "-1", "string", "text:x", "monolingualtext:x", "monolingualtext:en:", "quantity:+5",
     "quantity:a###1", "quantity:+5##x#1", "quantity:+5###", "globecoordinate:1#2##0.1", "globecoordinate:1#2##nan#x",
     "globecoordinate:#2###x", "globecoordinate:1.0#2###x", "+1903-00-00T00:00:00Z#0#0#0#09#x",
     "+1903-00-00T00:00:00Z#0#-0#0#9#x", "string:", TIME.rpartition("#")[0] + "#"],
)  # fmt: skip
def test_what_is_no_value_of_wikidata_is_not_written(text: str) -> None:
    with pytest.raises(DataError, match="; "):
        [*write([statement("P1", "Q1", text)])]
    with pytest.raises(DataError, match="is no entity of Wikidata"):
        [*write([statement("P1", text, "Q1")])]


def test_numbers_are_in_their_shortest_form() -> None:
    snak = snak_of("P625", "globecoordinate:52.5#-0.25###x")
    snak["datavalue"]["value"] |= {"latitude": 52, "longitude": -0.0, "altitude": 7.0}
    assert text_of(snak) == "globecoordinate:52#0#7##x"
