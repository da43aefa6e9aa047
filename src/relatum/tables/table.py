"""A plain table to write, and what every database that takes one can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from relatum.data.vocabulary import fault_of
from relatum.errors import DataError
from relatum.progress import progress
from relatum.tables import value_types
from relatum.tables.engine import quoted

Value = str | int | float | None

FORMS = ("whole", "number", "text")


@dataclass(frozen=True)
class Column:
    """A named column of values that are all `whole` numbers, all `number`s or all `text`; None is no value.

    What was stored as another type than these says so: values of it are text, or what Python has for them.
    """

    name: str
    form: str
    values: Sequence[Value]
    type: str = ""  # as which the values are kept, such as DECIMAL(5,2)
    own_type: str | None = None  # the word of the database that they came from for it

    def __post_init__(self) -> None:
        if fault := fault_of(self.name):
            raise DataError("unusable-name", fault, place="column")
        if self.form not in FORMS:
            raise DataError(
                "damaged-file", f"form {self.form!r} is not one of {', '.join(FORMS)}", place=f"column {self.name!r}"
            )


@dataclass(frozen=True)
class Table:
    """Columns of one length; `name` is what the table is called in a database, `relation` what its rows are facts of."""

    name: str
    columns: tuple[Column, ...]
    relation: str
    key: tuple[str, ...] = ()  # its primary key

    def __post_init__(self) -> None:
        if fault := fault_of(self.name):
            raise DataError("unusable-name", fault, place="table")
        seen: set[str] = set()
        for column in self.columns:
            if column.name.casefold() in seen:  # most databases do not tell them apart
                raise DataError(
                    "two-columns-one-name", f"two columns are called {column.name!r}", place=f"table {self.name!r}"
                )
            seen.add(column.name.casefold())
        if len({len(column.values) for column in self.columns}) != 1:
            raise DataError(
                "unequal-columns", "its columns are not equally long, or it has none", place=f"table {self.name!r}"
            )

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [column.name for column in self.columns]

    def rows(self, spelled: Callable[[Column], Sequence[Value]] | None = None) -> Iterator[tuple[Value, ...]]:
        """Yield its rows; `spelled` makes the values of a column what is written for them."""
        return zip(*(spelled(one) if spelled else one.values for one in self.columns), strict=True)

    def __len__(self) -> int:
        return len(self.columns[0].values)


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """Return a name that none of those taken is, but for case: the one wanted, if need be with underscores behind it."""
    names = {name.casefold() for name in taken}
    while wanted.casefold() in names:
        wanted += "_"
    return wanted


Mode = Literal["new", "append", "replace"]

_INDEXED = 191  # letters of a text that an index of MySQL takes whatever they are
_TYPES = {"whole": "BIGINT", "number": "DOUBLE PRECISION", "text": "TEXT"}  # known to SQL databases all over


class Database(ABC):
    """An open database with a transaction under way; what is not committed did not happen.

    Its rows can be changed as well. What methods for that take and return as values are expressions of SQL; in these `t` is
    a table and `g` a temporary one. Where engines agree, what is here is what they do.
    """

    location: str
    kind: value_types.Database
    whole = "CAST(0 AS BIGINT)"  # a number of the type for whole numbers
    type_of = "typeof({})"  # the type of a value, as text

    @abstractmethod
    def sql_name(self, table: str) -> str:
        """Return the name of a table as SQL has it, or refuse one that cannot be."""

    @abstractmethod
    def columns(self, table: str) -> list[str] | None:
        """Return the columns of a table, or None if nothing of that name is there; a view is refused."""

    @abstractmethod
    def execute(self, sql: str) -> Any:
        """Run a statement as it stands and return its cursor."""

    @abstractmethod
    def insert(self, table: Table) -> None:
        """Put the rows of a table into the one of its name."""

    @abstractmethod
    def commit(self) -> None:
        """End the transaction well."""

    @abstractmethod
    def temporary(self, name: str) -> str:
        """Return the name of a temporary table as SQL has it."""

    @abstractmethod
    def stage(self, name: str, query: str, rows: Iterable[tuple[Value, ...]], keys: Sequence[str]) -> None:
        """Make a temporary table of a query and add rows, as values of the types of its columns; `keys` will be joined."""

    def refusal(self, code: str, reason: str, remedy: str = "") -> DataError:
        """Return an error about this database."""
        return DataError(code, reason, place=self.location, remedy=remedy)

    def create(self, table: Table) -> None:
        """Make a table without rows; all that are wanted are made before any row is changed."""
        self.execute(f"CREATE TABLE {self.sql_name(table.name)} ({declared(table, self.kind)})")

    def create_log(self, table: Table) -> bool:
        """Make a table for the log; return whether the transaction is still under way, or was rolled back for that."""
        self.create(table)
        return True

    def rows_of(self, table: str) -> str:
        """Return a table as FROM and UPDATE have it."""
        return self.sql_name(table)

    def lock(self, tables: Sequence[str]) -> None:  # noqa: B027
        """Keep others from writing to these tables until the transaction ends; an open file is locked as it is."""

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return list(self.execute(sql).fetchall())

    def change(self, sql: str) -> int:
        """Run an UPDATE and return how many rows it has changed."""
        return int(self.execute(sql).rowcount)

    def same(self, left: str, right: str) -> str:
        """Return the test that two values of one type are equal or both NULL."""
        return f"{left} IS NOT DISTINCT FROM {right}"

    def identical(self, left: str, right: str) -> str:
        """Return the test that two values of one column are the same in all that can be seen of them."""
        return f"CAST({left} AS TEXT) = CAST({right} AS TEXT)"

    def stored(self, table: str, column: str) -> tuple[str, str]:
        """Return the values of a column of the table `t` as text that gives the same value again, and their type as text."""
        value = f"t.{quoted(column)}"
        return f"CAST({value} AS TEXT)", self.type_of.format(value)

    def updating(self, table: str, given: str, joined: str, settings: Mapping[str, str], test: str) -> str:
        """Return the UPDATE of a table `t` joined with a temporary one `g`: a value for each column, where a test holds."""
        listed = ", ".join(f"{quoted(column)} = {value}" for column, value in settings.items())
        return f"UPDATE {self.rows_of(table)} AS t SET {listed} FROM {given} AS g WHERE {joined} AND ({test})"  # noqa: S608

    def value(self, text: str, kind: str) -> Value:
        """Return what to hand to `stage` for the value that has a text and a type."""
        return text


class DatabaseTarget:
    """A database that tables are written to; `opened` begins a transaction that ends with the block."""

    is_database = True

    def __init__(self, opened: Callable[[], AbstractContextManager[Database]], location: str, mode: Mode) -> None:
        self._opened, self.location, self._mode = opened, location, mode

    def check(self, tables: Sequence[Table]) -> None:
        """Refuse what `write` would refuse, as far as that can be known before there are rows."""
        check_distinct(tables)
        with self._opened() as database:
            for table in tables:
                self._is_there(database, table)

    def write(self, tables: Sequence[Table]) -> None:
        """Write all tables, or none."""
        check_distinct(tables)
        with progress("writing", sum(map(len, tables))) as advance:
            self._put(tables, tables, advance)

    def write_parts(self, parts: Iterable[Table], tables: Sequence[Table] = ()) -> None:
        """Write a table, or several that are named, whose rows come part by part: all in one transaction, or none."""
        remaining = iter(parts)
        first = [] if tables else [next(remaining)]
        self._put(tables or first, chain(first, remaining), lambda _: None)

    def _put(self, tables: Sequence[Table], parts: Iterable[Table], advance: Callable[[int], None]) -> None:
        with self._opened() as database:
            self._prepare(database, tables)
            for part in parts:
                if len(part):
                    database.insert(part)
                advance(len(part))
            database.commit()

    def _prepare(self, database: Database, tables: Sequence[Table]) -> None:
        """Make the tables that are not there yet, and then empty those whose rows are to be replaced."""
        there = [table.name for table in tables if self._is_there(database, table)]
        for table in tables:
            if table.name not in there:
                database.create(table)
        for name in there:
            if self._mode == "replace":
                database.execute(f"DELETE FROM {database.sql_name(name)}")  # noqa: S608

    def _is_there(self, database: Database, table: Table) -> bool:
        """Return whether a table is there already, or refuse one that rows should not, or cannot, be put into."""
        database.sql_name(table.name)
        there = database.columns(table.name)
        if there is None:
            return False
        if self._mode == "new":
            raise DataError(
                "table-exists",
                f"table {table.name!r} already exists",
                place=self.location,
                remedy="set append to add rows, or replace to overwrite them",
            )
        mine, theirs = ({name.lower(): name for name in names} for names in (table.names, there))
        lacking = [name for key, name in mine.items() if key not in theirs]
        extra = [name for key, name in theirs.items() if key not in mine]
        if lacking or (extra and self._mode == "replace"):
            difference = f"lacks {', '.join(lacking)}" if lacking else f"has {', '.join(extra)} as well"
            raise DataError("table-differs", f"table {table.name!r} has other columns: it {difference}", place=self.location)
        return True


def check_distinct(tables: Sequence[Table]) -> None:
    """Refuse two tables of one name, but for case."""
    seen: dict[str, str] = {}
    for table in tables:
        if (other := seen.setdefault(table.name.casefold(), table.relation)) != table.relation:
            raise DataError(
                "tables-collide",
                f"{other!r} and {table.relation!r} would both be table {table.name!r}",
                remedy="write them one by one",
            )


def declared(table: Table, database: value_types.Database) -> str:
    """Return the columns of a table, and its key, as CREATE TABLE has them."""
    types = {**_TYPES, "text": "LONGTEXT"} if database == "mysql" else _TYPES
    columns = []
    for one in table.columns:
        word = value_types.declared_type(database, one.type, one.own_type) if one.type else types[one.form]
        if database == "mysql" and one.name in table.key and word.endswith("TEXT"):
            word = f"VARCHAR({_INDEXED})"  # a key holds no text of any length
        columns.append(f"{quoted(one.name)} {word}")
    key = [f"PRIMARY KEY ({', '.join(map(quoted, table.key))})"] if table.key else []
    return ", ".join(columns + key)


def listed_columns(table: Table) -> str:
    """Return the columns of a table as INSERT has them."""
    return ", ".join(map(quoted, table.names))


def split_name(table: str, usual: str | None) -> tuple[str | None, str]:
    """Return the schema and the name of a table that is called `schema.table` or, in the usual schema, `table`."""
    schema, dot, name = table.partition(".")
    if dot and not (schema and name):
        raise DataError("bad-option-form", "write TABLE or SCHEMA.TABLE", place=f"table {table!r}")
    return (schema, name) if dot else (usual, table)


_EXACT = 1 << 53  # up to here every whole number is a float of its own


def value_text(value: Value) -> str | None:
    """Return a value as the text that a database reads as any type; a whole number has no fraction, whatever holds it."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return str(int(value))
    return None if value is None else str(value)
