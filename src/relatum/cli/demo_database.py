"""The database of the demo: the countries of the world, with some cells and a row taken out, and one cell spoiled."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib import resources
from pathlib import Path

from relatum.files import atomic_file

__all__ = ["CHANGES", "true_value", "write_demo_database"]

# What the demo does to the database before relatum sees it, and says that it does.
CHANGES = (
    "UPDATE countries SET continent = NULL WHERE name = 'Kenya';",
    "UPDATE countries SET region = NULL WHERE name = 'Sweden';",
    "UPDATE countries SET currency = NULL WHERE name IN ('Austria', 'Ecuador', 'Senegal');",
    "UPDATE countries SET drives_on = NULL WHERE name IN ('New Zealand', 'Peru');",
    "UPDATE members SET joined = NULL\n  WHERE country = 'Estonia' AND organisation = 'European Union';",
    "DELETE FROM borders WHERE country = 'France' AND neighbour = 'Germany';",
    "UPDATE countries SET region = 'Western Africa' WHERE name = 'Vietnam';",
)


def write_demo_database(path: Path, *, changed: bool = True) -> None:
    """Write the countries of the world as a new SQLite file: with the changes of the demo, or as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(_database(changed=changed)) as database, atomic_file(path) as file:
        file.write(database.serialize())


def true_value(table: str, column: str, row: dict[str, object]) -> str:
    """Return what a cell of the row with this key holds before the changes, as text."""
    key = " AND ".join(f'"{name}" = ?' for name in row)
    with closing(_database(changed=False)) as database:
        found = database.execute(f'SELECT "{column}" FROM "{table}" WHERE {key}', tuple(row.values()))  # noqa: S608
        return str(found.fetchone()[0])


def _database(*, changed: bool) -> sqlite3.Connection:
    """Return the database in memory."""
    database = sqlite3.connect(":memory:")
    text = resources.files("relatum.cli").joinpath("world.sql").read_text(encoding="utf-8")
    database.executescript("\n".join((text, *(CHANGES if changed else ()))))
    database.commit()
    return database
