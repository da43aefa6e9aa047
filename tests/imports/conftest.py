"""What the tests of imports share: a PostgreSQL server of their own."""

from __future__ import annotations

from postgres_server import database, postgres

__all__ = ["database", "postgres"]
