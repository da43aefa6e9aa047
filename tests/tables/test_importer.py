"""JSON lines of facts, frames in memory, and the split."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from relatum.datasets.load import load
from relatum.tables import read
from support.small_tables import all_facts, rows_of

FACTS = [("sold", f"s{n % 5}", f"b{n % 7}", f"i{n % 3}") for n in range(100)]


@pytest.mark.parametrize("shape", ["list", "entities", "roles", "another key", "packed"])
def test_every_shape_of_a_json_fact_is_read(shape: str, tmp_path: Path) -> None:
    roles = ("seller", "buyer", "item")
    lines = {
        "list": lambda fact: list(fact),
        "entities": lambda fact: {"relation": fact[0], "entities": fact[1:]},
        "roles": lambda fact: {"relation": fact[0], **dict(zip(roles, fact[1:], strict=True))},
        "another key": lambda fact: {**dict(zip(roles, fact[1:], strict=True)), "predicate": fact[0]},
        "packed": lambda fact: list(fact),
    }
    text = "".join(json.dumps(lines[shape](fact)) + "\n" for fact in FACTS).encode()
    path = tmp_path / ("facts.jsonl.gz" if shape == "packed" else "facts.jsonl")
    path.write_bytes(gzip.compress(text) if shape == "packed" else text)
    imported = read(path, relation_key="predicate" if shape == "another key" else "relation")
    assert all_facts(imported) == set(FACTS)
    has_roles = shape in ("roles", "another key")
    assert imported.split.schema["sold"].roles == (roles if has_roles else None)
    imported.save(tmp_path / "out")
    assert load(tmp_path / "out").parts == imported.split.parts
    assert (tmp_path / "out" / "roles.txt").exists() == has_roles


def test_json_values_of_other_types_and_missing_roles(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    rows = [{"a": 1, "b": 2.0}, {"a": 2.5, "b": True}, {"b": "x", "a": "1"}, {"a": None, "b": "x"}, {"b": "x", "c": 10**30}]
    path.write_text("".join(json.dumps({"relation": "r", **row}) + "\n" for row in rows))
    imported = read(path, drop=["c"])
    assert all_facts(imported) == {("r", "1", "2"), ("r", "2.5", "true"), ("r", "1", "x")}
    assert imported.tables[0].incomplete == 2
    assert ("r", "NULL", "x", str(10**30)) in all_facts(read(path, null="value"))


def columns() -> dict[str, list[object]]:
    return {
        "seller": [fact[1] for fact in FACTS],
        "buyer": [n % 7 for n in range(100)],
        "paid": [None if n % 9 == 0 else n % 2 == 0 for n in range(100)],
    }


EXPECTED = [
    (f"sold.seller:s{n % 5}", f"sold.buyer:{n % 7}", f"sold.paid:{'true' if n % 2 == 0 else 'false'}" if n % 9 else None)
    for n in range(100)
]


MORE = [pytest.param(library, marks=pytest.mark.everything) for library in ("pyarrow", "polars", "stream")]


@pytest.mark.parametrize("library", ["pandas", *MORE])
def test_frames_are_read(library: str) -> None:
    if library == "stream":
        arrow = pytest.importorskip("pyarrow")

        class Stream:
            """Nothing but an Arrow stream."""

            def __arrow_c_stream__(self, requested_schema: object = None) -> object:
                return arrow.table(columns()).__arrow_c_stream__(requested_schema)

        frame: object = Stream()
    else:
        module = pytest.importorskip(library)
        frame = module.table(columns()) if library == "pyarrow" else module.DataFrame(columns())
    imported = read({"sold": frame})
    assert all_facts(imported) == {("sold", *row[:2]) for row in EXPECTED}  # paid has too many gaps for a fact
    assert [tuple(row.values()) for row in rows_of(imported.split, "sold")] == EXPECTED
    assert imported.tables[0].gaps == 12
    whole = read({"sold": frame}, columns={"sold": ["seller", "buyer", "paid"]})
    assert all_facts(whole) == {("sold", *row) for row in EXPECTED if None not in row}
    assert (whole.tables[0].incomplete, whole.tables[0].gaps) == (12, 12)


@pytest.mark.everything
def test_ids_that_pandas_keeps_as_floats_are_whole_numbers() -> None:
    arrow = pytest.importorskip("pyarrow")
    numbers = np.where(np.arange(9000) % 10 == 0, np.nan, np.arange(9000) % 3000)
    frame = arrow.table({"item_id": numbers, "store": np.arange(9000) % 7, "price": numbers})
    imported = read({"t": frame})
    outcomes = {record.column: record.outcome for record in imported.columns}
    assert outcomes == {"item_id": "entities", "store": "entities", "price": "bins"}
    assert "t.item_id:2999" in imported.split.entities
    assert imported.tables[0].gaps == 2 * 900
    assert imported.tables[0].incomplete == 900


def write_table(path: Path, rows: int) -> None:
    lines = (f"u{n * 7919 % 50},v{n * 104729 % 40},w{n % 30}" for n in range(rows))
    path.write_text("a,b,c\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("how", ["stratified", "random"])
@pytest.mark.parametrize("seed", [1])
def test_a_split_leaks_nothing_and_shows_every_entity_in_train(how: str, seed: int, tmp_path: Path) -> None:
    write_table(tmp_path / "big.csv", 3000)
    write_table(tmp_path / "small.csv", 300)
    split = read([tmp_path / "big.csv", tmp_path / "small.csv"], split=how, seed=seed, valid=0.05, test=0.2).split
    parts = [list(graph) for graph in split.parts.values()]
    assert sum(map(len, parts)) == len(set().union(*parts))
    assert np.all(split.train.degrees() > 0)
    total = sum(map(len, parts))
    assert [len(part) / total for part in parts[1:]] == pytest.approx([0.05, 0.2], abs=0.01)
    if how == "stratified":
        for relation in split.schema.names:
            sizes = [len(graph.table(relation)) for graph in split.parts.values()]
            assert sizes[2] == round(0.2 * sum(sizes))
            assert sizes[1] == round(0.05 * sum(sizes))
    again = read([tmp_path / "small.csv", tmp_path / "big.csv"], split=how, seed=seed, valid=0.05, test=0.2).split
    assert again.parts == split.parts
    other = read([tmp_path / "big.csv", tmp_path / "small.csv"], split=how, seed=seed + 9, valid=0.05, test=0.2).split
    assert other.parts != split.parts


def test_nothing_can_be_held_out_if_nothing_is_wanted(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", 500)
    split = read(tmp_path / "t.csv", valid=0, test=0).split
    assert (len(split.valid), len(split.test)) == (0, 0)
