"""The DuckDB database, in memory and locked down, in which tables are looked at and values are numbered."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from relatum.arrays import Int64
from relatum.errors import DataError
from relatum.extras import optional
from relatum.files import temporary_prefix
from relatum.memory import free, require_addresses
from relatum.progress import progress
from relatum.time_limit import check_time

if TYPE_CHECKING:
    import duckdb

Texts = Sequence[str | None] | Int64  # whole numbers stand for their texts, masked ones for none
Batch = Sequence[Texts]  # column by column
Found = TypeVar("Found")

BATCH = 1 << 16  # rows
_MOST_MEMORY = 2 << 30  # bytes; what does not fit goes to a temporary directory
_ROOM = 1 << 28  # bytes of addresses
_LONGEST_ROW = 2 << 20  # bytes of CSV, unless one is longer
_MOMENT = "TIMESTAMP WITH TIME ZONE"
_TICK = 0.2  # seconds between looks at how far a statement is

# Nothing in the input may make the library fetch or run code.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}
# The machine's time zone may leave no trace, and progress is shown by `relatum.progress`.
_SESSION = "SET TimeZone = 'UTC'"
# A view or a query may name a file of the machine, or a variable of Python, as if it were a table.
_CONFINED = "SET enable_external_access = false; SET python_enable_replacements = false; SET lock_configuration = true"
_PROGRESS = "SET enable_progress_bar = true; SET enable_progress_bar_print = false"


def quoted(name: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def listed(names: Iterable[str]) -> str:
    """Return columns as what follows SELECT, renamed to c0, c1, ...; a table always has one."""
    return ", ".join(f"{quoted(name)} AS c{index}" for index, name in enumerate(names)) or "NULL AS c0"


@dataclass(frozen=True, slots=True)
class CsvRows:
    """Rows of text as CSV in UTF-8: every value is in quotes, and where nothing is there is none."""

    text: bytes | bytearray | memoryview
    rows: int
    longest: int  # bytes of one row, at most

    def __len__(self) -> int:
        return self.rows


class WorkspaceError(DataError):
    """What DuckDB could not do; the text is the first line of its message, without the class of error before it."""

    def __init__(self, what: str, message: str) -> None:
        self.message = message
        line = message.partition("\n")[0]
        super().__init__("database-refused", line.partition(" Error: ")[2] or line, place=what)


def _in_utc(row: tuple[Any, ...], moments: Sequence[int]) -> tuple[Any, ...]:
    """Return a row whose moments at some places, which are those of UTC, say so."""
    return tuple(
        value.replace(tzinfo=UTC) if number in moments and isinstance(value, datetime) else value
        for number, value in enumerate(row)
    )


class Workspace:
    """A DuckDB connection for one import or export; its errors are one sentence, and long statements show progress.

    In every method `what` is what is being read or written: it is named by an error and by a progress bar.

    Attributes:
        null_text: the texts that stand for no value.
    """

    def __init__(self, doing: str = "reading", beside: Workspace | None = None) -> None:
        with optional("duckdb", extra="io"):
            import duckdb
        self._doing = doing
        self.null_text: tuple[str, ...] = ()
        self._error: type[Exception] = duckdb.Error
        self._folder: str | None = None
        self._connection: duckdb.DuckDBPyConnection
        if beside is not None:
            self._connection = beside._connection.cursor()
            return
        require_addresses(_ROOM)  # with less, DuckDB would end the process
        folder = self._folder = tempfile.mkdtemp(prefix=temporary_prefix())
        # Whoever keeps it for as long as it lives need not close it.
        self._removed = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        memory = max(min(free() // 2, _MOST_MEMORY), 1 << 28) >> 20
        settings = {**_SETTINGS, "temp_directory": folder, "memory_limit": f"{memory}MiB"}
        self._connection = duckdb.connect(":memory:", config=settings)
        self._connection.execute(_SESSION)
        # In a notebook DuckDB has progress only with a library of widgets, which need not be there.
        with suppress(duckdb.Error):
            self._connection.execute(_PROGRESS)

    def beside(self) -> Workspace:
        """Return another connection to the same database, with temporary views of its own."""
        return Workspace(self._doing, self)

    def confine(self) -> None:
        """Let statements reach nothing but what is in the database, from now on."""
        self.run(_CONFINED)

    def run(self, sql: str, what: str = "tables") -> None:
        """Run a statement."""
        self._do(lambda: self._connection.execute(sql), what)

    def rows(self, sql: str, what: str = "tables", parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._do(lambda: self._connection.execute(sql, parameters).fetchall(), what)

    def first(self, sql: str, most: int | None, what: str = "tables") -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return the columns of a query, and its first rows."""

        def found() -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
            cursor = self._connection.execute(sql)
            described = [(str(name), str(kind)) for name, kind, *_ in cursor.description or ()]
            moments = [number for number, (_, kind) in enumerate(described) if kind == _MOMENT]
            if moments:  # of which DuckDB makes values of Python only with a library of time zones
                columns = [f"c{number}" for number in range(len(described))]
                chosen = (f"{one} AT TIME ZONE 'UTC'" if at in moments else one for at, one in enumerate(columns))
                cursor = self._connection.execute(f"SELECT {', '.join(chosen)} FROM ({sql}) AS t({', '.join(columns)})")  # noqa: S608
            rows = cursor.fetchall() if most is None else cursor.fetchmany(most)
            return tuple(name for name, _ in described), [_in_utc(row, moments) for row in rows] if moments else rows

        return self._do(found, what)

    def one(self, sql: str, what: str = "tables", parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        """Return the only row of a query."""
        return self.rows(sql, what, parameters)[0]

    def batches(self, sql: str, what: str = "tables") -> Iterator[Batch]:
        """Yield the rows of a query in batches; no other statement may run meanwhile."""
        self.run(sql, what)
        while rows := self._guarded(lambda: self._connection.fetchmany(BATCH), what):
            yield list(zip(*rows, strict=True))

    def arrays(self, sql: str, what: str = "tables") -> dict[str, npt.NDArray[Any]]:
        """Return the columns of a query."""
        return self._do(lambda: self._connection.execute(sql).fetchnumpy(), what)

    def describe(self, query: str, what: str = "tables") -> list[tuple[str, str]]:
        """Return the columns of a query or table, each with its type."""
        return [(str(name), str(kind)) for name, kind, *_ in self.rows(f"DESCRIBE {query}", what)]

    def statement_types(self, sql: str, what: str) -> list[str]:
        """Return what each of the statements in a text is: `SELECT`, ..."""
        return self._guarded(lambda: [each.type.name for each in self._connection.extract_statements(sql)], what)

    def table_names(self, sql: str, what: str) -> set[str]:
        """Return the tables that a query names, with schemas as far as they are written, without quotes."""
        names = self._guarded(lambda: self._connection.get_table_names(sql, qualified=True), what)
        return {name.replace('"', "") for name in names}

    def fill(self, target: str, width: int, batches: Iterable[Batch | CsvRows], rows: int, what: str) -> None:
        """Make a table of text with the columns c0, c1, ... and put the batches, which have so many rows, into it."""
        declared = ", ".join(f"c{index} VARCHAR" for index in range(width))
        self.run(f"CREATE TABLE {target} ({declared})")
        with progress(f"reading {what}", rows) as advance:
            for batch in batches:
                self.append(target, batch, what)
                advance(len(batch) if isinstance(batch, CsvRows) else len(batch[0]))

    def append(self, target: str, batch: Batch | CsvRows, what: str) -> None:
        """Put a batch into a table of text."""
        if isinstance(batch, CsvRows):
            self._append_csv(target, batch, what)
            return
        arrays = {
            f"c{index}": column if isinstance(column, np.ndarray) else np.array(column, object)
            for index, column in enumerate(batch)
        }
        self.copy(arrays, f"INSERT INTO {target}", what)

    def _append_csv(self, target: str, batch: CsvRows, what: str) -> None:
        """Have DuckDB read rows from a file: of no value an object of Python is made."""
        path = Path(self._folder or "") / "rows.csv"
        path.write_bytes(batch.text)
        declared = ", ".join(f"'{name}': 'VARCHAR'" for name, _ in self.describe(target))
        sql = f"""INSERT INTO {target} FROM read_csv({literal(str(path))}, auto_detect = false, header = false,
            delim = ',', quote = '"', escape = '"', new_line = '\\n', nullstr = '', allow_quoted_nulls = false,
            columns = {{{declared}}}, strict_mode = true, max_line_size = {max(batch.longest, _LONGEST_ROW)},
            compression = 'none', hive_partitioning = false)"""
        self._guarded(lambda: self._connection.execute(sql), what)
        path.unlink()

    def copy(self, frame: object, into: str, what: str, chosen: str = "*") -> None:
        """Put the rows of a frame, or of arrays by name, or what is chosen of them, where the statement `into` says."""

        def register_and_copy() -> None:
            self._connection.register("given", frame)
            self._connection.execute(f"{into} SELECT {chosen} FROM given")  # noqa: S608
            self._connection.unregister("given")

        self._guarded(register_and_copy, what)

    def _do(self, statement: Callable[[], Found], what: str) -> Found:
        """Return what a statement gives; it runs in a thread of its own, so that one can see how far it is, and stop it."""
        with ThreadPoolExecutor(1) as thread, progress(f"{self._doing} {what}", 100) as advance:
            future = thread.submit(statement)
            reported = 0
            try:
                while not wait([future], _TICK).done:
                    check_time()
                    now = max(reported, int(self._connection.query_progress()))
                    advance(now - reported)
                    reported = now
            except BaseException:
                self._connection.interrupt()
                wait([future])
                raise
        return self._guarded(future.result, what)

    def _guarded(self, action: Callable[[], Found], what: str) -> Found:
        """Return what an action gives, or raise a `WorkspaceError`."""
        try:
            return action()
        except (self._error, UnicodeError) as error:
            raise WorkspaceError(what, str(error).strip() or type(error).__name__) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close it and remove its temporary files."""
        self._connection.close()
        if self._folder is not None:
            self._removed()
