"""What was counted in a column, and what becomes of it: the rules, in the order in which they are asked.

A column becomes entities, one for each value; `bins`, one for each group of neighbouring values; the `key` that its rows are
known by; the `label` that people call them; or it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from relatum.errors import DataError
from relatum.tables.options import Choices, ColumnRef, EntityTypes, full_name
from relatum.tables.source import Kind, SourceColumn, SourceTable

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
    """What was counted in a column."""

    kind: Kind  # what its values are
    is_whole: bool  # whether all are whole numbers
    rows: int
    nulls: int  # how many of these have no value
    distinct: int  # how many different values there are
    words: float = 1.0  # how many words these have on average, where they are text
    length: float = 0.0  # how many characters
    single: int = 0  # how many of the different values one row alone has, where they are text
    least: float | None = None  # the least number, where they are numbers
    greatest: float | None = None  # the greatest number
    is_times: bool = False  # whether they are times of day, written as hours and minutes in one number: 5, 2359

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


_FEW = 32  # different numbers or dates up to which each is an entity
_FEW_FRACTIONS = 12  # the same of numbers with decimals: ratings and rates have few, amounts soon have more
_REPEATS = 2  # times that these occur on average, at least
_OWN_TEXT = 0.9  # the share of different values from which on a text is taken to be free
_MANY_WORDS = 6  # on average, from which on a text is taken to be free
_SEVERAL_WORDS, _OWN_ROWS = 2.5, 0.5  # the same where more than this share of rows has a text that no other row has
_MOST_BINS, _LEAST_BINS, _IN_A_BIN = 20, 3, 20

Outcome = Literal["key", "entities", "bins", "label", "left out"]


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """What becomes of a column, and why; `bins` is the number of groups, if any."""

    outcome: Outcome
    why: str
    bins: int = 0

    @property
    def is_taken(self) -> bool:
        """Whether the values of the column become entities."""
        return self.outcome not in ("left out", "label")


def plan_unread_column(column: SourceColumn, table: SourceTable, choices: Choices) -> ColumnPlan | None:
    """Return what becomes of a column whatever its values are, or None if they have to be seen."""
    ref = table.name, column.name
    chosen = column.name in choices.columns.get(table.name, ())
    if ref in choices.drop:
        if chosen:
            raise DataError("contradictory-options", "both chosen and dropped", place=full_name(ref))
        return ColumnPlan("left out", "dropped by option")
    if table.name in choices.columns and not chosen:
        return ColumnPlan("left out", "not among the columns chosen")
    if column.kind == "unreadable":
        if chosen or ref in choices.keep:
            raise DataError(
                "unnameable-values",
                f"values of type {column.type} are nested or binary and cannot name entities",
                place=full_name(ref),
            )
        return ColumnPlan("left out", "nested or binary values")
    return None


def plan_columns(
    table: SourceTable,
    profiles: Mapping[str, Profile],
    choices: Choices,
    identity: EntityTypes,
    keep_ids: bool,
    labels: Sequence[str] = (),
) -> dict[str, ColumnPlan]:
    """Return what becomes of each column of a table whose values have been seen; `labels` are what its rows are called."""
    plans = {}
    for name, profile in profiles.items():
        ref = table.name, name
        plan = _by_option(ref, table, profile, choices) or _by_key(ref, table, profile, identity)
        is_nameless = table.column(name).is_nameless
        if plan is None and is_nameless and profile.is_unique and profile.is_whole:
            plan = ColumnPlan("left out", "it numbers the rows; --keep takes it")
        elif plan is None and name in labels:
            plan = ColumnPlan("label", "what its rows are called")
        plan = plan or _by_values(name, profile, choices, keep_ids)
        plans[name] = replace(plan, why=f"has no name in the header; {plan.why}") if is_nameless else plan
    return plans


def _by_option(ref: ColumnRef, table: SourceTable, profile: Profile, choices: Choices) -> ColumnPlan | None:
    bins = choices.bins.get(ref)
    if bins is not None and profile.present:
        if profile.kind not in ("number", "date"):
            raise DataError("text-bins", f"{full_name(ref)} holds text, which has no order to cut into groups", place="bins")
        return ColumnPlan("bins", f"{bins} groups of equal size, by option", bins)
    if table.primary_key == (ref[1],) and (ref in choices.keep or table.name not in choices.columns) and not table.is_facts:
        return ColumnPlan("key", "the key of its rows")
    if ref in choices.keep or ref[1] in choices.columns.get(table.name, ()):
        return ColumnPlan("entities", "by option")
    return ColumnPlan("entities", "part of a fact") if table.is_facts else None


def _by_key(ref: ColumnRef, table: SourceTable, profile: Profile, identity: EntityTypes) -> ColumnPlan | None:
    if not profile.present:
        return ColumnPlan("left out", "no values")
    if identity.is_entity(ref):
        others = identity.refers.get(ref) or identity.referred[ref]
        listed = ", ".join(other if isinstance(other, str) else full_name(other) for other in others)
        why = f"refers to {listed}" if ref in identity.refers else f"referred to by {listed}"
        return ColumnPlan("entities", f"{why}{', years in their order' * _is_years(ref[1], profile)}")
    if ref[1] in table.primary_key and profile.kind != "date":
        return ColumnPlan("entities", f"part of the key{', years in their order' * _is_years(ref[1], profile)}")
    return None


def _is_years(name: str, profile: Profile) -> bool:
    """Return whether numbers are years: called so, and such as years are. Their order counts, whatever they are part of."""
    return is_called_like_year(name) and profile.could_be_years


def _by_values(name: str, profile: Profile, choices: Choices, keep_ids: bool) -> ColumnPlan:
    counted = f"{profile.distinct:,} values in {profile.present:,} rows"
    if profile.distinct == 1 and not (profile.nulls and choices.null_is_value):
        return ColumnPlan("left out", f"the same value in every row{' that has one' * (profile.nulls > 0)}; --keep takes it")
    if profile.kind in ("number", "date"):
        years = _is_years(name, profile)
        if profile.is_unique and profile.is_whole and is_called_like_key(name) and not years:
            if keep_ids:
                return ColumnPlan("entities", "a value of its own in every row, kept by option")
            return ColumnPlan("left out", "a value of its own in every row; --keep takes it")
        few = _FEW if profile.is_whole or profile.kind == "date" else _FEW_FRACTIONS
        if profile.distinct <= few and profile.distinct * _REPEATS <= profile.present:
            return ColumnPlan("entities", f"{'years in their order' if years else 'repeats'}: {counted}")
        if years and is_called_like_key(name) and not profile.is_unique:
            return ColumnPlan("entities", f"years in their order: {counted}")
        if profile.is_whole and is_called_like_code(name) and not years and not profile.is_times:
            called = "key" if is_called_like_key(name) else "code"
            return ColumnPlan("entities", f"called like a {called}: {counted}")
        count = choices.bins_of_all or max(_LEAST_BINS, min(_MOST_BINS, profile.present // _IN_A_BIN))
        times = "times of day (hhmm) in " if profile.is_times else ""
        return ColumnPlan("bins", f"{times}{count} groups of equal size: {counted}", count)
    if profile.words > _MANY_WORDS:
        return ColumnPlan("left out", f"free text of {profile.words:.0f} words on average; --keep takes it")
    if profile.is_unique:
        if keep_ids:
            return ColumnPlan("entities", "a value of its own in every row, kept by option")
        return ColumnPlan("left out", "a value of its own in every row; --keep takes it")
    if profile.distinct > _OWN_TEXT * profile.present:
        return ColumnPlan("left out", f"free text: {counted}; --keep takes it")
    if profile.words >= _SEVERAL_WORDS and profile.single > _OWN_ROWS * profile.present:
        return ColumnPlan(
            "left out", f"free text: {profile.single:,} of {profile.present:,} rows have one of their own; --keep takes it"
        )
    return ColumnPlan("entities", f"repeats: {counted}")


_LENGTH = 60  # characters of a label on average, at most
_SHARES = {"name": 0.5, "title": 0.7, "label": 0.7, "caption": 0.9, "headline": 0.9}  # of different texts, at least
_SHARE_OF_PEOPLE = 0.5  # the same of first and last names together
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
_QUALIFIERS = frozenset(("full", "display", "common", "official", "long", "company", "product", "category", "legal"))
_FIRST = frozenset({"first", "given", "fore"})
_LAST = frozenset({"last", "family", "sur"})
_LEAST_LETTERS = 4  # of a word that may stand for a longer one in the name of its table: `franch` for `franchises`


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters, however it is spelt: `nameFirst`, `name_first` and `Name First`."""
    return [word.lower() for word in _WORD.findall(name)]


def labels_of(
    table: SourceTable, profiles: Mapping[str, Profile], together: Callable[[Sequence[str]], int]
) -> tuple[str, ...]:
    """Return the columns whose text is what people call the rows: such as a name, or a short text that no two rows share.

    A name need not be unique: two people of one name are told apart by their keys. First and last name are a label together.

    `together` says how many different texts some columns have together.
    """
    if len(table.primary_key) != 1:
        return ()
    texts = {
        name: profile
        for name, profile in profiles.items()
        if profile.kind == "text" and name not in table.primary_key and 0 < profile.length <= _LENGTH
    }
    people = _first_and_last(texts, table.name)
    if people and together(people) >= _SHARE_OF_PEOPLE * max(texts[name].present for name in people):
        return people
    for ending, share in _SHARES.items():
        for name, profile in texts.items():
            if _ending(name, table.name) == ending and profile.distinct >= share * profile.present:
                return (name,)
    unique = [name for name, profile in texts.items() if profile.could_be_key]
    return tuple(sorted(unique, key=is_called_like_key)[:1])  # a code, if there is no other


def is_called_like_label(columns: Sequence[str], table: str) -> bool:
    """Return whether label columns are called so, and not only unique: `name`, `title`, or a first and a last name."""
    return len(columns) > 1 or any(_ending(name, table) is not None for name in columns)


def _first_and_last(columns: Mapping[str, Profile], table: str) -> tuple[str, ...]:
    """Return the columns of first and last names, if there are both: `FirstName`, `given_name`, `nameLast`, `surname`."""
    found = []
    for wanted in (_FIRST, _LAST):
        for name in columns:
            rest = _without_table(_joined(name), table)
            if "name" in rest and len(rest) == 2 and wanted & set(rest):
                found.append(name)
                break
    return tuple(found) if len(found) == 2 else ()


def _ending(column: str, table: str) -> str | None:
    """Return by which of the words for a label a column is called: `name_full`, `park.name`, `GenreName` of `Genre`."""
    rest = _without_table(_joined(column), table)
    plain = [word for word in rest if word not in _QUALIFIERS]
    return plain[0] if len(plain) == 1 and plain[0] in _SHARES else None


def _joined(column: str) -> list[str]:
    """Return the words of a column, with those that are written as one set apart: `fullname`, `surname`, `firstname`."""
    found = []
    for word in words_of(column):
        for ending in ("name", "title"):
            start = word.removesuffix(ending)
            if start != word and start in _QUALIFIERS | _FIRST | _LAST:
                found += [start, ending]
                break
        else:
            found.append(word)
    return found


def _without_table(words: Sequence[str], table: str) -> list[str]:
    """Return the words that do not repeat what the table is called: `genre` of `Genres`, `franch` of `TeamsFranchises`."""
    own = set(words_of(table.rpartition(".")[2]))
    own |= {"".join(words_of(table.rpartition(".")[2]))}
    forms = {form for word in own for form in (word, word.removesuffix("s"), word.removesuffix("es"), _singular(word))}
    kept = [word for word in words if not _stands_for(word, forms)]
    if len(kept) == 1 and kept[0] not in _SHARES:  # `genrename` in a table `genre`
        for form in sorted(forms, key=len, reverse=True):
            if form and kept[0].removeprefix(form) in _SHARES:
                return [kept[0].removeprefix(form)]
    return kept


def _singular(word: str) -> str:
    return f"{word.removesuffix('ies')}y" if word.endswith("ies") else word


def _stands_for(word: str, forms: Set[str]) -> bool:
    """Return whether a word is one of those of a table, or the first letters of one."""
    if word in forms and word not in _SHARES:
        return True
    return len(word) >= _LEAST_LETTERS and word not in _SHARES and any(form.startswith(word) for form in forms)
