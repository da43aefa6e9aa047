"""What comes back when many things do: a sequence of small records that shows itself as a table and becomes a data frame.

Any library that speaks the Arrow stream protocol takes one as it is: `polars.DataFrame(answers)`, `pyarrow.table(answers)`,
`duckdb.sql("SELECT * FROM answers")`, `pandas.DataFrame.from_arrow(answers)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from html import escape
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, get_args, get_type_hints, overload

from relatum.extras import optional

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_MOST_SHOWN = 20  # records of a long sequence; the rest is counted
_WIDEST = 40  # characters of a cell of text


class Record(Protocol):
    """What a sequence holds: anything with a flat dict of its values, whose keys are the columns."""

    def to_dict(self) -> dict[str, Any]:
        """Return the values by column; of a data class, all fields by name."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]  # a data class, where this is not overridden


T_co = TypeVar("T_co", bound=Record, covariant=True)


class Records(Sequence[T_co], Generic[T_co]):
    """An immutable sequence of records of one kind.

    Args:
        rows: the records.
        columns: the columns of `to_dict` and their types: str, int, float or bool; any value may be None. They are stated
            and not looked up, so that an empty sequence has them too.
        title: what the records are, in a few words.
        plain: makes the flat dict of a record, where its own `to_dict` is deeper.
    """

    def __init__(
        self,
        rows: Iterable[T_co],
        columns: Mapping[str, type],
        title: str = "",
        plain: Callable[[Any], dict[str, Any]] | None = None,
    ) -> None:
        self._rows = tuple(rows)
        self._make = plain
        self.columns = dict(columns)
        self.title = title

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> Records[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | Records[T_co]:
        if isinstance(index, slice):
            return Records(self._rows[index], self.columns, self.title, self._plain)
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[T_co]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Records):
            return self._rows == other._rows and self.columns == other.columns
        return self._rows == tuple(other) if isinstance(other, list | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rows)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the records as plain dicts."""
        return [self._plain(row) for row in self._rows]

    def to_pandas(self) -> pandas.DataFrame:
        """Return the records as a pandas frame."""
        with optional("pandas", extra="frames"):
            import pandas
        dtypes = {str: "string", int: "Int64", float: "float64", bool: "boolean"}
        return pandas.DataFrame(
            {name: pandas.Series(self._values(name), dtype=dtypes[kind]) for name, kind in self.columns.items()}
        )

    def to_polars(self) -> polars.DataFrame:
        """Return the records as a polars frame."""
        with optional("polars", extra="frames"):
            import polars
        dtypes: dict[type, Any] = {str: polars.String, int: polars.Int64, float: polars.Float64, bool: polars.Boolean}
        schema = {name: dtypes[kind] for name, kind in self.columns.items()}
        return polars.DataFrame({name: self._values(name) for name in self.columns}, schema=schema)

    def to_arrow(self) -> pyarrow.Table:
        """Return the records as an Arrow table."""
        with optional("pyarrow", extra="frames"):
            import pyarrow
        dtypes = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
        return pyarrow.table({name: pyarrow.array(self._values(name), dtypes[kind]) for name, kind in self.columns.items()})

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _plain(self, row: T_co) -> dict[str, Any]:  # type: ignore[misc]  # it only reads
        """Return the values of a record by column."""
        return row.to_dict() if self._make is None else self._make(row)

    def _values(self, column: str) -> list[Any]:
        return [plain[column] for plain in self.to_dicts()]

    def __repr__(self) -> str:
        head = self.title or "records"
        if not self._rows:
            return f"{head}: none"
        cells = [[_cut(shown(name, value)) for name, value in self._plain(row).items()] for row in self._rows[:_MOST_SHOWN]]
        widths = [max(map(len, column)) for column in zip(list(self.columns), *cells, strict=True)]
        sides = [str.rjust if kind in (int, float) else str.ljust for kind in self.columns.values()]
        table = ([*self.columns], ["-" * width for width in widths], *cells)
        lines = ["  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)) for row in table]
        return "\n".join([head, *(line.rstrip() for line in lines), *self._rest()])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(shown(name, value))}</td>" for name, value in self._plain(row).items()) + "</tr>"
            for row in self._rows[:_MOST_SHOWN]
        )
        rest = "".join(f"<p>{escape(line)}</p>" for line in self._rest())
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{rest}"

    def _rest(self) -> list[str]:
        more = len(self._rows) - _MOST_SHOWN
        return [f"... and {more:,} more"] if more > 0 else []


def columns_of(kind: type) -> dict[str, type]:
    """Return the columns of a data class all of whose fields are texts, numbers or flags, or None."""
    types = get_type_hints(kind)
    return {one.name: next(iter(get_args(types[one.name])), types[one.name]) for one in fields(kind)}


def shown(column: str, value: object) -> str:
    """Return a value as people read it in a table: probabilities as percentages, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{100 * value:.1f} %" if column == "probability" else f"{value:.4f}"
    if isinstance(value, int):
        return f"{value:,}"
    # A name may hold anything: what would move the cursor or turn the line around is written as an escape.
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in str(value))


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
