"""Cells of the rows of a table: found by what identifies their rows, and set in bulk, in any database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relatum.errors import DataError
from relatum.tables.engine import quoted
from relatum.tables.table import Database, Value


@dataclass(frozen=True, slots=True)
class RowCells:
    """Some cells of one row: what identifies the row, and for each column a value and the number of what it comes from."""

    table: str
    row: Mapping[str, Value]
    values: Mapping[str, Value]
    numbers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Matched:
    """Cells held against a table: the columns that passed a test, by row, and how many of the others failed it, and why.

    The rows of others are `missing`, or there are `several`.
    """

    passed: Mapping[int, list[str]]
    failed: int
    missing: int
    several: int


def stage_groups(database: Database, cells: Sequence[RowCells], prefix: str) -> list[RowGroup]:
    """Return the cells table by table, each in a temporary table whose name starts with `prefix`.

    The same columns identify all rows of one table: otherwise what is written to one row could make it look like another.
    Positions in `cells` number them.
    """
    members: dict[str, dict[int, RowCells]] = {}
    for number, each in enumerate(cells):
        members.setdefault(each.table, {})[number] = each
    for table, rows in members.items():
        if len(columns := {tuple(sorted(each.row)) for each in rows.values()}) > 1:
            one, other, *_ = (", ".join(names) for names in sorted(columns))
            raise DataError(
                "not-a-value",
                f"some changes name a row by {one}, others by {other}",
                place=f"table {table!r}",
                remedy="give all the same columns",
            )
    return [RowGroup(database, f"{prefix}_{index}", *each) for index, each in enumerate(members.items())]


class RowGroup:
    """Rows of one table that the same columns identify, in a temporary table beside it.

    In SQL `t` is the table and `g` the temporary one: a number n, keys k0, k1, ... and values v0, v1, ..., NULL for none.
    """

    def __init__(self, database: Database, name: str, table: str, members: Mapping[int, RowCells]) -> None:
        self._database, self._name, self.table, self.members = database, name, table, members
        self._keys = keys = tuple(next(iter(members.values())).row)
        self.columns = tuple(dict.fromkeys(column for each in members.values() for column in each.values))
        self._rows_of, self._given = database.rows_of(table), database.temporary(name)
        self._has_null = [any(each.row[key] is None for each in members.values()) for key in keys]
        chosen = [f"t.{quoted(key)} AS k{index}" for index, key in enumerate(keys)]
        chosen += [f"t.{quoted(column)} AS v{index}" for index, column in enumerate(self.columns)]
        # Joined from outside, columns can be NULL that cannot be in the table.
        query = (
            f"SELECT {database.whole} AS n, {', '.join(chosen)} "  # noqa: S608
            f"FROM (SELECT 1 AS one) AS o LEFT JOIN {self._rows_of} AS t ON 1 = 0 WHERE 1 = 0"
        )
        rows = (
            (number, *(each.row[key] for key in keys), *(each.values.get(column) for column in self.columns))
            for number, each in members.items()
        )
        database.stage(name, query, rows, [f"k{index}" for index in range(len(keys))])

    def match_empty(self) -> Matched:
        """Return which cells are NULL."""
        return self._match([f"t.{quoted(column)} IS NULL" for column in self.columns])

    def match_equal(self) -> Matched:
        """Return which cells have the value itself."""
        return self._match([self._is_equal(index) for index in range(len(self.columns))])

    def set_values(self, expected: int, column: str | None = None) -> None:
        """Set the cells that are NULL to their values, in as many rows as expected, each of which alone has its key.

        Of one column, those of the columns before it are set already; by default all columns are set at once.
        """
        at = None if column is None else self.columns.index(column)
        columns, done = (self.columns, ()) if at is None else (self.columns[at : at + 1], self.columns[:at])
        pairs = {one: (f"t.{quoted(one)}", f"g.v{self.columns.index(one)}") for one in columns}
        tests = [f"({old} IS NULL AND {new} IS NOT NULL)" for old, new in pairs.values()]
        self._update({one: f"coalesce({old}, {new})" for one, (old, new) in pairs.items()}, tests, expected, done)

    def set_null(self, expected: int) -> None:
        """Set the cells that have their values to NULL, in as many rows as expected, each of which alone has its key."""
        tests = [self._is_equal(index) for index in range(len(self.columns))]
        kept = [f"t.{quoted(column)}" for column in self.columns]
        values = [f"CASE WHEN {test} THEN NULL ELSE {old} END" for test, old in zip(tests, kept, strict=True)]
        self._update(dict(zip(self.columns, values, strict=True)), tests, expected)

    def read_back(self) -> dict[int, tuple[int, dict[str, tuple[str | None, str]]]]:
        """Return for each number how many rows it now has, and the text and type of each of its cells."""
        pairs = [self._database.stored(self.table, column) for column in self.columns]
        texts = [f"min({text}), min({kind})" for text, kind in pairs]
        found = self._database.ask(
            f"SELECT g.n, count(*), {', '.join(texts)} FROM {self._rows_of} AS t JOIN {self._given} AS g "  # noqa: S608
            f"ON {self._joined(self.columns)} GROUP BY g.n"
        )
        return {
            int(number): (int(count), dict(zip(self.columns, zip(rest[::2], rest[1::2], strict=True), strict=True)))
            for number, count, *rest in found
        }

    def _match(self, tests: Sequence[str]) -> Matched:
        """Return what was found; then rows that share a key are not among the given ones any more."""
        counts = "".join(f", count(CASE WHEN {test} THEN 1 END) AS c{index}" for index, test in enumerate(tests))
        rows = self._database.ask(
            f"SELECT g.n AS n, count(*) AS found{counts} FROM {self._rows_of} AS t JOIN {self._given} AS g "  # noqa: S608
            f"ON {self._joined()} GROUP BY g.n"
        )
        found = {int(number): (int(count), dict(zip(self.columns, fits, strict=True))) for number, count, *fits in rows}
        passed, shared = {}, []
        failed = missing = several = 0
        for number, each in self.members.items():
            count, fits = found.get(number, (0, {}))
            if count == 0:
                missing += len(each.values)
            elif count > 1:
                several += len(each.values)
                shared.append((number,))
            else:
                columns = [column for column in each.values if fits[column]]
                failed += len(each.values) - len(columns)
                if columns:
                    passed[number] = columns
        if shared:
            name = f"{self._name}_several"
            empty = f"SELECT {self._database.whole} AS n FROM {self._given} AS g WHERE 1 = 0"  # noqa: S608
            self._database.stage(name, empty, shared, ["n"])
            chosen = f"SELECT n FROM {self._database.temporary(name)}"  # noqa: S608
            self._database.execute(f"DELETE FROM {self._given} WHERE n IN ({chosen})")  # noqa: S608
        return Matched(passed, failed, missing, several)

    def _update(self, settings: Mapping[str, str], tests: Sequence[str], expected: int, done: Sequence[str] = ()) -> None:
        """Change rows, or refuse it if another number of them than expected has changed."""
        sql = self._database.updating(self.table, self._given, self._joined(done), settings, " OR ".join(tests))
        if (changed := self._database.change(sql)) != expected:
            raise self._database.refusal(
                "change-miscounted",
                f"table {self.table!r}: {expected} rows should have changed and {changed} have, so nothing is kept",
                "look for a trigger, rule or policy of the table",
            )

    def _joined(self, done: Sequence[str] = ()) -> str:
        """Return the test that a row is the one given; its key may hold cells that are set, where their columns are done."""
        tests = []
        for index, (key, has_null) in enumerate(zip(self._keys, self._has_null, strict=True)):
            value = f"g.k{index}"
            if has_null and key in done:
                value = f"coalesce({value}, g.v{self.columns.index(key)})"
            tests.append(self._database.same(f"t.{quoted(key)}", value) if has_null else f"t.{quoted(key)} = {value}")
        return " AND ".join(tests)

    def _is_equal(self, index: int) -> str:
        new = f"g.v{index}"
        old = f"t.{quoted(self.columns[index])}"
        return f"({new} IS NOT NULL AND {self._database.identical(old, new)})"
