"""Small tables for tests of imports, and what an import holds as plain Python."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from relatum.data.hypergraph import Split
from relatum.data.row_store import RowStore
from relatum.tables import Imported
from relatum.tables.engine import Workspace
from relatum.tables.open import open_sources
from relatum.tables.options import ImportOptions
from relatum.tables.source import SourceTable
from relatum.tables.table import Value

# Texts that a copy of a table could spoil: empty, blank, like a NULL, quoted, broken over lines, from many scripts.
ODD_TEXTS = [None, "", " ", "NULL", "\\N", "\\.", "a\tb", "a\nb", "a\r\nb"]
ODD_TEXTS += ['say "hi"', '"', ",", "\\", "'", "é", "日本 😀", "\ufeff"]


def sqlite_of(path: Path, script: str, **rows: Sequence[Sequence[object]]) -> Path:
    """Make a SQLite database by a script, put rows into its tables, and return its path."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(script)
        for table, content in rows.items():
            marks = ", ".join("?" * len(content[0]))
            connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', content)  # noqa: S608
    return path


def ask_sqlite(path: Path | str, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query on a SQLite database, or none after changing it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(sql).fetchall()


def csv_of(path: Path, heads: Iterable[str], rows: Iterable[Iterable[object]]) -> Path:
    """Make a CSV file of values that need no quotes; None is an empty field."""
    lines = [heads, *(["" if value is None else str(value) for value in row] for row in rows)]
    path.write_text("".join(",".join(line) + "\n" for line in lines), encoding="utf-8")
    return path


def all_facts(imported: Imported) -> set[tuple[str, ...]]:
    """Return the facts of all parts; none is in two."""
    parts = [set(graph) for graph in imported.split.parts.values()]
    assert sum(map(len, parts)) == len(set.union(*parts))
    return set.union(*parts)


def relations(imported: Imported) -> list[str]:
    """Return the relations as text, with their roles."""
    return [str(relation) for relation in imported.split.schema]


def store_of(split: Split) -> RowStore:
    """Return the rows that an import kept."""
    assert split.rows is not None
    return split.rows


def rows_of(split: Split, table: str) -> list[dict[str, str | None]]:
    """Return the rows of a table that an import kept, as the names of entities by column; None is a gap."""
    store = store_of(split)
    kept = store[table]
    heads = [column.name for column in kept.schema.columns]
    return [
        dict(zip(heads, (store.names[cell] if cell >= 0 else None for cell in row), strict=True))
        for row in kept.cells.T.tolist()
    ]


def tables_of(given: object, **options: bool) -> dict[str, SourceTable]:
    """Return what a source tells of its tables, by name."""
    with Workspace() as workspace, open_sources(given, workspace, ImportOptions(**options)) as found:
        return {name: table for name, (_, table) in found.items()}


def staged(given: object, name: str, *, views: bool = False) -> list[tuple[object, ...]]:
    """Return the readable columns of a table as they are in the workspace, sorted."""
    with Workspace() as workspace, open_sources(given, workspace, ImportOptions(views=views)) as found:
        source, table = found[name]
        columns = [column for column in table.columns if column.kind != "unreadable"]
        source.stage(table, columns, "seen")
        chosen = ", ".join(f"c{index}" for index in range(len(columns)))
        return workspace.rows(f"SELECT {chosen} FROM seen ORDER BY ALL")  # noqa: S608


def staged_texts(given: object, name: str) -> list[tuple[str | None, ...]]:
    """Return the rows of a table of a server as they come, as text; without columns there are as many."""
    with Workspace() as workspace, open_sources(given, workspace, ImportOptions()) as found:
        source, table = found[name]
        source.stage(table, table.columns, "seen")
        rows = workspace.rows("FROM seen_text")
        source.stage(table, (), "none")
        assert workspace.rows("FROM none_text") == [(None,)] * len(rows)
        return rows


class Acting(Sequence[Value]):
    """Values of a column; as the one at a place is taken something happens, once: Ctrl-C, or what another program does."""

    def __init__(self, values: Sequence[Value], act: Callable[[], object], at: int = 1) -> None:
        self._values, self._act, self._at = values, act, at

    def __getitem__(self, place: Any) -> Any:
        if place == self._at:
            self._at = -1
            self._act()
        return self._values[place]

    def __len__(self) -> int:
        return len(self._values)
