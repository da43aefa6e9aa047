"""Each form is read and comes back; what is no statement is one sentence; and a line is of one form at most."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import DataError
from relatum.statements.forms import FORMS, find_form, form_of_line, write_wikipeople
from relatum.statements.statement import Statement, statement
from support.made_statements import (
    DataValue,
    document,
    fits_wikipeople,
    line_of,
    made_statements,
    statements,
    wikidata_values,
)
from support.malformed_statements import GOOD, MALFORMED
from support.mistakes import mistake


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_read_as_it_says(form: str) -> None:
    for one in made_statements(form, 200, seed=1):
        assert [*FORMS[form].parse(line_of(form, one))] == [one]


@pytest.mark.parametrize("number", range(len(MALFORMED)))
def test_a_malformed_line_is_one_sentence_that_says_what_to_do(number: int) -> None:
    name, line = MALFORMED[number]
    errors = []
    try:
        errors += FORMS[name].parse(line)
    except DataError as error:
        errors.append(error)
    assert len(errors) == 1
    assert isinstance(errors[0], DataError)
    message = str(errors[0])
    assert "\n" not in message
    assert "; " in message or ", so " in message
    assert len(message) < 300


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["Q1", "P69", "value", "time", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "id", "claims", "P69", "mainsnak", "snaktype", "datavalue", "type", "value", "qualifiers", "P69_h", "P69_t", "N",
    ]), inner, max_size=4),
    max_leaves=20,
).map(lambda value: json.dumps(value).encode())  # fmt: skip


@given(st.binary(max_size=40) | st.sampled_from([line for _, line in MALFORMED]) | _json)
def test_any_bytes_and_any_json_are_statements_or_a_data_error(line: bytes) -> None:
    for form in FORMS.values():
        with contextlib.suppress(DataError):
            assert all(found is None or isinstance(found, Statement | DataError) for found in form.parse(line))


def test_forms_are_recognised_by_a_line_and_a_misspelt_one_is_answered() -> None:
    for name, line in GOOD.items():
        assert form_of_line(line) is FORMS[name]
    assert form_of_line(b"[") is FORMS["wikidata"]
    assert form_of_line(GOOD["wikidata"] + b",") is FORMS["wikidata"]
    others = [b"", b"sold\tdrew\talex", b"a,P1,c\td", b"a,b", b"sold,drew,alex", b"P1,Q1,Q2", b"Q1,P1,Q2,P2", b"\xff,a,b"]
    for other in (*others, b"{}", b'{"relation": "sold"}', b'["sold", "drew"]'):
        assert form_of_line(other) is None
    with mistake("unknown-name"):
        find_form("wikdata")


# An entity as in a dump, but for its line ends.
ADAMS = json.loads("""
{"type": "item", "id": "Q42", "labels": {"en": {"language": "en", "value": "Douglas Adams"}}, "claims": {
"P69": [{"mainsnak": {"snaktype": "value", "property": "P69", "hash": "x", "datatype": "wikibase-item",
  "datavalue": {"value": {"entity-type": "item", "numeric-id": 691283}, "type": "wikibase-entityid"}},
 "type": "statement", "qualifiers": {
  "P582": [{"snaktype": "value", "property": "P582", "datavalue": {"value": {"time": "+1974-01-01T00:00:00Z", "timezone": 0,
   "before": 0, "after": 0, "precision": 9, "calendarmodel": "http://www.wikidata.org/entity/Q1985727"}, "type": "time"}}],
  "P512": [{"snaktype": "somevalue", "property": "P512"}]},
 "qualifiers-order": ["P582", "P512"], "id": "q42$0E9C4724-C954-4698-84A7-5CE0D296A6F2", "rank": "preferred",
 "references": [{"hash": "y"}]}],
"P31": [{"mainsnak": {"snaktype": "novalue", "property": "P31"}, "rank": "deprecated"}]}}
""")
parse, parse_wikipeople = FORMS["wikidata"].parse, FORMS["wikipeople"].parse
TIME = "+1974-01-01T00:00:00Z#0#0#0#9#http://www.wikidata.org/entity/Q1985727"


def test_an_entity_gives_its_statements_and_brackets_and_deprecated_ones_none() -> None:
    line = json.dumps(ADAMS).encode()
    expected = statement("P69", "Q42", "Q691283", [("P512", "somevalue"), ("P582", TIME)])
    for form in (line, line + b",", b"  " + line + b",\r"):
        assert [*parse(form)] == [expected, None]
    for line in (b"[", b"]", b'{"id": "Q1", "claims": []}', b'{"id": "Q1", "claims": {}},'):
        assert [*parse(line)] == []


def test_a_bad_claim_costs_no_other() -> None:
    bad = {**ADAMS, "claims": {"P1": [7], **ADAMS["claims"], "P2": {}}}
    first, good, left_out, last = parse(json.dumps(bad).encode())
    assert str(first).startswith("Q42, 'P1': a number where a claim should be")
    assert (good, left_out) == tuple(parse(json.dumps(ADAMS).encode()))
    assert str(last).startswith("Q42, 'P2': an object where a list of claims")


@given(wikidata_values, wikidata_values)
def test_the_text_of_a_value_is_that_of_no_other_value(first: DataValue, second: DataValue) -> None:
    texts = [next(parse(document("Q1", "P1", value))).tail for value, _ in (first, second)]  # type: ignore[union-attr]
    assert texts == [first[1], second[1]]
    assert (texts[0] == texts[1]) == (first[0] == second[0])


def test_numbers_are_in_their_shortest_form_and_old_ids_are_read() -> None:
    place = {"latitude": 52, "longitude": -0.0, "altitude": 7.0, "precision": None, "globe": "x"}
    for value, text in (
        ({"type": "globecoordinate", "value": place}, "globecoordinate:52#0#7##x"),
        ({"type": "wikibase-entityid", "value": {"entity-type": "property", "numeric-id": 7}}, "P7"),
    ):
        assert [*parse(document("Q1", "P1", value))] == [statement("P1", "Q1", text)]


@given(st.lists(statements))
def test_wikipeoples_lines_are_read_as_they_were_written(drawn: list[Statement]) -> None:
    kept = [one for one in drawn if fits_wikipeople(one)]
    lines = [*write_wikipeople(kept)]
    assert all(line.endswith(b"\n") and b"\n" not in line[:-1] for line in lines)
    assert [one for line in lines for one in parse_wikipeople(line[:-1])] == kept
    for one in drawn:
        if not fits_wikipeople(one):
            with mistake("statement-form-limit"):
                [*write_wikipeople([one])]
