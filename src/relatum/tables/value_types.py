"""Types of databases as those that values are kept as, which are DuckDB's, and back.

A column also keeps its source's own word for its type: what goes back to a database of the same kind is of that type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Database = Literal["sqlite", "duckdb", "postgresql", "mysql", "parquet"]

ANY_DECIMAL = "DECIMAL"  # a decimal number of any digits: its values say of which

_POSTGRES = {
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "oid": "UINTEGER",
    "numeric": ANY_DECIMAL,
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "time without time zone": "TIME",
    "time with time zone": "TIME WITH TIME ZONE",
    "timestamp without time zone": "TIMESTAMP",
    "timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
    "interval": "INTERVAL",
    "uuid": "UUID",
}
_POSTGRES_TEXTS = (
    "bit",
    "bit varying",
    "text",
    "character varying",
    "character",
    "money",
    "inet",
    "cidr",
    "macaddr",
    "name",
)
_MYSQL = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "mediumint": "INTEGER",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "decimal": ANY_DECIMAL,
    "float": "FLOAT",
    "double": "DOUBLE",
    "bit": "UBIGINT",
    "year": "SMALLINT",
    "date": "DATE",
    "time": "TIME",
    "datetime": "TIMESTAMP",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "uuid": "UUID",
}
_MYSQL_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "inet4", "inet6")
# Words of SQLite that begin something else than a type where a column is declared.
_NO_TYPES = {
    "as",
    "check",
    "collate",
    "constraint",
    "default",
    "generated",
    "not",
    "null",
    "primary",
    "references",
    "unique",
}

_DIGITS = re.compile(r"\(([0-9]+)(?:, ?([0-9]+))?\)")
_DECIMAL = re.compile(r"DECIMAL\(([0-9]+),([0-9]+)\)")
_SQLITE_DIGITS, _MYSQL_SCALE = 15, 30  # of a decimal that SQLite, which has floats, and MySQL keep


def own_type(database: Database, declared: str) -> str | None:
    """Return a database's own word for a type as columns keep it; None where it cannot be said again."""
    word = declared.lower()
    if database == "sqlite" and word and not _is_own(database, word):
        word = affinity(word)
    return f"{database} {word}" if _is_own(database, word) else None


def value_type(database: Database, declared: str) -> str | None:
    """Return the type that values of a declared one are kept as; None where only they can tell."""
    word = declared.lower()
    base, known = _base(word), _POSTGRES if database == "postgresql" else _MYSQL
    if base not in known:
        return "VARCHAR" if base in (*_POSTGRES_TEXTS, *_MYSQL_TEXTS) else None
    found, digits = known[base], _DIGITS.search(word)
    if found == ANY_DECIMAL and digits is not None and int(digits[1]) <= 38:
        return f"DECIMAL({digits[1]},{digits[2] or 0})" if int(digits[2] or 0) <= int(digits[1]) else ANY_DECIMAL
    return f"U{found}" if "unsigned" in word and found in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT") else found


def declared_type(database: Database, kept: str, own: str | None) -> str:
    """Return the type of a new column of a database for values of a kept type, by their source's own word if it fits."""
    if own is not None:
        source, _, word = own.partition(" ")
        if source == database and _is_own(database, word):
            return word
    decimal = _DECIMAL.fullmatch(kept)
    if decimal is not None and database in ("sqlite", "mysql"):
        fits = int(decimal[1]) <= _SQLITE_DIGITS if database == "sqlite" else int(decimal[2]) <= _MYSQL_SCALE
        return kept if fits else _TEXT[database]
    if kept.startswith("ENUM("):
        return kept if database == "duckdb" else _TEXT[database]
    return _NEW[database].get(kept, kept)


def _is_own(database: Database, word: str) -> bool:
    """Return whether a text is a type that a database has, and nothing else: it stands in SQL."""
    if database == "sqlite":
        words = re.fullmatch(r"[a-z][a-z0-9_ ]{0,60}(\([0-9]{1,5}(, ?[0-9]{1,5})?\))?", word)
        return words is not None and not set(_NO_TYPES) & set(word.partition("(")[0].split())
    if database == "postgresql":
        return re.fullmatch(r"[a-z ]+(\([0-9]{1,4}(,[0-9]{1,4})?\))?[a-z ]*", word) is not None and (
            _base(word) in (*_POSTGRES, *_POSTGRES_TEXTS)
        )
    if database == "mysql":
        plain = re.fullmatch(r"[a-z0-9]+(\([0-9]{1,5}(,[0-9]{1,3})?\))?( unsigned)?( zerofill)?", word) is not None
        listed = re.fullmatch(r"(enum|set)\('([^'\\\0]|'')*'(,'([^'\\\0]|'')*')*\)", word) is not None
        return listed or (plain and _base(word) in (*_MYSQL, *_MYSQL_TEXTS) and not word.startswith(("enum", "set")))
    return False


def _base(word: str) -> str:
    """Return a declared type without its numbers: `timestamp without time zone` for `timestamp(3) without time zone`."""
    before, _, after = word.partition("(")
    return " ".join(f"{before} {after.rpartition(')')[2]}".replace("unsigned", "").replace("zerofill", "").split())


def affinity(declared: str) -> Literal["integer", "text", "blob", "real", "numeric"]:
    """Return what SQLite turns values into that are put into a column, by its rules on the word for its type."""
    word = declared.upper()
    if "INT" in word:
        return "integer"
    if any(part in word for part in ("CHAR", "CLOB", "TEXT")):
        return "text"
    if "BLOB" in word or not word:
        return "blob"
    return "real" if any(part in word for part in ("REAL", "FLOA", "DOUB")) else "numeric"


_TEXT: Mapping[Database, str] = {"sqlite": "TEXT", "postgresql": "TEXT", "mysql": "LONGTEXT", "parquet": "VARCHAR"}
_AS_TEXT = ("VARCHAR", "UUID", "INTERVAL", "BIT", "TIME WITH TIME ZONE", "TIME_NS")
# What a new column is where that is not the type that values are kept as.
_NEW: Mapping[Database, Mapping[str, str]] = {
    "duckdb": {},
    "parquet": {
        **dict.fromkeys(_AS_TEXT[2:], "VARCHAR"),
        **dict.fromkeys(("HUGEINT", "UHUGEINT"), "DECIMAL(38,0)"),
        **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS"), "TIMESTAMP"),
    },
    "sqlite": {
        **dict.fromkeys((*_AS_TEXT, "UBIGINT", "HUGEINT", "UHUGEINT"), "TEXT"),
        **dict.fromkeys(("TINYINT", "SMALLINT", "UTINYINT", "USMALLINT", "UINTEGER"), "INTEGER"),
        **dict.fromkeys(("FLOAT", "DOUBLE"), "REAL"),
        **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "TIMESTAMP"),
    },
    "postgresql": {
        "VARCHAR": "TEXT",
        "TINYINT": "SMALLINT",
        "UTINYINT": "SMALLINT",
        "USMALLINT": "INTEGER",
        "UINTEGER": "BIGINT",
        "UBIGINT": "NUMERIC(20,0)",
        **dict.fromkeys(("HUGEINT", "UHUGEINT"), "NUMERIC(39,0)"),
        "FLOAT": "REAL",
        "DOUBLE": "DOUBLE PRECISION",
        **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS"), "TIMESTAMP"),
        **dict.fromkeys(("TIMESTAMP_NS", "TIME_NS"), "TEXT"),
        "BIT": "BIT VARYING",
    },
    "mysql": {
        **dict.fromkeys((*_AS_TEXT, "TIMESTAMP_NS"), "LONGTEXT"),
        "UUID": "CHAR(36)",
        "UTINYINT": "TINYINT UNSIGNED",
        "USMALLINT": "SMALLINT UNSIGNED",
        "UINTEGER": "INTEGER UNSIGNED",
        "UBIGINT": "BIGINT UNSIGNED",
        **dict.fromkeys(("HUGEINT", "UHUGEINT"), "DECIMAL(39,0)"),
        "DATE": "DATE",
        "TIME": "TIME(6)",
        **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE"), "DATETIME(6)"),
    },
}
