"""A table that is to be written, column by column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relatum.data.vocabulary import fault_of
from relatum.errors import DataError

__all__ = ["Column", "Table", "Value", "free_name"]

Value = str | int | float | None

_FORMS = ("whole", "number", "text")


@dataclass(frozen=True)
class Column:
    """A named column of values that are all `whole` numbers, all `number`s or all `text`; None is no value."""

    name: str
    form: str
    values: Sequence[Value]

    def __post_init__(self) -> None:
        if fault := fault_of(self.name):
            raise DataError(f"column: {fault}")
        if self.form not in _FORMS:
            raise DataError(f"column {self.name!r}: form {self.form!r} is not one of {', '.join(_FORMS)}")


@dataclass(frozen=True)
class Table:
    """Columns of one length; `name` is what the table is called in a database, `relation` what its rows are facts of."""

    name: str
    columns: tuple[Column, ...]
    relation: str

    def __post_init__(self) -> None:
        if fault := fault_of(self.name):
            raise DataError(f"table: {fault}")
        seen: set[str] = set()
        for column in self.columns:
            if column.name.casefold() in seen:  # most databases do not tell them apart
                raise DataError(f"table {self.name!r}: two columns are called {column.name!r}")
            seen.add(column.name.casefold())
        if len({len(column.values) for column in self.columns}) != 1:
            raise DataError(f"table {self.name!r}: its columns are not equally long, or it has none")

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [column.name for column in self.columns]

    def rows(self) -> Iterator[tuple[Value, ...]]:
        """Yield its rows."""
        return zip(*(column.values for column in self.columns), strict=True)

    def __len__(self) -> int:
        return len(self.columns[0].values)


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """Return a name that none of those taken is, but for case: the one wanted, if need be with underscores behind it."""
    names = {name.casefold() for name in taken}
    while wanted.casefold() in names:
        wanted += "_"
    return wanted
