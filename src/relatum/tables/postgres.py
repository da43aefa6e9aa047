"""PostgreSQL, read in one read-only snapshot and written in one transaction, through psycopg."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from relatum.data.row_store import TableReference
from relatum.extras import optional
from relatum.tables.engine import CsvRows, Workspace, literal, quoted
from relatum.tables.servers import PATIENCE, ServerSource, as_sentence, gathered, without_password
from relatum.tables.source import Kind, SourceColumn, SourceTable, other_keys, query_error, query_table, subquery
from relatum.tables.table import Column, Database, Table, Value, listed_columns, split_name, value_text

if TYPE_CHECKING:
    import psycopg

_USUAL = "public"

# Partitions are read through their parent. What an extension brings along is not the user's.
_TABLES = """
    SELECT c.oid, n.nspname, c.relname, c.relkind,
      has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AND c.relispopulated
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = ANY(%s) AND NOT c.relispartition AND c.relpersistence <> 't'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%%'
      AND (c.relkind IN ('r', 'p') OR NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
        WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'))
    ORDER BY n.nspname, c.relname"""
_BASE_TABLES = ["r", "p"]  # of their own rows, and partitioned
_VIEWS = ["v", "m", "f"]  # views are programs; so are, in effect, tables of other servers
_COLUMNS = """
    SELECT a.attrelid, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), t.typcategory, t.typname,
      a.attgenerated <> ''
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attrelid = ANY(%s) ORDER BY a.attrelid, a.attnum"""
_KEYS = """
    SELECT conrelid, contype, conkey, confrelid, confkey FROM pg_catalog.pg_constraint
    WHERE contype IN ('p', 'f') AND conrelid = ANY(%s) ORDER BY conrelid, conname"""
# A unique constraint has an index, too. Columns that an index only carries along come after those of its key.
_UNIQUE = """
    SELECT indrelid, (indkey::int2[])[0:indnkeyatts - 1] FROM pg_catalog.pg_index
    WHERE indisunique AND NOT indisprimary AND NOT indisexclusion AND indisvalid AND indpred IS NULL AND indexprs IS NULL
      AND indrelid = ANY(%s)"""

_QUERY_TYPES = "SELECT oid, format_type(oid, NULL), typcategory, typname FROM pg_catalog.pg_type WHERE oid = ANY(%s)"

_KIND_BY_CATEGORY: dict[str, Kind] = {"N": "unknown", "D": "unknown", **dict.fromkeys("BEIRSTV", "text")}


def _kind(category: str, base: str) -> Kind:
    """Return what kind of values a type holds, by its category and name."""
    return "text" if base == "uuid" else _KIND_BY_CATEGORY.get(category, "unreadable")


def _connect(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    import psycopg

    return psycopg.connect(url, connect_timeout=PATIENCE)


class PostgresSource(ServerSource):
    """One database; what is read is its state at one moment."""

    database = "postgresql"

    def __init__(self, workspace: Workspace, url: str, views: bool = False) -> None:
        with optional("psycopg", extra="postgres"):
            import psycopg
        super().__init__(workspace, without_password(url), (psycopg.Error, UnicodeError))
        self._wanted = _BASE_TABLES + _VIEWS if views else _BASE_TABLES
        try:
            self._connection = _connect(url)
            self._connection.read_only = True
            self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            self._connection.execute("SET LOCAL datestyle = 'ISO, YMD'")
            self._connection.execute("SET LOCAL timezone = 'UTC'")
            self._connection.execute("SET LOCAL intervalstyle = 'postgres'")
            self._connection.execute("SET LOCAL extra_float_digits = 1")
            # Otherwise a scan of a large table joins one that is under way, and rows come in another order each time.
            self._connection.execute("SET LOCAL synchronize_seqscans = off")
        except self._errors as error:
            raise as_sentence(self.location, error) from None

    def tables(self) -> list[SourceTable]:
        """Return the tables in the order of their names."""
        found = {row[0]: row[1:] for row in self._ask(_TABLES, self._wanted)}
        names = {number: table if schema == _USUAL else f"{schema}.{table}" for number, (schema, table, *_) in found.items()}
        for number, (schema, table, kind, _) in found.items():
            only = "ONLY " if kind == "r" else ""  # a table that others inherit from has its own rows alone
            self._sql_names[names[number]] = f"{only}{quoted(schema)}.{quoted(table)}"
        columns: dict[int, dict[int, SourceColumn]] = {number: {} for number in found}
        for number, position, name, declared, category, base, generated in self._ask(_COLUMNS, list(found)):
            columns[number][position] = SourceColumn(name, declared, _kind(category, base), is_generated=generated)
        keys: dict[int, tuple[str, ...]] = {}
        references: dict[int, list[TableReference]] = {}
        for number, kind, own, other, targets in self._ask(_KEYS, list(found)):
            mine = tuple(columns[number][position].name for position in own)
            if kind == "p":
                keys[number] = mine
            elif other in found:
                theirs = tuple(columns[other][position].name for position in targets)
                references.setdefault(number, []).append(TableReference(mine, names[other], theirs))
        unique: dict[int, list[tuple[str, ...]]] = {}
        for number, own in self._ask(_UNIQUE, list(found)):
            unique.setdefault(number, []).append(tuple(columns[number][position].name for position in own))
        return [
            SourceTable(
                name,
                tuple(columns[number].values()),
                keys.get(number, ()),
                tuple(references.get(number, ())),
                is_readable=found[number][-1],
                unique_keys=other_keys(unique.get(number, ()), keys.get(number, ())),
            )
            for number, name in names.items()
        ]

    def query(self, name: str, sql: str) -> SourceTable:
        """Return a query as one more table, which is read in the same snapshot."""
        import psycopg

        rows = subquery(sql)
        try:
            # Only what is prepared has to be one statement.
            found = self._connection.execute(f"SELECT * FROM {rows} AS query LIMIT 0".encode(), prepare=True).description  # noqa: S608
        except psycopg.Error as error:
            raise query_error(name, error.diag.message_primary or str(error)) from None
        types = {row[0]: row[1:] for row in self.rows(_QUERY_TYPES, [column.type_code for column in found or ()])}
        columns = []
        for column in found or ():
            declared, category, base = types[column.type_code]
            columns.append(SourceColumn(column.name, declared, _kind(category, base)))
        self._sql_names[name] = f"{rows} AS query"
        return query_table(name, columns)

    def text_of(self, column: SourceColumn) -> str:
        """Return the SQL for the text of a column's value."""
        return f"{quoted(column.name)}::text"

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query; every name in it is quoted, and without parameters a percent sign is one."""
        return self._connection.execute(sql.encode(), parameters or None).fetchall()

    def batches(self, sql: str) -> Iterator[CsvRows]:
        """Yield the rows of a query, all text, in batches; the server writes them as CSV."""
        statement = f"COPY ({sql}) TO STDOUT (FORMAT csv, FORCE_QUOTE *, ENCODING 'UTF8')"
        with self._connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            yield from gathered(CsvRows(row, 1, len(row)) for row in self._copied(copy))

    def _copied(self, copy: psycopg.Copy) -> Iterator[memoryview | bytes | bytearray]:
        """Yield each row of a copy. What has come is taken at once: the driver, which takes long, only waits for more."""
        import psycopg

        server = self._connection.pgconn
        while True:
            size, received = server.get_copy_data(1)
            if size < 0:
                break
            row = received if size else copy.read()
            if not row:
                return
            yield row
        for result in list(iter(server.get_result, None)):  # all of them, so that the driver finds the server idle
            if result.status != psycopg.pq.ExecStatus.COMMAND_OK:
                raise psycopg.errors.error_from_result(result)

    def is_lost(self) -> bool:
        """Return whether the connection broke."""
        return self._connection.broken

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


_LOCAL = {
    "datestyle": "ISO, YMD",
    "timezone": "UTC",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
}
_LONGEST = 63  # bytes of a name; the server cuts longer ones off without a word

_TYPES = """
    SELECT c.relkind, a.attname FROM pg_catalog.pg_class c
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.oid = pg_catalog.to_regclass(%s) ORDER BY a.attnum"""


@contextmanager
def open_postgres(url: str) -> Iterator[PostgresTarget]:
    """Yield the database at a URL, with a transaction under way."""
    with optional("psycopg", extra="postgres"):
        import psycopg
    location = without_password(url)
    try:
        with closing(_connect(url)) as connection:
            target = PostgresTarget(connection, location)
            target.set_forms()
            yield target
            # What was not committed is rolled back when the connection closes.
    except (psycopg.Error, UnicodeError) as error:
        raise as_sentence(location, error) from None


def _spelled(column: Column) -> Sequence[Value]:
    """Return values as the server reads them: years before the first are marked at the end."""
    if not column.type.startswith(("DATE", "TIMESTAMP")):
        return column.values
    return [
        f"{value.replace(' (BC)', '')} BC" if isinstance(value, str) and "(BC)" in value else value
        for value in column.values
    ]


class PostgresTarget(Database):
    """An open PostgreSQL database."""

    kind = "postgresql"
    type_of = "CAST(pg_typeof({}) AS TEXT)"

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]], location: str) -> None:
        self._connection, self.location = connection, location

    def set_forms(self) -> None:
        """Have values as text in one form until the transaction ends, both ways."""
        for setting, value in _LOCAL.items():
            self.execute(f"SET LOCAL {setting} = {literal(value)}")

    def sql_name(self, table: str) -> str:
        """Return the name in quotes, with its schema if it has one; else it is found as the server finds names."""
        names = [name for name in split_name(table, None) if name is not None]
        for name in names:
            self._check_length(name)
        return ".".join(map(quoted, names))

    def columns(self, table: str) -> list[str] | None:
        """Return the columns of a table."""
        found = self._connection.execute(_TYPES.encode(), (self.sql_name(table),)).fetchall()
        if found and found[0][0] not in ("r", "p"):
            raise self.refusal("view-not-table", f"{table!r} is not a table")
        return [str(name) for _, name in found if name is not None] if found else None

    def execute(self, sql: str) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run a statement; a percent sign in a name is one."""
        return self._connection.execute(sql.encode())

    def insert(self, table: Table) -> None:
        """Copy the rows; the server reads each value as the type of its column."""
        for name in table.names:
            self._check_length(name)
        sql = f"COPY {self.sql_name(table.name)} ({listed_columns(table)}) FROM STDIN"
        with self._connection.cursor() as cursor, cursor.copy(sql.encode()) as copy:
            for row in table.rows(_spelled):
                copy.write_row(row)

    def commit(self) -> None:
        """Make it last."""
        self._connection.commit()

    def rows_of(self, table: str) -> str:
        """Return the name in quotes; a table that others inherit from has its own rows alone, as they are read."""
        found = self._connection.execute(_TYPES.encode(), (self.sql_name(table),)).fetchone()
        return f"ONLY {self.sql_name(table)}" if found and found[0] == "r" else self.sql_name(table)

    def lock(self, tables: Sequence[str]) -> None:
        """Keep others from writing to these tables, not from reading them, and have values as text in one form."""
        self.set_forms()
        self.execute(f"SET LOCAL lock_timeout = '{PATIENCE}s'")
        for table in tables:
            self.execute(f"LOCK TABLE {self.rows_of(table)} IN SHARE ROW EXCLUSIVE MODE")

    def temporary(self, name: str) -> str:
        """Return the name of a temporary table."""
        return f"pg_temp.{quoted(name)}"

    def stage(self, name: str, query: str, rows: Iterable[tuple[Value, ...]], keys: Sequence[str]) -> None:
        """Make a temporary table that ends with the transaction; the server reads each value as the type of its column."""
        self.execute(f"CREATE TEMP TABLE {quoted(name)} ON COMMIT DROP AS {query}")
        with self._connection.cursor() as cursor, cursor.copy(f"COPY {self.temporary(name)} FROM STDIN".encode()) as copy:
            for row in rows:
                copy.write_row([value_text(value) for value in row])
        self.execute(f"ANALYZE {self.temporary(name)}")

    def same(self, left: str, right: str) -> str:
        """Return the test that two values are equal or both NULL; its first half, unlike the second, can be hashed."""
        texts = " = ".join(f"coalesce(CAST({value} AS TEXT), '')" for value in (left, right))
        return f"({texts} AND {super().same(left, right)})"

    def _check_length(self, name: str) -> None:
        if len(name.encode()) > _LONGEST:
            raise self.refusal("name-too-long", f"names have at most {_LONGEST} bytes there, and {name!r} has more")
