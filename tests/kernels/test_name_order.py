"""Names are sorted by their bytes, whatever they have in common."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from relatum.kernels.name_order import are_ascending, copy_names, name_order
from relatum.kernels.name_table import NameTable

BEGINNINGS = (b"", b"a", b"person:00", b"http://www.example.org/entity/Q", b"x" * 90, b"x" * 98)
ENDS = st.binary(min_size=1, max_size=12).map(lambda end: end.replace(b"\0", b"0").replace(b"\n", b"n"))
NAMES = st.lists(st.tuples(st.sampled_from(BEGINNINGS), ENDS).map(b"".join), unique=True, max_size=40)


@given(NAMES)
def test_names_are_sorted_by_their_bytes(names: list[bytes]) -> None:
    table = NameTable()
    names = [name for name in names if not name.decode("latin-1").isspace()]
    table.number_all(names)
    starts = table.starts[: len(table) + 1]
    order = name_order(table.text, starts)
    expected = sorted(range(len(names)), key=names.__getitem__)
    assert order.tolist() == expected
    text, copied = copy_names(table.text, starts, order)
    assert text.tobytes() == b"\n".join(sorted(names))
    assert len(copied) == len(names) + 1
    assert are_ascending(table.text, starts, 0, len(names)) == (names == sorted(names))


def test_many_names_with_long_beginnings_in_common() -> None:
    rng = np.random.default_rng(0)
    names = [b"%s%d" % (BEGINNINGS[number % 6] * (1 + number % 3), number) for number in rng.permutation(20_000).tolist()]
    table = NameTable()
    table.number_all(names)
    assert name_order(table.text, table.starts[: len(table) + 1]).tolist() == sorted(
        range(len(names)), key=names.__getitem__
    )
