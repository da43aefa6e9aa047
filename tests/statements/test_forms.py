"""Each form holds what its writer writes; what is no statement is one sentence; and a line is of one form at most."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import DataError, UnknownNameError
from relatum.statements.forms import FORMS, find_form, form_of_line
from relatum.statements.statement import Statement
from support.made_statements import BY_FORM, fits_wd50k, fits_wikipeople, statements
from support.malformed_statements import GOOD, MALFORMED


@pytest.mark.parametrize("name", FORMS)
@given(data=st.data())
def test_a_form_reads_what_it_writes(name: str, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(BY_FORM[name], max_size=6))
    lines = [*FORMS[name].write(iter(drawn))]
    assert all(line.endswith(b"\n") and b"\n" not in line[:-1] for line in lines)
    assert sorted(one for line in lines for one in FORMS[name].parse(line[:-1])) == sorted(drawn)  # type: ignore[type-var]


@given(statements)
def test_what_a_form_cannot_hold_is_refused_and_not_bent(one: Statement) -> None:
    for name, fits in (("wikipeople", fits_wikipeople), ("wd50k", fits_wd50k)):
        if not fits(one):
            with pytest.raises(DataError, match="form has no way to write"):
                [*FORMS[name].write([one])]


def test_there_are_a_hundred_malformed_lines_and_more_and_all_differ() -> None:
    assert len(set(MALFORMED)) == len(MALFORMED) >= 150


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


@given(st.binary(max_size=40) | st.sampled_from([line for _, line in MALFORMED]))
def test_any_bytes_are_statements_or_a_data_error(line: bytes) -> None:
    for form in FORMS.values():
        with contextlib.suppress(DataError):
            assert all(found is None or isinstance(found, Statement | DataError) for found in form.parse(line))


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["Q1", "P69", "value", "time", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "id", "claims", "P69", "mainsnak", "snaktype", "datavalue", "type", "value", "qualifiers", "P69_h", "P69_t", "N",
    ]), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(_json)
def test_any_json_is_statements_or_a_data_error(value: object) -> None:
    test_any_bytes_are_statements_or_a_data_error.hypothesis.inner_test(json.dumps(value).encode())  # type: ignore[attr-defined]


def test_forms_are_recognised_by_a_line() -> None:
    for name, line in GOOD.items():
        assert form_of_line(line) is FORMS[name]
    assert form_of_line(b"[") is FORMS["wikidata"]
    assert form_of_line(GOOD["wikidata"] + b",") is FORMS["wikidata"]
    for other in (
        b"",
        b"sold\tdrew\talex",
        b"a,P1,c\td",
        b"a,b",
        b"sold,drew,alex",
        b"P1,Q1,Q2",
        b"Q1,P1,Q2,P2",
        b"{}",
        b'{"relation": "sold"}',
        b'["sold", "drew"]',
        b"\xff,a,b",
    ):
        assert form_of_line(other) is None


def test_a_misspelt_form_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'wikidata'"):
        find_form("wikdata")
