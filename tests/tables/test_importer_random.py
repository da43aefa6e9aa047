"""Random small databases, with odd names, give in every engine the facts that a plain loop over their rows gives."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from relatum.tables import read
from support.shop_to_fill import ENGINES, Filled, open_filled
from support.small_tables import all_facts, rows_of

NAMES = ("stock", "Order", "two words", 'x"; DROP TABLE stock; --', "naïve", "%s", "it's")
TEXTS = ("x", "it's", "日本", None)
Row = dict[str, int | str | None]


@dataclass
class Made:
    """A table: what its columns refer to, and its rows; it has a key `id` if others may refer to it."""

    is_keyed: bool
    refers: dict[str, str]
    rows: list[Row]

    def creation(self, name: str) -> list[str]:
        """Return the statements that make it."""
        key = ["id INTEGER PRIMARY KEY"] * self.is_keyed
        columns = [f"{quoted(column)} INTEGER REFERENCES {quoted(other)} (id)" for column, other in self.refers.items()]
        lines = [f"({', '.join(map(literal, row.values()))})" for row in self.rows]
        return [
            f"CREATE TABLE {quoted(name)} ({', '.join([*key, *columns, 'kind VARCHAR(9)'])})",
            f"INSERT INTO {quoted(name)} VALUES {', '.join(lines)}",  # noqa: S608
        ]

    def type_of(self, name: str, column: str) -> str:
        """Return what the entities of a column are called."""
        return self.refers.get(column, name if column == "id" else f"{name}.{column}")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: int | str | None) -> str:
    return "NULL" if value is None else str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def made(rng: random.Random) -> dict[str, Made]:
    """Return two or three tables with a key, the later of which refer to earlier ones, and two that link them all."""
    names, tables = rng.sample(NAMES, rng.randint(4, 5)), dict[str, Made]()
    for number, name in enumerate(names):
        is_keyed = number < len(names) - 2
        before = [other for other in names[:number] if tables[other].is_keyed]
        refers = {f"{other} id": other for other in before if not is_keyed or rng.random() < 0.6}
        rows: list[Row] = []
        for key in range(12 if is_keyed else 40):
            row: Row = {"id": key} if is_keyed else {}
            row |= {column: None if is_keyed and rng.random() < 0.2 else rng.randrange(12) for column in refers}
            rows.append(row | {"kind": rng.choice(TEXTS if is_keyed else TEXTS[:3])})
        tables[name] = Made(is_keyed, refers, rows)
    return tables


@pytest.mark.parametrize("engine", ENGINES)
def test_facts_rows_and_counts_are_those_of_a_loop_over_the_rows(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest, count: Callable[[int, int], int]
) -> None:
    filled = open_filled(engine, tmp_path, request)
    for seed in range(count(3 if engine in ("sqlite", "duckdb") else 1, 100)):
        rng = random.Random(seed)
        tables = made(rng)
        filled.run(*(statement for name, table in tables.items() for statement in table.creation(name)))
        check(filled, tables, rng.choice(("skip", "value")))
        filled.run(*(f"DROP TABLE {quoted(name)}" for name in reversed(tables)))


def check(filled: Filled, tables: dict[str, Made], null: str) -> None:
    imported = read(filled.to, null=null)

    def entity(name: str, column: str, row: Row) -> str | None:
        value = "NULL" if row[column] is None and null == "value" else row[column]
        return None if value is None else f"{tables[name].type_of(name, column)}:{value}"

    expected, relations = set(), {relation.name: relation.roles or () for relation in imported.split.schema}
    for relation, roles in relations.items():
        (name,) = (each for each in tables if relation == each or relation.startswith(f"{each}."))
        facts = (tuple(entity(name, role, row) for role in roles) for row in tables[name].rows)
        expected |= {(relation, *fact) for fact in facts if None not in fact}
    assert all_facts(imported) == expected
    records = {record.table: record for record in imported.tables}
    for name, table in tables.items():
        if table.is_keyed:
            assert {f"{name}.{column}" for column in table.refers} <= set(relations)
            assert all(relations[f"{name}.{column}"] == ("id", column) for column in table.refers)
        else:
            assert set(table.refers) <= set(relations[name])
            record = records[name]
            assert (record.incomplete, record.rows) == (0, record.repeated + record.facts)
        kept = rows_of(imported.split, name)
        held = [{column: entity(name, column, row) for column in kept[0]} for row in table.rows]
        assert sorted(map(repr, kept)) == sorted(map(repr, held))
        assert records[name].rows == len(table.rows)
        if records[name].shape:
            assert records[name].gaps == sum(list(row.values()).count(None) for row in held)
