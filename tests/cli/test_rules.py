"""`relatum rules` on tables: keys, foreign keys and dependencies, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

from relatum import Run
from support.command_line import Relatum


def test_keys_references_and_dependencies_of_tables_are_lines(run: Relatum, gappy_run: Path) -> None:
    code, out, err = run("rules", str(gappy_run))
    assert (code, err) == (0, "")
    for line in (
        "customers: id is the key",
        "items: shelf_code is another key",
        "stock: store, item_id is the key",
        "seats: store, seat is the key",
        "seats: store, customer_id is another key",
        "sales: customer_id refers to customers.id",
        "sales: item_id refers to items.id",
        "customers: city determines country, always",
    ):
        assert line in out.splitlines(), line
    assert not any(line.startswith("ratings:") and line.endswith("key") for line in out.splitlines())


def test_json_has_the_same_of_every_table(run: Relatum, gappy_run: Path, example_run: Path) -> None:
    code, out, _ = run("rules", str(gappy_run), "--json")
    rows = Run.load(gappy_run).split.rows
    assert code == 0
    assert rows is not None
    tables = {one["name"]: one for one in json.loads(out)["tables"]}
    assert set(tables) == set(rows.tables)
    assert tables["seats"]["keys"] == [["store", "seat"], ["store", "customer_id"]]
    found = [
        one for one in tables["customers"]["dependencies"] if (one["columns"], one["determines"]) == (["city"], "country")
    ]
    assert [one["share"] for one in found] == [1.0]
    code, out, _ = run("rules", str(example_run), "--json")
    assert (code, json.loads(out)["tables"]) == (0, [])
