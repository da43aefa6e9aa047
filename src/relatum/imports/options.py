"""What a person can choose when tables become facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from relatum.errors import SettingError, UnknownNameError

__all__ = ["EVERY_COLUMN", "ImportOptions"]

EVERY_COLUMN = "*"  # as a key of `bins`


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """The options of an import; wherever a column is named it is `table.column`, or `column` if only one table has it.

    Attributes:
        tables: the tables to take; by default all.
        columns: for a table, exactly the columns that become its roles, in this order.
        relations: for a table, what its relation is called; by default as the table.
        keep: columns to take as entities although they would be left out.
        drop: columns to leave out.
        links: for a column, the `table.column` whose entities it holds, a table (its primary key), or a name of a kind of
            entities, which several columns can share.
        bins: into how many groups of equal size numbers and dates go that seldom repeat; for a column, or for all (`"*"`,
            or a number alone). By default such columns are left out.
        null: `skip` the rows that lack a value in a column that is taken, or make NULL a `value`.
        keep_ids: take columns that have a value of their own in every row.
        plain: entities are called by their value alone, so that the same text is the same entity wherever it stands.
        relation_key: the key of a JSON object that names its relation.
        split: hold out the same share of every relation (`stratified`) or of all facts together (`random`).
        valid: the share of facts for valid.
        test: the share of facts for test.
        seed: what the held-out facts are drawn from.
    """

    tables: Sequence[str] = ()
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    bins: int | Mapping[str, int] | None = None
    null: Literal["skip", "value"] = "skip"
    keep_ids: bool = False
    plain: bool = False
    relation_key: str = "relation"
    split: Literal["stratified", "random"] = "stratified"
    valid: float = 0.1
    test: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("tables", "keep", "drop"):
            if isinstance(getattr(self, name), str):
                raise SettingError(f"{name}: must be a list of names, not one text")
        for name, known in (("null", ("skip", "value")), ("split", ("stratified", "random"))):
            if getattr(self, name) not in known:
                raise SettingError(f"{name}: must be {' or '.join(known)}, not {getattr(self, name)!r}")
        for name in ("valid", "test"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not 0 <= value < 1:
                raise SettingError(f"{name}: must be a share from 0 to below 1, not {value!r}")
        if self.valid + self.test >= 1:
            raise SettingError(f"valid, test: {self.valid} and {self.test} leave nothing for train")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise SettingError(f"seed: must be a whole number from 0 up, not {self.seed!r}")
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
