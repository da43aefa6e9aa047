"""`rows.safetensors`: rows come back as they were, and anything else is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relatum.data.row_store import Bins, Dependency, RowStore, RowTable, TableColumn, TableReference, TableSchema
from relatum.data.stored_values import StoredColumn, StoredTable, Texts, codes_of
from relatum.data.vocabulary import Vocabulary
from relatum.datasets.load import load
from relatum.datasets.row_files import ROWS, VALUES, load_rows, save_rows
from relatum.errors import DataError
from relatum.tables import read
from relatum.tensor_files import read_tensors, write_tensors
from support.mistakes import mistake
from support.small_tables import sqlite_of


def store() -> RowStore:
    bins = Bins(("2",), ("1", "3"), ("2", "9"), ("1", "4"))
    columns = (
        TableColumn("id", "items", "whole", "items.price", 0),
        TableColumn("price", "items.price", "number", "items.price", 1, bins),
        TableColumn("at.year", "year", part_of="at"),
    )
    keys, references = (("id",), ("price", "at.year")), (TableReference(("id",), "stock", ("item",)),)
    dependencies = (Dependency(("id",), "price", 0.97, 12),)
    schema = TableSchema("items", "entity", "id is its key", columns, keys, references, ("name",), dependencies, "items")
    names = Vocabulary(["items.price:1 to 2", "items:1", "items:2", "year:ünï␊"])
    cells = np.array([[1, 2], [0, -1], [-2, 3]], np.int32)
    parts = np.array([[0, 0], [2, 0], [1, 0]], np.int8)
    empty = RowTable(TableSchema("empty", "fact", "", ()), np.empty((0, 0), np.int32), np.empty((0, 0), np.int8))
    return RowStore(names, {"items": RowTable(schema, cells, parts, ("Böök 'one'␊", "")), "empty": empty})


def assert_same(one: RowStore | None, other: RowStore) -> None:
    assert one is not None
    assert one.names == other.names
    assert list(one.tables) == list(other.tables)
    for table, twin in zip(one.tables.values(), other.tables.values(), strict=True):
        assert table.schema == twin.schema
        assert table.labels == twin.labels
        assert np.array_equal(table.cells, twin.cells)
        assert np.array_equal(table.parts, twin.parts)
        assert (table.cells.dtype, table.parts.dtype) == (np.int32, np.int8)


def test_rows_come_back_as_they_were_and_the_same_rows_are_the_same_bytes(tmp_path: Path) -> None:
    save_rows(tmp_path, store())
    first = (tmp_path / ROWS).read_bytes()
    assert_same(load_rows(tmp_path), store())
    save_rows(tmp_path, store())
    assert (tmp_path / ROWS).read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == [ROWS]
    (tmp_path / ROWS).unlink()
    assert load_rows(tmp_path) is None


def test_a_label_is_one_line_whatever_its_text_held(tmp_path: Path) -> None:
    odd = ["two\nlines", "tab\there", "cr\rlf", "nul\0x", "line\u2028sep", "next\x85", "\x1cfs", "'; --", "日本", " blank "]
    script = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, c TEXT);"
    path = sqlite_of(tmp_path / "t.db", script, t=[(n, text, f"c{n % 3}") for n, text in enumerate(odd)])
    imported = read(path)
    assert imported.split.rows is not None
    labels = imported.split.rows["t"].labels
    pictures = str.maketrans({"\n": "␊", "\t": "␉", "\r": "␍", "\0": "␀"})
    assert labels == tuple(text.translate(pictures).strip(" ") for text in odd)
    assert not any("\n" in label for label in labels or ())
    imported.save(tmp_path / "out")
    assert_same(load_rows(tmp_path / "out"), imported.split.rows)
    assert_same(load(tmp_path / "out").rows, imported.split.rows)
    assert_same(load(tmp_path / "out").rows, imported.split.rows)  # from the cache


def test_a_damaged_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    save_rows(tmp_path, store())
    whole = (tmp_path / ROWS).read_bytes()
    for content in (b"", b"hello", bytes(4096), (1 << 62).to_bytes(8, "little") + b"{}", whole[:-5]):
        (tmp_path / ROWS).write_bytes(content)
        with mistake("damaged-rows"):
            load_rows(tmp_path)


def rewritten(folder: Path, about: object = None, **changed: np.ndarray | None) -> None:
    """Write the file with other content and a right checksum."""
    save_rows(folder, store())
    stored = read_tensors(folder / ROWS, "relatum-rows", 1)
    assert stored is not None
    arrays = {**stored.arrays, **{name.replace("_", "/"): array for name, array in changed.items()}}
    kept = {name: array for name, array in arrays.items() if array is not None}
    write_tensors(folder / ROWS, kept, "relatum-rows", 1, stored.about if about is None else about)


TEXTS = (("0_labels", b"one\n"), ("0_labels", b"\xff\xfe\n\n"), ("names", b"b\na\n"), ("names", b"a\na\nb\nc\n"))


def test_a_file_that_says_nonsense_is_refused_in_one_sentence(tmp_path: Path) -> None:
    first, second = (table.schema.to_json() for table in store().tables.values())
    bad_columns = [{"name": "id"}], [{**first["columns"][0], "bins": {"edges": []}}]
    nonsense: list[dict[str, object]] = [
        *({"about": about} for about in ("text", {"a": 1}, [1, 2])),
        *({"about": [{**first, **changed}, second]} for changed in ({"shape": "round"}, {"columns": 7}, {"more": 1})),
        *({"about": [{**first, "columns": columns}, second]} for columns in bad_columns),
        {"0_cells": None},
        {"0_cells": np.zeros((3, 2), np.int64)},
        {"0_cells": np.zeros((3, 3), np.int32)},
        {"0_cells": np.full((3, 2), 4, np.int32)},
        {"0_cells": np.full((3, 2), -3, np.int32)},
        {"0_cells": np.zeros(6, np.int32)},
        {"0_parts": np.zeros((3, 2), np.float32)},
        {"names": None},
        *({name: np.frombuffer(text, np.uint8)} for name, text in TEXTS),
    ]
    for changed in nonsense:
        rewritten(tmp_path, **changed)  # type: ignore[arg-type]
        with pytest.raises(DataError) as caught:
            load_rows(tmp_path)
        assert "not the rows of tables" in str(caught.value), changed
        assert "\n" not in str(caught.value)
    rewritten(tmp_path)
    assert_same(load_rows(tmp_path), store())


def values() -> RowStore:
    codes, missing, texts = codes_of(["é", None, "b"])
    columns = (
        StoredColumn("text", "VARCHAR", codes, missing, texts, "DATE", "sqlite varchar(20)"),
        StoredColumn("whole", "INTEGER", np.array([1, 2, 3], np.int8)),
        StoredColumn("flag", "BOOLEAN", np.array([True, False, True])),
        StoredColumn("time", "TIME", np.array([0, 1, 86_400_000_000])),
        StoredColumn("price", "DECIMAL(4,2)", np.array([0, 9999, -9999], np.int16)),
        StoredColumn("real", "DOUBLE", np.array([0.5, np.nan, np.inf])),
        StoredColumn(
            "huge", "HUGEINT", codes_of(["1", "-170141183460469231731687303715884105728", "0"])[0], None, Texts.of("123")
        ),
    )
    return RowStore(Vocabulary([]), values={"t": StoredTable("t", columns)})


TYPES = (
    "DECIMAL(99999,5)",
    "DECIMAL(4,9)",
    "INTEGER) --",
    "INT",
    "VARCHAR; DROP TABLE t",
    "ENUM('a'), 'b')",
    "ENUM('a",
    "",
    "x" * 99,
)


def test_a_file_of_values_that_says_nonsense_is_refused(tmp_path: Path) -> None:
    def about(column: int, **changed: object) -> dict[str, object]:
        listed = [dict(one) for one in stored.about["tables"][0]["columns"]]
        listed[column] |= changed
        return {"tables": [{"name": "t", "columns": listed}]}

    save_rows(tmp_path, values())
    stored = read_tensors(tmp_path / VALUES, "relatum-values", 1)
    assert stored is not None
    nonsense: list[dict[str, Any]] = [
        *(
            {"about": about(1, type=one)}
            for one in (*TYPES, "DATE[]", "VARCHAR", "BOOLEAN", "FLOAT", "TINYINT UNSIGNED", None)
        ),
        *({"about": about(0, read_as=one)} for one in TYPES),
        {"about": about(0, own_type=5)},
        *({"about": one} for one in ("text", {"tables": 5}, {"tables": [{"name": "t"}]})),
        {"about": about(6, type="UUID", name="text")},
        *({"0/0": np.array(codes, np.int32)} for codes in ([0, 2, 0], [-1, 0, 0], [0, 0])),
        *({"0/0/texts": np.frombuffer(one, np.uint8)} for one in (b"\xff\xfea", b"b\xc3\xa9", b"abcd")),
        *({"0/0/starts": np.array(one)} for one in ([0, 3, 2], [0, 1, 3], [1, 2, 3], [0.0, 2.0, 3.0], [])),
        {"0/0/missing": np.array([0, 1, 2], np.uint8).view(np.bool_)},
        {"0/0/missing": np.array([False])},
        *({"0/1": np.array(one)} for one in ([1 << 31, 0, 0], [0.5, 1, 2], [[1], [2], [3]], [1, 2])),
        {"0/2": np.array([0, 1, 255], np.uint8).view(np.bool_)},
        *({"0/3": np.array([one, 0, 0])} for one in (-1, 86_400_000_001)),
        {"0/4": np.array([0, 0, 10_000])},
        {"0/5": np.array([0, 0, 1], np.float32)},
        *({"0/6/texts": np.frombuffer(one, np.uint8)} for one in (b"12x", b"1e3", b"1 3")),
        *({name: None} for name in ("0/0", "0/0/texts", "0/6/texts")),
    ]
    for changed in nonsense:
        said = changed.pop("about", stored.about)
        arrays = {name: one for name, one in {**stored.arrays, **changed}.items() if one is not None}
        write_tensors(tmp_path / VALUES, arrays, "relatum-values", 1, said)
        with mistake("damaged-rows"):
            load_rows(tmp_path)
    save_rows(tmp_path, values())
    found = load_rows(tmp_path)
    assert found is not None
    assert [one.shown() for one in found.values["t"].columns] == [one.shown() for one in values().values["t"].columns]
