"""What a file or URL holds, by its first bytes before its name; so that tables are not taken for facts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from relatum.closed_folders import open_file
from relatum.errors import DataError

_BY_ENDING = {
    ".csv": "a table of comma-separated values",
    ".xlsx": "an Excel workbook",
    ".jsonl": "a file of JSON lines",
    ".ndjson": "a file of JSON lines",
}
_START = 1 << 16  # bytes in which a line of facts would have a tab


def database_in(path: Path) -> Literal["sqlite", "duckdb"] | None:
    """Return what kind of database a file is, or None if it is none."""
    with open_file(path) as file:
        start = file.read(16)
    if start.startswith(b"SQLite format 3\0"):
        return "sqlite"
    return "duckdb" if start[8:12] == b"DUCK" else None


def is_parquet(path: Path) -> bool:
    """Return whether a file is a Parquet file."""
    with open_file(path) as file:
        return file.read(4) == b"PAR1"


def is_postgres(source: str) -> bool:
    """Return whether a text is the URL of a PostgreSQL database."""
    return source.startswith(("postgresql://", "postgres://"))


def is_mysql(source: str) -> bool:
    """Return whether a text is the URL of a MySQL or MariaDB database."""
    return source.startswith(("mysql://", "mariadb://"))


def is_server(source: str) -> bool:
    """Return whether a text is the URL of a database on a server, which may hold a password."""
    return is_postgres(source) or is_mysql(source)


def holds_tables(source: str | os.PathLike[str]) -> bool:
    """Return whether a path or URL is of a database or a file of tables, and not of facts in relatum's own format."""
    if isinstance(source, str) and "://" in source:
        return True
    path = Path(source)
    return path.is_file() and _tables_in(path) is not None


def refuse_tables(source: str | os.PathLike[str]) -> None:
    """Refuse a file or URL that holds tables and no facts, with the call that reads it."""
    if isinstance(source, str) and is_server(source):
        name = "PostgreSQL" if is_postgres(source) else "MySQL"
        raise DataError(
            "not-facts", f"this is the URL of a {name} database: read it with relatum.read(URL), or pass it to relatum.fit"
        )
    path = Path(source)
    found = _tables_in(path) if path.is_file() else None
    if found is not None:
        raise DataError(
            "not-facts", f'{source} is {found}: read it with relatum.read("{source}"), or pass it to relatum.fit'
        )


def _tables_in(path: Path) -> str | None:
    if database := database_in(path):
        return "a SQLite database" if database == "sqlite" else "a DuckDB database"
    if is_parquet(path):
        return "a Parquet file"
    unpacked = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    with open_file(path) as file:
        first = file.read(_START).partition(b"\n")[0]
    # Facts may be in a file of any name, and have tabs; what is packed is told by its name alone.
    return _BY_ENDING.get(unpacked.suffix.lower()) if unpacked != path or b"\t" not in first else None
