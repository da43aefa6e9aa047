"""What a person can choose when tables become facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from relatum.errors import SettingError, UnknownNameError
from relatum.settings import Checked, setting

__all__ = ["EVERY_COLUMN", "ImportOptions"]

EVERY_COLUMN = "*"  # as a key of `bins`


@dataclass(frozen=True, kw_only=True)
class ImportOptions(Checked):
    """The options of an import; wherever a column is named it is `table.column`, or `column` if only one table has it."""

    tables: Sequence[str] = setting((), "the tables to take; by default all")
    columns: Mapping[str, Sequence[str]] = setting(
        {},
        "for a table, exactly the columns that become its roles, in this order",
    )
    relations: Mapping[str, str] = setting({}, "for a table, what its relation is called; by default as the table")
    keep: Sequence[str] = setting((), "columns to take as entities although they would be left out")
    drop: Sequence[str] = setting((), "columns to leave out")
    links: Mapping[str, str] = setting(
        {},
        "for a column, the `table.column` whose entities it holds, a table (its primary key), or a name of a kind"
        " of entities, which several columns can share",
    )
    bins: int | Mapping[str, int] | None = setting(
        None,
        "into how many groups of equal size numbers and dates go that seldom repeat; for a column, or for all"
        ' (`"*"`, or a number alone). By default such columns are left out',
    )
    null: Literal["skip", "value"] = setting(
        "skip",
        "`skip` the rows that lack a value in a column that is taken, or make NULL a `value`",
    )
    keep_ids: bool = setting(False, "take columns that have a value of their own in every row")
    plain: bool = setting(
        False,
        "entities are called by their value alone, so that the same text is the same entity wherever it stands",
    )
    relation_key: str = setting("relation", "the key of a JSON object that names its relation")
    split: Literal["stratified", "random"] = setting(
        "stratified",
        "hold out the same share of every relation (`stratified`) or of all facts together (`random`)",
    )
    valid: float = setting(0.1, "the share of facts for valid", ge=0, lt=1)
    test: float = setting(0.1, "the share of facts for test", ge=0, lt=1)
    seed: int = setting(0, "what the held-out facts are drawn from", ge=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("tables", "keep", "drop"):
            if isinstance(getattr(self, name), str):
                raise SettingError(f"{name}: must be a list of names, not one text")
        if self.valid + self.test >= 1:
            raise SettingError(f"valid, test: {self.valid} and {self.test} leave nothing for train")
        for name, count in self.bins_by_column.items():
            if not isinstance(count, int) or not 2 <= count <= 1000:
                raise SettingError(f"bins: {name}: must be a whole number from 2 to 1000, not {count!r}")

    @property
    def bins_by_column(self) -> Mapping[str, int]:
        """The number of groups by column; that of every column is under `"*"`."""
        return self.bins if isinstance(self.bins, Mapping) else {} if self.bins is None else {EVERY_COLUMN: self.bins}

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ImportOptions:
        """Return options given by name."""
        known = [each.name for each in fields(cls)]
        for name in options:
            if name not in known:
                raise UnknownNameError("option", name, known)
        return cls(**options)

    def to_dict(self) -> dict[str, Any]:
        """Return the options as they go into `import.json`."""
        return asdict(self)
