"""Random SQL over typed tables, and these in DuckDB, loaded by no code of ours: the truth about stored rows."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

NUMBERS = ("BIGINT", "INTEGER", "SMALLINT", "DOUBLE", "FLOAT", "DECIMAL")


def truth_of(tables: Mapping[str, tuple[Mapping[str, str], Iterable[Sequence[Any]]]]) -> duckdb.DuckDBPyConnection:
    """Return a database of tables, each given by the types of its columns and its rows."""
    connection = duckdb.connect(config={"threads": 1})
    for name, (types, rows) in tables.items():
        connection.execute(f'CREATE TABLE "{name}" ({", ".join(f"{column} {kind}" for column, kind in types.items())})')
        connection.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(types))})', [list(row) for row in rows])  # noqa: S608
    return connection


@dataclass(frozen=True)
class Typed:
    """A column of a table under an alias: its type, and some of its values as SQL writes them."""

    text: str
    kind: str
    values: Sequence[str]

    @property
    def is_number(self) -> bool:
        """Whether arithmetic takes it."""
        return self.kind.startswith(NUMBERS)


class RandomStoredSql:
    """Writes random queries of stored rows: `joins` are pairs of tables with the columns that they share."""

    def __init__(
        self, rng: random.Random, truth: duckdb.DuckDBPyConnection, joins: Sequence[tuple[str, str, str, str]]
    ) -> None:
        self._rng, self._joins = rng, joins
        self._columns: dict[str, list[tuple[str, str, list[str]]]] = {}
        for (name,) in truth.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall():
            for column, kind, *_ in truth.execute(f'DESCRIBE "{name}"').fetchall():
                query = f'SELECT DISTINCT CAST("{column}" AS VARCHAR) AS v FROM "{name}" ORDER BY v LIMIT 40'  # noqa: S608
                values = [row[0] for row in truth.execute(query).fetchall() if row[0] is not None]
                plain = kind.startswith(NUMBERS) or kind == "BOOLEAN"
                listed = [value if plain else "'" + value.replace("'", "''") + "'" for value in values]
                self._columns.setdefault(name, []).append((column, kind, listed or ["NULL"]))

    def query(self) -> tuple[str, bool]:
        """Return a query, and whether its rows have one order."""
        rng = self._rng
        columns, source = self._from()
        shown = rng.sample(columns, rng.randint(1, min(3, len(columns))))
        items = [one.text for one in shown]
        if rng.random() < 0.2 and (numbers := [one for one in columns if one.is_number]):
            items.append(f"{rng.choice(numbers).text} {rng.choice(('+', '-', '*'))} {rng.randint(2, 9)} AS worked_out")
        distinct = "DISTINCT " if rng.random() < 0.3 else ""
        query = f"SELECT {distinct}{', '.join(items)} FROM {source} WHERE {self._condition(columns, 2)} AND known"  # noqa: S608
        if rng.random() < 0.5:
            keys = [f"{number}{rng.choice(('', ' DESC', ' ASC'))}" for number in range(1, len(items) + 1)]
            return f"{query} ORDER BY {', '.join(keys)}" + rng.choice(("", f" LIMIT {rng.randint(1, 9)}")), True
        return query, False

    def _from(self) -> tuple[list[Typed], str]:
        rng = self._rng
        if self._joins and rng.random() < 0.4:
            left, right, own, other = rng.choice(self._joins)
            way = rng.choice(("JOIN", "JOIN", "LEFT JOIN"))
            on = f"a.{own} = b.{other}"
            return self._of("a", left) + self._of("b", right), f'"{left}" AS a {way} "{right}" AS b ON {on}'
        name = rng.choice(list(self._columns))
        return self._of("a", name), f'"{name}" AS a'

    def _of(self, alias: str, table: str) -> list[Typed]:
        return [Typed(f"{alias}.{column}", kind, values) for column, kind, values in self._columns[table]]

    def _condition(self, columns: Sequence[Typed], depth: int) -> str:
        rng = self._rng
        if depth and rng.random() < 0.5:
            left, right = self._condition(columns, depth - 1), self._condition(columns, depth - 1)
            return f"({left} {rng.choice(('AND', 'OR'))} {right})"
        if depth and rng.random() < 0.15:
            return f"NOT ({self._condition(columns, depth - 1)})"
        one = rng.choice(columns)
        low, high = rng.choice(one.values), rng.choice(one.values)
        sign = rng.choice(("=", "<>", "<", "<=", ">", ">=", "!="))
        ways = [
            f"{one.text} {sign} {low}",
            f"{low} {sign} {one.text}",
            f"{one.text} {rng.choice(('', 'NOT '))}BETWEEN {low} AND {high}",
            f"{one.text} {rng.choice(('', 'NOT '))}IN ({low}, {high})",
            f"{one.text} IS {rng.choice(('', 'NOT '))}NULL",
        ]
        if one.kind == "VARCHAR":
            part = low.strip("'").replace("'", "''")[:2]
            ways += [f"{one.text} {rng.choice(('', 'NOT '))}LIKE '{rng.choice(('', '%', '_'))}{part}%'"] * 2
        if one.is_number:
            ways.append(f"{one.text} {rng.choice(('+', '-', '*'))} {rng.randint(1, 5)} {sign} {low}")
            others = [other for other in columns if other.is_number]
            ways.append(f"{one.text} {sign} {rng.choice(others).text}")
        return rng.choice(ways)
