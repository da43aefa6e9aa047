"""Values of SQLite as text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relatum.tables.sqlite import texts_of

VALUES = st.one_of(st.none(), st.text(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.binary())
COLUMNS = [
    st.lists(kind)
    for kind in (VALUES, st.text(), st.none() | st.text(), st.integers(), st.floats(), st.none() | st.integers())
]


def text_of(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return value.hex() if isinstance(value, bytes) else repr(value)


@given(st.one_of(COLUMNS))
def test_a_column_is_the_text_of_each_of_its_values(values: list[object]) -> None:
    assert list(texts_of(values)) == [text_of(value) for value in values]
