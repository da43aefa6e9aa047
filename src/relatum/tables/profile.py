"""What was counted in a column."""

from __future__ import annotations

import re
from dataclasses import dataclass

from relatum.tables.source import Kind

_KEY_NAMES = re.compile(r"(.*[_ ])?(id|key|code|nr|no|uuid|guid)|.*(Id|ID|Key|Code)")
_CODES = re.compile(r"(?i)(.*[_ .])?(zip|zip_?code|postcode|postal_?code|plz|phone|fax|sku|isbn|ean|upc|barcode|fips|naics)")
_YEARS = re.compile(r"(?i:(.*[_ .])?(year|yr|season))([_ .]?(?i:id|key|nr|no))?|.*[a-z](Year|Season)(ID|Id|Key)?")
_FIRST_YEAR, _LAST_YEAR = 1500, 2200  # that a number can be


def is_called_like_key(column: str) -> bool:
    """Return whether a column is called as keys are: `id`, `item_id`, `itemId`, `code`."""
    return _KEY_NAMES.fullmatch(column) is not None


def is_called_like_code(column: str) -> bool:
    """Return whether numbers of a column are codes by what it is called: as keys are, or `zip`, `ship_postcode`, `isbn`."""
    return is_called_like_key(column) or _CODES.fullmatch(column) is not None


def is_called_like_year(column: str) -> bool:
    """Return whether a column is called after years: `year`, `yearID`, `birth_year`, `season`."""
    return _YEARS.fullmatch(column) is not None


@dataclass(frozen=True, slots=True)
class Profile:
    """What was counted in a column.

    Attributes:
        kind: what its values are.
        is_whole: whether all are whole numbers.
        rows: how many rows there are.
        nulls: how many of these have no value.
        distinct: how many different values there are.
        words: how many words these have on average, where they are text.
        length: how many characters.
        single: how many of the different values one row alone has, where they are text.
        least: the least number, where they are numbers.
        greatest: the greatest number.
        is_times: whether they are times of day, written as hours and minutes in one number: 5, 2359.
    """

    kind: Kind
    is_whole: bool
    rows: int
    nulls: int
    distinct: int
    words: float = 1.0
    length: float = 0.0
    single: int = 0
    least: float | None = None
    greatest: float | None = None
    is_times: bool = False

    @property
    def present(self) -> int:
        """How many rows have a value."""
        return self.rows - self.nulls

    @property
    def is_unique(self) -> bool:
        """Whether no value occurs twice."""
        return self.distinct == self.present > 1

    @property
    def could_be_key(self) -> bool:
        """Whether every row has a whole number or a text of its own."""
        return self.is_unique and not self.nulls and (self.is_whole or self.kind == "text")

    @property
    def could_be_years(self) -> bool:
        """Whether all are whole numbers such as years are."""
        if not self.is_whole or self.least is None or self.greatest is None:
            return False
        return self.least >= _FIRST_YEAR and self.greatest <= _LAST_YEAR
