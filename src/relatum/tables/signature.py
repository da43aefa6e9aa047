"""Telling databases from other files by their first bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

__all__ = ["database_in"]


def database_in(path: Path) -> Literal["sqlite", "duckdb"] | None:
    """Return what kind of database a file is, or None if it is none."""
    with path.open("rb") as file:
        start = file.read(16)
    if start.startswith(b"SQLite format 3\0"):
        return "sqlite"
    return "duckdb" if start[8:12] == b"DUCK" else None
