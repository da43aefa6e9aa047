"""Random SQL of the grammar that relatum reads, over the relations of a schema, and these as tables of DuckDB."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb

from relatum import Hypergraph, RelationSchema, Schema
from relatum.sql.catalog import Catalog, columns_of
from relatum.sql.parse import Statement, parse_sql
from relatum.sql.scan import SqlError

NAMES = ["a", "b", "c", "d"]
ENTITIES = ["alex", "it's", "a b", 'say "hi"', "ü", "7", "back\\slash", "select", "--", "%"]


def random_sql_schema(rng: random.Random) -> Schema:
    """Return three to five relations of arity 1 to 4, most of them with roles, many of which they share."""
    return Schema(_relation(rng, f"r{number}") for number in range(rng.randint(3, 5)))


def _relation(rng: random.Random, name: str) -> RelationSchema:
    arity = rng.choice([1, 2, 2, 2, 3, 3, 4])
    return RelationSchema(name, arity, tuple(rng.sample(NAMES, arity)) if rng.random() < 0.75 else None)


def random_sql_graph(rng: random.Random, schema: Schema, entities: Sequence[str]) -> Hypergraph:
    """Return enough facts over few entities that most queries have rows, and some relations without any."""
    facts = [("all", name) for name in entities]
    for relation in schema:
        count = rng.choice([0, 2, 8, 16, 16])
        facts += [(relation.name, *rng.choices(entities, k=relation.arity)) for _ in range(count)]
    return Hypergraph.of(facts, [*schema, RelationSchema("all", 1)])


def as_duckdb(graph: Hypergraph) -> duckdb.DuckDBPyConnection:
    """Return a database with a table for each relation."""
    connection = duckdb.connect(config={"threads": 1})
    for relation in graph.schema:
        columns = ", ".join(f'"{column}" VARCHAR' for column in columns_of(relation))
        connection.execute(f'CREATE TABLE "{relation.name}" ({columns})')
        rows = [list(row) for row in graph.table(relation.name)]
        if rows:
            connection.executemany(f'INSERT INTO "{relation.name}" VALUES ({", ".join("?" * relation.arity)})', rows)  # noqa: S608
    return connection


@dataclass
class Listed:
    """A table of FROM: its alias and columns."""

    alias: str
    columns: Sequence[str]
    hidden: set[str] = field(default_factory=set)


class RandomSql:
    """Writes random queries; each alias is used once."""

    def __init__(self, rng: random.Random, schema: Schema, entities: Sequence[str]) -> None:
        self._rng, self._entities, self._number = rng, entities, 0
        self._tables: dict[str, Sequence[str]] = {one.name: columns_of(one) for one in schema}
        self._steps = 0

    def statement(self) -> str:
        """Return a whole query, with or without WITH."""
        named = []
        for _ in range(self._rng.choice([0, 0, 0, 1, 2])):
            name = self._fresh("w")
            text, columns = self._query(1, [], None)
            named.append(f"{name} AS ({text})")
            self._tables = {**self._tables, name: columns}
        text, _ = self._query(2, [], None)
        return f"WITH {', '.join(named)} {text}" if named else text

    def _fresh(self, letter: str) -> str:
        self._number += 1
        return f"{letter}{self._number}"

    def _query(self, depth: int, outer: list[list[Listed]], arity: int | None) -> tuple[str, Sequence[str]]:
        rng = self._rng
        if depth and rng.random() < 0.25:
            width = arity or rng.choice([1, 1, 2])
            left, columns = self._query(depth - 1, outer, width)
            right, _ = self._query(depth - 1, outer, width)
            left, right = (
                f"({one})" if " UNION " in one or " EXCEPT " in one or " INTERSECT " in one else one for one in (left, right)
            )
            return f"{left} {rng.choice(['UNION', 'EXCEPT', 'INTERSECT'])} {right}", columns
        return self._select(depth, outer, arity)

    def _select(self, depth: int, outer: list[list[Listed]], arity: int | None) -> tuple[str, Sequence[str]]:
        rng = self._rng
        here: list[Listed] = []
        group: list[Listed] = []
        text = ""
        for index in range(rng.choice([1, 1, 2, 2, 3]) if depth else rng.choice([1, 1, 2])):
            source, listed = self._source(depth, outer)
            how = rng.choice(["comma", "cross", "on", "on", "using", "natural"]) if index else "first"
            shared = [
                name for name in listed.columns if sum(name in one.columns and name not in one.hidden for one in group) == 1
            ]
            common = [name for name in listed.columns if any(name in one.columns for one in group)]
            if how == "using" and shared:
                chosen = rng.sample(shared, rng.randint(1, len(shared)))
                text += f" JOIN {source} USING ({', '.join(map(_quoted, chosen))})"
                listed.hidden |= set(chosen)
            elif how == "natural" and common and common == shared:
                text += f" NATURAL JOIN {source}"
                listed.hidden |= set(common)
            elif how == "on":
                text += f" {rng.choice(['JOIN', 'INNER JOIN'])} {source} ON {self._test([*here, listed], outer)}"
            elif how == "cross":
                text += f" CROSS JOIN {source}"
            else:
                text += f", {source}" if index else source
                group = []
            here.append(listed)
            group.append(listed)
        where = f" WHERE {self._condition(here, outer, depth, rng.choice([1, 1, 2, 3]))}" if rng.random() < 0.8 else ""
        items, columns = self._items(here, arity)
        return f"SELECT {rng.choice(['', 'DISTINCT '])}{items} FROM {text}{where}", columns  # noqa: S608

    def _source(self, depth: int, outer: list[list[Listed]]) -> tuple[str, Listed]:
        rng, alias = self._rng, self._fresh("t")
        if depth and rng.random() < 0.2:
            text, columns = self._query(depth - 1, [], None)
            return f"({text}) AS {alias}", Listed(alias, columns)
        name = rng.choice(list(self._tables))
        return f"{_quoted(name)} {rng.choice(['', 'AS '])}{alias}", Listed(alias, self._tables[name])

    def _items(self, here: list[Listed], arity: int | None) -> tuple[str, Sequence[str]]:
        rng = self._rng
        every = [(one, column) for one in here for column in one.columns]
        if arity is None and rng.random() < 0.1 and len({column for _, column in every}) == len(every):
            return "*", [column for _, column in every]
        count = arity or rng.randint(1, min(3, len(every)))
        if count > len(every):  # one more of the first table, under the name of another column, is not to be had
            raise _TooFew
        items, names = [], []
        for one, column in rng.sample(every, count):
            name = self._fresh("o") if rng.random() < 0.8 or column in names else column
            items.append(self._column(one, column, here) + (f" AS {name}" if name != column else ""))
            names.append(name)
        return ", ".join(items), names

    def _column(self, one: Listed, column: str, here: list[Listed]) -> str:
        alone = sum(column in other.columns for other in here) == 1
        return _quoted(column) if alone and self._rng.random() < 0.3 else f"{one.alias}.{_quoted(column)}"

    def _any(self, here: list[Listed], outer: list[list[Listed]]) -> str:
        tables = here if not outer or self._rng.random() < 0.6 else self._rng.choice(outer)
        one = self._rng.choice(tables)
        column = self._rng.choice(one.columns)
        return self._column(one, column, here) if tables is here else f"{one.alias}.{_quoted(column)}"

    def _constant(self) -> str:
        return "'" + self._rng.choice(self._entities).replace("'", "''") + "'"

    def _test(self, here: list[Listed], outer: list[list[Listed]]) -> str:
        rng = self._rng
        left, mark = self._any(here, []), rng.choice(["=", "=", "=", "<>", "!="])
        right = self._any(here, outer) if rng.random() < 0.65 else self._constant()
        return f"{left} {mark} {right}" if rng.random() < 0.8 else f"{right} {mark} {left}"

    def _condition(self, here: list[Listed], outer: list[list[Listed]], depth: int, size: int) -> str:
        rng = self._rng
        if size > 1:
            first = self._condition(here, outer, depth, size - 1)
            second = self._condition(here, outer, depth, rng.randint(1, size - 1))
            return rng.choice(
                [
                    f"{first} AND {second}",
                    f"({first} AND {second})",
                    f"({first} OR {second})",
                    f"NOT ({first} OR {second})",
                    f"NOT ({first} AND {second})",
                ]
            )
        choice = rng.random()
        if choice < 0.5 or not depth:
            if rng.random() < 0.2:
                listed = ", ".join(self._constant() for _ in range(rng.randint(1, 3)))
                return f"{self._any(here, outer)} {rng.choice(['IN', 'NOT IN'])} ({listed})"
            return rng.choice(["", "", "NOT "]) + self._test(here, outer)
        around = [*outer, here]
        if choice < 0.75:
            inner, _ = self._query(depth - 1, around, None)
            return f"{rng.choice(['', 'NOT '])}EXISTS ({inner})"
        width = rng.choice([1, 1, 1, 2])
        try:
            inner, _ = self._query(depth - 1, around if width == 1 else [], width)  # DuckDB has no others
        except _TooFew:
            return self._test(here, outer)
        row = ", ".join(self._any(here, outer) for _ in range(width))
        row = f"({row})" if width > 1 else row
        return f"{row} {rng.choice(['IN', 'NOT IN'])} ({inner})"


class _TooFew(Exception):  # noqa: N818
    """A SELECT whose tables have fewer columns than are needed; it is drawn again."""


def random_sql(rng: random.Random, schema: Schema, entities: Sequence[str]) -> str:
    """Return a random query."""
    while True:
        try:
            return RandomSql(rng, schema, entities).statement()
        except _TooFew:
            continue


def parsed_or_none(query: str, catalog: Catalog) -> Statement | None:
    """Return what a query is, or None if it is refused because it can have no row."""
    try:
        return parse_sql(query, catalog)
    except SqlError as error:
        if not error.reason.startswith("no row can be"):
            raise
        return None


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'
