"""Cells are numbered as a loop over all values numbers them, whatever the type: differential, on generated tables."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relatum import DataError
from relatum.data import vocabulary
from relatum.data.name_lines import NameLines
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.tables import cells as cells_module
from relatum.tables import importer, read
from relatum.tables.cells import NumberedTable, name_of, number_cells
from relatum.tables.engine import Workspace
from support.mistakes import mistake

TEXTS = ["a", "A", "ä", "a b", " a", "a ", "", " ", "\u3000", "\t", "x\ty", "x␉y", "l\nm", "r\r", "0", "-0", "007", "1.0"]
TEXTS += ["é", "🜁", "\x7f", "~", "!", "NULL", "'", '"', "\u2028", "z" * 40]
VALUES = {
    "VARCHAR": TEXTS,
    "VARCHAR COLLATE NOCASE": TEXTS,
    "TINYINT": [0, 1, -7, 127],
    "BIGINT": [0, 7, -1, 2**63 - 1, -(2**63)],
    "HUGEINT": [0, 2**70, 2**70 + 1, -(2**80)],
    "DOUBLE": [0.0, -0.0, 1.0, 1.5, 1e300, 0.1, 1 / 3, float("inf"), float("nan"), 1e16, 100.0],
    "FLOAT": [0.0, 0.1, 16777216.0, -2.5],
    "DECIMAL(18,3)": ["1.500", "1.050", "100.000", "0.000", "-7.125"],
    "DECIMAL(38,0)": ["100", "0", "12345678901234567890123456789"],
    "DATE": ["2024-02-29", "1969-12-31", "0001-01-01", "2024-01-01"],
    "TIMESTAMP": ["2024-02-29 01:02:03", "2024-02-29 01:02:03.000001", "1999-01-01 00:00:00"],
    "TIMESTAMP WITH TIME ZONE": ["2024-02-29 01:02:03+02", "2024-02-28 23:02:03+00"],
    "TIME": ["00:00:00", "23:59:59.5"],
    "TIME WITH TIME ZONE": ["12:00:00+02", "10:00:00+00"],
    "BOOLEAN": [True, False],
    "UUID": ["00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-0000000000ab"],
    "INTERVAL": ["1 month", "30 days", "720 hours", "1 day"],  # the first three are equal there, and written otherwise
    "ENUM('p', 'q', 'tab\tbed')": ["p", "q", "tab\tbed"],
}


def numbered_one_by_one(
    workspace: Workspace, tables: list[NumberedTable], null_is_value: bool
) -> tuple[Vocabulary, list[Ids]]:
    """Return what `number_cells` finds, by way of the name of every cell."""
    texts = []
    for one in tables:
        sql = (name_of(one.staged, column, null_is_value) for column in one.columns)
        texts.append([[row[0] for row in workspace.rows(f"SELECT {name} FROM {one.staged.view}")] for name in sql])  # noqa: S608
    names = Vocabulary(sorted({name for table in texts for column in table for name in column if name is not None}))
    numbers = {None: -1} | {name: number for number, name in enumerate(names)}
    cells = []
    for one, table in zip(tables, texts, strict=True):
        found = np.array([[numbers[name] for name in column] for column in table], np.int32)
        cells.append(found.reshape(len(one.columns), one.staged.rows))
    return names, cells


def check(kinds: list[str], rows: list[tuple[object, ...]], options: dict[str, object], many: bool) -> None:
    """Check the import of a table of such columns against the loop."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute(f"CREATE TABLE t ({', '.join(f'c{number} {kind}' for number, kind in enumerate(kinds))})")
            connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(kinds))})", rows)  # noqa: S608
        if many:  # names are lines, and come in several pieces
            patch.setattr(vocabulary, "_MOST_STRINGS", 1)
            patch.setattr(cells_module, "_LINES", 3)
        compared = []

        def both(workspace: Workspace, tables: list[NumberedTable], null_is_value: bool) -> Vocabulary:
            names, cells = numbered_one_by_one(workspace, tables, null_is_value)
            found = number_cells(workspace, tables, null_is_value)
            assert found == names
            assert [one.cells.tolist() for one in tables] == [one.tolist() for one in cells]
            assert all(one.cells.dtype == np.int32 for one in tables)
            assert isinstance(found.names, NameLines) == (many and len(found) > 1)
            compared.append(len(found))
            return found

        patch.setattr(importer, "number_cells", both)
        with suppress(DataError):  # values that make no fact
            read(path, keep=[f"t.c{number}" for number in range(len(kinds))], **options)
        assert compared


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_cells_have_the_numbers_that_a_loop_gives_them(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=2, max_size=5))
    rows = data.draw(
        st.lists(st.tuples(*(st.sampled_from([None, *VALUES[kind]]) for kind in kinds)), min_size=2, max_size=60)
    )
    options = {
        "plain": data.draw(st.booleans()),
        "null": data.draw(st.sampled_from(["skip", "value"])),
        "null_text": data.draw(st.sampled_from([(), ("a", "NULL")])),
    }
    check(kinds, rows, options, data.draw(st.booleans()))


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("null", ["skip", "value"])
def test_every_value_of_every_type_has_the_number_that_a_loop_gives_it(null: str, many: bool) -> None:
    kinds = list(VALUES)
    listed = [[None, *VALUES[kind]] for kind in kinds]
    rows = [tuple(values[number % len(values)] for values in listed) for number in range(90)]
    check(kinds, rows, {"null": null}, many)


def test_a_table_whose_name_has_a_line_feed_is_refused_as_before(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE \"a\nb\" AS SELECT * FROM (VALUES (1, 'x'), (1, 'y'), (2, 'x')) AS t(item_id, who)")
    with mistake("unusable-name"):
        read(path)
