"""Each form is read; what is no statement is one sentence; and a line is of one form at most."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import DataError
from relatum.statements.forms import FORMS, find_form, form_of_line
from relatum.statements.statement import Statement
from support.made_statements import line_of, made_statements
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


def test_forms_are_recognised_by_a_line() -> None:
    for name, line in GOOD.items():
        assert form_of_line(line) is FORMS[name]
    assert form_of_line(b"[") is FORMS["wikidata"]
    assert form_of_line(GOOD["wikidata"] + b",") is FORMS["wikidata"]
    others = [b"", b"sold\tdrew\talex", b"a,P1,c\td", b"a,b", b"sold,drew,alex", b"P1,Q1,Q2", b"Q1,P1,Q2,P2", b"\xff,a,b"]
    for other in (*others, b"{}", b'{"relation": "sold"}', b'["sold", "drew"]'):
        assert form_of_line(other) is None


def test_a_misspelt_form_is_answered_with_the_nearest() -> None:
    with mistake("unknown-name"):
        find_form("wikdata")
